/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages are copied one by one: stage s + j of value k is at s + k * m + j, where s is the swept
 * stage and m is the number of stages from it to the end. References of a copy to stage s or a
 * later one move by k * m; those to earlier stages are shared.
 */
#include "pipeline/plan/plan_sweep.h"

#include <string.h>

/* Returns how many stages are copied for each value. */
static int32_t own_stages(const struct ts_chain *chain)
{
    return (chain->n_stages - chain->sweep.stage) / (int32_t)chain->sweep.n;
}

static enum ts_status plan_sweep_check(const struct ts_chain *chain, struct ts_diag *diag)
{
    const struct chain_sweep *sweep = &chain->sweep;
    const struct diag_site site = {.code = "sweep-limit", .span = sweep->span};
    for (int32_t i = sweep->stage; i < chain->n_stages; i++) {
        const struct chain_stage *stage = &chain->stages[i];
        if (!stage->stage->search || !stage->stage->search->needed(&stage->set))
            continue;
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "sweep-searched",
                                          .span = stage->span,
                                          .stage = stage->stage->name},
                      "would search for its box for each value of the sweep");
        return ts_diag_hint(diag,
                            "state x, y and z, or let it stand before the stage that is swept");
    }
    if (chain->n_stages + (sweep->n - 1) * (chain->n_stages - sweep->stage) <= CHAIN_MAX_STAGES)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &site,
                  "%lld values of %d stages each are more than the %d stages of a chain",
                  (long long)sweep->n, chain->n_stages - sweep->stage, CHAIN_MAX_STAGES);
    return ts_diag_hint(diag, "sweep over fewer values, or sweep over a later stage");
}

/* Makes the copy of a stage for a value other than the first; its nodes move by `shift`. Returns
 * false if memory is out. */
static bool copy_stage(struct ts_plan *plan, const struct ts_chain *chain,
                       const struct chain_stage *from, int32_t shift, struct chain_stage *copy)
{
    const int32_t swept = chain->n_sources + chain->sweep.stage;
    *copy = *from;
    copy->set.values =
        ts_arena_copy(plan->arena, from->set.values, 1, from->stage->params_bytes + 1);
    if (!copy->set.values)
        return false;
    copy->input_node += from->input_node >= swept ? shift : 0;
    for (size_t i = 0; i < copy->set.n_params; i++) {
        struct ts_reference *reference = ts_param_field(&copy->set, i);
        if (copy->set.params[i].kind == PARAM_REFERENCE && reference->name &&
            reference->node >= swept)
            reference->node += shift;
    }
    return true;
}

enum ts_status ts_plan_expand(struct ts_plan *plan, const struct ts_chain *chain,
                              struct ts_diag *diag)
{
    const struct chain_sweep *sweep = &chain->sweep;
    const int32_t own = chain->n_stages - sweep->stage;
    plan->chain = plan->given = chain;
    if (sweep->n == 0)
        return TS_OK;
    if (plan_sweep_check(chain, diag) != TS_OK)
        return TS_BAD_CHAIN;
    const int32_t n_stages = chain->n_stages + (int32_t)(sweep->n - 1) * own;
    struct ts_chain *all = ts_arena_copy(plan->arena, chain, 1, sizeof *all);
    struct chain_stage *stages = ts_arena_alloc(plan->arena, (size_t)n_stages * sizeof *stages);
    if (!all || !stages)
        return ts_diag_no_memory(diag, (size_t)n_stages * sizeof *stages);
    memcpy(stages, chain->stages, (size_t)chain->n_stages * sizeof *stages);
    for (int32_t i = chain->n_stages; i < n_stages; i++)
        if (!copy_stage(plan, chain, &stages[i - own], own, &stages[i]))
            return ts_diag_no_memory(diag, stages[i - own].stage->params_bytes);
    for (int64_t k = 1; k < sweep->n; k++) {
        const struct param_set *set = &stages[sweep->stage + k * own].set;
        const struct param *param = &set->params[sweep->param];
        memcpy(ts_param_field(set, sweep->param), ts_sweep_value(sweep, param, k),
               ts_param_bytes(param->kind));
    }
    all->stages = stages;
    all->n_stages = n_stages;
    plan->chain = all;
    return TS_OK;
}

static const struct param *swept_param(const struct ts_plan *plan)
{
    const struct chain_sweep *sweep = &plan->chain->sweep;
    return &plan->chain->stages[sweep->stage].set.params[sweep->param];
}

bool ts_plan_place(struct ts_plan *plan, int32_t index)
{
    struct plan_node *node = &plan->nodes[index];
    const struct chain_sweep *sweep = &plan->chain->sweep;
    const int32_t behind = index - plan->n_sources - sweep->stage;
    node->leader = index;
    node->value = -1;
    if (sweep->n == 0 || behind < 0)
        return true;
    const int32_t own = own_stages(plan->chain);
    node->value = behind / own;
    node->leader = index - behind + behind % own;
    if (node->value == 0)
        return true;
    char text[64];
    ts_sweep_text(sweep, swept_param(plan), node->value, text, sizeof text);
    node->label = ts_arena_printf(plan->arena, "%s[%s=%s]", plan->nodes[node->leader].label,
                                  swept_param(plan)->name, text);
    return node->label != NULL;
}

int ts_plan_first_pass(const struct ts_plan *plan, int32_t index)
{
    const int64_t value = plan->nodes[index].value;
    int pass = 0;
    for (int32_t i = plan->n_sources; i < index && value > 0; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const int ends[] = {node->level + 1, node->first_pass + node->rounds,
                            node->tables_pass + 1};
        for (int e = 0; e < 3 && node->value >= 0 && node->value < value; e++)
            pass = ends[e] > pass ? ends[e] : pass;
    }
    return pass;
}

/* Returns true if two images can be in one array: their axes have the same positions. */
static bool have_same_axes(const struct ts_image *a, const struct ts_image *b)
{
    bool same = ts_image_same_layout(a, b) && a->masked == b->masked &&
                !memcmp(a->origin_mm, b->origin_mm, sizeof a->origin_mm) &&
                !memcmp(a->direction, b->direction, sizeof a->direction);
    for (int d = 0; same && d < a->rank; d++)
        for (int64_t i = 0; same && i < a->axes[d].n; i++)
            same = ts_axis_position(&a->axes[d], i) == ts_axis_position(&b->axes[d], i);
    return same;
}

/* Fills value_axis: with the values if these are numbers, else with their indices. */
static enum ts_status make_axis(struct ts_plan *plan, struct ts_diag *diag)
{
    const struct chain_sweep *sweep = &plan->chain->sweep;
    const struct param *param = swept_param(plan);
    double *positions = ts_arena_alloc(plan->arena, (size_t)sweep->n * sizeof *positions);
    const char *name = ts_arena_printf(plan->arena, "%s_%s",
                                       plan->chain->stages[sweep->stage].stage->name, param->name);
    if (!positions || !name)
        return ts_diag_no_memory(diag, (size_t)sweep->n * sizeof *positions);
    bool number = false;
    for (int64_t k = 0; k < sweep->n; k++) {
        number = ts_sweep_number(sweep, param, k, &positions[k]);
        if (!number)
            positions[k] = (double)k;
    }
    plan->value_axis = (struct ts_axis){.kind = TS_AXIS_ITEM,
                                        .n = sweep->n,
                                        .unit = number && param->unit ? param->unit : "",
                                        .positions = positions,
                                        .name = name};
    return TS_OK;
}

enum ts_status ts_plan_join_values(struct ts_plan *plan, struct ts_diag *diag)
{
    struct diag_site site = {.code = "sweep-volumes", .span = plan->chain->sweep.span};
    if (plan->chain->sweep.n == 0)
        return TS_OK;
    if (plan->n_volumes > 1) {
        ts_diag_error(diag, TS_BAD_CHAIN, &site,
                      "the input has several volumes, and a result has one axis beside them");
        return ts_diag_hint(diag, "choose one volume with `take:` beside the input");
    }
    site.code = "sweep-shapes";
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i], *leader = &plan->nodes[node->leader];
        if (node->value < 0 || !node->dataset || have_same_axes(&node->out, &leader->out))
            continue;
        site.stage = node->label;
        ts_diag_error(diag, TS_BAD_CHAIN, &site,
                      "its image '%s' has other axes, units or values than that of the first value",
                      node->dataset);
        return ts_diag_hint(
            diag,
            "images of one sweep lie in one array; run the chain once for each value with --set");
    }
    return make_axis(plan, diag);
}

uint32_t ts_plan_varying(const struct ts_plan *plan, int32_t index)
{
    const struct param_set *first = &plan->nodes[index].set;
    uint32_t varying = 0;
    for (int32_t i = index + 1; i < plan->n_nodes; i++) {
        const struct param_set *set = &plan->nodes[i].set;
        for (size_t p = 0; plan->nodes[i].leader == index && p < set->n_params; p++) {
            char one[1024], other[1024];
            ts_param_format(first, p, one, sizeof one);
            ts_param_format(set, p, other, sizeof other);
            if (!(set->given >> p & 1) &&
                (strcmp(one, other) != 0 || ((first->idle ^ set->idle) >> p & 1)))
                varying |= UINT32_C(1) << p;
        }
    }
    return varying;
}
