/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest and the largest finite value of an image, and how many values are not numbers.
 */
#ifndef STAGES_COMMON_VALUE_RANGE_H
#define STAGES_COMMON_VALUE_RANGE_H

#include "pipeline/image.h"

/* Zero bytes are an empty range. */
struct value_range {
    uint64_t n_finite, n_nan, n_infinite;
    double low, high; /* no meaning where n_finite is 0 */
};

void ts_value_range_add(struct value_range *range, const void *data, enum ts_dtype dtype, size_t n);
void ts_value_range_merge(struct value_range *into, const struct value_range *from);

#endif
