/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries a plan out. The sources' workers start before a device is opened, and the writer's
 * threads last. The first slab is read, and the output created, while the device opens. At the end
 * either all output files are whole or there are none.
 */
#include "pipeline/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/arguments.h"
#include "core/memory.h"
#include "core/thread.h"
#include "core/timing.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/predict.h"
#include "pipeline/run/profile.h"
#include "pipeline/run/provenance.h"
#include "pipeline/run/run_checkpoint.h"
#include "pipeline/run/run_finite.h"
#include "pipeline/run/run_kept.h"
#include "pipeline/run/run_rows.h"

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

double ts_run_seconds_left(const struct run_pace *pace)
{
    if (!(pace->pass_done > 0))
        return NAN;
    const double pass = pace->pass_seconds / fmin(1, pace->pass_done);
    const double left = fmax(0, pass - pace->pass_seconds);
    if (!pace->iterates)
        return left + pace->later + (pace->volumes_left > 0 ? pace->volumes_left * pace->whole : 0);
    const double values = left + (double)pace->values_left * pass;
    const double volumes = (double)(pace->n_volumes - pace->volumes_left);
    return values + (double)pace->volumes_left * (pace->seconds + values) / volumes;
}

/* Returns how long passes [from, past) over a volume take: as long as they took for the volume
   before, or as they are predicted, in the measure of what the present pass takes; NaN if neither
   is known. Between its passes a run takes no time. */
static double pass_seconds(const struct run *run, int from, int past, double pass)
{
    const struct prediction *prediction = run->plan->prediction;
    const double *predicted = prediction ? prediction->pass_seconds : NULL;
    double seconds = 0;
    for (int i = from; i < past; i++) {
        const bool took = i < RUN_PASSES_TIMED && run->pass_took[i] > 0;
        if (took)
            seconds += run->pass_took[i];
        else if (i == run->pass)
            seconds += pass;
        else if (predicted && predicted[run->pass] > 0)
            seconds += predicted[i] * pass / predicted[run->pass];
        else
            return NAN;
    }
    return seconds;
}

struct run_position ts_run_position(const struct run *run)
{
    return (struct run_position){.pass = run->pass,
                                 .surveyed = run->surveyed,
                                 .volume = run->volume,
                                 .slices_done = run->slices_done,
                                 .n_slices = run->n_slices,
                                 .slab_slices = run->slab_slices,
                                 .bytes_done = run->bytes_done,
                                 .pass_started = run->pass_started,
                                 .iterating = atomic_load(&run->iterating)};
}

static struct run_pace pace_of(const struct run *run, const struct run_position *at, double seconds,
                               double pass_done)
{
    const struct ts_plan *plan = run->plan;
    const double so_far = seconds_since(&at->pass_started);
    const double pass = pass_done > 0 ? so_far / fmin(1, pass_done) : NAN;
    const int32_t node = at->iterating - 1;
    const int64_t value = node >= 0 ? plan->nodes[node].value : -1;
    return (struct run_pace){
        .seconds = seconds,
        .pass_seconds = so_far,
        .pass_done = pass_done,
        .later = run->survey < 0 ? pass_seconds(run, at->pass + 1, plan->n_passes, pass) : NAN,
        .whole = pass_seconds(run, 0, plan->n_passes, pass),
        .iterates = node >= 0,
        .volumes_left = at->volume < plan->n_volumes ? plan->n_volumes - at->volume - 1 : 0,
        .n_volumes = plan->n_volumes,
        .values_left = value >= 0 ? plan->chain->sweep.n - value - 1 : 0};
}

/* Reports an event at this position; `of_slab` is the share of the present slab that is done, in
   addition to the slices that are. */
static void report_at(struct run *run, const struct run_position *at, struct ts_event event,
                      double of_slab)
{
    if (!run->options->on_event)
        return;
    const double seconds = seconds_since(&run->started);
    const double slices = (double)at->slices_done + of_slab * (double)at->slab_slices;
    const double done = slices / (double)(at->n_slices > 0 ? at->n_slices : 1);
    const struct run_pace pace = pace_of(run, at, seconds, done);
    event.pass = at->pass < run->plan->n_passes ? at->pass + 1 : run->plan->n_passes;
    event.n_passes = run->plan->n_passes;
    event.slices_done = at->slices_done;
    event.n_slices = at->n_slices;
    event.seconds = seconds;
    event.bytes_per_second = seconds > 0 ? (double)at->bytes_done / seconds : 0;
    event.seconds_left = event.kind == TS_EVENT_FINISHED ? 0 : ts_run_seconds_left(&pace);
    pthread_mutex_lock(&run->lock);
    run->reported = ts_seconds();
    run->options->on_event(run->options->user, &event);
    pthread_mutex_unlock(&run->lock);
}

static void run_report(struct run *run, struct ts_event event)
{
    const struct run_position at = ts_run_position(run);
    report_at(run, &at, event, 0);
}

/* If the back end only enqueues the iterations of a slab, that does not tell how far they are. */
static void report_progress(struct run *run)
{
    if (run->slices_done == run->n_slices && run->pass < RUN_PASSES_TIMED)
        run->pass_took[run->pass] = seconds_since(&run->pass_started);
    if (!run->back_end->begin_call || atomic_load(&run->iterating) == 0)
        run_report(run, (struct ts_event){.kind = TS_EVENT_PROGRESS});
}

/* Returns what a stage takes of a slab, of any unit that is that of the others: what it is
   predicted to take, else what it took of the slabs before. */
static double weight_of(const struct run *run, int32_t i)
{
    const struct prediction *prediction = run->plan->prediction;
    if (run->now[i].todo.n == 0)
        return 0;
    return prediction ? prediction->stage_seconds[i] : run->state->seconds[i];
}

/* Reports that a node of the present slab is computed, at most twice a second: the share of the
   slab that is done is that of the seconds of its stages. */
static void report_node(struct run *run, int32_t node)
{
    double done = 0, all = 0;
    const double now = ts_seconds();
    const bool knows = run->plan->prediction || run->slices_done > 0;
    if (!run->options->on_event || run->back_end->begin_call || run->fleet || !knows ||
        atomic_load(&run->iterating) || now - run->reported < 0.5)
        return;
    for (int32_t i = run->plan->n_sources; i < run->plan->n_nodes; i++) {
        all += weight_of(run, i);
        done += i <= node ? weight_of(run, i) : 0;
    }
    const struct run_position at = ts_run_position(run);
    if (all > 0 && done < all)
        report_at(run, &at, (struct ts_event){.kind = TS_EVENT_PROGRESS}, done / all);
}

void ts_run_report_iteration(struct run *run, const struct run_position *at,
                             const struct stage_iteration *iteration)
{
    report_at(run, at,
              (struct ts_event){.kind = TS_EVENT_ITERATION,
                                .stage = run->plan->nodes[at->iterating - 1].context.stage->name,
                                .iteration = iteration->done,
                                .n_iterations = iteration->most,
                                .residual = iteration->residual},
              iteration->part);
}

/* A stage on the CPU calls this during a call for which the walk waits. */
static bool take_iteration(void *user, const struct stage_context *context,
                           const struct stage_iteration *iteration)
{
    struct run *run = user;
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        if (&run->plan->nodes[i].set == context->set)
            atomic_store(&run->iterating, i + 1);
    const struct run_position at = ts_run_position(run);
    ts_run_report_iteration(run, &at, iteration);
    return !atomic_load(&run->state->stop);
}

/* ---- set-up ---------------------------------------------------------------------------------- */

static enum ts_status allocate_device(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const size_t n = (size_t)plan->n_nodes;
    struct run_device *device = &run->devices[run->device];
    device->nodes = calloc(n, sizeof *device->nodes);
    device->done = calloc(n, sizeof *device->done);
    if (!device->nodes || !device->done)
        return ts_diag_no_memory(run->diag, n * sizeof *device->nodes);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const size_t slices = (size_t)plan->nodes[i].out.axes[0].n;
        if (!plan->nodes[i].keep)
            continue;
        device->nodes[i].done = device->done[i] = calloc(1, slices);
        if (!device->done[i])
            return ts_diag_no_memory(run->diag, slices);
    }
    run->nodes = device->nodes;
    run->done = device->done;
    const enum ts_status status = run->back_end->allocate(run);
    device->back = run->back;
    return status;
}

/* Copies the plan's nodes, whose contexts point to one another. */
static enum ts_status copy_plan(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const size_t n = (size_t)plan->n_nodes;
    struct plan_node *nodes = calloc(n, sizeof *nodes);
    if (!nodes)
        return ts_diag_no_memory(run->diag, n * sizeof *nodes);
    memcpy(nodes, plan->nodes, n * sizeof *nodes);
    run->own = *plan;
    run->own.nodes = nodes;
    run->plan = &run->own;
    for (int i = 0; i < run->options->n_takers; i++) {
        struct plan_node *image = &nodes[plan->nodes[run->options->takers[i].node].image_node];
        /* It is written to the caller's array, which holds all of it. */
        if (ts_run_takes_on_device(&run->options->takers[i]) && image->chain_stage)
            image->keep = true;
    }
    size_t missing = 0;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        struct plan_node *node = &nodes[i];
        struct stage_context *context = &node->context;
        const size_t bytes = context->stage->params_bytes;
        node->set.values = malloc(bytes + 1);
        missing += node->set.values ? 0 : bytes + 1;
        if (node->set.values)
            memcpy(node->set.values, plan->nodes[i].set.values, bytes);
        context->set = &node->set;
        context->params = node->set.values;
        context->diag = run->diag;
        context->listener = &run->listener;
        for (int k = 0; k < STAGE_REFERENCES; k++)
            if (context->references[k])
                context->references[k] = &nodes[node->inputs[1 + k]].out;
    }
    return missing == 0 ? TS_OK : ts_diag_no_memory(run->diag, missing);
}

static enum ts_status allocate_run(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const size_t n = (size_t)plan->n_nodes;
    run->results = ts_memory_take_zeroed(ts_run_pool(run->options), n * sizeof *run->results);
    run->now = calloc(n, sizeof *run->now);
    run->next = calloc(n, sizeof *run->next);
    if (!run->results || !run->now || !run->next)
        return ts_diag_no_memory(run->diag, n * sizeof *run->results);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        struct run_result *result = &run->results[i];
        result->dataset = result->written = -1;
        result->not_finite = INT64_MAX;
        for (int input = 0; input < STAGE_INPUTS; input++)
            result->totals[input] = -1;
    }
    const size_t received = plan->rank == 0 || !plan->cuda ? ts_plan_received_bytes(plan) : 0;
    run->received = received > 0 ? ts_memory_aligned(received) : NULL;
    if (received > 0 && !run->received)
        return ts_diag_no_memory(run->diag, received);
    return ts_run_on_devices(run, allocate_device);
}

static void *free_devices(void *data)
{
    struct run *run = data;
    if (run->fleet) {
        run->fleet->free_devices(run);
        return NULL;
    }
    if (run->back_end->use) /* for the thread of the caller */
        (void)run->back_end->use(run);
    if (run->back_end->settle)
        (void)run->back_end->settle(run);
    run->back_end->free(run);
    return NULL;
}

/* Ends the run's files. Meanwhile the devices are freed, which takes a tenth of a second with
   CUDA. */
static enum ts_status finish_files(struct run *run, enum ts_status status)
{
    pthread_t thread;
    const bool apart =
        status == TS_OK && !run->captured && ts_thread_start(&thread, free_devices, run) == 0;
    status = ts_run_end_outputs(run, status);
    if (apart)
        pthread_join(thread, NULL);
    else
        free_devices(run);
    return status;
}

static void free_run(struct run *run)
{
    for (int32_t i = run->plan->n_sources; run->plan == &run->own && i < run->plan->n_nodes; i++)
        free(run->own.nodes[i].set.values);
    if (run->plan == &run->own)
        free(run->own.nodes);
    pthread_mutex_destroy(&run->lock);
    free(run->sink_valid);
    free(run->received);
    ts_run_free_tables(run);
    for (int device = 0; device < run->plan->n_devices; device++) {
        for (int32_t i = 0; run->devices[device].done && i < run->plan->n_nodes; i++)
            free(run->devices[device].done[i]);
        free(run->devices[device].done);
        free(run->devices[device].nodes);
    }
    ts_memory_give(ts_run_pool(run->options), run->results);
    free(run->now);
    free(run->next);
}

/* Returns true if a slice may be read more than once: in several passes, for the halos of slabs,
   for several volumes that are processed with it, or for a reduction of all volumes. */
static bool may_read_again(const struct ts_plan *plan, int32_t node, const struct source *source)
{
    bool again = plan->n_passes > 1 ||
                 plan->nodes[node].computed_slices > plan->nodes[node].out.axes[0].n ||
                 (plan->n_volumes > 1 && source->n_volumes <= 1);
    if (ts_plan_lies_in_memory(plan, node))
        return false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        again |= plan->nodes[i].series;
    return again;
}

/* Starts the workers; must come before CUDA and the writer's threads are started. */
static enum ts_status start_sources(struct run *run)
{
    const bool proves = run->plan->reuse || run->checkpoint,
               records = run->plan->chain->output.path != NULL;
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        struct source *source = ts_plan_reader(&run->plan->nodes[i]);
        if (!source)
            continue;
        /* The HDF5 file records the digests of inputs only. If a slice may be read several times,
           digests also show that it has not changed in between. */
        const bool wanted = i < run->plan->n_sources && (records || proves);
        source->no_digests = !wanted && !may_read_again(run->plan, i, source);
        source->no_rounding = !ts_run_maker_of_floats(run->plan, i);
        if (!source->ops->start)
            continue;
        const enum ts_status status = source->ops->start(
            source, run->plan->threads, ts_plan_read_ahead(run->plan, i), run->diag);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* Returns true if all stages that take the image of node i correct what the table counts. */
static bool is_mended(const struct ts_plan *plan, int32_t i, const struct stage_table *table)
{
    int64_t n = 0, mended = 0;
    for (int32_t next = i + 1; table->mended && next < plan->n_nodes; next++)
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (plan->nodes[next].inputs[input] == i) {
                n++;
                mended += input == 0 && table->mended(&plan->nodes[next].context);
            }
    return n > 0 && n == mended;
}

/* Adds the hint of a table; its %lld is the largest number of another table of the stage. */
static void hint_of_count(const struct stage_table *tables, const struct stage_table *table,
                          struct ts_diag *diag)
{
    const char *number = strstr(table->hint, "%lld");
    double largest = 0;
    if (!number || !table->number) {
        ts_diag_hint(diag, "%s", table->hint);
        return;
    }
    const struct ts_image *others = &tables[table->number].image;
    for (size_t k = 0; k < ts_image_count(others); k++)
        largest = fmax(largest, ((const double *)others->data)[k]);
    ts_diag_hint(diag, "%.*s%lld%s", (int)(number - table->hint), table->hint, (long long)largest,
                 number + 4);
}

/* Reports table t, in which a map counted something slice by slice, such as dead pixels, since
   users do not look for it in the file. */
static enum ts_status report_count(const struct ts_plan *plan, int32_t i,
                                   const struct stage_table *tables, int t, struct ts_diag *diag)
{
    const struct stage_context *context = &plan->nodes[i].context;
    const struct stage_table *table = &tables[t];
    const struct diag_site site = {.span = context->set->span, .stage = context->stage->name};
    const size_t n = table->image.dtype == TS_U64 ? ts_image_count(&table->image) : 0;
    struct diag_site counted = site, lost = site;
    unsigned long long sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += ((const uint64_t *)table->image.data)[k];
    counted.code = "counted";
    lost.code = "nothing-left";
    if (sum > 0 && sum == table->of * n) {
        ts_diag_error(diag, TS_BAD_INPUT, &lost,
                      "table '%s' counts all %llu: %s; fewer were expected", table->name, sum,
                      table->doc);
        return TS_BAD_INPUT;
    }
    if (sum > 0 && table->code && !is_mended(plan, i, table)) {
        counted.code = table->code;
        ts_diag_warning(diag, &counted, "table '%s' adds up to %llu: %s", table->name, sum,
                        table->doc);
        hint_of_count(tables, table, diag);
    } else if (sum > 0 && table->of)
        ts_diag_note(diag, &counted, "table '%s' adds up to %llu of %llu: %s", table->name, sum,
                     (unsigned long long)table->of * n, table->doc);
    else if (sum > 0)
        ts_diag_note(diag, &counted, "table '%s' adds up to %llu: %s", table->name, sum,
                     table->doc);
    return TS_OK;
}

static enum ts_status report_counts(const struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        const struct stage_table *tables, *of_map;
        const struct stage_reduced *reduced = ts_run_reduced(run, i);
        const int n = reduced ? ts_stage_reduced_map_tables(reduced, &of_map) : 0;
        const int all = ts_run_tables(run, i, &tables);
        for (int t = 0; status == TS_OK && t < n; t++) /* the tables of the map are the last ones */
            status = report_count(run->plan, i, tables + all - n, t, run->diag);
    }
    return status;
}

static enum ts_status write_node(const struct run *run, int32_t i)
{
    const struct stage_table *tables = NULL;
    const int n = ts_run_tables(run, i, &tables);
    return ts_provenance_node(run->plan, i, tables, n, run->writer, run->diag);
}

static enum ts_status hand_tables(const struct run *run)
{
    const int32_t last = run->plan->n_nodes - 1;
    const struct stage_table *tables = NULL;
    const int n = ts_run_tables(run, last, &tables);
    return run->options->on_tables(run->options->tables_user, &run->plan->nodes[last].context,
                                   tables, n);
}

/* Refuses an input file that was changed since it was opened (code file-changed). Slices that
 * were read only once cannot be compared with an earlier read, so this is their check. */
static enum ts_status check_unchanged(const struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        const struct source *source = ts_plan_reader(&run->plan->nodes[i]);
        if (source && source->ops->check_unchanged)
            status = source->ops->check_unchanged(source, run->diag);
    }
    return status;
}

/* ---- an earlier result ----------------------------------------------------------------------- */

/* A run that takes images from an earlier result reads them instead of computing them, and compares
   the inputs with the digests that the result recorded. An input from which nothing is computed is
   read only for that, before anything else, so that a changed file is found early; the path or time
   of a file would not prove as much. */

enum { PROVE_BYTES = 8 << 20 };

struct proving {
    struct run *run;
    int32_t node;
};

/* Returns true for a slice of the record that has still to be read. */
static bool is_missing(const void *user, int64_t volume, int64_t z)
{
    const struct proving *proving = user;
    const struct ts_plan *plan = proving->run->plan;
    const struct source *source = plan->nodes[proving->node].source;
    const int64_t k = volume * source->n_slices + z;
    return plan->reuse->inputs[proving->node].read[k] &&
           !*source->slices[ts_source_number(source, k)].pixel_sha256;
}

static enum ts_status check_stop(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct proving *proving = user;
    (void)slab;
    (void)diag;
    return atomic_load(&proving->run->state->stop) ? TS_STOPPED : TS_OK;
}

/* Reads the slices that are missing, consecutive ones at once. */
static enum ts_status read_missing(struct run *run, int32_t node)
{
    struct source *source = run->plan->nodes[node].source;
    struct proving proving = {run, node};
    const size_t bytes = ts_slice_bytes(&source->image);
    const int64_t ahead = ts_plan_read_ahead(run->plan, node),
                  most = bytes < PROVE_BYTES ? (int64_t)(PROVE_BYTES / bytes) : 1;
    const struct source_walk walk = {.source = source,
                                     .most = ahead > 0 && ahead < most ? ahead : most,
                                     .wants = is_missing,
                                     .take = check_stop,
                                     .user = &proving};
    return ts_source_walk(&walk, run->diag);
}

static enum ts_status run_refuse(const struct run *run, int32_t node, const char *what)
{
    const char *path = run->plan->reuse->path;
    ts_diag_error(
        run->diag, TS_BAD_INPUT,
        &(struct diag_site){.code = "inputs-differ", .stage = run->plan->nodes[node].label},
        "%s than the one that %s was computed from", what, path);
    return ts_diag_hint(run->diag,
                        "`tomostage verify %s --inputs PATH` names what changed; without "
                        "--resume-from everything is computed",
                        path);
}

/* Slices of equal pixels have different values if a different padding value marks other pixels as
   invalid. */
static enum ts_status run_compare(const struct run *run, int32_t node)
{
    const struct plan_reused_input *input = &run->plan->reuse->inputs[node];
    const struct source *source = run->plan->nodes[node].source;
    int64_t padding = 0;
    bool whole = true; /* are all slices of the record read? */
    for (int64_t k = 0; k < ts_source_total(source); k++) {
        const struct source_slice *slice = &source->slices[ts_source_number(source, k)];
        const char *now = slice->pixel_sha256, *then = input->digests[k];
        char what[64];
        padding += *then ? slice->padding_count : 0;
        whole &= *now || !*then;
        snprintf(what, sizeof what, "slice %lld has other pixels", (long long)k);
        if (*now && *then && strcmp(now, then) != 0)
            return run_refuse(run, node, what);
    }
    const bool differs = whole && input->padding_count >= 0 && padding != input->padding_count;
    return differs ? run_refuse(run, node, "it has another number of padding pixels") : TS_OK;
}

/* Proves by the digests of their slices that the inputs are still those of the earlier result:
   before the walk (`read` is false) those from which the run reads nothing, after it the others,
   whose remaining slices it reads. TS_BAD_INPUT (inputs-differ) if a slice has changed. */
static enum ts_status prove(struct run *run, bool read)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; run->plan->reuse && status == TS_OK && i < run->plan->n_sources; i++) {
        if (!run->plan->reuse->inputs[i].digests || (run->plan->nodes[i].run_slices > 0) != read)
            continue;
        status = read_missing(run, i);
        if (status == TS_OK)
            status = run_compare(run, i);
    }
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum ts_status run_all(struct run *run)
{
    run_report(run, (struct ts_event){.kind = TS_EVENT_STARTED});
    run->on_node = report_node;
    enum ts_status status = ts_run_walk(run, report_progress);
    if (run->fleet)
        status = run->fleet->unite_slices(run, status);
    for (int32_t i = 0; run->writer && status == TS_OK && i < run->plan->n_nodes; i++)
        /* the writer has noted the values that it rounded itself */
        if (run->results[i].dataset >= 0)
            ts_hdf5_note_largest(run->writer, run->results[i].dataset, run->results[i].largest);
    if (status == TS_OK)
        status = check_unchanged(run);
    if (status == TS_OK)
        status = prove(run, true);
    if (status == TS_OK)
        status = report_counts(run);
    if (status == TS_OK)
        status = ts_run_warn_not_finite(run);
    if (status == TS_OK)
        status = ts_run_warn_of_rows(run);
    if (status == TS_OK && run->options->on_tables)
        status = hand_tables(run);
    if (status == TS_OK && run->options->on_end)
        status = run->options->on_end(run->options->end_user, run);
    if (status == TS_OK && run->plan->rank == 0)
        status = ts_run_write_masks(run);
    if (!run->writer)
        return status;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = write_node(run, i);
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

/* Refuses a plan with a box that must be found in the pixels before planning, and was not (code
 * not-searched). */
static enum ts_status check_searched(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        if (ts_plan_needs_search(node))
            return ts_diag_error(diag, TS_BAD_CHAIN,
                                 &(struct diag_site){.code = "not-searched",
                                                     .span = node->set.span,
                                                     .stage = node->label},
                                 "its box is found in the pixels before a plan is made, and this "
                                 "plan was made without");
    }
    return TS_OK;
}

void ts_run_state_begin(struct run_state *state)
{
    atomic_store(&state->committing, false);
    memset(state->seconds, 0, sizeof state->seconds);
}

void ts_run_state_end(struct run_state *state)
{
    atomic_store(&state->stop, false);
    atomic_store(&state->pause, false);
}

/* Checks what the run would write, takes its memory, and opens sources, devices and outputs. */
static enum ts_status prepare_run(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const struct run_options *options = run->options;
    enum ts_status status = run->fleet ? run->fleet->compare_plans(plan, run->diag) : TS_OK;
    if (status == TS_OK)
        status = check_searched(plan, run->diag);
    if (status == TS_OK && plan->rank == 0)
        status = ts_run_check_outputs(plan, options, run->diag);
    const double begin = ts_trace_begin(run->state->trace);
    if (status == TS_OK && run->back_end->ask_capture)
        status = run->back_end->ask_capture(run);
    if (status == TS_OK)
        status = copy_plan(run);
    if (status == TS_OK)
        status = ts_run_checkpoint_begin(run);
    if (status == TS_OK && options->profile)
        status = ts_profile_check(options->profile, options->force, run->diag);
    if (status == TS_OK)
        status = allocate_run(run);
    if (status == TS_OK)
        status = start_sources(run);
    if (status == TS_OK)
        status = prove(run, false);
    if (status == TS_OK) {
        if (!run->captured)
            (void)ts_run_on_devices(run, run->back_end->open);
        ts_run_announce(run);
        status = ts_run_open_outputs(run, 0);
    }
    if (status == TS_OK)
        status = ts_run_on_devices(run, run->back_end->attach);
    ts_trace_add(run->state->trace, TRACE_PREPARE, begin, 0);
    return ts_run_agree(run, status);
}

/* Gives the files of a run that has ended with this status their names, or removes them. */
static enum ts_status finish_run(struct run *run, enum ts_status status)
{
    const struct chain_output *output = &run->plan->chain->output;
    if (run->captured)
        status = run->back_end->end_capture(run, status);
    status = ts_run_agree(run, status); /* must come before anything gets its name */
    const double begin = ts_trace_begin(run->state->trace);
    atomic_store(&run->state->committing, status == TS_OK);
    status = ts_run_agree(run, finish_files(run, status));
    atomic_store(&run->state->temporary, NULL);
    ts_run_checkpoint_end(run, status);
    ts_trace_add(run->state->trace, TRACE_FINISH, begin, 0);
    if (run->fleet)
        run->fleet->name_rank(run);
    if (status == TS_OK)
        run_report(
            run, (struct ts_event){.kind = TS_EVENT_FINISHED,
                                   .output = output->path ? output->path : output->sinks[0].path});
    return status;
}

static enum ts_status write_profile(const struct run *run)
{
    const struct ts_plan *plan = run->plan;
    return ts_profile_write(run->state->trace,
                            (struct profile_memory){.planned = plan->memory_bytes,
                                                    .budget = plan->budget_bytes,
                                                    .gpu_planned = plan->gpu_bytes,
                                                    .gpu_budget = plan->gpu_budget_bytes},
                            run->digest, run->options->profile, run->options->force, run->diag);
}

static enum ts_status carry_out(const struct ts_plan *plan, const struct run_options *options,
                                struct run_state *state, struct ts_diag *diag)
{
    struct run run = {.plan = plan,
                      .options = options,
                      .state = state,
                      .diag = diag,
                      .back_end = back_end_of(plan),
                      .survey = -1,
                      .sink_node = ts_plan_sink_node(plan)};
    run.fleet = plan->n_ranks > 1 || plan->n_devices > 1 ? &ts_run_fleet : NULL;
    run.listener = (struct stage_listener){take_iteration, &run};
    pthread_mutex_init(&run.lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &run.started);
    ts_diag_set_source(diag, plan->chain->source_name, plan->chain->text, plan->chain->text_length);
    enum ts_status status = prepare_run(&run);
    if (status == TS_OK)
        status = run_all(&run);
    status = finish_run(&run, status);
    free_run(&run);
    return status == TS_OK && options->profile ? write_profile(&run) : status;
}

/* Memory of the caller's is freed on the caller's thread, after the run. */
enum ts_status ts_run(const struct ts_plan *plan, const struct run_options *options,
                      struct run_state *state, struct ts_diag *diag)
{
    struct run_kept kept = {.staging = {{{0}}}};
    struct run_options own = *options;
    if (own.allocator.allocate && !own.kept)
        own.kept = &kept;
    own.checkpoint.resume |= state->paused;
    const enum ts_status status = carry_out(plan, &own, state, diag);
    state->paused = status == TS_PAUSED || (state->paused && status != TS_OK);
    ts_run_kept_clear(&kept);
    return status;
}

enum ts_status ts_plan_run(struct ts_plan *plan, struct ts_diag *diag)
{
    if (ts_arguments_lack(diag, "plan", plan))
        return TS_BAD_CHAIN;
    ts_diag_name_options(diag, ts_chain_is_of_caller(plan->chain));
    ts_run_state_begin(plan->state);
    const enum ts_status status = ts_run(plan, &plan->options, plan->state, diag);
    ts_run_state_end(plan->state);
    return status;
}

void ts_plan_print_profile(const struct ts_plan *plan, FILE *stream)
{
    if (plan && stream && plan->state->trace)
        ts_profile_print(plan->state->trace, stream);
}
