/* SPDX-License-Identifier: Apache-2.0
 *
 * save: keeps the image at this place of the chain in the output file, under the stage's `name:`.
 */
#ifndef STAGES_ENGINE_SAVE_H
#define STAGES_ENGINE_SAVE_H

#include "stages/engine/stage.h"

extern const struct stage save_stage;

#endif
