/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve with kernels up to 7 x 7: a lane fetches 4 columns of each row into registers, FLIGHT rows ahead, and takes
 * its neighbors' columns by shuffles. In a shuffle to the right lane 0 would get what lane 31 has, and the reverse to
 * the left: so these two lanes also fetch the columns beside the strip, and send those.
 */
#ifndef CUDA_FILTERS_CONVOLVE_ROWS_CUH
#define CUDA_FILTERS_CONVOLVE_ROWS_CUH

#include "cuda/filters/convolve_march.cuh"

enum { RUN = 4, ROWS_STRIP = 128 };

/* A lane fetches these columns. */
template <int HALF> struct rows_columns {
    int first, own[RUN], edge[HALF];
    bool whole, has_edge;
};

/* 4 raw values as they are fetched: to take them apart at once would wait for them. */
template <typename T> using rows_word = cuda_word<RUN * sizeof(T)>;

/* This is a raw value in a register of its own. */
template <typename T> using rows_wide = typename std::conditional<std::is_same<T, float>::value, float, uint32_t>::type;

/* Sums in float are made of values that are converted before they go to other lanes, others after. */
template <typename T, typename Sum>
using rows_carried = typename std::conditional<std::is_same<Sum, float>::value, float, rows_wide<T>>::type;

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
static __device__ struct rows_columns<HALF> rows_find(const struct march_plan &plan, int first_column) {
    const int lane = threadIdx.x % WARP, edge = lane == 0 ? first_column + ROWS_STRIP : first_column - HALF;
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
static __device__ void rows_fetch(const T *row, const struct rows_columns<HALF> &columns, struct rows_raw<T, HALF> *raw)
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

/* x[i] becomes the value under tap i of the lane's first pixel; its other pixels follow. */
template <typename T, typename Sum, int HALF>
static __device__ void rows_window(const struct rows_raw<T, HALF> &raw, const struct march_plan &plan,
                                   Sum x[RUN + 2 * HALF])
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
        const auto left = __shfl_sync(0xFFFFFFFFu, lane == WARP - 1 ? edge[j] : own[RUN - HALF + j], lane - 1, WARP);
        const auto right = __shfl_sync(0xFFFFFFFFu, lane == 0 ? edge[j] : own[j], lane + 1, WARP);
        x[j] = rows_deliver<T, Sum>(left, plan);
        x[HALF + RUN + j] = rows_deliver<T, Sum>(right, plan);
    }
}

/* Returns true where all values that the warp fetched of a row are finite. Otherwise weights of 0 must be left out. */
template <typename T, int HALF> static __device__ bool rows_finite(const struct rows_raw<T, HALF> &raw)
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

/* With border constant, puts the constant in place of what was fetched outside. */
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
            march_taps<Sum, SIDE, RUN, ZEROS>(weights + k * SIDE, masks + k * SIDE, x, pending[k], done[k]);
}

/* Blocks of a multiprocessor that the registers must allow. */
static constexpr int rows_blocks(int side, bool to_double, int n_kernels)
{
    const int work = side - 3 + 2 * (n_kernels - 1) + 2 * to_double;
    return work == 0 ? 6 : work <= 2 ? 5 : work <= 4 ? 4 : 3;
}

template <typename T, typename Sum, int SIDE, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static __global__ void __launch_bounds__(MARCH_WARPS *WARP,
                                         rows_blocks(SIDE, std::is_same<Sum, double>::value, N_KERNELS))
    convolve_rows(const T *in, float *out, const __grid_constant__ struct march_plan plan,
                  const __grid_constant__ struct march_weights<Sum, SIDE, SEPARABLE ? 2 : N_KERNELS * SIDE> weights)
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
        rows_fetch<T, HALF>(in + (int64_t)max(ts_cuda_border_rarely(begin + i, plan.ny, plan.border), 0) * plan.nx,
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
                rows_fetch<T, HALF>(in + (int64_t)max(ts_cuda_border_rarely(y + FLIGHT, plan.ny, plan.border), 0) *
                                             plan.nx,
                                    columns, &raw[i]);
            if (plan.border == BORDER_CONSTANT)
                rows_constant<Sum, RUN + SIDE - 1>(plan, columns.first - HALF, y, x);
            if (dense)
                rows_add<Sum, SIDE, N_KERNELS, SEPARABLE, false>(weights.rows, weights.masks, x, pending, done);
            else
                rows_add<Sum, SIDE, N_KERNELS, SEPARABLE, true>(weights.rows, weights.masks, x, pending, done);
            if (y - HALF >= place.first_row)
                march_store<Sum, RUN, N_KERNELS>(plan, out, columns.first, done);
            out += plan.nx;
        }
    }
}

template <typename T, typename Sum, int SIDE, int N_KERNELS, bool SEPARABLE, bool ZEROS>
static enum ts_status rows_launch(const struct stage_context *context, const struct convolve_job *job,
                                  const struct march_weights<Sum, SIDE, SEPARABLE ? 2 : N_KERNELS * SIDE> *weights,
                                  const struct cuda_call *call)
{
    struct march_plan plan = march_plan_of(job, std::is_same<Sum, double>::value);
    const unsigned blocks = march_cut(context, &plan, job->nz, SIDE, ROWS_STRIP);
    convolve_rows<T, Sum, SIDE, N_KERNELS, SEPARABLE, ZEROS>
        <<<blocks, MARCH_WARPS * WARP, 0, call->stream>>>((const T *)job->in, job->out, plan, *weights);
    return ts_cuda_launched(context, SEPARABLE ? "convolve_separable" : "convolve_taps");
}

#endif
