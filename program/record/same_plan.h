/* SPDX-License-Identifier: Apache-2.0
 *
 * This says whether a result is what a plan would make: parameters are compared with those that the
 * result recorded, both as they were resolved, value by value as the texts that they would be
 * written as.
 */
#ifndef PROGRAM_RECORD_SAME_PLAN_H
#define PROGRAM_RECORD_SAME_PLAN_H

#include "io/file/digest.h"
#include "pipeline/plan/plan.h"

/* A parameter that differs, with both values. */
struct param_difference {
    const char *owner, *name; /* name NULL: there is none */
    char *planned, *recorded; /* owned */
    bool no_memory;           /* for the two texts */
};

/* Returns true where the parameters are the same, but for number `path` (-1: none) and for those
 * that only a run can know: `known` says that derived ones were resolved in the plan. Else
 * *difference describes the first that differs. */
bool ts_same_params(const struct param_set *planned, const struct param_set *recorded, int path,
                    bool known, struct param_difference *difference);
/* Compares the planned parameters of a stage with those of a recorded one, the chain of which is
 * expanded (ts_plan_expand). What is derived from the values of a sweep, other ones for each, is
 * not recorded; where the planned chain does not give it either it follows from the rest. */
bool ts_same_stage_params(const struct param_set *planned, const struct ts_chain *recorded,
                          int32_t stage, bool known, struct param_difference *difference);
void ts_param_difference_clear(struct param_difference *difference);
/* Checks the result at `path` against the plan, whose chain was searched (ts_chain_search), and
 * writes the result's digest. Parameters that a plan cannot know before the run, such as a center
 * that a stage will find, follow from the others and are not compared. Returns TS_OK; TS_RUN_FAILED
 * (batch-other-chain) where a parameter is another, TS_BAD_INPUT where the file is damaged, is no
 * result, or was made from other images (inputs-differ). */
enum ts_status ts_same_as_planned(const char *path, const struct ts_plan *plan,
                                  char digest[DIGEST_TEXT_BYTES], struct ts_diag *diag);

#endif
