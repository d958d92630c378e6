/* SPDX-License-Identifier: Apache-2.0
 *
 * Speed-up and efficiency of the two orders in which partial results are joined (stages/values/fan_in.h), against size
 * and number of processors: S = T1/Tp, E = S/p, where T1 is the time of one processor that takes one value after the
 * other (R. P. Brent, 1974; J. JaJa, An Introduction to Parallel Algorithms, 1992, 1.4). Processors are threads.
 */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "core/timing.h"
#include "cuda/bench/reduction_study.h"
#include "pipeline/bench/bench.h"
#include "pipeline/bench/bench_reduction.h"
#include "pipeline/plan/device_choice.h"

enum { N_SIZES = 4, RUNS = 15, LEAST_RUNS = 5, MAX_ROWS = 1024, LANES = 8, LEAST_RUN = 64, MAX_TABLES = 256 };
static const int64_t sizes[N_SIZES] = {1 << 10, 1 << 14, 1 << 18, 1 << 24};
static const double run_seconds = 0.25;

const char *const ts_study_works[STUDY_WORKS] = {"sum", "product", "min", "max", "variance", "tables"};

struct study {
    const float *values;
    void *room; /* half as many partial results */
    uint64_t *tables;
    struct study_row *rows;
    int n_rows, n_sizes, runs; /* runs 0: as many as are usual */
    int64_t most;              /* values, or counts of all tables; 0: any number */
    struct ts_diag *diag;
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

double ts_study_value(enum study_work work, const void *partial, int64_t n)
{
    const struct study_moments *moments = partial;
    const double shift = moments->sum / (double)n; /* of work without moments it is not used */
    return work == STUDY_VARIANCE ? moments->squares / (double)n - shift * shift : *(const double *)partial;
}

/* But for the rounding of so many joins. Squares of numbers of 24 bits do not end evenly, so that sums of them round
 * more often to one side than to the other. */
bool ts_study_right(enum study_work work, double found, double expected)
{
    static const double relative[STUDY_NUMBERS] = {
        [STUDY_SUM] = 1e-12, [STUDY_PRODUCT] = 1e-12, [STUDY_VARIANCE] = 1e-10};
    return fabs(found - expected) <= relative[work] * fabs(expected);
}

/* ---- partial results: of one value, and joined ---------------------------------------------------- */

static inline double as_sum(float value)
{
    return (double)value;
}

static inline double as_product(float value)
{
    return STUDY_FACTOR(value);
}

static inline struct study_moments as_variance(float value)
{
    const double off = (double)value - STUDY_SHIFT;
    return (struct study_moments){off, off * off};
}
#define as_min as_sum
#define as_max as_sum

static inline double join_sum(double a, double b)
{
    return a + b;
}

static inline double join_product(double a, double b)
{
    return a * b;
}

static inline double join_min(double a, double b)
{
    return b < a ? b : a;
}

static inline double join_max(double a, double b)
{
    return b > a ? b : a;
}

static inline struct study_moments join_variance(struct study_moments a, struct study_moments b)
{
    return (struct study_moments){a.sum + b.sum, a.squares + b.squares};
}

/* run: n > 0 values by one processor, whose vector lanes take neighbors, into room[at]. first: the first step of a
 * fan-in, from values i and i + stride into room[i], of n such from `begin` on. step: room[i + stride] into room[i]. */
#define OPERATION(name, type)                                                                                          \
    TS_VECTORIZED static void name##_run(void *room, int64_t at, const float *values, int64_t n)                       \
    {                                                                                                                  \
        type lanes[LANES], all = as_##name(values[0]);                                                                 \
        const int64_t whole = n / LANES * LANES;                                                                       \
        for (int64_t lane = 0; whole && lane < LANES; lane++)                                                          \
            lanes[lane] = as_##name(values[lane]);                                                                     \
        for (int64_t i = LANES; i < whole; i += LANES)                                                                 \
            for (int64_t lane = 0; lane < LANES; lane++)                                                               \
                lanes[lane] = join_##name(lanes[lane], as_##name(values[i + lane]));                                   \
        if (whole)                                                                                                     \
            all = lanes[0];                                                                                            \
        for (int64_t lane = 1; whole && lane < LANES; lane++)                                                          \
            all = join_##name(all, lanes[lane]);                                                                       \
        for (int64_t i = whole ? whole : 1; i < n; i++)                                                                \
            all = join_##name(all, as_##name(values[i]));                                                              \
        ((type *)room)[at] = all;                                                                                      \
    }                                                                                                                  \
    TS_VECTORIZED static void name##_first(void *room, int64_t begin, int64_t n, const float *values, int64_t stride)  \
    {                                                                                                                  \
        type *parts = (type *)room + begin;                                                                            \
        const float *lower = values + begin, *upper = lower + stride;                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            parts[i] = join_##name(as_##name(lower[i]), as_##name(upper[i]));                                          \
    }                                                                                                                  \
    TS_VECTORIZED static void name##_step(void *room, int64_t begin, int64_t n, int64_t stride)                        \
    {                                                                                                                  \
        type *parts = (type *)room + begin;                                                                            \
        const type *upper = parts + stride;                                                                            \
        for (int64_t i = 0; i < n; i++)                                                                                \
            parts[i] = join_##name(parts[i], upper[i]);                                                                \
    }
OPERATION(sum, double)
OPERATION(product, double)
OPERATION(min, double)
OPERATION(max, double)
OPERATION(variance, struct study_moments)

static const struct operation {
    void (*run)(void *room, int64_t at, const float *values, int64_t n);
    void (*first)(void *room, int64_t begin, int64_t n, const float *values, int64_t stride);
    void (*step)(void *room, int64_t begin, int64_t n, int64_t stride);
} operations[STUDY_NUMBERS] = {[STUDY_SUM] = {sum_run, sum_first, sum_step},
                               [STUDY_PRODUCT] = {product_run, product_first, product_step},
                               [STUDY_MIN] = {min_run, min_first, min_step},
                               [STUDY_MAX] = {max_run, max_first, max_step},
                               [STUDY_VARIANCE] = {variance_run, variance_first, variance_step}};

/* ---- reductions --------------------------------------------------------------------------------- */

/* n is a power of two. Each of the threads takes a contiguous share of a step, and waits for the others after it. */
static void fan_in(const struct study *study, const struct operation *operation, int64_t n, int threads)
{
#pragma omp parallel num_threads(threads)
    {
        const int64_t thread = omp_get_thread_num(), all = omp_get_num_threads();
        int64_t stride = n / 2, first = stride * thread / all, end = stride * (thread + 1) / all;
        operation->first(study->room, first, end - first, study->values, stride);
        for (stride /= 2; stride > 0; stride /= 2) {
#pragma omp barrier
            first = stride * thread / all;
            end = stride * (thread + 1) / all;
            operation->step(study->room, first, end - first, stride);
        }
    }
}

/* Runs of about sqrt(n), shared by the threads; their results fan in on one of them. */
static void two_level(const struct study *study, const struct operation *operation, int64_t n, int threads)
{
    const int64_t length = (int64_t)ts_run_length((size_t)n, LEAST_RUN, LEAST_RUN, (size_t)n);
    int64_t n_runs = (n + length - 1) / length;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t run = 0; run < n_runs; run++) {
        const int64_t left = n - run * length;
        operation->run(study->room, run, study->values + run * length, left < length ? left : length);
    }
    for (int64_t stride = (int64_t)ts_fan_in_stride((size_t)n_runs); stride > 0; n_runs = stride, stride /= 2)
        operation->step(study->room, 0, n_runs - stride, stride);
}

/* Each of the threads has tables of its own for its share of the bins, and joins those. */
struct share {
    uint64_t *tables;
    int64_t first, end; /* bins */
};

static struct share share_of(const struct study *study, const struct study_row *row, int64_t thread)
{
    const int64_t first = STUDY_BINS * thread / row->processors, end = STUDY_BINS * (thread + 1) / row->processors;
    return (struct share){study->tables + first * row->n, first, end};
}

TS_VECTORIZED static void add_counts(uint64_t *into, const uint64_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        into[i] += from[i];
}

/* Serially: one table after the other. */
static void join_tables(const struct study *study, const struct study_row *row)
{
#pragma omp parallel for schedule(static, 1) num_threads((int)row->processors)
    for (int64_t thread = 0; thread < row->processors; thread++) {
        const struct share share = share_of(study, row, thread);
        const int64_t n_bins = share.end - share.first;
        if (row->method != REDUCTION_AUTO)
            ts_tables_join(share.tables, (size_t)row->n, (size_t)n_bins, row->method);
        for (int64_t table = 1; row->method == REDUCTION_AUTO && table < row->n; table++)
            add_counts(share.tables, share.tables + table * n_bins, n_bins);
    }
}

/* ---- measurements ------------------------------------------------------------------------------- */

static void run_once(const struct study *study, const struct study_row *row)
{
    if (row->work == STUDY_TABLES)
        join_tables(study, row);
    else if (row->method == REDUCTION_FAN_IN)
        fan_in(study, &operations[row->work], row->n, (int)row->processors);
    else if (row->method == REDUCTION_TWO_LEVEL)
        two_level(study, &operations[row->work], row->n, (int)row->processors);
    else
        operations[row->work].run(study->room, 0, study->values, row->n);
}

/* Fills in the time. Short reductions are repeated within a measurement. */
static void measure(const struct study *study, struct study_row *row)
{
    double times[RUNS], spent = 0;
    const int repeats = row->n < 1 << 16 && row->work != STUDY_TABLES ? 32 : 1;
    int n = 0;
    run_once(study, row);
    for (; n < (study->runs > 0 && study->runs < RUNS ? study->runs : RUNS); n++) {
        if (study->runs <= 0 && n >= LEAST_RUNS && spent > run_seconds)
            break;
        const double start = ts_seconds();
        for (int i = 0; i < repeats; i++)
            run_once(study, row);
        times[n] = (ts_seconds() - start) / repeats;
        spent += times[n];
    }
    row->seconds = ts_median(times, n);
}

/* Joins tables whose sums are known. */
static bool joins_right(const struct study *study, const struct study_row *row)
{
    bool right = true;
    for (int64_t thread = 0; thread < row->processors; thread++) {
        const struct share share = share_of(study, row, thread);
        const int64_t n_bins = share.end - share.first;
        for (int64_t i = 0; i < row->n * n_bins; i++)
            share.tables[i] = ts_study_count((uint64_t)(i / n_bins), (uint64_t)(share.first + i % n_bins));
    }
    run_once(study, row);
    for (int64_t thread = 0; thread < row->processors; thread++) {
        const struct share share = share_of(study, row, thread);
        for (int64_t bin = share.first; bin < share.end; bin++) {
            uint64_t sum = 0;
            for (int64_t table = 0; table < row->n; table++)
                sum += ts_study_count((uint64_t)table, (uint64_t)bin);
            right &= share.tables[bin - share.first] == sum;
        }
    }
    return right;
}

/* Times a reduction, looks at what it comes to, and keeps the row. */
static enum ts_status add_row(struct study *study, struct study_row *row, double expected)
{
    const struct diag_site site = {.code = "study-result"};
    memset(study->room, 0xFF, sizeof(struct study_moments)); /* NaN: a result must be written */
    if (row->work == STUDY_TABLES && !joins_right(study, row))
        return ts_diag_error(study->diag, TS_RUN_FAILED, &site, "the sum of %lld tables came out wrong",
                             (long long)row->n);
    measure(study, row);
    const double found = ts_study_value(row->work, study->room, row->n);
    if (row->work != STUDY_TABLES && !ts_study_right(row->work, found, expected))
        return ts_diag_error(study->diag, TS_RUN_FAILED, &site, "the %s of %lld values came to %.17g instead of %.17g",
                             ts_study_works[row->work], (long long)row->n, found, expected);
    if (row->method != REDUCTION_AUTO && study->n_rows < MAX_ROWS)
        study->rows[study->n_rows++] = *row;
    return TS_OK;
}

/* T1 first, then both orders with 1, 2, 4, ... and all processors. */
static enum ts_status study_one(struct study *study, enum study_work work, int64_t n, double expected)
{
    const int cores = omp_get_num_procs();
    struct study_row serial = {"CPU", work, REDUCTION_AUTO, n, 1, 0, 0};
    enum ts_status status = add_row(study, &serial, expected);
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
        for (int p = 1; status == TS_OK && p <= cores; p = p < cores && 2 * p > cores ? cores : 2 * p) {
            struct study_row row = {"CPU", work, (enum reduction_method)method, n, p, 0, serial.seconds};
            status = add_row(study, &row, expected);
        }
    return status;
}

static enum ts_status study_cpu(struct study *study, const struct study_answers *expected)
{
    enum ts_status status = TS_OK;
    for (int work = 0; work < STUDY_NUMBERS; work++)
        for (int i = 0; status == TS_OK && i < study->n_sizes; i++)
            status = study_one(study, (enum study_work)work, sizes[i], expected[i].of[work]);
    for (int64_t n = STUDY_LEAST_TABLES; status == TS_OK && n <= MAX_TABLES && ts_study_joins(n, study->most); n *= 4)
        status = study_one(study, STUDY_TABLES, n, 0);
    return status;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* The devices to time on. device NULL: no CUDA device; why: `auto` goes without one. */
struct devices {
    bool on_cpu;
    const struct device_numbers *device;
    struct cuda_devices found;
    char why[512];
};

static enum ts_status choose_devices(const char *wanted, struct devices *devices, struct ts_diag *diag)
{
    struct device_choice choice;
    int index;
    enum ts_status status = ts_device_choice_parse(wanted, &choice, diag);
    *devices = (struct devices){.on_cpu = choice.kind != DEVICE_CUDA};
    if (status != TS_OK || choice.kind == DEVICE_CPU)
        return status;
    const bool automatic = choice.kind == DEVICE_AUTO;
    struct ts_diag *own = automatic ? ts_diag_create() : diag;
    if (!own)
        return ts_diag_no_memory(diag, sizeof choice);
    status = ts_device_choice_find(choice.index, &devices->found, &index, own);
    if (status == TS_OK)
        devices->device = &devices->found.devices[index];
    if (!automatic)
        return status;
    if (status != TS_OK)
        snprintf(devices->why, sizeof devices->why, "%s", ts_diag_get(own, 0)->message);
    ts_diag_destroy(own);
    return TS_OK;
}

/* In extended precision, one value after the other. */
static struct study_answers answers_of(const float *values, int64_t n)
{
    long double sum = 0, product = 1, squares = 0;
    float least = values[0], most = values[0];
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)values[i];
        product *= STUDY_FACTOR(values[i]);
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    const long double mean = sum / (long double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((long double)values[i] - mean) * ((long double)values[i] - mean);
    return (struct study_answers){{[STUDY_SUM] = (double)sum,
                                   [STUDY_PRODUCT] = (double)product,
                                   [STUDY_MIN] = (double)least,
                                   [STUDY_MAX] = (double)most,
                                   [STUDY_VARIANCE] = (double)(squares / (long double)n)}};
}

static enum ts_status print(const struct study *study, const struct bench_request *request, const char *why,
                            FILE *stream)
{
    ts_reduction_print(study->rows, study->n_rows, request->json, *why ? why : NULL, stream);
    enum ts_status status =
        request->save ? ts_reduction_save(request->save, study->rows, study->n_rows, study->diag) : TS_OK;
    return status == TS_OK && request->plot ? ts_reduction_plot(request->plot, study->rows, study->n_rows, study->diag)
                                            : status;
}

/* The values, and what they come to. */
static enum ts_status study_all(struct study *study, float *values, const struct devices *devices)
{
    struct study_answers expected[N_SIZES];
    ts_study_fill(values, sizes[study->n_sizes - 1]);
    for (int i = 0; i < study->n_sizes; i++)
        expected[i] = answers_of(values, sizes[i]);
    enum ts_status status = devices->on_cpu ? study_cpu(study, expected) : TS_OK;
    if (status == TS_OK && devices->device)
        status = ts_cuda_reduction_study(devices->device, sizes, expected, study->n_sizes, study->most, study->diag,
                                         study->rows, MAX_ROWS, &study->n_rows);
    return status;
}

/* Its cases are its own. */
static enum ts_status refuse_options(const struct bench_request *request, struct ts_diag *diag)
{
    const char *option = request->parameters    ? "--parameters"
                         : request->dtype >= 0  ? "--dtype"
                         : request->values >= 0 ? "--values"
                         : request->threads > 0 ? "--threads"
                                                : NULL;
    return option ? ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "benchmark-option"},
                                  "%s plays no part in --reductions", option)
                  : TS_OK;
}

enum ts_status ts_bench_reduction(const struct bench_request *request, FILE *stream, struct ts_diag *diag)
{
    const int64_t most = request->nz * request->ny * request->nx;
    int n_sizes = 1;
    while (n_sizes < N_SIZES && (most == 0 || sizes[n_sizes] <= most))
        n_sizes++;
    const int64_t largest = sizes[n_sizes - 1];
    struct devices devices;
    enum ts_status status = refuse_options(request, diag);
    if (status == TS_OK)
        status = ts_bench_files_check(request, diag);
    if (status == TS_OK)
        status = choose_devices(request->device, &devices, diag);
    if (status != TS_OK)
        return status;
    float *values = malloc((size_t)largest * sizeof *values);
    struct study study = {.values = values,
                          .room = malloc((size_t)largest / 2 * sizeof(struct study_moments)),
                          .tables = calloc((size_t)MAX_TABLES * STUDY_BINS, sizeof *study.tables),
                          .rows = calloc(MAX_ROWS, sizeof *study.rows),
                          .n_sizes = n_sizes,
                          .runs = request->runs,
                          .most = most,
                          .diag = diag};
    status = values && study.room && study.tables && study.rows ? study_all(&study, values, &devices)
                                                                : ts_diag_no_memory(diag, (size_t)largest * 8);
    if (status == TS_OK)
        status = print(&study, request, devices.why, stream);
    free(values);
    free(study.room);
    free(study.tables);
    free(study.rows);
    return status;
}
