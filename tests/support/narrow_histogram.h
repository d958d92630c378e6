/* SPDX-License-Identifier: Apache-2.0
 *
 * Method warp-tagged of histogram with counts of 15 bits in place of 27 below the tag.
 */
#ifndef TESTS_SUPPORT_NARROW_HISTOGRAM_H
#define TESTS_SUPPORT_NARROW_HISTOGRAM_H

#include "cuda/device/session.h"

enum { NARROW_BITS = 15, NARROW_KEYS = 256, NARROW_WARPS = 8 };

/* Counts how often each value occurs, in one block of NARROW_WARPS warps. */
enum ts_status ts_test_narrow_histogram(const struct device_numbers *device, const uint8_t *pixels,
                                        size_t n, uint64_t counts[NARROW_KEYS],
                                        struct ts_diag *diag);

#endif
