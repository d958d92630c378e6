/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks what a plan can know of outputs before a run writes them.
 */
#ifndef PIPELINE_PLAN_PLAN_OUTPUTS_H
#define PIPELINE_PLAN_PLAN_OUTPUTS_H

#include "pipeline/plan/plan.h"

/* Refuses outputs that cannot hold the last image, a codec that no output has, and outputs that would be written to one
 * name. Warns of images that no output holds. */
enum ts_status ts_plan_check_outputs(const struct ts_plan *plan, struct ts_diag *diag);

#endif
