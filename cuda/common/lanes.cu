/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices to lanes and back. One thread moves four samples through a tile of 32 columns x 32 slices, turned over in
 * shared memory, so that both sides are read and written in whole sectors: the dtype's bytes and 4 bytes a sample. 256
 * threads.
 */
#include "cuda/common/lanes.cuh"

enum { LANES_TILE = 32, LANES_ROWS = 8 };

/* grid: tiles of a row, tiles of slices, rows (any number). */
template <typename T>
static __global__ void __launch_bounds__(LANES_TILE *LANES_ROWS)
    to_lanes(const T *in, int n, int64_t n_rows, int64_t n_columns, int margin, float *out)
{
    __shared__ float tile[LANES_TILE][LANES_TILE + 1];
    const int lanes = (int)gridDim.y * LANES_TILE, first = (int)blockIdx.y * LANES_TILE;
    const int64_t width = n_columns + 2 * margin, left = (int64_t)blockIdx.x * LANES_TILE;
    for (int64_t row = blockIdx.z; row < n_rows + 2 * margin; row += gridDim.z) {
        const int64_t y = row - margin, x = left + threadIdx.x - margin;
        for (int k = (int)threadIdx.y; k < LANES_TILE; k += LANES_ROWS) {
            const bool there = x >= 0 && x < n_columns && y >= 0 && y < n_rows && first + k < n;
            tile[k][threadIdx.x] = there ? (float)in[((first + k) * n_rows + y) * n_columns + x] : 0;
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < LANES_TILE; k += LANES_ROWS)
            if (left + k < width)
                out[(row * width + left + k) * lanes + first + threadIdx.x] = tile[threadIdx.x][k];
        __syncthreads();
    }
}

/* The same back; the margin and empty lanes are left out. */
static __global__ void __launch_bounds__(LANES_TILE *LANES_ROWS)
    from_lanes(const float *in, int n, int64_t n_rows, int64_t n_columns, int margin, float *out)
{
    __shared__ float tile[LANES_TILE][LANES_TILE + 1];
    const int lanes = (int)gridDim.y * LANES_TILE, first = (int)blockIdx.y * LANES_TILE;
    const int64_t width = n_columns + 2 * margin, left = (int64_t)blockIdx.x * LANES_TILE, x = left + threadIdx.x;
    for (int64_t y = blockIdx.z; y < n_rows; y += gridDim.z) {
        for (int k = (int)threadIdx.y; k < LANES_TILE; k += LANES_ROWS)
            if (left + k < n_columns)
                tile[k][threadIdx.x] = in[((y + margin) * width + left + k + margin) * lanes + first + threadIdx.x];
        __syncthreads();
        for (int k = (int)threadIdx.y; k < LANES_TILE; k += LANES_ROWS)
            if (x < n_columns && first + k < n)
                out[((first + k) * n_rows + y) * n_columns + x] = tile[threadIdx.x][k];
        __syncthreads();
    }
}

enum ts_status ts_cuda_to_lanes(const struct stage_context *context, const struct ts_image *image, const void *slices,
                                int64_t n, int margin, int lanes, float *out, cudaStream_t stream)
{
    const int64_t n_rows = image->axes[1].n, n_columns = image->axes[2].n, height = n_rows + 2 * margin;
    const dim3 grid((unsigned)ts_cuda_parts(n_columns + 2 * margin, LANES_TILE), (unsigned)(lanes / LANES_TILE),
                    (unsigned)(height < 65535 ? height : 65535));
    const dim3 block(LANES_TILE, LANES_ROWS);
#define LAUNCH(T) to_lanes<T><<<grid, block, 0, stream>>>((const T *)slices, (int)n, n_rows, n_columns, margin, out)
    TS_CUDA_DTYPES(image->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "to_lanes");
}

enum ts_status ts_cuda_from_lanes(const struct stage_context *context, const struct ts_image *image, float *slices,
                                  int64_t n, int margin, int lanes, const float *in, cudaStream_t stream)
{
    const int64_t n_rows = image->axes[1].n, n_columns = image->axes[2].n;
    const dim3 grid((unsigned)ts_cuda_parts(n_columns, LANES_TILE), (unsigned)(lanes / LANES_TILE),
                    (unsigned)(n_rows < 65535 ? n_rows : 65535));
    const dim3 block(LANES_TILE, LANES_ROWS);
    from_lanes<<<grid, block, 0, stream>>>(in, (int)n, n_rows, n_columns, margin, slices);
    return ts_cuda_launched(context, "from_lanes");
}
