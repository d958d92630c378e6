/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes a plan of a chain: it opens the sources, resolves every stage's parameters against its input, works out
 * shapes, passes and names, and fits the whole to the memory budget. Reads headers, no pixel.
 */
#include "pipeline/plan/plan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/new_folder.h"
#include "pipeline/plan/plan_axis.h"
#include "pipeline/plan/plan_choose.h"
#include "pipeline/plan/plan_frames.h"
#include "pipeline/plan/plan_grids.h"
#include "pipeline/plan/plan_options.h"
#include "pipeline/plan/plan_outputs.h"
#include "pipeline/plan/plan_padding.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/plan_search.h"
#include "pipeline/plan/plan_sizes.h"
#include "pipeline/plan/plan_sources.h"
#include "pipeline/plan/plan_sweep.h"
#include "stages/values/scope.h"

/* ---- nodes ------------------------------------------------------------------------------------- */

static const char *stage_label(struct ts_plan *plan, int32_t stage)
{
    const char *name = plan->chain->stages[stage].stage->name;
    int before = 0;
    for (int32_t i = 0; i < stage; i++)
        before += !strcmp(plan->chain->stages[i].stage->name, name);
    return before == 0 ? name : ts_arena_printf(plan->arena, "%s#%d", name, before + 1);
}

static void find_inputs(struct plan_node *node)
{
    const struct stage *stage = node->chain_stage->stage;
    int reference = 1;
    for (int input = 0; input < STAGE_INPUTS; input++)
        node->inputs[input] = -1;
    node->inputs[0] = node->chain_stage->input_node;
    for (size_t i = 0; i < stage->n_params && reference < STAGE_INPUTS; i++) {
        if (stage->params[i].kind != PARAM_REFERENCE)
            continue;
        const struct ts_reference *value =
            (const struct ts_reference *)((const unsigned char *)node->chain_stage->set.values +
                                          stage->params[i].offset);
        node->inputs[reference++] = value->name ? value->node : -1;
    }
}

/* Returns the first pass in which an input, and the references that stream with it, can be computed. */
static int input_level(const struct ts_plan *plan, const struct plan_node *node, int input)
{
    int level = plan->nodes[node->inputs[input]].level;
    for (int i = 0; input == 0 && i < STAGE_REFERENCES; i++)
        if (ts_stage_streams(&node->context, i) && plan->nodes[node->inputs[1 + i]].level > level)
            level = plan->nodes[node->inputs[1 + i]].level;
    return level;
}

static int known_axes(const struct ts_plan *plan, const struct plan_node *node)
{
    int pass = 0;
    for (int input = 0; input < STAGE_INPUTS; input++)
        if (node->inputs[input] >= 0 && plan->nodes[node->inputs[input]].axes_pass > pass)
            pass = plan->nodes[node->inputs[input]].axes_pass;
    return pass;
}

/* Finds the passes in which a stage runs. Its image follows its inputs; a reduction over volumes needs one pass for
 * each round, and whatever needs the result waits for them. */
static void find_passes(struct ts_plan *plan, int32_t index)
{
    struct plan_node *node = &plan->nodes[index];
    const struct stage_reduction *reduction = node->chain_stage->stage->reduction;
    const bool by_slice = ts_stage_reduces_slices(&node->context);
    const bool finds_axes = ts_stage_finds_axes(&node->context);
    node->input_axes_pass = known_axes(plan, node);
    node->level = plan->nodes[node->inputs[0]].level;
    const int from = ts_plan_first_pass(plan, index);
    node->first_pass = from > node->input_axes_pass ? from : node->input_axes_pass;
    node->level = node->first_pass > node->level ? node->first_pass : node->level;
    for (int input = 0; reduction && input < STAGE_INPUTS; input++)
        if (ts_stage_reduces_volume(&node->context, input)) {
            const int level = input_level(plan, node, input);
            node->rounds = ts_stage_rounds(&node->context);
            node->first_pass = level > node->first_pass ? level : node->first_pass;
        }
    if ((by_slice || node->chain_stage->stage->map) && input_level(plan, node, 0) > node->level)
        node->level = input_level(plan, node, 0);
    const int after = node->rounds > 0 ? node->first_pass + node->rounds : 0;
    if (reduction && (reduction->feeds_map || finds_axes) && after > node->level)
        node->level = after;
    node->axes_pass = finds_axes ? after : node->input_axes_pass;
    /* Slices are tabulated once their image is there and the rounds over references have ended. */
    const bool tabulates = reduction && !reduction->feeds_map && by_slice;
    node->tables_pass = !tabulates ? -1 : after > node->level ? after : node->level;
    const int passes = node->tables_pass >= after ? node->tables_pass + 1 : after;
    plan->n_passes = passes > plan->n_passes ? passes : plan->n_passes;
    if (!node->reused)
        return;
    node->rounds = 0;
    node->tables_pass = -1;
    if (!plan->reuse->decided)
        node->axes_pass = node->input_axes_pass;
}

/* Images that stream together are read slab by slab together. */
static void join_domains(struct ts_plan *plan, int32_t index)
{
    const struct plan_node *node = &plan->nodes[index];
    for (int i = 0; i < STAGE_REFERENCES; i++) {
        if (!ts_stage_streams(&node->context, i))
            continue;
        const int32_t other = plan->nodes[node->inputs[1 + i]].domain;
        const int32_t first = node->domain < other ? node->domain : other, gone = node->domain + other - first;
        for (int32_t n = 0; n <= index; n++)
            if (plan->nodes[n].domain == gone)
                plan->nodes[n].domain = first;
    }
}

enum ts_status ts_plan_resolve(struct ts_plan *plan, int32_t index, struct ts_diag *diag)
{
    struct plan_node *node = &plan->nodes[index];
    const struct ts_image *references[STAGE_REFERENCES] = {NULL};
    void *values = node->set.values;
    const bool again = node->set.resolved; /* for axes that were found; a stage warns of nothing twice */
    node->set = node->chain_stage->set;
    node->set.resolved |= again;
    node->set.values = values;
    node->set.owner = node->label;
    memcpy(values, node->chain_stage->set.values, node->chain_stage->stage->params_bytes);
    for (int i = 0; i < STAGE_REFERENCES; i++)
        if (node->inputs[1 + i] >= 0)
            references[i] = &plan->nodes[node->inputs[1 + i]].out;
    const enum ts_status status =
        ts_stage_prepare(node->chain_stage->stage, &node->set, &plan->nodes[node->inputs[0]].out, references,
                         plan->threads, plan->cuda, diag, &node->context);
    node->context.joined = plan->n_ranks > 1 && !plan->as_devices;
    if (status == TS_OK)
        node->out = node->context.out;
    return status;
}

/* One file has one set of axes, so a stage may not find others for each volume. */
static enum ts_status refuse_found_axes(const struct plan_node *node, struct ts_diag *diag)
{
    const bool swept = node->value >= 0;
    if ((!node->by_volume && !swept) || !ts_stage_finds_axes(&node->context))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "volumes-axes", .span = node->set.span, .stage = node->label},
                  swept ? "would find other axes for each value of the sweep, and a result has one set of axes"
                        : "would find other axes in each of the volumes, and a result has one set of axes");
    return ts_diag_hint(diag, swept ? "state what it would find"
                                    : "state what it would find, or choose one volume with `take:` beside the input");
}

/* Describes the images of a reduction of all volumes as if these were one, slice behind slice. */
static void join_series(const struct ts_plan *plan, struct plan_node *node)
{
    node->series = plan->n_volumes > 1 && node->by_volume && ts_scope_is_series(&node->context);
    if (!node->series)
        return;
    node->context.in.axes[0].n *= plan->n_volumes;
    node->context.out.axes[0].n *= plan->n_volumes;
}

static enum ts_status plan_stage(struct ts_plan *plan, int32_t stage_index, bool *usable, struct ts_diag *diag)
{
    const int32_t index = plan->n_sources + stage_index;
    struct plan_node *node = &plan->nodes[index];
    const struct chain_stage *stage = &plan->chain->stages[stage_index];
    *node = (struct plan_node){.chain_stage = stage, .set = stage->set, .label = stage_label(plan, stage_index)};
    node->set.values = ts_arena_alloc(plan->arena, stage->stage->params_bytes + 1);
    if (!node->set.values || !node->label || !ts_plan_place(plan, index))
        return ts_diag_no_memory(diag, stage->stage->params_bytes);
    find_inputs(node);
    for (int input = 0; input < STAGE_INPUTS; input++)
        if (node->inputs[input] >= 0 && !usable[node->inputs[input]])
            return TS_OK; /* reported already, at the node that failed */
    if (ts_plan_check_frames(plan, index, diag) != TS_OK)
        return TS_OK; /* recorded; the other stages are checked as well */
    if (ts_plan_resolve(plan, index, diag) != TS_OK)
        return TS_OK;
    const struct plan_node *from = &plan->nodes[node->inputs[0]];
    node->domain = stage->stage->reads ? index : from->domain;
    node->image_node = stage->stage->map ? index : from->image_node;
    node->axes_node = stage->stage->map || stage->stage->shape ? index : from->axes_node;
    for (int input = 0; input < STAGE_INPUTS; input++)
        node->by_volume |= node->inputs[input] >= 0 && plan->nodes[node->inputs[input]].by_volume;
    if (refuse_found_axes(node, diag) != TS_OK ||
        (ts_plan_is_searched(node) && ts_plan_refuse_volumes(plan, index, diag) != TS_OK))
        return TS_OK;
    join_series(plan, node);
    join_domains(plan, index);
    if (ts_plan_put_reused(plan, index) != TS_OK)
        return TS_OK;
    find_passes(plan, index);
    usable[index] = true;
    return TS_OK;
}

static enum ts_status plan_stages(struct ts_plan *plan, struct ts_diag *diag)
{
    bool usable[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES] = {false};
    plan->n_passes = 0;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        struct plan_node *node = &plan->nodes[i];
        node->image_node = node->axes_node = node->domain = node->leader = i;
        node->value = -1;
        node->by_volume = node->source->n_volumes > 1;
        node->level = 0;
        node->upload_bytes = node->download_bytes = node->tables_bytes = 0;
        for (int input = 0; input < STAGE_INPUTS; input++)
            node->inputs[input] = -1;
        usable[i] = true;
    }
    for (int32_t i = 0; i < plan->chain->n_stages; i++) {
        const enum ts_status status = plan_stage(plan, i, usable, diag);
        if (status != TS_OK)
            return status;
    }
    return ts_diag_status(diag);
}

/* ---- outputs ----------------------------------------------------------------------------------- */

static void name_outputs(struct ts_plan *plan)
{
    plan->output_bytes = 0;
    if (plan->chain->part)
        return;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        if ((plan->nodes[i].chain_stage->stage->traits & TRAIT_KEEPS_IMAGE))
            plan->nodes[i].dataset = plan->nodes[i].chain_stage->name;
    struct plan_node *last = &plan->nodes[plan->n_nodes - 1];
    if (!last->dataset)
        for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
            if (plan->nodes[i].leader == last->leader)
                plan->nodes[i].dataset = "data";
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (node->dataset && node->level + 1 > plan->n_passes)
            plan->n_passes = node->level + 1;
        const struct ts_image written = ts_plan_written(plan, i);
        if (node->dataset)
            plan->output_bytes += (int64_t)ts_image_bytes(&written) * (node->by_volume ? plan->n_volumes : 1);
    }
}

static enum ts_status check_names(const struct ts_plan *plan, struct ts_diag *diag)
{
    /* The names that ts_provenance_begin writes into /entry, and the fields that NXentry defines. */
    static const char *const reserved[] = {"data",
                                           "definition",
                                           "input",
                                           "inputs",
                                           "program_name",
                                           "provenance",
                                           "title",
                                           "start_time",
                                           "end_time",
                                           "duration",
                                           "collection_time",
                                           "experiment_identifier",
                                           "entry_identifier",
                                           "run_cycle",
                                           "user",
                                           "sample",
                                           "instrument",
                                           "monitor",
                                           "notes"};
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct chain_stage *stage = plan->nodes[i].chain_stage;
        const bool named = (stage->stage->traits & TRAIT_KEEPS_IMAGE) && stage->name && plan->nodes[i].leader == i;
        bool taken = named && !strncmp(stage->name, "process_", 8);
        for (size_t r = 0; named && r < sizeof reserved / sizeof *reserved; r++)
            taken |= !strcmp(stage->name, reserved[r]);
        if (taken)
            ts_diag_error(diag, TS_BAD_CHAIN,
                          &(struct diag_site){.code = "name-reserved", .span = stage->name_span, .stage = "save.name"},
                          "'%s' is a name that the output file uses itself", stage->name);
    }
    return ts_diag_status(diag);
}

static const char *unused_hint(const struct ts_plan *plan, int32_t node)
{
    if (node == 0)
        return "name it as a stage's reference or input"; /* a chain needs it: it cannot be removed */
    if (node < plan->n_sources)
        return "name it as a stage's reference or input, or remove it from inputs";
    return "remove it, name it as a later stage's input or reference, or add a save stage after it";
}

/* Refuses an image that no stage uses, saves or writes: most likely an `input:` was forgotten. */
static enum ts_status check_uses(const struct ts_plan *plan, struct ts_diag *diag)
{
    bool used[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES] = {false};
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (node->inputs[input] >= 0)
                used[node->inputs[input]] = true;
        used[i] |= node->dataset != NULL || node->image_node != i;
    }
    for (int32_t i = 0; i < plan->n_sources; i++)
        if (plan->nodes[i].on >= 0)
            used[plan->nodes[i].on] = true;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        if (used[i] || plan->chain->part)
            continue;
        const struct plan_node *node = &plan->nodes[i];
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "unused", .span = node->set.span, .stage = node->label},
                      "nothing takes its image");
        ts_diag_hint(diag, "%s", unused_hint(plan, i));
    }
    return ts_diag_status(diag);
}

/* ---- the whole --------------------------------------------------------------------------------- */

enum ts_status ts_plan_work_out(struct ts_plan *plan, struct ts_diag *diag)
{
    const enum ts_status status = plan_stages(plan, diag);
    if (status != TS_OK)
        return status;
    name_outputs(plan);
    check_names(plan, diag);
    if (ts_plan_join_values(plan, diag) != TS_OK)
        return TS_BAD_CHAIN;
    ts_plan_check_outputs(plan, diag);
    return check_uses(plan, diag) == TS_OK ? ts_plan_fit(plan, diag) : ts_diag_status(diag);
}

/* Lists the defaults that an older chain keeps: one note for all, since the chain's first line decides about all. */
static void note_old_defaults(const struct ts_plan *plan, struct ts_diag *diag)
{
    char list[1024] = "";
    size_t used = 0;
    for (int32_t n = 0; n < plan->n_nodes; n++) {
        const struct param_set *set = &plan->nodes[n].set;
        for (size_t i = 0; plan->nodes[n].leader == n && i < set->n_params && used < sizeof list; i++) {
            const struct param *param = &set->params[i];
            if (!ts_param_keeps_old(set, i) || ts_param_is_idle(set, i))
                continue;
            char old[64], now[64];
            ts_param_format_value(param, &param->old.init, old, sizeof old);
            if (param->derived)
                snprintf(now, sizeof now, "%s", param->derived);
            else
                ts_param_format_value(param, &param->init, now, sizeof now);
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s.%s is %s, now %s", used > 0 ? "; " : "",
                                     set->owner, param->name, old, now);
        }
    }
    if (used == 0)
        return;
    ts_diag_note(diag, &(struct diag_site){.code = "version-defaults"},
                 "the chain is of version %d and keeps its defaults: %s", plan->chain->version, list);
    ts_diag_hint(diag, "`tomostage: %d` takes the new ones; a value that is written is taken in every version",
                 CHAIN_VERSION);
}

enum ts_status ts_plan_create(const struct ts_chain *chain, const struct ts_options *given, struct ts_plan **result,
                              struct ts_diag *diag)
{
    const struct ts_options options = ts_plan_known_options(given);
    struct ts_plan *plan = calloc(1, sizeof *plan);
    *result = NULL;
    if (plan) {
        plan->arena = ts_arena_create();
        plan->nodes = calloc(CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES, sizeof *plan->nodes);
    }
    if (!plan || !plan->arena || !plan->nodes) {
        ts_plan_destroy(plan);
        return ts_diag_no_memory(diag, sizeof *plan);
    }
    ts_diag_set_source(diag, chain->source_name, chain->text, chain->text_length);
    const enum ts_status expanded = ts_plan_expand(plan, chain, diag);
    if (expanded != TS_OK) {
        ts_plan_destroy(plan);
        return expanded;
    }
    plan->piece_bytes = PLAN_PIECE_BYTES;
    plan->n_volumes = 1;
    plan->n_sources = chain->n_sources;
    plan->n_nodes = chain->n_sources + plan->chain->n_stages;
    enum ts_status status = ts_plan_take_options(plan, &options, diag);
    if (status != TS_OK) {
        ts_plan_destroy(plan);
        return status;
    }
    /* Sources first: the driver may be starting meanwhile. What is wrong with either is reported. */
    (void)ts_plan_open_sources(plan, diag);
    const enum ts_status device = ts_plan_device(plan, options.device, options.gpu_memory_bytes, diag);
    status = ts_diag_status(diag);
    status = status == TS_OK ? device : status; /* it may be that of another rank */
    const bool chosen = !options.device || !strcmp(options.device, "auto");
    if (status == TS_OK)
        status = chosen && plan->cuda ? ts_plan_work_out_auto(plan, diag) : ts_plan_work_out(plan, diag);
    if (status != TS_OK) {
        ts_plan_destroy(plan);
        return status;
    }
    ts_plan_warn_axis(plan, diag);
    ts_plan_warn_padding(plan, diag);
    ts_plan_warn_grids(plan, diag);
    ts_plan_warn_sizes(plan, diag);
    ts_plan_note_searches(plan, diag);
    ts_plan_note_sweep(plan, diag);
    if (!chain->part)
        note_old_defaults(plan, diag);
    ts_plan_predict(plan);
    ts_trace_add(plan->trace, TRACE_PLAN, 0, 0);
    *result = plan;
    return TS_OK;
}

void ts_plan_destroy(struct ts_plan *plan)
{
    if (!plan)
        return;
    for (int32_t i = 0; plan->nodes && i < plan->n_sources; i++)
        if (plan->nodes[i].source)
            plan->nodes[i].source->ops->close(plan->nodes[i].source);
    if (plan->reuse)
        plan->reuse->release(plan->reuse);
    ts_trace_destroy(plan->trace);
    ts_arena_destroy(plan->arena);
    free(plan->nodes);
    free(plan);
}

void ts_plan_stop(struct ts_plan *plan)
{
    atomic_store(&plan->stop, true);
}

void ts_plan_pause(struct ts_plan *plan)
{
    atomic_store(&plan->pause, true);
}

void ts_plan_abandon(const struct ts_plan *plan)
{
    const char *temporary = atomic_load(&plan->temporary);
    if (temporary)
        unlink(temporary);
    temporary = atomic_load(&plan->private_folder);
    if (temporary)
        ts_temporary_folder_remove(temporary);
    for (int i = 0; i < SINK_FORMATS; i++) {
        temporary = atomic_load(&plan->sink_temporaries[i]);
        if (temporary)
            ts_temporary_folder_remove(temporary);
    }
}
