/* SPDX-License-Identifier: Apache-2.0
 *
 * box in one pass for radius 1 to 8. A warp makes a tile of 30 x 4 (from radius 5: 28 x 4) columns
 * and ROWS rows: every lane loads 4 columns of ROWS + 2 radius rows at once (16 bytes for each row
 * of floats), adds down the columns in registers, and takes the sums of neighboring columns from
 * the lanes beside it. No state is kept between tiles, no shared memory and no barrier, so that
 * many loads are in flight at once.
 *
 * Memory traffic: each pixel is read once from device memory and written once; the tiles around a
 * tile read its outer lanes and rows again, from the caches. Hence a block is 4 warps, one below
 * the other.
 *
 * Sums of 8- and 16-bit integers are exact in 32 bits, and the mean is a multiplication (289 *
 * 65535 < 2^25). Floats are added by the same tree in every window, with at most 13 roundings in a
 * row.
 */
#ifndef CUDA_FILTERS_BOX_FUSED_SMALL_CUH
#define CUDA_FILTERS_BOX_FUSED_SMALL_CUH

#include "cuda/filters/box_quad.cuh"

/* ---- box fused rows ----------------------------------------------------------------------------
 *
 * box in one pass for radius 1 to 8 over rows of 8- and 16-bit integers whose length is a multiple
 * of 16. A warp owns a strip of 32 x 16 columns, 16 for each lane, and a chunk of rows, and goes
 * down the chunk (in every second chunk up):
 *
 *     column sums  each lane adds the entering row to its 16 sums and subtracts the leaving one,
 *                  which it kept in a ring in shared memory; no other lane reads there, so there is
 *                  no barrier. Entering rows are loaded ROWS_AHEAD rows ahead.
 *     row sums     a lane makes prefix sums of its 16; what a window takes from the lanes beside
 *                  comes by shuffles.
 *
 * Memory traffic: one read and one write a pixel; the second cache serves another 2 radius rows
 * for each chunk and, if a row is longer than 512, two lanes of 32. All sums are exact, and
 * the mean is a multiplication. A block has 2 warps, because warps share nothing. */

/* The registers of a multiprocessor must allow ROWS_BLOCKS blocks, as measured. */
enum { ROWS_WARPS = 2, ROWS_COLUMNS = 16, ROWS_AHEAD = 4, ROWS_BLOCKS = 8 };

struct rows_plan : box_image {
    int strips, chunks, chunk; /* strips of a row; chunks of a slice; rows of a chunk */
    uint32_t outside;          /* the constant, with its sign bit flipped as in the samples */
};

/* The 16 columns of a row that a lane holds. */
template <typename T> struct rows_sixteen {
    uint4 parts[sizeof(T)];
};

template <typename T>
static __device__ __forceinline__ void rows_unpack(const struct rows_sixteen<T> *row, uint32_t sign,
                                                   uint32_t (&out)[16])
{
#pragma unroll
    for (int part = 0; part < (int)sizeof(T); part++) {
        const uint32_t words[4] = {row->parts[part].x, row->parts[part].y, row->parts[part].z,
                                   row->parts[part].w};
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
static __device__ __forceinline__ struct rows_sixteen<T> rows_pack(const uint32_t (&means)[16],
                                                                   uint32_t sign) {
    struct rows_sixteen<T> row;
    uint32_t words[4 * sizeof(T)];
#pragma unroll
    for (int i = 0; i < 4 * (int)sizeof(T); i++) {
        if constexpr (sizeof(T) == 2)
            words[i] = __byte_perm(means[2 * i], means[2 * i + 1], 0x5410) ^ sign;
        else
            words[i] =
                __byte_perm(__byte_perm(means[4 * i], means[4 * i + 1], 0x0040),
                            __byte_perm(means[4 * i + 2], means[4 * i + 3], 0x0040), 0x5410) ^
                sign;
    }
#pragma unroll
    for (int part = 0; part < (int)sizeof(T); part++)
        row.parts[part] = make_uint4(words[4 * part], words[4 * part + 1], words[4 * part + 2],
                                     words[4 * part + 3]);
    return row;
}

/* The columns and neighbors of a lane. Lanes beside a strip's outputs write nothing: they only sum
 * for the others. */
struct rows_lane {
    int column;       /* first column that the lane reads */
    int left, right;  /* the lanes beside it */
    bool first, last; /* true if the lane's windows reach over that end of the image's row */
    bool writes;
};

static __device__ __forceinline__ struct rows_lane rows_lane_of(int strip,
                                                                const struct rows_plan *plan)
{
    const int lane = threadIdx.x & 31, lanes = plan->nx / ROWS_COLUMNS;
    const bool wrap = plan->border == BORDER_WRAP, one = plan->strips == 1;
    const int place = one ? lane : 30 * strip - 1 + lane; /* lane's place in the row */
    struct rows_lane at;
    at.writes = place >= 0 && place < lanes && (one || (lane > 0 && lane < 31));
    at.first = place == 0 && !wrap;
    at.last = place == lanes - 1 && !wrap;
    const int from = place < 0       ? (wrap ? lanes - 1 : 0)
                     : place < lanes ? place
                     : wrap          ? place - lanes
                                     : lanes - 1;
    at.column = ROWS_COLUMNS * min(from, lanes - 1);
    at.left = one && lane == 0 ? lanes - 1 : max(lane - 1, 0);
    at.right = one && lane == lanes - 1 ? 0 : min(lane + 1, 31);
    return at;
}

/* Sums the 1 .. R columns beyond the row's beginning or end. prefix[i] is the sum of the lane's
 * first i columns; `beyond` is the sum of a column outside. */
template <int R>
static __device__ __forceinline__ void rows_before(const uint32_t (&prefix)[17], int border,
                                                   uint32_t beyond, uint32_t (&sums)[R + 1])
{
#pragma unroll
    for (int i = 1; i <= R; i++)
        sums[i] = border == BORDER_REFLECT   ? prefix[i]
                  : border == BORDER_MIRROR  ? prefix[i + 1] - prefix[1]
                  : border == BORDER_NEAREST ? i * prefix[1]
                                             : i * beyond;
}
template <int R>
static __device__ __forceinline__ void rows_behind(const uint32_t (&prefix)[17], int border,
                                                   uint32_t beyond, uint32_t (&sums)[R + 1])
{
#pragma unroll
    for (int i = 1; i <= R; i++)
        sums[i] = border == BORDER_REFLECT   ? prefix[16] - prefix[16 - i]
                  : border == BORDER_MIRROR  ? prefix[15] - prefix[15 - i]
                  : border == BORDER_NEAREST ? i * (prefix[16] - prefix[15])
                                             : i * beyond;
}

/* Computes the means of the windows around a lane's 16 columns. */
template <int R>
static __device__ __forceinline__ void
rows_across(const uint32_t (&sums)[16], const struct rows_lane *at, const struct rows_plan *plan,
            uint32_t (&means)[16])
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
        uint32_t sum =
            prefix[high < 16 ? high : 16] - prefix[low > 0 ? low : 0] + plan->divisor.half;
        if (low < 0)
            sum += before[-low];
        if (high > 16)
            sum += behind[high - 16];
        means[i] = __umulhi(sum, plan->divisor.factor);
    }
}

/* Loads row y, or the image row that replaces it outside the image. */
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

/* Replaces row y by the constant if it is outside the image and the border is constant. */
template <typename T>
static __device__ __forceinline__ void rows_fill(int y, const struct rows_plan *plan,
                                                 uint32_t (&samples)[16])
{
    if (plan->border == BORDER_CONSTANT && (y < 0 || y >= plan->ny))
        for (int i = 0; i < 16; i++)
            samples[i] = plan->outside;
}

/* `sign` is the plan's, repeated in all values of a word. */
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
    const int y_first = chunk * plan.chunk, y_end = min(y_first + plan.chunk, plan.ny),
              rows = y_end - y_first;
    const int step = chunk % 2 ? -1 : 1, row = chunk % 2 ? y_end - 1 : y_first;
    const T *const columns = in + z * plan.ny * plan.nx + at.column;
    T *to = out + (z * plan.ny + row) * plan.nx + at.column;
    const int first = row - R * step; /* row 0 of the march */
    uint32_t sums[16] = {};
    for (int t = 0; t < WINDOW; t++) {
        /* The row before all of them leaves first. */
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
            ahead[k] = rows_load(columns,
                                 first + (2 * R + min(j + k + ROWS_AHEAD, rows - 1)) * step, &plan);
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

enum { SMALL_WARPS = 4 };

/* Returns the output columns of a warp: its outer lanes only sum for the others. */
static inline __host__ __device__ constexpr int small_width(int radius)
{
    return 4 * (32 - 2 * ((radius + 3) / 4));
}

struct small_plan : box_image {
    int strips, tiles; /* strips of a row; tiles of a slice, one below the other */
};

/* Turns a sample of an integer type into an unsigned integer; floats stay floats. */
template <typename T>
static __device__ __forceinline__ box_sum<T> small_sample(T value, uint32_t sign)
{
    if constexpr (std::is_same<T, float>::value)
        return value;
    else
        return (uint32_t)value ^ sign;
}

/* Up to radius 8 the divisor of a square window needs no shift. */
template <typename T>
static __device__ __forceinline__ T small_mean(uint32_t sum, const struct small_plan *plan)
{
    return (T)(__umulhi(sum + plan->divisor.half, plan->divisor.factor) ^ plan->sign);
}
template <typename T>
static __device__ __forceinline__ T small_mean(float sum, const struct small_plan *plan)
{
    return sum * plan->scale;
}

/* Sums floats down the columns: sums[j] is that of samples[j .. j + 2 R], made of sums of 2, 4, 8
 * and 16 samples. */
template <int R, int ROWS>
static __device__ __forceinline__ void small_columns(const float (&samples)[ROWS + 2 * R],
                                                     float (&sums)[ROWS])
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
        /* The window consists of samples[0 .. 2 R - 1], cut into powers of 2 from its end, and the
         * last sample. */
        if (R & length) {
            const int from = 2 * R - 2 * (R & (2 * length - 1));
#pragma unroll
            for (int j = 0; j < ROWS; j++)
                sums[j] += powers[j + from];
        }
    }
}

/* Replaces each of a lane's four column sums by the sum of the 2 R + 1 around it. Lanes before
 * contribute the last of their four, lanes behind the first. */
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
    /* How many of the lane's own four the outer and the inner windows contain. */
    enum { NEAR = R + 1 < 4 ? R + 1 : 4, FAR = R + 2 < 4 ? R + 2 : 4 };
    const V inner[4] = {starts[NEAR], starts[FAR], ends[FAR], ends[NEAR]};
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

/* A lane gets its 4 columns as four neighbors in memory, in order or reversed, or one by one, or
 * without memory. */
enum small_way { SMALL_STRAIGHT, SMALL_REVERSED, SMALL_SINGLY, SMALL_CONSTANT };
struct small_columns_from {
    enum small_way way;
    int column, columns[4];
};

static __device__ __forceinline__ struct small_columns_from
small_columns_of(int column, int end, const struct small_plan *plan)
{
    struct small_columns_from from = {SMALL_STRAIGHT, column, {0, 0, 0, 0}};
    if (plan->aligned && column >= 0 && column + 4 <= plan->nx)
        return from;
    if (column >= end) { /* no output needs these columns */
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
static __device__ __forceinline__ void
small_load(const T *slice, int first, const struct small_columns_from *from, T outside,
           const struct small_plan *plan, box_quad<T> (&quads)[N])
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
                    quads[k].values[i] =
                        far && from->columns[i] >= 0 ? at[from->columns[i]] : outside;
        }
    } else {
        /* Lane k finds the image row for row first + k. */
        const int lane = threadIdx.x & 31;
        const int my_row =
            ts_cuda_border_apart(first + (lane < N ? lane : 0), plan->ny, plan->border);
#pragma unroll
        for (int k = 0; k < N; k++) {
            const int y = __shfl_sync(0xFFFFFFFF, my_row, k);
            const T *at = slice + (int64_t)y * plan->nx;
            if (y >= 0 && near) {
                quads[k].raw = *(const RAW *)(at + from->column);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++)
                    quads[k].values[i] =
                        y >= 0 && far && from->columns[i] >= 0 ? at[from->columns[i]] : outside;
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

/* Writes the sums down the columns of a tile of floats. */
template <int R, int ROWS>
static __device__ __forceinline__ void small_tile(const box_quad<float> (&quads)[ROWS + 2 * R],
                                                  float (&sums)[ROWS][4])
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
static __device__ __forceinline__ void small_finish(V (&sums)[4], const struct small_plan *plan,
                                                    bool writes, int column, T *to)
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
    } else { /* going row by row takes fewer registers, but subtracts, which floats must not */
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
