/* SPDX-License-Identifier: Apache-2.0
 *
 * One iteration of tv: a thread computes the new q of one pixel from m there and at the next pixel along each axis,
 * each of which it works out from q around it. Fields go from one set of arrays to another. A pixel reads f and three
 * fields and writes three (28 bytes in 3D, 36 with primal-dual), and finds the neighbors' in the caches. Blocks have 32
 * x 8 threads, so that a warp reads neighbors of a row.
 */
#include "cuda/denoising/tv.cuh"

enum { BLOCK_X = 32, BLOCK_Y = 8, MOST_BLOCKS_Z = 65535 };

static __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    step_pixels(struct tv_planes planes, struct tv_fields from, struct tv_fields to, struct tv_step step, int64_t first,
                int64_t end)
{
    const int x = (int)(blockIdx.x * BLOCK_X + threadIdx.x), y = (int)(blockIdx.y * BLOCK_Y + threadIdx.y);
    if (x >= planes.nx || y >= planes.ny)
        return;
    for (int64_t z = first + blockIdx.z; z < end; z += gridDim.z) {
        const int64_t i = z * planes.plane + (int64_t)y * planes.nx + x;
        if (planes.done[z])
            continue;
        const struct tv_gradient g =
            ts_cuda_tv_gradient(planes, from, step, {i, z, y, x}, planes.dual ? to.image + i : NULL);
        const float qx = from.q[0][i] + step.ascent * g.x, qy = from.q[1][i] + step.ascent * g.y,
                    qz = planes.volume ? from.q[2][i] + step.ascent * g.z : 0;
        const float norm = planes.dual ? sqrtf(qx * qx + qy * qy + qz * qz) : 0;
        const float factor = 1 / (!planes.dual ? 1 + step.ascent * g.norm : norm > 1 ? norm : 1);
        to.q[0][i] = qx * factor;
        to.q[1][i] = qy * factor;
        if (planes.volume)
            to.q[2][i] = qz * factor;
    }
}

enum ts_status ts_cuda_tv_step(const struct stage_context *context, const struct tv_planes *planes,
                               const struct tv_fields *from, const struct tv_fields *to, const struct tv_step *step,
                               int64_t first, int64_t n, cudaStream_t stream)
{
    const dim3 threads(BLOCK_X, BLOCK_Y),
        blocks((unsigned)ts_cuda_parts(planes->nx, BLOCK_X), (unsigned)ts_cuda_parts(planes->ny, BLOCK_Y),
               (unsigned)(n < MOST_BLOCKS_Z ? n : MOST_BLOCKS_Z));
    step_pixels<<<blocks, threads, 0, stream>>>(*planes, *from, *to, *step, first, first + n);
    return ts_cuda_launched(context, "tv step_pixels");
}
