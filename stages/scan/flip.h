/* SPDX-License-Identifier: Apache-2.0
 *
 * flip reverses the order of the detector pixels in every row of a sinogram, for scans whose
 * detector pixels run opposite to the convention of docs/geometry.md. It only moves values, so it
 * takes any dtype and every value keeps its bits.
 */
#ifndef STAGES_SCAN_FLIP_H
#define STAGES_SCAN_FLIP_H

#include "stages/engine/stage.h"

/* There are no parameters, but a struct must have a member. */
struct flip_params {
    int32_t none;
};

#endif
