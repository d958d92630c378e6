/* SPDX-License-Identifier: Apache-2.0
 *
 * Pearson's correlation of two lists of values that are given pair by pair.
 */
#ifndef TESTS_SUPPORT_CORRELATION_H
#define TESTS_SUPPORT_CORRELATION_H

struct correlation {
    double n, a, b, aa, bb, ab; /* sums; all 0 at first */
};

void ts_correlation_add(struct correlation *sums, double a, double b);
/* NaN where one of the two is constant. */
double ts_correlation_of(const struct correlation *sums);

#endif
