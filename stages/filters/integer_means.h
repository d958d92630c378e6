/* SPDX-License-Identifier: Apache-2.0
 *
 * This divides exact sums of integers to rounded means.
 */
#ifndef STAGES_FILTERS_INTEGER_MEANS_H
#define STAGES_FILTERS_INTEGER_MEANS_H

#include "stages/filters/window_sum.h"

/* out[i] = sums[i] / count to the nearest integer, for i < n; count is odd. The sums have 32 or 64 bits as `total`
 * says, always 64 for 32-bit values. `largest` is the largest magnitude that a sum of 8- or 16-bit values may have.
 * Nothing is done for floats. There are no errors. */
void ts_integer_means(enum ts_dtype dtype, enum window_total total, int64_t count, double largest, const void *sums,
                      void *out, int64_t n);

#endif
