/* SPDX-License-Identifier: Apache-2.0
 *
 * Hounsfield's scale is a straight line: HU = 1000 (mu - water) / water, where mu and water are linear attenuations in
 * 1/mm (G. N. Hounsfield, 1973; DICOM PS3.3 C.11.1.1.2). Water is 0 HU and vacuum, for which air is taken, -1000 HU.
 * to_hu and to_attenuation go along it in opposite directions and share its one parameter.
 */
#ifndef STAGES_INTENSITY_HOUNSFIELD_H
#define STAGES_INTENSITY_HOUNSFIELD_H

#include "stages/engine/stage.h"

/* The row of the field `double water`, 1/mm. `more` ends its sentence. */
#define HOUNSFIELD_WATER(type, more)                                                                                   \
    PARAM(type, water, .unit = "1/mm", .min = 1e-4, .max = 10, .required = true,                                       \
          .doc = "attenuation of water at the energy of the scan: 0.0206 at 60 keV, 0.0171 at 100 keV, 0.0151 at 150 " \
                 "keV (NIST XCOM)" more)

#endif
