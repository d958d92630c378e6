/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds stages that take invalid pixels, such as the padding of a CT, for measured values.
 */
#ifndef PIPELINE_PLAN_PLAN_PADDING_H
#define PIPELINE_PLAN_PLAN_PADDING_H

#include "pipeline/plan/plan.h"

/* Warns (code padding-as-values) of each stage whose input is masked and that takes invalid pixels for values. */
void ts_plan_warn_padding(const struct ts_plan *plan, struct ts_diag *diag);

#endif
