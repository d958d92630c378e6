/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as the library's callers have it: if its images go besides files, and the tables that it
 * leaves.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/arena.h"
#include "core/arguments.h"
#include "core/image.h"
#include "io/file/new_folder.h"
#include "io/source/memory.h"
#include "pipeline/run/run.h"
#include "pipeline/run/run_kept.h"

enum { RUN_TAKERS = CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES };

struct kept_table {
    struct kept_table *next;
    char name[128];
    struct ts_image image;
};

struct ts_run {
    const struct ts_plan *plan;
    struct run_options options;
    struct run_state state;
    struct run_taker takers[RUN_TAKERS];
    struct run_kept kept;
    struct arena *results; /* holds the tables; NULL: there are none */
    struct kept_table *tables, **last_table;
    struct ts_image *made; /* each image of the plan as the last execution made it */
};

/* ---- images ---------------------------------------------------------------------------------- */

/* Returns the node whose image has this name in a result; -1 if there is none (reported). */
static int32_t find_image(const struct ts_plan *plan, const char *name, struct ts_diag *diag)
{
    char known[512] = "";
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(plan, outputs);
    for (int32_t i = 0; i < n; i++) {
        const char *dataset = plan->nodes[outputs[i]].dataset;
        const size_t used = strlen(known);
        if (strcmp(dataset, name) == 0)
            return outputs[i];
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", dataset);
    }
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "image-unknown"},
                  "the chain makes no image '%s'", name);
    ts_diag_hint(diag, "known: %s", known);
    return -1;
}

static struct ts_image image_of(const struct ts_plan *plan, int32_t node)
{
    struct ts_image image = ts_plan_with_volumes(plan, node, &plan->nodes[node].out);
    image.data = NULL;
    image.valid = NULL;
    return image;
}

const char *ts_plan_image_name(const struct ts_plan *plan, size_t i)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = plan ? ts_plan_outputs(plan, outputs) : 0;
    return i < (size_t)n ? plan->nodes[outputs[i]].dataset : NULL;
}

enum ts_status ts_plan_describe(const struct ts_plan *plan, const char *name,
                                struct ts_image *image, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "plan, name, image", plan, name, image))
        return TS_BAD_CHAIN;
    const int32_t node = find_image(plan, name, diag);
    if (node < 0)
        return TS_BAD_CHAIN;
    *image = image_of(plan, node);
    return TS_OK;
}

enum ts_status ts_run_describe(const struct ts_run *run, const char *name, struct ts_image *image,
                               struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "run, name, image", run, name, image))
        return TS_BAD_CHAIN;
    const enum ts_status status = ts_plan_describe(run->plan, name, image, diag);
    for (size_t i = 0; status == TS_OK && ts_plan_image_name(run->plan, i); i++)
        if (run->made[i].rank > 0 && !strcmp(ts_plan_image_name(run->plan, i), name))
            *image = run->made[i];
    return status;
}

/* Notes the places that stages found for the images. Texts and lists stay those of the plan, which
 * outlives the run. */
static void note_places(struct ts_run *run, const struct run *done)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(run->plan, outputs);
    for (int32_t i = 0; i < n; i++) {
        struct ts_image *image = &run->made[i];
        const struct ts_image *found = &done->plan->nodes[outputs[i]].out;
        *image = image_of(run->plan, outputs[i]);
        if (image->rank != found->rank)
            continue; /* several volumes, each with its own */
        for (int d = 0; d < image->rank; d++) {
            image->axes[d].first = found->axes[d].first;
            image->axes[d].spacing = found->axes[d].spacing;
        }
        memcpy(image->origin_mm, found->origin_mm, sizeof image->origin_mm);
    }
}

/* Returns why the array cannot hold the image, which may be written to `text`, or NULL. */
static const char *misfit(const struct ts_plan *plan, struct ts_array *array,
                          const struct ts_image *image, char text[ARRAY_WRONG])
{
    const char *wrong = ts_array_refusal(array, text);
    if (wrong)
        return wrong;
    if (array->cuda_device >= 0 &&
        (!plan->cuda || plan->n_devices > 1 || plan->cuda->index != array->cuda_device)) {
        snprintf(text, ARRAY_WRONG,
                 "has cuda_device %ld, which is a device that does not compute the chain: %s does "
                 "(-1 is host memory)",
                 (long)array->cuda_device, plan->device);
        return text;
    }
    if (array->dtype != image->dtype)
        return "is of another type than the image";
    if (array->rank != image->rank)
        return "has not as many axes as the image";
    for (int d = 0; d < image->rank; d++)
        if (array->n[d] != image->axes[d].n)
            return "has other sizes than the image";
    if (ts_array_meets_itself(array))
        return ts_array_overlap;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct ts_array *input = ts_memory_array(plan->nodes[i].source);
        if (input && ts_array_meets(array, input)) /* no two memories share an address */
            return "overlaps an input, which slabs still read when others are written";
    }
    return NULL;
}

/* Returns the place of the image's taker; n_takers if it has none. */
static int place_of(const struct ts_run *run, int32_t node)
{
    int place = 0;
    while (place < run->options.n_takers && run->takers[place].node != node)
        place++;
    return place;
}

/* Gives back the memory of images that move between host and device, and need other memory now. A
 * graph still uses its own. */
static void drop_memory(struct ts_run *run)
{
    const bool executed = run->kept.executed; /* its kernels stay loaded */
    if (run->kept.captured)
        return;
    ts_run_kept_clear(&run->kept);
    run->kept.executed = executed;
}

/* Gives an image a taker, and replaces an earlier one. */
static enum ts_status set_taker(struct ts_run *run, const char *name, struct run_taker taker,
                                struct ts_diag *diag)
{
    taker.node = find_image(run->plan, name, diag);
    if (taker.node < 0)
        return TS_BAD_CHAIN;
    const struct ts_image image = image_of(run->plan, taker.node);
    const bool calls = taker.take || taker.take_device;
    char text[ARRAY_WRONG];
    const char *wrong = calls ? NULL : misfit(run->plan, &taker.array, &image, text);
    const struct diag_site site = {.code = "memory-array"};
    if (taker.take_device && (!run->plan->cuda || run->plan->n_devices > 1))
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "take-device"},
                             "slabs of the image '%s' are wanted in the memory of one device, and "
                             "the chain runs on %s",
                             name, run->plan->device);
    if (wrong)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "the array for the image '%s' %s", name, wrong);
    if (wrong == ts_array_overlap)
        ts_diag_hint(diag, "%s", ts_array_overlap_hint);
    if (wrong)
        return TS_BAD_CHAIN;
    if (run->plan->n_ranks > 1)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "memory-ranks"},
                             "the run is shared by %d processes, each of which has a part of the "
                             "image '%s'",
                             run->plan->n_ranks, name);
    if (ts_plan_encodes(run->plan)) {
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "memory-encoded"},
                      "the image '%s' leaves the device compressed, for the HDF5 file, and an "
                      "array needs its values",
                      name);
        return ts_diag_hint(diag, "the option `arrays` has the CUDA device hand the values over");
    }
    const int place = place_of(run, taker.node);
    if (place < run->options.n_takers &&
        ts_run_takes_on_device(&run->takers[place]) != ts_run_takes_on_device(&taker))
        drop_memory(run);
    run->takers[place] = taker;
    run->options.n_takers = place == run->options.n_takers ? place + 1 : run->options.n_takers;
    return TS_OK;
}

/* Has nothing take an image any more. */
static enum ts_status remove_taker(struct ts_run *run, const char *name, struct ts_diag *diag)
{
    const int32_t node = find_image(run->plan, name, diag);
    if (node < 0)
        return TS_BAD_CHAIN;
    const int place = place_of(run, node);
    if (place == run->options.n_takers)
        return TS_OK;
    if (ts_run_takes_on_device(&run->takers[place]))
        drop_memory(run);
    run->takers[place] = run->takers[--run->options.n_takers];
    return TS_OK;
}

enum ts_status ts_run_set_array(struct ts_run *run, const char *name, const struct ts_array *array,
                                struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "run, name", run, name))
        return TS_BAD_CHAIN;
    return array ? set_taker(run, name, (struct run_taker){.array = *array}, diag)
                 : remove_taker(run, name, diag);
}

enum ts_status ts_run_set_take(struct ts_run *run, const char *name, ts_take *take, void *user,
                               struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "run, name", run, name))
        return TS_BAD_CHAIN;
    return take ? set_taker(run, name, (struct run_taker){.take = take, .user = user}, diag)
                : remove_taker(run, name, diag);
}

enum ts_status ts_run_set_take_device(struct ts_run *run, const char *name, ts_take_device *take,
                                      void *user, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "run, name", run, name))
        return TS_BAD_CHAIN;
    return take ? set_taker(run, name, (struct run_taker){.take_device = take, .user = user}, diag)
                : remove_taker(run, name, diag);
}

/* ---- results --------------------------------------------------------------------------------- */

static void forget_tables(struct ts_run *run)
{
    ts_arena_destroy(run->results);
    run->results = NULL;
    run->tables = NULL;
    run->last_table = &run->tables;
}

/* Forgets what the last execution made. */
static void forget_results(struct ts_run *run)
{
    forget_tables(run);
    for (size_t i = 0; ts_plan_image_name(run->plan, i); i++)
        run->made[i] = (struct ts_image){0};
}

/* Copies a text, which may be NULL. Returns false if memory is out. */
static bool keep_text(struct arena *arena, const char **text)
{
    return !*text || (*text = ts_arena_text(arena, *text, strlen(*text)));
}

/* Copies a table with all that it points to, which is gone when ts_run_execute() returns. */
static enum ts_status keep_table(struct ts_run *run, const char *label,
                                 const struct stage_table *table, struct ts_diag *diag)
{
    const size_t bytes = ts_image_bytes(&table->image);
    run->results = run->results ? run->results : ts_arena_create();
    struct kept_table *kept = run->results ? ts_arena_alloc(run->results, sizeof *kept) : NULL;
    if (!kept)
        return ts_diag_no_memory(diag, sizeof *kept);
    struct ts_image *image = &kept->image;
    *image = table->image;
    snprintf(kept->name, sizeof kept->name, "%s.%s", label, table->name);
    bool copied = (image->data = ts_arena_copy(run->results, image->data, bytes, 1)) &&
                  keep_text(run->results, &image->unit);
    for (int d = 0; copied && d < image->rank; d++) {
        struct ts_axis *axis = &image->axes[d];
        copied = keep_text(run->results, &axis->unit) && keep_text(run->results, &axis->name);
        if (copied && axis->positions)
            copied = (axis->positions = ts_arena_copy(run->results, axis->positions,
                                                      (size_t)axis->n, sizeof *axis->positions));
    }
    if (!copied)
        return ts_diag_no_memory(diag, bytes);
    *run->last_table = kept;
    run->last_table = &kept->next;
    return TS_OK;
}

static enum ts_status keep_results(void *user, const struct run *done)
{
    struct ts_run *run = user;
    enum ts_status status = TS_OK;
    note_places(run, done);
    for (int32_t i = 0; i < done->plan->n_nodes; i++) {
        const struct stage_table *tables = NULL;
        const int n = ts_run_tables(done, i, &tables);
        for (int t = 0; t < n && status == TS_OK; t++)
            status = keep_table(run, done->plan->nodes[i].label, &tables[t], done->diag);
    }
    return status;
}

const char *ts_run_table_name(const struct ts_run *run, size_t i)
{
    const struct kept_table *table = run ? run->tables : NULL;
    for (; table && i > 0; i--)
        table = table->next;
    return table ? table->name : NULL;
}

enum ts_status ts_run_table(const struct ts_run *run, const char *name, struct ts_image *table,
                            struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "run, name, table", run, name, table))
        return TS_BAD_CHAIN;
    for (const struct kept_table *kept = run->tables; kept; kept = kept->next)
        if (strcmp(kept->name, name) == 0) {
            *table = kept->image;
            return TS_OK;
        }
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "table-unknown"},
                         "the run left no table '%s'", name);
}

/* ---- the run --------------------------------------------------------------------------------- */

enum ts_status ts_run_create(const struct ts_plan *plan, struct ts_run **out, struct ts_diag *diag)
{
    if (out)
        *out = NULL;
    if (ts_arguments_lack(diag, "plan, run", plan, out))
        return TS_BAD_CHAIN;
    struct ts_run *run = *out = calloc(1, sizeof *run);
    if (!run)
        return ts_diag_no_memory(diag, sizeof *run);
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    run->made = calloc((size_t)ts_plan_outputs(plan, outputs) + 1, sizeof *run->made);
    if (!run->made) {
        free(run);
        *out = NULL;
        return ts_diag_no_memory(diag, sizeof *run->made);
    }
    run->plan = plan;
    run->last_table = &run->tables;
    run->options = plan->options;
    run->options.takers = run->takers;
    run->options.on_end = keep_results;
    run->options.end_user = run;
    run->options.kept = &run->kept;
    return TS_OK;
}

void ts_run_destroy(struct ts_run *run)
{
    if (!run)
        return;
    forget_tables(run);
    ts_run_kept_clear(&run->kept);
    free(run->made);
    free(run);
}

/* Refuses one memory for two images, one of which would be lost. */
static enum ts_status check_apart(const struct ts_run *run, struct ts_diag *diag)
{
    for (int i = 0; i < run->options.n_takers; i++)
        for (int k = 0; k < i; k++) {
            const struct run_taker *a = &run->takers[i], *b = &run->takers[k];
            if (a->take || a->take_device || b->take || b->take_device ||
                !ts_array_meets(&a->array, &b->array))
                continue;
            return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "memory-array"},
                                 "the arrays for the images '%s' and '%s' overlap",
                                 run->plan->nodes[b->node].dataset,
                                 run->plan->nodes[a->node].dataset);
        }
    return TS_OK;
}

enum ts_status ts_run_execute(struct ts_run *run, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "run", run))
        return TS_BAD_CHAIN;
    ts_diag_name_options(diag, true);
    forget_results(run);
    if (check_apart(run, diag) != TS_OK)
        return TS_BAD_CHAIN;
    run->state.trace = run->options.profile ? ts_trace_create() : NULL;
    if (run->options.profile && !run->state.trace)
        return ts_diag_no_memory(diag, 0);
    ts_run_state_begin(&run->state);
    const enum ts_status status = ts_run(run->plan, &run->options, &run->state, diag);
    ts_run_state_end(&run->state);
    if (status != TS_OK)
        forget_results(run);
    run->kept.executed |= status == TS_OK;
    ts_trace_destroy(run->state.trace);
    run->state.trace = NULL;
    return status;
}

void ts_run_stop(struct ts_run *run)
{
    if (run)
        atomic_store(&run->state.stop, true);
}

void ts_run_pause(struct ts_run *run)
{
    if (run)
        atomic_store(&run->state.pause, true);
}

static void run_abandon(const struct run_state *state)
{
    const char *temporary = atomic_load(&state->temporary);
    if (temporary)
        unlink(temporary);
    temporary = atomic_load(&state->private_folder);
    if (temporary)
        ts_temporary_folder_remove(temporary);
    for (int i = 0; i < SINK_FORMATS; i++) {
        temporary = atomic_load(&state->sink_temporaries[i]);
        if (temporary)
            ts_temporary_folder_remove(temporary);
    }
}

void ts_plan_abandon(const struct ts_plan *plan)
{
    if (plan)
        run_abandon(plan->state);
}

void ts_run_abandon(const struct ts_run *run)
{
    if (run)
        run_abandon(&run->state);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Ends a text that was printed to memory, and copies as much as fits. */
static size_t hand_text(FILE *stream, char **printed, const size_t *bytes, char *text, size_t size)
{
    const bool whole = stream && fclose(stream) == 0 && *printed;
    if (text && size > 0)
        snprintf(text, size, "%s", whole ? *printed : "");
    const size_t length = whole ? *bytes : 0;
    free(*printed);
    return length;
}

size_t ts_plan_text(const struct ts_plan *plan, bool json, char *text, size_t size)
{
    char *printed = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&printed, &bytes);
    if (stream)
        ts_plan_print(plan, stream, json);
    return hand_text(stream, &printed, &bytes, text, size);
}

size_t ts_diag_text(const struct ts_diag *diag, bool json, char *text, size_t size)
{
    char *printed = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&printed, &bytes);
    if (stream && json)
        ts_diag_print_json(diag, stream);
    else if (stream)
        ts_diag_print(diag, stream);
    return hand_text(stream, &printed, &bytes, text, size);
}
