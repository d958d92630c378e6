/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks that the frames that a stage is given are the frames that it needs. A scan holds projections, flats and
 * darks of one shape, and a plan that mistakes one for another would run to a wrong image.
 */
#ifndef PIPELINE_PLAN_PLAN_FRAMES_H
#define PIPELINE_PLAN_PLAN_FRAMES_H

#include "pipeline/plan/plan.h"

/* Returns true for flats and darks: the parameter `frames` names them, or `axes` names frames, which have no angles. */
bool ts_plan_source_is_reference(const struct param_set *set);

/* Checks a stage whose parameters name `frames`, once its inputs are known. Returns TS_BAD_CHAIN with the code
 * reference-frames where a reference holds other frames, reference-rows where it holds other rows of the detector, and
 * input-frames where its own image holds flats or darks. */
enum ts_status ts_plan_check_frames(const struct ts_plan *plan, int32_t stage, struct ts_diag *diag);

#endif
