/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed-up and efficiency of the two orders in which partial results are joined (stages/common/fan_in.h), against size
 * and number of processors: S = T1/Tp, E = S/p, where T1 is the time of one processor that takes one number after the
 * other (R. P. Brent, 1974; J. JaJa, An Introduction to Parallel Algorithms, 1992, 1.4). Processors are threads.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/reduction_study.h"
#include "pipeline/bench.h"
#include "pipeline/image.h"
#include "pipeline/timing.h"

enum { N_SIZES = 4, RUNS = 15, MAX_ROWS = 256, LANES = 8, LEAST_RUN = 64 };
static const int64_t sizes[N_SIZES] = {1 << 10, 1 << 14, 1 << 18, 1 << 24};

struct study {
    const float *values;
    double *room; /* half as many sums */
    uint64_t *tables;
    struct study_row *rows;
    int n_rows;
};

void ts_study_fill(float *values, int64_t n)
{
    uint64_t state = 20240607;
    for (int64_t i = 0; i < n; i++) {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        values[i] = (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
    }
}

uint32_t ts_study_count(uint64_t table, uint64_t bin)
{
    return (uint32_t)((table * 2654435761u ^ bin * 40503u) % 1000003u);
}

/* ---- reductions --------------------------------------------------------------------------------- */

/* One processor; its vector lanes take neighbors. */
TS_VECTORIZED static double sum_run(const float *values, int64_t n)
{
    double lanes[LANES] = {0}, sum = 0;
    const int64_t whole = n / LANES * LANES;
    for (int64_t i = 0; i < whole; i += LANES)
        for (int64_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (double)values[i + lane];
    for (int64_t lane = 0; lane < LANES; lane++)
        sum += lanes[lane];
    for (int64_t i = whole; i < n; i++)
        sum += (double)values[i];
    return sum;
}

TS_VECTORIZED static void add_values(double *sums, const float *values, const float *upper, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] = (double)values[i] + (double)upper[i];
}

TS_VECTORIZED static void add_sums(double *sums, const double *upper, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] += upper[i];
}

/* n is a power of two. Each of the threads takes a contiguous share of a step, and waits for the others after it. */
static double fan_in(const struct study *study, int64_t n, int threads)
{
    double *sums = study->room;
#pragma omp parallel num_threads(threads)
    {
        const int64_t thread = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t stride = n / 2, first = stride * thread / all, end = stride * (thread + 1) / all;
        add_values(sums + first, study->values + first, study->values + stride + first, end - first);
        for (stride /= 2; stride > 0; stride /= 2) {
#pragma omp barrier
            first = stride * thread / all;
            end = stride * (thread + 1) / all;
            add_sums(sums + first, sums + stride + first, end - first);
        }
    }
    return sums[0];
}

/* Runs of about sqrt(n), shared by the threads; their sums fan in on one of them. */
static double two_level(const struct study *study, int64_t n, int threads)
{
    const int64_t length = (int64_t)ts_run_length((size_t)n, LEAST_RUN, LEAST_RUN, (size_t)n);
    const int64_t n_runs = (n + length - 1) / length;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t run = 0; run < n_runs; run++) {
        const int64_t left = n - run * length;
        study->room[run] = sum_run(study->values + run * length, left < length ? left : length);
    }
    return ts_fan_in_sum(study->room, (size_t)n_runs);
}

/* ---- measurements ------------------------------------------------------------------------------- */

static double run_once(const struct study *study, const struct study_row *row)
{
    if (*row->work == 't')
        ts_tables_join(study->tables, (size_t)row->n, STUDY_BINS, row->method);
    else if (row->method == REDUCTION_FAN_IN)
        return fan_in(study, row->n, (int)row->processors);
    else if (row->method == REDUCTION_TWO_LEVEL)
        return two_level(study, row->n, (int)row->processors);
    return *row->work == 't' ? 0 : sum_run(study->values, row->n);
}

/* Fills in the time; false where the sum is wrong. Short reductions are repeated within a measurement. */
static bool measure(const struct study *study, struct study_row *row, double expected)
{
    double times[RUNS];
    bool right = true;
    const int repeats = row->n < 1 << 16 && *row->work == 's' ? 32 : 1;
    memset(study->room, 0xFF, (size_t)(row->n / 2) * sizeof *study->room); /* NaN: a sum must be written */
    run_once(study, row);
    for (int run = 0; run < RUNS; run++) {
        const double start = ts_seconds();
        double sum = 0;
        for (int i = 0; i < repeats; i++)
            sum = run_once(study, row);
        times[run] = (ts_seconds() - start) / repeats;
        right &= *row->work == 't' || fabs(sum - expected) <= 1e-12 * expected;
    }
    row->seconds = ts_median(times, RUNS);
    return right;
}

/* Joins tables whose sums are known. */
static bool joins_right(const struct study *study, const struct study_row *row)
{
    const uint64_t n = (uint64_t)row->n;
    bool right = true;
    for (uint64_t i = 0; i < n * STUDY_BINS; i++)
        study->tables[i] = ts_study_count(i / STUDY_BINS, i % STUDY_BINS);
    run_once(study, row);
    for (uint64_t bin = 0; bin < STUDY_BINS; bin++) {
        uint64_t sum = 0;
        for (uint64_t table = 0; table < n; table++)
            sum += ts_study_count(table, bin);
        right &= study->tables[bin] == sum;
    }
    return right;
}

static bool study_cpu(struct study *study, const double *sums)
{
    const int cores = omp_get_num_procs();
    bool right = true;
    for (int i = 0; i < N_SIZES; i++) {
        struct study_row serial = {"CPU", "sum", REDUCTION_AUTO, sizes[i], 1, 0, 0};
        right &= measure(study, &serial, sums[i]);
        for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
            for (int p = 1; p <= cores && study->n_rows < MAX_ROWS; p = p < cores && 2 * p > cores ? cores : 2 * p) {
                struct study_row *row = &study->rows[study->n_rows++];
                *row = (struct study_row){"CPU", "sum", (enum reduction_method)method, sizes[i], p, 0, serial.seconds};
                right &= measure(study, row, sums[i]);
            }
    }
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
        for (int64_t n = 16; n <= 256 && study->n_rows < MAX_ROWS; n *= 4) {
            struct study_row *row = &study->rows[study->n_rows++];
            *row = (struct study_row){"CPU", "tables", (enum reduction_method)method, n, 1, 0, (double)NAN};
            measure(study, row, 0);
            right &= joins_right(study, row);
        }
    return right;
}

/* ---- printing ----------------------------------------------------------------------------------- */

static void print_row(const struct study_row *row, bool json, bool first, FILE *stream)
{
    const char *method = ts_choice_name(ts_reduction_choices, row->method);
    const double speed_up = row->serial / row->seconds;
    if (json) {
        fprintf(stream,
                "%s\n{\"device\": \"%s\", \"work\": \"%s\", \"method\": \"%s\", \"n\": %lld, \"processors\": %lld, "
                "\"seconds\": %.9g",
                first ? "" : ",", row->device, row->work, method, (long long)row->n, (long long)row->processors,
                row->seconds);
        if (!isnan(speed_up))
            fprintf(stream, ", \"speed_up\": %.6g, \"efficiency\": %.6g", speed_up, speed_up / (double)row->processors);
        fprintf(stream, "}");
    } else if (isnan(speed_up)) {
        fprintf(stream, "%-6s %-7s %-10s %10lld %10lld %12.2f %10s %10s\n", row->device, row->work, method,
                (long long)row->n, (long long)row->processors, 1e6 * row->seconds, "-", "-");
    } else {
        fprintf(stream, "%-6s %-7s %-10s %10lld %10lld %12.2f %10.2f %10.4f\n", row->device, row->work, method,
                (long long)row->n, (long long)row->processors, 1e6 * row->seconds, speed_up,
                speed_up / (double)row->processors);
    }
}

static void print(const struct study *study, bool json, FILE *stream)
{
    if (json)
        fprintf(stream, "[");
    else
        fprintf(stream,
                "Sums of n floats in double, and of n tables of %d counts. Speed-up: time of one processor that takes "
                "one\nnumber after the other / time; efficiency: speed-up / processors. Processors are threads.\n\n"
                "%-6s %-7s %-10s %10s %10s %12s %10s %10s\n",
                STUDY_BINS, "device", "work", "method", "n", "processors", "microsec.", "speed-up", "efficiency");
    for (int i = 0; i < study->n_rows; i++)
        print_row(&study->rows[i], json, i == 0, stream);
    if (json)
        fprintf(stream, "\n]\n");
}

/* ---- all ---------------------------------------------------------------------------------------- */

static enum ts_status study_cuda(const char *device, struct study *study, const double *sums, struct ts_diag *diag)
{
    struct cuda_devices found;
    unsigned index = 0;
    char rest;
    const bool named = device && strcmp(device, "auto");
    if (device && !strcmp(device, "cpu"))
        return TS_OK;
    if (named && strcmp(device, "cuda") && sscanf(device, "cuda:%u%c", &index, &rest) != 1)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "device"},
                             "unknown device '%s': auto, cpu, cuda or cuda:N", device);
    struct ts_diag *own = named ? diag : ts_diag_create();
    enum ts_status status = own ? ts_cuda_query(&found, own) : TS_RUN_FAILED;
    if (status == TS_OK && index >= (unsigned)found.n)
        status = ts_diag_error(own, TS_RUN_FAILED, &(struct diag_site){.code = "cuda-no-device"},
                               "there is no CUDA device %u, only %d", index, found.n);
    const bool there = status == TS_OK && ts_cuda_built();
    if (!named) {
        ts_diag_destroy(own);
        status = TS_OK;
    }
    return there ? ts_cuda_reduction_study(&found.devices[index], sizes, sums, N_SIZES, diag, study->rows, MAX_ROWS,
                                           &study->n_rows)
                 : status;
}

enum ts_status ts_bench_reduction(const struct bench_request *request, FILE *stream, struct ts_diag *diag)
{
    const int64_t largest = sizes[N_SIZES - 1];
    double sums[N_SIZES];
    float *values = malloc((size_t)largest * sizeof *values);
    struct study study = {.values = values,
                          .room = malloc((size_t)largest / 2 * sizeof *study.room),
                          .tables = calloc((size_t)256 * STUDY_BINS, sizeof *study.tables),
                          .rows = calloc(MAX_ROWS, sizeof *study.rows)};
    enum ts_status status = TS_OK;
    if (!values || !study.room || !study.tables || !study.rows)
        status = ts_diag_no_memory(diag, (size_t)largest * 8);
    if (status == TS_OK) {
        ts_study_fill(values, largest);
        for (int i = 0; i < N_SIZES; i++) {
            long double sum = 0;
            for (int64_t k = 0; k < sizes[i]; k++)
                sum += (long double)values[k];
            sums[i] = (double)sum;
        }
        const bool with_cpu = !request->device || strncmp(request->device, "cuda", 4) != 0;
        if (with_cpu && !study_cpu(&study, sums))
            status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-sum"},
                                   "a sum, or a join of tables, came out wrong");
    }
    if (status == TS_OK)
        status = study_cuda(request->device, &study, sums, diag);
    if (status == TS_OK)
        print(&study, request->json, stream);
    free(values);
    free(study.room);
    free(study.tables);
    free(study.rows);
    return status;
}
