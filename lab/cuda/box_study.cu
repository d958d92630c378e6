/* SPDX-License-Identifier: Apache-2.0
 *
 * These kernels repeat box as it was first written for CUDA. Those of the ladder add all (2 radius
 * + 1)^2 samples of a window for each pixel, one thread a pixel:
 *
 *     rows           a block of 256 threads takes a row; samples come from global memory and the
 *                    caches. 4 bytes are read (2 radius + 1)^2 times a pixel, nearly always from a
 *                    cache, and 4 bytes written.
 *     rows unrolled  the same with the loop along x unrolled, for the radii of BOX_UNROLLED_RADII;
 *                    of 3 x 3 both loops
 *     tile unrolled  a block of 32 x 32 threads, as many as a block may have, loads 32 x 32 pixels
 *                    and the halo around them into shared memory: (1 + radius / 16)^2 reads a
 *                    pixel; all other reads are of shared memory
 *
 * runs plain is box's running-sum without its tile of samples: each thread of a warp reads its own
 * row, so that the 32 addresses of a load lie a row apart. It reads each pixel twice in each pass
 * and writes it once.
 */
#include "cuda/filters/box_running.cuh"

extern "C" {
#include "lab/cuda/box_study.h"
}

enum { ROW_THREADS = 256, SIDE = 32 };

/* Returns the sum of the `window` samples from `samples` on. RADIUS 0: the window is not known when
 * compiling. */
template <int RADIUS> static __device__ float add_row(const float *samples, int window)
{
    const int n = RADIUS > 0 ? 2 * RADIUS + 1 : window;
    float sum = 0;
#pragma unroll(RADIUS > 0 ? 2 * RADIUS + 1 : 1)
    for (int i = 0; i < n; i++)
        sum += samples[i];
    return sum;
}

/* Does the same around x where some samples are outside. */
static __device__ float add_row_at_border(const float *row, int64_t x, struct box_sizes sizes,
                                          float outside)
{
    float sum = 0;
    for (int64_t i = x - sizes.radius; i <= x + sizes.radius; i++) {
        const int64_t from = ts_cuda_border_index(i, sizes.nx, sizes.border);
        sum += from < 0 ? outside : row[from];
    }
    return sum;
}

template <int RADIUS>
static __global__ void __launch_bounds__(ROW_THREADS)
    add_rows(const float *in, float *out, struct box_sizes sizes, float outside,
             struct box_mean mean)
{
    const int radius = RADIUS > 0 ? RADIUS : sizes.radius;
    const int64_t z = blockIdx.x / sizes.ny, y = blockIdx.x % sizes.ny;
    in += z * sizes.ny * sizes.nx;
    for (int64_t x = threadIdx.x; x < sizes.nx; x += ROW_THREADS) {
        const bool inside = x >= radius && x + radius < sizes.nx;
        double sum = 0;
#pragma unroll(RADIUS == 1 ? 3 : 1)
        for (int j = 0; j <= 2 * radius; j++) {
            const int64_t from =
                ts_cuda_border_rarely((int)y + j - radius, (int)sizes.ny, sizes.border);
            const float *row = in + from * sizes.nx;
            sum += from < 0 ? (2 * radius + 1) * outside
                   : inside ? add_row<RADIUS>(row + x - radius, 2 * radius + 1)
                            : add_row_at_border(row, x, sizes, outside);
        }
        box_store(out + blockIdx.x * sizes.nx + x, sum, mean);
    }
}

template <int RADIUS>
static __global__ void __launch_bounds__(SIDE *SIDE)
    add_tile(const float *in, float *out, struct box_sizes sizes, float outside,
             struct box_mean mean)
{
    extern __shared__ float samples[];
    const int radius = RADIUS > 0 ? RADIUS : sizes.radius, width = SIDE + 2 * radius;
    const unsigned columns = (unsigned)ts_cuda_parts(sizes.nx, SIDE),
                   rows = (unsigned)ts_cuda_parts(sizes.ny, SIDE);
    const int64_t x = (int64_t)(blockIdx.x % columns) * SIDE,
                  y = (int64_t)(blockIdx.x / columns % rows) * SIDE;
    const int64_t slice = (int64_t)(blockIdx.x / columns / rows) * sizes.ny * sizes.nx;
    const bool inside = x >= radius && x + SIDE + radius <= sizes.nx && y >= radius &&
                        y + SIDE + radius <= sizes.ny;
    for (int j = threadIdx.y; j < width; j += SIDE) {
        const int64_t row = y + j - radius;
        const int64_t from_y = inside ? row : ts_cuda_border_index(row, sizes.ny, sizes.border);
        for (int i = threadIdx.x; i < width; i += SIDE) {
            const int64_t column = x + i - radius;
            const int64_t from_x =
                inside ? column : ts_cuda_border_index(column, sizes.nx, sizes.border);
            samples[j * width + i] =
                from_y < 0 || from_x < 0 ? outside : in[slice + from_y * sizes.nx + from_x];
        }
    }
    __syncthreads();
    double sum = 0;
#pragma unroll(RADIUS == 1 ? 3 : 1)
    for (int j = 0; j <= 2 * radius; j++)
        sum += add_row<RADIUS>(samples + (threadIdx.y + j) * width + threadIdx.x, 2 * radius + 1);
    if (x + threadIdx.x < sizes.nx && y + threadIdx.y < sizes.ny)
        box_store(out + slice + (y + threadIdx.y) * sizes.nx + x + threadIdx.x, sum, mean);
}

template <int RADIUS>
static enum ts_status launch_rows(const struct box_launch *launch, float outside)
{
    const struct box_sizes sizes = launch->sizes;
    add_rows<RADIUS><<<(unsigned)(sizes.nz * sizes.ny), ROW_THREADS, 0, launch->stream>>>(
        (const float *)launch->in, (float *)launch->out, sizes, outside, launch->mean);
    return ts_cuda_launched(launch->context, RADIUS > 0 ? "add_rows unrolled" : "add_rows");
}

template <int RADIUS>
static enum ts_status launch_tile(const struct box_launch *launch, float outside)
{
    const struct box_sizes sizes = launch->sizes;
    const size_t width = SIDE + 2 * (size_t)sizes.radius, bytes = width * width * sizeof(float);
    const unsigned blocks =
        (unsigned)(ts_cuda_parts(sizes.nx, SIDE) * ts_cuda_parts(sizes.ny, SIDE) * sizes.nz);
    const enum ts_status status =
        ts_cuda_shared(launch->context, (const void *)add_tile<RADIUS>, bytes);
    if (status != TS_OK)
        return status;
    add_tile<RADIUS><<<blocks, dim3(SIDE, SIDE), bytes, launch->stream>>>(
        (const float *)launch->in, (float *)launch->out, sizes, outside, launch->mean);
    return ts_cuda_launched(launch->context, "add_tile");
}

static float outside_of(const struct stage_context *context)
{
    return (float)((const struct box_params *)context->params)->constant;
}

static enum ts_status map_rows(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    const struct box_launch launch = ts_cuda_box_launch(context, in, out, call);
    return launch_rows<0>(&launch, outside_of(context));
}

#define CASE(LAUNCH, RADIUS)                                                                       \
    case RADIUS:                                                                                   \
        return LAUNCH<RADIUS>(&launch, outside_of(context));
#define ROWS_CASE(RADIUS) CASE(launch_rows, RADIUS)
#define TILE_CASE(RADIUS) CASE(launch_tile, RADIUS)
static enum ts_status map_rows_unrolled(const struct stage_context *context,
                                        const struct ts_image *in, struct ts_image *out,
                                        const struct cuda_call *call)
{
    const struct box_launch launch = ts_cuda_box_launch(context, in, out, call);
    switch (launch.sizes.radius) {
        BOX_UNROLLED_RADII(ROWS_CASE)
    default:
        return launch_rows<0>(&launch, outside_of(context));
    }
}

static enum ts_status map_tile(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    const struct box_launch launch = ts_cuda_box_launch(context, in, out, call);
    switch (launch.sizes.radius) {
        BOX_UNROLLED_RADII(TILE_CASE)
    default:
        return launch_tile<0>(&launch, outside_of(context));
    }
}

/* ---- running sums ---------------------------------------------------------------------------- */

struct plain_row {
    const float *samples;
    __device__ float operator()(int64_t x) const
    {
        return samples[x];
    }
};

static __global__ void __launch_bounds__(BOX_RUN_TILE)
    run_plain_rows(const float *in, float *out, struct box_sizes sizes, float outside,
                   struct box_mean mean)
{
    const int64_t first = (int64_t)blockIdx.x * BOX_RUN_TILE, left = sizes.nz * sizes.ny - first;
    const struct plain_row row = {in + (first + threadIdx.x) * sizes.nx};
    box_carry_rows<double>(row, out + first * sizes.nx,
                           left < BOX_RUN_TILE ? (int)left : BOX_RUN_TILE, sizes, outside, mean);
}

static enum ts_status map_runs(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, const struct cuda_call *call)
{
    const struct box_launch launch = ts_cuda_box_launch(context, in, out, call);
    const struct box_sizes sizes = launch.sizes;
    const struct box_passes<float, double> passes = box_passes_of<float, double>(&launch);
    run_plain_rows<<<(unsigned)ts_cuda_parts(sizes.nz * sizes.ny, BOX_RUN_TILE), BOX_RUN_TILE, 0,
                     launch.stream>>>((const float *)launch.in, passes.rows, sizes,
                                      outside_of(context), passes.line);
    box_run_columns<float, double, float, true, false>
        <<<(unsigned)ts_cuda_parts(sizes.nz * sizes.nx, BOX_COLUMN_THREADS), BOX_COLUMN_THREADS, 0,
           launch.stream>>>(passes.rows, (float *)launch.out, sizes, passes.outside_columns,
                            passes.last);
    return ts_cuda_launched(context, "run_plain_rows");
}

static size_t between_bytes(const struct stage_context *context, int64_t n)
{
    return (size_t)n * ts_slice_bytes(&context->in);
}

extern "C" {
const struct stage_cuda ts_cuda_box_ways[BOX_WAYS] = {
    {.map = map_rows},
    {.map = map_rows_unrolled},
    {.map = map_tile},
    {.scratch_bytes = between_bytes, .map = map_runs}};
}
