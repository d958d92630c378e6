/* SPDX-License-Identifier: Apache-2.0
 *
 * This compares the parameters of a plan with those that a result recorded, both as they were resolved, value by value
 * as the texts that they would be written as.
 */
#ifndef PROGRAM_RECORD_SAME_PARAMS_H
#define PROGRAM_RECORD_SAME_PARAMS_H

#include "pipeline/chain/chain.h"

/* A parameter that differs, with both values. */
struct param_difference {
    const char *owner, *name; /* name NULL: there is none */
    char *planned, *recorded; /* owned */
    bool no_memory;           /* for the two texts */
};

/* Returns true where the parameters are the same, but for number `path` (-1: none) and for those that only a run can
 * know: `known` says that derived ones were resolved in the plan. Else *difference describes the first that differs. */
bool ts_same_params(const struct param_set *planned, const struct param_set *recorded, int path, bool known,
                    struct param_difference *difference);
/* Compares the planned parameters of a stage with those of a recorded one, the chain of which is expanded
 * (ts_plan_expand). What is derived from the values of a sweep, other ones for each, is not recorded; where the planned
 * chain does not give it either it follows from the rest. */
bool ts_same_stage_params(const struct param_set *planned, const struct ts_chain *recorded, int32_t stage, bool known,
                          struct param_difference *difference);
void ts_param_difference_clear(struct param_difference *difference);

#endif
