/* SPDX-License-Identifier: Apache-2.0
 *
 * This is what a plan says of a stage whose parameters a run finds in the pixels before it plans
 * (stages/engine/stage.h: struct stage_search).
 */
#ifndef PIPELINE_PLAN_PLAN_SEARCH_H
#define PIPELINE_PLAN_PLAN_SEARCH_H

#include "pipeline/plan/plan.h"

/* Returns true where a run must search for parameters of the node, a stage. */
bool ts_plan_is_searched(const struct plan_node *node);
/* Refuses the search of a node where its image or its mask has several volumes (volumes-axes): one file has one set of
 * axes, so that there is one box for all volumes, and each would have its own. */
enum ts_status ts_plan_refuse_volumes(const struct ts_plan *plan, int32_t index, struct ts_diag *diag);
/* Notes what a run finds in the pixels before it plans. */
void ts_plan_note_searches(const struct ts_plan *plan, struct ts_diag *diag);

#endif
