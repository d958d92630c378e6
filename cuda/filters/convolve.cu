/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve on a CUDA device: chooses between three ways. Sums are made in double in the CPU's
 * order, or in float where that is exact, and rounded once. convolve_rows.cuh says what a thread
 * computes and the memory traffic for small and separable kernels; for others it is said below.
 *
 * A masked image is convolved as any other first and then mended here, by the rule of
 * stages/filters/convolve.c: a thread looks at the bits of the pixels under the weights of one
 * pixel, and if one is invalid it sums them tap by tap in double, in the order of the CPU. Away
 * from the borders, the bits under a row of the kernel are in one word. Memory traffic: a bit a
 * pixel, which the threads of a block share in the first cache, and only values near the padding. A
 * block has 256 pixels of a slice, so that a warp reads neighboring bits and values.
 */
#include "cuda/filters/convolve.cuh"

#include "core/clamp.h"

/* ---- convolve tile -----------------------------------------------------------------------------
 *
 * convolve for any kernel: a block brings a tile of 128 columns and 16 or 32 rows with its border
 * into shared memory, as doubles. A thread sums 8 neighboring pixels of one or two rows: each value
 * it fetches from shared memory serves 8 taps, so that the double units are the limit and not
 * shared memory.
 *
 * Memory traffic: each value is read once, and the border of the tile again (mostly from cache),
 * and 4 bytes are written a pixel. 256 threads a block: two blocks fit a multiprocessor with the
 * largest kernel, more with smaller ones. Where a block has only 64 KiB of shared memory, the
 * largest kernels take the rows that fit (15 of 16 with 31 x 31). */

enum {
    THREADS = 256,
    WARP = 32,
    RUN = CONVOLVE_STEP,
    TILE_X = 128,
    TILE_ROWS = THREADS / (TILE_X / RUN)
};

/* Returns the doubles of one row of the tile. */
static __host__ __device__ int tile_stride(int columns)
{
    return ts_cuda_convolve_place(TILE_X + ts_cuda_convolve_step(columns));
}

template <typename T>
static __device__ void load_tile(const struct convolve_job &job, const T *slice, int64_t x,
                                 int64_t y, int n_rows, double *tile)
{
    const int width = TILE_X + job.columns - 1, stride = tile_stride(job.columns);
    for (int row = threadIdx.x / WARP; row < n_rows; row += THREADS / WARP) {
        const int64_t from = ts_cuda_border_index(y + row - job.rows / 2, job.ny, job.border);
#pragma unroll 4
        for (int column = threadIdx.x % WARP; column < width; column += WARP) {
            const int64_t at =
                ts_cuda_border_index(x + column - job.columns / 2, job.nx, job.border);
            tile[row * stride + ts_cuda_convolve_place(column)] =
                from < 0 || at < 0 ? job.constant : (double)slice[from * job.nx + at];
        }
    }
}

/* Adds one row of weights to the sums of 8 pixels; `line` points to the tile's value under the
 * first tap of the first pixel. */
static __device__ void add_row(const double *weights, int step, const double *line,
                               double sums[RUN])
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
            if (__double_as_longlong(weight) << 1 != 0) /* true if the weight is neither 0 nor -0 */
#pragma unroll
                for (int k = 0; k < RUN; k++)
                    sums[k] = __fma_rn(weight, window[i + k], sums[k]);
        }
#pragma unroll
        for (int i = 0; i < RUN; i++)
            window[i] = window[RUN + i];
    }
}

static __device__ void store_run(const struct convolve_job &job, float *row, int64_t x,
                                 const double sums[2][RUN])
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

static __device__ void load_any(const struct convolve_job &job, int64_t z, int64_t x, int64_t y,
                                int n_rows, double *tile)
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
    const int64_t y = (int64_t)(blockIdx.x / n_across % n_down) * tile_y,
                  z = blockIdx.x / n_across / n_down;
    const int stride = tile_stride(job.columns), step = ts_cuda_convolve_step(job.columns);
    const int run = threadIdx.x % (TILE_X / RUN);
    load_any(job, z, x, y, tile_y + job.rows - 1, tile);
    __syncthreads();
    for (int row = threadIdx.x / (TILE_X / RUN); row < tile_y && y + row < job.ny;
         row += TILE_ROWS) {
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
    if (fit >= 2 * TILE_ROWS)
        return 2 * TILE_ROWS;
    return fit < TILE_ROWS ? fit : TILE_ROWS;
}

/* Launches any kernel up to 31 x 31, for any type. */
static enum ts_status launch_tile(const struct stage_context *context,
                                  const struct convolve_job *job, const struct cuda_call *call)
{
    const int tile_y = tile_rows(context, job);
    const size_t bytes = (size_t)(tile_y + job->rows - 1) * row_bytes(job);
    const unsigned n_across = (unsigned)ts_cuda_parts(job->nx, TILE_X);
    const unsigned n_down = (unsigned)ts_cuda_parts(job->ny, tile_y);
    const enum ts_status status = ts_cuda_shared(context, (const void *)convolve_tile, bytes);
    if (status != TS_OK)
        return status;
    convolve_tile<<<n_across * n_down *(unsigned)job->nz, THREADS, bytes, call->stream>>>(
        *job, tile_y, n_across, n_down);
    return ts_cuda_launched(context, "convolve_tile");
}

static int convolve_describe(const struct stage_context *context,
                             struct convolve_weights kernels[2])
{
    return ts_convolve_kernels((const struct convolve_params *)context->params, kernels);
}

static size_t constants_bytes(const struct stage_context *context)
{
    struct convolve_weights kernels[2];
    const int n = convolve_describe(context, kernels);
    return (size_t)n * (size_t)kernels[0].rows *
           (size_t)ts_cuda_convolve_step((int)kernels[0].columns) * sizeof(double);
}

static void convolve_constants(const struct stage_context *context, void *host)
{
    struct convolve_weights kernels[2];
    const int n = convolve_describe(context, kernels),
              step = ts_cuda_convolve_step((int)kernels[0].columns);
    double *row = (double *)host;
    memset(host, 0, constants_bytes(context));
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < kernels[i].rows; j++, row += step)
            memcpy(row, kernels[i].weights + j * kernels[i].columns,
                   (size_t)kernels[i].columns * sizeof *row);
}

/* ---- choice ---------------------------------------------------------------------------------- */

static int convolve_count(const double *weights, int64_t n)
{
    int found = 0;
    for (int64_t i = 0; i < n; i++)
        found += weights[i] != 0;
    return found;
}

static enum ts_status convolve_launch(const struct stage_context *context,
                                      const struct convolve_job *job, const struct cuda_call *call)
{
    double across[CONVOLVE_MAX_SIDE], down[CONVOLVE_MAX_SIDE];
    if (job->nx > CONVOLVE_MOST || job->ny > CONVOLVE_MOST)
        return launch_tile(context, job, call);
    const bool exact = ts_convolve_is_exact(job->kernels, job->n_kernels, job->dtype) &&
                       ts_cuda_convolve_taps_fit(job, true);
    const int n_taps = convolve_count(job->kernels[0].weights, job->rows * job->columns);
    int few = 9;
    if (exact)
        few = ts_cuda_fast_doubles(context) ? 25 : INT32_MAX;
    const bool separable =
        n_taps > few && job->n_kernels == 1 &&
        ts_convolve_separate(&job->kernels[0], 8 * DBL_EPSILON, across, down) &&
        convolve_count(across, job->columns) + convolve_count(down, job->rows) < n_taps;
    if (separable)
        return ts_cuda_convolve_separable(context, job, across, down, call);
    if (exact || ts_cuda_convolve_taps_fit(job, false))
        return ts_cuda_convolve_taps(context, job, exact, call);
    return launch_tile(context, job, call);
}

/* ---- masked images --------------------------------------------------------------------------- */

enum { MOST_SLICES = 65535 };

static __device__ inline bool is_valid(const uint64_t *valid, int64_t i)
{
    return valid[i / 64] >> i % 64 & 1;
}

/* Returns true if the n bits from bit i on are set; 0 < n < 64. */
static __device__ inline bool are_valid(const uint64_t *valid, int64_t i, int n)
{
    uint64_t bits = valid[i / 64] >> i % 64;
    if (i % 64 + n > 64)
        bits |= valid[i / 64 + 1] << (64 - i % 64);
    return (~bits & (((uint64_t)1 << n) - 1)) == 0;
}

/* Returns true if all pixels under the weights of pixel (y, x) are valid. Samples that are the
 * constant count as valid. */
static __device__ bool is_whole(const struct convolve_job &job, const uint64_t *valid, int64_t y,
                                int64_t x)
{
    const int half = job.columns / 2;
    const bool inside = x >= half && x + half < job.nx;
    bool whole = true;
    for (int j = 0; whole && j < job.rows; j++) {
        const int64_t row = ts_cuda_border_index(y + j - job.rows / 2, job.ny, job.border);
        if (row < 0)
            continue;
        if (inside) {
            whole = are_valid(valid, row * job.nx + x - half, job.columns);
            continue;
        }
        for (int i = 0; i < job.columns; i++) {
            const int64_t column = ts_cuda_border_index(x + i - half, job.nx, job.border);
            whole = whole && (column < 0 || is_valid(valid, row * job.nx + column));
        }
    }
    return whole;
}

template <typename T>
static __device__ double sum_at(const struct convolve_job &job, const T *in, const uint64_t *valid,
                                int64_t y, int64_t x, const double *weights)
{
    const int step = ts_cuda_convolve_step(job.columns);
    const double middle = (double)in[y * job.nx + x];
    double sum = 0;
    for (int j = 0; j < job.rows; j++) {
        const int64_t row = ts_cuda_border_index(y + j - job.rows / 2, job.ny, job.border);
        for (int i = 0; i < job.columns; i++) {
            const int64_t column =
                ts_cuda_border_index(x + i - job.columns / 2, job.nx, job.border);
            const int64_t at = row * job.nx + column;
            const double weight = weights[j * step + i];
            const double value = row < 0 || column < 0 ? job.constant
                                 : is_valid(valid, at) ? (double)in[at]
                                                       : middle;
            sum += weight != 0 ? weight * value : 0;
        }
    }
    return sum * job.scale;
}

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    mend(const T *in, const __grid_constant__ struct convolve_job job)
{
    const int64_t n = job.ny * job.nx, i = (int64_t)blockIdx.x * THREADS + threadIdx.x,
                  y = i / job.nx, x = i % job.nx;
    if (i >= n)
        return;
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        const T *slice = in + z * n;
        const uint64_t *valid = job.valid + z * job.words;
        float *out = job.out + z * n + i;
        if (!is_valid(valid, i)) {
            *out = (float)slice[i];
        } else if (!is_whole(job, valid, y, x)) {
            const double a = sum_at(job, slice, valid, y, x, job.weights);
            const double *others = job.weights + job.rows * ts_cuda_convolve_step(job.columns);
            const double b = job.n_kernels > 1 ? sum_at(job, slice, valid, y, x, others) : 0;
            *out = (float)(job.n_kernels > 1 ? sqrt(a * a + b * b) : a);
        }
    }
}

static enum ts_status launch_mend(const struct stage_context *context,
                                  const struct convolve_job *job, const struct cuda_call *call)
{
    const dim3 blocks((unsigned)ts_cuda_parts(job->ny * job->nx, THREADS),
                      (unsigned)(job->nz < MOST_SLICES ? job->nz : MOST_SLICES));
#define LAUNCH(T) mend<<<blocks, THREADS, 0, call->stream>>>((const T *)job->in, *job)
    TS_CUDA_DTYPES(job->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "convolve mend");
}

static enum ts_status convolve_map(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, const struct cuda_call *call)
{
    const struct convolve_params *params = (const struct convolve_params *)context->params;
    struct convolve_weights kernels[2];
    struct convolve_job job = {.in = in->data, .out = (float *)out->data};
    job.n_kernels = convolve_describe(context, kernels);
    job.nx = in->axes[2].n;
    job.ny = in->axes[1].n;
    job.nz = out->axes[0].n;
    job.dtype = in->dtype;
    job.border = params->border;
    job.rows = (int)kernels[0].rows;
    job.columns = (int)kernels[0].columns;
    job.constant = params->constant;
    job.scale = 1 / kernels[0].divisor;
    job.weights = (const double *)call->constants;
    job.kernels = kernels;
    job.valid = in->valid;
    job.words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    const enum ts_status status = convolve_launch(context, &job, call);
    return status == TS_OK && job.valid ? launch_mend(context, &job, call) : status;
}

const struct stage_cuda convolve_cuda = {
    .constants_bytes = constants_bytes, .constants = convolve_constants, .map = convolve_map};
