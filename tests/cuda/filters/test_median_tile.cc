/* SPDX-License-Identifier: Apache-2.0
 *
 * This tests the networks of the CUDA kernels of median, compiled for the host. A network of
 * comparisons merges all lists if it merges those of zeros and ones (D. E. Knuth, The Art of
 * Computer Programming, volume 3, 5.3.4), and of these sorted lists have few, and all of them are
 * tried. Whole tiles are compared with sorted windows.
 */
#include "cuda/filters/median_tile.cuh"

#include <criterion/criterion.h>

#include <algorithm>
#include <random>

TestSuite(median_tile);

static void zeros_then_ones(int32_t *keys, int n, int zeros)
{
    std::fill(keys, keys + zeros, 0);
    std::fill(keys + zeros, keys + n, 1);
}

/* Merges every sorted list of A zeros and ones with every one of B. */
template <int A, int B> static void merge_all()
{
    for (int zeros_a = 0; zeros_a <= A; zeros_a++)
        for (int zeros_b = 0; zeros_b <= B; zeros_b++) {
            int32_t keys[A + B];
            zeros_then_ones(keys, A, zeros_a);
            zeros_then_ones(keys + A, B, zeros_b);
            ts_merge_keys<A, B>(keys);
            cr_assert(std::is_sorted(keys, keys + A + B), "%d and %d keys, %d and %d zeros", A, B,
                      zeros_a, zeros_b);
        }
}

Test(median_tile, merges_by_the_0_1_principle)
{
    /* A line for each size of window, 5 x 5 and 7 x 7, with its merges in the order in which they
     * occur. */
    static void (*const merges[])() = {
        merge_all<1, 1>,   merge_all<2, 2>,  merge_all<4, 4>, merge_all<8, 8>, merge_all<10, 4>,
        merge_all<4, 1>,   merge_all<1, 2>,  merge_all<3, 3>, merge_all<6, 6>, merge_all<12, 12>,
        merge_all<24, 12>, merge_all<14, 6>, merge_all<6, 1>};
    for (auto merge : merges)
        merge();
}

/* The median of two sorted lists depends on their order alone as well. */
template <int N> static void finds_the_median_of_two()
{
    for (int zeros_a = 0; zeros_a <= N; zeros_a++)
        for (int zeros_b = 0; zeros_b < N; zeros_b++) {
            int32_t a[N], b[N];
            zeros_then_ones(a, N, zeros_a);
            zeros_then_ones(b, N, zeros_b);
            cr_assert_eq(ts_median_of_two<N>(a, b), zeros_a + zeros_b < N, "%d zeros and %d",
                         zeros_a, zeros_b);
        }
}

Test(median_tile, finds_the_median_of_two_lists)
{
    finds_the_median_of_two<6>();
    finds_the_median_of_two<8>();
}

/* Keys below `range` at random; zeros and ones in shares from few to many are the hardest. */
template <int SIZE> static void agrees_with_sorted_windows()
{
    std::mt19937 random(SIZE);
    for (int round = 0; round < 20000; round++) {
        int32_t keys[SIZE + 1][SIZE + 3], medians[MEDIAN_DOWN][MEDIAN_ACROSS], window[SIZE * SIZE];
        const unsigned range = round % 2 ? 2 + round % 61 : 1000000, ones = 20 + round % 61;
        for (auto &row : keys)
            for (int32_t &key : row)
                key = round % 4 == 3 ? random() % 100 < ones
                                     : (int32_t)(random() % range) - (int32_t)(range / 2);
        ts_medians_of_tile<SIZE>(keys, medians);
        for (int y = 0; y < MEDIAN_DOWN; y++)
            for (int x = 0; x < MEDIAN_ACROSS; x++) {
                for (int i = 0; i < SIZE * SIZE; i++)
                    window[i] = keys[y + i / SIZE][x + i % SIZE];
                std::nth_element(window, window + SIZE * SIZE / 2, window + SIZE * SIZE);
                cr_assert_eq(medians[y][x], window[SIZE * SIZE / 2], "round %d, window %d, %d",
                             round, y, x);
            }
    }
}

Test(median_tile, agrees_with_sorted_windows)
{
    agrees_with_sorted_windows<3>();
    agrees_with_sorted_windows<5>();
    agrees_with_sorted_windows<7>();
}
