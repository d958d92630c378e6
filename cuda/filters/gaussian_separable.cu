/* SPDX-License-Identifier: Apache-2.0
 *
 * gaussian in one pass for each axis, z (3D alone), x and y: a thread makes one sum along one axis. The passes meet in
 * scratch. Memory traffic: 2 reads and 2 writes a pixel in 2D, 3 and 3 in 3D; neighboring windows share their samples
 * through the caches. Blocks of 32 x 8: a warp reads along x in every pass, and along y 8 rows share most of their
 * windows.
 */
#include "cuda/filters/gaussian.cuh"

enum { BLOCK_X = 32, BLOCK_Y = 8 };

/* One pass. Along z the input has the samples outside: a window starts at the slice of the same number. */
struct gaussian_pass {
    int64_t nz, ny, nx;
    int axis, radius, border;
    float constant;
    const float *weights;
};

template <typename T>
static __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    gaussian_along(const T *in, float *out, const __grid_constant__ struct gaussian_pass pass)
{
    const unsigned columns = (unsigned)ts_cuda_parts(pass.nx, BLOCK_X);
    const unsigned rows = (unsigned)ts_cuda_parts(pass.ny, BLOCK_Y);
    const int64_t x = (int64_t)(blockIdx.x % columns) * BLOCK_X + threadIdx.x;
    const int64_t y = (int64_t)(blockIdx.x / columns % rows) * BLOCK_Y + threadIdx.y, z = blockIdx.x / columns / rows;
    if (x >= pass.nx || y >= pass.ny)
        return;
    const int64_t here = (z * pass.ny + y) * pass.nx + x, radius = pass.radius;
    const int64_t stride = pass.axis == 0 ? pass.ny * pass.nx : pass.axis == 1 ? pass.nx : 1;
    const int64_t position = pass.axis == 0 ? radius : pass.axis == 1 ? y : x;
    const int64_t n = pass.axis == 0 ? 2 * radius + 1 : pass.axis == 1 ? pass.ny : pass.nx;
    const T *line = in + here - (pass.axis == 0 ? 0 : position * stride);
    float sum = 0;
    if (position >= radius && position + radius < n) {
        const T *middle = line + position * stride;
        for (int64_t k = radius; k > 0; k--)
            sum = __fmaf_rn(pass.weights[k], (float)middle[-k * stride] + (float)middle[k * stride], sum);
    } else {
        for (int64_t k = radius; k > 0; k--) {
            const int64_t before = ts_cuda_border_index(position - k, n, pass.border);
            const int64_t after = ts_cuda_border_index(position + k, n, pass.border);
            sum = __fmaf_rn(pass.weights[k],
                            (before < 0 ? pass.constant : (float)line[before * stride]) +
                                (after < 0 ? pass.constant : (float)line[after * stride]),
                            sum);
        }
    }
    out[here] = __fmaf_rn(pass.weights[0], (float)line[position * stride], sum);
}

size_t ts_cuda_gaussian_separable_bytes(const struct gaussian_job *job)
{
    const size_t image = ts_cuda_stride((size_t)(job->n[0] * job->n[1] * job->n[2]) * sizeof(float));
    return job->radius[0] > 0 ? 2 * image : image;
}

enum ts_status ts_cuda_gaussian_separable(const struct stage_context *context, const struct gaussian_job *job,
                                          const struct cuda_call *call)
{
    const unsigned blocks =
        (unsigned)(ts_cuda_parts(job->n[2], BLOCK_X) * ts_cuda_parts(job->n[1], BLOCK_Y) * job->n[0]);
    const dim3 block(BLOCK_X, BLOCK_Y);
    float *const rows = (float *)call->scratch;
    float *const slices = rows + ts_cuda_gaussian_separable_bytes(job) / 2 / sizeof(float);
    struct gaussian_pass passes[3];
    for (int axis = 0; axis < 3; axis++)
        passes[axis] = {job->n[0],   job->n[1],     job->n[2],         axis, job->radius[axis],
                        job->border, job->constant, job->weights[axis]};
    const bool volume = job->radius[0] > 0;
#define FIRST(T)                                                                                                       \
    gaussian_along<<<blocks, block, 0, call->stream>>>((const T *)job->in, volume ? slices : rows,                     \
                                                       passes[volume ? 0 : 2])
    TS_CUDA_DTYPES(context->in.dtype, FIRST)
#undef FIRST
    if (volume)
        gaussian_along<<<blocks, block, 0, call->stream>>>((const float *)slices, rows, passes[2]);
    gaussian_along<<<blocks, block, 0, call->stream>>>((const float *)rows, job->out, passes[1]);
    return ts_cuda_launched(context, "gaussian_along");
}
