/* SPDX-License-Identifier: Apache-2.0
 *
 * This transposes complex numbers for the gridding on the CPU, four lines at a time. A number is 8
 * bytes, so that four of them are one vector and shuffles of four vectors exchange lines and
 * columns.
 */
#ifndef STAGES_RECONSTRUCTION_POLAR_TRANSPOSE_H
#define STAGES_RECONSTRUCTION_POLAR_TRANSPOSE_H

#include <stdint.h>

enum { POLAR_TILE = 4 };

typedef float complex_pair __attribute__((vector_size(8), aligned(8), may_alias));

/* Sets to[j][i] = from[i][j] for i < n, j < POLAR_TILE. */
static inline __attribute__((always_inline)) void ts_polar_transpose(const complex_pair *from,
                                                                     int64_t from_step, int64_t n,
                                                                     complex_pair *to,
                                                                     int64_t to_step)
{
    typedef int64_t quad __attribute__((vector_size(32), aligned(8), may_alias));
    const int64_t fours = n / 4 * 4;
    for (int64_t i = 0; i < fours; i += 4) {
        const quad a = *(const quad *)(from + i * from_step),
                   b = *(const quad *)(from + (i + 1) * from_step),
                   c = *(const quad *)(from + (i + 2) * from_step),
                   d = *(const quad *)(from + (i + 3) * from_step);
        const quad ab_even = __builtin_shufflevector(a, b, 0, 4, 2, 6),
                   ab_odd = __builtin_shufflevector(a, b, 1, 5, 3, 7),
                   cd_even = __builtin_shufflevector(c, d, 0, 4, 2, 6),
                   cd_odd = __builtin_shufflevector(c, d, 1, 5, 3, 7);
        *(quad *)(to + i) = __builtin_shufflevector(ab_even, cd_even, 0, 1, 4, 5);
        *(quad *)(to + to_step + i) = __builtin_shufflevector(ab_odd, cd_odd, 0, 1, 4, 5);
        *(quad *)(to + 2 * to_step + i) = __builtin_shufflevector(ab_even, cd_even, 2, 3, 6, 7);
        *(quad *)(to + 3 * to_step + i) = __builtin_shufflevector(ab_odd, cd_odd, 2, 3, 6, 7);
    }
    for (int64_t i = fours; i < n; i++)
        for (int64_t j = 0; j < POLAR_TILE; j++)
            to[j * to_step + i] = from[i * from_step + j];
}

#endif
