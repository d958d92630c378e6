/* SPDX-License-Identifier: Apache-2.0
 *
 * This works a plan out for the device that it has: it resolves every stage's parameters against
 * its inputs, finds shapes, passes and names, checks the outputs, and fits the whole to the memory
 * budget. The sources are open; no pixel is read.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/plan_sweep.h"
#include "stages/values/scope.h"

/* ---- frames of a scan ------------------------------------------------------------------------ */

/* The parameter `frames` of an input states which frames of a scan it holds, and those of a stage's
 * references state which they need. A scan holds projections, flats and darks of one shape, and a
 * plan that mistakes one for another would give a wrong image. */

const struct plan_node *ts_plan_source_of(const struct ts_plan *plan, int32_t node)
{
    while (!plan->nodes[node].source)
        node = plan->nodes[node].inputs[0];
    return &plan->nodes[node];
}

/* Returns the kind of frames of a scan from which this node's image comes: the parameter `frames`
   of its source. NULL: not known. */
static const char *frames_of(const struct ts_plan *plan, int32_t node)
{
    const struct plan_node *source = ts_plan_source_of(plan, node);
    const char *unit = source->out.axes[1].unit;
    if (!ts_image_is_sinogram(&source->out))
        return NULL;
    const char *frames = ts_param_choice_name(&source->set, "frames");
    return frames || !unit || strcmp(unit, "degree") != 0
               ? frames
               : "projections"; /* they alone have angles */
}

static enum ts_status check_reference(const struct ts_plan *plan, const struct plan_node *node,
                                      const struct param *param, int32_t reference,
                                      struct ts_diag *diag)
{
    const char *frames = frames_of(plan, reference),
               *source = ts_plan_source_of(plan, reference)->label;
    if (!frames || !strcmp(frames, param->frames))
        return TS_OK;
    ts_param_error(&node->set, param->name, "reference-frames", diag,
                   "'%s' holds the %s of its scan, and the %s were expected", source, frames,
                   param->frames);
    return ts_diag_hint(diag, "frames: %s where '%s' is defined, or another input", param->frames,
                        source);
}

/* Compares the detector rows that were read. Inputs with different numbers of rows may have been
   cut before, so they are not compared. */
static enum ts_status check_rows(const struct ts_plan *plan, const struct plan_node *node,
                                 const struct param *param, int32_t reference, struct ts_diag *diag)
{
    const struct source *image = ts_plan_source_of(plan, node->inputs[0])->source,
                        *other = ts_plan_source_of(plan, reference)->source;
    if (image->n_whole != other->n_whole || image->first_slice == other->first_slice)
        return TS_OK;
    ts_param_error(&node->set, param->name, "reference-rows", diag,
                   "its rows are read from row %" PRId64
                   " of the detector on, those of the image from row %" PRId64,
                   other->first_slice, image->first_slice);
    return ts_diag_hint(diag, "slices: [%" PRId64 ", %" PRId64 "] where '%s' is defined",
                        image->first_slice, image->first_slice + image->n_slices,
                        ts_plan_source_of(plan, reference)->label);
}

static enum ts_status check_image(const struct ts_plan *plan, const struct plan_node *node,
                                  struct ts_diag *diag)
{
    const char *frames = frames_of(plan, node->inputs[0]),
               *source = ts_plan_source_of(plan, node->inputs[0])->label;
    if (!frames || !strcmp(frames, "projections"))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){
                      .code = "input-frames", .span = node->set.span, .stage = node->set.owner},
                  "'%s' holds the %s of its scan, and the projections were expected", source,
                  frames);
    return ts_diag_hint(diag, "frames: projections where '%s' is defined, or another input",
                        source);
}

/* Checks a stage whose parameters name `frames`, once its inputs are known. Returns TS_BAD_CHAIN
 * with the code reference-frames if a reference holds other frames, reference-rows if it has other
 * rows of the detector, and input-frames if its own image holds flats or darks. */
static enum ts_status check_frames(const struct ts_plan *plan, int32_t stage, struct ts_diag *diag)
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

/* ---- searches -------------------------------------------------------------------------------- */

bool ts_plan_needs_search(const struct plan_node *node)
{
    const struct stage_search *search = node->chain_stage->stage->search;
    return search && search->needed(&node->chain_stage->set);
}

/* Returns the source that gives this input of a node several volumes; NULL if it has one volume. */
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

enum ts_status ts_plan_refuse_volumes(const struct ts_plan *plan, int32_t index,
                                      struct ts_diag *diag)
{
    const struct plan_node *node = &plan->nodes[index];
    const struct plan_node *image = find_volumes(plan, node->inputs[0]),
                           *mask = find_volumes(plan, node->inputs[1]);
    if (!image && !mask)
        return TS_OK;
    const struct plan_node *from = image ? image : mask;
    const int64_t n = from->source->n_volumes;
    const bool both = image && mask && image != mask;
    ts_diag_error(
        diag, TS_BAD_CHAIN,
        &(struct diag_site){.code = "volumes-axes", .span = node->set.span, .stage = node->label},
        "looks for one box, and its %s %" PRId64 " volumes, each of which may have another",
        !mask    ? "image has"
        : !image ? "mask has"
                 : "image and its mask have",
        n);
    return ts_diag_hint(
        diag, "beside the path of `%s`%s%s%s, take: N reads one volume, 0 to %" PRId64 "%s",
        from->label, both ? " and of `" : "", both ? mask->label : "", both ? "`" : "", n - 1,
        image ? "; its result records the box as x, y and z, which crop all volumes alike where "
                "the chain gives them"
              : "");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

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

/* Returns the first pass in which an input and the references that stream with it can be
   computed. */
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

/* Finds the passes in which a stage runs. Its image comes in the pass of its inputs; a reduction
   over volumes needs one pass for each round, and whatever needs the result waits for them. */
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
    /* Tables per slice are made when the image is there and the rounds over references have
       ended. */
    const bool tabulates = reduction && !reduction->feeds_map && by_slice;
    if (!tabulates)
        node->tables_pass = -1;
    else
        node->tables_pass = after > node->level ? after : node->level;
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
        const int32_t first = node->domain < other ? node->domain : other,
                      gone = node->domain + other - first;
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
    const bool again = node->set.resolved; /* the axes that were found need this second call, in
                                              which a stage must not repeat warnings */
    node->set = node->chain_stage->set;
    node->set.resolved |= again;
    node->set.axis_later = !again && known_axes(plan, node) > 0;
    node->set.values = values;
    node->set.owner = node->label;
    memcpy(values, node->chain_stage->set.values, node->chain_stage->stage->params_bytes);
    for (int i = 0; i < STAGE_REFERENCES; i++)
        if (node->inputs[1 + i] >= 0)
            references[i] = &plan->nodes[node->inputs[1 + i]].out;
    const enum ts_status status =
        ts_stage_prepare(node->chain_stage->stage, &node->set, &plan->nodes[node->inputs[0]].out,
                         references, plan->threads, plan->cuda, diag, &node->context);
    node->context.joined = plan->n_ranks > 1 && !plan->as_devices;
    if (status == TS_OK)
        node->out = node->context.out;
    return status;
}

/* A stage may not find different axes for each volume, because a file has one set of axes. */
static enum ts_status refuse_found_axes(const struct plan_node *node, struct ts_diag *diag)
{
    const bool swept = node->value >= 0;
    if ((!node->by_volume && !swept) || !ts_stage_finds_axes(&node->context))
        return TS_OK;
    ts_diag_error(
        diag, TS_BAD_CHAIN,
        &(struct diag_site){.code = "volumes-axes", .span = node->set.span, .stage = node->label},
        swept
            ? "would find other axes for each value of the sweep, and a result has one set of axes"
            : "would find other axes in each of the volumes, and a result has one set of axes");
    return ts_diag_hint(
        diag, swept
                  ? "state what it would find"
                  : "state what it would find, or choose one volume with `take:` beside the input");
}

/* Refuses a stage that makes one volume of others than its input has. */
static enum ts_status check_volumes(const struct ts_plan *plan, const struct plan_node *node,
                                    struct ts_diag *diag)
{
    const struct stage_context *context = &node->context;
    const struct diag_site site = {
        .code = "reduce-volumes", .span = node->set.span, .stage = node->label};
    const char *axis = ts_param_choice_name(&node->set, "axis");
    if (!ts_scope_joins_volumes(context) ||
        (node->by_volume && ts_scope_takes_volumes(context, plan->volume_axis.kind)))
        return TS_OK;
    if (!node->by_volume) {
        ts_diag_error(diag, TS_BAD_CHAIN, &site,
                      "makes one volume of several along '%s', and the image has one volume", axis);
        return ts_diag_hint(diag, "`axis: z` makes one slice of all slices of a volume");
    }
    ts_diag_error(diag, TS_BAD_CHAIN, &site,
                  "makes one volume of several along '%s', and those of the image are along '%s'",
                  axis, ts_axis_name(&plan->volume_axis));
    return ts_diag_hint(diag, "`axis: volumes` takes them, whatever they differ by");
}

/* Describes the images of a reduction over all volumes as one image, with all slices in a row; an
   image that is made of all volumes is one. */
static void join_series(const struct ts_plan *plan, struct plan_node *node)
{
    const bool joins = ts_scope_joins_volumes(&node->context);
    node->series =
        plan->n_volumes > 1 && node->by_volume && (joins || ts_scope_is_series(&node->context));
    if (!node->series)
        return;
    node->context.in.axes[0].n *= plan->n_volumes;
    if (joins)
        node->by_volume = false;
    else
        node->context.out.axes[0].n *= plan->n_volumes;
}

/* Gives a resolved node what is taken for it; axes that the earlier run found become those of its
   image. */
static enum ts_status put_reused(struct ts_plan *plan, int32_t index)
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

static enum ts_status plan_stage(struct ts_plan *plan, int32_t stage_index, bool *usable,
                                 struct ts_diag *diag)
{
    const int32_t index = plan->n_sources + stage_index;
    struct plan_node *node = &plan->nodes[index];
    const struct chain_stage *stage = &plan->chain->stages[stage_index];
    *node = (struct plan_node){
        .chain_stage = stage, .set = stage->set, .label = stage_label(plan, stage_index)};
    node->set.values = ts_arena_alloc(plan->arena, stage->stage->params_bytes + 1);
    if (!node->set.values || !node->label || !ts_plan_place(plan, index))
        return ts_diag_no_memory(diag, stage->stage->params_bytes);
    find_inputs(node);
    for (int input = 0; input < STAGE_INPUTS; input++)
        if (node->inputs[input] >= 0 && !usable[node->inputs[input]])
            return TS_OK; /* reported already, at the node that failed */
    if (check_frames(plan, index, diag) != TS_OK)
        return TS_OK; /* the error is recorded, and the other stages are checked as well */
    if (ts_plan_resolve(plan, index, diag) != TS_OK)
        return TS_OK;
    const struct plan_node *from = &plan->nodes[node->inputs[0]];
    node->domain = stage->stage->reads ? index : from->domain;
    node->image_node = stage->stage->map ? index : from->image_node;
    node->axes_node = stage->stage->map || stage->stage->shape ? index : from->axes_node;
    for (int input = 0; input < STAGE_INPUTS; input++)
        node->by_volume |= node->inputs[input] >= 0 && plan->nodes[node->inputs[input]].by_volume;
    if (check_volumes(plan, node, diag) != TS_OK || refuse_found_axes(node, diag) != TS_OK ||
        (ts_plan_needs_search(node) && ts_plan_refuse_volumes(plan, index, diag) != TS_OK))
        return TS_OK;
    join_series(plan, node);
    join_domains(plan, index);
    if (put_reused(plan, index) != TS_OK)
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

/* ---- outputs --------------------------------------------------------------------------------- */

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
            plan->output_bytes +=
                (int64_t)ts_image_bytes(&written) * (node->by_volume ? plan->n_volumes : 1);
    }
}

static enum ts_status check_names(const struct ts_plan *plan, struct ts_diag *diag)
{
    /* The names that ts_provenance_begin writes to /entry, and the fields that NXentry defines. */
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
        const bool named =
            (stage->stage->traits & TRAIT_KEEPS_IMAGE) && stage->name && plan->nodes[i].leader == i;
        bool taken = named && !strncmp(stage->name, "process_", 8);
        for (size_t r = 0; named && r < sizeof reserved / sizeof *reserved; r++)
            taken |= !strcmp(stage->name, reserved[r]);
        if (taken)
            ts_diag_error(diag, TS_BAD_CHAIN,
                          &(struct diag_site){.code = "name-reserved",
                                              .span = stage->name_span,
                                              .stage = "save.name"},
                          "'%s' is a name that the output file uses itself", stage->name);
    }
    return ts_diag_status(diag);
}

static const char *unused_hint(const struct ts_plan *plan, int32_t node)
{
    if (node == 0)
        /* the chain needs this source, so the hint cannot be to remove it */
        return "name it as a stage's reference or input";
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
        ts_diag_error(
            diag, TS_BAD_CHAIN,
            &(struct diag_site){.code = "unused", .span = node->set.span, .stage = node->label},
            "nothing takes its image");
        ts_diag_hint(diag, "%s", unused_hint(plan, i));
    }
    return ts_diag_status(diag);
}

/* ---- names of outputs ------------------------------------------------------------------------ */

/* Every name that an output will write is listed, also those beside it, with the real path of its
   folder, so that two spellings of one name are found. A name collides with an equal one, and with
   a folder whose whole content an output makes. */
enum { MOST_NAMES = 1 + SINK_FORMATS * SINK_STAGED + 2 }; /* HDF5, other formats, a profile */

/* This is a name that an output writes. */
struct written {
    char path[PATH_MAX + 256];
    const char *owner; /* "nifti" */
    struct ts_span span;
    bool is_folder;
};

struct names {
    struct written *items;
    int n;
};

/* Adds a name: its folder is resolved if that exists. */
static void add_name(struct names *names, const char *path, size_t length, const char *ending,
                     const struct written *of)
{
    char given[PATH_MAX], folder[PATH_MAX], resolved[PATH_MAX];
    struct written *written = &names->items[names->n++];
    snprintf(given, sizeof given, "%.*s%s", (int)length, path, ending);
    for (size_t n = strlen(given); n > 1 && given[n - 1] == '/'; n--)
        given[n - 1] = '\0';
    const char *base = ts_base_name(given);
    snprintf(folder, sizeof folder, "%.*s", base > given ? (int)(base - given) : 1,
             base > given ? given : ".");
    *written = *of;
    snprintf(written->path, sizeof written->path, "%s/%.255s",
             realpath(folder, resolved) ? resolved : folder, base);
}

static void list_names(const struct ts_plan *plan, struct names *names)
{
    const struct chain_output *output = &plan->chain->output;
    struct written of = {.owner = "hdf5", .span = output->span};
    if (output->path)
        add_name(names, output->path, strlen(output->path), "", &of);
    for (int32_t i = 0; i < output->n_sinks; i++) {
        const struct sink_format *format = output->sinks[i].format;
        const char *path = output->sinks[i].path;
        of.owner = format->name;
        of.span = output->sinks[i].span;
        of.is_folder = !ts_sink_is_file(format, path);
        add_name(names, path, strlen(path), "", &of);
        of.is_folder = false;
        for (int b = 0; b < SINK_STAGED && format->beside[b]; b++)
            add_name(names, path, ts_sink_stem(format, path), format->beside[b], &of);
    }
    of = (struct written){.owner = "profile"};
    if (plan->options.profile) {
        add_name(names, plan->options.profile, strlen(plan->options.profile), ".svg", &of);
        add_name(names, plan->options.profile, strlen(plan->options.profile), ".json", &of);
    }
}

static bool collide(const struct written *a, const struct written *b)
{
    const size_t n = strlen(a->path), m = strlen(b->path);
    return !strcmp(a->path, b->path) ||
           (a->is_folder && m > n && !strncmp(a->path, b->path, n) && b->path[n] == '/') ||
           (b->is_folder && n > m && !strncmp(a->path, b->path, m) && a->path[m] == '/');
}

static void refuse_collisions(const struct ts_plan *plan, struct ts_diag *diag)
{
    struct names names = {calloc(MOST_NAMES, sizeof *names.items), 0};
    if (!names.items) {
        ts_diag_no_memory(diag, MOST_NAMES * sizeof *names.items);
        return;
    }
    list_names(plan, &names);
    for (int i = 1; i < names.n; i++)
        for (int k = 0; k < i; k++) {
            const struct written *one = &names.items[k], *other = &names.items[i];
            if (one->owner == other->owner || !collide(one, other))
                continue;
            ts_diag_error(diag, TS_BAD_CHAIN,
                          &(struct diag_site){
                              .code = "output-collides", .span = other->span, .stage = "output"},
                          "the outputs %s and %s would both be written to '%s'", one->owner,
                          other->owner,
                          strlen(one->path) > strlen(other->path) ? one->path : other->path);
            ts_diag_hint(diag, "give each output a name, or a folder, of its own");
        }
    free(names.items);
}

/* Refuses a parameter that no output of the chain has. If -o has replaced the outputs, their
   parameters have no line in the chain and are not checked; neither are those of a chain that is
   planned without outputs, as that of a result is. */
static void check_used(const struct chain_output *output, const char *name, bool given,
                       bool (*has)(const struct sink_format *), const char *of,
                       struct ts_diag *diag)
{
    bool used = !given || (!output->path && output->n_sinks == 0) ||
                (output->path && output->span.line == 0);
    char stage[64];
    for (int32_t i = 0; i < output->n_sinks; i++)
        used |= has(output->sinks[i].format) || output->sinks[i].span.line == 0;
    snprintf(stage, sizeof stage, "output.%s", name);
    if (!used)
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "parameter-unused", .stage = stage},
                      "no output of this chain has a %s: %s", name, of);
}

static bool has_codec(const struct sink_format *format)
{
    return format->has_codec;
}

static bool has_window(const struct sink_format *format)
{
    return format->has_window;
}

/* The other formats choose the type of their values themselves. */
static bool has_dtype(const struct sink_format *format)
{
    (void)format;
    return false;
}

/* Refuses outputs that cannot hold the last image, a codec that no output has, and two outputs of
   one name. Warns of images that no output holds. */
static enum ts_status check_outputs(const struct ts_plan *plan, struct ts_diag *diag)
{
    const struct chain_output *output = &plan->chain->output;
    const int64_t columns = output->window.rows > 0 ? output->window.columns : 2;
    if (columns != 2 || output->window.rows > 1 ||
        (output->window.rows == 1 && !(output->window.values[1] > 0)))
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "window", .stage = "output.window"},
                      "[center, width] is expected, with a width above 0");
    for (int32_t i = 0; i < output->n_sinks && columns == 2; i++) {
        const struct sink_format *format = output->sinks[i].format;
        const struct sink_request request = ts_plan_sink_request(plan, i);
        const char *refusal = format->refusal(&request);
        char stage[64];
        snprintf(stage, sizeof stage, "output.%s", format->name);
        const struct diag_site site = {
            .code = "output-cannot-hold", .span = output->sinks[i].span, .stage = stage};
        if (refusal)
            ts_diag_error(diag, TS_BAD_CHAIN, &site, "it cannot hold the image '%s': %s",
                          request.name, refusal);
        else
            ts_sink_warn(format, &request, diag);
        if (refusal && ts_sink_folder_holds(format, &request))
            ts_diag_hint(diag, "a folder can: output: {%s: FOLDER} in the chain", format->name);
    }
    for (int32_t i = plan->n_sources; output->n_sinks > 0 && !output->path && i < plan->n_nodes - 1;
         i++)
        if (plan->nodes[i].dataset && plan->nodes[i].leader == i &&
            i != plan->nodes[plan->n_nodes - 1].leader) {
            ts_diag_warning(
                diag,
                &(struct diag_site){.code = "output-drops-image", .span = plan->nodes[i].set.span},
                "no output holds the image '%s': others than HDF5 hold the last image alone",
                plan->nodes[i].dataset);
            ts_diag_hint(diag, "add hdf5: FILE.h5 to the output");
        }
    check_used(output, "codec", output->codec != SINK_CODEC_NONE, has_codec, "that of dicom does",
               diag);
    /* A chain without outputs may get one later, as a recorded chain does. */
    check_used(output, "dtype", output->dtype != CHAIN_OWN && !output->path && output->n_sinks > 0,
               has_dtype, "that of hdf5 does", diag);
    check_used(output, "window", output->window.rows > 0, has_window, "those of png and dicom do",
               diag);
    refuse_collisions(plan, diag);
    return ts_diag_status(diag);
}

/* ---- the whole ------------------------------------------------------------------------------- */

enum ts_status ts_plan_work_out(struct ts_plan *plan, struct ts_diag *diag)
{
    const enum ts_status status = plan_stages(plan, diag);
    if (status != TS_OK)
        return status;
    name_outputs(plan);
    check_names(plan, diag);
    if (ts_plan_join_values(plan, diag) != TS_OK)
        return TS_BAD_CHAIN;
    check_outputs(plan, diag);
    return check_uses(plan, diag) == TS_OK ? ts_plan_fit(plan, diag) : ts_diag_status(diag);
}
