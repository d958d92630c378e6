/* SPDX-License-Identifier: Apache-2.0
 *
 * to_hu turns attenuation in 1/mm into Hounsfield units, in which water is 0 and air -1000, so that scans of different
 * devices can be compared. The attenuation of water is the only parameter, and cuda/intensity/to_hu.cu reads it too.
 * The formula and its source stand in to_hu.c.
 */
#ifndef STAGES_INTENSITY_TO_HU_H
#define STAGES_INTENSITY_TO_HU_H

#include "stages/intensity/hounsfield.h"

struct to_hu_params {
    double water; /* 1/mm */
};

#endif
