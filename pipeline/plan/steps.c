/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which slices are computed when. The demands of a pass (images to write, inputs to reduce)
 * are followed backwards to the sources, node by node: each node needs what later nodes need of it,
 * computes what it has not kept, and passes its own needs on to its inputs.
 */
#include <string.h>

#include "pipeline/plan/plan.h"

/* Joins the two neighbors with the smallest gap between them, so that a set never holds more than
   PLAN_SPANS ranges. */
static void join_nearest(struct span *at, int *n)
{
    int best = 0;
    for (int i = 1; i + 1 < *n; i++)
        if (at[i + 1].first - at[i].end < at[best + 1].first - at[best].end)
            best = i;
    at[best].end = at[best + 1].end;
    memmove(&at[best + 1], &at[best + 2], (size_t)(*n - best - 2) * sizeof *at);
    --*n;
}

static void add_span(struct spans *spans, int64_t first, int64_t end)
{
    struct span at[PLAN_SPANS + 1];
    int n = 0, i = 0;
    if (first >= end)
        return;
    while (i < spans->n && spans->at[i].end < first)
        at[n++] = spans->at[i++];
    struct span merged = {first, end};
    for (; i < spans->n && spans->at[i].first <= end; i++) {
        merged.first = spans->at[i].first < merged.first ? spans->at[i].first : merged.first;
        merged.end = spans->at[i].end > merged.end ? spans->at[i].end : merged.end;
    }
    at[n++] = merged;
    while (i < spans->n)
        at[n++] = spans->at[i++];
    if (n > PLAN_SPANS)
        join_nearest(at, &n);
    memcpy(spans->at, at, (size_t)n * sizeof *at);
    spans->n = n;
}

/* Adds the slices of a stage's input that `todo` needs. Reflected and nearest slices are always
   inside the clipped window; only wrapping reaches the other end. */
static void add_padded(struct spans *need, struct span todo, const struct stage_context *context)
{
    const struct stage_reach reach = ts_stage_reach(context);
    const struct stage_slices read = ts_stage_reads(context, todo.first, todo.end);
    const int64_t first = read.first, end = read.end, nz = context->in.axes[0].n;
    add_span(need, first > 0 ? first : 0, end < nz ? end : nz);
    if (reach.border != BORDER_WRAP || reach.halo == 0)
        return;
    if (first < 0)
        add_span(need, -first < nz ? nz + first : 0, nz);
    if (end > nz)
        add_span(need, 0, end - nz < nz ? end - nz : nz);
}

static void find_todo(struct plan_step *step, unsigned char *done)
{
    if (!done) {
        step->todo = step->need;
        return;
    }
    for (int i = 0; i < step->need.n; i++)
        for (int64_t z = step->need.at[i].first; z < step->need.at[i].end; z++)
            if (!done[z])
                add_span(&step->todo, z, z + 1);
    for (int i = 0; i < step->todo.n; i++)
        memset(done + step->todo.at[i].first, 1,
               (size_t)(step->todo.at[i].end - step->todo.at[i].first));
}

bool ts_plan_writes(const struct ts_plan *plan, int pass, int32_t node)
{
    return plan->nodes[node].dataset && plan->nodes[node].level == pass;
}

bool ts_plan_reduces(const struct ts_plan *plan, int pass, int32_t index, int input)
{
    const struct plan_node *node = &plan->nodes[index];
    return node->rounds > 0 && pass >= node->first_pass && pass < node->first_pass + node->rounds &&
           ts_stage_reduces_volume(&node->context, input);
}

bool ts_plan_looks_at(const struct ts_plan *plan, int32_t index, int input, int64_t *z,
                      int64_t *end)
{
    const struct stage_context *context = &plan->nodes[index].context;
    const struct stage_reduction *reduction = context->stage->reduction;
    int64_t first, past;
    if (input > 0 || !reduction->looks_at || !reduction->looks_at(context, &first, &past))
        return true;
    *z = *z > first ? *z : first;
    *end = *end < past ? *end : past;
    return *z < *end && !plan->weighing;
}

bool ts_plan_tabulates(const struct ts_plan *plan, int pass, int32_t index)
{
    const struct plan_node *node = &plan->nodes[index];
    return node->chain_stage && pass == node->tables_pass;
}

/* Adds slices [z, end) to the needs of a node's input and of the references that stream with it. */
static void add_streaming(const struct ts_plan *plan, int32_t index, int input, int64_t z,
                          int64_t end, struct plan_step *steps)
{
    const struct plan_node *node = &plan->nodes[index];
    add_span(&steps[plan->nodes[node->inputs[input]].image_node].need, z, end);
    for (int i = 0; input == 0 && i < STAGE_REFERENCES; i++)
        if (ts_stage_streams(&node->context, i))
            add_span(&steps[plan->nodes[node->inputs[1 + i]].image_node].need, z, end);
}

static void add_demands(const struct ts_plan *plan, int pass, int32_t domain, int64_t z,
                        int64_t end, struct plan_step *steps)
{
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (node->domain == domain && ts_plan_writes(plan, pass, i))
            add_span(&steps[node->image_node].need, z, end);
        if (!node->chain_stage)
            continue;
        if (node->domain == domain && ts_plan_tabulates(plan, pass, i))
            add_streaming(plan, i, 0, z, end, steps);
        for (int input = 0; input < STAGE_INPUTS; input++) {
            const int32_t from = node->inputs[input];
            int64_t first = z, past = end;
            if (from >= 0 && plan->nodes[from].domain == domain &&
                ts_plan_reduces(plan, pass, i, input) &&
                ts_plan_looks_at(plan, i, input, &first, &past))
                add_streaming(plan, i, input, first, past, steps);
        }
    }
}

void ts_plan_step(const struct ts_plan *plan, int pass, int32_t domain, int64_t z, int64_t n,
                  unsigned char *const *done, struct plan_step *steps)
{
    memset(steps, 0, (size_t)plan->n_nodes * sizeof *steps);
    add_demands(plan, pass, domain, z, z + n, steps);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        steps[i].demanded = steps[i].need.n > 0;
    for (int32_t i = plan->n_nodes - 1; i >= 0; i--) {
        const struct plan_node *node = &plan->nodes[i];
        if (steps[i].need.n == 0)
            continue;
        find_todo(&steps[i], node->keep ? done[i] : NULL);
        if (!node->chain_stage || node->reused)
            continue;
        for (int s = 0; s < steps[i].todo.n; s++) {
            const struct span *todo = &steps[i].todo.at[s];
            add_padded(&steps[plan->nodes[node->inputs[0]].image_node].need, *todo, &node->context);
            if (!node->context.stage->reads)
                add_streaming(plan, i, 0, todo->first, todo->end, steps);
        }
    }
}

int64_t ts_plan_slab_of(int rank, int64_t nz, int64_t round_z, int64_t slab, int64_t *z)
{
    *z = round_z + rank * slab;
    const int64_t left = *z < nz ? nz - *z : 0;
    return left < slab ? left : slab;
}

bool ts_plan_pass_uses(const struct ts_plan *plan, int pass, int32_t domain)
{
    struct plan_step steps[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    /* The array has room for the longest chain, but only the plan's nodes are cleared: a plan calls
       this for each pass of each slab size that it tries. */
    memset(steps, 0, (size_t)plan->n_nodes * sizeof *steps);
    add_demands(plan, pass, domain, 0, plan->nodes[domain].out.axes[0].n, steps);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (steps[i].need.n > 0)
            return true;
    return false;
}

int64_t ts_plan_mapped_volumes(const struct ts_plan *plan)
{
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const bool tables =
            node->chain_stage && !node->series && ts_stage_has_state(&node->context);
        if (node->by_volume && (node->dataset || tables))
            return plan->n_volumes;
    }
    return 1;
}

bool ts_plan_stores(const struct ts_plan *plan, const struct plan_step *steps, int32_t node)
{
    const struct plan_node *of = &plan->nodes[node];
    return !ts_plan_reader(of) && of->image_node == node && steps[node].todo.n > 0 &&
           (of->keep || steps[node].demanded);
}
