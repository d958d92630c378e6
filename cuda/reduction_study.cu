/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of n floats in double by p processors (threads), and sums of tables of counts.
 *
 * serial: one thread, one value after the other: T1. fan-in: value i takes in value i + s, s halved from step to step;
 * the p threads share a step's additions, and wait for one another between steps (one block: a barrier; more: a launch
 * a step): n/p + log2(n) additions deep, log2(n) waits. two-level: thread t sums every p-th value from t on, then the p
 * sums fan in within blocks of 1,024 and over the blocks: n/p + log2(p) deep, two waits for blocks. 4 bytes read a
 * value; the fan-in also writes 8 bytes and reads 16 a value of each step but the first. Blocks of 1,024 threads, or
 * the p that are asked for.
 */
#include "cuda/common/fan_in.cuh"

extern "C" {
#include "cuda/reduction_study.h"
#include "cuda/session.h"
#include "stages/stage.h"
}

enum { BLOCK = 1024, RUNS = 11, MAX_TABLES = 1024 };

static const struct stage study_stage = {.name = "bench"};

/* ---- kernels ------------------------------------------------------------------------------------ */

static __global__ void sum_serially(const float *values, double *sums, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)values[i];
    sums[0] = sum;
}

/* The first step of a fan-in, from the values to sums[0] to sums[stride - 1]. */
static __global__ void fan_in_first(const float *values, double *sums, int64_t stride, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < stride; i += (int64_t)gridDim.x * blockDim.x)
        sums[i] = (double)values[i] + (i + stride < n ? (double)values[i + stride] : 0);
}

static __global__ void fan_in_step(double *sums, int64_t stride)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < stride; i += (int64_t)gridDim.x * blockDim.x)
        sums[i] += sums[i + stride];
}

/* All steps from `stride` on, by one block. */
static __global__ void fan_in_rest(double *sums, int64_t stride)
{
    for (; stride > 0; stride /= 2) {
        for (int64_t i = threadIdx.x; i < stride; i += blockDim.x)
            sums[i] += sums[i + stride];
        __syncthreads();
    }
}

static __global__ void sum_runs(const float *values, double *sums, int64_t n)
{
    __shared__ double shared[BLOCK / 2];
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        sum += (double)values[i];
    ts_cuda_fan_in(&sum, shared, (int)blockDim.x);
    if (threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

static __global__ void join_sums(double *sums, int64_t n)
{
    __shared__ double shared[BLOCK / 2];
    double sum = threadIdx.x < n ? sums[threadIdx.x] : 0;
    ts_cuda_fan_in(&sum, shared, BLOCK);
    if (threadIdx.x == 0)
        sums[0] = sum;
}

/* ---- one measurement ---------------------------------------------------------------------------- */

struct study {
    struct cuda_session *session;
    struct stage_context context;
    cudaStream_t stream;
    struct cuda_event *begin, *end;
    float *values;
    double *sums;
    uint32_t *tables;
    struct study_row *rows;
    int room, *n_rows;
};

/* One reduction; method AUTO: serially. */
static enum ts_status launch_sum(const struct study *study, enum reduction_method method, int64_t n, int64_t threads)
{
    const unsigned blocks = (unsigned)ts_cuda_parts(threads, BLOCK),
                   block = (unsigned)(threads < BLOCK ? threads : BLOCK);
    int64_t stride = ts_cuda_stride_of(n);
    if (method == REDUCTION_AUTO) {
        sum_serially<<<1, 1, 0, study->stream>>>(study->values, study->sums, n);
    } else if (method == REDUCTION_TWO_LEVEL) {
        sum_runs<<<blocks, block, 0, study->stream>>>(study->values, study->sums, n);
        if (blocks > 1)
            join_sums<<<1, BLOCK, 0, study->stream>>>(study->sums, blocks);
    } else {
        fan_in_first<<<blocks, block, 0, study->stream>>>(study->values, study->sums, stride, n);
        for (stride /= 2; blocks > 1 && stride > BLOCK; stride /= 2)
            fan_in_step<<<blocks, block, 0, study->stream>>>(study->sums, stride);
        fan_in_rest<<<1, block, 0, study->stream>>>(study->sums, stride);
    }
    return ts_cuda_launched(&study->context, "reduction");
}

static enum ts_status launch_tables(const struct study *study, enum reduction_method method, int64_t n)
{
    ts_cuda_tables_join(study->tables, 1, n, STUDY_BINS, method, study->stream);
    return ts_cuda_launched(&study->context, "tables");
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum ts_status measure(const struct study *study, const char *work, enum reduction_method method, int64_t n,
                              int64_t threads, double *seconds)
{
    double times[RUNS];
    /* NaN: a sum must be written. */
    enum ts_status status = ts_cuda_fill(study->session, CUDA_COMPUTE, study->sums, 0xFF, sizeof *study->sums);
    int runs = 0;
    for (int i = 0; status == TS_OK && runs < RUNS; i++) {
        float ms = 0;
        status = ts_cuda_event_record(study->session, study->begin, CUDA_COMPUTE);
        if (status == TS_OK)
            status = *work == 's' ? launch_sum(study, method, n, threads) : launch_tables(study, method, n);
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
    *seconds = times[runs / 2];
    return TS_OK;
}

static enum ts_status append(const struct study *study, const char *work, enum reduction_method method, int64_t n,
                             int64_t threads, double serial)
{
    struct study_row row = {.device = "CUDA", .work = work, .method = method, .n = n, .processors = threads};
    row.serial = serial;
    const enum ts_status status = measure(study, work, method, n, threads, &row.seconds);
    if (status == TS_OK && *study->n_rows < study->room)
        study->rows[(*study->n_rows)++] = row;
    return status;
}

static enum ts_status check_sum(const struct study *study, double expected)
{
    double sum = 0;
    enum ts_status status = ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_HOST, &sum, study->sums, sizeof sum);
    if (status == TS_OK)
        status = ts_cuda_wait(study->session, CUDA_COMPUTE);
    if (status == TS_OK && !(fabs(sum - expected) <= 1e-12 * expected)) {
        const struct diag_site site = {.code = "study-sum", .stage = study_stage.name};
        return ts_diag_error(study->context.diag, TS_RUN_FAILED, &site, "a sum came to %.17g instead of %.17g", sum,
                             expected);
    }
    return status;
}

/* Joins tables whose sums are known. */
static enum ts_status check_tables(const struct study *study, enum reduction_method method, int64_t n)
{
    const size_t counts = (size_t)n * STUDY_BINS;
    uint32_t *host = (uint32_t *)malloc(counts * sizeof *host);
    if (!host)
        return ts_diag_no_memory(study->context.diag, counts * sizeof *host);
    for (size_t i = 0; i < counts; i++)
        host[i] = ts_study_count(i / STUDY_BINS, i % STUDY_BINS);
    enum ts_status status =
        ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_DEVICE, study->tables, host, counts * sizeof *host);
    if (status == TS_OK)
        status = launch_tables(study, method, n);
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
            const struct diag_site site = {.code = "study-tables", .stage = study_stage.name};
            status = ts_diag_error(study->context.diag, TS_RUN_FAILED, &site,
                                   "bin %zu of joined tables came to %u instead of %u", bin, host[bin], sum);
        }
    }
    free(host);
    return status;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static enum ts_status study_sums(const struct study *study, const struct cuda_device *device, int64_t n,
                                 double expected)
{
    const int64_t resident = (int64_t)device->multiprocessors * device->threads / BLOCK * BLOCK;
    const int64_t threads[] = {1, 32, 256, 1024, 8192, 65536, resident};
    double serial = 0;
    enum ts_status status = measure(study, "sum", REDUCTION_AUTO, n, 1, &serial);
    if (status == TS_OK)
        status = check_sum(study, expected);
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
        for (size_t i = 0; status == TS_OK && i < sizeof threads / sizeof *threads; i++) {
            if (threads[i] > n || (threads[i] > BLOCK && threads[i] / BLOCK > BLOCK))
                continue;
            status = append(study, "sum", (enum reduction_method)method, n, threads[i], serial);
            if (status == TS_OK)
                status = check_sum(study, expected);
        }
    return status;
}

/* Of tables, one processor joins one bin; T1 is not taken. */
static enum ts_status study_tables(const struct study *study)
{
    const int64_t counts[] = {16, 132, 264, MAX_TABLES};
    enum ts_status status = TS_OK;
    for (int method = REDUCTION_FAN_IN; method <= REDUCTION_TWO_LEVEL; method++)
        for (size_t i = 0; status == TS_OK && i < sizeof counts / sizeof *counts; i++) {
            status = append(study, "tables", (enum reduction_method)method, counts[i], STUDY_BINS, (double)NAN);
            if (status == TS_OK)
                status = check_tables(study, (enum reduction_method)method, counts[i]);
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
    study->sums = (double *)ts_cuda_take(study->session, bytes * 2);
    study->tables = (uint32_t *)ts_cuda_take(study->session, tables);
    enum ts_status status =
        study->begin && study->end && study->values && study->sums && study->tables ? TS_OK : TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_fill(study->session, CUDA_COMPUTE, study->tables, 1, tables);
    if (status == TS_OK)
        status = ts_cuda_copy(study->session, CUDA_COMPUTE, CUDA_TO_DEVICE, study->values, host, bytes);
    if (status == TS_OK)
        status = ts_cuda_wait(study->session, CUDA_COMPUTE);
    free(host);
    return status;
}

extern "C" enum ts_status ts_cuda_reduction_study(const struct cuda_device *device, const int64_t *sizes,
                                                  const double *sums, int n_sizes, struct ts_diag *diag,
                                                  struct study_row *rows, int room, int *n_rows)
{
    struct study study = {.rows = rows, .room = room, .n_rows = n_rows};
    study.context.stage = &study_stage;
    study.context.diag = diag;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &study.session);
    if (status == TS_OK)
        status = prepare(&study, sizes[n_sizes - 1]);
    for (int i = 0; status == TS_OK && i < n_sizes; i++)
        status = study_sums(&study, device, sizes[i], sums[i]);
    if (status == TS_OK)
        status = study_tables(&study);
    ts_cuda_session_destroy(study.session);
    return status;
}
