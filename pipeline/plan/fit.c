/* SPDX-License-Identifier: Apache-2.0
 *
 * Fits a plan to its memory budget. Images that would be computed more than once are kept whole;
 * then a binary search finds the largest slab that fits, and keeps are given up one by one if slabs
 * would become too small. The whole run is simulated for each candidate, so the bytes counted are
 * those that the run needs.
 */
#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "io/hdf5/hdf5_write.h"
#include "io/source/read_ahead.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/simulation.h"

/* Returns how many slices a chunk of this output has; 1 if a slice has one chunk or more. */
static int64_t chunk_slices(const struct ts_plan *plan, int32_t i)
{
    const struct ts_image image = ts_plan_written(plan, i);
    struct chunk_grid grid;
    int64_t n[TS_MAX_RANK];
    for (int d = 0; d < image.rank; d++)
        n[d] = image.axes[d].n;
    return ts_chunk_grid_init(&grid, image.rank, n, ts_dtype_bytes(image.dtype)) ? grid.chunk[0]
                                                                                 : 1;
}

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    return b == 0 ? a : greatest_divisor(b, a % b);
}

/* Returns the number of which the slices of a slab must be a multiple, so that no chunk of an
   output is in slabs of two ranks (a rank that compresses its chunks needs all of their values); 1
   if any number will do. */
static int64_t slab_unit(const struct ts_plan *plan)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = plan->n_ranks > 1 && !plan->as_devices && ts_plan_encodes(plan)
                          ? ts_plan_outputs(plan, outputs)
                          : 0;
    int64_t unit = 1, nz = 1;
    for (int32_t i = 0; i < n; i++) {
        const int64_t slices = chunk_slices(plan, outputs[i]);
        nz =
            plan->nodes[outputs[i]].out.axes[0].n > nz ? plan->nodes[outputs[i]].out.axes[0].n : nz;
        unit = unit >= nz ? nz : unit / greatest_divisor(unit, slices) * slices;
    }
    return unit < nz ? unit : nz;
}

/* The bytes that the largest image of a slab should have. On a CUDA device a slab is computed in
   well under a millisecond, and reading and writing set the pace: short slabs let both begin early.
   If nothing is computed, a slab is written while it is still in the processor's cache. */
enum {
    SLAB_BYTES = 16 << 20,
    CUDA_SLAB_BYTES = 8 << 20,
    IDLE_SLAB_BYTES = 1 << 20,
    FIXED_BYTES = 8 << 20,
    OVERLAP_SLABS = 4
};

static void note_step(struct plan_node *node, const struct plan_step *step, int64_t *computed)
{
    int64_t held = 0;
    for (int s = 0; s < step->todo.n; s++) {
        const int64_t run = step->todo.at[s].end - step->todo.at[s].first;
        held += run;
        node->run_slices = run > node->run_slices ? run : node->run_slices;
    }
    node->buffer_slices = held > node->buffer_slices ? held : node->buffer_slices;
    *computed += held;
}

/* Returns how many slices of the spans are not in the others. */
static int64_t count_new(const struct spans *spans, const struct spans *others)
{
    int64_t n = 0;
    for (int s = 0; s < spans->n; s++)
        for (int64_t z = spans->at[s].first; z < spans->at[s].end; z++) {
            bool found = false;
            for (int i = 0; i < others->n && !found; i++)
                found = z >= others->at[i].first && z < others->at[i].end;
            n += !found;
        }
    return n;
}

struct counting {
    struct ts_plan *plan;
    struct simulation *simulation;
    int64_t z; /* of the slab before */
    struct source_rereads
        *rereads; /* for each node; NULL in a simulation of what consecutive slabs share */
};

static void note_slab(void *user, const struct simulated_slab *slab)
{
    struct counting *counting = user;
    const struct simulation *simulation = counting->simulation;
    const bool follows = slab->z > counting->z; /* in the same pass, on the same device */
    for (int32_t i = 0; i < counting->plan->n_nodes; i++) {
        const struct spans *todo = &slab->steps[i].todo, none = {0};
        note_step(&counting->plan->nodes[i], &slab->steps[i], &simulation->computed[i]);
        simulation->fetched[i] += count_new(todo, follows ? &simulation->before[i] : &none);
        simulation->before[i] = *todo;
    }
    counting->z = slab->z;
}

/* Steps through the whole run without computing. Fills buffer_slices, run_slices and the
 * simulation's counts. */
static void simulate(struct ts_plan *plan, struct simulation *simulation, int64_t slab)
{
    struct counting counting = {plan, simulation, INT64_MAX, NULL};
    for (int32_t i = 0; i < plan->n_nodes; i++)
        simulation->fetched[i] = simulation->computed[i] = plan->nodes[i].buffer_slices =
            plan->nodes[i].run_slices = 0;
    ts_simulation_run(plan, simulation, slab, note_slab, &counting);
}

/* Counts the chunks that sources decode again because they may hold too few slices. */
static void note_rereads(void *user, const struct simulated_slab *slab)
{
    const struct counting *counting = user;
    for (int32_t i = 0; i < counting->plan->n_nodes; i++) {
        const struct spans *todo = &slab->steps[i].todo;
        const int64_t chunk = counting->rereads[i].chunk;
        for (int s = 0; chunk > 0 && s < todo->n; s++)
            counting->simulation->fetched[i] +=
                ((todo->at[s].end + chunk - 1) / chunk - todo->at[s].first / chunk) * chunk;
    }
}

/* Corrects the numbers of slices that sources fetch, once it is known how many they may hold. */
static enum ts_status count_rereads(struct ts_plan *plan, struct simulation *simulation,
                                    int64_t slab, struct ts_diag *diag)
{
    const size_t n = (size_t)plan->n_nodes;
    struct counting counting = {plan, simulation, INT64_MAX, calloc(n, sizeof *counting.rereads)};
    bool again = false;
    if (!counting.rereads)
        return ts_diag_no_memory(diag, n * sizeof *counting.rereads);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct source *reader = ts_plan_reader(&plan->nodes[i]);
        counting.rereads[i].times = 1;
        if (reader && reader->ops->rereads)
            counting.rereads[i] = reader->ops->rereads(reader, ts_plan_read_ahead(plan, i));
        again |= counting.rereads[i].chunk > 0;
        simulation->fetched[i] = counting.rereads[i].chunk > 0 ? 0 : simulation->fetched[i];
    }
    if (again)
        ts_simulation_run(plan, simulation, slab, note_rereads, &counting);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        simulation->fetched[i] *= counting.rereads[i].times;
    free(counting.rereads);
    return TS_OK;
}

/* Returns the bytes of images, padded slabs and scratch, which are in host memory if the CPU
 * computes. */
static size_t image_bytes(const struct ts_plan *plan)
{
    size_t bytes = ts_plan_padded_bytes(plan) + ts_plan_scratch_bytes(plan);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const size_t slices = (size_t)(node->keep ? node->out.axes[0].n : node->buffer_slices),
                     copies = (size_t)ts_plan_copies(plan, i);
        if (node->image_node == i && !ts_plan_lies_in_memory(plan, i))
            bytes += slices * (copies * ts_slice_bytes(&node->out) + ts_valid_bytes(&node->out));
        bytes += ts_plan_saved_bytes(plan, i);
    }
    return bytes;
}

static size_t sink_memory_bytes(const struct sink_format *format,
                                const struct sink_request *request)
{
    return format->memory_bytes ? format->memory_bytes(request) : 0;
}

/* Fills memory_bytes and gpu_bytes for a slab of this size. */
static void count_bytes(struct ts_plan *plan, struct simulation *simulation, int64_t slab)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    struct ts_image images[2 * (CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES)];
    size_t bytes = FIXED_BYTES, device = 0, host = 0;
    simulate(plan, simulation, slab);
    plan->slab_slices = slab;
#ifdef TS_HAVE_CUDA
    if (plan->cuda)
        ts_plan_cuda_bytes(plan, &device, &host);
#endif
    bytes += plan->cuda ? (size_t)plan->n_devices * host : image_bytes(plan);
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const struct source *reader = ts_plan_reader(node);
        if (reader && reader->ops->memory_bytes)
            bytes += reader->ops->memory_bytes(reader, plan->threads, ts_plan_read_ahead(plan, i));
        if (node->chain_stage && !node->reused)
            bytes += (size_t)plan->n_devices *
                     (ts_driver_transforms_bytes(&node->context) +
                      ts_stage_reduced_bytes(&node->context, ts_plan_reduced_slices(plan, i)));
    }
    const int32_t n = ts_plan_outputs(plan, outputs);
    size_t n_images = 0;
    for (int32_t i = 0; i < n; i++) {
        const struct ts_image written = ts_plan_written(plan, outputs[i]),
                              mask = ts_plan_mask(plan, outputs[i]);
        images[n_images++] = ts_plan_with_volumes(plan, outputs[i], &written);
        if (!plan->nodes[outputs[i]].out.masked)
            continue;
        images[n_images++] = ts_plan_with_volumes(plan, outputs[i], &mask);
        bytes += ts_plan_saved_bytes(plan, outputs[i]) + ts_slice_count(&mask);
    }
    for (int32_t i = 0; i < plan->chain->output.n_sinks; i++) {
        const struct sink_request request = ts_plan_sink_request(plan, i);
        bytes += sink_memory_bytes(plan->chain->output.sinks[i].format, &request);
    }
    bytes += ts_plan_received_bytes(plan);
    if (plan->chain->output.path)
        bytes += ts_hdf5_memory_bytes(images, n_images, plan->writer_threads);
    plan->memory_bytes = (int64_t)bytes;
    plan->gpu_bytes = (int64_t)device;
}

static bool fits(struct ts_plan *plan, struct simulation *simulation, int64_t slab)
{
    count_bytes(plan, simulation, slab);
    return plan->memory_bytes <= plan->budget_bytes && plan->gpu_bytes <= plan->gpu_budget_bytes;
}

/* Returns the fewest slices of a slab with which every stage keeps the whole device busy. */
static int64_t least_on_device(const struct ts_plan *plan)
{
    int64_t least = 1;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct stage_context *context = &plan->nodes[i].context;
        const struct stage_cuda *cuda = context->stage->cuda;
        const int64_t slices = cuda && cuda->least_slices ? cuda->least_slices(context) : 1;
        least = slices > least ? slices : least;
    }
    return least;
}

/* Returns the slices of a slab beside which the halo that a stage computes again is little work. */
static int64_t least_for_halo(const struct ts_plan *plan)
{
    enum { HALOS = 4 };
    int64_t least = 1;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct stage_reach reach = ts_stage_reach(&plan->nodes[i].context);
        least = reach.recomputes && HALOS * reach.halo > least ? HALOS * reach.halo : least;
    }
    return least;
}

/* Shortens the slab so that each rank and device gets one. */
static int64_t deal(const struct ts_plan *plan, int64_t slab, int64_t nz)
{
    const int parts = plan->n_ranks * plan->n_devices;
    const int64_t share = (nz + parts - 1) / parts;
    return slab < share ? slab : share;
}

static int64_t slab_bytes(const struct ts_plan *plan)
{
    if (plan->cuda)
        return CUDA_SLAB_BYTES;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        if (plan->nodes[i].context.stage->map || plan->nodes[i].context.stage->reduction)
            return SLAB_BYTES;
    return IDLE_SLAB_BYTES;
}

/* Returns how many slices have slab_bytes() in the largest image: enough for every thread, few
   enough for reading, computing and writing to overlap. Overlap comes before a busy device, since
   reading and writing take far longer than the kernels: a volume is cut into OVERLAP_SLABS slabs,
   but into none below half of what the kernels want. (At a quarter, kernels run at half of their
   speed.) Returns a multiple of `unit`. */
static int64_t preferred_slab(const struct ts_plan *plan, int64_t nz, int64_t unit)
{
    size_t largest = 1;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const size_t bytes = ts_slice_bytes(&plan->nodes[i].out);
        largest = bytes > largest ? bytes : largest;
    }
    int64_t slab = slab_bytes(plan) / (int64_t)largest;
    int64_t least = plan->cuda ? least_on_device(plan) : plan->threads;
    if (plan->cuda && least * OVERLAP_SLABS > nz) {
        const int64_t cut = (nz + OVERLAP_SLABS - 1) / OVERLAP_SLABS, half = (least + 1) / 2;
        least = cut > half ? cut : half;
    }
    slab = slab < least ? least : slab;
    least = least_for_halo(plan);
    slab = slab < least ? least : slab;
    slab = deal(plan, slab, nz);
    return slab > unit ? slab / unit * unit : unit;
}

/* Returns the largest slab, a multiple of the unit and at most `most`, that fits; 0 if not even one
   unit fits. Memory grows with the slab. */
static int64_t largest_slab(struct ts_plan *plan, struct simulation *simulation, int64_t most,
                            int64_t unit)
{
    int64_t found = 0;
    if (fits(plan, simulation, most))
        return most;
    for (int64_t low = 1, high = most / unit - 1; low <= high;) {
        const int64_t middle = low + (high - low) / 2;
        if (fits(plan, simulation, middle * unit)) {
            found = middle * unit;
            low = middle + 1;
        } else {
            high = middle - 1;
        }
    }
    return found;
}

/* Decides to keep each image that would be computed more than once, from the last node backwards.
   Lists the nodes in that order in `kept` and returns how many they are. */
static int32_t choose_keeps(struct ts_plan *plan, struct simulation *simulation, int64_t slab,
                            int32_t *kept)
{
    int32_t n = 0;
    plan->weighing = true;
    simulate(plan, simulation, slab);
    for (int32_t i = plan->n_nodes - 1; i >= 0; i--) {
        struct plan_node *node = &plan->nodes[i];
        if (node->image_node != i || node->keep || simulation->computed[i] <= node->out.axes[0].n)
            continue;
        node->keep = true;
        kept[n++] = i;
        simulate(plan, simulation, slab);
    }
    plan->weighing = false;
    return n;
}

/* Moves the images before a sweep to the front of the list, since images are given up from its end:
   an image before the sweep serves all values, one behind it serves one. */
static void order_keeps(const struct ts_plan *plan, int32_t *kept, int32_t n)
{
    int32_t shared = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t node = kept[i];
        if (plan->nodes[node].value >= 0)
            continue;
        memmove(kept + shared + 1, kept + shared, (size_t)(i - shared) * sizeof *kept);
        kept[shared++] = node;
    }
}

static enum ts_status refuse_budget(const struct ts_plan *plan, struct ts_diag *diag)
{
    const int64_t host = plan->memory_bytes, device = plan->gpu_bytes;
    const bool given = (host <= plan->budget_bytes || plan->budget_given) &&
                       (device <= plan->gpu_budget_bytes || plan->gpu_budget_given);
    const enum ts_status status = given ? TS_BAD_CHAIN : TS_RUN_FAILED;
    if (host > plan->budget_bytes) {
        ts_diag_error(
            diag, status, &(struct diag_site){.code = "memory-budget"},
            "the chain needs at least %.1f MiB of memory, slice by slice; the budget is %.1f MiB",
            ts_mib((double)host), ts_mib((double)plan->budget_bytes));
        ts_diag_hint(diag, "--memory %lldM would do", (long long)host / 1048576 + 1);
    }
    if (device > plan->gpu_budget_bytes) {
        ts_diag_error(diag, status, &(struct diag_site){.code = "gpu-memory-budget"},
                      "the chain needs at least %.1f MiB of GPU memory, slice by slice; the budget "
                      "is %.1f MiB",
                      ts_mib((double)device), ts_mib((double)plan->gpu_budget_bytes));
        if ((size_t)device + (1 << 20) < plan->cuda->memory_bytes)
            ts_diag_hint(diag, "--gpu-memory %lldM would do", (long long)device / 1048576 + 1);
        else
            ts_diag_hint(diag, "device %d (%s) has %.1f MiB; --device cpu would do",
                         plan->cuda->index, plan->cuda->name,
                         ts_mib((double)plan->cuda->memory_bytes));
    }
    return status;
}

/* Returns the fewest slices of a slab for which keeping an image pays: a slice for each thread, or
 * enough to fill a CUDA device. */
static int64_t enough_slices(const struct ts_plan *plan, int64_t most)
{
    enum { CUDA_SLICES = 4 };
    const int64_t enough = plan->cuda ? CUDA_SLICES : plan->threads;
    return enough < most ? enough : most;
}

/* Finds the largest slab while sources hold as much as most scans need, or a quarter of a large
   budget. If no slab fits beside that, sources hold less and read parts of their files several
   times. */
static int64_t largest_slab_with_sources(struct ts_plan *plan, struct simulation *simulation,
                                         int64_t most, int64_t unit)
{
    enum { LEAST_HELD = 1 << 20 };
    size_t held = (size_t)plan->budget_bytes / 4;
    held = held > READ_AHEAD_BYTES ? held : READ_AHEAD_BYTES;
    for (int64_t slab = 0;; held /= 2) {
        held = held < LEAST_HELD ? 0 : held;
        for (int32_t i = 0; i < plan->n_nodes; i++) {
            struct source *reader = ts_plan_reader(&plan->nodes[i]);
            if (reader && reader->ops->may_hold)
                reader->ops->may_hold(reader, held);
        }
        slab = largest_slab(plan, simulation, most, unit);
        if (slab > 0 || held == 0)
            return slab;
    }
}

enum ts_status ts_plan_fit(struct ts_plan *plan, struct ts_diag *diag)
{
    struct simulation simulation;
    int32_t kept[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    if (!ts_simulation_init(&simulation, plan))
        return ts_diag_no_memory(diag, (size_t)plan->n_nodes * sizeof *simulation.steps);
    int64_t nz = 1;
    for (int32_t i = 0; i < plan->n_nodes; i++)
        nz = plan->nodes[i].out.axes[0].n > nz ? plan->nodes[i].out.axes[0].n : nz;
    const int64_t unit = slab_unit(plan), most = preferred_slab(plan, nz, unit);
    const int64_t enough = enough_slices(plan, most);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        plan->nodes[i].keep = ts_plan_lies_in_memory(plan, i);
    int32_t n_kept = choose_keeps(plan, &simulation, most, kept);
    if (plan->value_axis.n > 0)
        order_keeps(plan, kept, n_kept);
    int64_t slab = largest_slab_with_sources(plan, &simulation, most, unit);
    while (slab < enough && n_kept > 0) {
        plan->nodes[kept[--n_kept]].keep = false;
        slab = largest_slab_with_sources(plan, &simulation, most, unit);
    }
    count_bytes(plan, &simulation, slab > 0 ? slab : unit);
    const enum ts_status counted = count_rereads(plan, &simulation, slab > 0 ? slab : unit, diag);
    for (int32_t i = 0; i < plan->n_nodes; i++)
        plan->nodes[i].computed_slices =
            ts_plan_reader(&plan->nodes[i]) ? simulation.fetched[i] : simulation.computed[i];
#ifdef TS_HAVE_CUDA
    if (plan->cuda)
        ts_plan_cuda_transfers(plan, simulation.computed);
#endif
    ts_simulation_clear(&simulation, plan->n_nodes);
    return slab == 0 ? refuse_budget(plan, diag) : counted;
}
