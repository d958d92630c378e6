/* SPDX-License-Identifier: Apache-2.0
 *
 * flip reverses the order of the detector pixels in every row of a sinogram, for scans whose
 * detector pixels run the other way than the convention of docs/geometry.md has it. It only moves
 * values, so that any dtype passes and every value keeps its bits.
 */
#ifndef STAGES_SCAN_FLIP_H
#define STAGES_SCAN_FLIP_H

#include "stages/engine/stage.h"

/* No parameters: a struct must have a member. */
struct flip_params {
    int32_t none;
};

#endif
