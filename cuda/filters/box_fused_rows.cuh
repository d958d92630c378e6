/* SPDX-License-Identifier: Apache-2.0
 *
 * box in one pass for radius 1 to 8 over rows of 8- and 16-bit integers whose length is a multiple of 16. A warp owns
 * a strip of 32 x 16 columns, 16 for each lane, and a chunk of rows, and goes down the chunk (in every second chunk
 * up):
 *
 *     column sums  each lane adds the entering row to its 16 sums and subtracts the leaving one, which it kept in a
 *                  ring in shared memory; no other lane reads there, so there is no barrier. Entering rows are loaded
 *                  ROWS_AHEAD rows ahead.
 *     row sums     a lane makes prefix sums of its 16; what a window takes from the lanes beside comes by shuffles.
 *
 * Memory traffic: one read and one write a pixel; the second cache serves another 2 radius rows for each chunk and,
 * where a row is longer than 512, two lanes of 32. All sums are exact, and the mean is a multiplication. A block has 2
 * warps, because warps share nothing.
 */
#ifndef CUDA_FILTERS_BOX_FUSED_ROWS_CUH
#define CUDA_FILTERS_BOX_FUSED_ROWS_CUH

#include "cuda/filters/box_quad.cuh"

/* The registers of a multiprocessor must allow ROWS_BLOCKS blocks, as measured. */
enum { ROWS_WARPS = 2, ROWS_COLUMNS = 16, ROWS_AHEAD = 4, ROWS_BLOCKS = 8 };

struct rows_plan : box_image {
    int strips, chunks, chunk; /* strips of a row; chunks of a slice; rows of a chunk */
    uint32_t outside;          /* the constant, with its sign bit flipped likewise */
};

/* A lane holds these 16 columns of a row. */
template <typename T> struct rows_sixteen {
    uint4 parts[sizeof(T)];
};

template <typename T>
static __device__ __forceinline__ void rows_unpack(const struct rows_sixteen<T> *row, uint32_t sign,
                                                   uint32_t (&out)[16])
{
#pragma unroll
    for (int part = 0; part < (int)sizeof(T); part++) {
        const uint32_t words[4] = {row->parts[part].x, row->parts[part].y, row->parts[part].z, row->parts[part].w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t word = words[i] ^ sign;
            if constexpr (sizeof(T) == 2) {
                out[8 * part + 2 * i] = word & 0xFFFF;
                out[8 * part + 2 * i + 1] = word >> 16;
            } else {
#pragma unroll
                for (int byte = 0; byte < 4; byte++)
                    out[4 * i + byte] = __byte_perm(word, 0, 0x4440 + byte);
            }
        }
    }
}

template <typename T>
static __device__ __forceinline__ struct rows_sixteen<T> rows_pack(const uint32_t (&means)[16], uint32_t sign) {
    struct rows_sixteen<T> row;
    uint32_t words[4 * sizeof(T)];
#pragma unroll
    for (int i = 0; i < 4 * (int)sizeof(T); i++) {
        if constexpr (sizeof(T) == 2)
            words[i] = __byte_perm(means[2 * i], means[2 * i + 1], 0x5410) ^ sign;
        else
            words[i] = __byte_perm(__byte_perm(means[4 * i], means[4 * i + 1], 0x0040),
                                   __byte_perm(means[4 * i + 2], means[4 * i + 3], 0x0040), 0x5410) ^
                       sign;
    }
#pragma unroll
    for (int part = 0; part < (int)sizeof(T); part++)
        row.parts[part] = make_uint4(words[4 * part], words[4 * part + 1], words[4 * part + 2], words[4 * part + 3]);
    return row;
}

/* The columns and neighbors of a lane. Lanes beside a strip's outputs write nothing: they only sum for the others. */
struct rows_lane {
    int column;      /* first column that the lane reads */
    int left, right; /* lanes beside it */
    bool first, last /* of the image's row, whose window reaches over its end */, writes;
};

static __device__ __forceinline__ struct rows_lane rows_lane_of(int strip, const struct rows_plan *plan)
{
    const int lane = threadIdx.x & 31, lanes = plan->nx / ROWS_COLUMNS;
    const bool wrap = plan->border == BORDER_WRAP, one = plan->strips == 1;
    const int place = one ? lane : 30 * strip - 1 + lane; /* in the row */
    struct rows_lane at;
    at.writes = place >= 0 && place < lanes && (one || (lane > 0 && lane < 31));
    at.first = place == 0 && !wrap;
    at.last = place == lanes - 1 && !wrap;
    const int from = place < 0 ? (wrap ? lanes - 1 : 0) : place < lanes ? place : wrap ? place - lanes : lanes - 1;
    at.column = ROWS_COLUMNS * min(from, lanes - 1);
    at.left = one && lane == 0 ? lanes - 1 : max(lane - 1, 0);
    at.right = one && lane == lanes - 1 ? 0 : min(lane + 1, 31);
    return at;
}

/* Sums the 1 .. R columns beyond the row's end. prefix[i] is the sum of the lane's first i columns, `beyond` that of a
 * column outside. */
template <int R>
static __device__ __forceinline__ void rows_before(const uint32_t (&prefix)[17], int border, uint32_t beyond,
                                                   uint32_t (&sums)[R + 1])
{
#pragma unroll
    for (int i = 1; i <= R; i++)
        sums[i] = border == BORDER_REFLECT   ? prefix[i]
                  : border == BORDER_MIRROR  ? prefix[i + 1] - prefix[1]
                  : border == BORDER_NEAREST ? i * prefix[1]
                                             : i * beyond;
}
template <int R>
static __device__ __forceinline__ void rows_behind(const uint32_t (&prefix)[17], int border, uint32_t beyond,
                                                   uint32_t (&sums)[R + 1])
{
#pragma unroll
    for (int i = 1; i <= R; i++)
        sums[i] = border == BORDER_REFLECT   ? prefix[16] - prefix[16 - i]
                  : border == BORDER_MIRROR  ? prefix[15] - prefix[15 - i]
                  : border == BORDER_NEAREST ? i * (prefix[16] - prefix[15])
                                             : i * beyond;
}

/* Makes the means of the windows around a lane's 16 columns. */
template <int R>
static __device__ __forceinline__ void rows_across(const uint32_t (&sums)[16], const struct rows_lane *at,
                                                   const struct rows_plan *plan, uint32_t (&means)[16])
{
    uint32_t prefix[17], before[R + 1], behind[R + 1];
    prefix[0] = 0;
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
        const uint32_t two = sums[i] + sums[i + 1];
        prefix[i + 1] = prefix[i] + sums[i];
        prefix[i + 2] = prefix[i] + two;
        prefix[i + 3] = prefix[i] + two + sums[i + 2];
        prefix[i + 4] = prefix[i] + (two + (sums[i + 2] + sums[i + 3]));
    }
#pragma unroll
    for (int i = 1; i <= R; i++) {
        before[i] = __shfl_sync(0xFFFFFFFF, prefix[16] - prefix[16 - i], at->left);
        behind[i] = __shfl_sync(0xFFFFFFFF, prefix[i], at->right);
    }
    const uint32_t beyond = plan->outside * (2 * R + 1);
    if (at->first)
        rows_before<R>(prefix, plan->border, beyond, before);
    if (at->last)
        rows_behind<R>(prefix, plan->border, beyond, behind);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int low = i - R, high = i + R + 1;
        uint32_t sum = prefix[high < 16 ? high : 16] - prefix[low > 0 ? low : 0] + plan->divisor.half;
        if (low < 0)
            sum += before[-low];
        if (high > 16)
            sum += behind[high - 16];
        means[i] = __umulhi(sum, plan->divisor.factor);
    }
}

/* Loads row y, or the row of the image that stands for it. */
template <typename T>
static __device__ __forceinline__ struct rows_sixteen<T> rows_load(const T *columns, int y,
                                                                   const struct rows_plan *plan) {
    struct rows_sixteen<T> row;
    if (y < 0 || y >= plan->ny)
        y = ts_cuda_border_apart(y, plan->ny, plan->border);
    const uint4 *from = (const uint4 *)(columns + (int64_t)max(y, 0) * plan->nx);
#pragma unroll
    for (int part = 0; part < (int)sizeof(T); part++)
        row.parts[part] = from[part];
    return row;
}

/* Replaces row y by the constant where it lies outside the image, with border constant. */
template <typename T>
static __device__ __forceinline__ void rows_fill(int y, const struct rows_plan *plan, uint32_t (&samples)[16])
{
    if (plan->border == BORDER_CONSTANT && (y < 0 || y >= plan->ny))
        for (int i = 0; i < 16; i++)
            samples[i] = plan->outside;
}

/* `sign` is that of the plan, in all values of a word. */
template <typename T, int R>
static __global__ void __launch_bounds__(32 * ROWS_WARPS, ROWS_BLOCKS)
    fused_rows(const T *in, T *out, const __grid_constant__ struct rows_plan plan, uint32_t sign)
{
    enum { WINDOW = 2 * R + 1, PARTS = sizeof(T) };
    __shared__ uint4 rings[ROWS_WARPS][WINDOW][PARTS][32];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int64_t job = (int64_t)blockIdx.x * ROWS_WARPS + warp, chunk_of_all = job / plan.strips;
    const int chunk = (int)(chunk_of_all % plan.chunks);
    const int64_t z = chunk_of_all / plan.chunks;
    if (z >= plan.nz)
        return;
    const struct rows_lane at = rows_lane_of((int)(job % plan.strips), &plan);
    const int y_first = chunk * plan.chunk, y_end = min(y_first + plan.chunk, plan.ny), rows = y_end - y_first;
    const int step = chunk % 2 ? -1 : 1, row = chunk % 2 ? y_end - 1 : y_first;
    const T *const columns = in + z * plan.ny * plan.nx + at.column;
    T *to = out + (z * plan.ny + row) * plan.nx + at.column;
    const int first = row - R * step; /* row 0 of the march */
    uint32_t sums[16] = {};
    for (int t = 0; t < WINDOW; t++) {
        /* The row before them all leaves first. */
        const int y = first + (t - 1) * step;
        const struct rows_sixteen<T> entering = rows_load(columns, y, &plan);
        uint32_t samples[16];
        rows_unpack(&entering, sign, samples);
        rows_fill<T>(y, &plan, samples);
        for (int i = 0; i < 16; i++)
            sums[i] += samples[i];
        for (int part = 0; part < PARTS; part++)
            rings[warp][t][part][lane] = entering.parts[part];
    }
    struct rows_sixteen<T> ahead[ROWS_AHEAD];
#pragma unroll
    for (int k = 0; k < ROWS_AHEAD; k++)
        ahead[k] = rows_load(columns, first + (2 * R + min(k, rows - 1)) * step, &plan);
    for (int j = 0, slot = 0; j < rows; j += ROWS_AHEAD) {
#pragma unroll
        for (int k = 0; k < ROWS_AHEAD; k++) {
            if (j + k >= rows)
                break;
            uint32_t entering[16], leaving[16], means[16];
            struct rows_sixteen<T> oldest;
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                oldest.parts[part] = rings[warp][slot][part][lane];
                rings[warp][slot][part][lane] = ahead[k].parts[part];
            }
            slot = slot == WINDOW - 1 ? 0 : slot + 1;
            rows_unpack(&ahead[k], sign, entering);
            rows_unpack(&oldest, sign, leaving);
            rows_fill<T>(first + (2 * R + j + k) * step, &plan, entering);
            rows_fill<T>(first + (j + k - 1) * step, &plan, leaving);
            ahead[k] = rows_load(columns, first + (2 * R + min(j + k + ROWS_AHEAD, rows - 1)) * step, &plan);
#pragma unroll
            for (int i = 0; i < 16; i++)
                sums[i] += entering[i] - leaving[i];
            rows_across<R>(sums, &at, &plan, means);
            const struct rows_sixteen<T> result = rows_pack<T>(means, sign);
            for (int part = 0; part < PARTS && at.writes; part++)
                __stcs((uint4 *)to + part, result.parts[part]);
            to += (int64_t)step * plan.nx;
        }
    }
}

#endif
