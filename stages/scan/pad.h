/* SPDX-License-Identifier: Apache-2.0
 *
 * pad adds detector pixels on both sides of every row of a sinogram, with values by a border rule.
 * Where the object reaches beyond the detector, the row then need not end with a step, which would
 * leave a bright rim in a reconstruction. The parameters stand here because the CPU code and
 * cuda/scan/pad.cu both read them.
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
