/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes the planes that tv iterates together on the device, and enqueues iterations
 * (cuda/denoising/tv_step.cu).
 */
#ifndef CUDA_DENOISING_TV_CUH
#define CUDA_DENOISING_TV_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/denoising/tv.h"
}

/* `q` is the dual field along x, y and z, and `image` x of primal-dual. */
struct tv_fields {
    float *q[3], *image;
};

/* Arrays begin at the first plane held: slice 0 of the slab in 2D, range.first in 3D. */
struct tv_planes {
    const float *values; /* f */
    int64_t n, plane;    /* planes, and pixels of one */
    int ny, nx;
    bool volume, dual; /* 3D; primal-dual */
    bool masked;       /* f is NaN where a pixel is invalid, and a difference with NaN counts as 0 */
    float weight;
    const int32_t *done; /* per plane; in 3D of the volume, all alike. A plane that is done is left alone */
};

/* One launch carries out so many iterations at most. */
enum { TV_STEPS_2D = 4, TV_STEPS_3D = 3, TV_MOST_STEPS = 4 };
/* Returns how many of the iterations left the next launch carries out. */
int ts_cuda_tv_steps(const struct tv_planes *planes, int64_t left);
/* Enqueues n_steps iterations, each with its factors in `steps`: `to` becomes what follows `from`. Planes [first, end)
 * of `to` are right where those up to n_steps further on either side are in `from`. */
enum ts_status ts_cuda_tv_step(const struct stage_context *context, const struct tv_planes *planes,
                               const struct tv_fields *from, const struct tv_fields *to, const struct tv_step *steps,
                               int n_steps, int64_t first, int64_t end, cudaStream_t stream);

/* This is the place of one pixel. */
struct tv_at {
    int64_t i; /* of the arrays */
    int64_t z;
    int y, x;
};

/* Returns m at a pixel, and the new x in *image where that is not NULL. */
static __device__ __forceinline__ float ts_cuda_tv_point(const struct tv_planes &planes, const struct tv_fields &q,
                                                         const struct tv_step &step, const struct tv_at &at,
                                                         float *image)
{
    float sum =
        (q.q[0][at.i] - (at.x > 0 ? q.q[0][at.i - 1] : 0)) + (q.q[1][at.i] - (at.y > 0 ? q.q[1][at.i - planes.nx] : 0));
    if (planes.volume)
        sum += q.q[2][at.i] - (at.z > 0 ? q.q[2][at.i - planes.plane] : 0);
    const float to = planes.values[at.i] + planes.weight * sum;
    if (!planes.dual)
        return to;
    const float old = q.image[at.i], found = old + step.blend * (to - old);
    if (image)
        *image = found;
    return found + step.momentum * (found - old);
}

/* Returns the difference of m at two pixels. */
static __device__ __forceinline__ float ts_cuda_tv_difference(float after, float at, bool masked)
{
    const float found = after - at;
    return masked && found != found ? 0 : found;
}

struct tv_gradient {
    float x, y, z, point, norm;
};

/* Returns the gradient of m at a pixel, from m there and at the next pixels, and m; *image as above. */
static __device__ __forceinline__ struct tv_gradient ts_cuda_tv_gradient(const struct tv_planes &planes,
                                                                         const struct tv_fields &q,
                                                                         const struct tv_step &step,
                                                                         const struct tv_at &at, float *image)
{
    const float m = ts_cuda_tv_point(planes, q, step, at, image);
    struct tv_gradient g = {0, 0, 0, m, 0};
    if (at.x + 1 < planes.nx)
        g.x = ts_cuda_tv_difference(ts_cuda_tv_point(planes, q, step, {at.i + 1, at.z, at.y, at.x + 1}, NULL), m,
                                    planes.masked);
    if (at.y + 1 < planes.ny)
        g.y = ts_cuda_tv_difference(ts_cuda_tv_point(planes, q, step, {at.i + planes.nx, at.z, at.y + 1, at.x}, NULL),
                                    m, planes.masked);
    if (planes.volume && at.z + 1 < planes.n)
        g.z = ts_cuda_tv_difference(
            ts_cuda_tv_point(planes, q, step, {at.i + planes.plane, at.z + 1, at.y, at.x}, NULL), m, planes.masked);
    g.norm = sqrtf(g.x * g.x + g.y * g.y + g.z * g.z);
    return g;
}

#endif
