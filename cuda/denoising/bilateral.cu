/* SPDX-License-Identifier: Apache-2.0
 *
 * bilateral on a CUDA device: a block of 32 x 8 threads brings one slice after another of a tile,
 * with the border of its windows, into shared memory as scaled floats, and each thread adds up the
 * samples of its four windows, which are in one column, 8 rows apart. A sample is read about once
 * from memory. Exponentials limit the kernel: a multiprocessor computes 16 of them in a cycle.
 * ex2.approx has a relative error of 2^-22.
 */
#include "cuda/values/border.cuh"

extern "C" {
#include "stages/denoising/bilateral.h"
}

enum { BLOCK_X = 32, BLOCK_Y = 8, EACH = 4, TILE_Y = BLOCK_Y * EACH, MOST_BLOCKS_Z = 65535 };

struct bilateral_job {
    int64_t nz;
    int ny, nx, radius, depth, border;
    float scale, constant;  /* constant is scaled */
    const float *exponents; /* of distance, one for each sample of a window */
    const uint64_t *valid;  /* bits of a masked image; else NULL */
    int64_t words;          /* words of `valid` from one slice to the next */
};

static __device__ __forceinline__ float power_of_two(float exponent)
{
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
    return power;
}

static __device__ __forceinline__ float scaled(float value, float scale)
{
    const float product = value * scale;
    return fabsf(product) < BILATERAL_FAR ? product : BILATERAL_FAR;
}

/* Returns the scaled value of pixel i of input slice z. An invalid pixel becomes as far from all
 * others as a NaN. */
template <typename T>
static __device__ __forceinline__ float load(const T *in, const struct bilateral_job &job,
                                             int64_t z, int64_t i)
{
    const bool valid = !job.valid || job.valid[z * job.words + i / 64] >> i % 64 & 1;
    return valid ? scaled((float)in[z * job.ny * job.nx + i], job.scale) : BILATERAL_FAR;
}

/* Brings one slice of the tile into shared memory. The block's first window begins at first_y and
 * first_x. */
template <typename T>
static __device__ void load_tile(const T *in, const struct bilateral_job &job, int64_t z,
                                 int first_y, int first_x, float *tile)
{
    const int width = BLOCK_X + 2 * job.radius, height = TILE_Y + 2 * job.radius;
    for (int row = threadIdx.y; row < height; row += BLOCK_Y) {
        const int64_t y = ts_cuda_border_index(first_y + row - job.radius, job.ny, job.border);
        for (int column = threadIdx.x; column < width; column += BLOCK_X) {
            const int64_t x =
                ts_cuda_border_index(first_x + column - job.radius, job.nx, job.border);
            tile[row * width + column] =
                y < 0 || x < 0 ? job.constant : load(in, job, z, y * job.nx + x);
        }
    }
}

/* Maps a tile of the output in each block; a thread does four pixels of a column. */
template <typename T>
static __global__ void __launch_bounds__(BLOCK_X *BLOCK_Y)
    map_tiles(const T *in, float *out, struct bilateral_job job)
{
    extern __shared__ float tile[];
    const int first_x = (int)blockIdx.x * BLOCK_X, first_y = (int)blockIdx.y * TILE_Y,
              size = 2 * job.radius + 1, width = BLOCK_X + 2 * job.radius,
              x = first_x + (int)threadIdx.x;
    const int64_t plane = (int64_t)job.ny * job.nx;
    for (int64_t z = blockIdx.z; z < job.nz; z += gridDim.z) {
        const int64_t z_middle = z + job.depth / 2;
        float middle[EACH], sum[EACH] = {0}, weights[EACH] = {0}, value[EACH];
        for (int k = 0; k < EACH; k++) {
            const int y = first_y + k * BLOCK_Y + (int)threadIdx.y;
            const bool inside = y < job.ny && x < job.nx;
            value[k] = inside ? (float)in[z_middle * plane + (int64_t)y * job.nx + x] : 0;
            middle[k] = inside ? load(in, job, z_middle, (int64_t)y * job.nx + x) : 0;
        }
        for (int slice = 0; slice < job.depth; slice++) {
            __syncthreads();
            load_tile(in, job, z + slice, first_y, first_x, tile);
            __syncthreads();
            for (int j = 0; j < size; j++) {
                const float *line = tile + (threadIdx.y + j) * width + threadIdx.x;
                const float *exponents = job.exponents + (slice * size + j) * size;
                float line_sum[EACH] = {0}, line_weights[EACH] = {0};
                for (int i = 0; i < size; i++) {
                    const float exponent = -exponents[i];
#pragma unroll
                    for (int k = 0; k < EACH; k++) {
                        const float difference = line[k * BLOCK_Y * width + i] - middle[k];
                        const float weight =
                            power_of_two(__fmaf_rn(-difference, difference, exponent));
                        line_weights[k] += weight;
                        line_sum[k] = __fmaf_rn(weight, difference, line_sum[k]);
                    }
                }
#pragma unroll
                for (int k = 0; k < EACH; k++) {
                    sum[k] += line_sum[k];
                    weights[k] += line_weights[k];
                }
            }
        }
        for (int k = 0; k < EACH; k++) {
            const int y = first_y + k * BLOCK_Y + (int)threadIdx.y;
            if (y < job.ny && x < job.nx)
                out[z * plane + (int64_t)y * job.nx + x] =
                    middle[k] == BILATERAL_FAR ? value[k]
                                               : value[k] + sum[k] / weights[k] / job.scale;
        }
    }
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct bilateral_params *params = (const struct bilateral_params *)context->params;
    const size_t size = 2 * (size_t)params->radius + 1;
    return size * size * (params->dimensions == BILATERAL_3D ? size : 1) * sizeof(float);
}

static void bilateral_constants(const struct stage_context *context, void *host)
{
    ts_bilateral_exponents((const struct bilateral_params *)context->params, (float *)host);
}

static enum ts_status bilateral_map(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const struct bilateral_params *params = (const struct bilateral_params *)context->params;
    const int radius = (int)params->radius;
    const float scale = ts_bilateral_scale(params);
    const struct bilateral_job job = {out->axes[0].n,
                                      (int)out->axes[1].n,
                                      (int)out->axes[2].n,
                                      radius,
                                      params->dimensions == BILATERAL_3D ? 2 * radius + 1 : 1,
                                      params->border,
                                      scale,
                                      (float)params->constant * scale,
                                      (const float *)call->constants,
                                      in->valid,
                                      (int64_t)(ts_valid_bytes(in) / sizeof *in->valid)};
    const dim3 threads(BLOCK_X, BLOCK_Y),
        blocks((unsigned)ts_cuda_parts(job.nx, BLOCK_X), (unsigned)ts_cuda_parts(job.ny, TILE_Y),
               (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    const size_t bytes =
        (size_t)(TILE_Y + 2 * radius) * (size_t)(BLOCK_X + 2 * radius) * sizeof(float);
#define LAUNCH(T)                                                                                  \
    map_tiles<T>                                                                                   \
        <<<blocks, threads, bytes, call->stream>>>((const T *)in->data, (float *)out->data, job)
    TS_CUDA_DTYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "bilateral map_tiles");
}

extern "C" {
const struct stage_cuda bilateral_cuda = {
    .constants_bytes = constants_bytes, .constants = bilateral_constants, .map = bilateral_map};
}
