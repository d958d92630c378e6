/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes box in shared memory: a block loads a tile with its halo once, and adds along x, y (and z) there; a
 * thread sums one window at a time. In 2D a tile is 32 columns by 32 rows, in 3D by 8 rows and 8 slices. Memory
 * traffic: one write a pixel, and (32 + 2 radius)^2 / 32^2 reads in 2D, of which all but one may come from the second
 * cache. 256 threads a block: a warp does rows of 32 columns. The tile with its halo must fit the shared memory of one
 * block, which bounds the radius.
 */
#include "cuda/filters/box.cuh"

enum { COLUMNS = BOX_TILE_COLUMNS, WARPS = 8 };

/* Loads the tile and its halo; z needs no border, because the input has its halo. */
template <typename T>
static __device__ void load_tile(const T *in, T *samples, struct box_tile tile, struct box_sizes sizes,
                                 struct box_pixel first, T outside)
{
    for (int row = threadIdx.y; row < tile.depth * tile.height; row += WARPS) {
        const int64_t z = first.z + row / tile.height;
        const int64_t y = ts_cuda_border_index(first.y + row % tile.height - sizes.radius, sizes.ny, sizes.border);
        for (int i = threadIdx.x; i < tile.width; i += COLUMNS) {
            const int64_t x = ts_cuda_border_index(first.x + i - sizes.radius, sizes.nx, sizes.border);
            /* Tiles may reach beyond the last slice and row of a slab, where no output needs samples. */
            const bool there = z < sizes.nz + 2 * sizes.reach && y >= 0 && x >= 0;
            samples[row * tile.width + i] = there ? in[(z * sizes.ny + y) * sizes.nx + x] : outside;
        }
    }
}

/* out[row][lane] = sums of `window` samples a `step` apart, for n rows in groups of `group` that lie `distance` apart
 * in `in`. */
template <typename IN, typename SUM, typename OUT>
static __device__ void sum_rows(const IN *in, OUT *out, int n, int group, int distance, int pitch, int step, int window,
                                struct box_mean mean)
{
    for (int row = threadIdx.y; row < n; row += WARPS) {
        const IN *from = in + ((row / group) * distance + row % group) * pitch + threadIdx.x;
        SUM sum = 0;
        for (int k = 0; k < window; k++)
            sum += (SUM)from[k * step];
        box_keep(&out[row * COLUMNS + threadIdx.x], sum, mean);
    }
}

template <typename T, typename SUM>
static __global__ void __launch_bounds__(COLUMNS *WARPS)
    tiled(const T *in, T *out, struct box_tile tile, struct box_sizes sizes, T outside, struct box_mean line,
          struct box_mean last)
{
    typedef box_between<T, SUM> BETWEEN;
    extern __shared__ __align__(16) char shared[];
    T *samples = (T *)shared;
    BETWEEN *along_x = (BETWEEN *)(shared + tile.along_x), *along_y = (BETWEEN *)(shared + tile.along_y);
    const int window = 2 * sizes.radius + 1;
    const unsigned columns = (unsigned)ts_cuda_parts(sizes.nx, COLUMNS);
    const unsigned rows = (unsigned)ts_cuda_parts(sizes.ny, tile.ny), row_of_tiles = blockIdx.x / columns;
    const struct box_pixel first = {(int64_t)(row_of_tiles / rows) * tile.nz, (int64_t)(row_of_tiles % rows) * tile.ny,
                                    (int64_t)(blockIdx.x % columns) * COLUMNS, true};
    load_tile(in, samples, tile, sizes, first, outside);
    __syncthreads();
    sum_rows<T, SUM>(samples, along_x, tile.depth * tile.height, 1, 1, tile.width, 1, window, line);
    __syncthreads();
    const BETWEEN *sums = along_x;
    int step = COLUMNS;
    if (sizes.reach) {
        sum_rows<BETWEEN, SUM>(along_x, along_y, tile.depth * tile.ny, tile.ny, tile.height, COLUMNS, COLUMNS, window,
                               line);
        __syncthreads();
        sums = along_y;
        step = tile.ny * COLUMNS;
    }
    for (int row = threadIdx.y; row < tile.nz * tile.ny; row += WARPS) {
        const int64_t z = first.z + row / tile.ny, y = first.y + row % tile.ny, x = first.x + threadIdx.x;
        SUM sum = 0;
        for (int k = 0; k < window; k++)
            sum += (SUM)sums[row * COLUMNS + k * step + threadIdx.x];
        if (z < sizes.nz && y < sizes.ny && x < sizes.nx)
            box_store(out + (z * sizes.ny + y) * sizes.nx + x, sum, last);
    }
}

template <typename T, typename SUM> static enum ts_status launch_tiled(const struct box_launch *launch)
{
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_tile tile = ts_box_tile(sizes.radius, sizes.reach > 0, sizeof(T), sizeof(box_between<T, SUM>));
    const bool sums = (T)0.5 == 0; /* between the passes of integers; of floats means */
    const struct box_mean line = box_mean_of(2.0 * sizes.radius + 1);
    const unsigned blocks = (unsigned)(ts_cuda_parts(sizes.nx, COLUMNS) * ts_cuda_parts(sizes.ny, tile.ny) *
                                       ts_cuda_parts(sizes.nz, tile.nz));
    const enum ts_status status = ts_cuda_shared(launch->context, (const void *)tiled<T, SUM>, tile.bytes);
    if (status != TS_OK)
        return status;
    tiled<T, SUM><<<blocks, dim3(COLUMNS, WARPS), tile.bytes, launch->stream>>>(
        (const T *)launch->in, (T *)launch->out, tile, sizes, (T)params->constant, line, sums ? launch->mean : line);
    return ts_cuda_launched(launch->context, "tiled");
}
BOX_LAUNCHER(ts_cuda_box_tile, launch_tiled)
