/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve with kernels up to 7 x 7: a lane fetches 4 columns of each row into registers, FLIGHT
 * rows ahead, and takes its neighbors' columns by shuffles. In a shuffle around the warp, lane 0
 * gets what lane 31 sends, and the reverse: so these two lanes also fetch the columns beside the
 * strip, and send those.
 */
#ifndef CUDA_FILTERS_CONVOLVE_ROWS_CUH
#define CUDA_FILTERS_CONVOLVE_ROWS_CUH

#include "cuda/filters/convolve.cuh"

/* ---- convolve march ----------------------------------------------------------------------------
 *
 * convolve by marching down the rows: a warp takes a strip of 32 * RUN columns and a chunk of rows,
 * lane l the columns l * RUN ... of it, and keeps the unfinished sums of SIDE - 1 output rows in
 * registers. Each input row is fetched once, several rows ahead, converted, and added to all output
 * rows that it touches; the oldest of them is then finished and written. Warps never wait for one
 * another.
 *
 *   taps:      SIDE * SIDE multiply-adds a pixel
 *   separable: a row is first summed across (SIDE), then down (SIDE)
 *
 * Sums run over rows, then columns, as on the CPU. Memory traffic: each value is read once, a
 * few columns on both sides of a strip and SIDE - 1 rows above each chunk again (from cache),
 * and 4 bytes are written a pixel. 128 threads a block, because registers are the limit, and
 * blocks of few warps fill a multiprocessor best. */

enum { MARCH_WARPS = 4, MARCH_GROUP = 4, WARP = 32 };

/* The kernel rows of a launch: those of one kernel after the other, or, for a separable kernel, the
 * row and the column. */
template <typename Sum, int SIDE, int ROWS> struct march_weights {
    Sum rows[ROWS][SIDE];
    uint32_t masks[ROWS]; /* bit i: weight i is not 0 */
};

struct march_plan {
    int nx, ny, n_strips, n_chunks, n_items, chunk_rows, border;
    bool aligned;  /* rows of input and output start at multiples of 4 values */
    bool scaled;   /* scale is not 1 */
    uint32_t flip; /* sign bit of signed integers, else 0 */
    double offset; /* to be subtracted from a float whose lowest digits are the integer */
    double constant, scale;
};

template <typename T, typename Sum>
static __device__ Sum march_convert(T raw, const struct march_plan &plan)
{
    if constexpr (std::is_same<T, float>::value)
        return raw;
    else if constexpr (std::is_same<Sum, float>::value)
        return __uint_as_float(0x4B000000u | (raw ^ plan.flip)) - (float)plan.offset;
    else
        return __hiloint2double(0x43300000, (int)(raw ^ plan.flip)) - plan.offset;
}

/* The place where a warp works. */
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

/* Sets sums to from + one row of weights times x. ZEROS: some weights may be 0 and are then left
 * out. */
template <typename Sum, int SIDE, int RUN, bool ZEROS>
static __device__ void march_row(const Sum *weights, uint32_t mask, const Sum *x, const Sum *from,
                                 Sum *sums)
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

/* Adds an input row to the pending sums; `done` becomes the output row that is then complete. */
template <typename Sum, int SIDE, int RUN, bool ZEROS>
static __device__ void march_taps(const Sum (*weights)[SIDE], const uint32_t *masks, const Sum *x,
                                  Sum pending[SIDE - 1][RUN], Sum done[RUN])
{
    march_row<Sum, SIDE, RUN, ZEROS>(weights[SIDE - 1], masks[SIDE - 1], x, pending[SIDE - 2],
                                     done);
#pragma unroll
    for (int j = SIDE - 2; j >= 0; j--)
        march_row<Sum, SIDE, RUN, ZEROS>(weights[j], masks[j], x,
                                         j > 0 ? pending[j > 0 ? j - 1 : 0] : (const Sum *)NULL,
                                         pending[j]);
}

template <typename Sum, int SIDE, int RUN, bool ZEROS>
static __device__ void march_separable(const Sum (*weights)[SIDE], const uint32_t *masks,
                                       const Sum *x, Sum pending[SIDE - 1][RUN], Sum done[RUN])
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
static __device__ void march_store(const struct march_plan &plan, float *row, int x,
                                   Sum done[N_KERNELS][RUN])
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

static __device__ bool march_find(const struct march_plan &plan, int strip_columns,
                                  struct march_place *place)
{
    const int item = blockIdx.x * MARCH_WARPS + threadIdx.x / WARP, row = item / plan.n_strips;
    place->first_column = item % plan.n_strips * strip_columns;
    place->z = row / plan.n_chunks;
    place->first_row = row % plan.n_chunks * plan.chunk_rows;
    place->end_row = min(place->first_row + plan.chunk_rows, plan.ny);
    return item < plan.n_items;
}

/* Returns the image row that is used as row y, or NULL for the constant. */
template <typename T>
static __device__ const T *march_source(const T *slice, int y, const struct march_plan &plan)
{
    const int from = ts_cuda_border_rarely(y, plan.ny, plan.border);
    return from < 0 ? NULL : slice + (int64_t)from * plan.nx;
}

/* ---- launch ---------------------------------------------------------------------------------- */

/* Puts a row of weights in the middle of SIDE places and sets the others to 0. */
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

/* Cuts the rows into chunks. A chunk also reads rows beyond its ends, so long ones are cheaper; a
 * small image gets shorter ones, so that there are enough warps. Returns the number of blocks. */
static unsigned march_cut(const struct stage_context *context, struct march_plan *plan, int64_t nz,
                          int side, int strip)
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

enum { RUN = 4, ROWS_STRIP = 128 };

/* The columns that a lane fetches. */
template <int HALF> struct rows_columns {
    int first, own[RUN], edge[HALF];
    bool whole, has_edge;
};

/* 4 raw values as they were fetched; to unpack them at once would mean to wait for them. */
template <typename T> using rows_word = cuda_word<RUN * sizeof(T)>;

/* A raw value in a register of its own. */
template <typename T>
using rows_wide = typename std::conditional<std::is_same<T, float>::value, float, uint32_t>::type;

/* For sums in float, values are converted before they go to other lanes, else after. */
template <typename T, typename Sum>
using rows_carried =
    typename std::conditional<std::is_same<Sum, float>::value, float, rows_wide<T>>::type;

template <typename T, int HALF> struct rows_raw {
    rows_word<T> own;
    rows_wide<T> edge[HALF];
};

template <typename T> static __device__ rows_wide<T> rows_take(uint32_t word, int k)
{
    return word >> 8 * k & 0xFF;
}

template <typename T> static __device__ rows_wide<T> rows_take(uint2 word, int k)
{
    return (k < 2 ? word.x : word.y) >> 16 * (k % 2) & 0xFFFF;
}

template <typename T> static __device__ rows_wide<T> rows_take(uint4 word, int k)
{
    const uint32_t bits = k == 0 ? word.x : k == 1 ? word.y : k == 2 ? word.z : word.w;
    if constexpr (std::is_same<T, float>::value)
        return __uint_as_float(bits);
    else
        return bits;
}

template <int HALF>
static __device__ struct rows_columns<HALF> rows_find(const struct march_plan &plan,
                                                      int first_column) {
    const int lane = threadIdx.x % WARP,
              edge = lane == 0 ? first_column + ROWS_STRIP : first_column - HALF;
    struct rows_columns<HALF> columns;
    columns.first = first_column + lane * RUN;
    columns.whole = plan.aligned && columns.first + RUN <= plan.nx;
    columns.has_edge = lane == 0 || lane == WARP - 1;
#pragma unroll
    for (int k = 0; k < RUN; k++)
        columns.own[k] = max(ts_cuda_border_rarely(columns.first + k, plan.nx, plan.border), 0);
#pragma unroll
    for (int j = 0; j < HALF; j++)
        columns.edge[j] = max(ts_cuda_border_rarely(edge + j, plan.nx, plan.border), 0);
    return columns;
}

template <typename T, int HALF>
static __device__ void rows_fetch(const T *row, const struct rows_columns<HALF> &columns,
                                  struct rows_raw<T, HALF> *raw)
{
    typedef rows_word<T> word;
    if (columns.whole) {
        raw->own = *(const word *)(row + columns.first);
    } else {
        union {
            T values[RUN];
            word own;
        } apart;
#pragma unroll
        for (int k = 0; k < RUN; k++)
            apart.values[k] = row[columns.own[k]];
        raw->own = apart.own;
    }
    if (columns.has_edge)
#pragma unroll
        for (int j = 0; j < HALF; j++)
            raw->edge[j] = row[columns.edge[j]];
}

template <typename T, typename Sum>
static __device__ rows_carried<T, Sum> rows_carry(rows_wide<T> raw, const struct march_plan &plan)
{
    if constexpr (std::is_same<Sum, float>::value)
        return march_convert<rows_wide<T>, Sum>(raw, plan);
    else
        return raw;
}

template <typename T, typename Sum>
static __device__ Sum rows_deliver(rows_carried<T, Sum> carried, const struct march_plan &plan)
{
    if constexpr (std::is_same<Sum, float>::value)
        return carried;
    else
        return march_convert<rows_wide<T>, Sum>(carried, plan);
}

/* x[i] becomes the value under tap i of the lane's first pixel; the values for its other pixels
 * follow. */
template <typename T, typename Sum, int HALF>
static __device__ void rows_window(const struct rows_raw<T, HALF> &raw,
                                   const struct march_plan &plan, Sum x[RUN + 2 * HALF])
{
    rows_carried<T, Sum> own[RUN], edge[HALF];
    const int lane = threadIdx.x % WARP;
#pragma unroll
    for (int k = 0; k < RUN; k++) {
        own[k] = rows_carry<T, Sum>(rows_take<T>(raw.own, k), plan);
        x[HALF + k] = rows_deliver<T, Sum>(own[k], plan);
    }
#pragma unroll
    for (int j = 0; j < HALF; j++) {
        edge[j] = rows_carry<T, Sum>(raw.edge[j], plan);
        const auto left = __shfl_sync(0xFFFFFFFFu, lane == WARP - 1 ? edge[j] : own[RUN - HALF + j],
                                      lane - 1, WARP);
        const auto right = __shfl_sync(0xFFFFFFFFu, lane == 0 ? edge[j] : own[j], lane + 1, WARP);
        x[j] = rows_deliver<T, Sum>(left, plan);
        x[HALF + RUN + j] = rows_deliver<T, Sum>(right, plan);
    }
}

/* Returns true if all values that the warp fetched of a row are finite. If not, weights of 0 must
 * be left out. */
template <typename T, int HALF>
static __device__ bool rows_finite(const struct rows_raw<T, HALF> &raw)
{
    bool finite = true;
#pragma unroll
    for (int k = 0; k < RUN; k++)
        finite &= fabsf(rows_take<float>(raw.own, k)) < INFINITY;
#pragma unroll
    for (int j = 0; j < HALF; j++)
        finite &= fabsf(raw.edge[j]) < INFINITY;
    return __all_sync(0xFFFFFFFFu, finite);
}

/* With border constant, replaces values that were fetched from outside by the constant. */
template <typename Sum, int N>
static __device__ void rows_constant(const struct march_plan &plan, int x_first, int y, Sum x[N])
{
    const bool outside = (unsigned)y >= (unsigned)plan.ny;
#pragma unroll
    for (int i = 0; i < N; i++)
        if (outside || (unsigned)(x_first + i) >= (unsigned)plan.nx)
            x[i] = (Sum)plan.constant;
}

template <typename Sum, int SIDE, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static __device__ void rows_add(const Sum (*weights)[SIDE], const uint32_t *masks, const Sum *x,
                                Sum pending[N_KERNELS][SIDE - 1][RUN], Sum done[N_KERNELS][RUN])
{
#pragma unroll
    for (int k = 0; k < N_KERNELS; k++)
        if constexpr (SEPARABLE)
            march_separable<Sum, SIDE, RUN, ZEROS>(weights, masks, x, pending[k], done[k]);
        else
            march_taps<Sum, SIDE, RUN, ZEROS>(weights + k * SIDE, masks + k * SIDE, x, pending[k],
                                              done[k]);
}

/* Returns how many blocks the registers of a multiprocessor must allow. */
static constexpr int rows_blocks(int side, bool to_double, int n_kernels)
{
    const int work = side - 3 + 2 * (n_kernels - 1) + 2 * to_double;
    if (work == 0)
        return 6;
    if (work <= 2)
        return 5;
    return work <= 4 ? 4 : 3;
}

template <typename T, typename Sum, int SIDE, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static __global__ void
__launch_bounds__(MARCH_WARPS *WARP, rows_blocks(SIDE, std::is_same<Sum, double>::value, N_KERNELS))
    convolve_rows(
        const T *in, float *out, const __grid_constant__ struct march_plan plan,
        const __grid_constant__ struct march_weights<Sum, SIDE, SEPARABLE ? 2 : N_KERNELS * SIDE>
            weights)
{
    enum { HALF = SIDE / 2, FLIGHT = 4 };
    struct march_place place;
    if (!march_find(plan, ROWS_STRIP, &place))
        return;
    const struct rows_columns<HALF> columns = rows_find<HALF>(plan, place.first_column);
    const int begin = place.first_row - HALF, end = place.end_row + HALF;
    Sum pending[N_KERNELS][SIDE - 1][RUN] = {}, done[N_KERNELS][RUN], x[RUN + SIDE - 1];
    struct rows_raw<T, HALF> raw[FLIGHT] {
    };
    in += (int64_t)place.z * plan.ny * plan.nx;
    out += ((int64_t)place.z * plan.ny + begin - HALF) * plan.nx;
#pragma unroll
    for (int i = 0; i < FLIGHT; i++)
        rows_fetch<T, HALF>(
            in + (int64_t)max(ts_cuda_border_rarely(begin + i, plan.ny, plan.border), 0) * plan.nx,
            columns, &raw[i]);
    for (int first = begin; first < end; first += FLIGHT) {
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const int y = first + i;
            if (y >= end)
                break;
            bool dense = true;
            if constexpr (ZEROS)
                dense = rows_finite<T, HALF>(raw[i]);
            rows_window<T, Sum, HALF>(raw[i], plan, x);
            if (y + FLIGHT < end)
                rows_fetch<T, HALF>(
                    in + (int64_t)max(ts_cuda_border_rarely(y + FLIGHT, plan.ny, plan.border), 0) *
                             plan.nx,
                    columns, &raw[i]);
            if (plan.border == BORDER_CONSTANT)
                rows_constant<Sum, RUN + SIDE - 1>(plan, columns.first - HALF, y, x);
            if (dense)
                rows_add<Sum, SIDE, N_KERNELS, SEPARABLE, false>(weights.rows, weights.masks, x,
                                                                 pending, done);
            else
                rows_add<Sum, SIDE, N_KERNELS, SEPARABLE, true>(weights.rows, weights.masks, x,
                                                                pending, done);
            if (y - HALF >= place.first_row)
                march_store<Sum, RUN, N_KERNELS>(plan, out, columns.first, done);
            out += plan.nx;
        }
    }
}

template <typename T, typename Sum, int SIDE, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static enum ts_status
rows_launch(const struct stage_context *context, const struct convolve_job *job,
            const struct march_weights<Sum, SIDE, SEPARABLE ? 2 : N_KERNELS * SIDE> *weights,
            const struct cuda_call *call)
{
    struct march_plan plan = march_plan_of(job, std::is_same<Sum, double>::value);
    const unsigned blocks = march_cut(context, &plan, job->nz, SIDE, ROWS_STRIP);
    convolve_rows<T, Sum, SIDE, N_KERNELS, SEPARABLE, ZEROS>
        <<<blocks, MARCH_WARPS * WARP, 0, call->stream>>>((const T *)job->in, job->out, plan,
                                                          *weights);
    return ts_cuda_launched(context, SEPARABLE ? "convolve_separable" : "convolve_taps");
}

#endif
