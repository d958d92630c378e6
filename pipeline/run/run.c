/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries a plan out. The sources' workers start before a device is opened and the writer's threads last. The first
 * slab is read, and the output created, while the device opens. A whole output file is left or none.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/thread.h"
#include "io/file/file_commit.h"
#include "pipeline/run/profile.h"
#include "pipeline/run/provenance.h"
#include "pipeline/run/run.h"

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void report(struct run *run, enum ts_event_kind kind, const char *output)
{
    if (!run->plan->on_event)
        return;
    const double seconds = seconds_since(&run->started);
    const double done = (double)run->slices_done / (double)(run->n_slices > 0 ? run->n_slices : 1);
    const double part = fmin(1, ((double)run->pass + done) / (double)run->plan->n_passes);
    const struct ts_event event = {.kind = kind,
                                   .pass = run->pass < run->plan->n_passes ? run->pass + 1 : run->plan->n_passes,
                                   .n_passes = run->plan->n_passes,
                                   .slices_done = run->slices_done,
                                   .n_slices = run->n_slices,
                                   .seconds = seconds,
                                   .bytes_per_second = seconds > 0 ? (double)run->bytes_done / seconds : 0,
                                   .seconds_left = part > 0 ? seconds * (1 - part) / part : 0,
                                   .output = output};
    run->plan->on_event(run->plan->user, &event);
}

static void report_progress(struct run *run)
{
    report(run, TS_EVENT_PROGRESS, NULL);
}

/* ---- set-up ------------------------------------------------------------------------------------ */

static enum ts_status allocate_run(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const size_t n = (size_t)plan->n_nodes;
    run->nodes = calloc(n, sizeof *run->nodes);
    run->done = calloc(n, sizeof *run->done);
    run->now = calloc(n, sizeof *run->now);
    run->next = calloc(n, sizeof *run->next);
    if (!run->nodes || !run->done || !run->now || !run->next)
        return ts_diag_no_memory(run->diag, n * sizeof *run->nodes);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        struct run_node *node = &run->nodes[i];
        const size_t slices = (size_t)plan->nodes[i].out.axes[0].n;
        node->dataset = -1;
        run->plan->nodes[i].context.diag = run->diag;
        if (!plan->nodes[i].keep)
            continue;
        node->done = run->done[i] = calloc(1, slices);
        if (!node->done)
            return ts_diag_no_memory(run->diag, slices);
    }
    return run->back_end->allocate(run);
}

static void *free_back_end(void *data)
{
    struct run *run = data;
    run->back_end->free(run);
    return NULL;
}

/* Ends the run's file. The back end is freed meanwhile, which takes a tenth of a second on a device. */
static enum ts_status finish_file(struct run *run, enum ts_status status)
{
    pthread_t thread;
    const bool apart = status == TS_OK && ts_thread_start(&thread, free_back_end, run) == 0;
    if (status == TS_OK)
        status = ts_hdf5_commit(run->writer);
    else if (run->writer)
        ts_hdf5_abandon(run->writer);
    if (apart)
        pthread_join(thread, NULL);
    else
        run->back_end->free(run);
    return status;
}

static void free_run(struct run *run)
{
    for (int32_t i = 0; run->nodes && i < run->plan->n_nodes; i++)
        free(run->nodes[i].done);
    free(run->nodes);
    free(run->done);
    free(run->now);
    free(run->next);
}

/* Starts the workers, which precedes the start of CUDA and of the writer's threads. */
static enum ts_status start_sources(struct run *run)
{
    for (int32_t i = 0; i < run->plan->n_sources; i++) {
        struct source *source = run->plan->nodes[i].source;
        if (!source->ops->start)
            continue;
        const enum ts_status status =
            source->ops->start(source, run->plan->threads, ts_plan_read_ahead(run->plan, i), run->diag);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* Returns the input that the output would replace: "the chain itself", a source's name, or NULL. */
static const char *replaced_input(const struct ts_plan *plan)
{
    struct stat output, chain;
    if (stat(plan->chain->output.path, &output) != 0)
        return NULL;
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct source *source = plan->nodes[i].source;
        if (source->ops->holds && source->ops->holds(source, output.st_dev, output.st_ino))
            return plan->nodes[i].label;
    }
    /* A chain that came from elsewhere has a name, but no file. */
    if (stat(plan->chain->source_name, &chain) == 0 && S_ISREG(chain.st_mode) && chain.st_dev == output.st_dev &&
        chain.st_ino == output.st_ino)
        return "the chain itself";
    return NULL;
}

static enum ts_status check_output(const struct ts_plan *plan, struct ts_diag *diag)
{
    const char *path = plan->chain->output.path, *replaced = path ? replaced_input(plan) : NULL;
    if (replaced) {
        const struct diag_site site = {.code = "output-is-input", .span = plan->chain->output.span};
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "the output '%s' is a file that the run reads: %s", path, replaced);
        return ts_diag_hint(diag,
                            "give the output a name of its own: output: {hdf5: FILE.h5} in the chain, or -o FILE.h5");
    }
    if (path)
        return ts_file_check(path, plan->force, plan->output_bytes, diag);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-output"}, "the chain names no output file");
    return ts_diag_hint(diag, "output: {hdf5: FILE.h5} in the chain, or -o FILE.h5");
}

void ts_plan_warn_output(const struct ts_plan *plan, struct ts_diag *diag)
{
    struct ts_diag *found = plan->chain->output.path ? ts_diag_create() : NULL;
    if (!found)
        return;
    (void)ts_file_check(plan->chain->output.path, true, plan->output_bytes, found);
    for (size_t i = 0; i < ts_diag_count(found); i++) {
        const struct ts_diag_record *record = ts_diag_get(found, i);
        if (record->severity != TS_WARNING)
            continue;
        ts_diag_warning(diag, &(struct diag_site){.code = record->code}, "%s", record->message);
        if (record->hint)
            ts_diag_hint(diag, "%s", record->hint);
    }
    ts_diag_destroy(found);
}

static enum ts_status create_output(struct run *run)
{
    static const int levels[] = {[CHAIN_DEFLATE] = 1, [CHAIN_STORED] = 0, [CHAIN_SMALL] = 6};
    struct ts_plan *plan = run->plan;
    const struct hdf5_options options = {.level = levels[plan->chain->output.compression],
                                         .threads = plan->threads,
                                         .force = plan->force,
                                         .trace = plan->trace};
    const enum ts_status status = ts_hdf5_create(plan->chain->output.path, &options, &run->writer, run->diag);
    if (status != TS_OK)
        return status;
    /* The plan's own copy: a signal handler may read it while commit frees the writer. */
    const char *temporary = ts_hdf5_temporary(run->writer);
    const char *copy = ts_arena_text(plan->arena, temporary, strlen(temporary));
    if (!copy)
        return ts_diag_no_memory(run->diag, strlen(temporary));
    atomic_store(&plan->temporary, copy);
    const enum ts_status begun = ts_provenance_begin(plan, run->writer);
    return begun == TS_OK ? ts_run_create_datasets(run, 0) : begun;
}

/* Reports a table that a map counted slice by slice, such as dead pixels: users do not look for it in the file. */
static enum ts_status report_count(const struct stage_context *context, const struct stage_table *table,
                                   struct ts_diag *diag)
{
    const struct diag_site site = {.span = context->set->span, .stage = context->stage->name};
    const size_t n = table->image.dtype == TS_U64 ? ts_image_count(&table->image) : 0;
    struct diag_site counted = site, lost = site;
    unsigned long long sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += ((const uint64_t *)table->image.data)[k];
    counted.code = "counted";
    lost.code = "nothing-left";
    if (sum > 0 && sum == table->of * n) {
        ts_diag_error(diag, TS_BAD_INPUT, &lost, "table '%s' counts all %llu: %s; fewer were expected", table->name,
                      sum, table->doc);
        return TS_BAD_INPUT;
    }
    if (sum > 0 && table->of)
        ts_diag_note(diag, &counted, "table '%s' adds up to %llu of %llu: %s", table->name, sum,
                     (unsigned long long)table->of * n, table->doc);
    else if (sum > 0)
        ts_diag_note(diag, &counted, "table '%s' adds up to %llu: %s", table->name, sum, table->doc);
    return TS_OK;
}

static enum ts_status report_counts(const struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        const struct stage_table *tables;
        const struct stage_reduced *reduced = ts_run_reduced(run, i);
        const int n = reduced ? ts_stage_reduced_map_tables(reduced, &tables) : 0;
        for (int t = 0; status == TS_OK && t < n; t++)
            status = report_count(&run->plan->nodes[i].context, &tables[t], run->diag);
    }
    return status;
}

static enum ts_status run_all(struct run *run)
{
    report(run, TS_EVENT_STARTED, NULL);
    enum ts_status status = ts_run_walk(run, report_progress);
    if (status == TS_OK)
        status = report_counts(run);
    if (status == TS_OK)
        status = ts_run_write_masks(run);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = ts_provenance_node(run->plan, i, ts_run_reduced(run, i), run->writer, run->diag);
    return status == TS_OK ? ts_provenance_end(run->plan, run->writer, run->diag) : status;
}

static const struct run_back_end *back_end_of(const struct ts_plan *plan)
{
#ifdef TS_HAVE_CUDA
    if (plan->cuda)
        return &ts_run_cuda;
#else
    (void)plan;
#endif
    return &ts_run_host;
}

enum ts_status ts_plan_run(struct ts_plan *plan, struct ts_diag *diag)
{
    struct run run = {.plan = plan, .diag = diag, .back_end = back_end_of(plan)};
    clock_gettime(CLOCK_MONOTONIC, &run.started);
    ts_diag_set_source(diag, plan->chain->source_name, plan->chain->text, plan->chain->text_length);
    enum ts_status status = check_output(plan, diag);
    const double begin = ts_trace_begin(plan->trace);
    if (status == TS_OK && plan->profile)
        status = ts_profile_check(plan->profile, diag);
    if (status == TS_OK)
        status = allocate_run(&run);
    if (status == TS_OK)
        status = start_sources(&run);
    if (status == TS_OK) {
        if (run.back_end->open)
            run.back_end->open(&run);
        ts_run_announce(&run);
        status = create_output(&run);
    }
    if (status == TS_OK)
        status = run.back_end->attach(&run);
    ts_trace_add(plan->trace, TRACE_PREPARE, begin, 0);
    if (status == TS_OK)
        status = run_all(&run);
    const double finishing = ts_trace_begin(plan->trace);
    atomic_store(&plan->committing, status == TS_OK);
    status = finish_file(&run, status);
    atomic_store(&plan->temporary, NULL);
    ts_trace_add(plan->trace, TRACE_FINISH, finishing, 0);
    if (status == TS_OK)
        report(&run, TS_EVENT_FINISHED, plan->chain->output.path);
    free_run(&run);
    if (status == TS_OK && plan->profile)
        status = ts_profile_write(plan->trace, plan->profile, diag);
    return status;
}

void ts_plan_print_profile(const struct ts_plan *plan, FILE *stream)
{
    if (plan->trace)
        ts_profile_print(plan->trace, stream);
}
