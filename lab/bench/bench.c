/* SPDX-License-Identifier: Apache-2.0
 *
 * Goes through the cases of the stages: on the CPU with one thread and with all, on a CUDA device
 * with its data already there. GB/s count each input once for each pass over it (a reduction that
 * feeds a map is a pass of its own) and each output once. What is timed is a subject: a stage in
 * one case, or a chain of them on one slice.
 */
#include "lab/bench/bench.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "io/file/whole_file.h"

/* The chain whose latency on one slice is timed. */
static const char chain_text[] = "box radius=2|histogram bins=256|equalize";
static const struct {
    const char *stage, *parameters;
} chain[] = {{"box", "radius=2"}, {"histogram", "bins=256"}, {"equalize", ""}};

struct bench {
    const struct bench_request *request;
    struct table_rows rows;
    struct bench_devices devices;
    struct cuda_ceilings ceilings;
    struct ts_diag *diag;
    int n_failed;
};

/* The cases of a stage (n 1) or of a chain. */
struct subject {
    struct bench_case cases[BENCH_STAGES];
    int n;
};

/* Prints a row as soon as it is measured, and keeps it. */
static enum ts_status add_row(struct bench *bench, const struct subject *subject,
                              struct bench_row *row)
{
    if (subject->n > 1)
        snprintf(row->which.parameters, sizeof row->which.parameters, "%s", chain_text);
    ts_bench_row_finish(row);
    return ts_table_add(&bench->rows, row, bench->diag);
}

/* Returns true for a method that does not fit this type, size or device, and for values in which
 * there is nothing to find. */
static bool refused(enum ts_status status)
{
    return status == TS_BAD_CHAIN || status == TS_BAD_INPUT;
}

struct bench_error ts_bench_no_error(const char *why)
{
    struct bench_error error = {.distance = NAN};
    snprintf(error.unknown, sizeof error.unknown, "%s", why);
    return error;
}

static struct bench_error error_of(const struct bench *bench, const struct subject *subject,
                                   const struct device_numbers *device)
{
    const struct bench_case *which = &subject->cases[0];
    if (subject->n > 1)
        return ts_bench_no_error("the rows of its stages have theirs");
    return bench->request->compare ? bench->request->compare(which, device) : ts_bench_no_error("");
}

/* Times the subject with one thread and with all. */
static enum ts_status time_on_cpu(struct bench *bench, const struct subject *subject,
                                  struct ts_diag *diag)
{
    const struct bench_request *request = bench->request;
    const int all_threads = omp_get_num_procs();
    struct bench_error error = {.distance = NAN};
    for (int threads = request->threads > 0 ? request->threads : 1;; threads = all_threads) {
        struct bench_row row;
        enum ts_status status =
            ts_bench_cpu(subject->cases, subject->n, threads, request->runs, diag, &row);
        if (status != TS_OK)
            return status;
        if (isnan(error.distance) && !*error.unknown)
            error = error_of(bench, subject, NULL);
        row.error = error;
        status = add_row(bench, subject, &row);
        if (status != TS_OK || request->threads > 0 || threads >= all_threads)
            return status;
    }
}

#ifdef TS_HAVE_CUDA
/* A case that a device has no memory for is named and left out; a device that is lost ends the
 * benchmark. */
static enum ts_status device_failed(struct bench *bench, const struct bench_case *which,
                                    struct ts_diag *diag)
{
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    bench->n_failed++;
    ts_diag_error(bench->diag, TS_RUN_FAILED,
                  &(struct diag_site){.code = "benchmark-failed", .stage = which->stage->name},
                  "%s %s: %s", which->parameters, ts_dtype_name(which->dtype), record->message);
    return strcmp(record->code, "cuda-lost") ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status time_on_cuda(struct bench *bench, const struct subject *subject,
                                   struct ts_diag *diag)
{
    struct bench_row row;
    const enum ts_status status =
        ts_bench_cuda(subject->cases, subject->n, bench->request->nz == 0, bench->devices.device,
                      &bench->ceilings, bench->request->runs, diag, &row);
    if (status != TS_OK)
        return refused(status) ? status : device_failed(bench, &subject->cases[0], diag);
    if (row.seconds ==
        0) /* a case that gives the device nothing to do, such as a center that is given */
        return TS_OK;
    row.error = error_of(bench, subject, bench->devices.device);
    return add_row(bench, subject, &row);
}

#endif

/* Sets how many slices a device is timed on. nz: as many as were asked for; 0: as many as are
 * usual. */
static void set_slices(struct subject *subject, int64_t nz, bool on_cpu)
{
    struct bench_case *which = &subject->cases[0];
    /* Slices of another size have as many pixels together. */
    const int64_t pixels = which->ny * which->nx,
                  share = pixels > 512 * 512 ? pixels / (512 * 512) : 1;
    const int64_t usual = (on_cpu ? 32 : 512) / share > 0 ? (on_cpu ? 32 : 512) / share : 1;
    /* A stage that only reads is done with 512 slices before all of the device is at work. */
    const int64_t gib = ((int64_t)1 << 30) / (pixels * (int64_t)ts_dtype_bytes(which->dtype));
    which->nz = nz ? nz : on_cpu || which->stage->map || gib < usual ? usual : gib;
}

/* Times the subject on every device; nz 0 in its case: on as many slices as are usual. */
static enum ts_status time_subject(struct bench *bench, struct subject *subject,
                                   struct ts_diag *diag)
{
    const int64_t nz = subject->cases[0].nz;
    enum ts_status status = TS_OK;
    if (bench->devices.on_cpu) {
        set_slices(subject, nz, true);
        status = time_on_cpu(bench, subject, diag);
    }
#ifdef TS_HAVE_CUDA
    if ((status == TS_OK || refused(status)) && bench->devices.device) {
        set_slices(subject, nz, false);
        status = time_on_cuda(bench, subject, diag);
    }
#endif
    return refused(status) ? TS_OK : status;
}

static bool wanted(const struct bench_request *request, const struct stage *stage, int dtype,
                   int values)
{
    const unsigned common =
        TS_DTYPE_BIT(TS_U8) | TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_F32);
    if (!(stage->dtypes & TS_DTYPE_BIT(dtype)))
        return false;
    if (request->dtype >= 0 ? dtype != request->dtype : !(common & TS_DTYPE_BIT(dtype)))
        return false;
    if (request->values >= 0)
        return values == request->values;
    /* The worst cases of counting are timed in the types that are counted value by value. */
    const bool worst_case = values == BENCH_CONSTANT || values == BENCH_CHECKER;
    return values == BENCH_CT ||
           (stage->counts_values && (!worst_case || dtype == TS_U8 || dtype == TS_U16));
}

/* Times all types and values of a stage in slices of one size; nz 0: as many slices as are
 * usual. */
static enum ts_status bench_cases(struct bench *bench, const struct stage *stage,
                                  const char *parameters, const int64_t size[3],
                                  struct ts_diag *refusals)
{
    enum ts_status status = TS_OK;
    for (int dtype = TS_U8; status == TS_OK && dtype <= TS_F32; dtype++)
        for (int values = 0; status == TS_OK && values < BENCH_VALUES; values++) {
            struct subject subject = {.n = 1,
                                      .cases = {{.stage = stage,
                                                 .dtype = (enum ts_dtype)dtype,
                                                 .values = (enum bench_values)values,
                                                 .nz = size[0],
                                                 .ny = size[1],
                                                 .nx = size[2]}}};
            snprintf(subject.cases[0].parameters, sizeof subject.cases[0].parameters, "%s",
                     parameters);
            if (wanted(bench->request, stage, dtype, values))
                status = time_subject(bench, &subject, refusals);
        }
    return status;
}

static enum ts_status bench_stage(struct bench *bench, const struct stage *stage,
                                  struct ts_diag *refusals)
{
    const struct bench_request *request = bench->request;
    char parameters[BENCH_MAX_CASES][256];
    const int64_t usual[][3] = {{0, 512, 512}, {1, 512, 512}, {0, 2048, 2048}},
                  given[][3] = {{request->nz, request->ny, request->nx}},
                  (*sizes)[3] = request->ny ? given : usual;
    const int n_sizes = request->ny || !request->stage ? 1 : 3;
    const int n = request->parameters ? ts_bench_split_cases(stage, request->parameters, parameters)
                                      : ts_bench_parameters(stage, parameters);
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < n * n_sizes; i++)
        status = bench_cases(bench, stage, parameters[i % n], sizes[i / n], refusals);
    return status;
}

static enum ts_status bench_chain(struct bench *bench, struct ts_diag *refusals)
{
    const struct bench_request *request = bench->request;
    const struct bench_case slice = {
        .dtype = request->dtype >= 0 ? (enum ts_dtype)request->dtype : TS_U16,
        .values = request->values >= 0 ? (enum bench_values)request->values : BENCH_CT,
        .nz = 1,
        .ny = request->ny ? request->ny : 512,
        .nx = request->nx ? request->nx : 512};
    struct subject subject = {.n = sizeof chain / sizeof *chain};
    for (int i = 0; i < subject.n; i++) {
        subject.cases[i] = slice;
        subject.cases[i].stage = ts_stage_find(chain[i].stage);
        snprintf(subject.cases[i].parameters, sizeof subject.cases[i].parameters, "%s",
                 chain[i].parameters);
    }
    return time_subject(bench, &subject, refusals);
}

/* Times a stage (NULL: the chain). One without a row is named: as an error where it was asked
 * for. */
static enum ts_status bench_one(struct bench *bench, const struct stage *stage)
{
    const char *name = stage ? stage->name : "chain", *why = "out of memory";
    const int before = bench->rows.n;
    struct ts_diag *refusals = ts_diag_create();
    if (!refusals)
        return ts_diag_no_memory(bench->diag, sizeof *bench);
    enum ts_status status =
        stage ? bench_stage(bench, stage, refusals) : bench_chain(bench, refusals);
    const size_t n = ts_diag_count(refusals);
    if (status != TS_OK) {
        why = n ? ts_diag_get(refusals, n - 1)->message : why;
        status = ts_diag_error(bench->diag, status,
                               &(struct diag_site){.code = "benchmark-failed", .stage = name}, "%s",
                               why);
    } else if (bench->rows.n == before && bench->n_failed == 0) {
        why = n ? ts_diag_get(refusals, 0)->message : "no value for a required parameter";
        if (bench->request->stage)
            status = ts_diag_error(bench->diag, TS_BAD_CHAIN,
                                   &(struct diag_site){.code = "no-benchmark", .stage = name}, "%s",
                                   why);
        else if (!bench->request->json)
            fprintf(bench->rows.stream, "%-10s no case: %s\n", name, why);
    }
    ts_diag_destroy(refusals);
    return status;
}

/* Finds the devices, and measures the ceilings of the CUDA device; `auto` goes without one that
 * fails. */
static enum ts_status choose_devices(struct bench *bench)
{
    enum ts_status status =
        ts_bench_devices_choose(bench->request->device, false, &bench->devices, bench->diag);
#ifdef TS_HAVE_CUDA
    struct bench_devices *devices = &bench->devices;
    struct ts_diag *diag = devices->on_cpu ? ts_diag_create() : bench->diag;
    if (!diag)
        return ts_diag_no_memory(bench->diag, sizeof *devices);
    if (status == TS_OK && devices->device)
        status = ts_bench_ceilings(devices->device, diag, &bench->ceilings);
    if (diag == bench->diag)
        return status;
    if (ts_diag_count(diag) > 0) {
        devices->device = NULL;
        snprintf(devices->why, sizeof devices->why, "%s", ts_diag_get(diag, 0)->message);
        status = TS_OK;
    }
    ts_diag_destroy(diag);
#endif
    return status;
}

static bool fits(const struct stage *stage, const char *cases)
{
    char parameters[BENCH_MAX_CASES][256];
    return ts_bench_split_cases(stage, cases, parameters) > 0;
}

/* Refuses what a request cannot ask for. */
static enum ts_status refuse_request(const struct bench_request *request, struct ts_diag *diag)
{
    const struct stage *only = request->stage ? ts_stage_find(request->stage) : NULL;
    if (!request->stage)
        return TS_OK;
    if (!strcmp(request->stage, "chain")) {
        const struct diag_site site = {.code = "benchmark-option"};
        if (request->parameters)
            return ts_diag_error(diag, TS_BAD_CHAIN, &site,
                                 "--parameters are those of a stage; the chain is '%s'",
                                 chain_text);
        if (request->nz > 1)
            return ts_diag_error(diag, TS_BAD_CHAIN, &site,
                                 "the chain is timed on one slice, not on %lld: --size 1x%lldx%lld",
                                 (long long)request->nz, (long long)request->ny,
                                 (long long)request->nx);
        return TS_OK;
    }
    if (!only)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-stage"},
                             "there is no stage '%s'", request->stage);
    if (!only->map && !only->reduction)
        return ts_diag_error(diag, TS_BAD_CHAIN,
                             &(struct diag_site){.code = "no-benchmark", .stage = only->name},
                             "it passes its image on, there is nothing to time");
    if (request->parameters && !fits(only, request->parameters))
        return ts_diag_error(
            diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "parameters-too-long", .stage = only->name},
            "the parameters of a case have more than 255 characters");
    return TS_OK;
}

enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream, struct ts_diag *diag)
{
    struct bench bench = {
        .request = request,
        .rows = {.table = &ts_bench_table_of_rows, .stream = stream, .json = request->json},
        .diag = diag};
    enum ts_status status = refuse_request(request, diag);
    /* Minutes must not be spent on rows that cannot be kept. */
    if (status == TS_OK && request->save)
        status = ts_whole_file_check(request->save, true, diag);
    if (status == TS_OK && request->plot)
        status = ts_whole_file_check(request->plot, true, diag);
    if (status == TS_OK)
        status = choose_devices(&bench);
    if (status != TS_OK)
        return status;
    if (!request->json)
        ts_bench_print_head(&bench.devices, &bench.ceilings, stream);
    ts_table_begin(&bench.rows);
    for (const struct stage *const *stage = ts_stages; status == TS_OK && *stage; stage++)
        if (request->stage ? !strcmp((*stage)->name, request->stage)
                           : (*stage)->map || (*stage)->reduction)
            status = bench_one(&bench, *stage);
    if (status == TS_OK && (!request->stage || !strcmp(request->stage, "chain")))
        status = bench_one(&bench, NULL);
    const enum ts_status printed = ts_table_end(&bench.rows, diag);
    status = status == TS_OK ? printed : status;
    if (status == TS_OK && request->save)
        status = ts_table_save(&bench.rows, request->save, diag);
    if (status == TS_OK && request->plot)
        status = ts_bench_plot(request->plot, &bench.rows, diag);
    ts_table_clear(&bench.rows);
    return status == TS_OK && bench.n_failed > 0 ? TS_RUN_FAILED : status;
}

bool ts_bench_pick(const char *names, const void *table, size_t bytes, int n, bool *picked)
{
    for (const char *at = names;; at++) {
        const size_t length = strcspn(at, ",");
        int i = 0;
        for (; i < n; i++) {
            const char *name = *(const char *const *)((const char *)table + (size_t)i * bytes);
            if (strlen(name) == length && strncmp(name, at, length) == 0)
                break;
        }
        if (i == n)
            return false;
        picked[i] = true;
        at += length;
        if (!*at)
            return true;
    }
}
