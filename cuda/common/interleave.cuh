/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices side by side on the device: the samples of `lanes` slices at one place of the image are neighbors in memory,
 * so that one index and one weight serve all of them and a warp reads them at once.
 *
 *     data[(m * (n_minor + 2 INTERLEAVE_MARGIN) + INTERLEAVE_MARGIN + i) * lanes + slice]
 *
 * is sample i of line m. Lines are rows, or columns, of the image; on both sides of a line stand INTERLEAVE_MARGIN
 * zeros, and lanes without a slice are zero.
 *
 * One thread moves four samples through a tile of 32 places x 32 slices, turned over in shared memory, so that both
 * sides are read and written in whole sectors. Traffic: the dtype's bytes read, 4 written a sample. 256 threads.
 */
#ifndef CUDA_COMMON_INTERLEAVE_CUH
#define CUDA_COMMON_INTERLEAVE_CUH

#include "cuda/launch.cuh"

enum { INTERLEAVE_MARGIN = 10, INTERLEAVE_TILE = 32, INTERLEAVE_ROWS = 8 };

static inline size_t ts_cuda_interleaved_bytes(int64_t n_major, int64_t n_minor, int lanes)
{
    return (size_t)n_major * (size_t)(n_minor + 2 * INTERLEAVE_MARGIN) * (size_t)lanes * sizeof(float);
}

/* grid: tiles of a row, tiles of slices, rows (any number). */
template <typename T>
static __global__ void __launch_bounds__(INTERLEAVE_TILE *INTERLEAVE_ROWS)
    interleave(const T *in, int n, int ny, int nx, bool along_rows, float *out)
{
    __shared__ float tile[INTERLEAVE_TILE][INTERLEAVE_TILE + 1];
    const int lanes = (int)gridDim.y * INTERLEAVE_TILE, first = (int)blockIdx.y * INTERLEAVE_TILE;
    const int margin_x = along_rows ? INTERLEAVE_MARGIN : 0, margin_y = along_rows ? 0 : INTERLEAVE_MARGIN;
    const int x_first = (int)blockIdx.x * INTERLEAVE_TILE - margin_x;
    const int64_t line = (along_rows ? nx : ny) + 2 * INTERLEAVE_MARGIN;
    for (int y = (int)blockIdx.z - margin_y; y < ny + margin_y; y += gridDim.z) {
        for (int k = (int)threadIdx.y; k < INTERLEAVE_TILE; k += INTERLEAVE_ROWS) {
            const int x = x_first + (int)threadIdx.x, z = first + k;
            const bool there = x >= 0 && x < nx && y >= 0 && y < ny && z < n;
            tile[k][threadIdx.x] = there ? (float)in[((int64_t)z * ny + y) * nx + x] : 0;
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < INTERLEAVE_TILE; k += INTERLEAVE_ROWS) {
            const int x = x_first + k;
            const int64_t at = along_rows ? y * line + x + margin_x : x * line + y + margin_y;
            if (x < nx + margin_x)
                out[at * lanes + first + (int)threadIdx.x] = tile[threadIdx.x][k];
        }
        __syncthreads();
    }
}

/* The first n slices at `in`; lanes is a multiple of 32, at least n. */
static inline enum ts_status ts_cuda_interleave(const struct stage_context *context, const struct ts_image *in,
                                                const void *slices, int64_t n, bool along_rows, int lanes, float *out,
                                                cudaStream_t stream)
{
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const int64_t width = nx + (along_rows ? 2 * INTERLEAVE_MARGIN : 0),
                  height = ny + (along_rows ? 0 : 2 * INTERLEAVE_MARGIN);
    const dim3 grid((unsigned)ts_cuda_parts(width, INTERLEAVE_TILE), (unsigned)(lanes / INTERLEAVE_TILE),
                    (unsigned)(height < 65535 ? height : 65535));
    const dim3 block(INTERLEAVE_TILE, INTERLEAVE_ROWS);
#define LAUNCH(T) interleave<T><<<grid, block, 0, stream>>>((const T *)slices, (int)n, ny, nx, along_rows, out)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "interleave");
}

#endif
