/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve by marching down the rows: a warp takes a strip of 32 * RUN columns and a chunk of rows, lane l the columns
 * l * RUN ... of it, and keeps the unfinished sums of SIDE - 1 output rows in registers. Each input row is fetched
 * once, several rows ahead, converted, and added to all output rows that it touches; the oldest of them is then
 * finished and written. Warps never wait for one another.
 *
 *   taps:      SIDE * SIDE multiply-adds a pixel
 *   separable: a row is first summed across (SIDE), then down (SIDE)
 *
 * Sums run over rows, then columns, as on the CPU. Memory traffic: each value is read once, a few columns on both sides
 * of a strip and SIDE - 1 rows above each chunk again (from cache), and 4 bytes are written a pixel. 128 threads a
 * block, because registers are the limit, and blocks of few warps fill a multiprocessor best.
 */
#ifndef CUDA_FILTERS_CONVOLVE_MARCH_CUH
#define CUDA_FILTERS_CONVOLVE_MARCH_CUH

#include "cuda/filters/convolve.cuh"

enum { MARCH_WARPS = 4, MARCH_GROUP = 4, WARP = 32 };

/* The kernel rows of a launch: those of one kernel after the other, or, where separable, the row and the column. */
template <typename Sum, int SIDE, int ROWS> struct march_weights {
    Sum rows[ROWS][SIDE];
    uint32_t masks[ROWS]; /* bit i: weight i is not 0 */
};

struct march_plan {
    int nx, ny, n_strips, n_chunks, n_items, chunk_rows, border;
    bool aligned;  /* rows of input and output start at multiples of 4 values */
    bool scaled;   /* scale is not 1 */
    uint32_t flip; /* sign bit of signed integers */
    double offset; /* to be subtracted from a float whose lowest digits are an integer */
    double constant, scale;
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

/* A warp works at this place. */
struct march_place {
    int first_column, first_row, end_row, z;
};

static __device__ double march_add(double weight, double x, double sum)
{
    return __fma_rn(weight, x, sum);
}

static __device__ float march_add(float weight, float x, float sum)
{
    return __fmaf_rn(weight, x, sum);
}

/* sums = from + one row of weights times x. ZEROS: some weights may be 0 and are then left out. */
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

template <typename Sum, int SIDE, int RUN, bool ZEROS>
static __device__ void march_separable(const Sum (*weights)[SIDE], const uint32_t *masks, const Sum *x,
                                       Sum pending[SIDE - 1][RUN], Sum done[RUN])
{
    Sum across[RUN];
    march_row<Sum, SIDE, RUN, ZEROS>(weights[0], masks[0], x, NULL, across);
#pragma unroll
    for (int j = SIDE - 1; j >= 0; j--) {
        const bool left_out = ZEROS && !(masks[1] >> j & 1);
        Sum *const to = j == SIDE - 1 ? done : pending[j < SIDE - 1 ? j : 0];
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            const Sum from = j > 0 ? pending[j > 0 ? j - 1 : 0][k] : (Sum)0;
            to[k] = left_out ? from : march_add(weights[1][j], across[k], from);
        }
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
static __device__ void march_store(const struct march_plan &plan, float *row, int x, Sum done[N_KERNELS][RUN])
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
    const int item = blockIdx.x * MARCH_WARPS + threadIdx.x / WARP, row = item / plan.n_strips;
    place->first_column = item % plan.n_strips * strip_columns;
    place->z = row / plan.n_chunks;
    place->first_row = row % plan.n_chunks * plan.chunk_rows;
    place->end_row = min(place->first_row + plan.chunk_rows, plan.ny);
    return item < plan.n_items;
}

/* Returns the row of the slice that stands for row y, or NULL for the constant. */
template <typename T> static __device__ const T *march_source(const T *slice, int y, const struct march_plan &plan)
{
    const int from = ts_cuda_border_rarely(y, plan.ny, plan.border);
    return from < 0 ? NULL : slice + (int64_t)from * plan.nx;
}

/* ---- launch ------------------------------------------------------------------------------------ */

/* Puts a row of weights in the middle of SIDE places, of which the others are 0. */
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
    const size_t bytes = ts_dtype_bytes(job->dtype);
    struct march_plan plan = {.nx = (int)job->nx, .ny = (int)job->ny};
    plan.border = job->border;
    plan.constant = job->constant;
    plan.scale = job->scale;
    plan.scaled = job->scale != 1;
    plan.flip = ts_dtype_sign_bit(job->dtype);
    plan.offset = (to_double ? 0x1p52 : 0x1p23) + (double)plan.flip;
    plan.aligned = job->nx % MARCH_GROUP == 0 && (uintptr_t)job->in % (MARCH_GROUP * bytes) == 0 &&
                   (uintptr_t)job->out % (MARCH_GROUP * sizeof(float)) == 0;
    return plan;
}

/* Long chunks read few rows twice; short ones keep a small image's warps many. Returns the blocks. */
static unsigned march_cut(const struct stage_context *context, struct march_plan *plan, int64_t nz, int side, int strip)
{
    const int64_t wanted = (int64_t)context->device->multiprocessors * 32;
    plan->n_strips = (int)ts_cuda_parts(plan->nx, strip);
    plan->chunk_rows = side > 7 ? 256 : 128;
    while (plan->chunk_rows > 2 * side && plan->chunk_rows > 16 &&
           plan->n_strips * ts_cuda_parts(plan->ny, plan->chunk_rows) * nz < wanted)
        plan->chunk_rows /= 2;
    plan->n_chunks = (int)ts_cuda_parts(plan->ny, plan->chunk_rows);
    plan->n_items = (int)(plan->n_strips * plan->n_chunks * nz);
    return (unsigned)ts_cuda_parts(plan->n_items, MARCH_WARPS);
}

#endif
