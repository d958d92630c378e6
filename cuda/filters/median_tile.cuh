/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the medians of 4 x 2 neighboring windows of 3 x 3, 5 x 5 or 7 x 7 keys at once. These
 * windows share most of their keys, so what they share is sorted once (A. Adams, Fast median
 * filters using separable sorting networks, 2021): first the columns, then the keys that are in all
 * windows of 2 x 2 neighbors. Keys that are too small or too large to be the median of any of the
 * four are dropped. Then the row that only two of the windows have is merged in, and then the
 * column that only one has. A median of 7 x 7 takes about 150 minima and maxima, while a network
 * for each window takes 1,000.
 *
 * All loops have constant bounds and unroll, so that keys stay in registers; a minimum or a maximum
 * that no median needs is left out by the compiler. The functions compile for the host too, where a
 * test checks them. K is a type of keys that has ts_lesser() and ts_greater().
 */
#ifndef CUDA_FILTERS_MEDIAN_TILE_CUH
#define CUDA_FILTERS_MEDIAN_TILE_CUH

#include <stdint.h>

#ifdef __CUDACC__
#define MEDIAN_INLINE static __device__ __forceinline__
#else
#define MEDIAN_INLINE static inline
#endif

enum { MEDIAN_ACROSS = 4, MEDIAN_DOWN = 2 }; /* windows of a tile */

MEDIAN_INLINE int32_t ts_lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

MEDIAN_INLINE int32_t ts_greater(int32_t a, int32_t b)
{
    return a < b ? b : a;
}

#ifdef __CUDACC__
/* Floats have the order of their keys, including zeros, unless one of them is NaN. */
MEDIAN_INLINE float ts_lesser(float a, float b)
{
    return fminf(a, b);
}

MEDIAN_INLINE float ts_greater(float a, float b)
{
    return fmaxf(a, b);
}

/* Two unsigned 16-bit keys; from capability 9.0 on, one instruction compares both. */
struct key_pair {
    uint32_t both;
};

MEDIAN_INLINE key_pair ts_lesser(key_pair a, key_pair b)
{
    return {__vminu2(a.both, b.both)};
}

MEDIAN_INLINE key_pair ts_greater(key_pair a, key_pair b)
{
    return {__vmaxu2(a.both, b.both)};
}
#endif

template <typename K> MEDIAN_INLINE void ts_order_keys(K &a, K &b)
{
    const K low = ts_lesser(a, b);
    b = ts_greater(a, b);
    a = low;
}

/* The smallest power of two that is at least N. */
template <int N> constexpr int POWER_OF_TWO = 2 * POWER_OF_TWO<(N + 1) / 2>;
template <> constexpr int POWER_OF_TWO<1> = 1;

/* Merges A sorted keys with the B sorted keys behind them by odd-even merging (K. E. Batcher,
 * 1968). It works as if both lists had HALF keys: the first one filled up with low keys in front,
 * the second one with high keys at its end. Comparisons with these keys change nothing and are left
 * out. APART is the distance of the keys that are compared. */
template <int A, int B, int HALF = POWER_OF_TWO<(A > B ? A : B)>, int APART = HALF, typename K>
MEDIAN_INLINE void ts_merge_keys(K *keys)
{
#pragma unroll
    for (int i = 0; i < A + B - APART; i++)
        if ((i + HALF - A) / APART % 2 == (APART < HALF))
            ts_order_keys(keys[i], keys[i + APART]);
    if constexpr (APART > 1)
        ts_merge_keys<A, B, HALF, APART / 2>(keys);
}

template <int N, typename K> MEDIAN_INLINE void ts_sort_keys(K *keys)
{
    if constexpr (N > 1) {
        ts_sort_keys<N / 2>(keys);
        ts_sort_keys<N - N / 2>(keys + N / 2);
        ts_merge_keys<N / 2, N - N / 2>(keys);
    }
}

/* Returns the median of N sorted keys `a` and N - 1 sorted keys `b`: if i of the N smallest keys
 * come from `a`, the largest of them is max(a[i - 1], b[N - i - 1]), which is no smaller for any
 * other i. */
template <int N, typename K> MEDIAN_INLINE K ts_median_of_two(const K *a, const K *b)
{
    K median = a[N - 1];
#pragma unroll
    for (int i = 1; i < N; i++)
        median = ts_lesser(median, ts_greater(a[i - 1], b[N - i - 1]));
    return median;
}

template <typename K> MEDIAN_INLINE K ts_median_of_three(K a, K b, K c)
{
    return ts_greater(ts_lesser(a, b), ts_lesser(ts_greater(a, b), c));
}

/* The median of nine keys is the median of three: the largest low, the median middle and the
 * smallest high of three sorted columns (A. W. Paeth, Median finding on a 3 x 3 grid, 1990). */
template <typename K>
MEDIAN_INLINE void ts_medians_of_nine(const K keys[][MEDIAN_ACROSS + 2], K medians[][MEDIAN_ACROSS])
{
    enum { WIDE = MEDIAN_ACROSS + 2 };
    K low[WIDE], high[WIDE];
#pragma unroll
    for (int c = 0; c < WIDE; c++) {
        low[c] = ts_lesser(keys[1][c], keys[2][c]);
        high[c] = ts_greater(keys[1][c], keys[2][c]);
    }
#pragma unroll
    for (int row = 0; row < MEDIAN_DOWN; row++) {
        K lows[WIDE], middles[WIDE], highs[WIDE];
#pragma unroll
        for (int c = 0; c < WIDE; c++) {
            const K third = keys[3 * row][c];
            lows[c] = ts_lesser(low[c], third);
            middles[c] = ts_greater(low[c], ts_lesser(high[c], third));
            highs[c] = ts_greater(high[c], third);
        }
        /* Two neighboring windows share columns i + 1 and i + 2. */
#pragma unroll
        for (int i = 0; i < MEDIAN_ACROSS; i += 2) {
            const K largest = ts_greater(lows[i + 1], lows[i + 2]),
                    smallest = ts_lesser(highs[i + 1], highs[i + 2]);
            const K below = ts_lesser(middles[i + 1], middles[i + 2]),
                    above = ts_greater(middles[i + 1], middles[i + 2]);
#pragma unroll
            for (int k = 0; k < 2; k++)
                medians[row][i + k] =
                    ts_median_of_three(ts_greater(largest, lows[i + 3 * k]),
                                       ts_greater(below, ts_lesser(above, middles[i + 3 * k])),
                                       ts_lesser(smallest, highs[i + 3 * k]));
        }
    }
}

/* Finds the medians of four windows: medians[row][x] and [x + 1] for both rows. `core` has the
 * sorted keys that are in all four, from SIZE - 1 rows and columns, starting at column x + 1;
 * columns[c] has those of column c in the same rows. */
template <int SIZE, typename K>
MEDIAN_INLINE void ts_medians_of_four(const K *core, const K columns[][SIZE],
                                      const K keys[][SIZE + MEDIAN_ACROSS - 1], int x,
                                      K medians[][MEDIAN_ACROSS])
{
    /* A median has MIDDLE smaller keys. A window has 2 SIZE - 1 keys more than the core: so core
     * key LOWEST is the first that can still have MIDDLE smaller keys, and key MIDDLE is the last
     * that does not have more. */
    constexpr int INNER = SIZE - 1, MIDDLE = SIZE * SIZE / 2;
    constexpr int LOWEST = MIDDLE - (2 * SIZE - 1), KEPT = MIDDLE + 1 - LOWEST;
#pragma unroll
    for (int row = 0; row < MEDIAN_DOWN; row++) {
        K kept[KEPT + INNER];
#pragma unroll
        for (int i = 0; i < KEPT; i++)
            kept[i] = core[LOWEST + i];
#pragma unroll
        for (int i = 0; i < INNER; i++)
            kept[KEPT + i] = keys[SIZE * row][x + 1 + i];
        ts_sort_keys<INNER>(kept + KEPT);
        ts_merge_keys<KEPT, INNER>(kept);
        /* Each window still lacks a column of SIZE keys. */
#pragma unroll
        for (int k = 0; k < 2; k++) {
            K column[SIZE];
#pragma unroll
            for (int i = 0; i < INNER; i++)
                column[i] = columns[x + SIZE * k][i];
            column[INNER] = keys[SIZE * row][x + SIZE * k];
            ts_merge_keys<INNER, 1>(column);
            medians[row][x + k] =
                ts_median_of_two<SIZE + 1>(kept + (MIDDLE - SIZE - LOWEST), column);
        }
    }
}

/* medians[y][x] is the median of keys[y + i][x + j] over i, j < SIZE. */
template <int SIZE, typename K>
MEDIAN_INLINE void ts_medians_of_tile(const K keys[][SIZE + MEDIAN_ACROSS - 1],
                                      K medians[][MEDIAN_ACROSS])
{
    if constexpr (SIZE == 3) {
        ts_medians_of_nine(keys, medians);
    } else {
        constexpr int INNER = SIZE - 1, WIDE = SIZE + MEDIAN_ACROSS - 1;
        K columns[WIDE][SIZE], cores[2][INNER * INNER];
#pragma unroll
        for (int c = 0; c < WIDE; c++) {
#pragma unroll
            for (int i = 0; i < INNER; i++)
                columns[c][i] = keys[i + 1][c];
            ts_sort_keys<INNER>(columns[c]);
        }
        /* Columns 3 to SIZE - 1 are in all windows, columns 1 and 2 only in the left four, SIZE and
         * SIZE + 1 only in the right four. Pairs of columns are merged, then pairs of pairs. */
#pragma unroll
        for (int c = 1; c < SIZE + 2; c++)
#pragma unroll
            for (int i = 0; i < INNER; i++) {
                if (c > 2)
                    cores[1][(c - 3) * INNER + i] = columns[c][i];
                else
                    cores[0][(c + INNER - 3) * INNER + i] = columns[c][i];
            }
#pragma unroll
        for (int c = 0; c < INNER; c += 2)
            ts_merge_keys<INNER, INNER>(cores[1] + c * INNER);
        if constexpr (SIZE == 7)
            ts_merge_keys<2 * INNER, 2 * INNER>(cores[1]);
        ts_merge_keys<INNER, INNER>(cores[0] + (INNER - 2) * INNER);
#pragma unroll
        for (int i = 0; i < (INNER - 2) * INNER; i++)
            cores[0][i] = cores[1][i];
        ts_merge_keys<(INNER - 2) * INNER, 2 * INNER>(cores[0]);
        ts_medians_of_four<SIZE>(cores[0], columns, keys, 0, medians);
        ts_merge_keys<(INNER - 2) * INNER, 2 * INNER>(cores[1]);
        ts_medians_of_four<SIZE>(cores[1], columns, keys, 2, medians);
    }
}

#endif
