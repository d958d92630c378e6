/* SPDX-License-Identifier: Apache-2.0
 *
 * center: the index on the detector where the rotation axis is, found or given.
 */
#ifndef STAGES_SCAN_CENTER_H
#define STAGES_SCAN_CENTER_H

#include "stages/scan/center_slice.h"

/* A partial result. The sinogram of the slice follows as floats, (view, detector); zero bytes are empty. */
struct center_sinogram {
    uint64_t there;
    uint64_t padding[7];
};

#endif
