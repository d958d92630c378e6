/* SPDX-License-Identifier: Apache-2.0
 *
 * center: where the rotation axis stands on the detector, found or given.
 */
#ifndef STAGES_SCAN_CENTER_H
#define STAGES_SCAN_CENTER_H

#include "stages/engine/stage.h"

struct center_params {
    int32_t method; /* enum center_method */
    double center;
    int32_t convention; /* enum center_convention */
    int64_t slice;
    double search;
    int32_t truncated; /* enum center_truncated */
    bool strip;
    int64_t strip_sides;
    double strip_step;
    int64_t strip_size;
};
enum center_method { CENTER_AUTO, CENTER_SINOGRAM, CENTER_OPPOSITE, CENTER_GIVEN, CENTER_OVERLAP };
enum center_convention { CENTER_OF_PIXEL, CENTER_OF_EDGE, CENTER_OF_MIDDLE, CENTER_OF_SHIFT };
enum center_truncated { TRUNCATED_AUTO, TRUNCATED_OPPOSITE, TRUNCATED_KEEP };

/* A partial result: the sinogram of the slice as floats, (view, detector), behind it; zero bytes are empty. */
struct center_sinogram {
    uint64_t there;
    uint64_t padding[7];
};

#endif
