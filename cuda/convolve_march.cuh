/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve by marching down the rows: a warp takes a strip of 32 * RUN columns and a chunk of rows, lane l the columns
 * l * RUN ... of it, and keeps the unfinished sums of SIDE - 1 output rows in registers. Each input row is read once:
 * it is brought into the warp's part of shared memory several rows ahead, converted once, and added to all output rows
 * that it touches; the oldest of them is then finished and written. Warps never wait for one another.
 *
 *   taps:      SIDE * SIDE multiply-adds a pixel
 *   separable: a row is first summed across (SIDE), then down (SIDE)
 *
 * Sums run over rows, then columns, as on the CPU. Memory traffic: each value once, EDGE columns on both sides and
 * SIDE - 1 rows above each chunk again (from cache), 4 bytes written a pixel. 128 threads a block, because what limits
 * is registers, and blocks of few warps fill a multiprocessor best.
 */
#ifndef CUDA_CONVOLVE_MARCH_CUH
#define CUDA_CONVOLVE_MARCH_CUH

#include <cuda_pipeline_primitives.h>
#include <type_traits>

#include "cuda/convolve.cuh"

enum { MARCH_WARPS = 4, MARCH_STAGES = 8, MARCH_GROUP = 4, WARP = 32 };

/* Kernel rows that a launch needs: one after the other where there are two kernels; across, down where separable. */
template <typename Sum, int SIDE, int ROWS> struct march_weights {
    Sum rows[ROWS][SIDE];
    uint32_t masks[ROWS]; /* bit i: weight i is not 0 */
};

struct march_plan {
    int64_t nx, ny, nz;
    int n_strips, n_chunks, chunk_rows, border;
    bool aligned;  /* rows of input and output start at multiples of 4 values */
    bool scaled;   /* scale is not 1 */
    uint32_t flip; /* sign bit of signed integers */
    double offset; /* what an integer put into the lowest digits of a float has too much */
    double constant, scale;
};

/* Raw row of a stage: EDGE columns, the strip, EDGE columns. */
template <int SIDE, int RUN> struct march_shape {
    enum { HALF = SIDE / 2, EDGE = (HALF + 3) / 4 * 4, STRIP = WARP * RUN, WIDTH = STRIP + 2 * EDGE };
};

template <typename T, typename Sum> static __device__ Sum march_convert(T raw, const struct march_plan &plan)
{
    if constexpr (std::is_same<T, float>::value)
        return raw;
    else if constexpr (std::is_same<Sum, float>::value)
        return __uint_as_float(0x4B000000u | (raw ^ plan.flip)) - (float)plan.offset;
    else
        return __hiloint2double(0x43300000, (int)(raw ^ plan.flip)) - plan.offset;
}

/* Converted rows stand as vectors of 16 bytes; those that neighboring lanes read together stand side by side. */
template <typename Sum, int SIDE, int RUN> struct march_line {
    enum {
        VECTOR = 16 / sizeof(Sum),
        APART = RUN / VECTOR,
        N = march_shape<SIDE, RUN>::WIDTH / VECTOR,
        EACH = (N + APART - 1) / APART,
        PITCH = APART == 1 ? EACH : EACH + (12 - EACH % 8) % 8, /* 4 modulo 8: stores meet in no bank either */
        VECTORS = APART * PITCH
    };
    struct __align__(16) vector
    {
        Sum values[VECTOR];
    };
    struct vector vectors[VECTORS];
    static __device__ int place(int vector)
    {
        return vector % APART * PITCH + vector / APART;
    }
};

/* Neighboring raw values, fetched at once. */
template <typename T, int N> struct __align__(N * sizeof(T)) march_few
{
    T values[N];
};

template <typename T, typename Sum, int SIDE, int RUN> struct march_warp {
    __align__(16) T raw[MARCH_STAGES][march_shape<SIDE, RUN>::WIDTH];
    struct march_line<Sum, SIDE, RUN> lines[2];
};

/* Where a warp works. */
struct march_place {
    int64_t first_column, first_row, end_row, z;
};

/* Starts the copy of a row's part inside the image; row is inside. */
template <typename T, int SIDE, int RUN>
static __device__ void march_fetch(const T *row, const struct march_plan &plan, int64_t first_column, T *raw)
{
    typedef struct march_shape<SIDE, RUN> shape;
    const int lane = threadIdx.x % WARP;
    const int64_t left = first_column - shape::EDGE;
    if (plan.aligned) {
        for (int at = lane * MARCH_GROUP; at < shape::WIDTH; at += WARP * MARCH_GROUP)
            if (left + at >= 0 && left + at < plan.nx)
                __pipeline_memcpy_async(raw + at, row + left + at, MARCH_GROUP * sizeof(T));
        return;
    }
#pragma unroll
    for (int i = 0; i < (shape::WIDTH + WARP - 1) / WARP; i++) {
        const int at = i * WARP + lane;
        if (at < shape::WIDTH && left + at >= 0 && left + at < plan.nx)
            raw[at] = row[left + at];
    }
}

/* A value outside the image, or any: from the raw row where that holds the sample that stands for it. */
template <typename T, typename Sum, int SIDE, int RUN>
static __device__ Sum march_border(const T *row, const T *raw, const struct march_plan &plan, int64_t first_column,
                                   int at)
{
    const int64_t left = first_column - march_shape<SIDE, RUN>::EDGE;
    const int64_t from = ts_cuda_border_index(left + at, plan.nx, plan.border);
    if (from < 0)
        return (Sum)plan.constant;
    const bool here = from >= left && from < left + march_shape<SIDE, RUN>::WIDTH;
    return march_convert<T, Sum>(here ? raw[from - left] : row[from], plan);
}

/* Converts a raw row; row NULL: the constant. */
template <typename T, typename Sum, int SIDE, int RUN>
static __device__ void march_fill(const T *row, const T *raw, const struct march_plan &plan, int64_t first_column,
                                  struct march_line<Sum, SIDE, RUN> *line)
{
    typedef struct march_shape<SIDE, RUN> shape;
    typedef struct march_line<Sum, SIDE, RUN> type;
    const int lane = threadIdx.x % WARP;
    const int64_t left = first_column - shape::EDGE;
#pragma unroll
    for (int i = 0; i < type::APART; i++) {
        const int vector = i * WARP + lane, at = vector * type::VECTOR;
        typename type::vector values = {};
        if (row && left + at >= 0 && left + at + type::VECTOR <= plan.nx) {
            const march_few<T, type::VECTOR> few = *(const march_few<T, type::VECTOR> *)(raw + at);
#pragma unroll
            for (int k = 0; k < type::VECTOR; k++)
                values.values[k] = march_convert<T, Sum>(few.values[k], plan);
        } else if (!row || left + at < plan.nx + shape::EDGE) {
            for (int k = 0; k < type::VECTOR; k++)
                values.values[k] =
                    row ? march_border<T, Sum, SIDE, RUN>(row, raw, plan, first_column, at + k) : (Sum)plan.constant;
        }
        line->vectors[type::place(vector)] = values;
    }
    if (lane < 2 * shape::EDGE) {
        const int at = shape::STRIP + lane;
        Sum value = (Sum)plan.constant;
        if (row && left + at < plan.nx)
            value = march_convert<T, Sum>(raw[at], plan);
        else if (row && left + at < plan.nx + shape::EDGE)
            value = march_border<T, Sum, SIDE, RUN>(row, raw, plan, first_column, at);
        line->vectors[type::place(at / type::VECTOR)].values[at % type::VECTOR] = value;
    }
}

/* x[i]: the value under tap i of the lane's first pixel, and of its neighbors further on. */
template <typename Sum, int SIDE, int RUN>
static __device__ void march_window(const struct march_line<Sum, SIDE, RUN> *line, Sum x[RUN + SIDE - 1])
{
    typedef struct march_shape<SIDE, RUN> shape;
    typedef struct march_line<Sum, SIDE, RUN> type;
    enum { SKIP = shape::EDGE - shape::HALF };
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int v = SKIP / type::VECTOR; v <= (SKIP + RUN + SIDE - 2) / type::VECTOR; v++) {
        const typename type::vector values = line->vectors[lane + type::place(v)];
#pragma unroll
        for (int k = 0; k < type::VECTOR; k++)
            if (v * type::VECTOR + k >= SKIP && v * type::VECTOR + k < SKIP + RUN + SIDE - 1)
                x[v * type::VECTOR + k - SKIP] = values.values[k];
    }
}

static __device__ double march_add(double weight, double x, double sum)
{
    return __fma_rn(weight, x, sum);
}

static __device__ float march_add(float weight, float x, float sum)
{
    return __fmaf_rn(weight, x, sum);
}

/* sums = from + one row of weights. ZEROS: some weights may be 0 and are then left out. */
template <typename Sum, int SIDE, int RUN, bool ZEROS>
static __device__ void march_row(const Sum *weights, uint32_t mask, const Sum *x, const Sum *from, Sum *sums)
{
#pragma unroll
    for (int k = 0; k < RUN; k++)
        sums[k] = from ? from[k] : (Sum)0;
#pragma unroll
    for (int i = 0; i < SIDE; i++)
        if (!ZEROS || mask >> i & 1)
#pragma unroll
            for (int k = 0; k < RUN; k++)
                sums[k] = march_add(weights[i], x[i + k], sums[k]);
}

/* Adds an input row to the pending sums; `done` becomes the output row that it completes. */
template <typename Sum, int SIDE, int RUN, bool ZEROS>
static __device__ void march_taps(const Sum (*weights)[SIDE], const uint32_t *masks, const Sum *x,
                                  Sum pending[SIDE - 1][RUN], Sum done[RUN])
{
    march_row<Sum, SIDE, RUN, ZEROS>(weights[SIDE - 1], masks[SIDE - 1], x, pending[SIDE - 2], done);
#pragma unroll
    for (int j = SIDE - 2; j >= 0; j--)
        march_row<Sum, SIDE, RUN, ZEROS>(weights[j], masks[j], x,
                                         j > 0 ? pending[j > 0 ? j - 1 : 0] : (const Sum *)NULL, pending[j]);
}

template <typename Sum, int SIDE, int RUN>
static __device__ void march_separable(const Sum (*weights)[SIDE], const uint32_t *masks, const Sum *x,
                                       Sum pending[SIDE - 1][RUN], Sum done[RUN])
{
    Sum across[RUN];
    march_row<Sum, SIDE, RUN, true>(weights[0], masks[0], x, NULL, across);
#pragma unroll
    for (int j = SIDE - 1; j >= 0; j--) {
        Sum *const to = j == SIDE - 1 ? done : pending[j < SIDE - 1 ? j : 0];
#pragma unroll
        for (int k = 0; k < RUN; k++)
            to[k] = j > 0 ? pending[j > 0 ? j - 1 : 0][k] : (Sum)0;
        if (masks[1] >> j & 1)
#pragma unroll
            for (int k = 0; k < RUN; k++)
                to[k] = march_add(weights[1][j], across[k], to[k]);
    }
}

template <typename Sum>
static __device__ float march_result(const struct march_plan &plan, Sum a, Sum b, bool magnitude)
{
    if (!magnitude && !plan.scaled)
        return (float)a;
    const double first = (double)a * plan.scale, second = (double)b * plan.scale;
    return __double2float_rn(magnitude ? sqrt(first * first + second * second) : first);
}

template <typename Sum, int RUN, int N_KERNELS>
static __device__ void march_store(const struct march_plan &plan, float *row, int64_t x, Sum done[N_KERNELS][RUN])
{
    float values[RUN];
#pragma unroll
    for (int k = 0; k < RUN; k++)
        values[k] = march_result<Sum>(plan, done[0][k], done[N_KERNELS - 1][k], N_KERNELS == 2);
    if (plan.aligned && x < plan.nx) {
        if (RUN == 4)
            *(float4 *)(row + x) = make_float4(values[0], values[1], values[2], values[3 % RUN]);
        else
            *(float2 *)(row + x) = make_float2(values[0], values[1]);
        return;
    }
#pragma unroll
    for (int k = 0; k < RUN; k++)
        if (x + k < plan.nx)
            row[x + k] = values[k];
}

static __device__ bool march_find(const struct march_plan &plan, int strip_columns, struct march_place *place)
{
    const int64_t item = (int64_t)blockIdx.x * MARCH_WARPS + threadIdx.x / WARP;
    const int64_t chunk = item / plan.n_strips % plan.n_chunks;
    place->first_column = item % plan.n_strips * strip_columns;
    place->z = item / plan.n_strips / plan.n_chunks;
    place->first_row = chunk * plan.chunk_rows;
    place->end_row = min(place->first_row + plan.chunk_rows, plan.ny);
    return place->z < plan.nz;
}

/* The row of the slice that stands for row y, or NULL for the constant. */
template <typename T> static __device__ const T *march_source(const T *slice, int64_t y, const struct march_plan &plan)
{
    const int64_t from = ts_cuda_border_index(y, plan.ny, plan.border);
    return from < 0 ? NULL : slice + from * plan.nx;
}

template <typename T, typename Sum, int SIDE, int RUN, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static __global__ void __launch_bounds__(MARCH_WARPS *WARP)
    convolve_march(const T *in, float *out, const __grid_constant__ struct march_plan plan,
                   const __grid_constant__ struct march_weights<Sum, SIDE, SEPARABLE ? 2 : N_KERNELS * SIDE> weights)
{
    extern __shared__ __align__(16) char shared[];
    typedef struct march_warp<T, Sum, SIDE, RUN> warp_type;
    warp_type *own = (warp_type *)shared + threadIdx.x / WARP;
    struct march_place place;
    if (!march_find(plan, WARP * RUN, &place))
        return;
    const int64_t begin = place.first_row - SIDE / 2, end = place.end_row + SIDE / 2;
    const int64_t x_first = place.first_column + threadIdx.x % WARP * RUN;
    in += place.z * plan.ny * plan.nx;
    out += place.z * plan.ny * plan.nx;
    Sum pending[N_KERNELS][SIDE - 1][RUN] = {}, done[N_KERNELS][RUN], x[RUN + SIDE - 1];
    for (int64_t y = begin; y < begin + MARCH_STAGES - 1; y++) {
        const T *row = y < end ? march_source(in, y, plan) : NULL;
        if (row)
            march_fetch<T, SIDE, RUN>(row, plan, place.first_column, own->raw[(y - begin) % MARCH_STAGES]);
        __pipeline_commit();
    }
    for (int64_t y = begin; y < end; y++) {
        const int stage = (int)((y - begin) % MARCH_STAGES), line = (int)((y - begin) % 2);
        __pipeline_wait_prior(MARCH_STAGES - 2);
        __syncwarp();
        const int64_t ahead = y + MARCH_STAGES - 1;
        const T *next = ahead < end ? march_source(in, ahead, plan) : NULL;
        if (next)
            march_fetch<T, SIDE, RUN>(next, plan, place.first_column, own->raw[(ahead - begin) % MARCH_STAGES]);
        __pipeline_commit();
        march_fill<T, Sum, SIDE, RUN>(march_source(in, y, plan), own->raw[stage], plan, place.first_column,
                                      &own->lines[line]);
        __syncwarp();
        march_window<Sum, SIDE, RUN>(&own->lines[line], x);
#pragma unroll
        for (int i = 0; i < N_KERNELS; i++)
            if constexpr (SEPARABLE)
                march_separable<Sum, SIDE, RUN>(weights.rows, weights.masks, x, pending[i], done[i]);
            else
                march_taps<Sum, SIDE, RUN, ZEROS>(weights.rows + i * SIDE, weights.masks + i * SIDE, x, pending[i],
                                                  done[i]);
        if (y - SIDE / 2 >= place.first_row)
            march_store<Sum, RUN, N_KERNELS>(plan, out + (y - SIDE / 2) * plan.nx, x_first, done);
    }
}

/* ---- launch ------------------------------------------------------------------------------------ */

/* Weights of a kernel in the middle of SIDE x SIDE (or SIDE) places, the others 0. */
template <typename Sum, int SIDE>
static void march_place_row(const double *weights, int columns, Sum row[SIDE], uint32_t *mask)
{
    for (int i = 0; i < columns; i++) {
        const int to = SIDE / 2 - columns / 2 + i;
        row[to] = (Sum)weights[i];
        *mask |= (uint32_t)(weights[i] != 0) << to;
    }
}

static struct march_plan march_plan_of(const struct convolve_job *job, bool to_double)
{
    const int digits = job->dtype == TS_I8 ? 8 : job->dtype == TS_I16 ? 16 : job->dtype == TS_I32 ? 32 : 0;
    const size_t bytes = ts_dtype_bytes(job->dtype);
    struct march_plan plan = {.nx = job->nx, .ny = job->ny, .nz = job->nz};
    plan.border = job->border;
    plan.constant = job->constant;
    plan.scale = job->scale;
    plan.scaled = job->scale != 1;
    plan.flip = digits ? 1u << (digits - 1) : 0;
    plan.offset = (to_double ? 0x1p52 : 0x1p23) + (double)plan.flip;
    plan.aligned = job->nx % MARCH_GROUP == 0 && (uintptr_t)job->in % (MARCH_GROUP * bytes) == 0 &&
                   (uintptr_t)job->out % (MARCH_GROUP * sizeof(float)) == 0;
    return plan;
}

/* Long chunks read few rows twice; short ones keep a small image's warps many. */
static unsigned march_cut(const struct stage_context *context, struct march_plan *plan, int side, int strip)
{
    const int64_t wanted = (int64_t)context->device->multiprocessors * 16;
    plan->n_strips = (int)ts_cuda_parts(plan->nx, strip);
    plan->chunk_rows = side > 7 ? 256 : 128;
    while (plan->chunk_rows > 2 * side && plan->chunk_rows > 16 &&
           plan->n_strips * ts_cuda_parts(plan->ny, plan->chunk_rows) * plan->nz < wanted)
        plan->chunk_rows /= 2;
    plan->n_chunks = (int)ts_cuda_parts(plan->ny, plan->chunk_rows);
    return (unsigned)ts_cuda_parts(plan->n_strips * (int64_t)plan->n_chunks * plan->nz, MARCH_WARPS);
}

template <typename T, typename Sum, int SIDE, int RUN, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static enum ts_status march_launch(const struct stage_context *context, const struct convolve_job *job,
                                   const struct march_weights<Sum, SIDE, SEPARABLE ? 2 : N_KERNELS * SIDE> *weights,
                                   const struct cuda_call *call)
{
    struct march_plan plan = march_plan_of(job, std::is_same<Sum, double>::value);
    const unsigned blocks = march_cut(context, &plan, SIDE, WARP * RUN);
    convolve_march<T, Sum, SIDE, RUN, N_KERNELS, SEPARABLE, ZEROS>
        <<<blocks, MARCH_WARPS * WARP, MARCH_WARPS * sizeof(struct march_warp<T, Sum, SIDE, RUN>), call->stream>>>(
            (const T *)job->in, job->out, plan, *weights);
    return ts_cuda_launched(context, SEPARABLE ? "convolve_separable" : "convolve_taps");
}

#endif
