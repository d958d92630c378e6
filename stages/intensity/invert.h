/* SPDX-License-Identifier: Apache-2.0
 *
 * invert: the image turned over within a range.
 */
#ifndef STAGES_INTENSITY_INVERT_H
#define STAGES_INTENSITY_INVERT_H

#include "stages/engine/stage.h"

struct invert_params {
    struct ts_numbers range;
    int32_t limits; /* enum invert_limits */
    int32_t scope;  /* enum scope */
};
enum invert_limits { INVERT_DTYPE, INVERT_DATA };

#endif
