/* SPDX-License-Identifier: Apache-2.0
 *
 * apply_mask removes from an image what is outside a mask, which is an image of the same shape:
 * these pixels become invalid, or get a value. The parameters are here because the CPU code and
 * cuda/regions/apply_mask.cu both read them.
 */
#ifndef STAGES_REGIONS_APPLY_MASK_H
#define STAGES_REGIONS_APPLY_MASK_H

#include "stages/engine/stage.h"

enum mask_outside { MASK_EXCLUDE, MASK_VALUE };

struct apply_mask_params {
    struct ts_reference mask;
    int32_t outside; /* enum mask_outside */
    double value;
};

#endif
