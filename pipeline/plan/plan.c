/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a plan of a chain: takes the options, asks the machine for what they leave open, opens the
 * sources, chooses the device, and has everything else worked out (work_out.c). It reads headers,
 * no pixels.
 */
#include "pipeline/plan/plan.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arguments.h"
#include "core/available.h"
#include "core/timing.h"
#include "io/scan/file_kind.h"
#include "io/scan/foreign.h"
#include "io/source/source_slices.h"
#include "pipeline/chain/chain_build.h"
#include "pipeline/chain/load.h"
#include "pipeline/chain/param_file.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "pipeline/plan/plan_axis.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/plan_sweep.h"
#include "pipeline/plan/predict.h"

/* ---- rates ----------------------------------------------------------------------------------- */

/* Copies the newest error's message into the plan's arena. */
static const char *message_of(struct ts_plan *plan, const struct ts_diag *diag)
{
    const char *message = ts_diag_get(diag, ts_diag_count(diag) - 1)->message;
    return ts_arena_text(plan->arena, message, strlen(message));
}

/* Reads the kept rates (NULL: there is no file). Sets plan->rates, or plan->no_prediction if they
 * cannot be used, which is no error. */
static void load_rates(struct ts_plan *plan, const char *path)
{
    struct ts_diag *diag = ts_diag_create();
    struct rates *rates = path ? ts_arena_alloc(plan->arena, sizeof *rates) : NULL;
    plan->no_prediction = path ? "out of memory" : "no rates are kept";
    if (diag && rates && ts_rates_load(path, rates, diag) == TS_OK)
        plan->rates = rates;
    else if (diag && rates)
        plan->no_prediction = message_of(plan, diag);
    ts_diag_destroy(diag);
}

/* Predicts the time of the finished plan. Sets plan->prediction, or plan->no_prediction. */
static void predict(struct ts_plan *plan)
{
    struct ts_diag *diag = plan->rates ? ts_diag_create() : NULL;
    struct prediction *prediction = diag ? ts_arena_alloc(plan->arena, sizeof *prediction) : NULL;
    if (prediction && ts_predict(plan, plan->rates, NULL, prediction, diag) == TS_OK) {
        plan->prediction = prediction;
        plan->no_prediction = NULL;
    } else if (prediction) {
        plan->no_prediction = message_of(plan, diag);
    }
    ts_diag_destroy(diag);
}

/* ---- options --------------------------------------------------------------------------------- */

enum { MOST_THREADS = 1024 };

/* Ranks that may use the same processors share them. The writer of rank 0 uses all of them: it
   compresses what all ranks of all machines compute, while they wait for it. */
static void share_processors(struct ts_plan *plan)
{
    const int share = ts_ranks().processors, all = ts_processors();
    plan->threads = plan->writer_threads = all < MOST_THREADS ? all : MOST_THREADS;
    if (share > 0 && share < plan->threads)
        plan->threads = share;
}

/* Returns 60 % of the memory that is available, or 1 GiB if the system does not report it. All
   ranks of this machine share these bytes. */
static int64_t default_budget(void)
{
    const int64_t available = ts_memory_available();
    return (available > 0 ? available / 10 * 6 : (int64_t)1 << 30) / ts_ranks().on_host;
}

/* Gives every rank the fewest threads and the least memory that any rank has, so that all cut z
   alike. */
static enum ts_status take_ranks(struct ts_plan *plan)
{
    const struct ranks ranks = ts_ranks();
    int64_t least[] = {plan->threads, plan->budget_bytes}, writer[] = {plan->writer_threads, 0};
    plan->rank = ranks.number;
    plan->n_ranks = ranks.count;
    enum ts_status status = ts_ranks_least(TS_OK, least);
    if (status == TS_OK)
        status = ts_ranks_least(TS_OK, writer);
    plan->threads = (int)least[0];
    plan->budget_bytes = least[1];
    plan->writer_threads = (int)writer[0];
    return status;
}

/* Returns the path of a checkpoint beside the output, or NULL if there is no output. */
static const char *beside_output(const struct ts_plan *plan)
{
    const struct chain_output *output = &plan->chain->output;
    const char *path = "";
    if (output->path)
        path = output->path;
    else if (output->n_sinks > 0)
        path = output->sinks[0].path;
    int length = (int)strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return length > 0 ? ts_arena_printf(plan->arena, "%.*s.checkpoint", length, path) : NULL;
}

/* Takes the memory and the threads from the first run, unless the options state them. */
static void take_budget(struct ts_plan *plan, const struct ts_options *options)
{
    char path[PATH_MAX];
    long long memory;
    int threads, writer, on_host;
    const int now = ts_ranks().on_host;
    snprintf(path, sizeof path, "%s/" PLAN_CHECKPOINT_RUN, plan->options.checkpoint.folder);
    FILE *file = fopen(path, "re");
    const bool read =
        file && fscanf(file, PLAN_CHECKPOINT_BUDGET, &memory, &threads, &writer, &on_host) == 4;
    if (file)
        fclose(file);
    if (!read || memory <= 0 || threads <= 0 || writer <= 0 || on_host <= 0)
        return;
    if (options->memory_bytes == 0)
        plan->budget_bytes = now > on_host ? memory / now * on_host : memory;
    if (options->threads > 0)
        return;
    plan->threads = now > on_host && plan->threads < threads ? plan->threads : threads;
    plan->writer_threads = writer;
}

/* Fills plan->options.checkpoint. A run that is resumed must be cut into the same slabs as the
   first run, but the memory that is free differs from run to run: so it takes the memory and the
   threads of the first run, unless the options state them. If more ranks share a machine than
   before, they divide the memory and the threads of the former ones. */
static void take_checkpoint(struct ts_plan *plan, const struct ts_options *options,
                            struct ts_diag *diag)
{
    const bool wanted = options->checkpoint || options->resume || options->time_limit_s > 0;
    if (!wanted || plan->chain->part)
        return;
    plan->options.checkpoint = (struct plan_checkpoint){
        .folder = options->checkpoint
                      ? ts_arena_text(plan->arena, options->checkpoint, strlen(options->checkpoint))
                      : beside_output(plan),
        .resume = options->resume,
        .ends = options->time_limit_s > 0 ? ts_seconds() + options->time_limit_s : 0};
    if (options->checkpoint && !plan->options.checkpoint.folder)
        ts_diag_no_memory(diag, strlen(options->checkpoint));
    if (plan->options.checkpoint.folder && plan->options.checkpoint.resume)
        take_budget(plan, options);
}

struct ts_options ts_options_known(const struct ts_options *given)
{
    struct ts_options options = {.size = sizeof options};
    if (given)
        memcpy(&options, given,
               given->size > 0 && given->size < sizeof options ? given->size : sizeof options);
    return options;
}

enum ts_status ts_options_check(const struct ts_options *options, struct ts_diag *diag)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"options.threads", options->threads},
                   {"options.memory_bytes", (double)options->memory_bytes},
                   {"options.gpu_memory_bytes", (double)options->gpu_memory_bytes},
                   {"options.time_limit_s", options->time_limit_s}};
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (ts_arguments_refuse_negative(diag, numbers[i].name, numbers[i].value) != TS_OK)
            status = TS_BAD_CHAIN;
    const struct ts_allocator allocator = ts_allocator_known(options);
    if (options->allocator && (!allocator.allocate || !allocator.free))
        status = ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "argument-null"},
                               "options.allocator->%s is NULL, and an allocator has both functions",
                               allocator.allocate ? "free" : "allocate");
    return status;
}

struct ts_allocator ts_allocator_known(const struct ts_options *options)
{
    struct ts_allocator allocator = {.size = 0};
    const struct ts_allocator *given = options->allocator;
    if (given)
        memcpy(&allocator, given,
               given->size > 0 && given->size < sizeof allocator ? given->size : sizeof allocator);
    return allocator;
}

/* Fills the plan's threads, budget, ranks and all else from the options, except the device. Records
   what is wrong with them. Returns the status of another rank that has failed, else TS_OK. */
static enum ts_status take_options(struct ts_plan *plan, const struct ts_options *options,
                                   struct ts_diag *diag)
{
    share_processors(plan);
    if (options->threads > 0)
        plan->threads = plan->writer_threads = options->threads;
    plan->budget_given = options->memory_bytes > 0;
    plan->gpu_budget_given = options->gpu_memory_bytes > 0;
    plan->budget_bytes = options->memory_bytes > 0 ? options->memory_bytes : default_budget();
    take_checkpoint(plan, options, diag);
    plan->options.force = options->force;
    plan->options.on_event = options->on_event;
    plan->options.user = options->user;
    plan->options.allocator = ts_allocator_known(options);
    plan->options.arrays = options->arrays != 0;
    plan->options.profile =
        options->profile ? ts_arena_text(plan->arena, options->profile, strlen(options->profile))
                         : NULL;
    plan->state->trace = plan->options.profile ? ts_trace_create() : NULL;
    if (options->profile && !plan->state->trace)
        ts_diag_no_memory(diag, strlen(options->profile));
    if (plan->threads > MOST_THREADS)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "threads"},
                      "%d threads are more than the limit of %d", plan->threads, MOST_THREADS);
    load_rates(plan, options->rates);
    return take_ranks(plan);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* The sources of a chain are opened, `input` first, because the range of its rows is a range of the
   detector: flats and darks without a range of their own get the same one. Sources that are put on
   the grid of a different source come last. */

/* Returns true for flats and darks: the parameter `frames` names them, or `axes` names frames,
 * which have no angles. */
static bool is_reference(const struct param_set *set)
{
    const char *frames = ts_param_choice_name(set, "frames");
    size_t i;
    const struct param *param = ts_param_find(set->params, set->n_params, "axes", &i);
    bool found = frames && strcmp(frames, "projections") != 0;
    if (!param || param->kind != PARAM_TEXTS)
        return found;
    const struct ts_texts *axes =
        (const void *)((const unsigned char *)set->values + param->offset);
    for (int64_t axis = 0; axis < axes->n; axis++)
        found |= !strcmp(axes->items[axis], "frame");
    return found;
}

/* Gives flats and darks without `slices` those of `input`; false if they keep their own. */
static bool follow(struct plan_node *node, const struct plan_node *input)
{
    const struct ts_numbers *slices = ts_source_slices(&input->set),
                            *own = ts_source_slices(&node->set);
    size_t i;
    if (!input->source || !slices || slices->rows == 0 || !own || own->rows > 0 ||
        !is_reference(&node->set))
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
        ts_diag_hint(diag, "they are those of `input`; slices: [first, end] here too says which of "
                           "these they are");
}

/* Adds a hint to the right format, if the path of the source is what another format reads. A source
   of several paths keeps the hint it has. */
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
    const char *only = NULL;
    if (!listed)
        only = *(const char *const *)field;
    else if (paths->n == 1)
        only = paths->items[0];
    const char *kind = only ? ts_file_kind(only, &found) : NULL;
    if (only && n > 0 && !strcmp(ts_diag_get(diag, n - 1)->code, "no-images")) {
        if (ts_foreign_hint(only, way_out))
            ts_diag_hint(diag, "%s", way_out);
        return;
    }
    /* The error about the images of a folder has its own hint, whatever else is in the folder. */
    if (kind && !strcmp(kind, "a folder"))
        return;
    if (!kind && only && ts_foreign_kind(only, way_out))
        ts_diag_hint(diag, "%s", way_out);
    if (kind && ts_file_way_out(only, kind, found, format->name, way_out, sizeof way_out))
        ts_diag_hint(diag, "%s", way_out);
}

/* Refuses a source that the command line has made from a path, if its format needs more parameters:
   the chain has no line to add them to. */
static enum ts_status check_missing(const struct plan_node *node, struct ts_diag *diag)
{
    if (ts_load_check_missing(diag, &node->set, node->set.given))
        return TS_OK;
    return ts_diag_hint(diag,
                        "begin the chain with the input, as `tomostage info FILE` writes it, or "
                        "give each: --set %s.NAME=VALUE",
                        node->chain_source->name);
}

/* Returns a number for the frame of reference of an input; inputs of one UID get one number. */
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
    ts_diag_error(
        diag, TS_BAD_CHAIN,
        &(struct diag_site){.code = "slices-follow", .span = node->set.span, .stage = node->label},
        "has %" PRId64 " slices and `input` %" PRId64
        ", so that they are not the same rows of a detector",
        node->source->n_whole, input->source->n_whole);
    return ts_diag_hint(diag,
                        "slices: [first, end] here too says which of them are those of `input`");
}

/* Returns the name of the input that the set's parameter `on` names; NULL if the format has no such
   parameter. */
static const char *source_on(const struct param_set *set)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, "on", &i)
               ? *(const char *const *)ts_param_field(set, i)
               : NULL;
}

/* Returns the node of the input on whose grid this one is put; -1 if its name is no input
   (reported). */
static int32_t find_on(const struct ts_plan *plan, const struct plan_node *node,
                       struct ts_diag *diag)
{
    const char *name = source_on(&node->set);
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct chain_source *source = &plan->chain->sources[i];
        if (!strcmp(source->name, name) && source->format->open)
            return i;
    }
    ts_param_error(&node->set, "on", "source-on", diag, "'%s' is no input with an image", name);
    ts_diag_hint(diag, "name the input whose grid it gets");
    return -1;
}

/* Opens a source that is put on the grid of a different one. If that one could not be opened, only
   its error is reported. */
static enum ts_status open_on(struct ts_plan *plan, int32_t index, struct ts_diag *diag)
{
    struct plan_node *node = &plan->nodes[index];
    const struct source_format *format = node->chain_source->format;
    const int32_t on = find_on(plan, node, diag);
    if (on < 0 || !plan->nodes[on].source)
        return TS_BAD_CHAIN;
    node->on = on;
    const enum ts_status status =
        ts_source_open_on(format, &node->set, plan->nodes[on].source, &node->source, diag);
    if (status != TS_OK)
        return status;
    node->out = node->source->image;
    if (format->resolve)
        format->resolve(&node->set, node->source);
    return TS_OK;
}

/* Finds how many volumes the run goes over. All sources with several volumes must have equally
   many, since volume k of each is read in the same step. */
static enum ts_status count_volumes(struct ts_plan *plan, struct ts_diag *diag)
{
    const struct plan_node *first = NULL;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const int64_t n = node->source ? node->source->n_volumes : 0;
        if (n > 1 && first && n != plan->n_volumes)
            return ts_diag_error(diag, TS_BAD_CHAIN,
                                 &(struct diag_site){.code = "volumes-differ",
                                                     .span = node->set.span,
                                                     .stage = node->label},
                                 "has %" PRId64 " volumes and `%s` %" PRId64
                                 ": those of several inputs are processed side by side",
                                 n, first->label, plan->n_volumes);
        if (n > 1 && !first) {
            first = node;
            plan->n_volumes = n;
            plan->volume_axis = node->source->volume_axis;
        }
    }
    return TS_OK;
}

/* Fills the nodes of the sources. If `input` reads a range of slices, flats and darks without a
 * range of their own get that range, and their recorded parameters state it. Returns TS_BAD_CHAIN
 * (slices-follow) if they have another number of slices than `input`. */
static enum ts_status open_sources(struct ts_plan *plan, struct ts_diag *diag)
{
    const struct ts_chain *chain = plan->chain;
    if (chain->n_sources == 0 || !chain->sources[0].format) {
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-input"},
                      "the chain names no input");
        return ts_diag_hint(diag, "input: {dicom: FOLDER} in the chain, or -i FOLDER");
    }
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct chain_source *source = &chain->sources[i];
        struct plan_node *node = &plan->nodes[i];
        *node = (struct plan_node){
            .label = source->name, .chain_source = source, .set = source->set, .on = -1};
        node->set.sandbox = ts_context_sandbox(chain->context);
        node->set.values = ts_arena_alloc(plan->arena, source->format->params_bytes + 1);
        if (!node->set.values)
            return ts_diag_no_memory(diag, source->format->params_bytes);
        memcpy(node->set.values, source->set.values, source->format->params_bytes);
        if (source->format->open)
            /* the error is recorded, and the others are opened as well */
            open_source(plan, i, diag);
    }
    for (int32_t i = 0; i < plan->n_sources; i++)
        if (!chain->sources[i].format->open)
            open_on(plan, i, diag);
    (void)count_volumes(plan, diag);
    return ts_diag_status(diag);
}

/* ---- auto ------------------------------------------------------------------------------------ */

/* With `auto` the chain is planned for the device and for the CPU, and the predictions are
   compared. Starting a CUDA device takes a good part of a second, so short runs end earlier on the
   CPU. The reason that a result records is the same for any times, so that its bytes do not depend
   on the number of threads or on what was measured. */

/* A CUDA device to which a plan can return. */
struct chosen {
    const char *device;
    int64_t budget;
};

static void return_to(struct ts_plan *plan, const struct chosen *chosen)
{
    plan->cuda = plan->cuda_devices;
    plan->device = chosen->device;
    plan->device_note = NULL;
    plan->gpu_budget_bytes = chosen->budget;
}

/* Moves a plan that was worked out on the device to the CPU if it is predicted to end earlier
   there. It must be worked out again in both cases. `scratch` takes records that nobody reads. */
static void take_earlier(struct ts_plan *plan, struct ts_diag *scratch)
{
    const struct chosen chosen = {plan->device, plan->gpu_budget_bytes};
    struct prediction there, here;
    if (ts_predict(plan, plan->rates, NULL, &there, scratch) != TS_OK)
        return;
    ts_plan_decline(plan, "predicted to be done first", NULL);
    const bool both = ts_plan_work_out(plan, scratch) == TS_OK &&
                      ts_predict(plan, plan->rates, NULL, &here, scratch) == TS_OK;
    if (both && here.seconds <= there.seconds) {
        plan->device_times = ts_arena_printf(
            plan->arena, "%.2f s against %.2f s on %s, of which %.2f s start it", here.seconds,
            there.seconds, chosen.device, plan->rates->values[RATE_CUDA_START]);
        return;
    }
    return_to(plan, &chosen);
    if (both)
        plan->device_times =
            ts_arena_printf(plan->arena, "predicted to be done first: %.2f s against %.2f s on cpu",
                            there.seconds, here.seconds);
}

/* Moves the plan to the CPU if the chain can run there. The caller found that it cannot run on the
   device, for the reason in `message`. */
static void take_cpu_if_it_can(struct ts_plan *plan, const char *message, struct ts_diag *scratch,
                               struct ts_diag *diag)
{
    const struct chosen chosen = {plan->device, plan->gpu_budget_bytes};
    ts_plan_decline(plan, ts_arena_text(plan->arena, message, strlen(message)), NULL);
    if (ts_plan_work_out(plan, scratch) == TS_OK)
        ts_plan_decline(plan, plan->device_note, diag);
    else
        return_to(plan, &chosen);
}

/* Works the plan out after `auto` has found a CUDA device: for the device, or for the CPU if the
   run is predicted to end earlier there or the chain can run only there. */
static enum ts_status work_out_auto(struct ts_plan *plan, struct ts_diag *diag)
{
    struct ts_diag *there = ts_diag_create(), *here = ts_diag_create();
    enum ts_status status = TS_OK;
    /* The records of a try are lost, so the plan is made again to record into diag. */
    bool again = !there || !here || plan->rates;
    const bool predicts =
        plan->rates && plan->n_ranks == 1; /* ranks may have measured other rates */
    if (there && here && ts_plan_work_out(plan, there) != TS_OK) {
        take_cpu_if_it_can(plan, ts_diag_get(there, 0)->message, here, diag);
        again = true;
    } else if (there && here && predicts) {
        take_earlier(plan, here);
    }
    if (again || ts_diag_count(there) > 0)
        status = ts_plan_work_out(plan, diag);
    ts_diag_destroy(there);
    ts_diag_destroy(here);
    return status;
}

/* Refuses an array in the memory of a device, unless that is the one device that computes. */
static enum ts_status check_arrays(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct source *source = plan->nodes[i].source;
        if (!source || !source->resident || source->resident_device < 0 ||
            ts_plan_lies_in_memory(plan, i))
            continue;
        ts_diag_error(diag, TS_BAD_CHAIN,
                      &(struct diag_site){.code = "memory-device", .stage = plan->nodes[i].label},
                      "is an array in the memory of CUDA device %d, and the chain runs on %s",
                      source->resident_device, plan->device);
        return ts_diag_hint(diag, "the device of the options has to be that of the array, whose "
                                  "cuda_device is -1 for host memory");
    }
    return TS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns NULL if memory is out. */
static struct ts_plan *allocate_plan(void)
{
    struct ts_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return NULL;
    plan->arena = ts_arena_create();
    plan->nodes = calloc(CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES, sizeof *plan->nodes);
    plan->state = calloc(1, sizeof *plan->state);
    if (plan->arena && plan->nodes && plan->state)
        return plan;
    ts_plan_destroy(plan);
    return NULL;
}

enum ts_status ts_plan_create(const struct ts_chain *chain, const struct ts_options *given,
                              struct ts_plan **result, struct ts_diag *diag)
{
    struct ts_options options = ts_options_known(given);
    if (result)
        *result = NULL;
    if (ts_arguments_lack(diag, "chain, plan", chain, result) ||
        ts_options_check(&options, diag) != TS_OK)
        return TS_BAD_CHAIN;
    struct ts_plan *plan = allocate_plan();
    if (!plan)
        return ts_diag_no_memory(diag, sizeof *plan);
    ts_diag_begin(diag);
    ts_diag_name_options(diag, ts_chain_is_of_caller(chain));
    if (options.threads == 0)
        options.threads = ts_context_threads(chain->context);
    ts_diag_set_source(diag, chain->source_name, chain->text, chain->text_length);
    enum ts_status expanded = ts_plan_expand(plan, chain, diag);
    if (expanded == TS_OK)
        expanded = ts_chain_read_files(&plan->chain, plan->arena, diag);
    if (expanded != TS_OK) {
        ts_plan_destroy(plan);
        return expanded;
    }
    plan->piece_bytes = PLAN_PIECE_BYTES;
    plan->n_volumes = 1;
    plan->n_sources = chain->n_sources;
    plan->n_nodes = chain->n_sources + plan->chain->n_stages;
    enum ts_status status = take_options(plan, &options, diag);
    if (status != TS_OK) {
        ts_plan_destroy(plan);
        return status;
    }
    /* Sources are opened first, since the driver may be starting meanwhile. Errors of both are
       reported. */
    (void)open_sources(plan, diag);
    const enum ts_status device =
        ts_plan_device(plan, options.device, options.gpu_memory_bytes, diag);
    status = ts_diag_status(diag);
    status = status == TS_OK ? device : status; /* the status may be that of another rank */
    if (status == TS_OK)
        status = check_arrays(plan, diag);
    const bool chosen = !options.device || !strcmp(options.device, "auto");
    if (status == TS_OK)
        status = chosen && plan->cuda ? work_out_auto(plan, diag) : ts_plan_work_out(plan, diag);
    if (status == TS_OK)
        status = ts_plan_check_axis(plan, diag);
    if (status != TS_OK) {
        ts_plan_destroy(plan);
        return status;
    }
    ts_plan_warn(plan, diag);
    predict(plan);
    ts_trace_add(plan->state->trace, TRACE_PLAN, 0, 0);
    *result = plan;
    return TS_OK;
}

enum ts_status ts_plan_reuse_take(struct ts_plan *plan, struct plan_reuse *reuse,
                                  struct ts_diag *diag)
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
        predict(plan);
    return status;
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
    if (plan->state)
        ts_trace_destroy(plan->state->trace);
    ts_arena_destroy(plan->arena);
    free(plan->state);
    free(plan->nodes);
    free(plan);
}

void ts_plan_stop(struct ts_plan *plan)
{
    if (plan)
        atomic_store(&plan->state->stop, true);
}

void ts_plan_pause(struct ts_plan *plan)
{
    if (plan)
        atomic_store(&plan->state->pause, true);
}
