/* SPDX-License-Identifier: Apache-2.0
 *
 * This takes the options of a plan.
 */
#ifndef PIPELINE_PLAN_PLAN_OPTIONS_H
#define PIPELINE_PLAN_PLAN_OPTIONS_H

#include "pipeline/plan/plan.h"

/* Returns the members that the caller knows; the others are zero, which is the default of each. */
struct ts_options ts_plan_known_options(const struct ts_options *given);
/* Fills the plan's threads, budget, ranks and all else that the options say but the device. What is wrong with them is
 * recorded. Returns the status of another rank that has failed, or TS_OK. */
enum ts_status ts_plan_take_options(struct ts_plan *plan, const struct ts_options *options, struct ts_diag *diag);

#endif
