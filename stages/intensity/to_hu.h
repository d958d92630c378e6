/* SPDX-License-Identifier: Apache-2.0
 *
 * to_hu turns attenuation in 1/mm into Hounsfield units, in which water is 0 and air -1000, so that
 * scans of different devices can be compared. The attenuation of water is the only parameter, and
 * cuda/intensity/to_hu.cu reads it, too. The formula and its source are in to_hu.c.
 */
#ifndef STAGES_INTENSITY_TO_HU_H
#define STAGES_INTENSITY_TO_HU_H

#include "stages/engine/stage.h"

/* ---- hounsfield --------------------------------------------------------------------------------
 *
 * Hounsfield's scale is a straight line: HU = 1000 (mu - water) / water, where mu and water are
 * linear attenuations in 1/mm (G. N. Hounsfield, 1973; DICOM PS3.3 C.11.1.1.2). Water is 0 HU, and
 * vacuum, which air is taken for, is -1000 HU. to_hu and to_attenuation convert in opposite
 * directions and share its one parameter. */

/* The row of the field `double water`, in 1/mm. `more` ends its sentence. */
#define HOUNSFIELD_WATER(type, more)                                                               \
    PARAM(type, water, .unit = "1/mm", .min = 1e-4, .max = 10, .required = true,                   \
          .doc = "attenuation of water at the energy of the scan: 0.0206 at 60 keV, 0.0171 at "    \
                 "100 keV, 0.0151 at 150 "                                                         \
                 "keV (NIST XCOM)" more)

struct to_hu_params {
    double water; /* 1/mm */
};

#endif
