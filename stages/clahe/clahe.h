/* SPDX-License-Identifier: Apache-2.0
 *
 * clahe: contrast-limited adaptive histogram equalization, slice by slice: every tile gets its own equalizing table
 * from a histogram whose peaks are cut, and a pixel is mapped by the tables of the four nearest tiles, weighted
 * bilinearly.
 */
#ifndef STAGES_CLAHE_CLAHE_H
#define STAGES_CLAHE_CLAHE_H

#include "stages/engine/stage.h"

enum clahe_method { CLAHE_SKIMAGE, CLAHE_OPENCV };

struct clahe_params {
    int32_t method;
    double clip_limit;
    int64_t tiles_y, tiles_x;         /* opencv; else 0 */
    int64_t kernel_y, kernel_x, bins; /* skimage; else 0 */
};

#endif
