/* SPDX-License-Identifier: Apache-2.0
 *
 * The networks of the CUDA kernels of median, compiled for the host. A network of comparisons merges all lists if it
 * merges those of zeros and ones (D. E. Knuth, The Art of Computer Programming, volume 3, 5.3.4), and of these sorted
 * lists have few, and all of them are tried. Whole tiles are compared with sorted windows.
 */
#include "cuda/filters/median_tile.cuh"

#include <criterion/criterion.h>

#include <algorithm>
#include <random>

TestSuite(median_tile);

template <int A, int B> static void merges_zeros_and_ones()
{
    for (int zeros_a = 0; zeros_a <= A; zeros_a++)
        for (int zeros_b = 0; zeros_b <= B; zeros_b++) {
            int32_t keys[A + B];
            for (int i = 0; i < A + B; i++)
                keys[i] = i < A ? i >= zeros_a : i - A >= zeros_b;
            ts_merge_keys<A, B>(keys);
            cr_assert(std::is_sorted(keys, keys + A + B), "%d and %d keys, %d and %d zeros", A, B, zeros_a, zeros_b);
        }
}

/* The merges of 5 x 5 and of 7 x 7 windows, in the order in which they occur. */
Test(median_tile, merges_by_the_0_1_principle)
{
    merges_zeros_and_ones<1, 1>();
    merges_zeros_and_ones<2, 2>();
    merges_zeros_and_ones<4, 4>();
    merges_zeros_and_ones<8, 8>();
    merges_zeros_and_ones<10, 4>();
    merges_zeros_and_ones<4, 1>();

    merges_zeros_and_ones<1, 2>();
    merges_zeros_and_ones<3, 3>();
    merges_zeros_and_ones<6, 6>();
    merges_zeros_and_ones<12, 12>();
    merges_zeros_and_ones<24, 12>();
    merges_zeros_and_ones<14, 6>();
    merges_zeros_and_ones<6, 1>();
}

/* The median of two sorted lists depends on their order alone as well. */
template <int N> static void finds_the_median_of_two()
{
    for (int zeros_a = 0; zeros_a <= N; zeros_a++)
        for (int zeros_b = 0; zeros_b < N; zeros_b++) {
            int32_t a[N], b[N];
            for (int i = 0; i < N; i++) {
                a[i] = i >= zeros_a;
                b[i] = i >= zeros_b;
            }
            cr_assert_eq(ts_median_of_two<N>(a, b), zeros_a + zeros_b < N, "%d zeros and %d", zeros_a, zeros_b);
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
                key = round % 4 == 3 ? random() % 100 < ones : (int32_t)(random() % range) - (int32_t)(range / 2);
        ts_medians_of_tile<SIZE>(keys, medians);
        for (int y = 0; y < MEDIAN_DOWN; y++)
            for (int x = 0; x < MEDIAN_ACROSS; x++) {
                for (int i = 0; i < SIZE * SIZE; i++)
                    window[i] = keys[y + i / SIZE][x + i % SIZE];
                std::nth_element(window, window + SIZE * SIZE / 2, window + SIZE * SIZE);
                cr_assert_eq(medians[y][x], window[SIZE * SIZE / 2], "round %d, window %d, %d", round, y, x);
            }
    }
}

Test(median_tile, agrees_with_sorted_windows)
{
    agrees_with_sorted_windows<3>();
    agrees_with_sorted_windows<5>();
    agrees_with_sorted_windows<7>();
}
