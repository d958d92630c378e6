/* SPDX-License-Identifier: Apache-2.0
 *
 * median on a CUDA device: a block brings a tile with the border of its windows into shared memory, as 32-bit keys, and
 * a thread finds the medians of its pixels: by a network in registers for windows of 3 x 3 x 3, or bit by bit for
 * larger ones, counting the smaller keys in shared memory. Windows of 3 x 3, 5 x 5 and 7 x 7 go to median_direct.cu and
 * median_tile.cu.
 *
 * Memory traffic: a value is read once, the border again (mostly from the second cache), and written once. Blocks have
 * 32 x 8 threads, of four rows each. For cubes they have 16 x 8 threads of one pixel each: the largest tile, 30 x 22 x
 * 15 keys, then fits into the 48 KiB that every block has.
 */
#include "cuda/filters/median.cuh"

#include "cuda/filters/masked_windows.cuh"

extern "C" {
#include "stages/filters/median.h"
#include "stages/values/value_keys.h"
}

enum { THREADS_Y = 8, FLAT_X = 32, FLAT_ROWS = 4, CUBE_X = 16 };

/* SIZE is that of the window, or 0 where job.radius gives it. With CUBE it spans slices, whose halo lies before `in`'s
 * first slice of output and behind its last. */
template <typename T, int SIZE, bool CUBE>
static __global__ void __launch_bounds__(FLAT_X *THREADS_Y) map_tiles(const T *in, T *out, struct median_job job)
{
    enum { X = CUBE ? CUBE_X : FLAT_X, ROWS = CUBE ? 1 : FLAT_ROWS, Y = THREADS_Y * ROWS };
    extern __shared__ int32_t tile[];
    const int radius = SIZE ? SIZE / 2 : job.radius, size = 2 * radius + 1, depth = CUBE ? size : 1;
    const int stride = X + 2 * radius, plane = stride * (Y + 2 * radius);
    const int64_t first_x = blockIdx.x % job.tiles_x * X, first_y = blockIdx.x / job.tiles_x * Y;
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        for (int i = threadIdx.y * X + threadIdx.x; i < depth * plane; i += X * THREADS_Y) {
            const int64_t row = ts_cuda_border_index(first_y + i % plane / stride - radius, job.ny, job.border);
            const int64_t column = ts_cuda_border_index(first_x + i % stride - radius, job.nx, job.border);
            tile[i] = row < 0 || column < 0
                          ? job.constant
                          : ts_cuda_key_of<T>(in[((z + i / plane) * job.ny + row) * job.nx + column], job.flip);
        }
        __syncthreads();
        for (int row = threadIdx.y; row < Y; row += THREADS_Y) {
            const int64_t x = first_x + threadIdx.x, y = first_y + row;
            if (x >= job.nx || y >= job.ny)
                continue;
            const int32_t *window = tile + row * stride + threadIdx.x;
            int32_t median;
            if constexpr (SIZE != 0) {
                enum { N = SIZE * SIZE * (CUBE ? SIZE : 1) };
                int32_t keys[N];
#pragma unroll
                for (int i = 0; i < N; i++)
                    keys[i] = window[i / (SIZE * SIZE) * plane + i / SIZE % SIZE * stride + i % SIZE];
                median = ts_cuda_median<N>(keys);
            } else {
                median = ts_cuda_median_by_bits<8 * sizeof(T)>(window, stride, plane, size, depth);
            }
            out[(z * job.ny + y) * job.nx + x] = ts_cuda_value_of<T>(median, job.flip);
        }
        __syncthreads();
    }
}

template <typename T>
static void launch(const struct median_params *params, const struct ts_image *in, struct ts_image *out,
                   struct median_job job, cudaStream_t stream)
{
    const bool cube = params->dimensions == MEDIAN_3D;
    const int x = cube ? CUBE_X : FLAT_X, y = THREADS_Y * (cube ? 1 : FLAT_ROWS), size = 2 * job.radius + 1;
    const size_t bytes = sizeof(int32_t) * (size_t)((x + 2 * job.radius) * (y + 2 * job.radius) * (cube ? size : 1));
    job.tiles_x = (unsigned)ts_cuda_parts(job.nx, x);
    const dim3 threads((unsigned)x, THREADS_Y), blocks((unsigned)(job.tiles_x * ts_cuda_parts(job.ny, y)),
                                                       (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    const T *from = (const T *)in->data;
    T *to = (T *)out->data;
    if (params->method == MEDIAN_HISTOGRAM && cube)
        map_tiles<T, 0, true><<<blocks, threads, bytes, stream>>>(from, to, job);
    else if (params->method == MEDIAN_HISTOGRAM)
        map_tiles<T, 0, false><<<blocks, threads, bytes, stream>>>(from, to, job);
    else
        map_tiles<T, 3, true><<<blocks, threads, bytes, stream>>>(from, to, job);
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct median_params *params = (const struct median_params *)context->params;
    struct median_job job = {.nz = out->axes[0].n,
                             .ny = out->axes[1].n,
                             .nx = out->axes[2].n,
                             .radius = (int)params->radius,
                             .border = params->border,
                             .flip = ts_cuda_key_flip(in->dtype)};
    const size_t bytes = ts_dtype_bytes(in->dtype);
    job.word_flip = job.flip * (bytes == 1 ? 0x01010101u : bytes == 2 ? 0x00010001u : 1);
    if (params->border == BORDER_CONSTANT)
        ts_constant_fill(&job.outside, in->dtype, params->constant, 1);
    job.outside ^= job.flip;
    job.constant = in->dtype == TS_F32 ? ts_float_key((int32_t)job.outside) : (int32_t)job.outside;
    if (context->in.masked)
        return ts_cuda_median_masked(context, in, out, &job, call);
    if (params->method == MEDIAN_NETWORK && params->dimensions == MEDIAN_2D)
        return (params->radius == 1 ? ts_cuda_median_direct : ts_cuda_median_tile)(context, in, out, &job, call);
#define LAUNCH(T) launch<T>(params, in, out, job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median map_tiles");
}

const struct stage_cuda median_cuda = {.map = map};
