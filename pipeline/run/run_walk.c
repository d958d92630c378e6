/* SPDX-License-Identifier: Apache-2.0
 *
 * A run goes volume by volume, pass by pass and slab by slab: in each slab the nodes compute the
 * slices that ts_plan_step() lists, in list order, and then hand them to reductions, tables and the
 * file. While a slab is computed, the sources' workers decode the next one and the writer's threads
 * compress the last one. What several ranks or devices do in addition is in pipeline/fleet.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/timing.h"
#include "io/source/memory.h"
#include "io/source/source_slices.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run.h"
#include "pipeline/run/run_checkpoint.h"
#include "pipeline/run/run_finite.h"
#include "pipeline/run/run_rows.h"

/* ---- volumes --------------------------------------------------------------------------------- */

/* A run of several volumes carries out its passes for one after the other. The output's images grow
   from volume to volume. A driver is reset for the next volume, so that the tables are copied here
   when one ends; in the output, a table then has the axis of the volumes before its own. */

/* Allocates a node's tables of all volumes. */
static enum ts_status create_tables(struct run *run, int32_t i, const struct stage_table *tables,
                                    int n)
{
    for (int t = 0; t < n; t++) {
        struct stage_table *all = &run->results[i].tables[t];
        *all = tables[t];
        all->image = ts_plan_table_of_all(run->plan, i, &tables[t].image);
        all->image.data = calloc(1, ts_image_bytes(&all->image));
        if (!all->image.data)
            return ts_diag_no_memory(run->diag, ts_image_bytes(&all->image));
        run->results[i].n_tables++;
    }
    return TS_OK;
}

/* Copies the tables of the volume that has ended, over those of a node that all volumes share. */
static enum ts_status keep_tables(struct run *run, int32_t i)
{
    const struct run_result *result = &run->results[i];
    const struct stage_table *tables;
    const struct stage_reduced *reduced = ts_run_reduced(run, i);
    const int n = reduced ? ts_stage_reduced_tables(reduced, &tables) : 0;
    const int64_t place =
        run->plan->nodes[i].by_volume && !run->plan->nodes[i].series ? run->volume : 0;
    const enum ts_status status = run->volume == 0 ? create_tables(run, i, tables, n) : TS_OK;
    for (int t = 0; status == TS_OK && t < n; t++) {
        const size_t bytes = ts_image_bytes(&tables[t].image);
        memcpy((unsigned char *)result->tables[t].image.data + (size_t)place * bytes,
               tables[t].image.data, bytes);
    }
    return status;
}

int ts_run_tables(const struct run *run, int32_t i, const struct stage_table **tables)
{
    const struct stage_reduced *reduced = ts_run_reduced(run, i);
    const struct plan_reused *reused = run->plan->nodes[i].reused;
    *tables = reused ? reused->tables : run->results[i].tables;
    if (reused)
        return reused->n_tables;
    if (run->plan->n_volumes > 1)
        return run->results[i].n_tables;
    return reduced ? ts_stage_reduced_tables(reduced, tables) : 0;
}

/* Resets the current device for the next volume, except what was reduced of all volumes. */
static enum ts_status restart(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        struct run_node *node = &run->nodes[i];
        node->n_parts = 0;
        if (node->done)
            memset(node->done, 0, (size_t)run->plan->nodes[i].out.axes[0].n);
        if (!node->driver)
            continue;
        node->driver->context.volume = run->plan->nodes[i].by_volume ? run->next_volume : 0;
        if (!run->plan->nodes[i].series)
            status = ts_driver_restart(node->driver);
    }
    return status;
}

/* Prepares everything for this volume. */
static enum ts_status restart_volume(struct run *run, int64_t volume)
{
    run->next_volume = volume;
    return ts_run_on_devices(run, restart);
}

/* Keeps the tables of the volume that has ended, and prepares everything for the next one. */
static enum ts_status next_volume(struct run *run)
{
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++)
        status = keep_tables(run, i);
    return status == TS_OK ? restart_volume(run, run->volume + 1) : status;
}

void ts_run_free_tables(struct run *run)
{
    for (int32_t i = 0; run->results && i < run->plan->n_nodes; i++)
        for (int t = 0; t < run->results[i].n_tables; t++)
            free(run->results[i].tables[t].image.data);
}

/* ---- reading ----------------------------------------------------------------------------------*/

enum ts_status ts_run_read(struct run *run, int32_t node, const struct ts_image *slices, void *to)
{
    struct source *source = ts_plan_reader(&run->plan->nodes[node]);
    const double trace = ts_trace_begin(run->state->trace), begin = ts_seconds();
    const enum ts_status status = ts_source_read(source, ts_run_slice(run, node, slices->z_first),
                                                 slices->axes[0].n, to, run->diag);
    run->state->seconds[node] += ts_seconds() - begin;
    ts_trace_add(run->state->trace, TRACE_READ, trace, ts_image_bytes(slices));
    return status;
}

/* Reads the slices of a node to host memory. */
static enum ts_status read_slices(struct run *run, int32_t i, struct ts_image *target)
{
    const enum ts_status status = ts_run_read(run, i, target, target->data);
    if (status == TS_OK && target->masked)
        memcpy(target->valid, ts_run_read_valid(run, i, target->z_first),
               (size_t)target->axes[0].n * ts_valid_bytes(target));
    return status;
}

/* ---- one slab -------------------------------------------------------------------------------- */

/* Returns the place of a span that is to be computed: in the node's buffer, in its whole image if
   the node is kept, or in the caller's array. */
static struct ts_image target_of(struct run *run, int32_t i, int span, int64_t *offset)
{
    const struct plan_node *plan = &run->plan->nodes[i];
    struct run_node *node = &run->nodes[i];
    const struct span todo = run->now[i].todo.at[span];
    struct ts_image whole = plan->out;
    const size_t copy = (size_t)(ts_run_turn(run, run->slab_number) % node->copies);
    whole.data = ts_run_in_array(run, i, &run->now[i]);
    whole.data = whole.data ? whole.data : node->buffer + copy * node->copy_bytes;
    if (whole.masked)
        whole.valid = (uint64_t *)(void *)(node->valid + copy * node->valid_bytes);
    if (plan->keep) {
        node->parts[0] = whole;
        node->n_parts = 1;
        return ts_image_slices(&whole, todo.first, todo.end - todo.first);
    }
    whole.axes[0].n = todo.end - todo.first;
    whole.z_first = todo.first;
    whole.data = ts_slice_data(&whole, *offset);
    whole.valid = ts_slice_valid(&whole, *offset);
    *offset += whole.axes[0].n;
    node->parts[span] = whole;
    node->n_parts = span + 1;
    return whole;
}

/* Returns a view of slices [z, z + n) of a node's image, described as this node describes it. One
   part must hold them all. */
static struct ts_image view_of(const struct run *run, int32_t index, int64_t z, int64_t n)
{
    const struct run_node *node = &run->nodes[run->plan->nodes[index].image_node];
    int i = 0;
    while (i + 1 < node->n_parts && z >= node->parts[i].z_first + node->parts[i].axes[0].n)
        i++;
    const struct ts_image *part = &node->parts[i];
    assert(node->n_parts > 0 && z >= part->z_first && z + n <= part->z_first + part->axes[0].n);
    struct ts_image view = run->plan->nodes[index].out;
    view.axes[0].n = n;
    view.z_first = z;
    view.data = ts_slice_data(part, z - part->z_first);
    view.valid = ts_slice_valid(part, z - part->z_first);
    return view;
}

/* Fills in views of an input's slices, and for input 0 also of the references that stream with
 * it. */
static void views_of(const struct run *run, int32_t index, int input, int64_t z, int64_t n,
                     struct ts_image slices[STAGE_INPUTS])
{
    const struct plan_node *node = &run->plan->nodes[index];
    slices[0] = view_of(run, node->inputs[input], z, n);
    for (int i = 0; input == 0 && i < STAGE_REFERENCES; i++)
        if (ts_stage_streams(&node->context, i))
            slices[1 + i] = view_of(run, node->inputs[1 + i], z, n);
}

/* A call of a stage's driver, from its begin to its end. */
struct call {
    int32_t node;
    double trace, seconds; /* when it began, on the clocks of the profile and of the node's time */
};

static enum ts_status begin_call(struct run *run, int32_t i, struct call *call)
{
    *call = (struct call){i, ts_trace_begin(run->state->trace), ts_seconds()};
    return run->back_end->begin_call ? run->back_end->begin_call(run, i) : TS_OK;
}

/* Adds the call to the node's time and to the profile. Returns its status, or that of timing it. */
static enum ts_status end_call(struct run *run, const struct call *call,
                               const struct ts_image *made, enum ts_status status)
{
    if (run->back_end->end_call)
        return status == TS_OK ? run->back_end->end_call(run, made) : status;
    run->state->seconds[call->node] += ts_seconds() - call->seconds;
    ts_trace_put(run->state->trace,
                 (struct trace_stretch){.begin = call->trace,
                                        .end = ts_trace_begin(run->state->trace),
                                        .bytes = ts_image_bytes(made),
                                        .part = TRACE_COMPUTE,
                                        .stage = run->plan->nodes[call->node].label});
    return status;
}

static enum ts_status compute(struct run *run, int32_t i, struct ts_image *target)
{
    const struct plan_node *plan = &run->plan->nodes[i];
    struct ts_image slices[STAGE_INPUTS];
    if (ts_plan_reader(plan)) {
        run->bytes_done += (int64_t)ts_image_bytes(target);
        const enum ts_status read =
            run->back_end->read ? run->back_end->read(run, i, target) : read_slices(run, i, target);
        return read == TS_OK ? ts_run_look(run, i, target, 0) : read;
    }
    const struct run_node *from = &run->nodes[run->plan->nodes[plan->inputs[0]].image_node];
    if (!plan->context.stage->reads) {
        views_of(run, i, 0, target->z_first, target->axes[0].n, slices);
        const enum ts_status looked = ts_run_look_at_rows(run, i, &slices[0]);
        if (looked != TS_OK)
            return looked;
    }
    struct call call;
    enum ts_status status = begin_call(run, i, &call);
    if (status == TS_OK)
        status = ts_driver_slab(run->nodes[i].driver, from->parts, from->n_parts, slices, target);
    if (status == TS_OK && plan->image_node == i)
        status = ts_run_look(run, i, target, 0);
    return end_call(run, &call, target, status);
}

/* Computes the slices of a node that the step lists. If the checkpoint has the slab, a stage's
   slices only get their places, to which ts_run_load_slab loads them. */
static enum ts_status compute_node(struct run *run, int32_t i)
{
    const bool loaded = ts_run_has_slab(run) && !ts_plan_reader(&run->plan->nodes[i]);
    int64_t offset = 0;
    if (run->now[i].todo.n > 0 && !run->plan->nodes[i].keep)
        run->nodes[i].n_parts = 0;
    for (int span = 0; span < run->now[i].todo.n; span++) {
        struct ts_image target = target_of(run, i, span, &offset);
        enum ts_status status = loaded ? TS_OK : compute(run, i, &target);
        if (status == TS_OK && !loaded)
            status = ts_run_look_at_passed(run, i, &target);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

/* Returns true if this input is reduced in the current pass. During a survey only reductions of a
   whole series run; all others run when the volumes are mapped. A reference of one volume is
   reduced only with volume 0. */
static bool reduces_now(const struct run *run, int32_t i, int input)
{
    const struct plan_node *node = &run->plan->nodes[i];
    if (!ts_plan_reduces(run->plan, run->pass, i, input) ||
        (run->captured && !node->context.stage->reduction->feeds_map))
        return false;
    if (node->series)
        return run->survey == run->pass &&
               (run->volume == 0 || run->plan->nodes[node->inputs[input]].by_volume);
    return run->survey != run->pass;
}

/* Returns true if this input is reduced in this pass and has the slices of the domain. Narrows [*z,
 *past) to those that the reduction uses; *z == *past: none. */
static bool reduces(const struct run *run, int32_t i, int input, int32_t domain, int64_t *z,
                    int64_t *past)
{
    const struct ts_plan *plan = run->plan;
    const int32_t from = plan->nodes[i].inputs[input];
    if (from < 0 || plan->nodes[from].domain != domain || !reduces_now(run, i, input))
        return false;
    if (*z < *past && !ts_plan_looks_at(plan, i, input, z, past))
        *past = *z;
    return true;
}

/* Adds the slab to the reductions of a stage. */
static enum ts_status add_slices(struct run *run, int32_t i, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    struct ts_image slices[STAGE_INPUTS];
    struct call call;
    enum ts_status status = TS_OK;
    for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++) {
        int64_t first = z, past = z + n;
        if (!reduces(run, i, input, domain, &first, &past) || first == past)
            continue;
        views_of(run, i, input, first, past - first, slices);
        for (int k = 0; plan->nodes[i].series && k < STAGE_INPUTS; k++)
            slices[k].z_first +=
                run->volume * plan->nodes[plan->nodes[i].inputs[input]].out.axes[0].n;
        status = run->fleet ? run->fleet->bring_total(run, i, input) : TS_OK;
        if (status != TS_OK)
            break;
        status = begin_call(run, i, &call);
        if (status == TS_OK)
            status = ts_driver_add(run->nodes[i].driver, input, slices);
        status = end_call(run, &call, &slices[0], status);
    }
    return status;
}

/* Reduces the slab slice by slice for the tables of stages whose map does not make them. */
static enum ts_status tabulate(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    struct ts_image slices[STAGE_INPUTS];
    struct call call;
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        if (run->survey >= 0 || run->plan->nodes[i].domain != domain ||
            !ts_plan_tabulates(run->plan, run->pass, i))
            continue;
        views_of(run, i, 0, z, n, slices);
        status = begin_call(run, i, &call);
        if (status == TS_OK)
            status = ts_driver_reduce_slices(run->nodes[i].driver, slices);
        status = end_call(run, &call, &slices[0], status);
    }
    return status;
}

/* Hands the slab to reductions. n == 0: the rank has none in this round. */
static enum ts_status reduce_slab(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = TS_OK;
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++)
        status = add_slices(run, i, domain, z, n);
    return status;
}

static enum ts_status ask_refused(struct run *run, int32_t i, int64_t z, int64_t n);

/* Ends a round of a node's reductions on the current device. */
static enum ts_status finish_here(struct run *run, int32_t i)
{
    enum ts_status status = TS_OK;
    for (int input = 0; run->fleet && status == TS_OK && input < STAGE_INPUTS; input++)
        if (run->results[i].totals[input] >= 0)
            status = run->fleet->bring_total(run, i, input);
    return status == TS_OK ? ts_driver_finish(run->nodes[i].driver) : status;
}

/* Looks for the cause of a stage's failure. Earlier stages that only check values, such as
   minus_log, report at the end of a pass, or, on a device, once the host learns of it. This pass
   ends early, so they are asked now if they know the cause in the slices seen so far, up to the
   slab's n slices from z. If one does, its status becomes the run's, and the records of the failed
   stage, from record `from` on, are removed. */
static enum ts_status find_cause(struct run *run, int32_t failed, int64_t z, int64_t n, size_t from,
                                 enum ts_status status)
{
    const struct plan_node *nodes = run->plan->nodes;
    const int32_t domain = nodes[failed].domain;
    for (int32_t i = nodes[failed].inputs[0]; i >= run->plan->n_sources; i = nodes[i].inputs[0]) {
        const struct stage_reduction *reduction = nodes[i].context.stage->reduction;
        if (!reduction || reduction->finds_axes || nodes[i].rounds != 1 ||
            nodes[i].domain != domain)
            continue;
        enum ts_status cause = ask_refused(run, i, z, n);
        if (cause == TS_OK && !reduction->feeds_map && !nodes[i].series && reduces_now(run, i, 0)) {
            cause = add_slices(run, i, domain, z, n);
            if (cause == TS_OK)
                cause = finish_here(run, i);
        }
        if (cause == TS_OK)
            continue;
        ts_diag_forget(run->diag, from, nodes[failed].context.stage->name);
        return cause;
    }
    return status;
}

/* Reports the first slice that a reduction of slices has refused. Waits for the device. */
static enum ts_status run_walk_refuse(struct run *run, int32_t i)
{
    struct stage_driver *driver = run->nodes[i].driver;
    int64_t z;
    if (run->fleet)
        return run->fleet->refuse(run, i);
    const enum ts_status status = ts_driver_refused(driver, true, &z);
    return status == TS_OK && z >= 0 ? ts_driver_refuse(driver) : status;
}

/* Returns true if the host knows that the reduction has refused a slice. */
static bool has_refused(const struct run *run, int32_t i)
{
    int64_t z = -1;
    if (run->fleet)
        return run->fleet->has_refused(run, i);
    (void)ts_driver_refused(run->nodes[i].driver, false, &z);
    return z >= 0;
}

/* Reports a refused slice, or the cause in an earlier stage. Waits for the device. */
static enum ts_status ask_refused(struct run *run, int32_t i, int64_t z, int64_t n)
{
    const size_t n_records = ts_diag_count(run->diag);
    const enum ts_status status = run_walk_refuse(run, i);
    return status == TS_OK ? TS_OK : find_cause(run, i, z, n, n_records, status);
}

/* Reports what stages have refused in earlier slabs. */
static enum ts_status check_refused(struct run *run, bool wait)
{
    enum ts_status status = TS_OK;
    for (int32_t i = run->plan->n_sources; status == TS_OK && i < run->plan->n_nodes; i++)
        if (wait || has_refused(run, i))
            status = ask_refused(run, i, 0, 0);
    return status;
}

/* Announces to the sources which slices the step of slab `number` will read. */
static void prefetch(struct run *run, const struct plan_step *steps, int64_t number)
{
    for (int32_t s = 0; s < run->plan->n_nodes; s++) {
        struct source *source = ts_plan_reader(&run->plan->nodes[s]);
        const struct run_node *node = &run->nodes[s];
        const struct spans *todo = &steps[s].todo;
        if (!source)
            continue;
        if (ts_plan_reads_in_place(run->plan, s)) {
            if (todo->n == 1)
                source->ops->prefetch_to(source, ts_run_slice(run, s, todo->at[0].first),
                                         todo->at[0].end - todo->at[0].first,
                                         node->buffer +
                                             (size_t)(number % node->copies) * node->copy_bytes);
            continue;
        }
        for (int i = 0; source->ops->prefetch && i < todo->n; i++)
            source->ops->prefetch(source, ts_run_slice(run, s, todo->at[i].first),
                                  todo->at[i].end - todo->at[i].first);
    }
}

/* Announces the slab that this rank computes in the next round, on its next device. */
static void announce_next(struct run *run, int32_t domain, int64_t round_z)
{
    const struct ts_plan *plan = run->plan;
    const int64_t nz = plan->nodes[domain].out.axes[0].n, slab = plan->slab_slices;
    int64_t z;
    const int64_t n = ts_plan_slab_of(plan->rank, nz, round_z + plan->n_ranks * slab, slab, &z);
    if (n == 0)
        return;
    const int next = (run->device + 1) % plan->n_devices;
    ts_plan_step(plan, run->pass, domain, z, n, run->devices[next].done, run->next);
    prefetch(run, run->next, run->slab_number + 1);
}

static enum ts_status compute_slab(struct run *run, int32_t domain, int64_t round_z, int64_t z,
                                   int64_t n)
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = run->back_end->begin_slab ? run->back_end->begin_slab(run) : TS_OK;
    if (status == TS_OK)
        status = check_refused(run, false);
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++) {
        if (i == plan->n_sources) {
            announce_next(run, domain, round_z);
            if ((status = ts_run_find_slab(run, domain, z, n)) != TS_OK)
                break;
        }
        const size_t n_records = ts_diag_count(run->diag);
        status = compute_node(run, i);
        if (status != TS_OK && plan->nodes[i].chain_stage)
            status = find_cause(run, i, z, n, n_records, status);
        run->on_node(run, i);
        if (status == TS_OK && i >= plan->n_sources - 1 && atomic_load(&run->state->stop))
            return TS_STOPPED; /* the stage may have ended its iterations because of that */
    }
    if (status == TS_OK)
        status = ts_run_load_slab(run);
    if (status == TS_OK)
        status = tabulate(run, domain, z, n);
    return status == TS_OK ? ts_run_keep_slab(run) : status;
}

/* ---- slabs leave ----------------------------------------------------------------------------- */

bool ts_run_is_written(const struct run *run, int32_t i, int32_t domain)
{
    const struct plan_node *node = &run->plan->nodes[i];
    return run->survey < 0 && node->domain == domain && ts_run_holds(run, i) &&
           ts_plan_writes(run->plan, run->pass, i) && (run->volume == 0 || node->by_volume);
}

/* Hands slices in host memory to the library's caller. */
static enum ts_status hand_to_taker(const struct run *run, int32_t node,
                                    const struct run_taker *taker, const struct ts_image *slices)
{
    const size_t bytes = ts_slice_bytes(slices);
    if (taker->take)
        return ts_run_taken(run, node, slices, taker->take(taker->user, slices));
#pragma omp parallel for num_threads(run->plan->threads)
    for (int64_t k = 0; k < slices->axes[0].n; k++)
        ts_array_put(&taker->array, slices->z_first + k,
                     (const unsigned char *)slices->data + (size_t)k * bytes);
    return TS_OK;
}

enum ts_status ts_run_put(struct run *run, int32_t node, const struct ts_image *slices)
{
    const struct run_taker *taker = ts_run_taker(run, node);
    enum ts_status status =
        taker && !ts_run_stays_there(taker) ? hand_to_taker(run, node, taker, slices) : TS_OK;
    if (status == TS_OK && run->results[node].dataset >= 0)
        status = ts_sink_put_image(run->sinks[SINK_FORMATS], run->results[node].dataset, slices,
                                   run->diag);
    for (int i = 0;
         i < SINK_FORMATS && run->plan->nodes[node].leader == run->sink_node && status == TS_OK;
         i++)
        if (run->sinks[i])
            status = ts_sink_put(run->sinks[i], slices, run->diag);
    return status;
}

/* Keeps the bits of an output's slices for ts_run_write_masks. */
static enum ts_status run_save_valid(struct run *run, int32_t node, const struct ts_image *slices)
{
    const size_t slice_bytes = ts_valid_bytes(slices);
    if (slice_bytes == 0)
        return TS_OK;
    return run->back_end->save(run,
                               run->nodes[run->plan->nodes[node].leader].saved +
                                   (size_t)slices->z_first * slice_bytes,
                               slices->valid, (size_t)slices->axes[0].n * slice_bytes);
}

enum ts_status ts_run_write_own(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++) {
        if (!ts_run_is_written(run, i, domain))
            continue;
        struct ts_image slices = view_of(run, i, z, n);
        if (run->options->on_slices && run->volume == 0 && plan->nodes[i].leader == i)
            status = run->options->on_slices(run->options->slices_user, i, &slices);
        slices.z_first = ts_run_place(run, i, z);
        if (status == TS_OK && run->back_end->write)
            status = run->back_end->write(run, i, &slices);
        else if (status == TS_OK && run->fleet)
            status = run->fleet->hand_output(run, i, &slices);
        else if (status == TS_OK)
            status = ts_run_put(run, i, &slices);
        if (status == TS_OK)
            status = run_save_valid(run, i, &slices);
    }
    return status;
}

/* Hands the current slab to the outputs. */
static enum ts_status write_slab(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const enum ts_status status = ts_run_write_own(run, domain, z, n);
    return status == TS_OK && run->back_end->end_slab ? run->back_end->end_slab(run) : status;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* Lets every rank compute a slab, from slice round_z on; in the last round some ranks have none. */
static enum ts_status run_round(struct run *run, int32_t domain, int64_t round_z)
{
    int64_t z;
    const int64_t nz = run->plan->nodes[domain].out.axes[0].n;
    const int64_t n = ts_plan_slab_of(run->plan->rank, nz, round_z, run->plan->slab_slices, &z);
    enum ts_status status = n > 0 ? compute_slab(run, domain, round_z, z, n) : TS_OK;
    status = ts_run_agree(run, status);
    if (status == TS_OK) {
        status = reduce_slab(run, domain, z, n);
        if (run->plan->n_ranks > 1)
            status = run->fleet->write_slab(run, domain, z, n, status);
        else if (status == TS_OK)
            status = write_slab(run, domain, z, n);
    }
    struct plan_step *swap = run->now;
    run->now = run->next;
    run->next = swap;
    run->slab_number++;
    return status;
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* Plans the first slab of a domain; must be called only once, since slices that are kept count as
   done afterwards. */
static void plan_first(struct run *run, int32_t domain)
{
    const struct ts_plan *plan = run->plan;
    int64_t z;
    const int64_t n =
        ts_plan_slab_of(plan->rank, plan->nodes[domain].out.axes[0].n, 0, plan->slab_slices, &z);
    if (!run->first_planned)
        ts_plan_step(plan, run->pass, domain, z, n, run->done, run->now);
    run->first_planned = false;
}

void ts_run_announce(struct run *run)
{
    int32_t first = 0;
    while (first < run->plan->n_nodes && !ts_plan_pass_uses(run->plan, run->pass, first))
        first++;
    if (first == run->plan->n_nodes)
        return;
    plan_first(run, first);
    run->first_planned = true;
    prefetch(run, run->now, run->slab_number);
}

static enum ts_status run_domain(struct run *run, int32_t domain, void (*on_slab)(struct run *))
{
    const struct ts_plan *plan = run->plan;
    const int64_t nz = plan->nodes[domain].out.axes[0].n, all = plan->slab_slices * plan->n_ranks;
    enum ts_status status = TS_OK;
    plan_first(run, domain);
    while (run->slab_number % plan->n_devices != 0)
        run->slab_number++;
    run->first_slab = run->slab_number;
    for (int64_t round_z = 0; status == TS_OK && round_z < nz; round_z += all) {
        const int64_t n = nz - round_z < all ? nz - round_z : all;
        if (atomic_load(&run->state->stop))
            return TS_STOPPED;
        if (ts_run_pauses(run))
            return TS_PAUSED;
        run->slab_slices = n;
        status = ts_run_use(run, (int)(run->slab_number % plan->n_devices));
        if (status == TS_OK)
            status = run_round(run, domain, round_z);
        if (status != TS_OK)
            return status;
        run->slices_done += n;
        on_slab(run);
    }
    if (run->plan->n_ranks > 1)
        status = run->fleet->write_rest(run, domain, status);
    const enum ts_status back = ts_run_use(run, 0);
    return status == TS_OK ? back : status;
}

/* Returns true if the reductions of this input end with the current pass; those of a series end
   with the last volume. */
static bool ends_now(const struct run *run, int32_t i, int input)
{
    const struct plan_node *node = &run->plan->nodes[i];
    if (!node->series)
        return reduces_now(run, i, input);
    return run->survey == run->pass && run->volume + 1 == run->plan->n_volumes &&
           ts_plan_reduces(run->plan, run->pass, i, input);
}

/* Ends the reductions over volumes of which this pass was a round. */
static enum ts_status finish_reductions(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    unsigned ends[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES] = {0};
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        for (int input = 0; input < STAGE_INPUTS; input++)
            ends[i] |= (unsigned)ends_now(run, i, input) << input;
    enum ts_status status = run->fleet ? run->fleet->join_totals(run, ends) : TS_OK;
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++)
        if (ends[i])
            status = run->fleet ? run->fleet->finish_reduction(run, i)
                                : ts_driver_finish(run->nodes[i].driver);
    return status;
}

static enum ts_status run_pass(struct run *run, void (*on_slab)(struct run *))
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = TS_OK;
    run->slices_done = run->n_slices = 0;
    clock_gettime(CLOCK_MONOTONIC, &run->pass_started);
    atomic_store(&run->iterating, 0);
    for (int32_t domain = 0; domain < plan->n_nodes; domain++)
        if (ts_plan_pass_uses(plan, run->pass, domain))
            run->n_slices += plan->nodes[domain].out.axes[0].n;
    for (int32_t domain = 0; status == TS_OK && domain < plan->n_nodes; domain++)
        if (ts_plan_pass_uses(plan, run->pass, domain))
            status = run_domain(run, domain, on_slab);
    /* The writer gets the last slabs now, since the following waits until all of them are
       computed. */
    if (status == TS_OK && plan->n_ranks == 1 && run->back_end->leave)
        status = run->back_end->leave(run, run->slab_number);
    if (status == TS_OK && !run->captured)
        status = check_refused(run, true);
    status = ts_run_agree(run, status);
    if (status == TS_OK)
        status = finish_reductions(run);
    return status == TS_OK && run->survey < 0 ? ts_run_find_axes(run) : status;
}

/* Returns true if a reduction of a series has a round in this pass. */
static bool has_series(const struct ts_plan *plan, int pass)
{
    bool has = false;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        for (int input = 0; input < STAGE_INPUTS; input++)
            has |= plan->nodes[i].series && ts_plan_reduces(plan, pass, i, input);
    return has;
}

/* Returns true if a pass was needed only for reductions of a series, which are done. */
static bool is_surveyed(const struct ts_plan *plan, int pass)
{
    bool other = !has_series(plan, pass);
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        other |= ts_plan_writes(plan, pass, i) || ts_plan_tabulates(plan, pass, i) ||
                 node->axes_pass == pass + 1;
        for (int input = 0; input < STAGE_INPUTS; input++)
            other |= !node->series && ts_plan_reduces(plan, pass, i, input);
    }
    return !other;
}

/* Reduces all volumes for the reductions of a series that have a round in pass run->survey. The
 * passes before it are carried out for each volume, as reductions of the volume may feed it. */
static enum ts_status survey(struct run *run, void (*on_slab)(struct run *))
{
    const int64_t n = run->plan->n_volumes;
    enum ts_status status = TS_OK;
    for (run->volume = 0; status == TS_OK && run->volume < n; run->volume++) {
        for (run->pass = 0; status == TS_OK && run->pass <= run->survey; run->pass++)
            if (run->pass == run->survey || !is_surveyed(run->plan, run->pass)) {
                status = run_pass(run, on_slab);
                run->surveyed++;
            }
        if (status == TS_OK)
            status = ts_run_on_devices(run, run->back_end->drain);
        if (status == TS_OK)
            status = ts_run_on_devices(run, ts_run_note_not_finite);
        if (status == TS_OK)
            status = restart_volume(run, run->volume + 1 < n ? run->volume + 1 : 0);
    }
    return status;
}

static enum ts_status survey_all(struct run *run, void (*on_slab)(struct run *))
{
    enum ts_status status = TS_OK;
    for (int pass = 0; status == TS_OK && pass < run->plan->n_passes; pass++)
        if (has_series(run->plan, pass)) {
            run->survey = pass;
            status = survey(run, on_slab);
        }
    run->survey = -1;
    run->volume = 0;
    return status;
}

enum ts_status ts_run_walk(struct run *run, void (*on_slab)(struct run *))
{
    enum ts_status status = survey_all(run, on_slab);
    for (; status == TS_OK && run->volume < ts_plan_mapped_volumes(run->plan); run->volume++) {
        for (run->pass = 0; status == TS_OK && run->pass < run->plan->n_passes; run->pass++)
            if (!is_surveyed(run->plan, run->pass))
                status = run_pass(run, on_slab);
        if (status == TS_OK)
            status = ts_run_on_devices(run, run->back_end->drain);
        if (status == TS_OK && run->fleet)
            status = run->fleet->join_tables(run);
        if (status == TS_OK)
            status = ts_run_on_devices(run, ts_run_note_not_finite);
        if (status == TS_OK && run->back_end->begin_call && atomic_exchange(&run->iterating, 0) > 0)
            on_slab(run); /* for what it skipped while slabs were only enqueued */
        if (run->fleet)
            status = run->fleet->unite_tables(run, status);
        if (status == TS_OK && run->plan->n_volumes > 1)
            status = next_volume(run);
    }
    return status;
}
