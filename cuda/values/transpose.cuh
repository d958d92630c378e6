/* SPDX-License-Identifier: Apache-2.0
 *
 * This exchanges the rows and columns of slices, out[z][x][y] = in[z][y][x], for kernels whose threads follow columns.
 * A thread moves four pixels through a tile of 32 x 32 in shared memory, so that both sides are read and written in
 * whole sectors. Memory traffic: each pixel is read once and written once. 256 threads a block are the 8 rows of a tile
 * that move at a time.
 */
#ifndef CUDA_VALUES_TRANSPOSE_CUH
#define CUDA_VALUES_TRANSPOSE_CUH

#include "cuda/device/launch.cuh"

enum { TRANSPOSE_TILE = 32, TRANSPOSE_ROWS = 8 };

/* The grid has tiles of columns, and tiles of rows in all slices (any number). */
template <typename T>
static __global__ void __launch_bounds__(TRANSPOSE_TILE *TRANSPOSE_ROWS)
    transpose(const T *in, T *out, int64_t nz, int ny, int nx)
{
    __shared__ T tile[TRANSPOSE_TILE][TRANSPOSE_TILE + 1];
    const int x = (int)blockIdx.x * TRANSPOSE_TILE, y_tiles = (ny + TRANSPOSE_TILE - 1) / TRANSPOSE_TILE;
    const int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    for (int64_t part = blockIdx.y; part < nz * y_tiles; part += gridDim.y) {
        const int y = (int)(part % y_tiles) * TRANSPOSE_TILE;
        const int64_t slice = part / y_tiles * ny * nx;
        for (int k = ty; k < TRANSPOSE_TILE && y + k < ny; k += TRANSPOSE_ROWS)
            if (x + tx < nx)
                tile[k][tx] = in[slice + (int64_t)(y + k) * nx + x + tx];
        __syncthreads();
        for (int k = ty; k < TRANSPOSE_TILE && x + k < nx; k += TRANSPOSE_ROWS)
            if (y + tx < ny)
                out[slice + (int64_t)(x + k) * ny + y + tx] = tile[tx][k];
        __syncthreads();
    }
}

/* Enqueues the transposes of all slices of `in` to `out`, in the same dtype. */
static inline enum ts_status ts_cuda_transpose(const struct stage_context *context, const struct ts_image *in,
                                               void *out, cudaStream_t stream)
{
    const int64_t nz = in->axes[0].n;
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const int64_t tiles = nz * ts_cuda_parts(ny, TRANSPOSE_TILE);
    const dim3 grid((unsigned)ts_cuda_parts(nx, TRANSPOSE_TILE), (unsigned)(tiles < 65535 ? tiles : 65535));
    const dim3 block(TRANSPOSE_TILE, TRANSPOSE_ROWS);
#define LAUNCH(T) transpose<T><<<grid, block, 0, stream>>>((const T *)in->data, (T *)out, nz, ny, nx)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "transpose");
}

#endif
