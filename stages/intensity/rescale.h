/* SPDX-License-Identifier: Apache-2.0
 *
 * rescale maps values linearly: a range, or the range between two percentiles, to another range; or
 * to zero mean and unit variance. If the numbers come from the data, a reduction finds them first,
 * for the volume or for each slice. The layout of its result is here because the CPU code and
 * cuda/intensity/rescale.cu both use it.
 */
#ifndef STAGES_INTENSITY_RESCALE_H
#define STAGES_INTENSITY_RESCALE_H

#include "stages/counting/percentile.h"
#include "stages/engine/stage.h"

enum rescale_method { RESCALE_RANGE, RESCALE_PERCENTILES, RESCALE_Z_SCORE };

struct rescale_params {
    int32_t method; /* enum rescale_method */
    struct ts_numbers range;
    int32_t limits; /* enum limits */
    double low_percentile, high_percentile;
    int32_t scope; /* enum scope */
    bool clip;
    int32_t dtype; /* enum out_dtype */
    double out_low, out_high;
    int32_t quantity; /* enum ts_quantity */
    struct ts_reference mask;
};

/* The numbers that the map uses: the ends of the range, or mean and standard deviation. */
struct rescale_result {
    double numbers[2];
    struct percentile_search search; /* the struct ends before this if no second round is needed */
};

/* Returns true if the range is known before the run. */
bool ts_rescale_is_fixed(const struct stage_context *context);
/* Returns true for percentiles of slices of 32-bit values on a device, which are found in one
 * round: totals are percentile_ends. */
bool ts_rescale_by_ends(const struct stage_context *context);

#endif
