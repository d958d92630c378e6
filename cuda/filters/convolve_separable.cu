/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve with kernels that are a column times a row, in one pass over memory.
 *
 * Up to 7 x 7: see convolve_rows.cuh. Above, a block brings 64 columns and 64 (else 16) rows and
 * their border to shared memory, as doubles; sums each row, in place (the 8 threads of a row belong
 * to one warp, and write when all have read); then sums down the columns. A thread makes 8
 * neighboring sums at a time, so that a value fetched from shared memory serves 8 taps. Rows are 8
 * doubles apart modulo 16, so that the threads of a warp use few banks twice. Memory traffic: each
 * value is read once, and the border of the tile again (mostly from cache), and 4 bytes are written
 * a pixel. 128 threads a block share a tile's rows nearly evenly at 15 and 31 taps.
 */
#include "cuda/filters/convolve_rows.cuh"

enum {
    THREADS = 128,
    TILE = 64,
    SUMS = CONVOLVE_STEP,
    PER_ROW = TILE / SUMS,
    MOST_COLUMNS = 3,
    ROWS_AT_ONCE = 8
};

/* Bit i of a mask is set if weight i is not 0. */
struct separable_weights {
    double across[32], down[32];
    uint32_t across_mask, down_mask;
};

struct separable_tile {
    int rows, columns, n_rows, width, height, stride;
};

static __host__ __device__ struct separable_tile tile_of(int rows, int columns, int height)
{
    struct separable_tile tile = {rows, columns, height + rows - 1, TILE + columns - 1, height, 0};
    tile.stride = (ts_cuda_convolve_place(TILE + ts_cuda_convolve_step(columns)) + 7) / 16 * 16 + 8;
    return tile;
}

/* Fetches a warp's next rows, then converts them. A column below 0 is constant. */
template <typename T>
static __device__ void
load_rows(const T *slice, const struct march_plan &plan, const struct separable_tile &tile,
          const int source_columns[MOST_COLUMNS], int y, int first, double *values)
{
    const T *sources[ROWS_AT_ONCE];
    T raw[ROWS_AT_ONCE][MOST_COLUMNS];
    const int lane = threadIdx.x % WARP, step = THREADS / WARP;
#pragma unroll
    for (int j = 0; j < ROWS_AT_ONCE; j++)
        sources[j] =
            first + j * step < tile.n_rows ? march_source(slice, y + first + j * step, plan) : NULL;
#pragma unroll
    for (int j = 0; j < ROWS_AT_ONCE; j++)
#pragma unroll
        for (int i = 0; i < MOST_COLUMNS; i++)
            if (sources[j] && source_columns[i] >= 0)
                raw[j][i] = sources[j][source_columns[i]];
#pragma unroll
    for (int j = 0; j < ROWS_AT_ONCE; j++)
#pragma unroll
        for (int i = 0; i < MOST_COLUMNS; i++)
            if (first + j * step < tile.n_rows && i * WARP + lane < tile.width)
                values[(first + j * step) * tile.stride + ts_cuda_convolve_place(i * WARP + lane)] =
                    sources[j] && source_columns[i] >= 0 ? march_convert<T, double>(raw[j][i], plan)
                                                         : plan.constant;
}

template <typename T>
static __device__ void load_tile(const T *slice, const struct march_plan &plan,
                                 const struct separable_tile &tile, int x, int y, double *values)
{
    int source_columns[MOST_COLUMNS];
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int i = 0; i < MOST_COLUMNS; i++)
        source_columns[i] =
            ts_cuda_border_rarely(x - tile.columns / 2 + i * WARP + lane, plan.nx, plan.border);
    for (int first = threadIdx.x / WARP; first < tile.n_rows;
         first += ROWS_AT_ONCE * (THREADS / WARP))
        load_rows(slice, plan, tile, source_columns, y - tile.rows / 2, first, values);
}

static __device__ void sum_tap(double weight, const double *values, double sums[SUMS])
{
#pragma unroll
    for (int k = 0; k < SUMS; k++)
        sums[k] = __fma_rn(weight, values[k], sums[k]);
}

/* Makes 8 sums along a line of values, in which value i of group b is at b * far + i * near. */
static __device__ void sum_line(const double *weights, uint32_t mask, int n, const double *line,
                                int near, int far, double sums[SUMS])
{
    double window[2 * SUMS];
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
        sums[i] = 0;
        window[i] = line[i * near];
    }
    for (int first = 0; first < n; first += SUMS) {
        line += far;
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            window[SUMS + i] = line[i * near];
        if ((mask >> first & 0xFF) == 0xFF) {
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sum_tap(weights[first + i], window + i, sums);
        } else {
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                if (mask >> (first + i) & 1)
                    sum_tap(weights[first + i], window + i, sums);
        }
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            window[i] = window[SUMS + i];
    }
}

static __device__ void sum_across(const struct separable_weights &weights,
                                  const struct separable_tile &tile, double *values)
{
    double sums[SUMS];
    const int at = threadIdx.x % PER_ROW * (SUMS + 1);
    for (int first = 0; first < tile.n_rows; first += THREADS / PER_ROW) {
        const int row = first + threadIdx.x / PER_ROW;
        double *const line = values + row * tile.stride + at;
        if (row < tile.n_rows)
            sum_line(weights.across, weights.across_mask, tile.columns, line, 1, SUMS + 1, sums);
        __syncwarp();
        if (row < tile.n_rows)
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                line[i] = sums[i];
    }
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    convolve_separable(const T *in, float *out, const __grid_constant__ struct march_plan plan,
                       const __grid_constant__ struct separable_weights weights,
                       struct separable_tile tile)
{
    extern __shared__ double values[];
    const int x = blockIdx.x % plan.n_strips * TILE, rest = blockIdx.x / plan.n_strips;
    const int y = rest % plan.n_chunks * tile.height, z = rest / plan.n_chunks;
    double sums[SUMS];
    load_tile(in + (int64_t)z * plan.ny * plan.nx, plan, tile, x, y, values);
    __syncthreads();
    sum_across(weights, tile, values);
    __syncthreads();
    const int column = threadIdx.x % TILE;
    out += (int64_t)z * plan.ny * plan.nx + x + column;
    for (int row = threadIdx.x / TILE * SUMS; row < tile.height; row += THREADS / TILE * SUMS) {
        if (x + column >= plan.nx || y + row >= plan.ny)
            break;
        sum_line(weights.down, weights.down_mask, tile.rows,
                 values + row * tile.stride + ts_cuda_convolve_place(column), tile.stride,
                 SUMS * tile.stride, sums);
#pragma unroll
        for (int i = 0; i < SUMS; i++)
            if (y + row + i < plan.ny)
                out[(int64_t)(y + row + i) * plan.nx] = __double2float_rn(sums[i] * plan.scale);
    }
}

/* Counts the last window of a line as well, which reaches past the tile, with weights of 0. */
static size_t tile_bytes(const struct separable_tile *tile)
{
    return (size_t)(tile->height + ts_cuda_convolve_step(tile->rows)) * (size_t)tile->stride *
           sizeof(double);
}

template <typename T>
static enum ts_status launch_large(const struct stage_context *context,
                                   const struct convolve_job *job, const double *across,
                                   const double *down, const struct cuda_call *call)
{
    struct march_plan plan = march_plan_of(job, true);
    struct separable_weights weights = {};
    struct separable_tile tile = tile_of(job->rows, job->columns, TILE);
    if (tile_bytes(&tile) > (size_t)context->device->block_shared_bytes)
        tile = tile_of(job->rows, job->columns, TILE / 4);
    memcpy(weights.across, across, (size_t)job->columns * sizeof *across);
    memcpy(weights.down, down, (size_t)job->rows * sizeof *down);
    for (int i = 0; i < CONVOLVE_MAX_SIDE; i++) {
        weights.across_mask |= (uint32_t)(weights.across[i] != 0) << i;
        weights.down_mask |= (uint32_t)(weights.down[i] != 0) << i;
    }
    plan.n_strips = (int)ts_cuda_parts(plan.nx, TILE);
    plan.n_chunks = (int)ts_cuda_parts(plan.ny, tile.height);
    const enum ts_status status =
        ts_cuda_shared(context, (const void *)convolve_separable<T>, tile_bytes(&tile));
    if (status != TS_OK)
        return status;
    convolve_separable<T>
        <<<(unsigned)(plan.n_strips * plan.n_chunks * job->nz), THREADS, tile_bytes(&tile),
           call->stream>>>((const T *)job->in, job->out, plan, weights, tile);
    return ts_cuda_launched(context, "convolve_separable");
}

template <typename T, int SIDE>
static enum ts_status launch_small(const struct stage_context *context,
                                   const struct convolve_job *job, const double *across,
                                   const double *down, const struct cuda_call *call)
{
    struct march_weights<double, SIDE, 2> weights {
    };
    march_place_row<double, SIDE>(across, job->columns, weights.rows[0], &weights.masks[0]);
    march_place_row<double, SIDE>(down, job->rows, weights.rows[1], &weights.masks[1]);
    if constexpr (std::is_same<T, float>::value)
        if ((weights.masks[0] & weights.masks[1]) != (1u << SIDE) - 1)
            return rows_launch<T, double, SIDE, 1, true, true>(context, job, &weights, call);
    return rows_launch<T, double, SIDE, 1, true, false>(context, job, &weights, call);
}

template <typename T>
static enum ts_status
convolve_separable_launch(const struct stage_context *context, const struct convolve_job *job,
                          const double *across, const double *down, const struct cuda_call *call)
{
    const int side = job->rows > job->columns ? job->rows : job->columns;
    if (side > 7)
        return launch_large<T>(context, job, across, down, call);
    return side > 5 ? launch_small<T, 7>(context, job, across, down, call)
                    : launch_small<T, 5>(context, job, across, down, call);
}

enum ts_status ts_cuda_convolve_separable(const struct stage_context *context,
                                          const struct convolve_job *job, const double *across,
                                          const double *down, const struct cuda_call *call)
{
    enum ts_status status;
#define LAUNCH(T) status = convolve_separable_launch<T>(context, job, across, down, call)
    TS_CUDA_BIT_TYPES(job->dtype, LAUNCH)
#undef LAUNCH
    return status;
}
