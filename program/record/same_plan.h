/* SPDX-License-Identifier: Apache-2.0
 *
 * Says if a result is what a plan would make: compares resolved parameters with those that the
 * result recorded, each as the text in which it would be written.
 */
#ifndef PROGRAM_RECORD_SAME_PLAN_H
#define PROGRAM_RECORD_SAME_PLAN_H

#include "io/file/digest.h"
#include "pipeline/plan/plan.h"

/* Checks the result at `path` against the plan, whose chain was searched (ts_chain_search), and
   writes the result's digest. Parameters that a plan cannot know before the run, such as a center
   that a stage will find, follow from the others and are not compared. Returns TS_OK; TS_RUN_FAILED
   (batch-other-chain) if a parameter differs; TS_BAD_INPUT if the file is damaged, is no result, or
   was made from other images (inputs-differ). */
enum ts_status ts_same_as_planned(const char *path, const struct ts_plan *plan,
                                  char digest[DIGEST_TEXT_BYTES], struct ts_diag *diag);

#endif
