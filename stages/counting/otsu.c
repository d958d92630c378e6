/* SPDX-License-Identifier: Apache-2.0
 *
 * The variance between the classes is w1 w2 (m1 - m2)^2, with w the shares of the classes and m their means. With N
 * values whose places add up to S, and N1 and S1 of the lower class, it is (S1 N - S N1)^2 / (N1 N2) / N^2. The
 * parenthesis is an exact integer here, so that the result depends on no order of summing.
 */
#include "stages/counting/otsu.h"

int64_t ts_otsu(const uint64_t *counts, size_t n)
{
    __int128 all = 0, places = 0, lower = 0, lower_places = 0;
    int64_t best = -1;
    double most = -1;
    for (size_t i = 0; i < n; i++) {
        all += counts[i];
        places += (__int128)counts[i] * (__int128)i;
    }
    for (size_t i = 0; i < n && lower < all; i++) {
        lower += counts[i];
        lower_places += (__int128)counts[i] * (__int128)i;
        const double apart = (double)(lower_places * all - places * lower);
        const double between = lower > 0 && lower < all ? apart * apart / ((double)lower * (double)(all - lower)) : -1;
        if (between > most || (best < 0 && lower == all)) {
            best = (int64_t)i;
            most = between;
        }
    }
    return best;
}
