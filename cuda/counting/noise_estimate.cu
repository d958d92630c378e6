/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the noise estimate. A thread makes one coefficient after another of a row: it reads 4
 * x 4 pixels, mostly from the first cache, and computes four second differences in double, the same
 * on every device; their sum is the coefficient. The block adds up the absolute differences, first
 * each thread its own and then by halving, so that the order of the sum depends only on the shape;
 * a second kernel does the same for the rows of a slice. Coefficients go to scratch memory as
 * floats, NaN if they are 0, and cuda/counting/percentile.cuh finds their median. The image is read
 * once, twice for the median of a volume; a coefficient for every four pixels is written and read
 * again.
 *
 * 256 threads a block cover the 512 columns of a common slice at once.
 */
#include "cuda/counting/noise_estimate.cuh"

#include "cuda/counting/percentile.cuh"
#include "cuda/values/border.cuh"

extern "C" {
#include "cuda/device/validity.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"
}

enum { THREADS = 256, SIDE = 4 };

struct noise_job {
    const void *data;
    const uint64_t *valid;     /* bits of a masked image; else NULL */
    int64_t words;             /* words of `valid` from one slice to the next */
    int ny, nx, rows, columns; /* size of the image; rows and columns of coefficients */
    struct noise_sum *sums;    /* sums of each row of coefficients; NULL: not wanted */
    float *coefficients;       /* NULL: not wanted */
};

/* Adds the sums of all threads to that of thread 0. */
static __device__ void add_up(struct noise_sum *sum)
{
    __shared__ struct noise_sum shared[THREADS];
    shared[threadIdx.x] = *sum;
    for (unsigned half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            shared[threadIdx.x].sum += shared[threadIdx.x + half].sum;
            shared[threadIdx.x].n += shared[threadIdx.x + half].n;
        }
    }
    *sum = shared[0];
}

/* Writes the second differences around the inner 2 x 2 pixels of 4 x 4, which start at (y, x).
 * Invalid pixels count as NaN, and NaN is left out. */
template <typename T>
static __device__ void differences(const struct noise_job &job, const T *slice,
                                   const uint64_t *valid, int y, int x, double R[2][2])
{
    double down[2][SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        const int column = ts_cuda_border_rarely(x + i, job.nx, BORDER_REFLECT);
        double v[SIDE];
#pragma unroll
        for (int j = 0; j < SIDE; j++) {
            const int64_t at =
                (int64_t)ts_cuda_border_rarely(y + j, job.ny, BORDER_REFLECT) * job.nx + column;
            v[j] = !valid || valid[at / 64] >> at % 64 & 1 ? (double)slice[at] : (double)NAN;
        }
        down[0][i] = v[0] + v[2] - 2 * v[1];
        down[1][i] = v[1] + v[3] - 2 * v[2];
    }
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
        for (int i = 0; i < 2; i++)
            R[j][i] = down[j][i] + down[j][i + 2] - 2 * down[j][i + 1];
}

/* Block (k, z) does row k of the coefficients of slice z. */
template <typename T>
static __global__ void __launch_bounds__(THREADS) measure_rows(struct noise_job job, int64_t nz)
{
    const int k = (int)blockIdx.x;
    for (int64_t z = blockIdx.y; z < nz; z += gridDim.y) {
        const T *slice = (const T *)job.data + z * job.ny * job.nx;
        const uint64_t *valid = job.valid ? job.valid + z * job.words : NULL;
        struct noise_sum sum = {0, 0};
        for (int l = (int)threadIdx.x; l < job.columns; l += THREADS) {
            double R[2][2];
            differences(job, slice, valid, 2 * k - 2, 2 * l - 2, R);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int y = 2 * k - 1 + i / 2, x = 2 * l - 1 + i % 2;
                const double size = fabs(R[i / 2][i % 2]);
                if (y >= 1 && y < job.ny - 1 && x >= 1 && x < job.nx - 1 &&
                    size < (double)INFINITY) {
                    sum.sum += size;
                    sum.n++;
                }
            }
            if (job.coefficients)
                job.coefficients[(z * job.rows + k) * job.columns + l] =
                    ts_noise_coefficient(R[0][0], R[0][1], R[1][0], R[1][1]);
        }
        if (!job.sums)
            continue;
        add_up(&sum);
        if (threadIdx.x == 0)
            job.sums[z * job.rows + k] = sum;
        __syncthreads();
    }
}

/* Block z adds up the rows of slice z. */
static __global__ void __launch_bounds__(THREADS)
    join_rows(struct noise_job job, char *out, size_t stride)
{
    const struct noise_sum *rows = job.sums + (int64_t)blockIdx.x * job.rows;
    struct noise_sum sum = {0, 0};
    for (int k = (int)threadIdx.x; k < job.rows; k += THREADS) {
        sum.sum += rows[k].sum;
        sum.n += rows[k].n;
    }
    add_up(&sum);
    if (threadIdx.x == 0)
        *(struct noise_sum *)(out + blockIdx.x * stride) = sum;
}

/* ---- launchers ------------------------------------------------------------------------------- */

static size_t sums_bytes(const struct stage_context *context, enum noise_estimate estimate)
{
    return ts_noise_has_sums(estimate)
               ? ts_cuda_stride(ts_scope_slices(context) * sizeof(struct noise_sum))
               : 0;
}

/* Returns the context of a stage whose input is the coefficients. */
static struct stage_context of_coefficients(const struct stage_context *context)
{
    struct stage_context of = *context;
    of.in.dtype = TS_F32;
    for (int axis = 1; axis <= 2; axis++)
        of.in.axes[axis].n = ts_noise_coefficients(of.in.axes[axis].n);
    return of;
}

size_t ts_cuda_noise_bytes(const struct stage_context *context, enum noise_estimate estimate)
{
    if (context->round >= ts_noise_rounds(context, estimate))
        return 0;
    if (context->round == 1)
        return ts_cuda_percentile_bytes(1, 1);
    size_t search = ts_noise_has_coefficients(estimate) ? ts_cuda_percentile_bytes(0, 1) : 0;
    if (ts_noise_by_slice(context, estimate))
        search = sizeof(struct percentile_ends);
    return sums_bytes(context, estimate) + search;
}

/* Returns the image with the bits of the pixels that the stage's mask, if there is one, does not
 * leave out. */
static struct ts_image chosen_of(const struct stage_context *context, const struct ts_image *slices,
                                 void *bits)
{
    struct ts_image chosen = *slices;
    if (ts_stage_mask(context) >= 0) {
        chosen.masked = true;
        chosen.valid = (uint64_t *)bits;
    }
    return chosen;
}

static size_t bits_bytes(const struct stage_context *context, int64_t n)
{
    const struct ts_image chosen = chosen_of(context, &context->in, NULL);
    return ts_stage_mask(context) >= 0 ? ts_cuda_stride((size_t)n * ts_valid_bytes(&chosen)) : 0;
}

/* The scratch holds the bits of the chosen pixels, the coefficients, the sums of rows, and the
 * scratch of the median. */
static size_t coefficients_bytes(const struct stage_context *of, enum noise_estimate estimate,
                                 int64_t n)
{
    return ts_noise_has_coefficients(estimate)
               ? ts_cuda_stride((size_t)n * ts_slice_count(&of->in) * sizeof(float))
               : 0;
}

static size_t rows_bytes(const struct stage_context *of, enum noise_estimate estimate, int64_t n)
{
    return ts_noise_has_sums(estimate) && of->round == 0
               ? ts_cuda_stride((size_t)(n * of->in.axes[1].n) * sizeof(struct noise_sum))
               : 0;
}

size_t ts_cuda_noise_scratch_bytes(const struct stage_context *context,
                                   enum noise_estimate estimate, int64_t n)
{
    const struct stage_context of = of_coefficients(context);
    if (context->round >= ts_noise_rounds(context, estimate))
        return 0;
    size_t search = 0;
    if (ts_noise_by_slice(context, estimate))
        search = ts_cuda_percentile_ends_scratch_bytes(&of, PERCENTILE_HISTOGRAM, 1, n);
    else if (ts_noise_has_coefficients(estimate))
        search = ts_cuda_percentile_scratch_bytes(&of, context->round, n);
    return bits_bytes(context, n) + coefficients_bytes(&of, estimate, n) +
           rows_bytes(&of, estimate, n) + search;
}

static enum ts_status noise_estimate_measure(const struct stage_context *context,
                                             const struct ts_image *slices,
                                             const struct noise_job &job, char *sums, size_t stride,
                                             cudaStream_t stream)
{
    const int64_t n = slices->axes[0].n;
    const dim3 blocks((unsigned)job.rows, (unsigned)(n < 65535 ? n : 65535));
#define MEASURE(T) measure_rows<T><<<blocks, THREADS, 0, stream>>>(job, n)
    TS_CUDA_DTYPES(slices->dtype, MEASURE)
#undef MEASURE
    const enum ts_status status = ts_cuda_launched(context, "noise measure_rows");
    if (status != TS_OK || !job.sums)
        return status;
    join_rows<<<(unsigned)n, THREADS, 0, stream>>>(job, sums, stride);
    return ts_cuda_launched(context, "noise join_rows");
}

enum ts_status ts_cuda_noise_add(const struct stage_context *context, enum noise_estimate estimate,
                                 const struct ts_image *slices, const struct noise_result *result,
                                 const double *percent, char *partials, size_t stride,
                                 const struct cuda_call *call)
{
    const struct stage_context of = of_coefficients(context);
    const int64_t n = slices->axes[0].n;
    char *const sizes = (char *)call->scratch + bits_bytes(context, n);
    char *const rows = sizes + coefficients_bytes(&of, estimate, n);
    const bool has_sums = rows_bytes(&of, estimate, n) > 0, by_slice = ts_scope_is_slice(context);
    const struct ts_image chosen = chosen_of(context, slices, call->scratch);
    const int mask = ts_stage_mask(context);
    enum ts_status status = mask < 0 ? TS_OK
                                     : ts_cuda_valid_choose(context, slices, &slices[1 + mask],
                                                            call->scratch, call->stream);
    struct noise_job job = {.data = slices->data, .valid = chosen.valid};
    job.words = (int64_t)(ts_valid_bytes(&chosen) / sizeof *chosen.valid);
    job.ny = (int)slices->axes[1].n;
    job.nx = (int)slices->axes[2].n;
    job.rows = (int)of.in.axes[1].n;
    job.columns = (int)of.in.axes[2].n;
    job.sums = has_sums ? (struct noise_sum *)rows : NULL;
    job.coefficients = ts_noise_has_coefficients(estimate) ? (float *)sizes : NULL;
    char *const sums =
        by_slice ? partials : partials + (size_t)slices->z_first * sizeof(struct noise_sum);
    if (status == TS_OK)
        status = noise_estimate_measure(context, slices, job, sums,
                                        by_slice ? stride : sizeof(struct noise_sum), call->stream);
    if (status != TS_OK || !job.coefficients)
        return status;
    struct ts_image coefficients = of.in; /* pixels that are left out have become NaN */
    coefficients.data = job.coefficients;
    coefficients.axes[0] = slices->axes[0];
    coefficients.z_first = slices->z_first;
    struct cuda_call searching = *call;
    searching.scratch = rows + rows_bytes(&of, estimate, n);
    char *const search = partials + (context->round == 0 ? sums_bytes(context, estimate) : 0);
    return ts_noise_by_slice(context, estimate)
               ? ts_cuda_percentile_ends(&of, PERCENTILE_HISTOGRAM, &coefficients, percent, 1,
                                         search, stride, &searching)
               : ts_cuda_percentile_add(&of, context->round, &coefficients,
                                        context->round == 1 ? &result->search : NULL, search,
                                        &searching);
}

void ts_cuda_noise_collect(const struct stage_context *context, enum noise_estimate estimate,
                           const char *partial, void *total)
{
    char *search = (char *)total;
    if (context->round == 0 && ts_noise_has_sums(estimate)) {
        const size_t bytes = ts_scope_slices(context) * sizeof(struct noise_sum);
        memcpy(total, partial, bytes);
        partial += sums_bytes(context, estimate);
        search += bytes;
    }
    if (ts_noise_by_slice(context, estimate))
        memcpy(search, partial, sizeof(struct percentile_ends));
    else if (ts_noise_has_coefficients(estimate))
        ts_cuda_percentile_collect(context->round, TS_F32, 1, partial, search);
}
