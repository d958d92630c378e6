/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt on a CUDA device: x <- x + relaxation * C A' R (b - A x), over up to 128 slices at once; (z,
 * view, detector) -> (z, y, x). A and A' are the stages radon and backproject, by the method
 * chosen; cuda/reconstruction/iterate.cu computes residuals and decides which slices are done.
 *
 * step: one thread computes x + relaxation C change for one pixel of one slice; it moves 12 bytes a
 * pixel and 4 of weights, which neighboring slices find in the second cache. Blocks are 256 threads
 * because any size will do.
 */
#include "cuda/reconstruction/iterate.cuh"

extern "C" {
#include "stages/reconstruction/sirt.h"
}

enum { THREADS = 256, FILL_BLOCKS = 2048 };

static __global__ void __launch_bounds__(THREADS) ones(float *values, int64_t n)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        values[i] = 1;
}

/* Replaces each sum by factor / sum, or 0 if it is 0. */
static __global__ void __launch_bounds__(THREADS) invert_sums(float *sums, int64_t n, float factor)
{
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * THREADS)
        sums[i] = sums[i] > 0 ? factor / sums[i] : 0;
}

/* The grid counts parts of a slice, and slices. */
static __global__ void __launch_bounds__(THREADS)
    step(float *image, const float *change, const float *weights, int64_t n, bool nonnegative,
         const struct cuda_iterate_state *state)
{
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x, at = (int64_t)blockIdx.y * n + i;
    if (i >= n || state->done[blockIdx.y])
        return;
    const float value = image[at] + weights[i] * change[at];
    image[at] = nonnegative && value < 0 ? 0 : value;
}

/* Finds R and relaxation times C: the inverses of A and A' applied to ones. */
static enum ts_status find_weights(struct cuda_iterate *job)
{
    const struct sirt_params *params = (const struct sirt_params *)job->context->params;
    ones<<<FILL_BLOCKS, THREADS, 0, job->stream>>>(job->volumes[0], job->pixels);
    ones<<<FILL_BLOCKS, THREADS, 0, job->stream>>>(job->sinograms[0], job->rays);
    enum ts_status status = ts_cuda_launched(job->context, "ones");
    if (status == TS_OK)
        status = ts_cuda_iterate_project(job, job->volumes[0], job->ray_weights);
    if (status == TS_OK)
        status = ts_cuda_iterate_backproject(job, job->sinograms[0], job->pixel_weights);
    if (status != TS_OK)
        return status;
    invert_sums<<<FILL_BLOCKS, THREADS, 0, job->stream>>>(job->ray_weights, job->rays, 1);
    invert_sums<<<FILL_BLOCKS, THREADS, 0, job->stream>>>(job->pixel_weights, job->pixels,
                                                          (float)params->relaxation);
    return ts_cuda_launched(job->context, "invert_sums");
}

static enum ts_status sirt_run(struct cuda_iterate *job)
{
    const struct sirt_params *params = (const struct sirt_params *)job->context->params;
    const dim3 grid((unsigned)ts_cuda_parts(job->pixels, THREADS), (unsigned)job->n_slices);
    float *residual = job->sinograms[0], *change = job->volumes[0];
    enum ts_status status = TS_OK;
    for (int64_t i = 0; status == TS_OK; i++) {
        if (i > 0)
            status = ts_cuda_iterate_project(job, job->image, residual);
        if (status == TS_OK)
            status = ts_cuda_iterate_subtract(job, i == 0, job->ray_weights, residual);
        if (status == TS_OK)
            status = ts_cuda_iterate_decide(job, NORM_RESIDUAL, job->rays, i);
        if (i == params->iterate.iterations)
            return status;
        if (status == TS_OK)
            status = ts_cuda_iterate_backproject(job, residual, change);
        if (status != TS_OK)
            return status;
        step<<<grid, THREADS, 0, job->stream>>>(job->image, change, job->pixel_weights, job->pixels,
                                                params->nonnegative, job->state);
        status = ts_cuda_launched(job->context, "step");
    }
    return status;
}

ITERATE_CUDA(sirt, find_weights, sirt_run)
