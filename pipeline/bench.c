/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes through the cases of the stages: on the CPU with one thread and with all, on a CUDA device with its data already
 * there. GB/s count each input once for each pass over it (a reduction that feeds a map is a pass of its own) and each
 * output once.
 */
#include "pipeline/bench.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/bench.h"

/* The latency of a chain on one slice, its kernels alone. */
static const char latency_chain[] = "box radius=2|histogram bins=256|equalize";

struct bench {
    struct bench_report report;
    bool on_cpu, on_cuda;
    struct cuda_devices found;
    const struct cuda_device *device;
    struct cuda_ceilings ceilings;
    struct ts_diag *diag;
    int n_failed;
};

static enum ts_status add_row(struct bench *bench, const struct bench_row *row)
{
    struct bench_report *report = &bench->report;
    if (report->n_rows == report->room) {
        const int room = 2 * report->room + 64;
        struct bench_row *rows = realloc(report->rows, (size_t)room * sizeof *rows);
        if (!rows)
            return ts_diag_no_memory(bench->diag, (size_t)room * sizeof *rows);
        report->rows = rows;
        report->room = room;
    }
    report->rows[report->n_rows] = *row;
    ts_bench_print_row(report, row, report->n_rows == 0);
    report->n_rows++;
    return TS_OK;
}

/* A method that does not fit this type, size or device, or values in which there is nothing to find. */
static bool refused(enum ts_status status)
{
    return status == TS_BAD_CHAIN || status == TS_BAD_INPUT;
}

static struct bench_error error_of(const struct bench_request *request, const struct bench_case *which,
                                   const struct cuda_device *device)
{
    return request->oracles ? ts_bench_error(which, device, request->oracles(which->stage))
                            : ts_bench_no_error("this program has no oracles");
}

/* With one thread and with all. */
static enum ts_status case_on_cpu(struct bench *bench, const struct bench_case *which, struct ts_diag *diag)
{
    const struct bench_request *request = bench->report.request;
    const int most = bench->report.all_threads;
    struct bench_error error = {.distance = NAN};
    for (int threads = request->threads > 0 ? request->threads : 1;; threads = most) {
        struct bench_row row;
        enum ts_status status = ts_bench_cpu(which, threads, request->runs, diag, &row);
        if (status != TS_OK)
            return status;
        if (isnan(error.distance) && !*error.unknown)
            error = error_of(request, which, NULL);
        row.error = error;
        status = add_row(bench, &row);
        if (status != TS_OK || request->threads > 0 || threads >= most)
            return status;
    }
}

/* What a device has no memory for is named and left out; a device that is lost ends the benchmark. */
static enum ts_status device_failed(struct bench *bench, const struct bench_case *which, struct ts_diag *diag)
{
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    bench->n_failed++;
    ts_diag_error(bench->diag, TS_RUN_FAILED,
                  &(struct diag_site){.code = "benchmark-failed", .stage = which->stage->name}, "%s %s: %s",
                  which->parameters, ts_dtype_name(which->dtype), record->message);
    return strcmp(record->code, "cuda-lost") ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status case_on_cuda(struct bench *bench, const struct bench_case *which, struct ts_diag *diag)
{
    const struct bench_request *request = bench->report.request;
    struct bench_row row;
    const enum ts_status status =
        ts_bench_cuda(which, request->nz == 0, bench->device, &bench->ceilings, request->runs, diag, &row);
    if (status != TS_OK)
        return refused(status) ? status : device_failed(bench, which, diag);
    if (row.seconds == 0) /* a case that gives the device nothing to do, such as a center that is given */
        return TS_OK;
    row.error = error_of(request, which, bench->device);
    return add_row(bench, &row);
}

static enum ts_status bench_case(struct bench *bench, const struct bench_case *which, struct ts_diag *diag)
{
    struct bench_case sized = *which;
    enum ts_status status = TS_OK;
    /* The same number of pixels in slices of another size. */
    const int64_t pixels = which->ny * which->nx, share = pixels > 512 * 512 ? pixels / (512 * 512) : 1;
    if (bench->on_cpu) {
        sized.nz = which->nz ? which->nz : 32 / share > 0 ? 32 / share : 1;
        status = case_on_cpu(bench, &sized, diag);
    }
    if ((status == TS_OK || refused(status)) && bench->device) {
        /* What only reads is done with 512 slices before all of the device is at work. */
        const int64_t gib = ((int64_t)1 << 30) / (pixels * (int64_t)ts_dtype_bytes(which->dtype));
        const int64_t usual = 512 / share > 0 ? 512 / share : 1;
        sized.nz = which->nz ? which->nz : which->stage->cpu || gib < usual ? usual : gib;
        status = case_on_cuda(bench, &sized, diag);
    }
    return refused(status) ? TS_OK : status;
}

static bool wanted(const struct bench_request *request, const struct stage *stage, int dtype, int values)
{
    const unsigned common = TS_DTYPE_BIT(TS_U8) | TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_F32);
    if (!(stage->dtypes & TS_DTYPE_BIT(dtype)))
        return false;
    if (request->dtype >= 0 ? dtype != request->dtype : !(common & TS_DTYPE_BIT(dtype)))
        return false;
    if (request->values >= 0)
        return values == request->values;
    /* The worst cases of counting are timed in the types that are counted value by value. */
    const bool worst_case = values == BENCH_CONSTANT || values == BENCH_CHECKER;
    return values == BENCH_CT || (stage->counts_values && (!worst_case || dtype == TS_U8 || dtype == TS_U16));
}

/* All types and values in slices of one size; nz 0: as many as are usual. */
static enum ts_status bench_cases(struct bench *bench, const struct stage *stage, const char *parameters,
                                  const int64_t size[3], struct ts_diag *refusals)
{
    const struct bench_request *request = bench->report.request;
    enum ts_status status = TS_OK;
    for (int dtype = TS_U8; status == TS_OK && dtype <= TS_F32; dtype++)
        for (int values = 0; status == TS_OK && values < BENCH_VALUES; values++) {
            struct bench_case which = {.stage = stage,
                                       .dtype = (enum ts_dtype)dtype,
                                       .values = (enum bench_values)values,
                                       .nz = size[0],
                                       .ny = size[1],
                                       .nx = size[2]};
            snprintf(which.parameters, sizeof which.parameters, "%s", parameters);
            if (wanted(request, stage, dtype, values))
                status = bench_case(bench, &which, refusals);
        }
    return status;
}

static enum ts_status bench_stage(struct bench *bench, const struct stage *stage)
{
    const struct bench_request *request = bench->report.request;
    char parameters[BENCH_MAX_CASES][256];
    const int64_t usual[][3] = {{0, 512, 512}, {1, 512, 512}, {0, 2048, 2048}},
                  given[][3] = {{request->nz, request->ny, request->nx}}, (*sizes)[3] = request->ny ? given : usual;
    const int n_sizes = request->ny || !request->stage ? 1 : 3;
    const int before = bench->report.n_rows;
    const int n = request->parameters ? ts_bench_split_cases(stage, request->parameters, parameters)
                                      : ts_bench_parameters(stage, parameters);
    struct ts_diag *refusals = ts_diag_create();
    enum ts_status status = refusals ? TS_OK : TS_RUN_FAILED;
    for (int i = 0; status == TS_OK && i < n * n_sizes; i++)
        status = bench_cases(bench, stage, parameters[i % n], sizes[i / n], refusals);
    if (status == TS_OK && bench->report.n_rows == before && bench->n_failed == 0) {
        const char *why =
            ts_diag_count(refusals) ? ts_diag_get(refusals, 0)->message : "no value for a required parameter";
        if (request->stage)
            status = ts_diag_error(bench->diag, TS_BAD_CHAIN,
                                   &(struct diag_site){.code = "no-benchmark", .stage = stage->name}, "%s", why);
        else if (!request->json)
            fprintf(bench->report.stream, "%-10s no case: %s\n", stage->name, why);
    } else if (status != TS_OK) {
        status = ts_diag_error(
            bench->diag, status, &(struct diag_site){.code = "benchmark-failed", .stage = stage->name}, "%s",
            refusals && ts_diag_count(refusals) ? ts_diag_get(refusals, ts_diag_count(refusals) - 1)->message
                                                : "out of memory");
    }
    ts_diag_destroy(refusals);
    return status;
}

static enum ts_status bench_latency(struct bench *bench)
{
    const struct bench_case slice = {.dtype = TS_U16, .values = BENCH_CT, .nz = 1, .ny = 512, .nx = 512};
    struct bench_case cases[CUDA_BENCH_STAGES];
    struct bench_row row = {0};
    struct ts_diag *diag = ts_diag_create();
    const int n = ts_bench_split(latency_chain, &slice, cases, CUDA_BENCH_STAGES);
    if (!diag)
        return TS_RUN_FAILED;
    enum ts_status status =
        n > 0 ? ts_bench_cuda_chain(cases, n, bench->device, bench->report.request->runs, diag, &row) : TS_BAD_CHAIN;
    if (status == TS_OK) {
        snprintf(row.which.parameters, sizeof row.which.parameters, "%s", latency_chain);
        row.error = ts_bench_no_error("the rows of its stages have theirs");
        status = add_row(bench, &row);
    } else {
        status = status == TS_BAD_CHAIN ? TS_OK : device_failed(bench, &cases[0], diag);
    }
    ts_diag_destroy(diag);
    return status;
}

/* Which devices to time, and the ceilings of the CUDA device. */
static enum ts_status choose_devices(struct bench *bench, char *why, size_t why_bytes)
{
    const char *device = bench->report.request->device ? bench->report.request->device : "auto";
    const bool automatic = !strcmp(device, "auto");
    unsigned index = 0;
    char rest;
    bench->on_cpu = automatic || !strcmp(device, "cpu");
    const bool with_cuda = automatic || !strcmp(device, "cuda") || sscanf(device, "cuda:%u%c", &index, &rest) == 1;
    if (!bench->on_cpu && !with_cuda)
        return ts_diag_error(bench->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "device"},
                             "unknown device '%s': auto, cpu, cuda or cuda:N", device);
    if (!with_cuda)
        return TS_OK;
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = !diag ? TS_RUN_FAILED : ts_cuda_query(&bench->found, diag);
    if (status == TS_OK && index >= (unsigned)bench->found.n)
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-device"},
                               "there is no CUDA device %u, only %d", index, bench->found.n);
    if (status == TS_OK)
        status = ts_cuda_bench_ceilings(&bench->found.devices[index], diag, &bench->ceilings);
    if (status == TS_OK)
        bench->device = &bench->found.devices[index];
    else
        snprintf(why, why_bytes, "%s", diag ? ts_diag_get(diag, 0)->message : "out of memory");
    ts_diag_destroy(diag);
    if (status == TS_OK || automatic)
        return TS_OK;
    return ts_diag_error(bench->diag, TS_RUN_FAILED, &(struct diag_site){.code = "device"}, "%s", why);
}

static bool fits(const struct stage *stage, const char *cases)
{
    char parameters[BENCH_MAX_CASES][256];
    return ts_bench_split_cases(stage, cases, parameters) > 0;
}

enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream, struct ts_diag *diag)
{
    struct bench bench = {.report = {.request = request, .stream = stream, .all_threads = omp_get_num_procs()},
                          .diag = diag};
    char why[512] = "";
    const bool chain_only = request->stage && !strcmp(request->stage, "chain");
    const struct stage *only = request->stage && !chain_only ? ts_stage_find(request->stage) : NULL;
    if (request->stage && !only && !chain_only)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-stage"}, "there is no stage '%s'",
                             request->stage);
    if (only && !only->cpu && !only->reduction)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-benchmark", .stage = only->name},
                             "it passes its image on, there is nothing to time");
    if (only && request->parameters && !fits(only, request->parameters))
        return ts_diag_error(diag, TS_BAD_CHAIN,
                             &(struct diag_site){.code = "parameters-too-long", .stage = only->name},
                             "the parameters of a case have more than 255 characters");
    enum ts_status status = choose_devices(&bench, why, sizeof why);
    if (status != TS_OK)
        return status;
    ts_bench_print_head(&bench.report, bench.device, bench.found.driver, &bench.ceilings, *why ? why : NULL);
    for (const struct stage *const *stage = ts_stages; status == TS_OK && !chain_only && *stage; stage++)
        if (only ? *stage == only : (*stage)->cpu || (*stage)->reduction)
            status = bench_stage(&bench, *stage);
    if (status == TS_OK && !only && bench.device)
        status = bench_latency(&bench);
    ts_bench_print_end(&bench.report);
    if (status == TS_OK && request->save)
        status = ts_bench_save(request->save, bench.report.rows, bench.report.n_rows, diag);
    if (status == TS_OK && request->plot)
        status = ts_bench_plot(request->plot, bench.report.rows, bench.report.n_rows, diag);
    free(bench.report.rows);
    return status == TS_OK && bench.n_failed > 0 ? TS_RUN_FAILED : status;
}

/* ---- the command ------------------------------------------------------------------------------- */

/* Runs tomostage-bench from this program's folder; false where there is none. */
static bool hand_over(int argc, char **argv, int *code)
{
    extern char **environ;
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    if (length <= 0)
        return false;
    path[length] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    strcpy(slash + 1, "tomostage-bench");
    char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
    int status = 0, error = 1;
    pid_t child;
    if (arguments) {
        arguments[0] = path;
        memcpy(arguments + 1, argv + 1, (size_t)(argc - 1) * sizeof *arguments);
        error = access(path, X_OK) || posix_spawn(&child, path, NULL, NULL, arguments, environ);
    }
    free(arguments);
    if (error)
        return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : TS_RUN_FAILED;
    return true;
}

int ts_bench(const struct bench_request *request, int argc, char **argv, FILE *stream)
{
    int code;
    fflush(stream);
    if (stream == stdout && hand_over(argc, argv, &code))
        return code;
    struct ts_diag *diag = ts_diag_create();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_bench_run(request, stream, diag);
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}
