/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `mask` makes a volume of integers of a file of regions, on the grid of the
 * image that it goes with. One chosen region is 1 inside and 0 outside; without a choice each
 * region has its number, and a voxel in two regions is refused.
 */
#ifndef IO_MASK_MASK_H
#define IO_MASK_MASK_H

#include "io/source/source.h"

struct mask_params {
    const char *mask, *on, *segment, *roi, *path, *image;
    double threshold;
    int32_t resample;           /* MASK_EXACT or MASK_NEAREST */
    int32_t frame_of_reference; /* MASK_SAME_FRAME or MASK_ANY_FRAME */
};

enum { MASK_EXACT, MASK_NEAREST };
enum { MASK_SAME_FRAME, MASK_ANY_FRAME };

extern const struct source_format mask_format;

#endif
