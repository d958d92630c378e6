/* SPDX-License-Identifier: Apache-2.0
 *
 * Otsu's threshold (N. Otsu, 1979): of all ways to part values into lower and higher ones, the one whose two classes
 * lie furthest apart, by the variance between them.
 */
#ifndef STAGES_COUNTING_OTSU_H
#define STAGES_COUNTING_OTSU_H

#include <stddef.h>
#include <stdint.h>

/* Returns the index of the last value of the lower class, of n evenly spaced values that occur counts[i] times: the
 * first of equally good ones, and where one value alone occurs its index. -1 where nothing was counted. */
int64_t ts_otsu(const uint64_t *counts, size_t n);

#endif
