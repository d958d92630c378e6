/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain with a sweep is planned as one that has the swept stage and those behind it once for each
 * value. The copies take their image from the same stage before the sweep, which therefore runs
 * once if its image can be kept. The copies of a value work in passes behind those of the value
 * before, so that their images follow one another in the output, whose first axis is that of the
 * values.
 */
#ifndef PIPELINE_PLAN_PLAN_SWEEP_H
#define PIPELINE_PLAN_PLAN_SWEEP_H

#include "pipeline/plan/plan.h"

/* Sets plan->chain: `chain` itself, or if it has a sweep one in the plan's arena that holds the
 * copies. TS_BAD_CHAIN (sweep-limit, sweep-searched): there would be too many stages, or one
 * searches for its box. */
enum ts_status ts_plan_expand(struct ts_plan *plan, const struct ts_chain *chain,
                              struct ts_diag *diag);
/* Sets value and leader of a node, and the label of a copy. Returns false if memory is out. */
bool ts_plan_place(struct ts_plan *plan, int32_t node);
/* Returns the first pass in which a node may work: for a copy, the one behind the last of the
   previous value; else 0. */
int ts_plan_first_pass(const struct ts_plan *plan, int32_t node);
/* Makes the axis of the values. TS_BAD_CHAIN: the input has several volumes (sweep-volumes), or the
   images of two values have different axes and so do not fit one array (sweep-shapes). */
enum ts_status ts_plan_join_values(struct ts_plan *plan, struct ts_diag *diag);
/* Returns a bit for each parameter of the node that the chain does not give and that differs
   between the values. Such a parameter is derived from the swept one; if a chain stated it, all
   values would get the same. */
uint32_t ts_plan_varying(const struct ts_plan *plan, int32_t node);

#endif
