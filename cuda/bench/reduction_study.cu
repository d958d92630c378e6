/* SPDX-License-Identifier: Apache-2.0
 *
 * Sum, product, minimum, maximum and variance of n floats in double by p processors (threads), and sums of tables of
 * counts.
 *
 * serial: one thread, one value after the other: T1. fan-in: value i takes in value i + s, s halved from step to step;
 * the p threads share a step's joins, and wait for one another between steps (one block: a barrier; more: a launch a
 * step): n/p + log2(n) joins deep, log2(n) waits. two-level: thread t joins every p-th value from t on, then the p
 * partial results fan in within blocks of 1,024 and over the blocks: n/p + log2(p) deep, two waits for blocks. 4 bytes
 * read a value; the fan-in also writes 8 bytes (of the variance 16) and reads twice as many a value of each step but
 * the first. Blocks of 1,024 threads, or the p that are asked for. Serial tables: one thread, 12 bytes a count.
 */
#include "cuda/values/fan_in.cuh"

extern "C" {
#include "cuda/bench/reduction_study.h"
#include "cuda/device/session.h"
#include "stages/engine/stage.h"
}

enum { BLOCK = 1024, RUNS = 11, MAX_TABLES = 1024, MOST_A_THREAD = 1 << 20 };

static const struct stage study_stage = {.name = "bench"};

/* ---- partial results ---------------------------------------------------------------------------- */

/* Of one value each: begin_with(); of two: ts_cuda_join(). */

struct sum {
    double is;
};
struct product {
    double is;
};
struct least {
    double is;
};
struct most {
    double is;
};

static __device__ inline void begin_with(struct sum *part, float value)
{
    part->is = (double)value;
}

static __device__ inline void begin_with(struct product *part, float value)
{
    part->is = STUDY_FACTOR(value);
}

static __device__ inline void begin_with(struct least *part, float value)
{
    part->is = (double)value;
}

static __device__ inline void begin_with(struct most *part, float value)
{
    part->is = (double)value;
}

static __device__ inline void begin_with(struct study_moments *part, float value)
{
    part->sum = (double)value - STUDY_SHIFT;
    part->squares = part->sum * part->sum;
}

static __device__ inline void ts_cuda_join(struct sum *into, const struct sum *from)
{
    into->is += from->is;
}

static __device__ inline void ts_cuda_join(struct product *into, const struct product *from)
{
    into->is *= from->is;
}

static __device__ inline void ts_cuda_join(struct least *into, const struct least *from)
{
    into->is = from->is < into->is ? from->is : into->is;
}

static __device__ inline void ts_cuda_join(struct most *into, const struct most *from)
{
    into->is = from->is > into->is ? from->is : into->is;
}

static __device__ inline void ts_cuda_join(struct study_moments *into, const struct study_moments *from)
{
    into->sum += from->sum;
    into->squares += from->squares;
}

/* ---- kernels ------------------------------------------------------------------------------------ */

template <typename part> static __device__ void take(part *into, float value)
{
    part one;
    begin_with(&one, value);
    ts_cuda_join(into, &one);
}

template <typename part> static __global__ void join_serially(const float *values, part *parts, int64_t n)
{
    part all;
    begin_with(&all, values[0]);
    for (int64_t i = 1; i < n; i++)
        take(&all, values[i]);
    parts[0] = all;
}

/* The first step of a fan-in, from the values to parts[0] to parts[stride - 1]. */
template <typename part>
static __global__ void fan_in_first(const float *values, part *parts, int64_t stride, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < stride; i += (int64_t)gridDim.x * blockDim.x) {
        part own;
        begin_with(&own, values[i]);
        if (i + stride < n)
            take(&own, values[i + stride]);
        parts[i] = own;
    }
}

template <typename part> static __global__ void fan_in_step(part *parts, int64_t stride)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < stride; i += (int64_t)gridDim.x * blockDim.x)
        ts_cuda_join(&parts[i], &parts[i + stride]);
}

/* All steps from `stride` on, by one block. */
template <typename part> static __global__ void fan_in_rest(part *parts, int64_t stride)
{
    for (; stride > 0; stride /= 2) {
        for (int64_t i = threadIdx.x; i < stride; i += blockDim.x)
            ts_cuda_join(&parts[i], &parts[i + stride]);
        __syncthreads();
    }
}

/* No more threads than values. */
template <typename part> static __global__ void join_runs(const float *values, part *parts, int64_t n)
{
    __shared__ part shared[BLOCK / 2];
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    part own;
    begin_with(&own, values[i]);
    for (i += step; i < n; i += step)
        take(&own, values[i]);
    ts_cuda_fan_in(&own, shared, (int)blockDim.x);
    if (threadIdx.x == 0)
        parts[blockIdx.x] = own;
}

template <typename part> static __global__ void join_blocks(part *parts, int n)
{
    __shared__ part shared[BLOCK / 2];
    part own = parts[threadIdx.x < n ? threadIdx.x : 0];
    ts_cuda_fan_in(&own, shared, n);
    if (threadIdx.x == 0)
        parts[0] = own;
}

static __global__ void join_tables_serially(uint32_t *tables, int64_t n)
{
    for (int64_t i = STUDY_BINS; i < n * STUDY_BINS; i++)
        tables[i % STUDY_BINS] += tables[i];
}

/* ---- one measurement ---------------------------------------------------------------------------- */

struct study {
    struct cuda_session *session;
    struct stage_context context;
    cudaStream_t stream;
    struct cuda_event *begin, *end;
    float *values;
    void *parts;
    uint32_t *tables;
    int64_t resident; /* threads at once */
    struct study_row *rows;
    int room, *n_rows;
};

/* One reduction; method AUTO: serially. */
template <typename part>
static void join_numbers(const struct study *study, enum reduction_method method, int64_t n, int64_t threads)
{
    const unsigned blocks = (unsigned)ts_cuda_parts(threads, BLOCK),
                   block = (unsigned)(threads < BLOCK ? threads : BLOCK);
    part *parts = (part *)study->parts;
    int64_t stride = ts_cuda_stride_of(n);
    if (method == REDUCTION_AUTO) {
        join_serially<<<1, 1, 0, study->stream>>>(study->values, parts, n);
    } else if (method == REDUCTION_TWO_LEVEL) {
        join_runs<<<blocks, block, 0, study->stream>>>(study->values, parts, n);
        if (blocks > 1)
            join_blocks<<<1, BLOCK, 0, study->stream>>>(parts, (int)blocks);
    } else {
        fan_in_first<<<blocks, block, 0, study->stream>>>(study->values, parts, stride, n);
        for (stride /= 2; blocks > 1 && stride > BLOCK; stride /= 2)
            fan_in_step<<<blocks, block, 0, study->stream>>>(parts, stride);
        fan_in_rest<<<1, block, 0, study->stream>>>(parts, stride);
    }
}

static enum ts_status launch(const struct study *study, const struct study_row *row)
{
    switch (row->work) {
    case STUDY_SUM:
        join_numbers<struct sum>(study, row->method, row->n, row->processors);
        break;
    case STUDY_PRODUCT:
        join_numbers<struct product>(study, row->method, row->n, row->processors);
        break;
    case STUDY_MIN:
        join_numbers<struct least>(study, row->method, row->n, row->processors);
        break;
    case STUDY_MAX:
        join_numbers<struct most>(study, row->method, row->n, row->processors);
        break;
    case STUDY_VARIANCE:
        join_numbers<struct study_moments>(study, row->method, row->n, row->processors);
        break;
    default:
        if (row->method == REDUCTION_AUTO)
            join_tables_serially<<<1, 1, 0, study->stream>>>(study->tables, row->n);
        else
            ts_cuda_tables_join(study->tables, 1, row->n, STUDY_BINS, row->method, study->stream);
    }
    return ts_cuda_launched(&study->context, "reduction");
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Fills in the time. */
static enum ts_status measure(const struct study *study, struct study_row *row)
{
    double times[RUNS];
    /* NaN: a result must be written. */
    enum ts_status status =
        ts_cuda_fill(study->session, CUDA_COMPUTE, study->parts, 0xFF, sizeof(struct study_moments));
    int runs = 0;
    for (int i = 0; status == TS_OK && runs < RUNS; i++) {
        float ms = 0;
        status = ts_cuda_event_record(study->session, study->begin, CUDA_COMPUTE);
        if (status == TS_OK)
            status = launch(study, row);
        if (status == TS_OK)
            status = ts_cuda_event_record(study->session, study->end, CUDA_COMPUTE);
        if (status == TS_OK)
            status = ts_cuda_host_waits(study->session, study->end);
        if (status == TS_OK)
            status = ts_cuda_elapsed_ms(study->session, study->begin, study->end, &ms);
        if (i == 0 && ms < 10) /* the first run warms up, unless it is long */
            continue;
        times[runs++] = 1e-3 * (double)ms;
        if (ms > 10)
            break;
    }
    if (status != TS_OK)
        return status;
    qsort(times, (size_t)runs, sizeof *times, by_size);
    row->seconds = times[runs / 2];
    return TS_OK;
}

static enum ts_status check_number(const struct study *study, const struct study_row *row, double expected)
{
    struct study_moments part = {0};
    enum ts_status status = ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_HOST, &part, study->parts, sizeof part);
    if (status == TS_OK)
        status = ts_cuda_wait(study->session, CUDA_COMPUTE);
    const double found = ts_study_value(row->work, &part, row->n);
    if (status == TS_OK && !ts_study_right(row->work, found, expected)) {
        const struct diag_site site = {.code = "study-result", .stage = study_stage.name};
        return ts_diag_error(study->context.diag, TS_RUN_FAILED, &site,
                             "the %s of %lld values came to %.17g instead of %.17g", ts_study_works[row->work],
                             (long long)row->n, found, expected);
    }
    return status;
}

/* Joins tables whose sums are known. */
static enum ts_status check_tables(const struct study *study, const struct study_row *row)
{
    const int64_t n = row->n;
    const size_t counts = (size_t)n * STUDY_BINS;
    uint32_t *host = (uint32_t *)malloc(counts * sizeof *host);
    if (!host)
        return ts_diag_no_memory(study->context.diag, counts * sizeof *host);
    for (size_t i = 0; i < counts; i++)
        host[i] = ts_study_count(i / STUDY_BINS, i % STUDY_BINS);
    enum ts_status status =
        ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_DEVICE, study->tables, host, counts * sizeof *host);
    if (status == TS_OK)
        status = launch(study, row);
    if (status == TS_OK)
        status =
            ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_HOST, host, study->tables, STUDY_BINS * sizeof *host);
    if (status == TS_OK)
        status = ts_cuda_wait(study->session, CUDA_COMPUTE);
    for (size_t bin = 0; status == TS_OK && bin < STUDY_BINS; bin++) {
        uint32_t sum = 0;
        for (size_t table = 0; table < (size_t)n; table++)
            sum += ts_study_count(table, bin);
        if (host[bin] != sum) {
            const struct diag_site site = {.code = "study-result", .stage = study_stage.name};
            status = ts_diag_error(study->context.diag, TS_RUN_FAILED, &site,
                                   "bin %zu of joined tables came to %u instead of %u", bin, host[bin], sum);
        }
    }
    free(host);
    return status;
}

/* ---- all ---------------------------------------------------------------------------------------- */

/* Times a reduction, looks at what it came to, and keeps the row; expected: of a number. */
static enum ts_status add_row(const struct study *study, struct study_row *row, double expected)
{
    enum ts_status status = measure(study, row);
    if (status == TS_OK)
        status = row->work == STUDY_TABLES ? check_tables(study, row) : check_number(study, row, expected);
    if (status == TS_OK && row->method != REDUCTION_AUTO && *study->n_rows < study->room)
        study->rows[(*study->n_rows)++] = *row;
    return status;
}

/* T1 first. What few threads would do for seconds is left out. */
static enum ts_status study_numbers(const struct study *study, enum study_work work, int64_t n, double expected)
{
    const int64_t threads[] = {1, 32, 256, 1024, 8192, 65536, study->resident};
    struct study_row serial = {"CUDA", work, REDUCTION_AUTO, n, 1, 0, 0};
    enum ts_status status = add_row(study, &serial, expected);
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
        for (size_t i = 0; status == TS_OK && i < sizeof threads / sizeof *threads; i++) {
            struct study_row row = {"CUDA", work, (enum reduction_method)method, n, threads[i], 0, serial.seconds};
            if (threads[i] <= n && threads[i] <= BLOCK * BLOCK && n / threads[i] <= MOST_A_THREAD)
                status = add_row(study, &row, expected);
        }
    return status;
}

/* Threads that join a bin at once, at the most. */
static int64_t table_threads(const struct study *study, enum reduction_method method, int64_t n)
{
    const int64_t rows = method == REDUCTION_FAN_IN ? ts_cuda_stride_of(n) : CUDA_TABLE_ROWS, all = rows * STUDY_BINS;
    return all < study->resident ? all : study->resident;
}

static enum ts_status study_tables(const struct study *study, int64_t n)
{
    struct study_row serial = {"CUDA", STUDY_TABLES, REDUCTION_AUTO, n, 1, 0, 0};
    enum ts_status status = add_row(study, &serial, 0);
    for (int i = REDUCTION_FAN_IN; status == TS_OK && i <= REDUCTION_TWO_LEVEL; i++) {
        const enum reduction_method method = (enum reduction_method)i;
        struct study_row row = {"CUDA", STUDY_TABLES, method, n, table_threads(study, method, n), 0, serial.seconds};
        status = add_row(study, &row, 0);
    }
    return status;
}

static enum ts_status prepare(struct study *study, int64_t largest)
{
    const size_t bytes = (size_t)largest * sizeof(float), tables = (size_t)MAX_TABLES * STUDY_BINS * sizeof(uint32_t);
    float *host = (float *)malloc(bytes);
    if (!host)
        return ts_diag_no_memory(study->context.diag, bytes);
    ts_study_fill(host, largest);
    study->stream = ts_cuda_stream(study->session, CUDA_COMPUTE);
    study->begin = ts_cuda_event_create(study->session);
    study->end = ts_cuda_event_create(study->session);
    study->values = (float *)ts_cuda_take(study->session, bytes);
    study->parts = ts_cuda_take(study->session, (size_t)largest / 2 * sizeof(struct study_moments));
    study->tables = (uint32_t *)ts_cuda_take(study->session, tables);
    enum ts_status status =
        study->begin && study->end && study->values && study->parts && study->tables ? TS_OK : TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_fill(study->session, CUDA_COMPUTE, study->tables, 1, tables);
    if (status == TS_OK)
        status = ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_DEVICE, study->values, host, bytes);
    if (status == TS_OK)
        status = ts_cuda_wait(study->session, CUDA_COMPUTE);
    free(host);
    return status;
}

extern "C" enum ts_status ts_cuda_reduction_study(const struct device_numbers *device, const int64_t *sizes,
                                                  const struct study_answers *expected, int n_sizes, int64_t most,
                                                  struct ts_diag *diag, struct study_row *rows, int room, int *n_rows)
{
    static const int64_t tables[] = {STUDY_LEAST_TABLES, 132, 264, MAX_TABLES};
    struct study study = {.rows = rows, .room = room, .n_rows = n_rows};
    study.resident = (int64_t)device->multiprocessors * device->threads / BLOCK * BLOCK;
    study.context.stage = &study_stage;
    study.context.diag = diag;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &study.session);
    if (status == TS_OK)
        status = prepare(&study, sizes[n_sizes - 1]);
    for (int work = 0; work < STUDY_NUMBERS; work++)
        for (int i = 0; status == TS_OK && i < n_sizes; i++)
            status = study_numbers(&study, (enum study_work)work, sizes[i], expected[i].of[work]);
    for (size_t i = 0; status == TS_OK && i < sizeof tables / sizeof *tables; i++)
        status = ts_study_joins(tables[i], most) ? study_tables(&study, tables[i]) : TS_OK;
    ts_cuda_session_destroy(study.session);
    return status;
}
