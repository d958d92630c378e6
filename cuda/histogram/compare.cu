/* SPDX-License-Identifier: Apache-2.0
 *
 * compare on a CUDA device: it computes the sums of stages/histogram/compare.c, in double, in an
 * order of its own.
 *
 * A block takes a strip of THREADS columns and a run of RUN rows of windows of one slice, and
 * marches down. A thread owns a column and keeps as many of its rows in registers as a window has.
 * In each row it sums its column over the window's rows, five means at once, puts them into shared
 * memory, and adds up those of its neighbors: 10 operations for each row and column of the window,
 * which take most of the kernel's time. Columns at the right end of a strip only serve windows to
 * their left. Memory traffic: both values of a pixel are read, and read again in the borders that
 * neighboring blocks share, 6 of 122 columns and 6 of 64 rows. The sums of a block are joined in
 * the order of threads, and those of a slice by one warp, so that the result depends on nothing but
 * the image. Seven blocks of 128 threads with 70 registers each fit on a multiprocessor, five with
 * the Gaussian window's 91.
 */
#include "cuda/values/reductions.cuh"
#include "cuda/values/value_at.cuh"

extern "C" {
#include "stages/histogram/compare.h"
}

enum { THREADS = 128, RUN = 64 };

struct compare_job {
    const void *a, *b;
    const uint64_t *a_valid, *b_valid; /* bits of masked images; else NULL */
    int64_t words;                     /* words of these bits from one slice to the next */
    enum ts_dtype a_dtype, b_dtype;
    int64_t ny, nx;
    struct compare_rule rule;
    struct compare_sums *sums; /* sums of each block: (slice, run, strip) */
};

/* Returns pixel i of a slice, or NaN, which is not compared, if it is invalid. */
static __device__ inline double value_of(const void *image, enum ts_dtype dtype,
                                         const uint64_t *valid, const struct compare_job &job,
                                         int64_t i)
{
    const bool is_valid = !valid || valid[blockIdx.y * job.words + i / 64] >> i % 64 & 1;
    return is_valid ? ts_cuda_value_at(image, dtype, blockIdx.y * job.ny * job.nx + i) : NAN;
}

static __device__ void add_difference(struct compare_sums *sums, double a, double b)
{
    if (!isfinite(a) || !isfinite(b)) {
        sums->left_out++;
        return;
    }
    sums->n++;
    sums->largest = fmax(sums->largest, fabs(a - b));
    sums->squares += (a - b) * (a - b);
    sums->reference_squares += b * b;
}

static __device__ void compare_join(struct compare_sums *into, const struct compare_sums &from)
{
    into->largest = fmax(into->largest, from.largest);
    into->squares += from.squares;
    into->reference_squares += from.reference_squares;
    into->similarity += from.similarity;
    into->n += from.n;
    into->left_out += from.left_out;
    into->n_windows += from.n_windows;
}

/* Joins the sums of a block, whose number of threads is a power of two, by halving. */
static __device__ void join_block(struct compare_sums *all, struct compare_sums own,
                                  struct compare_sums *out)
{
    all[threadIdx.x] = own;
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        __syncthreads();
        if (threadIdx.x < stride)
            compare_join(&all[threadIdx.x], all[threadIdx.x + stride]);
    }
    if (threadIdx.x == 0)
        *out = all[0];
}

/* Sums the thread's column over the rows of a window. */
template <int TAPS>
static __device__ void sum_column(const double *a, const double *b, const struct compare_rule &rule,
                                  double (*columns)[THREADS])
{
    double means[COMPARE_MEANS] = {0};
#pragma unroll
    for (int k = 0; k < TAPS; k++) {
        const double wa = rule.weights[k] * a[k], wb = rule.weights[k] * b[k];
        means[MEAN_A] += wa;
        means[MEAN_B] += wb;
        means[MEAN_AA] += wa * a[k];
        means[MEAN_BB] += wb * b[k];
        means[MEAN_AB] += wa * b[k];
    }
#pragma unroll
    for (int mean = 0; mean < COMPARE_MEANS; mean++)
        columns[mean][threadIdx.x] = means[mean];
}

template <int TAPS>
static __device__ double similarity_at(const double (*columns)[THREADS],
                                       const struct compare_rule &rule)
{
    double means[COMPARE_MEANS] = {0};
#pragma unroll
    for (int mean = 0; mean < COMPARE_MEANS; mean++)
#pragma unroll
        for (int k = 0; k < TAPS; k++)
            means[mean] += rule.weights[k] * columns[mean][threadIdx.x + k];
    return ts_compare_similarity(means[MEAN_A], means[MEAN_B], means[MEAN_AA], means[MEAN_BB],
                                 means[MEAN_AB], rule.covariance, rule.c1, rule.c2);
}

/* Sums one strip of columns over a run of windows in each block. */
template <int TAPS>
static __global__ void __launch_bounds__(THREADS) compare_strips(const struct compare_job job)
{
    enum { HALO = TAPS - 1, OWN = THREADS - HALO };
    __shared__ union {
        double columns[2][COMPARE_MEANS][THREADS];
        struct compare_sums sums[THREADS];
    } shared;
    const int64_t strips = (job.nx + OWN - 1) / OWN, runs = gridDim.x / strips;
    const int64_t first = blockIdx.x / strips * RUN, x = blockIdx.x % strips * OWN + threadIdx.x;
    const int64_t end = first + RUN < job.ny ? first + RUN : job.ny;
    const bool owns = threadIdx.x < OWN && x < job.nx,
               has_window = threadIdx.x < OWN && x + HALO < job.nx;
    struct compare_sums own = {0};
    double a[TAPS] = {0}, b[TAPS] = {0};
    for (int64_t y = first; y < job.ny && y < end + HALO; y++) {
#pragma unroll
        for (int k = 0; k < HALO; k++) {
            a[k] = a[k + 1];
            b[k] = b[k + 1];
        }
        a[HALO] = x < job.nx ? value_of(job.a, job.a_dtype, job.a_valid, job, y * job.nx + x) : 0;
        b[HALO] = x < job.nx ? value_of(job.b, job.b_dtype, job.b_valid, job, y * job.nx + x) : 0;
        if (owns && y < end)
            add_difference(&own, a[HALO], b[HALO]);
        if (y - first < HALO)
            continue;
        sum_column<TAPS>(a, b, job.rule, shared.columns[y % 2]);
        __syncthreads();
        const double similarity =
            has_window ? similarity_at<TAPS>(shared.columns[y % 2], job.rule) : NAN;
        own.n_windows += similarity == similarity;
        own.similarity += similarity == similarity ? similarity : 0;
    }
    __syncthreads();
    join_block(shared.sums, own, &job.sums[(int64_t)blockIdx.y * strips * runs + blockIdx.x]);
}

static __global__ void __launch_bounds__(CUDA_WARP)
    join_slices(const struct compare_sums *blocks, int64_t n, struct compare_sums *slices)
{
    __shared__ struct compare_sums shared[CUDA_WARP];
    struct compare_sums own = {0};
    for (int64_t i = threadIdx.x; i < n; i += CUDA_WARP)
        compare_join(&own, blocks[blockIdx.x * n + i]);
    join_block(shared, own, &slices[blockIdx.x]);
}

/* Returns the number of blocks for one slice. */
static int64_t blocks_of(const struct stage_context *context)
{
    const struct compare_rule rule =
        ts_compare_rule((const struct compare_params *)context->params);
    return ts_cuda_parts(context->in.axes[2].n, THREADS - rule.taps + 1) *
           ts_cuda_parts(context->in.axes[1].n, RUN);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    return context->stage->reduction->partial_bytes(context, input);
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    (void)input;
    return (size_t)(n * blocks_of(context)) * sizeof(struct compare_sums);
}

static enum ts_status compare_reduce(const struct stage_context *context, int input,
                                     const struct ts_image *slices, void *partials,
                                     const struct cuda_call *call)
{
    const int64_t blocks = blocks_of(context), nz = slices->axes[0].n,
                  most = 65535 /* limit of blocks along y of a grid */;
    const int64_t count = (int64_t)ts_slice_count(slices);
    struct compare_sums *sums = (struct compare_sums *)call->scratch;
    struct compare_job job = {.a_dtype = slices[0].dtype, .b_dtype = slices[1].dtype};
    (void)input;
    job.ny = slices->axes[1].n;
    job.nx = slices->axes[2].n;
    job.words = ((int64_t)ts_slice_count(slices) + 63) / 64;
    job.rule = ts_compare_rule((const struct compare_params *)context->params);
    for (int64_t z = 0; z < nz; z += most) {
        const dim3 grid((unsigned)blocks, (unsigned)(nz - z < most ? nz - z : most));
        job.a = (const char *)slices[0].data + (size_t)(z * count) * ts_dtype_bytes(job.a_dtype);
        job.b = (const char *)slices[1].data + (size_t)(z * count) * ts_dtype_bytes(job.b_dtype);
        job.a_valid = ts_slice_valid(&slices[0], z);
        job.b_valid = ts_slice_valid(&slices[1], z);
        job.sums = sums + z * blocks;
        if (job.rule.taps == COMPARE_UNIFORM_TAPS)
            compare_strips<COMPARE_UNIFORM_TAPS><<<grid, THREADS, 0, call->stream>>>(job);
        else
            compare_strips<COMPARE_GAUSSIAN_TAPS><<<grid, THREADS, 0, call->stream>>>(job);
        const enum ts_status status = ts_cuda_launched(context, "compare_strips");
        if (status != TS_OK)
            return status;
    }
    join_slices<<<(unsigned)nz, CUDA_WARP, 0, call->stream>>>(
        sums, blocks, (struct compare_sums *)partials + slices->z_first);
    return ts_cuda_launched(context, "join_slices");
}

static void compare_collect(const struct stage_context *context, int input, const void *partial,
                            void *total)
{
    memcpy(total, partial, partial_bytes(context, input));
}

static const struct cuda_reduction reduction = {.partial_bytes = partial_bytes,
                                                .scratch_bytes = scratch_bytes,
                                                .reduce = compare_reduce,
                                                .collect = compare_collect};

const struct stage_cuda compare_cuda = {.reduction = &reduction};
