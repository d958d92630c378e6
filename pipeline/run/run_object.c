/* SPDX-License-Identifier: Apache-2.0
 *
 * A run as the library's callers have it: if its images go besides files, and the tables that it
 * leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "io/source/memory.h"
#include "pipeline/run/run.h"
#include "pipeline/run/run_kept.h"

enum { RUN_TAKERS = CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES };

struct kept_table {
    char name[128];
    struct ts_image image; /* its data is allocated */
};

struct ts_run {
    const struct ts_plan *plan;
    struct run_options options;
    struct run_state state;
    struct run_taker takers[RUN_TAKERS];
    struct run_kept kept;
    struct kept_table *tables;
    size_t n_tables;
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
    const int32_t n = ts_plan_outputs(plan, outputs);
    return i < (size_t)n ? plan->nodes[outputs[i]].dataset : NULL;
}

enum ts_status ts_plan_describe(const struct ts_plan *plan, const char *name,
                                struct ts_image *image, struct ts_diag *diag)
{
    const int32_t node = find_image(plan, name, diag);
    if (node < 0)
        return TS_BAD_CHAIN;
    *image = image_of(plan, node);
    return TS_OK;
}

/* Returns why the array cannot hold the image, or NULL. */
static const char *misfit(const struct ts_plan *plan, struct ts_array *array,
                          const struct ts_image *image)
{
    const char *wrong = ts_array_refusal(array);
    if (wrong)
        return wrong;
    if (array->cuda_device >= 0 &&
        (!plan->cuda || plan->n_devices > 1 || plan->cuda->index != array->cuda_device))
        return "is in the memory of a device that does not compute the chain";
    if (array->dtype != image->dtype)
        return "is of another type than the image";
    if (array->rank != image->rank)
        return "has not as many axes as the image";
    for (int d = 0; d < image->rank; d++)
        if (array->n[d] != image->axes[d].n)
            return "has other sizes than the image";
    for (int32_t i = 0; i < plan->chain->n_sources; i++) {
        const struct chain_source *source = &plan->chain->sources[i];
        const struct memory_input *input =
            source->format == &memory_format
                ? ((const struct memory_params *)source->set.values)->input
                : NULL;
        if (input && ts_array_meets(array, &input->array)) /* no two memories share an address */
            return "overlaps an input, which slabs still read when others are written";
    }
    return NULL;
}

/* Gives an image a taker, and replaces an earlier one. */
static enum ts_status set_taker(struct ts_run *run, const char *name, struct run_taker taker,
                                struct ts_diag *diag)
{
    int place = 0;
    taker.node = find_image(run->plan, name, diag);
    if (taker.node < 0)
        return TS_BAD_CHAIN;
    const struct ts_image image = image_of(run->plan, taker.node);
    const bool calls = taker.take || taker.take_device;
    const char *wrong = calls ? NULL : misfit(run->plan, &taker.array, &image);
    const struct diag_site site = {.code = "memory-array"};
    if (taker.take_device && (!run->plan->cuda || run->plan->n_devices > 1))
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "take-device"},
                             "slabs of the image '%s' are wanted in the memory of one device, and "
                             "the chain runs on %s",
                             name, run->plan->device);
    if (wrong)
        return ts_diag_error(diag, TS_BAD_CHAIN, &site, "the array for the image '%s' %s", name,
                             wrong);
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
    while (place < run->options.n_takers && run->takers[place].node != taker.node)
        place++;
    if (place < run->options.n_takers && !run->kept.captured &&
        ts_run_takes_on_device(&run->takers[place]) != ts_run_takes_on_device(&taker)) {
        const bool executed = run->kept.executed; /* its kernels stay loaded */
        ts_run_kept_clear(&run->kept);            /* its images need others now */
        run->kept.executed = executed;
    }
    run->takers[place] = taker;
    run->options.n_takers = place == run->options.n_takers ? place + 1 : run->options.n_takers;
    return TS_OK;
}

enum ts_status ts_run_set_array(struct ts_run *run, const char *name, const struct ts_array *array,
                                struct ts_diag *diag)
{
    return set_taker(run, name, (struct run_taker){.array = *array}, diag);
}

enum ts_status ts_run_set_take(struct ts_run *run, const char *name, ts_take *take, void *user,
                               struct ts_diag *diag)
{
    return set_taker(run, name, (struct run_taker){.take = take, .user = user}, diag);
}

enum ts_status ts_run_set_take_device(struct ts_run *run, const char *name, ts_take_device *take,
                                      void *user, struct ts_diag *diag)
{
    return set_taker(run, name, (struct run_taker){.take_device = take, .user = user}, diag);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void forget_tables(struct ts_run *run)
{
    for (size_t i = 0; i < run->n_tables; i++)
        free(run->tables[i].image.data);
    free(run->tables);
    run->tables = NULL;
    run->n_tables = 0;
}

static enum ts_status keep_table(struct ts_run *run, const char *label,
                                 const struct stage_table *table, struct ts_diag *diag)
{
    const size_t bytes = ts_image_bytes(&table->image);
    struct kept_table *more = realloc(run->tables, (run->n_tables + 1) * sizeof *more);
    void *data = malloc(bytes > 0 ? bytes : 1);
    run->tables = more ? more : run->tables;
    if (!more || !data) {
        free(data);
        return ts_diag_no_memory(diag, bytes);
    }
    struct kept_table *kept = &run->tables[run->n_tables++];
    *kept = (struct kept_table){.image = table->image};
    snprintf(kept->name, sizeof kept->name, "%s.%s", label, table->name);
    memcpy(data, table->image.data, bytes);
    kept->image.data = data;
    return TS_OK;
}

static enum ts_status keep_tables(void *user, const struct run *done)
{
    struct ts_run *run = user;
    enum ts_status status = TS_OK;
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
    return i < run->n_tables ? run->tables[i].name : NULL;
}

enum ts_status ts_run_table(const struct ts_run *run, const char *name, struct ts_image *table,
                            struct ts_diag *diag)
{
    for (size_t i = 0; i < run->n_tables; i++)
        if (strcmp(run->tables[i].name, name) == 0) {
            *table = run->tables[i].image;
            return TS_OK;
        }
    return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "table-unknown"},
                         "the run left no table '%s'", name);
}

/* ---- the run --------------------------------------------------------------------------------- */

enum ts_status ts_run_create(const struct ts_plan *plan, struct ts_run **out, struct ts_diag *diag)
{
    struct ts_run *run = calloc(1, sizeof *run);
    *out = run;
    if (!run)
        return ts_diag_no_memory(diag, sizeof *run);
    run->plan = plan;
    run->options = plan->options;
    run->options.takers = run->takers;
    run->options.on_end = keep_tables;
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
    free(run);
}

enum ts_status ts_run_execute(struct ts_run *run, struct ts_diag *diag)
{
    forget_tables(run);
    run->state.trace = run->options.profile ? ts_trace_create() : NULL;
    if (run->options.profile && !run->state.trace)
        return ts_diag_no_memory(diag, 0);
    ts_run_state_begin(&run->state);
    const enum ts_status status = ts_run(run->plan, &run->options, &run->state, diag);
    ts_run_state_end(&run->state);
    run->kept.executed |= status == TS_OK;
    ts_trace_destroy(run->state.trace);
    run->state.trace = NULL;
    return status;
}

void ts_run_stop(struct ts_run *run)
{
    atomic_store(&run->state.stop, true);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Ends a text that was printed to memory, and copies as much as fits. */
static size_t hand_text(FILE *stream, char **printed, const size_t *bytes, char *text, size_t size)
{
    const bool whole = stream && fclose(stream) == 0 && *printed;
    if (size > 0)
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
