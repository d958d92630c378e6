/* SPDX-License-Identifier: Apache-2.0
 *
 * save keeps an image in the middle of a chain. It has neither map() nor reduction: the runner sees
 * its trait, writes its image, and passes the image on. So no device needs code for it.
 */
#include "stages/engine/stage.h"

const struct stage save_stage = {
    .name = "save",
    .summary = "keep the image at this place of the chain in the output file",
    .doc =
        "Writes the image as it is to the output file, in the group named by the stage's `name:`, "
        "and passes it on. The last image of a chain is written in any case: as `data` if a save "
        "at the end has no name. A chain without stages (`stages: []`) is one of such a save.",
    STAGE_TAKES_ALL,
    .traits = TRAIT_KEEPS_IMAGE,
    .tolerance = {.why = "the same bytes"},
};
