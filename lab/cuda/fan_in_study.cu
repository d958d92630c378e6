/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the runner of the study fan-in on a CUDA device: sum, product, minimum, maximum and
 * variance of n floats in double by p processors (threads), and sums of tables of counts.
 *
 * serial: one thread, one value after the other: T1. fan-in: value i takes in value i + s, s halved
 * from step to step; the p threads share a step's joins, and wait for one another between steps
 * (one block: a barrier; more: a launch a step): n/p + log2(n) joins deep, log2(n) waits. adjacent:
 * the same steps with values 0 and 1, 2 and 3, ..., whose results stay where they are, so that the
 * threads of a warp touch ever more cache lines. two-level: thread t joins every p-th value from t
 * on, then the p partial results fan in within blocks of 1,024 and over the blocks: n/p + log2(p)
 * deep, two waits for blocks. 4 bytes read a value; the fan-in also writes 8 bytes (of the variance
 * 16) and reads twice as many a value of each step but the first. Blocks of 1,024 threads, or the p
 * that are asked for. Serial tables: one thread, 12 bytes a count.
 */
#include <stdlib.h>

#include "cuda/values/fan_in.cuh"
#include "cuda/values/radix_sort.cuh"
#include "lab/cuda/merge_sort.cuh"

extern "C" {
#include "cuda/device/session.h"
#include "lab/cuda/fan_in_study.h"
#include "stages/engine/stage.h"
}

enum { BLOCK = 1024, MAX_TABLES = 1024, MOST_A_THREAD = 1 << 20 };

static const struct stage study_stage = {.name = "study"};

/* ---- partial results ------------------------------------------------------------------------- */

/* begin_with() makes one of a value, and ts_cuda_join() joins two. */
template <enum fan_in_work> struct number {
    double is;
};

template <enum fan_in_work work>
static __device__ inline void begin_with(struct number<work> *part, float value)
{
    part->is = work == FAN_IN_PRODUCT ? FAN_IN_FACTOR(value) : (double)value;
}

static __device__ inline void begin_with(struct fan_in_moments *part, float value)
{
    part->sum = (double)value - FAN_IN_SHIFT;
    part->squares = part->sum * part->sum;
}

template <enum fan_in_work work>
static __device__ inline void ts_cuda_join(struct number<work> *into,
                                           const struct number<work> *from)
{
    if (work == FAN_IN_SUM)
        into->is += from->is;
    else if (work == FAN_IN_PRODUCT)
        into->is *= from->is;
    else if (work == FAN_IN_MIN)
        into->is = from->is < into->is ? from->is : into->is;
    else
        into->is = from->is > into->is ? from->is : into->is;
}

static __device__ inline void ts_cuda_join(struct fan_in_moments *into,
                                           const struct fan_in_moments *from)
{
    into->sum += from->sum;
    into->squares += from->squares;
}

/* ---- kernels --------------------------------------------------------------------------------- */

template <typename part> static __device__ void take(part *into, float value)
{
    part one;
    begin_with(&one, value);
    ts_cuda_join(into, &one);
}

template <typename part>
static __global__ void join_serially(const float *values, part *parts, int64_t n)
{
    part all;
    begin_with(&all, values[0]);
    for (int64_t i = 1; i < n; i++)
        take(&all, values[i]);
    parts[0] = all;
}

/* The joins of one step: for i < n, value or part i * spread takes in the one `partner` behind
 * it. */
struct step {
    int64_t n, spread, partner;
};

/* Returns the step of n joins of adjacent pairing or of halving with stride, `gap` being the
 * distance of what is left to join of the former. */
static __host__ __device__ struct step step_of(bool adjacent, int64_t n, int64_t gap)
{
    return adjacent ? (struct step){n, 2 * gap, gap} : (struct step){n, 1, n};
}

/* Does the first step: the values become parts[0] to parts[n - 1]. */
template <typename part>
static __global__ void fan_in_first(const float *values, part *parts, struct step step)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < step.n;
         i += (int64_t)gridDim.x * blockDim.x) {
        part own;
        begin_with(&own, values[i * step.spread]);
        take(&own, values[i * step.spread + step.partner]);
        parts[i] = own;
    }
}

template <typename part> static __global__ void fan_in_step(part *parts, struct step step)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < step.n;
         i += (int64_t)gridDim.x * blockDim.x)
        ts_cuda_join(&parts[i * step.spread], &parts[i * step.spread + step.partner]);
}

/* Does all steps from one of n joins on, in one block. */
template <typename part>
static __global__ void fan_in_rest(part *parts, bool adjacent, int64_t n, int64_t gap)
{
    for (; n > 0; n /= 2, gap *= 2) {
        const struct step step = step_of(adjacent, n, gap);
        for (int64_t i = threadIdx.x; i < step.n; i += blockDim.x)
            ts_cuda_join(&parts[i * step.spread], &parts[i * step.spread + step.partner]);
        __syncthreads();
    }
}

/* There are no more threads than values. */
template <typename part>
static __global__ void join_runs(const float *values, part *parts, int64_t n)
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
    for (int64_t i = FAN_IN_BINS; i < n * FAN_IN_BINS; i++)
        tables[i % FAN_IN_BINS] += tables[i];
}

/* ---- the runner ------------------------------------------------------------------------------ */

struct cuda_runner {
    struct fan_in_runner runner; /* first: the study's view of it */
    struct cuda_session *session;
    struct stage_context context;
    cudaStream_t stream;
    struct cuda_event *begin, *end;
    float *values;
    void *parts;      /* partial results, or keys */
    uint32_t *sorted; /* in parts */
    uint32_t *tables;
    int64_t threads; /* that the device holds at once */
    const struct fan_in_peer *peer;
    void *peer_scratch;
    size_t peer_bytes;
};

static struct cuda_runner *own(struct fan_in_runner *runner)
{
    return (struct cuda_runner *)runner;
}

/* At most so many threads join a bin at once. */
static int64_t table_threads(const struct cuda_runner *cuda, const struct fan_in_job *job)
{
    const int64_t rows = job->order == FAN_IN_STRIDE ? ts_cuda_stride_of(job->n) : CUDA_TABLE_ROWS,
                  all = rows * FAN_IN_BINS;
    return all < cuda->threads ? all : cuda->threads;
}

/* Leaves out what few threads would do for seconds, and adds the number that the order keeps
 * busy. */
static int processors(const struct fan_in_runner *runner, const struct fan_in_job *job,
                      int64_t numbers[FAN_IN_PROCESSORS])
{
    const struct cuda_runner *cuda = (const struct cuda_runner *)runner;
    const int64_t threads[] = {1, 32, 256, 1024, 8192, 65536, cuda->threads};
    const int64_t busy = ts_fan_in_busy(job);
    int n = 0;
    if (job->work == FAN_IN_TABLES) {
        numbers[0] = table_threads(cuda, job);
        return 1;
    }
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        if (i > 0 && busy > threads[i - 1] && busy < threads[i])
            numbers[n++] = busy;
        if (threads[i] <= job->n && threads[i] <= BLOCK * BLOCK &&
            job->n / threads[i] <= MOST_A_THREAD)
            numbers[n++] = threads[i];
    }
    return n;
}

static enum ts_status fail_peer(const struct cuda_runner *cuda, int error)
{
    const struct diag_site site = {.code = "peer-failed"};
    return ts_diag_error(cuda->context.diag, TS_RUN_FAILED, &site, "%s answered with error %d",
                         cuda->peer->name, error);
}

/* Allocates what the peer needs more scratch for than any job before. */
static enum ts_status begin_peer(struct cuda_runner *cuda, const struct fan_in_job *job)
{
    size_t bytes = 0;
    const int error = cuda->peer->run(job, cuda->values, cuda->parts, NULL, &bytes, cuda->stream);
    if (error || bytes <= cuda->peer_bytes)
        return error ? fail_peer(cuda, error) : TS_OK;
    cuda->peer_scratch = ts_cuda_allocate(cuda->session, bytes);
    cuda->peer_bytes = bytes;
    return cuda->peer_scratch ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status begin(struct fan_in_runner *runner, const struct fan_in_job *job,
                            const uint32_t *tables)
{
    struct cuda_runner *cuda = own(runner);
    if (job->work == FAN_IN_TABLES)
        return ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_TO_DEVICE, cuda->tables, tables,
                            (size_t)job->n * FAN_IN_BINS * sizeof *tables);
    const bool sorts = job->work == FAN_IN_SORT;
    const size_t bytes = (size_t)job->n * sizeof *cuda->values;
    enum ts_status status =
        ts_cuda_fill(cuda->session, CUDA_COMPUTE, cuda->parts, 0xFF,
                     sorts ? 2 * bytes : sizeof(struct fan_in_moments)); /* NaN */
    if (status == TS_OK && sorts && job->order == FAN_IN_RADIX)
        status = ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_ON_DEVICE, cuda->parts,
                              cuda->values, bytes);
    if (status == TS_OK && job->order == FAN_IN_PEER)
        status = begin_peer(cuda, job);
    return status;
}

template <typename part>
static void join_numbers(const struct cuda_runner *cuda, const struct fan_in_job *job)
{
    const int64_t threads = job->processors, n = job->n;
    const unsigned blocks = (unsigned)ts_cuda_parts(threads, BLOCK),
                   block = (unsigned)(threads < BLOCK ? threads : BLOCK);
    part *parts = (part *)cuda->parts;
    const bool adjacent = job->order == FAN_IN_ADJACENT;
    int64_t joins = n / 2, gap = 1;
    if (job->order == FAN_IN_SERIAL) {
        join_serially<<<1, 1, 0, cuda->stream>>>(cuda->values, parts, n);
    } else if (job->order == FAN_IN_TWO_LEVEL) {
        join_runs<<<blocks, block, 0, cuda->stream>>>(cuda->values, parts, n);
        if (blocks > 1)
            join_blocks<<<1, BLOCK, 0, cuda->stream>>>(parts, (int)blocks);
    } else {
        fan_in_first<<<blocks, block, 0, cuda->stream>>>(cuda->values, parts,
                                                         step_of(adjacent, joins, gap));
        for (joins /= 2; blocks > 1 && joins > BLOCK; joins /= 2, gap *= 2)
            fan_in_step<<<blocks, block, 0, cuda->stream>>>(parts, step_of(adjacent, joins, gap));
        fan_in_rest<<<1, block, 0, cuda->stream>>>(parts, adjacent, joins, gap);
    }
}

static void join_tables(const struct cuda_runner *cuda, const struct fan_in_job *job)
{
    if (job->order == FAN_IN_SERIAL)
        join_tables_serially<<<1, 1, 0, cuda->stream>>>(cuda->tables, job->n);
    else
        ts_cuda_tables_join(cuda->tables, 1, job->n, FAN_IN_BINS, (enum reduction_method)job->order,
                            cuda->stream);
}

/* The keys are the bits of the values. The radix sort works in place, on a copy. */
static enum ts_status sort(struct cuda_runner *cuda, const struct fan_in_job *job)
{
    cuda->sorted = (uint32_t *)cuda->parts;
    if (job->order == FAN_IN_RADIX)
        return ts_cuda_radix_sort(&cuda->context, cuda->sorted, cuda->sorted + job->n, job->n, 1,
                                  cuda->stream);
    cuda->sorted =
        ts_cuda_merge_sort((const uint32_t *)cuda->values, cuda->sorted, job->n, cuda->stream);
    return ts_cuda_launched(&cuda->context, "merge sort");
}

static enum ts_status launch(struct cuda_runner *cuda, const struct fan_in_job *job)
{
    static void (*const launchers[FAN_IN_WORKS])(const struct cuda_runner *,
                                                 const struct fan_in_job *) = {
        join_numbers<number<FAN_IN_SUM>>,    join_numbers<number<FAN_IN_PRODUCT>>,
        join_numbers<number<FAN_IN_MIN>>,    join_numbers<number<FAN_IN_MAX>>,
        join_numbers<struct fan_in_moments>, join_tables};
    size_t bytes = cuda->peer_bytes;
    if (job->order == FAN_IN_PEER) {
        cuda->sorted = (uint32_t *)cuda->parts;
        const int error = cuda->peer->run(job, cuda->values, cuda->parts, cuda->peer_scratch,
                                          &bytes, cuda->stream);
        return error ? fail_peer(cuda, error) : TS_OK;
    }
    if (job->work == FAN_IN_SORT)
        return sort(cuda, job);
    launchers[job->work](cuda, job);
    return ts_cuda_launched(&cuda->context, "reduction");
}

static enum ts_status join(struct fan_in_runner *runner, const struct fan_in_job *job,
                           double *seconds)
{
    struct cuda_runner *cuda = own(runner);
    float ms = 0;
    enum ts_status status = ts_cuda_event_record(cuda->session, cuda->begin, CUDA_COMPUTE);
    if (status == TS_OK)
        status = launch(cuda, job);
    if (status == TS_OK)
        status = ts_cuda_event_record(cuda->session, cuda->end, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_host_waits(cuda->session, cuda->end);
    if (status == TS_OK)
        status = ts_cuda_elapsed_ms(cuda->session, cuda->begin, cuda->end, &ms);
    *seconds = 1e-3 * (double)ms;
    return status;
}

static enum ts_status end(struct fan_in_runner *runner, const struct fan_in_job *job, void *result)
{
    const struct cuda_runner *cuda = own(runner);
    const bool tables = job->work == FAN_IN_TABLES, sorts = job->work == FAN_IN_SORT;
    const size_t bytes = tables  ? FAN_IN_BINS * sizeof *cuda->tables
                         : sorts ? (size_t)job->n * sizeof *cuda->sorted
                                 : sizeof(struct fan_in_moments);
    const void *from = tables ? cuda->tables : sorts ? cuda->sorted : cuda->parts;
    const enum ts_status status =
        ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_TO_HOST, result, from, bytes);
    return status == TS_OK ? ts_cuda_wait(cuda->session, CUDA_COMPUTE) : status;
}

static void destroy(struct fan_in_runner *runner)
{
    ts_cuda_session_destroy(own(runner)->session);
    free(runner);
}

static enum ts_status prepare(struct cuda_runner *cuda, const struct device_numbers *device,
                              const float *values, int64_t n, struct ts_diag *diag)
{
    const size_t bytes = (size_t)n * sizeof *values,
                 tables = (size_t)MAX_TABLES * FAN_IN_BINS * sizeof *cuda->tables;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &cuda->session);
    if (status != TS_OK)
        return status;
    cuda->stream = ts_cuda_stream(cuda->session, CUDA_COMPUTE);
    cuda->begin = ts_cuda_event_create(cuda->session);
    cuda->end = ts_cuda_event_create(cuda->session);
    cuda->values = (float *)ts_cuda_allocate(cuda->session, bytes);
    /* `parts` holds partial results of half the values, keys and the scratch of their sort, or
     * twice as many keys. */
    cuda->parts = ts_cuda_allocate(cuda->session, (size_t)n * 2 * sizeof *cuda->sorted +
                                                      ts_cuda_radix_sort_bytes(n, 1));
    cuda->tables = (uint32_t *)ts_cuda_allocate(cuda->session, tables);
    if (!cuda->begin || !cuda->end || !cuda->values || !cuda->parts || !cuda->tables)
        return TS_RUN_FAILED;
    status = ts_cuda_copy(cuda->session, CUDA_COMPUTE, CUDA_TO_DEVICE, cuda->values, values, bytes);
    return status == TS_OK ? ts_cuda_wait(cuda->session, CUDA_COMPUTE) : status;
}

extern "C" struct fan_in_runner *ts_cuda_fan_in_create(const struct device_numbers *device,
                                                       const float *values, int64_t n,
                                                       const struct fan_in_peer *peer,
                                                       struct ts_diag *diag)
{
    struct cuda_runner *cuda = (struct cuda_runner *)calloc(1, sizeof *cuda);
    if (!cuda) {
        ts_diag_no_memory(diag, sizeof *cuda);
        return NULL;
    }
    /* A run of more than the budget is not repeated. */
    cuda->runner = {.device = "CUDA",
                    .tables = {FAN_IN_LEAST_TABLES, 132, 264, MAX_TABLES},
                    .least_runs = 1,
                    .most_runs = 11,
                    .budget = 0.01,
                    .processors = processors,
                    .begin = begin,
                    .join = join,
                    .end = end,
                    .destroy = destroy};
    cuda->threads = (int64_t)device->multiprocessors * device->threads / BLOCK * BLOCK;
    cuda->context.stage = &study_stage;
    cuda->context.diag = diag;
    cuda->peer = peer;
    if (prepare(cuda, device, values, n, diag) == TS_OK)
        return &cuda->runner;
    destroy(&cuda->runner);
    return NULL;
}
