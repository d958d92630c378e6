/* SPDX-License-Identifier: Apache-2.0
 *
 * equalize: histogram equalization, and matching to the histogram of another image.
 */
#ifndef STAGES_EQUALIZE_H
#define STAGES_EQUALIZE_H

#include "stages/stage.h"

enum equalize_method { EQUALIZE_SKIMAGE, EQUALIZE_OPENCV };

struct equalize_params {
    int32_t method; /* enum equalize_method */
    int64_t bins;
    int32_t scope; /* enum scope */
    struct ts_reference reference;
};

extern const struct stage equalize_stage;

#endif
