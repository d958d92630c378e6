/* SPDX-License-Identifier: Apache-2.0
 *
 * Times stages on images in memory: medians of several runs, one thread and all, beside memcpy of the same image in the
 * same run. Scratch, results and padding are made outside the time taken. Bytes: the input once for each pass over it
 * (a reduction that feeds a map is a pass of its own) and the output once.
 */
#include "pipeline/bench.h"

#include <errno.h>
#include <omp.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stages/execute.h"

enum { MAX_RUNS = 101, LEAST_RUNS = 5, ERROR_NY = 67, ERROR_NX = 91 };
static const double run_seconds = 0.25;

/* What was measured of one case with one number of threads. */
struct timing {
    double seconds, bytes, copy_seconds, copy_bytes;
};

/* One thread: its processor time, which other programs do not lengthen by taking turns. More: wall time. */
static double now(int threads)
{
    struct timespec time;
    clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, by_size);
    return n % 2 ? seconds[n / 2] : 0.5 * (seconds[n / 2 - 1] + seconds[n / 2]);
}

static void *allocate(size_t bytes)
{
    return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

/* ---- one stage ready to run -------------------------------------------------------------------- */

struct bench_stage {
    struct param_set set;
    struct stage_context context;
    struct ts_image in, out, padded;
    void *room, *scratch, *copy;
};

static void bench_stage_clear(struct bench_stage *ready)
{
    free(ready->set.values);
    free(ready->in.data);
    free(ready->out.data);
    free(ready->room);
    free(ready->scratch);
    free(ready->copy);
}

/* Needs bench_stage_clear whatever it returns. */
static enum ts_status bench_stage_init(struct bench_stage *ready, const struct bench_case *which, int threads,
                                       struct ts_diag *diag)
{
    const struct stage *stage = which->stage;
    *ready = (struct bench_stage){.set = {.rows = stage->params,
                                          .n_rows = stage->n_params,
                                          .owner = stage->name,
                                          .values = calloc(1, stage->params_bytes + 1)}};
    if (!ready->set.values)
        return ts_diag_no_memory(diag, stage->params_bytes);
    enum ts_status status = ts_bench_assign(&ready->set, which->parameters, diag);
    if (status != TS_OK)
        return status;
    ready->in = ts_bench_image(which);
    if (!ready->in.data)
        return ts_diag_no_memory(diag, ts_image_bytes(&ready->in));
    status = ts_stage_prepare(stage, &ready->set, &ready->in, NULL, threads, NULL, diag, &ready->context);
    if (status != TS_OK)
        return status;
    const struct stage_reach reach = ts_stage_reach(&ready->context);
    ready->out = ready->context.out;
    ready->copy = allocate(ts_image_bytes(&ready->in));
    ready->room = allocate((size_t)(which->nz + 2 * reach.halo) * ts_slice_bytes(&ready->in));
    ready->out.data = allocate(ts_image_bytes(&ready->out));
    ready->scratch = allocate(stage->scratch_bytes ? stage->scratch_bytes(&ready->context, which->nz) : 0);
    if (!ready->copy || !ready->room || !ready->out.data || !ready->scratch)
        return ts_diag_no_memory(diag, ts_image_bytes(&ready->in) + ts_image_bytes(&ready->out));
    ts_stage_pad(&reach, &ready->context.in, &ready->in, 1, 0, which->nz, ready->room, &ready->padded);
    return TS_OK;
}

static enum ts_status reduce(struct stage_reduced *reduced, const struct bench_stage *ready)
{
    enum ts_status status = TS_OK;
    if (ts_stage_reduces_slices(&ready->context))
        return ts_stage_reduced_slab(reduced, &ready->in);
    const int rounds = ts_stage_reduces_volume(&ready->context, 0) ? ts_stage_rounds(&ready->context) : 0;
    for (int round = 0; status == TS_OK && round < rounds; round++) {
        ts_stage_reduced_add(reduced, 0, &ready->in);
        status = ts_stage_reduced_finish(reduced);
    }
    return status;
}

static enum ts_status run_once(struct bench_stage *ready, double *seconds)
{
    const struct stage *stage = ready->context.stage;
    struct stage_reduced *reduced = NULL;
    enum ts_status status = TS_OK;
    if (stage->reduction)
        status = ts_stage_reduced_create(&ready->context, ready->in.axes[0].n, &reduced);
    const double start = now(ready->context.threads);
    if (status == TS_OK && reduced)
        status = reduce(reduced, ready);
    if (status == TS_OK && stage->cpu) {
        ready->context.result = reduced ? ts_stage_reduced_result(reduced) : NULL;
        status = stage->cpu(&ready->context, &ready->padded, &ready->out, ready->scratch);
    }
    *seconds = now(ready->context.threads) - start;
    ts_stage_reduced_destroy(reduced);
    return status;
}

static double copy_once(const struct bench_stage *ready, int threads)
{
    const size_t bytes = ts_image_bytes(&ready->in);
    const double start = now(threads);
#pragma omp parallel for num_threads(threads)
    for (int part = 0; part < threads; part++) {
        const size_t first = bytes * (size_t)part / (size_t)threads, end = bytes * (size_t)(part + 1) / (size_t)threads;
        memcpy((char *)ready->copy + first, (const char *)ready->in.data + first, end - first);
    }
    return now(threads) - start;
}

static double bytes_of(const struct bench_stage *ready)
{
    const struct stage *stage = ready->context.stage;
    const double in = (double)ts_image_bytes(&ready->in), out = (double)ts_image_bytes(&ready->out);
    return !stage->cpu ? in : (stage->reduction ? 2 : 1) * in + out;
}

static enum ts_status measure(const struct bench_case *which, int threads, int runs, struct timing *timing,
                              struct ts_diag *diag)
{
    struct bench_stage ready;
    double stage_seconds[MAX_RUNS], copy_seconds[MAX_RUNS];
    int n = 0;
    enum ts_status status = bench_stage_init(&ready, which, threads, diag);
    if (status == TS_OK)
        status = run_once(&ready, &stage_seconds[0]); /* warms caches, pages and threads */
    if (status == TS_OK)
        copy_once(&ready, threads);
    for (double spent = 0; status == TS_OK && n < (runs > 0 ? runs : MAX_RUNS); n++) {
        if (runs == 0 && n >= LEAST_RUNS && spent > run_seconds)
            break;
        status = run_once(&ready, &stage_seconds[n]);
        copy_seconds[n] = copy_once(&ready, threads);
        spent += stage_seconds[n] + copy_seconds[n];
    }
    if (status == TS_OK)
        *timing = (struct timing){.seconds = median(stage_seconds, n),
                                  .bytes = bytes_of(&ready),
                                  .copy_seconds = median(copy_seconds, n),
                                  .copy_bytes = 2 * (double)ts_image_bytes(&ready.in)};
    bench_stage_clear(&ready);
    return status;
}

/* Largest distance from the oracle, as a share of its largest value, on a small image of the same kind; NaN: unknown.
 */
static double error_of(const struct bench_case *which, bench_oracle *oracle)
{
    struct bench_case small = *which;
    struct bench_stage ready;
    struct ts_diag *diag = ts_diag_create();
    double largest = 0, error = NAN, *in = NULL, *out = NULL, *expected = NULL;
    small.nz = 1;
    small.ny = ERROR_NY;
    small.nx = ERROR_NX;
    enum ts_status status = bench_stage_init(&ready, &small, 1, diag);
    double seconds;
    if (status == TS_OK)
        status = run_once(&ready, &seconds);
    if (status == TS_OK) {
        const size_t n_in = ts_image_count(&ready.in), n_out = ts_image_count(&ready.out);
        in = calloc(n_in, sizeof *in);
        out = calloc(n_out, sizeof *out);
        expected = calloc(n_out, sizeof *expected);
        if (in && out && expected) {
            ts_load_f64(in, ready.in.data, ready.in.dtype, n_in);
            ts_load_f64(out, ready.out.data, ready.out.dtype, n_out);
            oracle(&ready.context, in, expected);
            error = 0;
            for (size_t i = 0; i < n_out; i++) {
                const double off = fabs(out[i] - expected[i]);
                largest = fmax(largest, fabs(expected[i]));
                error = isnan(off) ? (double)INFINITY : fmax(error, off);
            }
            error = largest > 0 ? error / largest : error; /* a NaN of the stage shows as infinity */
        }
    }
    free(in);
    free(out);
    free(expected);
    bench_stage_clear(&ready);
    ts_diag_destroy(diag);
    return error;
}

/* ---- printing ---------------------------------------------------------------------------------- */

struct report {
    const struct bench_request *request;
    FILE *stream;
    int n_rows, all_threads;
};

static double rate(const struct timing *timing)
{
    return 1e-9 * timing->bytes / timing->seconds;
}

static double share_of_memcpy(const struct timing *timing)
{
    return 100 * timing->bytes / timing->seconds / (timing->copy_bytes / timing->copy_seconds);
}

static void print_head(const struct report *report)
{
    if (report->request->json) {
        fprintf(report->stream, "[");
        return;
    }
    fprintf(report->stream,
            "tomostage %s, %d threads at most; medians of processor time (one thread) or wall time; GB/s of "
            "bytes\nread and written once a pass\n\n",
            ts_version(), report->all_threads);
    fprintf(report->stream, "%-10s %-32s %-5s %-8s %13s %7s %9s %8s %8s %7s %9s\n", "stage", "parameters", "dtype",
            "values", "z*y*x", "threads", "ms", "Mvoxel/s", "GB/s", "memcpy", "error");
}

static void print_row(struct report *report, const struct bench_case *which, int threads, const struct timing *timing,
                      double error)
{
    char size[48], error_text[16] = "-";
    const double voxels = (double)(which->nz * which->ny * which->nx);
    snprintf(size, sizeof size, "%lldx%lldx%lld", (long long)which->nz, (long long)which->ny, (long long)which->nx);
    if (report->request->json) {
        char error_json[32] = "null";
        if (!isnan(error))
            snprintf(error_json, sizeof error_json, isinf(error) ? "1e999" : "%.3g", error);
        fprintf(
            report->stream,
            "%s\n{\"stage\": \"%s\", \"parameters\": \"%s\", \"dtype\": \"%s\", \"values\": \"%s\", \"shape\": [%lld, "
            "%lld, %lld], "
            "\"threads\": %d, \"seconds\": %.9g, \"bytes\": %.0f, \"memcpy_bytes_per_second\": %.6g, \"error\": %s}",
            report->n_rows ? "," : "", which->stage->name, which->parameters, ts_dtype_name(which->dtype),
            ts_bench_values_names[which->values], (long long)which->nz, (long long)which->ny, (long long)which->nx,
            threads, timing->seconds, timing->bytes, timing->copy_bytes / timing->copy_seconds, error_json);
    } else {
        if (!isnan(error))
            snprintf(error_text, sizeof error_text, "%.1e", error);
        fprintf(report->stream, "%-10s %-32s %-5s %-8s %13s %7d %9.3f %8.1f %8.2f %6.0f%% %9s\n", which->stage->name,
                *which->parameters ? which->parameters : "(defaults)", ts_dtype_name(which->dtype),
                ts_bench_values_names[which->values], size, threads, 1e3 * timing->seconds,
                1e-6 * voxels / timing->seconds, rate(timing), share_of_memcpy(timing), error_text);
    }
    fflush(report->stream);
    report->n_rows++;
}

/* ---- the loop ---------------------------------------------------------------------------------- */

/* One case with one thread and with all. TS_BAD_CHAIN where the stage refuses it. */
static enum ts_status bench_case(struct report *report, const struct bench_case *which, struct ts_diag *diag)
{
    const struct bench_request *request = report->request;
    bench_oracle *oracle = request->oracle ? request->oracle(which->stage) : NULL;
    const int most = report->all_threads;
    double error = NAN;
    for (int threads = request->threads > 0 ? request->threads : 1;; threads = most) {
        struct timing timing = {0};
        const enum ts_status status = measure(which, threads, request->runs, &timing, diag);
        if (status != TS_OK)
            return status;
        if (oracle && which->stage->cpu && isnan(error))
            error = error_of(which, oracle);
        print_row(report, which, threads, &timing, error);
        if (request->threads > 0 || threads >= most)
            return TS_OK;
    }
}

static bool wanted(const struct bench_request *request, const struct stage *stage, int dtype, int values)
{
    const unsigned common = TS_DTYPE_BIT(TS_U8) | TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_F32);
    if (!(stage->dtypes & TS_DTYPE_BIT(dtype)))
        return false;
    if (request->dtype >= 0 ? dtype != request->dtype : !(common & TS_DTYPE_BIT(dtype)))
        return false;
    /* Only counting and tables take longer for some values than for others. */
    return request->values >= 0 ? values == request->values : stage->reduction || values == BENCH_CT;
}

static enum ts_status bench_stage(struct report *report, const struct stage *stage, struct ts_diag *diag)
{
    const struct bench_request *request = report->request;
    char parameters[BENCH_MAX_CASES][256];
    const int before = report->n_rows, n = request->parameters ? 1 : ts_bench_parameters(stage, parameters);
    struct ts_diag *refusals = ts_diag_create();
    enum ts_status status = refusals ? TS_OK : TS_RUN_FAILED;
    for (int i = 0; status == TS_OK && i < n; i++)
        for (int dtype = TS_U8; status == TS_OK && dtype <= TS_F32; dtype++)
            for (int values = 0; status == TS_OK && values < BENCH_VALUES; values++) {
                struct bench_case which = {.stage = stage,
                                           .dtype = (enum ts_dtype)dtype,
                                           .values = (enum bench_values)values,
                                           .nz = request->nz ? request->nz : 32,
                                           .ny = request->ny ? request->ny : 512,
                                           .nx = request->nx ? request->nx : 512};
                if (!wanted(request, stage, dtype, values))
                    continue;
                snprintf(which.parameters, sizeof which.parameters, "%s",
                         request->parameters ? request->parameters : parameters[i]);
                status = bench_case(report, &which, refusals);
                if (status == TS_BAD_CHAIN) /* a method that does not fit this type or size */
                    status = TS_OK;
            }
    if (status == TS_OK && report->n_rows == before) {
        const char *why =
            ts_diag_count(refusals) ? ts_diag_get(refusals, 0)->message : "no value for a required parameter";
        if (request->stage)
            status = ts_diag_error(diag, TS_BAD_CHAIN,
                                   &(struct diag_site){.code = "no-benchmark", .stage = stage->name}, "%s", why);
        else if (!request->json)
            fprintf(report->stream, "%-10s no case: %s\n", stage->name, why);
    } else if (status != TS_OK) {
        status =
            ts_diag_error(diag, status, &(struct diag_site){.code = "benchmark-failed", .stage = stage->name}, "%s",
                          refusals && ts_diag_count(refusals) ? ts_diag_get(refusals, 0)->message : "out of memory");
    }
    ts_diag_destroy(refusals);
    return status;
}

enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream, struct ts_diag *diag)
{
    struct report report = {.request = request, .stream = stream, .all_threads = omp_get_num_procs()};
    const struct stage *only = request->stage ? ts_stage_find(request->stage) : NULL;
    enum ts_status status = TS_OK;
    if (request->stage && !only)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "unknown-stage"}, "there is no stage '%s'",
                             request->stage);
    if (only && !only->cpu && !only->reduction)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-benchmark", .stage = only->name},
                             "it passes its image on, there is nothing to time");
    print_head(&report);
    for (const struct stage *const *stage = ts_stages; status == TS_OK && *stage; stage++)
        if (only ? *stage == only : (*stage)->cpu || (*stage)->reduction)
            status = bench_stage(&report, *stage, diag);
    if (request->json)
        fprintf(stream, "\n]\n");
    return status;
}

/* ---- the command ------------------------------------------------------------------------------- */

/* Runs tomostage-bench from this program's folder; false where there is none. */
static bool hand_over(const char *stage, bool json, int *code)
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
    char *arguments[5] = {path};
    int n = 1, status;
    pid_t child;
    if (json)
        arguments[n++] = "--json";
    if (stage) {
        arguments[n++] = "--stage";
        arguments[n++] = (char *)(uintptr_t)stage;
    }
    if (access(path, X_OK) || posix_spawn(&child, path, NULL, NULL, arguments, environ))
        return false;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : TS_RUN_FAILED;
    return true;
}

int ts_bench(const char *stage, bool json, FILE *stream)
{
    const struct bench_request request = {.stage = stage, .dtype = -1, .values = -1, .json = json};
    int code;
    fflush(stream);
    if (stream == stdout && hand_over(stage, json, &code))
        return code;
    struct ts_diag *diag = ts_diag_create();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = ts_bench_run(&request, stream, diag);
    ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    return (int)status;
}
