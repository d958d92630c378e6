/* SPDX-License-Identifier: Apache-2.0
 *
 * histogram: counts of values in bins of equal width; the image passes on unchanged.
 */
#ifndef STAGES_HISTOGRAM_H
#define STAGES_HISTOGRAM_H

#include "stages/stage.h"

struct histogram_params {
    int64_t bins;
    struct ts_numbers range;
    int32_t limits; /* enum limits */
    int32_t scope;  /* enum scope */
    struct ts_reference reference;
};

extern const struct stage histogram_stage;

#endif
