/* SPDX-License-Identifier: Apache-2.0
 *
 * Rounded means of integers from their exact sums. Pure; no errors.
 */
#ifndef STAGES_FILTERS_INTEGER_MEANS_H
#define STAGES_FILTERS_INTEGER_MEANS_H

#include "stages/filters/window_sum.h"

/* out[i] = sums[i] / count to the nearest integer, for n of them; count is odd. sums: of 32 or 64 bits as `total` says,
 * those of 32-bit values always of 64; largest: magnitude that a sum of 8- or 16-bit values may have. Nothing is done
 * for floats. */
void ts_integer_means(enum ts_dtype dtype, enum window_total total, int64_t count, double largest, const void *sums,
                      void *out, int64_t n);

#endif
