/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan's side of checkpoints (pipeline/run/run_checkpoint.h): where one lies, which images it keeps, how large it
 * grows, and the memory and threads that cut z into the slabs that it holds.
 */
#ifndef PIPELINE_PLAN_PLAN_CHECKPOINT_H
#define PIPELINE_PLAN_PLAN_CHECKPOINT_H

#include "pipeline/plan/plan.h"

/* The file in the folder of a checkpoint that says which run it is of. Its first line has the memory and the threads of
 * the plan, and the ranks that shared a machine: PLAN_CHECKPOINT_BUDGET. */
#define PLAN_CHECKPOINT_RUN "run.txt"
#define PLAN_CHECKPOINT_BUDGET "memory %lld, threads %d, threads of the writer %d, ranks of a machine %d\n"

/* Fills plan->checkpoint. A run that is resumed has the memory and the threads of the first one where the options leave
 * them open: it must be cut into the same slabs, and what is free differs from run to run. Where more ranks share a
 * machine than before, they share the memory of the former ones, and have the threads of their share. */
void ts_plan_take_checkpoint(struct ts_plan *plan, const struct ts_options *options, struct ts_diag *diag);
/* Returns true where a checkpoint keeps the slices that this step computes of a node: those that are kept in memory, or
 * at which an output or a reduction looks. Nothing else is needed to go on behind the slab. Sources are read again. */
bool ts_plan_stores(const struct ts_plan *plan, const struct plan_step *steps, int32_t node);
/* Returns the bytes of the images that the whole run keeps; -1 where memory is out. */
int64_t ts_plan_checkpoint_bytes(const struct ts_plan *plan);

#endif
