/* SPDX-License-Identifier: Apache-2.0
 *
 * bounds finds the smallest box that contains a region: the pixels of a mask, or those above or
 * below a value, or both. The box becomes tables of the result, and crop uses it. The struct that
 * the CPU code and cuda/regions/bounds.cu both fill is here.
 */
#ifndef STAGES_REGIONS_BOUNDS_H
#define STAGES_REGIONS_BOUNDS_H

#include "stages/engine/stage.h"
#include "stages/values/value_keys.h"

struct bounds_params {
    double above, below; /* infinite: no bound */
    struct ts_reference mask;
};

/* A box of indices along z, y and x, [first, end), and the number of pixels of the region in it.
 * Zero bytes are an empty box: first indices are kept as ~first, so that both ends only grow. */
struct bounds_box {
    uint64_t n;
    uint32_t not_first[3], end[3];
};

/* Returns the keys of the values that belong to the region. */
struct key_range ts_bounds_keys(const struct stage_context *context);

#endif
