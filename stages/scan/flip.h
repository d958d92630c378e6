/* SPDX-License-Identifier: Apache-2.0
 *
 * flip: the detector pixels of a sinogram in the opposite order.
 */
#ifndef STAGES_SCAN_FLIP_H
#define STAGES_SCAN_FLIP_H

#include "stages/engine/stage.h"

/* No parameters: a struct must have a member. */
struct flip_params {
    int32_t none;
};

#endif
