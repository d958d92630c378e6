/* SPDX-License-Identifier: Apache-2.0
 *
 * This copies slices to interleaved arrays and back (interleave.cuh). One thread moves four samples
 * through a tile of 32 columns x 32 slices, transposed in shared memory, so that both sides are
 * read and written in whole sectors: the dtype's bytes and 4 bytes a sample. A block has 256
 * threads, eight rows of a tile.
 */
#include "cuda/projection/interleave.cuh"

enum { TILE = 32, TILE_ROWS = 8 };

struct interleave_size {
    int n_slices, ny, nx;
    struct interleaved_lines lines;
};

/* The grid counts tiles of a row, tiles of slices, and rows (any number). */
template <typename T>
static __global__ void __launch_bounds__(TILE *TILE_ROWS)
    interleave(const T *in, struct interleave_size size, float *out)
{
    __shared__ float tile[TILE][TILE + 1];
    const int width = (int)gridDim.y * TILE, first = (int)blockIdx.y * TILE;
    const int x_first = (int)blockIdx.x * TILE - size.lines.margin_x,
              x = x_first + (int)threadIdx.x;
    const int64_t line = (size.lines.along_rows ? size.nx + 2 * size.lines.margin_x
                                                : size.ny + 2 * size.lines.margin_y);
    for (int y = (int)blockIdx.z - size.lines.margin_y; y < size.ny + size.lines.margin_y;
         y += (int)gridDim.z) {
        for (int k = (int)threadIdx.y; k < TILE; k += TILE_ROWS) {
            const int z = first + k;
            const bool there = x >= 0 && x < size.nx && y >= 0 && y < size.ny && z < size.n_slices;
            tile[k][threadIdx.x] = there ? (float)in[((int64_t)z * size.ny + y) * size.nx + x] : 0;
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < TILE; k += TILE_ROWS) {
            const int to_y = y + size.lines.margin_y, to_x = x_first + k + size.lines.margin_x;
            if (x_first + k < size.nx + size.lines.margin_x)
                out[(size.lines.along_rows ? to_y * line + to_x : to_x * line + to_y) * width +
                    first + threadIdx.x] = tile[threadIdx.x][k];
        }
        __syncthreads();
    }
}

/* Does the reverse, for rows without margins, with the same grid. */
static __global__ void __launch_bounds__(TILE *TILE_ROWS)
    separate(const float *in, int n, int64_t n_rows, int64_t n_columns, float *out)
{
    __shared__ float tile[TILE][TILE + 1];
    const int width = (int)gridDim.y * TILE, first = (int)blockIdx.y * TILE;
    const int64_t left = (int64_t)blockIdx.x * TILE, x = left + threadIdx.x;
    for (int64_t y = blockIdx.z; y < n_rows; y += gridDim.z) {
        for (int k = (int)threadIdx.y; k < TILE; k += TILE_ROWS)
            if (left + k < n_columns)
                tile[k][threadIdx.x] = in[(y * n_columns + left + k) * width + first + threadIdx.x];
        __syncthreads();
        for (int k = (int)threadIdx.y; k < TILE; k += TILE_ROWS)
            if (x < n_columns && first + k < n)
                out[((first + k) * n_rows + y) * n_columns + x] = tile[threadIdx.x][k];
        __syncthreads();
    }
}

enum ts_status ts_cuda_interleave(const struct stage_context *context, const struct ts_image *image,
                                  int64_t z, int64_t n, struct interleaved_lines lines, int width,
                                  float *out, cudaStream_t stream)
{
    const struct interleave_size size = {(int)n, (int)image->axes[1].n, (int)image->axes[2].n,
                                         lines};
    const int64_t height = size.ny + 2 * lines.margin_y;
    const dim3 grid((unsigned)ts_cuda_parts(size.nx + 2 * lines.margin_x, TILE),
                    (unsigned)(width / TILE), (unsigned)(height < 65535 ? height : 65535));
    const dim3 block(TILE, TILE_ROWS);
    const void *slices = ts_slice_data(image, z);
#define LAUNCH(T) interleave<T><<<grid, block, 0, stream>>>((const T *)slices, size, out)
    TS_CUDA_DTYPES(image->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "interleave");
}

enum ts_status ts_cuda_separate(const struct stage_context *context, const struct ts_image *image,
                                int64_t z, int64_t n, int width, const float *in,
                                cudaStream_t stream)
{
    const int64_t n_rows = image->axes[1].n, n_columns = image->axes[2].n;
    const dim3 grid((unsigned)ts_cuda_parts(n_columns, TILE), (unsigned)(width / TILE),
                    (unsigned)(n_rows < 65535 ? n_rows : 65535));
    const dim3 block(TILE, TILE_ROWS);
    separate<<<grid, block, 0, stream>>>(in, (int)n, n_rows, n_columns,
                                         (float *)ts_slice_data(image, z));
    return ts_cuda_launched(context, "separate");
}
