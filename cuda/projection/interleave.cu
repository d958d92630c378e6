/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices to lanes and back. One thread moves four samples through a tile of 32 columns x 32 slices, turned over in
 * shared memory, so that both sides are read and written in whole sectors: the dtype's bytes and 4 bytes a sample. 256
 * threads.
 */
#include "cuda/projection/interleave.cuh"

enum { LANES_TILE = 32, LANES_ROWS = 8 };

struct lanes_size {
    int n_slices, ny, nx, margin_y, margin_x;
    bool along_rows; /* lines are rows, else columns */
};

/* grid: tiles of a row, tiles of slices, rows (any number). */
template <typename T>
static __global__ void __launch_bounds__(LANES_TILE *LANES_ROWS)
    to_lanes(const T *in, struct lanes_size size, float *out)
{
    __shared__ float tile[LANES_TILE][LANES_TILE + 1];
    const int lanes = (int)gridDim.y * LANES_TILE, first = (int)blockIdx.y * LANES_TILE;
    const int x_first = (int)blockIdx.x * LANES_TILE - size.margin_x, x = x_first + (int)threadIdx.x;
    const int64_t line = (size.along_rows ? size.nx + 2 * size.margin_x : size.ny + 2 * size.margin_y);
    for (int y = (int)blockIdx.z - size.margin_y; y < size.ny + size.margin_y; y += (int)gridDim.z) {
        for (int k = (int)threadIdx.y; k < LANES_TILE; k += LANES_ROWS) {
            const int z = first + k;
            const bool there = x >= 0 && x < size.nx && y >= 0 && y < size.ny && z < size.n_slices;
            tile[k][threadIdx.x] = there ? (float)in[((int64_t)z * size.ny + y) * size.nx + x] : 0;
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < LANES_TILE; k += LANES_ROWS) {
            const int to_y = y + size.margin_y, to_x = x_first + k + size.margin_x;
            if (x_first + k < size.nx + size.margin_x)
                out[(size.along_rows ? to_y * line + to_x : to_x * line + to_y) * lanes + first + threadIdx.x] =
                    tile[threadIdx.x][k];
        }
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

static enum ts_status launch(const struct stage_context *context, const struct ts_image *image, const void *slices,
                             struct lanes_size size, int lanes, float *out, cudaStream_t stream)
{
    const int64_t height = size.ny + 2 * size.margin_y;
    const dim3 grid((unsigned)ts_cuda_parts(size.nx + 2 * size.margin_x, LANES_TILE), (unsigned)(lanes / LANES_TILE),
                    (unsigned)(height < 65535 ? height : 65535));
    const dim3 block(LANES_TILE, LANES_ROWS);
#define LAUNCH(T) to_lanes<T><<<grid, block, 0, stream>>>((const T *)slices, size, out)
    TS_CUDA_DTYPES(image->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "to_lanes");
}

enum ts_status ts_cuda_to_lanes(const struct stage_context *context, const struct ts_image *image, const void *slices,
                                int64_t n, int margin, int lanes, float *out, cudaStream_t stream)
{
    const struct lanes_size size = {(int)n, (int)image->axes[1].n, (int)image->axes[2].n, margin, margin, true};
    return launch(context, image, slices, size, lanes, out, stream);
}

enum ts_status ts_cuda_interleave(const struct stage_context *context, const struct ts_image *image, const void *slices,
                                  int64_t n, bool along_rows, int lanes, float *out, cudaStream_t stream)
{
    const int margin_y = along_rows ? 0 : INTERLEAVE_MARGIN, margin_x = along_rows ? INTERLEAVE_MARGIN : 0;
    const struct lanes_size size = {(int)n,    (int)image->axes[1].n, (int)image->axes[2].n, margin_y, margin_x,
                                    along_rows};
    return launch(context, image, slices, size, lanes, out, stream);
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
