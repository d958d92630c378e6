/* SPDX-License-Identifier: Apache-2.0
 *
 * This chooses between the devices that a plan could run on: the one that is predicted to be done first, where rates of
 * this machine are kept, and else a CUDA device wherever the chain can run there.
 */
#ifndef PIPELINE_PLAN_PLAN_CHOOSE_H
#define PIPELINE_PLAN_PLAN_CHOOSE_H

#include "pipeline/plan/plan.h"

/* Reads the kept rates (NULL: there is no file). Sets plan->rates, or plan->no_prediction where they cannot be used,
 * which is no error. */
void ts_plan_load_rates(struct ts_plan *plan, const char *path);
/* Plans everything that depends on the device. May be called again for another device. In plan.c. */
enum ts_status ts_plan_work_out(struct ts_plan *plan, struct ts_diag *diag);
/* Does the same where `auto` has found a CUDA device: there, or on the CPU where that is predicted to be done first or
 * the chain can run there alone. */
enum ts_status ts_plan_work_out_auto(struct ts_plan *plan, struct ts_diag *diag);
/* Predicts the time of the finished plan. Sets plan->prediction, or plan->no_prediction. */
void ts_plan_predict(struct ts_plan *plan);

#endif
