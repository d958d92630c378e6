/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries a plan out, pass by pass and slab by slab. While a slab is computed the source's workers decode the next one
 * and the writer's threads compress the last one. All memory is taken before the first slice is read.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "io/hdf5_write.h"
#include "pipeline/memory.h"
#include "pipeline/plan.h"
#include "pipeline/provenance.h"

struct run_node {
    struct ts_image parts[PLAN_SPANS]; /* the slices at hand: one part where kept */
    int n_parts;
    void *buffer;
    unsigned char *done; /* kept: per slice */
    struct stage_reduced *reduced;
    int dataset; /* the writer's id, or -1 */
};

struct run {
    struct ts_plan *plan;
    struct ts_diag *diag;
    struct run_node *nodes;
    unsigned char **done; /* nodes[i].done, as ts_plan_step takes them */
    struct plan_step *now, *next;
    void *room, *scratch;
    struct hdf5_writer *writer;
    struct timespec started, reported;
    int pass;
    int64_t slices_done, n_slices, bytes_done;
};

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + 1e-9 * (double)(now.tv_nsec - start->tv_nsec);
}

static void tell(struct run *run, enum ts_event_kind kind, const char *output)
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

/* ---- set-up ------------------------------------------------------------------------------------ */

static enum ts_status allocate_node(struct run *run, int32_t i)
{
    struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const int64_t slices = plan->keep ? plan->out.axes[0].n : plan->buffer_slices;
    node->dataset = -1;
    plan->context.diag = run->diag;
    if (plan->image_node == i && slices > 0) {
        const size_t bytes = (size_t)slices * ts_slice_bytes(&plan->out);
        node->buffer = ts_memory_aligned(bytes);
        if (!node->buffer)
            return ts_diag_no_memory(run->diag, bytes);
    }
    if (plan->keep) {
        node->done = calloc(1, (size_t)plan->out.axes[0].n);
        if (!node->done)
            return ts_diag_no_memory(run->diag, (size_t)plan->out.axes[0].n);
        node->parts[0] = plan->out;
        node->parts[0].data = node->buffer;
        node->n_parts = 1;
        run->done[i] = node->done;
    }
    if (!plan->chain_stage || !plan->chain_stage->stage->reduction)
        return TS_OK;
    const int64_t slab = plan->run_slices > run->plan->slab_slices ? plan->run_slices : run->plan->slab_slices;
    return ts_stage_reduced_create(&plan->context, slab, &node->reduced);
}

static enum ts_status allocate_run(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const size_t n = (size_t)plan->n_nodes, room = ts_plan_room_bytes(plan), scratch = ts_plan_scratch_bytes(plan);
    run->nodes = calloc(n, sizeof *run->nodes);
    run->done = calloc(n, sizeof *run->done);
    run->now = calloc(n, sizeof *run->now);
    run->next = calloc(n, sizeof *run->next);
    run->room = ts_memory_aligned(room);
    run->scratch = ts_memory_aligned(scratch);
    if (!run->nodes || !run->done || !run->now || !run->next || !run->room || !run->scratch)
        return ts_diag_no_memory(run->diag, room + scratch);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const enum ts_status status = allocate_node(run, i);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static void free_run(struct run *run)
{
    for (int32_t i = 0; run->nodes && i < run->plan->n_nodes; i++) {
        free(run->nodes[i].buffer);
        free(run->nodes[i].done);
        ts_stage_reduced_destroy(run->nodes[i].reduced);
    }
    free(run->nodes);
    free(run->done);
    free(run->now);
    free(run->next);
    free(run->room);
    free(run->scratch);
}

/* The workers fork here, before the writer starts its threads. */
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

static enum ts_status create_datasets(struct run *run)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(run->plan, outputs);
    enum ts_status status = ts_provenance_begin(run->plan, run->writer);
    for (int32_t i = 0; status == TS_OK && i < n; i++) {
        const struct plan_node *node = &run->plan->nodes[outputs[i]];
        char path[128];
        snprintf(path, sizeof path, "/entry/%s", node->dataset);
        status = ts_hdf5_image(run->writer, path, &node->out, &run->nodes[outputs[i]].dataset);
    }
    return status;
}

/* ---- one slab ---------------------------------------------------------------------------------- */

/* Lays the spans to compute out in the node's buffer, or in place where the node is kept. */
static struct ts_image target_of(struct run *run, int32_t i, int span, int64_t *offset)
{
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const struct span todo = run->now[i].todo.at[span];
    struct ts_image whole = plan->out;
    whole.data = node->buffer;
    if (plan->keep)
        return ts_image_slices(&whole, todo.first, todo.end - todo.first);
    whole.axes[0].n = todo.end - todo.first;
    whole.z_first = todo.first;
    whole.data = ts_slice_data(&whole, *offset);
    *offset += whole.axes[0].n;
    node->parts[span] = whole;
    node->n_parts = span + 1;
    return whole;
}

/* A view of slices [z, z + n) of a node's image: they are at hand in one part. */
static struct ts_image view_of(const struct run *run, int32_t index, int64_t z, int64_t n)
{
    const struct run_node *node = &run->nodes[run->plan->nodes[index].image_node];
    const struct stage_reach none = {0};
    struct ts_image view;
    ts_stage_pad(&none, &run->plan->nodes[index].out, node->parts, node->n_parts, z, n, run->room, &view);
    return view;
}

static enum ts_status compute(struct run *run, int32_t i, struct ts_image *target)
{
    struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const int64_t z = target->z_first, n = target->axes[0].n;
    if (plan->source) {
        run->bytes_done += (int64_t)((size_t)n * ts_slice_bytes(target));
        return plan->source->ops->read(plan->source, z, n, target->data, run->diag);
    }
    if (node->reduced && ts_stage_reduces_slices(&plan->context)) {
        const struct ts_image slices = view_of(run, plan->inputs[0], z, n);
        const enum ts_status status = ts_stage_reduced_slab(node->reduced, &slices);
        if (status != TS_OK)
            return status;
    }
    const struct run_node *from = &run->nodes[run->plan->nodes[plan->inputs[0]].image_node];
    const struct stage_reach reach = ts_stage_reach(&plan->context);
    struct ts_image padded;
    ts_stage_pad(&reach, &plan->context.in, from->parts, from->n_parts, z, n, run->room, &padded);
    plan->context.result = node->reduced ? ts_stage_reduced_result(node->reduced) : NULL;
    return plan->context.stage->cpu(&plan->context, &padded, target, run->scratch);
}

static enum ts_status compute_node(struct run *run, int32_t i)
{
    int64_t offset = 0;
    if (run->now[i].todo.n > 0 && !run->plan->nodes[i].keep)
        run->nodes[i].n_parts = 0;
    for (int span = 0; span < run->now[i].todo.n; span++) {
        struct ts_image target = target_of(run, i, span, &offset);
        const enum ts_status status = compute(run, i, &target);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* What the slab was computed for: reductions, tables and the file. */
static enum ts_status serve_demands(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        enum ts_status status = TS_OK;
        for (int input = 0; node->chain_stage && input < STAGE_INPUTS; input++) {
            const int32_t from = node->inputs[input];
            if (from < 0 || plan->nodes[from].domain != domain || !ts_plan_reduces(plan, run->pass, i, input))
                continue;
            const struct ts_image slices = view_of(run, from, z, n);
            ts_stage_reduced_add(run->nodes[i].reduced, input, &slices);
        }
        if (node->domain != domain)
            continue;
        if (ts_plan_tabulates(plan, run->pass, i)) {
            const struct ts_image slices = view_of(run, node->inputs[0], z, n);
            status = ts_stage_reduced_slab(run->nodes[i].reduced, &slices);
        }
        if (status == TS_OK && run->nodes[i].dataset >= 0 && ts_plan_writes(plan, run->pass, i)) {
            const struct ts_image slices = view_of(run, i, z, n);
            status = ts_hdf5_write(run->writer, run->nodes[i].dataset, &slices);
        }
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static void prefetch(struct run *run, int32_t domain)
{
    struct source *source = run->plan->nodes[domain].source;
    const struct spans *todo = &run->next[domain].todo;
    for (int i = 0; source->ops->prefetch && i < todo->n; i++)
        source->ops->prefetch(source, todo->at[i].first, todo->at[i].end - todo->at[i].first);
}

static enum ts_status run_slab(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    const int64_t nz = plan->nodes[domain].out.axes[0].n, following = z + n;
    enum ts_status status = compute_node(run, domain);
    if (following < nz) {
        const int64_t count = nz - following < plan->slab_slices ? nz - following : plan->slab_slices;
        ts_plan_step(plan, run->pass, domain, following, count, run->done, run->next);
        prefetch(run, domain);
    }
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++) {
        if (atomic_load(&plan->stop))
            return TS_STOPPED;
        if (plan->nodes[i].domain == domain)
            status = compute_node(run, i);
    }
    if (status == TS_OK)
        status = serve_demands(run, domain, z, n);
    struct plan_step *swap = run->now;
    run->now = run->next;
    run->next = swap;
    return status;
}

/* ---- passes ------------------------------------------------------------------------------------ */

static enum ts_status run_domain(struct run *run, int32_t domain)
{
    const struct ts_plan *plan = run->plan;
    const int64_t nz = plan->nodes[domain].out.axes[0].n, slab = plan->slab_slices;
    ts_plan_step(plan, run->pass, domain, 0, nz < slab ? nz : slab, run->done, run->now);
    for (int64_t z = 0; z < nz; z += slab) {
        const int64_t n = nz - z < slab ? nz - z : slab;
        if (atomic_load(&plan->stop))
            return TS_STOPPED;
        const enum ts_status status = run_slab(run, domain, z, n);
        if (status != TS_OK)
            return status;
        run->slices_done += n;
        tell(run, TS_EVENT_PROGRESS, NULL);
    }
    return TS_OK;
}

static enum ts_status run_pass(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = TS_OK;
    run->slices_done = run->n_slices = 0;
    for (int32_t domain = 0; domain < plan->n_sources; domain++)
        if (ts_plan_pass_uses(plan, run->pass, domain))
            run->n_slices += plan->nodes[domain].out.axes[0].n;
    for (int32_t domain = 0; status == TS_OK && domain < plan->n_sources; domain++)
        if (ts_plan_pass_uses(plan, run->pass, domain))
            status = run_domain(run, domain);
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++) {
        bool reduced = false;
        for (int input = 0; input < STAGE_INPUTS; input++)
            reduced |= ts_plan_reduces(plan, run->pass, i, input);
        if (reduced)
            status = ts_stage_reduced_finish(run->nodes[i].reduced);
    }
    return status;
}

static enum ts_status run_passes(struct run *run)
{
    enum ts_status status = TS_OK;
    tell(run, TS_EVENT_STARTED, NULL);
    for (; status == TS_OK && run->pass < run->plan->n_passes; run->pass++)
        status = run_pass(run);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = ts_provenance_node(run->plan, i, run->nodes[i].reduced, run->writer);
    return status == TS_OK ? ts_provenance_end(run->plan, run->writer) : status;
}

/* What the output would replace though the run reads it: "the chain itself", a source's name, or NULL. */
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
    /* The name of a chain that is no file stands for nothing on the disk. */
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
        ts_diag_hint(diag, "give the output a name of its own: output: {hdf5: FILE.h5} in the chain, or -o FILE.h5");
        return TS_BAD_CHAIN;
    }
    if (path)
        return ts_hdf5_check_path(path, plan->force, plan->output_bytes, diag);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-output"}, "the chain names no output file");
    ts_diag_hint(diag, "output: {hdf5: FILE.h5} in the chain, or -o FILE.h5");
    return TS_BAD_CHAIN;
}

enum ts_status ts_plan_run(struct ts_plan *plan, struct ts_diag *diag)
{
    enum { DEFLATE_LEVEL = 1 };
    struct run run = {.plan = plan, .diag = diag};
    clock_gettime(CLOCK_MONOTONIC, &run.started);
    enum ts_status status = check_output(plan, diag);
    if (status == TS_OK)
        status = allocate_run(&run);
    if (status == TS_OK)
        status = start_sources(&run);
    if (status == TS_OK) {
        const struct hdf5_options options = {.level = DEFLATE_LEVEL, .threads = plan->threads, .force = plan->force};
        status = ts_hdf5_create(plan->chain->output.path, &options, &run.writer, diag);
    }
    if (status == TS_OK) {
        /* The plan's own copy: a signal handler may read it while commit frees the writer. */
        const char *temporary = ts_hdf5_temporary(run.writer);
        atomic_store(&plan->temporary, ts_arena_text(plan->arena, temporary, strlen(temporary)));
        status = create_datasets(&run);
    }
    if (status == TS_OK)
        status = run_passes(&run);
    if (status == TS_OK)
        status = ts_hdf5_commit(run.writer);
    else if (run.writer)
        ts_hdf5_abandon(run.writer);
    atomic_store(&plan->temporary, NULL);
    if (status == TS_OK)
        tell(&run, TS_EVENT_FINISHED, plan->chain->output.path);
    free_run(&run);
    return status;
}
