/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter `frames` of an input states which frames of a scan it holds, and those of a stage's references state
 * which they need. Both are compared while the chain is planned, together with the rows of the detector that were read.
 */
#include "pipeline/plan/plan_frames.h"

#include <inttypes.h>
#include <string.h>

/* Returns the source that the image of this node comes from. */
static const struct plan_node *source_of(const struct ts_plan *plan, int32_t node)
{
    while (!plan->nodes[node].source)
        node = plan->nodes[node].inputs[0];
    return &plan->nodes[node];
}

bool ts_plan_source_is_reference(const struct param_set *set)
{
    const char *frames = ts_param_choice_name(set, "frames");
    size_t i;
    const struct param *param = ts_param_find(set->params, set->n_params, "axes", &i);
    bool found = frames && strcmp(frames, "projections") != 0;
    if (!param || param->kind != PARAM_TEXTS)
        return found;
    const struct ts_texts *axes = (const void *)((const unsigned char *)set->values + param->offset);
    for (int64_t axis = 0; axis < axes->n; axis++)
        found |= !strcmp(axes->items[axis], "frame");
    return found;
}

/* Returns which frames of a scan the image of this node is, or is made of: the choice of the parameter `frames` of the
 * source that it comes from. NULL: not known. */
static const char *frames_of(const struct ts_plan *plan, int32_t node)
{
    const struct plan_node *source = source_of(plan, node);
    const char *unit = source->out.axes[1].unit;
    if (!ts_image_is_sinogram(&source->out))
        return NULL;
    const char *frames = ts_param_choice_name(&source->set, "frames");
    return frames || !unit || strcmp(unit, "degree") != 0 ? frames : "projections"; /* they alone have angles */
}

static enum ts_status check_reference(const struct ts_plan *plan, const struct plan_node *node,
                                      const struct param *param, int32_t reference, struct ts_diag *diag)
{
    const char *frames = frames_of(plan, reference), *source = source_of(plan, reference)->label;
    if (!frames || !strcmp(frames, param->frames))
        return TS_OK;
    ts_param_error(&node->set, param->name, "reference-frames", diag,
                   "'%s' holds the %s of its scan, and the %s were expected", source, frames, param->frames);
    return ts_diag_hint(diag, "frames: %s where '%s' is defined, or another input", param->frames, source);
}

/* Compares which rows of one detector were read. Inputs of another number of rows may have been cut before. */
static enum ts_status check_rows(const struct ts_plan *plan, const struct plan_node *node, const struct param *param,
                                 int32_t reference, struct ts_diag *diag)
{
    const struct source *image = source_of(plan, node->inputs[0])->source, *other = source_of(plan, reference)->source;
    if (image->n_whole != other->n_whole || image->first_slice == other->first_slice)
        return TS_OK;
    ts_param_error(&node->set, param->name, "reference-rows", diag,
                   "its rows are read from row %" PRId64 " of the detector on, those of the image from row %" PRId64,
                   other->first_slice, image->first_slice);
    return ts_diag_hint(diag, "slices: [%" PRId64 ", %" PRId64 "] where '%s' is defined", image->first_slice,
                        image->first_slice + image->n_slices, source_of(plan, reference)->label);
}

static enum ts_status check_image(const struct ts_plan *plan, const struct plan_node *node, struct ts_diag *diag)
{
    const char *frames = frames_of(plan, node->inputs[0]), *source = source_of(plan, node->inputs[0])->label;
    if (!frames || !strcmp(frames, "projections"))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "input-frames", .span = node->set.span, .stage = node->set.owner},
                  "'%s' holds the %s of its scan, and the projections were expected", source, frames);
    return ts_diag_hint(diag, "frames: projections where '%s' is defined, or another input", source);
}

enum ts_status ts_plan_check_frames(const struct ts_plan *plan, int32_t stage, struct ts_diag *diag)
{
    const struct plan_node *node = &plan->nodes[stage];
    bool of_scan = false, good = true;
    int reference = 1;
    for (size_t i = 0; i < node->set.n_params && reference < STAGE_INPUTS; i++) {
        const struct param *param = &node->set.params[i];
        if (param->kind != PARAM_REFERENCE)
            continue;
        const int32_t from = node->inputs[reference++];
        of_scan |= param->frames != NULL;
        if (param->frames && from >= 0)
            good &= check_reference(plan, node, param, from, diag) == TS_OK &&
                    check_rows(plan, node, param, from, diag) == TS_OK;
    }
    if (of_scan)
        good &= check_image(plan, node, diag) == TS_OK;
    return good ? TS_OK : TS_BAD_CHAIN;
}
