/* SPDX-License-Identifier: Apache-2.0
 *
 * This predicts how a plan would run on another machine, with 1, 2, 4, ... ranks up to all that it
 * has room for. Ranks fill a node before the next one. On a machine with GPUs each rank has one,
 * and else a share of a node's processors. GPUs of a node serve one process, whose threads write
 * the output, so that nothing is gathered from them. For each number of ranks the plan is worked
 * out anew, with the memory and the processors of that machine, and predicted by the model of
 * pipeline/plan/predict.h.
 */
#ifndef PIPELINE_PLAN_SCALE_H
#define PIPELINE_PLAN_SCALE_H

#include "pipeline/plan/predict.h"
#include "pipeline/rates/machine.h"

struct scale_row {
    int64_t ranks, nodes, on_node; /* on_node: ranks on each node */
    const char *refusal;           /* why it cannot run, in the plan's arena; NULL: it can run */
    struct prediction prediction;
    int64_t node_bytes,
        /* memory of a node and of a GPU; gpu_bytes is 0 in a build that does not count it */
        gpu_bytes;
    char bound[160];
};

/* Returns the most ranks that the machine has room for. */
int64_t ts_scale_most(const struct machine *machine);
/* Predicts the plan on so many ranks of the machine, with its rates. Afterwards the plan is one of
   that machine and cannot be run here. TS_RUN_FAILED (no-memory) if memory is out. */
enum ts_status ts_scale_predict(struct ts_plan *plan, const struct machine *machine,
                                const struct rates *rates, int64_t ranks, struct scale_row *row,
                                struct ts_diag *diag);

#endif
