/* SPDX-License-Identifier: Apache-2.0
 *
 * The image and the mask may have volumes of different inputs, so that the hint names each input that has several.
 */
#include "pipeline/plan/plan_search.h"

#include <inttypes.h>

bool ts_plan_is_searched(const struct plan_node *node)
{
    const struct stage_search *search = node->chain_stage->stage->search;
    return search && search->needed(&node->chain_stage->set);
}

/* Returns the source from which the node at an input has several volumes, or NULL where it has one. */
static const struct plan_node *find_volumes(const struct ts_plan *plan, int32_t index)
{
    if (index < 0 || !plan->nodes[index].by_volume)
        return NULL;
    const struct plan_node *node = &plan->nodes[index];
    for (int input = 0; !node->source && input < STAGE_INPUTS; input++)
        if (node->inputs[input] >= 0 && plan->nodes[node->inputs[input]].by_volume) {
            node = &plan->nodes[node->inputs[input]];
            input = -1;
        }
    return node;
}

enum ts_status ts_plan_refuse_volumes(const struct ts_plan *plan, int32_t index, struct ts_diag *diag)
{
    const struct plan_node *node = &plan->nodes[index];
    const struct plan_node *image = find_volumes(plan, node->inputs[0]), *mask = find_volumes(plan, node->inputs[1]);
    if (!image && !mask)
        return TS_OK;
    const struct plan_node *from = image ? image : mask;
    const int64_t n = from->source->n_volumes;
    const bool both = image && mask && image != mask;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "volumes-axes", .span = node->set.span, .stage = node->label},
                  "looks for one box, and its %s %" PRId64 " volumes, each of which may have another",
                  !mask    ? "image has"
                  : !image ? "mask has"
                           : "image and its mask have",
                  n);
    return ts_diag_hint(diag, "beside the path of `%s`%s%s%s, take: N reads one volume, 0 to %" PRId64 "%s",
                        from->label, both ? " and of `" : "", both ? mask->label : "", both ? "`" : "", n - 1,
                        image ? "; its result records the box as x, y and z, which crop all volumes alike where the "
                                "chain gives them"
                              : "");
}

void ts_plan_note_searches(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (ts_plan_is_searched(node))
            ts_diag_note(diag,
                         &(struct diag_site){.code = "found-in-pixels", .span = node->set.span, .stage = node->label},
                         "a run finds its box first, by a pass over the pixels before it; planned here is the largest");
    }
}
