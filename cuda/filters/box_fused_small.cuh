/* SPDX-License-Identifier: Apache-2.0
 *
 * box in one pass for radius 1 to 8. A warp makes a tile of 30 x 4 (from radius 5: 28 x 4) columns and ROWS rows: every
 * lane loads 4 columns of ROWS + 2 radius rows at once (16 bytes for each row of floats), adds down the columns in
 * registers, and takes what it needs of its neighbors' sums from lanes beside it. There is no state from tile to tile,
 * no shared memory and no barrier, so that many loads are in flight at once.
 *
 * Memory traffic: each pixel is read once from device memory and written once; the tiles around a tile read its outer
 * lanes and rows again, from the caches. Hence a block is 4 warps, one below the other.
 *
 * Sums of 8- and 16-bit integers are exact in 32 bits, and the mean is a multiplication (289 * 65535 < 2^25). Floats
 * have the same tree of additions in every window, at most 13 roundings one after the other.
 */
#ifndef CUDA_FILTERS_BOX_FUSED_SMALL_CUH
#define CUDA_FILTERS_BOX_FUSED_SMALL_CUH

#include "cuda/filters/box_quad.cuh"

enum { SMALL_WARPS = 4 };

/* Columns of outputs of a warp: its outer lanes only sum for the others. */
static inline __host__ __device__ constexpr int small_width(int radius)
{
    return 4 * (32 - 2 * ((radius + 3) / 4));
}

struct small_plan : box_image {
    int strips, tiles; /* strips of a row; blocks of rows of a slice */
};

/* Samples become unsigned integers, or stay floats. */
template <typename T> static __device__ __forceinline__ box_sum<T> small_sample(T value, uint32_t sign)
{
    if constexpr (std::is_same<T, float>::value)
        return value;
    else
        return (uint32_t)value ^ sign;
}

/* Up to radius 8 the divisor of a square window has no shift. */
template <typename T> static __device__ __forceinline__ T small_mean(uint32_t sum, const struct small_plan *plan)
{
    return (T)(__umulhi(sum + plan->divisor.half, plan->divisor.factor) ^ plan->sign);
}
template <typename T> static __device__ __forceinline__ T small_mean(float sum, const struct small_plan *plan)
{
    return sum * plan->scale;
}

/* Sums of floats down the columns: sums[j] of samples[j .. j + 2 R], made of the sums of 2, 4, 8 and 16 samples. */
template <int R, int ROWS>
static __device__ __forceinline__ void small_columns(const float (&samples)[ROWS + 2 * R], float (&sums)[ROWS])
{
    float powers[ROWS + 2 * R];
#pragma unroll
    for (int k = 0; k < ROWS + 2 * R; k++)
        powers[k] = samples[k];
#pragma unroll
    for (int j = 0; j < ROWS; j++)
        sums[j] = samples[j + 2 * R];
#pragma unroll
    for (int length = 1; length <= R; length *= 2) {
#pragma unroll
        for (int k = 0; k + length < ROWS + 2 * R; k++)
            powers[k] += powers[k + length];
        /* The window is samples[0 .. 2 R - 1], cut into powers of 2 from its end, and the last sample. */
        if (R & length) {
            const int from = 2 * R - 2 * (R & (2 * length - 1));
#pragma unroll
            for (int j = 0; j < ROWS; j++)
                sums[j] += powers[j + from];
        }
    }
}

/* Sums 2 R + 1 column sums around each of a lane's four, in place. The lanes before contribute the ends of their four,
 * the lanes behind the starts. */
template <int R, typename V> static __device__ __forceinline__ void small_row(V (&s)[4])
{
    const V ends[5] = {0, s[3], s[2] + s[3], s[1] + (s[2] + s[3]), (s[0] + s[1]) + (s[2] + s[3])};
    const V starts[5] = {0, s[0], s[0] + s[1], (s[0] + s[1]) + s[2], ends[4]};
    V before[3][5], behind[3][5];
#pragma unroll
    for (int distance = 1; distance <= (R + 3) / 4; distance++)
#pragma unroll
        for (int n = 1; n <= 4; n++) {
            const int reach = 4 * (distance - 1) + n; /* beyond the lane's own four */
            if (reach <= R && (reach >= R - 3 || n == 4)) {
                before[distance][n] = __shfl_up_sync(0xFFFFFFFF, ends[n], distance);
                behind[distance][n] = __shfl_down_sync(0xFFFFFFFF, starts[n], distance);
            }
        }
    const V own = ends[4], inner[4] = {R >= 3   ? own
                                       : R == 2 ? starts[3]
                                                : starts[2],
                                       R >= 2 ? own : starts[3], R >= 2 ? own : ends[3],
                                       R >= 3   ? own
                                       : R == 2 ? ends[3]
                                                : ends[2]};
#pragma unroll
    for (int i = 0; i < 4; i++) {
        V sum = inner[i];
        const int left = R - i, right = R - 3 + i;
#pragma unroll
        for (int distance = 1; 4 * distance < left; distance++)
            sum += before[distance][4];
#pragma unroll
        for (int distance = 1; 4 * distance < right; distance++)
            sum += behind[distance][4];
        if (left > 0)
            sum += before[(left + 3) / 4][(left + 3) % 4 + 1];
        if (right > 0)
            sum += behind[(right + 3) / 4][(right + 3) % 4 + 1];
        s[i] = sum;
    }
}

/* A lane gets its 4 columns as four side by side in memory, in order or reversed; one by one; or without memory. */
enum small_way { SMALL_STRAIGHT, SMALL_REVERSED, SMALL_SINGLY, SMALL_CONSTANT };
struct small_columns_from {
    enum small_way way;
    int column, columns[4];
};

static __device__ __forceinline__ struct small_columns_from small_columns_of(int column, int end,
                                                                             const struct small_plan *plan)
{
    struct small_columns_from from = {SMALL_STRAIGHT, column, {0, 0, 0, 0}};
    if (plan->aligned && column >= 0 && column + 4 <= plan->nx)
        return from;
    if (column >= end) { /* no output needs them */
        from.way = SMALL_CONSTANT;
        return from;
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
        from.columns[i] = ts_cuda_border_apart(column + i, plan->nx, plan->border);
    const int first = from.columns[0], last = from.columns[3];
    if (plan->aligned && last == first + 3 && first % 4 == 0) {
        from.column = first;
    } else if (plan->aligned && first == last + 3 && last % 4 == 0) {
        from.way = SMALL_REVERSED;
        from.column = last;
    } else {
        from.way = first < 0 && last < 0 ? SMALL_CONSTANT : SMALL_SINGLY;
    }
    return from;
}

/* Loads rows first .. first + N - 1 of the lane's columns. */
template <typename T, int N>
static __device__ __forceinline__ void small_load(const T *slice, int first, const struct small_columns_from *from,
                                                  T outside, const struct small_plan *plan, box_quad<T> (&quads)[N])
{
    typedef box_word<T> RAW;
    const bool near = from->way <= SMALL_REVERSED, far = from->way == SMALL_SINGLY;
    if (first >= 0 && first + N <= plan->ny) {
        const T *at = slice + (int64_t)first * plan->nx + (near ? from->column : 0);
        if (near) {
#pragma unroll
            for (int k = 0; k < N; k++, at += plan->nx)
                quads[k].raw = *(const RAW *)at;
        } else {
#pragma unroll
            for (int k = 0; k < N; k++, at += plan->nx)
#pragma unroll
                for (int i = 0; i < 4; i++)
                    quads[k].values[i] = far && from->columns[i] >= 0 ? at[from->columns[i]] : outside;
        }
    } else {
        /* Lane k knows the row that stands for row first + k. */
        const int lane = threadIdx.x & 31;
        const int my_row = ts_cuda_border_apart(first + (lane < N ? lane : 0), plan->ny, plan->border);
#pragma unroll
        for (int k = 0; k < N; k++) {
            const int y = __shfl_sync(0xFFFFFFFF, my_row, k);
            const T *at = slice + (int64_t)y * plan->nx;
            if (y >= 0 && near) {
                quads[k].raw = *(const RAW *)(at + from->column);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    quads[k].values[i] = y >= 0 && far && from->columns[i] >= 0 ? at[from->columns[i]] : outside;
            }
        }
    }
    if (from->way == SMALL_REVERSED) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const box_quad<T> quad = quads[k];
            for (int i = 0; i < 4; i++)
                quads[k].values[i] = quad.values[3 - i];
        }
    }
}

/* Writes the column sums of a tile of floats. */
template <int R, int ROWS>
static __device__ __forceinline__ void small_tile(const box_quad<float> (&quads)[ROWS + 2 * R], float (&sums)[ROWS][4])
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float samples[ROWS + 2 * R], columns[ROWS];
#pragma unroll
        for (int k = 0; k < ROWS + 2 * R; k++)
            samples[k] = quads[k].values[i];
        small_columns<R, ROWS>(samples, columns);
#pragma unroll
        for (int j = 0; j < ROWS; j++)
            sums[j][i] = columns[j];
    }
}

/* Writes four means of a row. */
template <typename T, int R, typename V>
static __device__ __forceinline__ void small_finish(V (&sums)[4], const struct small_plan *plan, bool writes,
                                                    int column, T *to)
{
    small_row<R>(sums);
    box_quad<T> means;
#pragma unroll
    for (int i = 0; i < 4; i++)
        means.values[i] = small_mean<T>(sums[i], plan);
    if (!writes)
        return;
    if (plan->aligned) {
        *(box_word<T> *)to = means.raw;
    } else {
        for (int i = 0; i < 4 && column + i < plan->nx; i++)
            to[i] = means.values[i];
    }
}

template <typename T, int R, int ROWS, int BLOCKS>
static __global__ void __launch_bounds__(32 * SMALL_WARPS, BLOCKS)
    fused_small(const T *in, T *out, const __grid_constant__ struct small_plan plan, T outside)
{
    typedef box_sum<T> V;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const unsigned tile = blockIdx.x / plan.strips;
    const int first = (int)(tile % plan.tiles) * (ROWS * SMALL_WARPS) + warp * ROWS;
    const int halo = (R + 3) / 4;
    const int column = (int)(blockIdx.x % plan.strips) * small_width(R) + 4 * (lane - halo);
    const int64_t slice = (int64_t)(tile / plan.tiles) * plan.ny * plan.nx;
    if (first >= plan.ny)
        return;
    const struct small_columns_from from = small_columns_of(column, plan.nx + R, &plan);
    box_quad<T> quads[ROWS + 2 * R];
    small_load(in + slice, first - R, &from, outside, &plan, quads);
    const bool writes = lane >= halo && lane < 32 - halo && column < plan.nx;
    T *to = out + slice + (int64_t)first * plan.nx + column;
    if constexpr (std::is_same<T, float>::value) {
        float sums[ROWS][4];
        small_tile<R, ROWS>(quads, sums);
#pragma unroll
        for (int j = 0; j < ROWS; j++, to += plan.nx)
            small_finish<T, R>(sums[j], &plan, writes && first + j < plan.ny, column, to);
    } else { /* one row after the other takes fewer registers, but floats must not be subtracted */
        V columns[4] = {0, 0, 0, 0};
#pragma unroll
        for (int k = 0; k < 2 * R; k++)
            for (int i = 0; i < 4; i++)
                columns[i] += small_sample(quads[k].values[i], plan.sign);
#pragma unroll
        for (int j = 0; j < ROWS; j++, to += plan.nx) {
            V sums[4];
            for (int i = 0; i < 4; i++) {
                sums[i] = columns[i] += small_sample(quads[j + 2 * R].values[i], plan.sign);
                columns[i] -= small_sample(quads[j].values[i], plan.sign);
            }
            small_finish<T, R>(sums, &plan, writes && first + j < plan.ny, column, to);
        }
    }
}

#endif
