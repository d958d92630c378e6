/* SPDX-License-Identifier: Apache-2.0
 *
 * The run is simulated slab by slab, the work of each part is added up for each pass, and divided
 * by its rate. Work of threads is shared evenly by all of them: their parts run at once, on the
 * same processors, so their times add.
 *
 * Three things are assumed, because no plan knows them: files that are read lie in the page cache;
 * deflate leaves the shares that ratio_of() states; and stages are as fast with these parameters as
 * with the benchmark's.
 */
#include "pipeline/plan/predict.h"

#include <math.h>
#include <string.h>

#include "pipeline/plan/plan_reuse.h"
#include "pipeline/plan/simulation.h"

/* The writer has the kernel write windows of this size as it goes, so at most one is left for the
   last fsync. */
enum { SYNC_BYTES = 32 << 20 };

static const struct {
    const char *name, *bound;
    enum predict_lane lane, cuda_lane;
} parts[PREDICT_PARTS] = {
    [PREDICT_START] = {"start", "the start", LANE_ALONE, LANE_ALONE},
    [PREDICT_FETCH] = {"fetch", "the file system's reading", LANE_SOURCE, LANE_SOURCE},
    [PREDICT_READ] = {"read", "reading", LANE_THREADS, LANE_THREADS},
    [PREDICT_DECODE] = {"decode", "decoding", LANE_THREADS, LANE_THREADS},
    [PREDICT_UPLOAD] = {"upload", "the upload", LANE_UPLOAD, LANE_UPLOAD},
    [PREDICT_STAGES] = {"stages", "the stages", LANE_THREADS, LANE_DEVICE},
    [PREDICT_COMPRESS] = {"compress", "compressing", LANE_THREADS, LANE_DEVICE},
    [PREDICT_DOWNLOAD] = {"download", "the download", LANE_DOWNLOAD, LANE_DOWNLOAD},
    [PREDICT_GATHER] = {"gather", "the gathering of slices by rank 0", LANE_GATHER, LANE_GATHER},
    [PREDICT_DIGEST] = {"digest", "digests", LANE_THREADS, LANE_THREADS},
    [PREDICT_PROVE] = {"prove", "proving chunks", LANE_THREADS, LANE_THREADS},
    [PREDICT_STORE] = {"store", "storing", LANE_THREADS, LANE_THREADS},
    [PREDICT_WRITE] = {"write", "writing", LANE_DISK, LANE_DISK},
    [PREDICT_SYNC] = {"sync", "the last fsync", LANE_ALONE, LANE_ALONE},
};

/* The seconds of each part in one pass; node_seconds divides those of the stages among the
   nodes. */
struct pass {
    double seconds[PREDICT_PARTS];
    int64_t slabs;
};

struct prediction_run {
    const struct ts_plan *plan;
    const struct rates *rates;
    const struct predict_links *links;
    struct prediction *prediction;
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    int32_t n_outputs;
    int rank; /* the rank whose slabs are added now */
    int64_t volume;
    /* For each pass: the work of this rank in this volume, that of the slowest rank so far, and
       that of the whole run. */
    struct pass *own, *slowest, *passes;
    int64_t digested[CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES]; /* per source, the slices whose digest
                                                               was made: each is made once */
};

static enum predict_lane lane_of(const struct ts_plan *plan, int part)
{
    return plan->cuda ? parts[part].cuda_lane : parts[part].lane;
}

const char *ts_predict_part_name(enum predict_part part)
{
    return parts[part].name;
}

/* Returns the share of the bytes of such values that deflate is assumed to leave. */
static double ratio_of(enum ts_dtype dtype)
{
    if (dtype == TS_F32 || dtype == TS_F16)
        return 0.75;
    return ts_dtype_bytes(dtype) == 2 ? 0.4 : 0.5;
}

/* ---- the work of a slab ---------------------------------------------------------------------- */

static void predict_add(struct prediction_run *run, struct pass *pass, enum predict_part part,
                        double bytes, double seconds)
{
    pass->seconds[part] += seconds;
    run->prediction->parts[part].bytes += bytes;
}

/* Adds work that so many threads share. */
static void add_threads(struct prediction_run *run, struct pass *pass, enum predict_part part,
                        double bytes, enum rate rate, int threads)
{
    predict_add(run, pass, part, bytes, bytes / run->rates->values[rate] / threads);
}

static void add_read(struct prediction_run *run, int pass, int32_t node, int64_t n)
{
    const struct plan_node *source = &run->plan->nodes[node];
    const struct source *reader = ts_plan_reader(source);
    const double bytes = (double)n * (double)ts_slice_bytes(&source->out);
    const int threads = run->plan->threads;
    struct pass *own = &run->own[pass];
    const double stored =
        reader->coding == SOURCE_STORED ? bytes : bytes * ratio_of(source->out.dtype);
    if (isfinite(run->links->read))
        predict_add(run, &run->passes[pass], PREDICT_FETCH, stored, stored / run->links->read);
    add_threads(run, own, PREDICT_READ, bytes, RATE_READ, threads);
    if (run->digested[node] <
        source->out.axes[0].n * (source->by_volume ? run->plan->n_volumes : 1))
        add_threads(run, own, PREDICT_DIGEST, bytes, RATE_DIGEST, threads);
    run->digested[node] += n;
    if (reader->coding != SOURCE_STORED)
        add_threads(run, own, PREDICT_DECODE, bytes,
                    reader->coding == SOURCE_ENCODED ? RATE_DECODE : RATE_INFLATE, threads);
    if (run->plan->cuda)
        predict_add(run, own, PREDICT_UPLOAD, bytes, bytes / run->rates->values[RATE_UPLOAD]);
}

/* Adds calls of a stage that map and reduce these shares of its whole image. */
static void add_stage(struct prediction_run *run, int pass, int32_t node, double mapped,
                      double reduced, int calls)
{
    const struct ts_plan *plan = run->plan;
    const struct stage_context *context = &plan->nodes[node].context;
    const bool cuda = plan->cuda != NULL;
    const struct stage_rate *rate = ts_rates_find(run->rates, context->stage->name, cuda);
    const double bytes = ts_stage_work_bytes(context, mapped, reduced),
                 samples = ts_stage_work_samples(context);
    double seconds;
    if (bytes <= 0)
        return;
    if (rate && (!rate->samples || !isnan(samples))) {
        seconds = (rate->samples ? mapped * samples : bytes) / rate->per_second;
    } else {
        run->prediction->no_rate_of = plan->nodes[node].label;
        seconds = bytes / (cuda ? PREDICT_CUDA_BYTES_A_SECOND : PREDICT_BYTES_A_SECOND);
    }
    if (!cuda)
        seconds *= (double)run->rates->threads / plan->threads;
    seconds += rate ? calls * rate->call_seconds : 0;
    run->prediction->stage_seconds[node] += seconds / plan->n_ranks;
    predict_add(run, &run->own[pass], PREDICT_STAGES, bytes, seconds);
}

static int64_t slices_of(const struct spans *spans)
{
    int64_t n = 0;
    for (int i = 0; i < spans->n; i++)
        n += spans->at[i].end - spans->at[i].first;
    return n;
}

/* Adds the reductions over volumes that this slab serves, and those of its slices for tables. */
static void add_reductions(struct prediction_run *run, const struct simulated_slab *slab, int32_t i)
{
    const struct ts_plan *plan = run->plan;
    const struct plan_node *node = &plan->nodes[i];
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const int32_t from = node->inputs[input];
        int64_t first = slab->z, end = slab->z + slab->n;
        if (from < 0 || plan->nodes[from].domain != slab->domain ||
            !ts_plan_reduces(plan, slab->pass, i, input) ||
            !ts_plan_looks_at(plan, i, input, &first, &end))
            continue;
        const double all = (double)plan->nodes[from].out.axes[0].n * node->rounds;
        add_stage(run, slab->pass, i, 0, (double)(end - first) / all, 1);
    }
    if (node->domain == slab->domain && ts_plan_tabulates(plan, slab->pass, i))
        add_stage(run, slab->pass, i, 0, (double)slab->n / (double)node->context.in.axes[0].n, 1);
}

/* Adds the transfer of an output's bytes to rank 0, except the share that rank 0 has computed
   itself. */
static void add_gather(struct prediction_run *run, struct pass *pass, double bytes)
{
    const struct predict_links *links = run->links;
    const double each = bytes / run->plan->n_ranks;
    if (run->plan->n_ranks > 1)
        predict_add(run, pass, PREDICT_GATHER, bytes - each,
                    (links->on_node - 1) * each / links->exchange +
                        (run->plan->n_ranks - links->on_node) * each / links->network);
}

/* Returns how many bytes of a slab's output are in chunks that the rank or its device compresses
   itself. Each volume has equally many. */
static double whole_bytes(const struct ts_plan *plan, const struct simulated_slab *slab,
                          int32_t node, double bytes)
{
    const struct ts_image image = ts_plan_written(plan, node);
    struct plan_chunks chunks;
    int64_t first;
    if (ts_plan_encodes(plan))
        return bytes;
    if (!ts_plan_chunks(plan, node, &chunks))
        return 0;
    const int64_t n =
        ts_plan_whole_chunks(&chunks, ts_slice_bytes(&image), slab->z, slab->n, &first);
    return (double)n * (double)chunks.grid.chunk_bytes;
}

/* Adds what is done with a slab of an output. A device compresses for its own rank, and so does a
   rank of the CPU that compresses its chunks; rank 0 writes for all. */
static void add_output(struct prediction_run *run, const struct simulated_slab *slab, int32_t node)
{
    const struct ts_plan *plan = run->plan;
    const struct ts_image image = ts_plan_written(plan, node);
    const bool stored = plan->chain->output.compression == CHAIN_STORED;
    const double bytes = (double)slab->n * (double)ts_slice_bytes(&image),
                 whole = whole_bytes(plan, slab, node, bytes),
                 ratio = stored ? 1 : ratio_of(image.dtype), left = bytes * ratio,
                 moved = bytes - whole + whole * ratio,
                 by_rank = plan->cuda || slab->rank > 0 ? whole : 0;
    /* `small` takes about four times as long: 190 and 45 GB/s on an H200, 0.36 and 0.12 GB/s in a
     * thread. */
    const double effort = plan->chain->output.compression == CHAIN_SMALL ? 4 : 1,
                 rate = run->rates->values[stored ? RATE_CHECKSUM : RATE_COMPRESS];
    struct pass *own = &run->own[slab->pass], *pass = &run->passes[slab->pass];
    predict_add(run, own, PREDICT_COMPRESS, by_rank,
                effort * by_rank /
                    (plan->cuda ? run->rates->values[RATE_CUDA_COMPRESS] : plan->threads * rate));
    predict_add(run, pass, PREDICT_COMPRESS, bytes - by_rank,
                effort * (bytes - by_rank) / (plan->writer_threads * rate));
    if (plan->cuda)
        predict_add(run, own, PREDICT_DOWNLOAD, moved, moved / run->rates->values[RATE_DOWNLOAD]);
    add_gather(run, pass, moved);
    if (!stored)
        add_threads(run, pass, PREDICT_PROVE, bytes, RATE_PROVE, plan->writer_threads);
    /* Both the values and the file's bytes get a digest. */
    add_threads(run, pass, PREDICT_DIGEST, bytes + left, RATE_DIGEST, plan->writer_threads);
    add_threads(run, pass, PREDICT_STORE, left, RATE_STORE, plan->writer_threads);
    predict_add(run, pass, PREDICT_WRITE, left, left / run->rates->values[RATE_WRITE]);
}

/* Keeps the times of the slowest rank for each pass and part, and clears those of this rank for the
   next one. */
static void end_rank(struct prediction_run *run)
{
    for (int i = 0; i < run->plan->n_passes; i++) {
        struct pass *own = &run->own[i], *slowest = &run->slowest[i];
        for (int part = 0; part < PREDICT_PARTS; part++) {
            const double crowd = lane_of(run->plan, part) == LANE_THREADS ? run->links->crowd : 1;
            slowest->seconds[part] = fmax(slowest->seconds[part], crowd * own->seconds[part]);
        }
        slowest->slabs = own->slabs > slowest->slabs ? own->slabs : slowest->slabs;
        *own = (struct pass){.slabs = 0};
    }
}

static void end_volume(struct prediction_run *run)
{
    end_rank(run);
    run->rank = 0;
    for (int i = 0; i < run->plan->n_passes; i++) {
        for (int part = 0; part < PREDICT_PARTS; part++)
            run->passes[i].seconds[part] += run->slowest[i].seconds[part];
        run->passes[i].slabs += run->slowest[i].slabs;
        run->slowest[i] = (struct pass){.slabs = 0};
    }
}

static void add_slab(void *user, const struct simulated_slab *slab)
{
    struct prediction_run *run = user;
    const struct ts_plan *plan = run->plan;
    if (slab->rank != run->rank)
        end_rank(run);
    run->rank = slab->rank;
    run->own[slab->pass].slabs++;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const int64_t n = slices_of(&slab->steps[i].todo);
        if (ts_plan_reader(node)) {
            add_read(run, slab->pass, i, n);
            continue;
        }
        const double share = (double)n / (double)node->out.axes[0].n;
        const bool by_slice = node->context.stage->map && ts_stage_reduces_slices(&node->context);
        if (node->image_node == i)
            add_stage(run, slab->pass, i, share, by_slice ? share : 0, slab->steps[i].todo.n);
        add_reductions(run, slab, i);
    }
    for (int32_t i = 0; i < run->n_outputs; i++)
        for (int32_t k = run->outputs[i]; k < plan->n_nodes; k++)
            if (plan->nodes[k].leader == run->outputs[i] && plan->nodes[k].domain == slab->domain &&
                ts_plan_writes(plan, slab->pass, k) &&
                (run->volume == 0 || plan->nodes[k].by_volume))
                add_output(run, slab, k);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Adds a pass to the total, and the time of its busiest lane to that lane. */
static void add_pass(const struct prediction_run *run, const struct pass *pass,
                     double lane_bounds[PREDICT_LANES])
{
    double lanes[PREDICT_LANES] = {0}, others = 0;
    int busiest = LANE_THREADS;
    for (int i = 0; i < PREDICT_PARTS; i++)
        lanes[lane_of(run->plan, i)] += pass->seconds[i];
    for (int i = LANE_THREADS; i < PREDICT_LANES; i++)
        busiest = lanes[i] > lanes[busiest] ? i : busiest;
    for (int i = LANE_THREADS; i < PREDICT_LANES; i++)
        others += i == busiest ? 0 : lanes[i];
    lane_bounds[busiest] += lanes[busiest];
    run->prediction->seconds +=
        lanes[busiest] + (pass->slabs > 0 ? others / (double)pass->slabs : 0);
}

static void add_ends(struct prediction_run *run)
{
    const struct ts_plan *plan = run->plan;
    const double *rates = run->rates->values;
    struct prediction *prediction = run->prediction;
    double start = rates[RATE_START] + (plan->n_ranks > 1 ? run->links->launch_seconds : 0);
    for (int32_t i = 0; i < plan->n_sources; i++)
        start += (double)plan->nodes[i].source->n_files * rates[RATE_OPEN];
    if (plan->cuda)
        start += rates[RATE_CUDA_START];
    /* `auto` has asked for devices, and taken the CPU */
    else if (plan->cuda_driver && *run->rates->device)
        start += rates[RATE_CUDA_QUERY];
    prediction->parts[PREDICT_START].seconds = start;
    const double left = prediction->parts[PREDICT_WRITE].bytes;
    prediction->parts[PREDICT_SYNC].seconds = fmin(left, SYNC_BYTES) / rates[RATE_WRITE];
    prediction->seconds += start + prediction->parts[PREDICT_SYNC].seconds;
}

static void join_passes(struct prediction_run *run)
{
    struct prediction *prediction = run->prediction;
    double bounds[PREDICT_LANES] = {0};
    for (int pass = 0; pass < run->plan->n_passes; pass++) {
        const double before = prediction->seconds;
        add_pass(run, &run->passes[pass], bounds);
        prediction->pass_seconds[pass] = prediction->seconds - before;
        for (int part = 0; part < PREDICT_PARTS; part++)
            prediction->parts[part].seconds += run->passes[pass].seconds[part];
    }
    add_ends(run);
    bounds[LANE_ALONE] = prediction->parts[PREDICT_START].seconds;
    for (int lane = 0; lane < PREDICT_LANES; lane++)
        if (bounds[lane] > bounds[prediction->bound])
            prediction->bound = (enum predict_lane)lane;
    prediction->bound_seconds = bounds[prediction->bound];
    double bytes = 0;
    for (int32_t i = 0; i < run->n_outputs; i++) {
        const struct ts_image image = ts_plan_written(run->plan, run->outputs[i]);
        const struct ts_axis *stack = ts_plan_stack_axis(run->plan, run->outputs[i]);
        bytes += (double)ts_image_bytes(&image) * (stack ? (double)stack->n : 1);
    }
    prediction->ratio = bytes > 0 ? prediction->parts[PREDICT_WRITE].bytes / bytes : 1;
}

/* Takes zeroed memory for the times of all stages and passes. Returns false if memory is out. */
static bool take_memory(struct prediction_run *run)
{
    const struct ts_plan *plan = run->plan;
    const size_t bytes = (size_t)plan->n_passes * sizeof *run->passes;
    run->prediction->stage_seconds =
        ts_arena_alloc(plan->arena, (size_t)plan->n_nodes * sizeof(double));
    run->prediction->pass_seconds =
        ts_arena_alloc(plan->arena, ((size_t)plan->n_passes + 1) * sizeof(double));
    run->own = ts_arena_alloc(plan->arena, bytes);
    run->slowest = ts_arena_alloc(plan->arena, bytes);
    run->passes = ts_arena_alloc(plan->arena, bytes);
    return run->prediction->stage_seconds && run->prediction->pass_seconds && run->own &&
           run->slowest && run->passes;
}

enum ts_status ts_predict(const struct ts_plan *plan, const struct rates *rates,
                          const struct predict_links *links, struct prediction *prediction,
                          struct ts_diag *diag)
{
    static const struct predict_links free_links = {1, 1, 0, INFINITY, INFINITY, INFINITY};
    struct prediction_run run = {.plan = plan,
                                 .rates = rates,
                                 .links = links ? links : &free_links,
                                 .prediction = prediction};
    struct simulation simulation;
    *prediction = (struct prediction){.bound = LANE_ALONE};
    if (plan->n_devices > 1)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "rates-devices"},
                             "the kept rates are of one device, and this run takes %d",
                             plan->n_devices);
    if (plan->cuda && strcmp(plan->cuda->name, rates->device) != 0)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "rates-foreign"},
                             *rates->device
                                 ? "the kept rates are of the device %s, and this one is %s"
                                 : "the kept rates are of no device%s, and this run takes %s",
                             rates->device, plan->cuda->name);
    run.n_outputs = ts_plan_outputs(plan, run.outputs);
    if (!take_memory(&run) || !ts_simulation_init(&simulation, plan))
        return ts_diag_no_memory(diag, (size_t)plan->n_nodes * sizeof(double));
    for (; run.volume < plan->n_volumes; run.volume++) {
        ts_simulation_run(plan, &simulation, plan->slab_slices, add_slab, &run);
        end_volume(&run);
    }
    ts_simulation_clear(&simulation, plan->n_nodes);
    join_passes(&run);
    return TS_OK;
}

/* Returns the longest of the parts that share a lane. */
static int longest_part(const struct ts_plan *plan, const struct prediction *prediction,
                        enum predict_lane lane)
{
    int longest = -1;
    for (int i = 0; i < PREDICT_PARTS; i++)
        if (lane_of(plan, i) == lane &&
            (longest < 0 || prediction->parts[i].seconds > prediction->parts[longest].seconds))
            longest = i;
    return longest;
}

void ts_predict_bound_text(const struct ts_plan *plan, const struct prediction *prediction,
                           char *text, size_t size)
{
    const int longest = longest_part(plan, prediction, prediction->bound);
    const double seconds = prediction->parts[longest].seconds;
    if (prediction->bound == LANE_THREADS && plan->n_ranks > 1)
        snprintf(text, size,
                 "bound by the processors of rank 0's node (%.2f s, of which %s take %.2f s)",
                 prediction->bound_seconds, parts[longest].name, seconds);
    else if (prediction->bound == LANE_THREADS)
        snprintf(text, size, "bound by the %s (%.2f s, of which %s take %.2f s)",
                 plan->threads == 1 ? "thread" : "threads", prediction->bound_seconds,
                 parts[longest].name, seconds);
    else if (prediction->bound == LANE_DEVICE)
        snprintf(text, size, "bound by the device (%.2f s, of which %s take %.2f s)",
                 prediction->bound_seconds, parts[longest].name, seconds);
    else
        snprintf(text, size, "bound by %s (%.2f s)",
                 prediction->bound == LANE_ALONE ? parts[PREDICT_START].bound
                                                 : parts[longest].bound,
                 prediction->bound_seconds);
}
