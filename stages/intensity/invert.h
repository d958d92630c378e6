/* SPDX-License-Identifier: Apache-2.0
 *
 * invert reverses an image within a range: low becomes high, and high becomes low. The range is
 * that of the type, is given, or is found in the data by a reduction, for which there is the
 * parameter `scope`. The parameters are here because the CPU code and the launcher in
 * cuda/intensity/invert.cu both read them.
 */
#ifndef STAGES_INTENSITY_INVERT_H
#define STAGES_INTENSITY_INVERT_H

#include "stages/engine/stage.h"

struct invert_params {
    struct ts_numbers range;
    int32_t limits; /* enum invert_limits */
    int32_t scope;  /* enum scope */
    struct ts_reference mask;
};
enum invert_limits { INVERT_DTYPE, INVERT_DATA };

#endif
