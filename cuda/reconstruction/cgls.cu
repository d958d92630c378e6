/* SPDX-License-Identifier: Apache-2.0
 *
 * cgls on a CUDA device, over up to 128 slices at once; (z, view, detector) -> (z, y, x). The steps
 * are those of stages/reconstruction/cgls.c; A and A' are the stages radon and backproject, by the
 * method chosen. The kernels are in cuda/reconstruction/iterate.cu, with what one thread computes
 * and their blocks. An iteration moves 28 bytes a pixel and 16 a sample besides A and A'.
 */
#include "cuda/reconstruction/iterate.cuh"

/* Finds s = A' r and the next direction. */
static enum ts_status find_direction(struct cuda_iterate *job, int64_t i)
{
    float *direction = job->volumes[0], *gradient = job->volumes[1], *residual = job->sinograms[0];
    enum ts_status status = ts_cuda_iterate_backproject(job, residual, gradient);
    if (status == TS_OK)
        status = ts_cuda_iterate_squares(job, gradient, job->pixels);
    if (status == TS_OK)
        status = ts_cuda_iterate_decide(job, NORM_GRADIENT, job->pixels, i);
    if (status == TS_OK) /* the direction starts as 0 */
        status = ts_cuda_iterate_combine(job, direction, gradient, job->pixels, 1, true);
    if (status == TS_OK)
        status = ts_cuda_iterate_decide(job, NORM_DIRECTION, job->pixels, i);
    return status;
}

/* Moves x and r along the direction, and takes the squares of r. */
static enum ts_status advance(struct cuda_iterate *job, int64_t i)
{
    float *direction = job->volumes[0], *residual = job->sinograms[0], *shadow = job->sinograms[1];
    enum ts_status status = ts_cuda_iterate_project(job, direction, shadow);
    if (status == TS_OK)
        status = ts_cuda_iterate_squares(job, shadow, job->rays);
    if (status == TS_OK)
        status = ts_cuda_iterate_decide(job, NORM_SHADOW, job->rays, i);
    if (status == TS_OK)
        status = ts_cuda_iterate_combine(job, job->image, direction, job->pixels, 1, false);
    if (status == TS_OK)
        status = ts_cuda_iterate_combine(job, residual, shadow, job->rays, -1, false);
    return status;
}

static enum ts_status cgls_run(struct cuda_iterate *job)
{
    cudaMemsetAsync(job->volumes[0], 0, (size_t)(job->n_slices * job->pixels) * sizeof(float),
                    job->stream);
    enum ts_status status = ts_cuda_iterate_subtract(job, true, NULL, job->sinograms[0]);
    for (int64_t i = 0; status == TS_OK; i++) {
        status = ts_cuda_iterate_decide(job, NORM_RESIDUAL, job->rays, i);
        if (i == job->params->iterations)
            return status;
        if (status == TS_OK)
            status = find_direction(job, i);
        if (status == TS_OK)
            status = advance(job, i);
    }
    return status;
}

ITERATE_CUDA(cgls, NULL, cgls_run)
