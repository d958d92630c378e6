/* SPDX-License-Identifier: Apache-2.0
 *
 * invert turns an image over within a range: low becomes high, and high becomes low. The range is
 * that of the type, given, or found in the data by a reduction, which is why there is a parameter
 * `scope`. The parameters stand here because the CPU code and the launcher in
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
