/* SPDX-License-Identifier: Apache-2.0
 *
 * This warns of stages whose images are far larger than anybody is likely to want: a digit too many in a parameter
 * fills a disk, and the run would say so only after hours.
 */
#ifndef PIPELINE_PLAN_PLAN_SIZES_H
#define PIPELINE_PLAN_PLAN_SIZES_H

#include "pipeline/plan/plan.h"

/* Warns (size-unusual) of the first stage whose image has at least 4 GB and 16 times the bytes of its input. */
void ts_plan_warn_sizes(const struct ts_plan *plan, struct ts_diag *diag);

#endif
