/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/engine/save.h"

const struct stage save_stage = {
    .name = "save",
    .summary = "keep the image at this place of the chain in the output file",
    .doc = "Writes the image as it is to the output file, in the group named by the stage's `name:`, and passes it on. "
           "The last image of a chain is written in any case.",
    .axes = AXES_VOLUME | AXES_SINOGRAM,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_ANY_QUANTITY,
    .beams = TS_ANY_BEAM,
    .keeps_output = true,
    .tolerance = {.why = "the same bytes"},
};
