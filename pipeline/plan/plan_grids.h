/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds references, such as masks, that can be held against the image by their shape alone, or whose positions
 * need not be comparable with those of the image.
 */
#ifndef PIPELINE_PLAN_PLAN_GRIDS_H
#define PIPELINE_PLAN_PLAN_GRIDS_H

#include "pipeline/plan/plan.h"

/* Warns (code grid-unknown) of each reference that streams with an image where only one of the two says how it lies in
 * the patient; and (code frames-differ) of each stage that joins images of two frames of reference. Grids that both
 * state were compared when the stage was prepared (stages/engine/prepare.h). */
void ts_plan_warn_grids(const struct ts_plan *plan, struct ts_diag *diag);

#endif
