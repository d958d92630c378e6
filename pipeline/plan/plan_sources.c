/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the sources of a chain, `input` first, because the range of its rows is a range of the detector: flats and
 * darks without a range of their own get the same one. Those that are put on the grid of another one come last.
 */
#include "pipeline/plan/plan_sources.h"

#include <inttypes.h>
#include <string.h>

#include "io/scan/file_kind.h"
#include "io/scan/foreign.h"
#include "io/source/source_slices.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/load.h"

/* Returns true for flats and darks: the parameter `frames` names them, or `axes` names frames, which have no angles. */
static bool is_reference(const struct param_set *set)
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

/* Gives flats and darks without `slices` those of `input`; false where they keep their own. */
static bool follow(struct plan_node *node, const struct plan_node *input)
{
    const struct ts_numbers *slices = ts_source_slices(&input->set), *own = ts_source_slices(&node->set);
    size_t i;
    if (!input->source || !slices || slices->rows == 0 || !own || own->rows > 0 || !is_reference(&node->set))
        return false;
    const struct param *param = ts_param_find(node->set.params, node->set.n_params, "slices", &i);
    *(struct ts_numbers *)((unsigned char *)node->set.values + param->offset) = *slices;
    return true;
}

/* Adds a hint to an error about a range that the chain did not give this source itself. */
static void hint_if_outside(bool follows, struct ts_diag *diag)
{
    const size_t n = ts_diag_count(diag);
    if (follows && n > 0 && !strcmp(ts_diag_get(diag, n - 1)->code, "slices-range"))
        ts_diag_hint(diag, "they are those of `input`; slices: [first, end] here too says which of these they are");
}

/* Adds the way out where the path of the source is what another format reads. A source of several paths keeps its own.
 */
static void hint_at_format(const struct plan_node *node, struct ts_diag *diag)
{
    const struct source_format *format = node->chain_source->format;
    const size_t path = (size_t)ts_chain_path_param(format);
    const void *field = ts_param_field(&node->set, path);
    const struct ts_texts *paths = field;
    const bool listed = format->params[path].kind == PARAM_TEXTS;
    const size_t n = ts_diag_count(diag);
    const char *found = NULL;
    char way_out[FOREIGN_HINT];
    const char *only = !listed ? *(const char *const *)field : paths->n == 1 ? paths->items[0] : NULL;
    const char *kind = only ? ts_file_kind(only, &found) : NULL;
    if (only && n > 0 && !strcmp(ts_diag_get(diag, n - 1)->code, "no-images")) {
        if (ts_foreign_hint(only, way_out))
            ts_diag_hint(diag, "%s", way_out);
        return;
    }
    /* An error about the images of a folder names its own way out, whatever else lies in the folder. */
    if (kind && !strcmp(kind, "a folder"))
        return;
    if (!kind && only && ts_foreign_kind(only, way_out))
        ts_diag_hint(diag, "%s", way_out);
    if (kind && ts_file_way_out_of(only, kind, found, format->name, way_out, sizeof way_out))
        ts_diag_hint(diag, "%s", way_out);
}

/* Refuses a source that a path alone has made, where its format needs more: the chain has no line to add it to. */
static enum ts_status check_missing(const struct plan_node *node, struct ts_diag *diag)
{
    if (ts_load_check_missing(diag, &node->set, node->set.given))
        return TS_OK;
    return ts_diag_hint(diag,
                        "begin the chain with the input, as `tomostage info FILE` writes it, or give each: --set "
                        "%s.NAME=VALUE",
                        node->chain_source->name);
}

/* Numbers the frames of reference of the inputs: those of one UID have one number. */
static int number_frame(const struct ts_plan *plan, int32_t index)
{
    const char *frame = plan->nodes[index].source->frame_of_reference;
    for (int32_t i = 0; frame && i < index; i++) {
        const struct source *source = plan->nodes[i].source;
        if (source && source->frame_of_reference && !strcmp(source->frame_of_reference, frame))
            return source->image.frame;
    }
    return frame ? index + 1 : 0;
}

static enum ts_status open_source(struct ts_plan *plan, int32_t index, struct ts_diag *diag)
{
    struct plan_node *node = &plan->nodes[index];
    const struct plan_node *input = &plan->nodes[0];
    const struct source_format *format = node->chain_source->format;
    if (check_missing(node, diag) != TS_OK)
        return TS_BAD_CHAIN;
    const bool follows = index > 0 && follow(node, input);
    const enum ts_status status = ts_source_open(format, &node->set, &node->source, diag);
    if (status != TS_OK) {
        hint_if_outside(follows, diag);
        if (status == TS_BAD_INPUT)
            hint_at_format(node, diag);
        return status;
    }
    node->source->image.frame = number_frame(plan, index);
    node->out = node->source->image;
    if (format->resolve)
        format->resolve(&node->set, node->source);
    if (!follows || node->source->n_whole == input->source->n_whole)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "slices-follow", .span = node->set.span, .stage = node->label},
                  "has %" PRId64 " slices and `input` %" PRId64 ", so that they are not the same rows of a detector",
                  node->source->n_whole, input->source->n_whole);
    return ts_diag_hint(diag, "slices: [first, end] here too says which of them are those of `input`");
}

/* Returns the node of the input that another one goes with, -1 where its name is none (reported). */
static int32_t find_on(const struct ts_plan *plan, const struct plan_node *node, struct ts_diag *diag)
{
    const char *name = ts_source_on(&node->set);
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct chain_source *source = &plan->chain->sources[i];
        if (!strcmp(source->name, name) && source->format->open)
            return i;
    }
    ts_param_error(&node->set, "on", "source-on", diag, "'%s' is no input with an image", name);
    ts_diag_hint(diag, "name the input whose grid it gets");
    return -1;
}

/* Opens a source that is put on the grid of another one. Where that could not be opened, its own error says so. */
static enum ts_status open_on(struct ts_plan *plan, int32_t index, struct ts_diag *diag)
{
    struct plan_node *node = &plan->nodes[index];
    const struct source_format *format = node->chain_source->format;
    const int32_t on = find_on(plan, node, diag);
    if (on < 0 || !plan->nodes[on].source)
        return TS_BAD_CHAIN;
    node->on = on;
    const enum ts_status status = ts_source_open_on(format, &node->set, plan->nodes[on].source, &node->source, diag);
    if (status != TS_OK)
        return status;
    node->out = node->source->image;
    if (format->resolve)
        format->resolve(&node->set, node->source);
    return TS_OK;
}

/* Finds how many volumes the run goes over. Sources of several must have as many, which are read side by side. */
static enum ts_status count_volumes(struct ts_plan *plan, struct ts_diag *diag)
{
    const struct plan_node *first = NULL;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const int64_t n = node->source ? node->source->n_volumes : 0;
        if (n > 1 && first && n != plan->n_volumes)
            return ts_diag_error(
                diag, TS_BAD_CHAIN,
                &(struct diag_site){.code = "volumes-differ", .span = node->set.span, .stage = node->label},
                "has %" PRId64 " volumes and `%s` %" PRId64 ": those of several inputs are processed side by side", n,
                first->label, plan->n_volumes);
        if (n > 1 && !first) {
            first = node;
            plan->n_volumes = n;
            plan->volume_axis = node->source->volume_axis;
        }
    }
    return TS_OK;
}

enum ts_status ts_plan_open_sources(struct ts_plan *plan, struct ts_diag *diag)
{
    const struct ts_chain *chain = plan->chain;
    if (chain->n_sources == 0 || !chain->sources[0].format) {
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-input"}, "the chain names no input");
        return ts_diag_hint(diag, "input: {dicom: FOLDER} in the chain, or -i FOLDER");
    }
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct chain_source *source = &chain->sources[i];
        struct plan_node *node = &plan->nodes[i];
        *node = (struct plan_node){.label = source->name, .chain_source = source, .set = source->set, .on = -1};
        node->set.values = ts_arena_alloc(plan->arena, source->format->params_bytes + 1);
        if (!node->set.values)
            return ts_diag_no_memory(diag, source->format->params_bytes);
        memcpy(node->set.values, source->set.values, source->format->params_bytes);
        if (source->format->open)
            open_source(plan, i, diag); /* recorded; the others are opened as well */
    }
    for (int32_t i = 0; i < plan->n_sources; i++)
        if (!chain->sources[i].format->open)
            open_on(plan, i, diag);
    (void)count_volumes(plan, diag);
    return ts_diag_status(diag);
}
