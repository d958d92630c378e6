/* SPDX-License-Identifier: Apache-2.0
 *
 * save: a stage without map() and reduction. The runner writes its image because of keeps_output, and passes it on.
 */
#include "stages/engine/stage.h"

const struct stage save_stage = {
    .name = "save",
    .summary = "keep the image at this place of the chain in the output file",
    .doc = "Writes the image as it is to the output file, in the group named by the stage's `name:`, and passes it on. "
           "The last image of a chain is written in any case.",
    STAGE_TAKES_ALL,
    .keeps_output = true,
    .tolerance = {.why = "the same bytes"},
};
