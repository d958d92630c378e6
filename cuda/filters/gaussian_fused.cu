/* SPDX-License-Identifier: Apache-2.0
 *
 * gaussian in one pass over memory, for radii of at most 8 samples. A block owns a tile of 64 x 32
 * columns and rows and goes through a chunk of slices. A step, which begins with the only barrier:
 *
 *     ask    the tile of slice k + 3 with its halo begins its way to shared memory: one step is too
 *            short for it
 *     down   320 threads sum slice k along y, 8 rows of a column each
 *     across each thread sums slice k - 1 along x, 4 columns of a row, which are its own from here
 *            on
 *     along  each thread adds these to the unfinished sums along z of 2 R + 1 slices, in registers,
 *            and writes the sums that are complete
 *
 * Kernels exist for R of 2, 4, 6 and 8; smaller radii have weights of 0 on both sides. A NaN or an
 * infinity under such a weight would spread, so blocks that met one are done over by a kernel that
 * leaves these weights out and makes the same bytes of all other values.
 *
 * Memory traffic: one read and one write a pixel, and 2 R slices for each chunk; the tiles' halos
 * come from the second cache. Sums run in the order of the samples.
 */
#include "cuda/filters/gaussian.cuh"

extern "C" {
#include "stages/filters/box.h"
}

enum {
    COLUMNS = 64,
    ROWS = 32,
    RUN = 4,
    THREADS = COLUMNS / RUN * ROWS,
    SUMS = 8,
    AHEAD = 3,
    TILES = AHEAD + 1
};

/* These are the sizes of the tile of a slice with its halo. */
template <int R> struct fused_tile {
    enum {
        HALO = (R + RUN - 1) / RUN * RUN, /* columns on both sides of the tile, so that groups of
                                           * four columns are aligned */
        WIDTH = COLUMNS + 2 * HALO,
        HEIGHT = ROWS + 2 * R,
        SAMPLES = WIDTH * HEIGHT,
        QUADS = SAMPLES / RUN,
        LOADS = (QUADS + THREADS - 1) / THREADS,
        SUMS_DOWN = WIDTH * ROWS,
        BYTES = (TILES * SAMPLES + 2 * SUMS_DOWN + WIDTH + HEIGHT) * sizeof(float)
    };
};

static_assert((int)fused_tile<GAUSSIAN_FUSED_RADIUS>::BYTES <= (int)GAUSSIAN_FUSED_BYTES,
              "stages/filters/gaussian.h has fewer");

struct fused_plan {
    const char *in;
    float *out;
    int nz, ny, nx, across, down, chunk; /* across, down: number of tiles along x and y; chunk:
                                          * slices of a chunk */
    int border, bytes;
    bool wide, aligned; /* wide: values are unsigned 32-bit integers; aligned: four floats are one
                         * access */
    uint32_t flip, outside; /* flip: the sign bit of signed integers of fewer bits; outside: the
                             * constant as a value */
    int radius[3];
    float constant;
    float weights[3][GAUSSIAN_FUSED_RADIUS + 1];
    int32_t *flags; /* set for blocks that met a NaN or an infinity; NULL: no weight is 0 */
};

/* The groups of four samples that a thread loads. Integers wait in registers, in the form that they
 * have in the image. */
template <int LOADS> struct fused_quads {
    uint32_t raw[LOADS][RUN];
    int at[LOADS]; /* index of the first sample in the slice if the group is one access; or GATHER
                    * or NONE */
};
enum { GATHER = -1, NONE = -2 };

/* Copies BYTES from global to shared memory, past the registers if the device can do so. */
template <int BYTES> static __device__ __forceinline__ void fused_copy(float *to, const float *from)
{
#if __CUDA_ARCH__ >= 800
    if constexpr (BYTES == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(to)),
                     "l"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                         (unsigned)__cvta_generic_to_shared(to)),
                     "l"(from)
                     : "memory");
#else
    for (int i = 0; i < BYTES / (int)sizeof *to; i++)
        to[i] = from[i];
#endif
}

/* Ends a step's copies, and waits for all copies but those of the last AHEAD - 1 steps. */
static __device__ __forceinline__ void fused_commit(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
static __device__ __forceinline__ void fused_await(void)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
#endif
}

/* Begins to copy the tile of a slice of floats to shared memory. */
template <int R>
static __device__ __forceinline__ void
fused_ask(const struct fused_plan &plan, const float *slice, const int *columns, const int *rows,
          const struct fused_quads<fused_tile<R>::LOADS> &quads, float *samples)
{
    typedef fused_tile<R> tile;
#pragma unroll
    for (int i = 0; i < tile::LOADS; i++) {
        const int quad = (int)threadIdx.x + i * THREADS;
        if (quads.at[i] >= 0) {
            fused_copy<16>(samples + quad * RUN, slice + quads.at[i]);
        } else if (quads.at[i] == GATHER) {
            const int y = rows[quad / (tile::WIDTH / RUN)];
#pragma unroll
            for (int k = 0; k < RUN; k++) {
                const int x = columns[quad % (tile::WIDTH / RUN) * RUN + k];
                if (x < 0 || y < 0)
                    samples[quad * RUN + k] = __uint_as_float(plan.outside);
                else
                    fused_copy<4>(samples + quad * RUN + k, slice + y * plan.nx + x);
            }
        }
    }
}

static __device__ __forceinline__ uint32_t fused_fetch(const struct fused_plan &plan,
                                                       const char *slice, int at)
{
    if (plan.bytes == 1)
        return ((const uint8_t *)slice)[at];
    return plan.bytes == 2 ? ((const uint16_t *)slice)[at] : ((const uint32_t *)slice)[at];
}

/* Fetches the tile of a slice of integers. */
template <int R>
static __device__ __forceinline__ void fused_load(const struct fused_plan &plan, const char *slice,
                                                  const int *columns, const int *rows,
                                                  struct fused_quads<fused_tile<R>::LOADS> *quads)
{
    typedef fused_tile<R> tile;
#pragma unroll
    for (int i = 0; i < tile::LOADS; i++) {
        const int quad = (int)threadIdx.x + i * THREADS,
                  y = quads->at[i] == NONE ? -1 : rows[quad / (tile::WIDTH / RUN)];
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            const int x = quads->at[i] == NONE ? -1 : columns[quad % (tile::WIDTH / RUN) * RUN + k];
            quads->raw[i][k] =
                x < 0 || y < 0 ? plan.outside : fused_fetch(plan, slice, y * plan.nx + x);
        }
    }
}

/* Stores what was fetched to shared memory, as floats. */
template <int R>
static __device__ __forceinline__ void
fused_keep(const struct fused_plan &plan, const struct fused_quads<fused_tile<R>::LOADS> &quads,
           float *samples)
{
#pragma unroll
    for (int i = 0; i < fused_tile<R>::LOADS; i++) {
        float values[RUN];
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            const uint32_t raw = quads.raw[i][k];
            values[k] = plan.wide ? __uint2float_rn(raw)
                                  : __int2float_rn((int)((raw ^ plan.flip) - plan.flip));
        }
        if (quads.at[i] != NONE)
            ((float4 *)samples)[threadIdx.x + i * THREADS] =
                make_float4(values[0], values[1], values[2], values[3]);
    }
}

/* Adds the weight of tap j (of 2 R + 1) times value to sums[s]. MASKED: weights beyond the radius
 * are left out. */
template <int R, bool MASKED>
static __device__ __forceinline__ float fused_add(const struct fused_plan &plan, int axis, int j,
                                                  float value, float sum)
{
    const int distance = j < R ? R - j : j - R;
    if (MASKED && distance > plan.radius[axis])
        return sum;
    return __fmaf_rn(plan.weights[axis][distance], value, sum);
}

/* Sums a column of samples. Returns true if a sum is not finite. */
template <int R, bool MASKED>
static __device__ __forceinline__ bool fused_down(const struct fused_plan &plan,
                                                  const float *samples, float *sums_down)
{
    enum { WIDTH = fused_tile<R>::WIDTH, UNITS = WIDTH * ROWS / SUMS };
    bool spoiled = false;
    if (threadIdx.x >= UNITS)
        return false;
    const int column = threadIdx.x % WIDTH, row = threadIdx.x / WIDTH * SUMS;
    float sums[SUMS] = {};
#pragma unroll
    for (int i = 0; i < SUMS + 2 * R; i++) {
        const float value = samples[(row + i) * WIDTH];
#pragma unroll
        for (int s = 0; s < SUMS; s++)
            if (i >= s && i - s <= 2 * R)
                sums[s] = fused_add<R, MASKED>(plan, 1, i - s, value, sums[s]);
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++) {
        sums_down[(row + s) * WIDTH + column] = sums[s];
        if (!MASKED && plan.flags)
            spoiled |= !(fabsf(sums[s]) < INFINITY);
    }
    return spoiled;
}

template <int R, bool MASKED>
static __device__ __forceinline__ void fused_across(const struct fused_plan &plan,
                                                    const float *sums_down, float (&sums)[RUN])
{
    enum { HALO = fused_tile<R>::HALO, WIDTH = fused_tile<R>::WIDTH };
    const float4 *const row = (const float4 *)(sums_down + threadIdx.x / (COLUMNS / RUN) * WIDTH) +
                              threadIdx.x % (COLUMNS / RUN);
#pragma unroll
    for (int c = 0; c < RUN; c++)
        sums[c] = 0;
#pragma unroll
    for (int i = 0; i < 2 * HALO / RUN + 1; i++) {
        const float4 word = row[i];
        const float values[RUN] = {word.x, word.y, word.z, word.w};
#pragma unroll
        for (int k = 0; k < RUN; k++)
#pragma unroll
            for (int c = 0; c < RUN; c++) {
                const int j = i * RUN + k - c - (HALO - R);
                if (j >= 0 && j <= 2 * R)
                    sums[c] = fused_add<R, MASKED>(plan, 2, j, values[k], sums[c]);
            }
    }
}

/* Adds a slice to the pending sums; `sums` become those of the slice that is then complete. */
template <int R, bool MASKED>
static __device__ __forceinline__ void fused_along(const struct fused_plan &plan,
                                                   float (&pending)[2 * R][RUN], float (&sums)[RUN])
{
#pragma unroll
    for (int c = 0; c < RUN; c++) {
        const float value = sums[c];
        sums[c] = fused_add<R, MASKED>(plan, 0, 2 * R, value, pending[2 * R - 1][c]);
#pragma unroll
        for (int j = 2 * R - 1; j > 0; j--)
            pending[j][c] = fused_add<R, MASKED>(plan, 0, j, value, pending[j - 1][c]);
        pending[0][c] = fused_add<R, MASKED>(plan, 0, 0, value, 0);
    }
}

static __device__ __forceinline__ void fused_store(const struct fused_plan &plan, float *to,
                                                   const float (&sums)[RUN], int left)
{
    if (plan.nx % RUN == 0 && left > 0) {
        *(float4 *)to = make_float4(sums[0], sums[1], sums[2], sums[3]);
        return;
    }
#pragma unroll
    for (int c = 0; c < RUN; c++)
        if (c < left)
            to[c] = sums[c];
}

/* Fills the tables of the image's columns and rows that are used for those of the tile (-1: the
 * constant), and finds how the thread's groups of four samples are loaded. Groups of constants are
 * written once. Groups of mirrored columns are not loaded if the tile itself has these columns.
 * Returns the column of the tile that the thread sums along y. */
template <int R>
static __device__ int fused_find(const struct fused_plan &plan, int x_tile, int y_tile,
                                 int *columns, int *rows,
                                 struct fused_quads<fused_tile<R>::LOADS> *quads, float *samples)
{
    typedef fused_tile<R> tile;
    const int own = threadIdx.x % tile::WIDTH;
    const bool mirrors =
        plan.aligned && plan.border != BORDER_WRAP && plan.border != BORDER_CONSTANT;
    for (int i = threadIdx.x; i < tile::WIDTH; i += THREADS)
        columns[i] = ts_cuda_border_apart(x_tile + i, plan.nx, plan.border);
    for (int i = threadIdx.x; i < tile::HEIGHT; i += THREADS)
        rows[i] = ts_cuda_border_apart(y_tile + i, plan.ny, plan.border);
    __syncthreads();
    const auto is_near = [&](int column) {
        return columns[column] >= x_tile && columns[column] < x_tile + tile::WIDTH;
    };
#pragma unroll
    for (int i = 0; i < tile::LOADS; i++) {
        const int quad = (int)threadIdx.x + i * THREADS, column = quad % (tile::WIDTH / RUN) * RUN,
                  x = x_tile + column;
        const int y = quad < tile::QUADS ? rows[quad / (tile::WIDTH / RUN)] : -1;
        const bool outside = x + RUN <= 0 || x >= plan.nx, unused = x >= plan.nx + tile::HALO;
        quads->at[i] = GATHER;
        if (quad >= tile::QUADS) {
            quads->at[i] = NONE;
        } else if (y < 0 || unused || (outside && plan.border == BORDER_CONSTANT)) {
            quads->at[i] = NONE;
            for (int k = 0; k < TILES; k++)
                ((float4 *)(samples + k * tile::SAMPLES))[quad] =
                    make_float4(plan.constant, plan.constant, plan.constant, plan.constant);
        } else if (plan.aligned && (!outside || plan.border == BORDER_WRAP)) {
            quads->at[i] = y * plan.nx + columns[column];
        } else if (mirrors && is_near(column) && is_near(column + 1) && is_near(column + 2) &&
                   is_near(column + 3)) {
            quads->at[i] = NONE;
        }
#pragma unroll
        for (int k = 0; k < RUN; k++)
            quads->raw[i][k] = 0;
    }
    return mirrors && is_near(own) ? columns[own] - x_tile : own;
}

template <int R, bool FLOATS, bool VOLUME, bool MASKED>
static __global__ void __launch_bounds__(THREADS, 1)
    gaussian_fused(const __grid_constant__ struct fused_plan plan)
{
    typedef fused_tile<R> tile;
    enum { RZ = VOLUME ? R : 0 };
    extern __shared__ __align__(16) float shared[];
    float *const sums_down = shared + TILES * tile::SAMPLES;
    int *const columns = (int *)(sums_down + 2 * tile::SUMS_DOWN);
    int *const rows = columns + tile::WIDTH;
    const int x_first = blockIdx.x % plan.across * COLUMNS,
              y_first = blockIdx.x / plan.across % plan.down * ROWS;
    const int z_first = blockIdx.x / plan.across / plan.down * plan.chunk;
    const int slices = min(plan.chunk, plan.nz - z_first) + 2 * RZ, pixels = plan.ny * plan.nx;
    const int x = x_first + (int)threadIdx.x % (COLUMNS / RUN) * RUN;
    const int y = y_first + (int)threadIdx.x / (COLUMNS / RUN),
              left = y < plan.ny ? plan.nx - x : 0;
    /* Slices under weights of 0 may not exist at both ends of the image: other slices replace
     * them. */
    const int lead = z_first - (VOLUME ? R - plan.radius[0] : 0),
              last = plan.nz + 2 * plan.radius[0] - 1;
    float *to = plan.out + (size_t)z_first * pixels + (size_t)y * plan.nx + x;
    struct fused_quads<tile::LOADS> quads;
    float pending[VOLUME ? 2 * R : 1][RUN] = {};
    bool spoiled = false;
    if (MASKED && !plan.flags[blockIdx.x])
        return;
    const int column =
        fused_find<R>(plan, x_first - tile::HALO, y_first - R, columns, rows, &quads, shared);
    const auto slice = [&](int k) {
        return plan.in + (size_t)min(max(lead + k, 0), last) * (size_t)pixels * (size_t)plan.bytes;
    };
    const auto bring = [&](int k) {
        float *const samples = shared + k % TILES * tile::SAMPLES;
        if constexpr (FLOATS) {
            if (k < slices)
                fused_ask<R>(plan, (const float *)slice(k), columns, rows, quads, samples);
            fused_commit();
        } else {
            fused_keep<R>(plan, quads, samples);
            fused_load<R>(plan, slice(k + 1), columns, rows, &quads);
        }
    };
    /* Steps of floats are in the unrolled loop below, so that the places of their tiles are
     * constants. */
    if constexpr (!FLOATS)
        fused_load<R>(plan, slice(0), columns, rows, &quads);
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        bring(k);
#pragma unroll(FLOATS && !MASKED ? TILES : 1)
    for (int k = 0; k <= slices; k++) {
        if (FLOATS)
            fused_await();
        __syncthreads();
        bring(k + AHEAD);
        if (k < slices)
            spoiled |= fused_down<R, MASKED>(plan, shared + k % TILES * tile::SAMPLES + column,
                                             sums_down + k % 2 * tile::SUMS_DOWN);
        if (k > 0) {
            float sums[RUN];
            fused_across<R, MASKED>(plan, sums_down + (1 - k % 2) * tile::SUMS_DOWN, sums);
            if constexpr (VOLUME)
                fused_along<R, MASKED>(plan, pending, sums);
            if (k > 2 * RZ) {
                fused_store(plan, to, sums, left);
                to += pixels;
            }
        }
    }
    if (!MASKED && plan.flags) {
        spoiled = __syncthreads_or(spoiled);
        if (threadIdx.x == 0)
            plan.flags[blockIdx.x] = spoiled;
    }
}

/* ---- launch ---------------------------------------------------------------------------------- */

/* Returns the smallest R of a kernel that the radii fit. */
static int kernel_radius(const struct gaussian_job *job)
{
    int most = 2;
    for (int axis = 0; axis < 3; axis++)
        most = job->radius[axis] > most ? (job->radius[axis] + 1) / 2 * 2 : most;
    return most;
}

/* Cuts the image so that all blocks, one on each multiprocessor at a time, end at about the same
 * time. */
static struct fused_plan plan_of(const struct stage_context *context,
                                 const struct gaussian_job *job)
{
    struct fused_plan plan = {};
    const int tiles = (int)(ts_cuda_parts(job->n[2], COLUMNS) * ts_cuda_parts(job->n[1], ROWS));
    const int start = (job->radius[0] > 0 ? 2 * kernel_radius(job) : 0) + AHEAD;
    plan.nz = (int)job->n[0];
    plan.ny = (int)job->n[1];
    plan.nx = (int)job->n[2];
    plan.across = (int)ts_cuda_parts(job->n[2], COLUMNS);
    plan.down = tiles / plan.across;
    plan.chunk = (int)ts_cuda_parts(
        plan.nz, ts_box_parts(tiles, plan.nz, context->device->multiprocessors, start));
    return plan;
}

static unsigned blocks_of(const struct fused_plan *plan)
{
    return (unsigned)(plan->across * plan->down * ts_cuda_parts(plan->nz, plan->chunk));
}

size_t ts_cuda_gaussian_fused_bytes(const struct stage_context *context,
                                    const struct gaussian_job *job)
{
    const struct fused_plan plan = plan_of(context, job);
    return blocks_of(&plan) * sizeof(int32_t);
}

template <int R, bool FLOATS, bool VOLUME, bool MASKED>
static enum ts_status gaussian_fused_launch(const struct stage_context *context,
                                            const struct fused_plan *plan, cudaStream_t stream)
{
    const size_t bytes = fused_tile<R>::BYTES;
    const enum ts_status status =
        ts_cuda_shared(context, (const void *)gaussian_fused<R, FLOATS, VOLUME, MASKED>, bytes);
    if (status != TS_OK)
        return status;
    gaussian_fused<R, FLOATS, VOLUME, MASKED><<<blocks_of(plan), THREADS, bytes, stream>>>(*plan);
    return ts_cuda_launched(context, "gaussian_fused");
}

template <int R, bool VOLUME>
static enum ts_status launch_kind(const struct stage_context *context,
                                  const struct fused_plan *plan, cudaStream_t stream)
{
    if (context->in.dtype != TS_F32)
        return gaussian_fused_launch<R, false, VOLUME, false>(context, plan, stream);
    const enum ts_status status =
        gaussian_fused_launch<R, true, VOLUME, false>(context, plan, stream);
    return status == TS_OK && plan->flags
               ? gaussian_fused_launch<R, true, VOLUME, true>(context, plan, stream)
               : status;
}

template <int R>
static enum ts_status launch_all(const struct stage_context *context, const struct fused_plan *plan,
                                 bool volume, cudaStream_t stream)
{
    return volume ? launch_kind<R, true>(context, plan, stream)
                  : launch_kind<R, false>(context, plan, stream);
}

enum ts_status ts_cuda_gaussian_fused(const struct stage_context *context,
                                      const struct gaussian_job *job, const struct cuda_call *call)
{
    const struct gaussian_params *params = (const struct gaussian_params *)context->params;
    const enum ts_dtype dtype = context->in.dtype;
    const int radius = kernel_radius(job);
    const bool volume = job->radius[0] > 0;
    struct fused_plan plan = plan_of(context, job);
    bool padded = false;
    plan.in = (const char *)job->in;
    plan.out = job->out;
    plan.border = job->border;
    plan.constant = job->constant;
    plan.bytes = (int)ts_dtype_bytes(dtype);
    plan.wide = dtype == TS_U32;
    plan.aligned =
        dtype == TS_F32 && plan.nx % RUN == 0 && (uintptr_t)job->in % sizeof(float4) == 0;
    plan.flip = plan.bytes < 4 ? ts_dtype_sign_bit(dtype) : 0;
    if (job->border == BORDER_CONSTANT)
        ts_constant_fill(&plan.outside, dtype, params->constant, 1);
    for (int axis = 0; axis < 3; axis++) {
        plan.radius[axis] = job->radius[axis];
        padded |= (axis > 0 || volume) && job->radius[axis] < radius;
        float weights[2 * GAUSSIAN_FUSED_RADIUS + 1];
        ts_gaussian_weights(ts_gaussian_line(context, axis), weights);
        memcpy(plan.weights[axis], weights + plan.radius[axis],
               (size_t)(plan.radius[axis] + 1) * sizeof(float));
    }
    plan.flags = padded && dtype == TS_F32 ? (int32_t *)call->scratch : NULL;
    switch (radius) {
    case 2:
        return launch_all<2>(context, &plan, volume, call->stream);
    case 4:
        return launch_all<4>(context, &plan, volume, call->stream);
    case 6:
        return launch_all<6>(context, &plan, volume, call->stream);
    default:
        return launch_all<GAUSSIAN_FUSED_RADIUS>(context, &plan, volume, call->stream);
    }
}
