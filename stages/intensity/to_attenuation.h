/* SPDX-License-Identifier: Apache-2.0
 *
 * to_attenuation turns Hounsfield units into linear attenuation in 1/mm, so that the integrals of a
 * CT along rays are those that a scanner measures. Noise and padding of a CT are below -1000 HU,
 * where attenuation would be negative; a parameter says whether it stays negative.
 * cuda/intensity/to_attenuation.cu uses the same rule for each value.
 */
#ifndef STAGES_INTENSITY_TO_ATTENUATION_H
#define STAGES_INTENSITY_TO_ATTENUATION_H

#include "stages/intensity/to_hu.h"

struct to_attenuation_params {
    double water;     /* 1/mm */
    int32_t negative; /* enum negative_rule */
};
enum negative_rule { NEGATIVE_ZERO, NEGATIVE_KEEP };

/* The rule for one value, the same on both devices: mu = (HU + 1000) scale, and 0 if that is
 * below `lowest`. */
struct attenuation_rule {
    double scale, lowest;
};
static inline struct attenuation_rule
ts_attenuation_rule(const struct to_attenuation_params *params)
{
    return (struct attenuation_rule){params->water / 1000,
                                     params->negative == NEGATIVE_ZERO ? 0 : -INFINITY};
}

#endif
