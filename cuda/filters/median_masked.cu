/* SPDX-License-Identifier: Apache-2.0
 *
 * median_masked.cuh: a block brings a tile with the border of its windows into shared memory, as 32-bit keys with a
 * byte beside each that says whether it is valid. A thread finds the median of one pixel bit by bit: the highest key
 * below which no more than half of the valid keys lie.
 *
 * Memory traffic: a value and its bit are read once, the border again (mostly from the second cache), and a value
 * written. Blocks have 32 x 8 threads, or 16 x 8 for cubes, whose largest tile has 30 x 22 x 15 keys of 5 bytes.
 */
#include "cuda/filters/median_masked.cuh"

extern "C" {
#include "stages/filters/median.h"
}

enum { THREADS_Y = 8, FLAT_X = 32, CUBE_X = 16, MOST_SLICES = 65535 };

struct masked_job {
    struct median_job median;
    const uint64_t *valid;
    int64_t words; /* of 64 bits, of a slice */
    int depth;     /* slices of a window */
};

/* Turns a key of 32 bits with a sign into one without. Keys of fewer bits have none. */
template <typename T> static __device__ inline uint32_t ordered(int32_t key)
{
    return sizeof(T) == 4 ? (uint32_t)key ^ 0x80000000u : (uint32_t)key;
}

/* Brings the tile of output slice z to shared memory. */
template <typename T>
static __device__ void load_tile(const T *in, int64_t z, int64_t first_x, int64_t first_y, int stride, int plane,
                                 const struct masked_job &job, uint32_t *keys, uint8_t *valid)
{
    const struct median_job &median = job.median;
    for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < job.depth * plane; i += blockDim.x * THREADS_Y) {
        const int64_t row =
            ts_cuda_border_index(first_y + i % plane / stride - median.radius, median.ny, median.border);
        const int64_t column = ts_cuda_border_index(first_x + i % stride - median.radius, median.nx, median.border);
        const int64_t slice = z + i / plane, at = row * median.nx + column;
        const bool outside = row < 0 || column < 0;
        keys[i] = ordered<T>(outside ? median.constant
                                     : ts_cuda_key_of<T>(in[slice * median.ny * median.nx + at], median.flip));
        valid[i] = outside || (job.valid[slice * job.words + at / 64] >> at % 64 & 1);
    }
}

/* Returns the key at place n / 2 of the n valid keys of a window, if they were sorted. */
template <typename T>
static __device__ uint32_t middle_key(const uint32_t *keys, const uint8_t *valid, int stride, int plane, int size,
                                      int depth)
{
    uint32_t found = 0, n = 0;
    for (int z = 0; z < depth; z++)
        for (int y = 0; y < size; y++)
            for (int x = 0; x < size; x++)
                n += valid[z * plane + y * stride + x];
    for (int bit = 8 * (int)sizeof(T) - 1; bit >= 0; bit--) {
        const uint32_t higher = found | 1u << bit;
        uint32_t below = 0;
        for (int z = 0; z < depth; z++)
            for (int y = 0; y < size; y++)
                for (int x = 0; x < size; x++) {
                    const int at = z * plane + y * stride + x;
                    below += valid[at] && keys[at] < higher;
                }
        found = below <= n / 2 ? higher : found;
    }
    return found;
}

template <typename T>
static __global__ void __launch_bounds__(FLAT_X *THREADS_Y) map_masked(const T *in, T *out, struct masked_job job)
{
    extern __shared__ uint32_t keys[];
    const struct median_job &median = job.median;
    const int size = 2 * median.radius + 1, stride = (int)blockDim.x + 2 * median.radius,
              plane = stride * (THREADS_Y + 2 * median.radius);
    uint8_t *valid = (uint8_t *)(keys + job.depth * plane);
    const int64_t first_x = blockIdx.x % median.tiles_x * (int64_t)blockDim.x,
                  first_y = blockIdx.x / median.tiles_x * (int64_t)THREADS_Y;
    const int64_t x = first_x + threadIdx.x, y = first_y + threadIdx.y;
    const int here = threadIdx.y * stride + threadIdx.x,
              center = here + job.depth / 2 * plane + median.radius * stride + median.radius;
    for (int64_t z = blockIdx.y; z < median.nz; z += gridDim.y) {
        load_tile(in, z, first_x, first_y, stride, plane, job, keys, valid);
        __syncthreads();
        if (x < median.nx && y < median.ny) {
            const uint32_t key =
                valid[center] ? middle_key<T>(keys + here, valid + here, stride, plane, size, job.depth) : keys[center];
            out[(z * median.ny + y) * median.nx + x] =
                ts_cuda_value_of<T>((int32_t)ordered<T>((int32_t)key), median.flip);
        }
        __syncthreads();
    }
}

template <typename T>
static enum ts_status launch(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                             struct masked_job job, cudaStream_t stream)
{
    const int x = job.depth > 1 ? CUBE_X : FLAT_X, halo = 2 * job.median.radius;
    const size_t bytes = (sizeof(uint32_t) + sizeof(uint8_t)) * (size_t)((x + halo) * (THREADS_Y + halo) * job.depth);
    job.median.tiles_x = (unsigned)ts_cuda_parts(job.median.nx, x);
    const dim3 threads((unsigned)x, THREADS_Y),
        blocks((unsigned)(job.median.tiles_x * ts_cuda_parts(job.median.ny, THREADS_Y)),
               (unsigned)(job.median.nz < MOST_SLICES ? job.median.nz : MOST_SLICES));
    if (bytes > 48 << 10) {
        const enum ts_status status = ts_cuda_shared(context, (const void *)map_masked<T>, bytes);
        if (status != TS_OK)
            return status;
    }
    map_masked<<<blocks, threads, bytes, stream>>>((const T *)in->data, (T *)out->data, job);
    return ts_cuda_launched(context, "median map_masked");
}

enum ts_status ts_cuda_median_masked(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct median_job *median,
                                     const struct cuda_call *call)
{
    const struct median_params *params = (const struct median_params *)context->params;
    struct masked_job job = {};
    enum ts_status status = TS_OK;
    job.median = *median;
    job.valid = in->valid;
    job.words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    job.depth = params->dimensions == MEDIAN_3D ? 2 * median->radius + 1 : 1;
#define LAUNCH(T) status = launch<T>(context, in, out, job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return status;
}
