/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes through the cases of the stages: on the CPU with one thread and with all, on a CUDA device with its data already
 * there. GB/s count each input once for each pass over it (a reduction that feeds a map is a pass of its own) and each
 * output once.
 */
#include "pipeline/bench/bench.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text_file.h"
#include "cuda/bench/bench.h"
#include "pipeline/plan/device_choice.h"

/* The latency of a chain on one slice, its kernels alone. */
static const char latency_chain[] = "box radius=2|histogram bins=256|equalize";

struct bench {
    struct bench_report report;
    bool on_cpu, on_cuda;
    struct cuda_devices found;
    const struct device_numbers *device;
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
                                   const struct device_numbers *device)
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
        sized.nz = which->nz ? which->nz : which->stage->map || gib < usual ? usual : gib;
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
    enum ts_status status = refusals ? TS_OK : ts_diag_no_memory(bench->diag, sizeof parameters);
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

/* One of the chain's rows. */
static enum ts_status add_chain(struct bench *bench, struct bench_row *row)
{
    snprintf(row->which.parameters, sizeof row->which.parameters, "%s", latency_chain);
    row->error = ts_bench_no_error("the rows of its stages have theirs");
    return add_row(bench, row);
}

/* With one thread and with all. */
static enum ts_status chain_on_cpu(struct bench *bench, const struct bench_case *cases, int n, struct ts_diag *diag)
{
    const struct bench_request *request = bench->report.request;
    const int most = bench->report.all_threads;
    for (int threads = request->threads > 0 ? request->threads : 1;; threads = most) {
        struct bench_row row;
        enum ts_status status = ts_bench_cpu_chain(cases, n, threads, request->runs, diag, &row);
        if (status == TS_OK)
            status = add_chain(bench, &row);
        if (status != TS_OK || request->threads > 0 || threads >= most)
            return status;
    }
}

static enum ts_status chain_on_cuda(struct bench *bench, const struct bench_case *cases, int n, struct ts_diag *diag)
{
    struct bench_row row;
    const enum ts_status status = ts_bench_cuda_chain(cases, n, bench->device, bench->report.request->runs, diag, &row);
    if (status != TS_OK)
        return refused(status) ? status : device_failed(bench, &cases[0], diag);
    return add_chain(bench, &row);
}

/* Beside all stages it is left out where it does not fit their type; where it was asked for, that is an error. */
static enum ts_status bench_chain(struct bench *bench)
{
    const struct bench_request *request = bench->report.request;
    const struct bench_case slice = {.dtype = request->dtype >= 0 ? (enum ts_dtype)request->dtype : TS_U16,
                                     .values = request->values >= 0 ? (enum bench_values)request->values : BENCH_CT,
                                     .nz = 1,
                                     .ny = request->ny ? request->ny : 512,
                                     .nx = request->nx ? request->nx : 512};
    struct bench_case cases[CUDA_BENCH_STAGES];
    const int n = ts_bench_split(latency_chain, &slice, cases, CUDA_BENCH_STAGES), before = bench->report.n_rows;
    struct ts_diag *diag = ts_diag_create();
    if (!diag)
        return ts_diag_no_memory(bench->diag, sizeof *cases);
    enum ts_status status = bench->on_cpu ? chain_on_cpu(bench, cases, n, diag) : TS_OK;
    if ((status == TS_OK || refused(status)) && bench->device)
        status = chain_on_cuda(bench, cases, n, diag);
    const char *why = ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "out of memory";
    if (!refused(status) && status != TS_OK)
        ts_diag_error(bench->diag, status, &(struct diag_site){.code = "benchmark-failed"}, "chain: %s", why);
    else if (refused(status) && request->stage && bench->report.n_rows == before && bench->n_failed == 0)
        status =
            ts_diag_error(bench->diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-benchmark"}, "chain: %s", why);
    else
        status = TS_OK;
    ts_diag_destroy(diag);
    return status;
}

/* Which devices to time, and the ceilings of the CUDA device. why: `auto` goes without one. */
static enum ts_status choose_devices(struct bench *bench, char *why, size_t why_bytes)
{
    struct device_choice choice;
    int index;
    enum ts_status status = ts_device_choice_parse(bench->report.request->device, &choice, bench->diag);
    bench->on_cpu = choice.kind != DEVICE_CUDA;
    if (status != TS_OK || choice.kind == DEVICE_CPU)
        return status;
    const bool automatic = choice.kind == DEVICE_AUTO;
    struct ts_diag *diag = automatic ? ts_diag_create() : bench->diag;
    if (!diag)
        return ts_diag_no_memory(bench->diag, sizeof choice);
    status = ts_device_choice_find(choice.index, &bench->found, &index, diag);
    if (status == TS_OK)
        status = ts_cuda_bench_ceilings(&bench->found.devices[index], diag, &bench->ceilings);
    if (status == TS_OK)
        bench->device = &bench->found.devices[index];
    if (!automatic)
        return status;
    if (status != TS_OK)
        snprintf(why, why_bytes, "%s", ts_diag_get(diag, 0)->message);
    ts_diag_destroy(diag);
    return TS_OK;
}

static bool fits(const struct stage *stage, const char *cases)
{
    char parameters[BENCH_MAX_CASES][256];
    return ts_bench_split_cases(stage, cases, parameters) > 0;
}

/* What a request cannot ask for. */
static enum ts_status refuse_request(const struct bench_request *request, struct ts_diag *diag)
{
    const struct stage *only = request->stage ? ts_stage_find(request->stage) : NULL;
    if (!request->stage)
        return TS_OK;
    if (!strcmp(request->stage, "chain")) {
        const struct diag_site site = {.code = "benchmark-option"};
        if (request->parameters)
            return ts_diag_error(diag, TS_BAD_CHAIN, &site, "--parameters are those of a stage; the chain is '%s'",
                                 latency_chain);
        if (request->nz > 1)
            return ts_diag_error(diag, TS_BAD_CHAIN, &site,
                                 "the chain is timed on one slice, not on %lld: --size 1x%lldx%lld",
                                 (long long)request->nz, (long long)request->ny, (long long)request->nx);
        return TS_OK;
    }
    if (!only)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-stage"}, "there is no stage '%s'",
                             request->stage);
    if (!only->map && !only->reduction)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-benchmark", .stage = only->name},
                             "it passes its image on, there is nothing to time");
    if (request->parameters && !fits(only, request->parameters))
        return ts_diag_error(diag, TS_BAD_CHAIN,
                             &(struct diag_site){.code = "parameters-too-long", .stage = only->name},
                             "the parameters of a case have more than 255 characters");
    return TS_OK;
}

/* Before minutes are spent on what cannot be kept. */
enum ts_status ts_bench_files_check(const struct bench_request *request, struct ts_diag *diag)
{
    enum ts_status status = request->save ? ts_text_file_check(request->save, diag) : TS_OK;
    return status == TS_OK && request->plot ? ts_text_file_check(request->plot, diag) : status;
}

enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream, struct ts_diag *diag)
{
    struct bench bench = {.report = {.request = request, .stream = stream, .all_threads = omp_get_num_procs()},
                          .diag = diag};
    char why[512] = "";
    enum ts_status status = refuse_request(request, diag);
    if (status == TS_OK)
        status = ts_bench_files_check(request, diag);
    if (status == TS_OK)
        status = choose_devices(&bench, why, sizeof why);
    if (status != TS_OK)
        return status;
    ts_bench_print_head(&bench.report, bench.device, bench.found.driver, &bench.ceilings, *why ? why : NULL);
    for (const struct stage *const *stage = ts_stages; status == TS_OK && *stage; stage++)
        if (request->stage ? !strcmp((*stage)->name, request->stage) : (*stage)->map || (*stage)->reduction)
            status = bench_stage(&bench, *stage);
    if (status == TS_OK && (!request->stage || !strcmp(request->stage, "chain")))
        status = bench_chain(&bench);
    ts_bench_print_end(&bench.report);
    if (status == TS_OK && (fflush(stream) != 0 || ferror(stream)))
        status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                               "the rows could not be written: %s", strerror(errno));
    if (status == TS_OK && request->save)
        status = ts_bench_save(request->save, bench.report.rows, bench.report.n_rows, diag);
    if (status == TS_OK && request->plot)
        status = ts_bench_plot(request->plot, bench.report.rows, bench.report.n_rows, diag);
    free(bench.report.rows);
    return status == TS_OK && bench.n_failed > 0 ? TS_RUN_FAILED : status;
}

/* ---- the command ------------------------------------------------------------------------------- */

/* Becomes tomostage-bench of this program's folder; returns where there is none. */
static void hand_over(int argc, char **argv)
{
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');
    char **arguments = slash ? calloc((size_t)argc + 1, sizeof *arguments) : NULL;
    if (!arguments)
        return;
    strcpy(slash + 1, "tomostage-bench");
    arguments[0] = path;
    memcpy(arguments + 1, argv + 1, (size_t)(argc - 1) * sizeof *arguments);
    execv(path, arguments);
    free(arguments);
}

int ts_bench(const struct bench_request *request, int argc, char **argv, FILE *stream)
{
    fflush(stream);
    if (stream == stdout)
        hand_over(argc, argv);
    struct ts_diag *diag = ts_diag_create();
    if (!diag) {
        fputs("tomostage: error: out of memory\n", stderr);
        return TS_RUN_FAILED;
    }
    const enum ts_status status = ts_bench_run(request, stream, diag);
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}
