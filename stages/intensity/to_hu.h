/* SPDX-License-Identifier: Apache-2.0
 *
 * to_hu: attenuation to Hounsfield units.
 */
#ifndef STAGES_INTENSITY_TO_HU_H
#define STAGES_INTENSITY_TO_HU_H

#include "stages/engine/stage.h"

struct to_hu_params {
    double water; /* 1/mm */
};

#endif
