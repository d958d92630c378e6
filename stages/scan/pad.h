/* SPDX-License-Identifier: Apache-2.0
 *
 * pad adds detector pixels on both sides of every row of a sinogram, with values by a border rule.
 * If the object reaches beyond the detector, this avoids a step at the row's end, which would leave
 * a bright rim in a reconstruction. The parameters are here because the CPU code and
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
