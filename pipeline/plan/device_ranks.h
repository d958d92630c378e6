/* SPDX-License-Identifier: Apache-2.0
 *
 * This deals the CUDA devices of a machine out to the ranks that run there, and has all ranks compute on devices of one
 * kind, with the same memory, so that they cut z alike. With one rank it changes nothing.
 */
#ifndef PIPELINE_PLAN_DEVICE_RANKS_H
#define PIPELINE_PLAN_DEVICE_RANKS_H

#include "pipeline/plan/device_choice.h"
#include "pipeline/plan/plan.h"

/* Has `cuda`, which names no device, stand for all devices where there are several ranks. */
void ts_device_ranks_widen(const struct ts_plan *plan, struct device_choice *choice);
/* Leaves in indices[0 .. n - 1] those of this rank, and returns how many they are: the ranks of a machine have each the
 * same number of them where there are enough, or one where `single` is set, and share one where there are not. */
int ts_device_ranks_deal(const struct ts_plan *plan, int indices[CUDA_MAX_DEVICES], int n, bool single);
/* All ranks call this where there are several, with what each has chosen, and `status` where one could not. Divides the
 * memory of a device among the ranks that share it, unless its user has given a budget, and takes the least of all
 * ranks. Refuses ranks of which not all have devices of one model (code ranks-devices); with `automatic` they take the
 * CPU, and also where there are too few devices. */
enum ts_status ts_device_ranks_agree(struct ts_plan *plan, bool automatic, bool budget_given, enum ts_status status,
                                     struct ts_diag *diag);

#endif
