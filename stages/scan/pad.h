/* SPDX-License-Identifier: Apache-2.0
 *
 * pad: more detector pixels on both sides of a sinogram.
 */
#ifndef STAGES_SCAN_PAD_H
#define STAGES_SCAN_PAD_H

#include "stages/engine/border.h"

struct pad_params {
    int64_t left, right;
    int32_t border; /* enum ts_border */
    double constant;
};

#endif
