/* SPDX-License-Identifier: Apache-2.0
 *
 * rescale: values to a range, to zero mean and unit variance, or from percentiles to a range.
 */
#ifndef STAGES_RESCALE_H
#define STAGES_RESCALE_H

#include "stages/stage.h"

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
};

extern const struct stage rescale_stage;

#endif
