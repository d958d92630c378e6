/* SPDX-License-Identifier: Apache-2.0
 *
 * center finds the index on the detector where the rotation axis is, or takes it from the chain,
 * and moves the positions of the detector so that the axis is at 0. All stages that follow then
 * need no parameter for it. The parameters and the search are in stages/scan/center_slice.h.
 */
#ifndef STAGES_SCAN_CENTER_H
#define STAGES_SCAN_CENTER_H

#include "stages/scan/center_slice.h"

/* A partial result. The sinogram of the slice follows as floats, (view, detector). Zero bytes are
 * an empty partial. */
struct center_sinogram {
    uint64_t there;
    uint64_t padding[7];
};

#endif
