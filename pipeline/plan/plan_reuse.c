/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts what is taken from an earlier result in the nodes of a plan. The plan is worked out once more with it, since
 * what is read needs neither the passes nor the memory of what is computed.
 */
#include "pipeline/plan/plan_reuse.h"

#include "pipeline/plan/plan_choose.h"

struct source *ts_plan_reader(const struct plan_node *node)
{
    return node->source ? node->source : node->reused ? node->reused->saved : NULL;
}

enum ts_status ts_plan_put_reused(struct ts_plan *plan, int32_t index)
{
    struct plan_node *node = &plan->nodes[index];
    const struct plan_reused *reused = plan->reuse ? &plan->reuse->nodes[index] : NULL;
    node->reused = reused && reused->taken ? reused : NULL;
    if (!node->reused || !ts_stage_finds_axes(&node->context))
        return TS_OK;
    const enum ts_status status = ts_stage_recall_axes(&node->context, reused->tables);
    if (status == TS_OK)
        node->out = node->context.out;
    return status;
}

enum ts_status ts_plan_reuse_take(struct ts_plan *plan, struct plan_reuse *reuse, struct ts_diag *diag)
{
    struct ts_diag *again = ts_diag_create();
    plan->reuse = reuse;
    if (!again)
        return ts_diag_no_memory(diag, sizeof *reuse);
    const enum ts_status status = ts_plan_work_out(plan, again);
    if (status != TS_OK)
        ts_diag_append(diag, again);
    ts_diag_destroy(again);
    if (status == TS_OK)
        ts_plan_predict(plan);
    return status;
}
