/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve for any kernel: a block brings a tile of 128 columns and 16 or 32 rows with its border into shared memory,
 * as doubles. A thread sums 8 neighboring pixels of one or two rows: each value it fetches from shared memory serves 8
 * taps, so that the double units are the limit and not shared memory.
 *
 * Memory traffic: each value is read once, and the border of the tile again (mostly from cache), and 4 bytes are
 * written a pixel. 256 threads a block: two blocks fit a multiprocessor with the largest kernel, more with smaller
 * ones. Where a block has only 64 KiB of shared memory, the largest kernels take the rows that fit (15 of 16 with 31 x
 * 31).
 */
#include "cuda/filters/convolve.cuh"

enum { THREADS = 256, WARP = 32, RUN = CONVOLVE_STEP, TILE_X = 128, TILE_ROWS = THREADS / (TILE_X / RUN) };

/* Doubles of one row of the tile. */
static __host__ __device__ int tile_stride(int columns)
{
    return ts_cuda_convolve_place(TILE_X + ts_cuda_convolve_step(columns));
}

template <typename T>
static __device__ void load_tile(const struct convolve_job &job, const T *slice, int64_t x, int64_t y, int n_rows,
                                 double *tile)
{
    const int width = TILE_X + job.columns - 1, stride = tile_stride(job.columns);
    for (int row = threadIdx.x / WARP; row < n_rows; row += THREADS / WARP) {
        const int64_t from = ts_cuda_border_index(y + row - job.rows / 2, job.ny, job.border);
#pragma unroll 4
        for (int column = threadIdx.x % WARP; column < width; column += WARP) {
            const int64_t at = ts_cuda_border_index(x + column - job.columns / 2, job.nx, job.border);
            tile[row * stride + ts_cuda_convolve_place(column)] =
                from < 0 || at < 0 ? job.constant : (double)slice[from * job.nx + at];
        }
    }
}

/* Adds one row of weights to the sums of 8 pixels; line: the tile's values from the first pixel's first tap on. */
static __device__ void add_row(const double *weights, int step, const double *line, double sums[RUN])
{
    double window[2 * RUN];
#pragma unroll
    for (int i = 0; i < RUN; i++)
        window[i] = line[i];
    for (int first = 0; first < step; first += RUN) {
        line += RUN + 1;
#pragma unroll
        for (int i = 0; i < RUN; i++)
            window[RUN + i] = line[i];
#pragma unroll
        for (int i = 0; i < RUN; i++) {
            const double weight = __ldg(weights + first + i);
            if (__double_as_longlong(weight) << 1 != 0) /* not -0 either */
#pragma unroll
                for (int k = 0; k < RUN; k++)
                    sums[k] = __fma_rn(weight, window[i + k], sums[k]);
        }
#pragma unroll
        for (int i = 0; i < RUN; i++)
            window[i] = window[RUN + i];
    }
}

static __device__ void store_run(const struct convolve_job &job, float *row, int64_t x, const double sums[2][RUN])
{
    float values[RUN];
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        const double a = sums[0][k] * job.scale, b = sums[1][k] * job.scale;
        values[k] = __double2float_rn(job.n_kernels == 2 ? sqrt(a * a + b * b) : a);
    }
    if (x + RUN <= job.nx && (uintptr_t)(row + x) % 16 == 0) {
        *(float4 *)(row + x) = make_float4(values[0], values[1], values[2], values[3]);
        *(float4 *)(row + x + 4) = make_float4(values[4], values[5], values[6], values[7]);
        return;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++)
        if (x + k < job.nx)
            row[x + k] = values[k];
}

static __device__ void load_any(const struct convolve_job &job, int64_t z, int64_t x, int64_t y, int n_rows,
                                double *tile)
{
    const int64_t first = z * job.ny * job.nx;
#define LOAD(type) load_tile(job, (const type *)job.in + first, x, y, n_rows, tile)
    TS_CUDA_DTYPES(job.dtype, LOAD)
#undef LOAD
}

static __global__ void __launch_bounds__(THREADS)
    convolve_tile(struct convolve_job job, int tile_y, unsigned n_across, unsigned n_down)
{
    extern __shared__ double tile[];
    const int64_t x = (int64_t)(blockIdx.x % n_across) * TILE_X;
    const int64_t y = (int64_t)(blockIdx.x / n_across % n_down) * tile_y, z = blockIdx.x / n_across / n_down;
    const int stride = tile_stride(job.columns), step = ts_cuda_convolve_step(job.columns);
    const int run = threadIdx.x % (TILE_X / RUN);
    load_any(job, z, x, y, tile_y + job.rows - 1, tile);
    __syncthreads();
    for (int row = threadIdx.x / (TILE_X / RUN); row < tile_y && y + row < job.ny; row += TILE_ROWS) {
        double sums[2][RUN] = {};
        const double *lines = tile + row * stride + run * (RUN + 1);
        for (int j = 0; j < job.rows; j++)
            add_row(job.weights + j * step, step, lines + j * stride, sums[0]);
        if (job.n_kernels == 2)
            for (int j = 0; j < job.rows; j++)
                add_row(job.weights + (job.rows + j) * step, step, lines + j * stride, sums[1]);
        store_run(job, job.out + (z * job.ny + y + row) * job.nx, x + run * RUN, sums);
    }
}

static size_t row_bytes(const struct convolve_job *job)
{
    return (size_t)tile_stride(job->columns) * sizeof(double);
}

/* Returns the rows of a tile: two or one for each thread, or as many as fit in shared memory. */
static int tile_rows(const struct stage_context *context, const struct convolve_job *job)
{
    const int fit = context->device->block_shared_bytes / (int)row_bytes(job) - job->rows + 1;
    return fit >= 2 * TILE_ROWS ? 2 * TILE_ROWS : fit < TILE_ROWS ? fit : TILE_ROWS;
}

enum ts_status ts_cuda_convolve_tile(const struct stage_context *context, const struct convolve_job *job,
                                     const struct cuda_call *call)
{
    const int tile_y = tile_rows(context, job);
    const size_t bytes = (size_t)(tile_y + job->rows - 1) * row_bytes(job);
    const unsigned n_across = (unsigned)ts_cuda_parts(job->nx, TILE_X);
    const unsigned n_down = (unsigned)ts_cuda_parts(job->ny, tile_y);
    const enum ts_status status = ts_cuda_shared(context, (const void *)convolve_tile, bytes);
    if (status != TS_OK)
        return status;
    convolve_tile<<<n_across * n_down *(unsigned)job->nz, THREADS, bytes, call->stream>>>(*job, tile_y, n_across,
                                                                                          n_down);
    return ts_cuda_launched(context, "convolve_tile");
}
