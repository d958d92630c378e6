/* SPDX-License-Identifier: Apache-2.0
 *
 * Several ranks in one run. Slabs are dealt out to them in turn. In each round every rank computes
 * a slab, all meet, and rank 0 gets their slices of outputs, which it writes in rising z; totals
 * are joined when a pass ends. So the writer gets what it would get from one process. On the CPU no
 * rank holds back slabs; slabs of devices are written some rounds later (rounds_behind).
 *
 * Halos are not exchanged. Each rank reads and computes those of its slabs, as one process does
 * that does not keep the images whole.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "io/source/source_slices.h"
#ifdef TS_HAVE_CUDA
#include "cuda/device/driver.h"
#endif
#include "pipeline/fleet/devices.h"
#include "pipeline/plan/plan_reuse.h"

/* ---- a failure ------------------------------------------------------------------------------- */

static void fleet_name_rank(const struct run *run)
{
    const struct ts_plan *plan = run->plan;
    bool failed = false;
    for (size_t i = 0; i < ts_diag_count(run->diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(run->diag, i);
        failed |= record->severity == TS_ERROR && !strncmp(record->code, "cuda-", 5);
    }
    if (failed && plan->n_ranks > 1)
        ts_diag_note(run->diag, &(struct diag_site){.code = "ranks-device"},
                     "this is rank %d of %d, on %s (%s)", plan->rank, plan->n_ranks, plan->device,
                     plan->cuda ? plan->cuda->name : "");
}

/* ---- plans ------------------------------------------------------------------------------------*/

static uint64_t add_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * 0x100000001B3; /* FNV-1a */
    return hash;
}

/* Adds to the hash what a source knows of its slices before it has read their pixels. */
static uint64_t add_source(uint64_t hash, const struct source *source)
{
    const int64_t n = ts_source_number(source, ts_source_total(source) - 1) + 1;
    for (int64_t i = 0; i < n; i++) {
        const struct source_slice *slice = &source->slices[i];
        const double numbers[] = {slice->slope, slice->intercept, slice->states_padding};
        hash = add_bytes(hash, numbers, sizeof numbers);
        hash = add_bytes(hash, slice->position_mm, sizeof slice->position_mm);
    }
    return hash;
}

static uint64_t add_node(uint64_t hash, const struct plan_node *node)
{
    const int64_t numbers[] = {node->keep,      node->level,      node->first_pass,
                               node->rounds,    node->domain,     node->axes_pass,
                               node->by_volume, node->image_node, node->out.dtype};
    char grid[SOURCE_GRID_BYTES];
    ts_source_grid_text(&node->out, grid);
    hash = add_bytes(hash, numbers, sizeof numbers);
    for (int d = 0; d < node->out.rank; d++)
        if (node->out.axes[d].positions)
            hash = add_bytes(hash, node->out.axes[d].positions,
                             (size_t)node->out.axes[d].n * sizeof *node->out.axes[d].positions);
    if (node->source)
        hash = add_source(hash, node->source);
    return add_bytes(hash, grid, strlen(grid));
}

/* Refuses a run whose ranks have made different plans (code ranks-differ). Each rank has read the
   headers of its own inputs, so their slices and axes are compared too. Pixels are compared when
   the run ends. */
static enum ts_status fleet_compare_plans(const struct ts_plan *plan, struct ts_diag *diag)
{
    const int64_t numbers[] = {plan->n_passes, plan->n_volumes,    plan->slab_slices,
                               plan->n_nodes,  plan->cuda != NULL, plan->n_devices};
    uint64_t hash = add_bytes(0xCBF29CE484222325, numbers, sizeof numbers);
    char *chain = ts_chain_canonical(plan->chain);
    if (chain)
        hash = add_bytes(hash, chain, strlen(chain));
    free(chain);
    if (plan->chain->output.path)
        hash = add_bytes(hash, plan->chain->output.path, strlen(plan->chain->output.path));
    for (int32_t i = 0; i < plan->n_nodes; i++)
        hash = add_node(hash, &plan->nodes[i]);
    /* All are equal if the least is the greatest. */
    const int64_t mine = (int64_t)(hash >> 1);
    int64_t least[] = {mine, -mine};
    const enum ts_status status = ts_ranks_least(TS_OK, least);
    if (status != TS_OK || plan->n_ranks == 1 || least[0] == -least[1])
        return status;
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-differ"},
                  "the %d ranks do not see the same input or chain, and have made different plans",
                  plan->n_ranks);
    return ts_diag_hint(diag, "the inputs must be the same on every machine");
}

/* ---- totals ---------------------------------------------------------------------------------- */

static struct stage_reduced *reduced_of(const struct run *run, int32_t node)
{
    return run->nodes[node].driver->reduced;
}

/* Returns the bytes of the 64-bit counts that make up the total, if a device ends the reduction
   itself; else 0. */
static size_t counts_bytes(const struct run *run, int32_t node, int input)
{
#ifdef TS_HAVE_CUDA
    if (run->plan->cuda)
        return ts_cuda_driver_counts(run->nodes[node].driver, input);
#endif
    (void)run;
    (void)node;
    (void)input;
    return 0;
}

static size_t total_bytes(const struct run *run, int32_t node, int input)
{
    const size_t counts = counts_bytes(run, node, input);
    return counts > 0 ? counts : ts_stage_reduced_sum_bytes(reduced_of(run, node), input);
}

static void send_total(const struct stage_reduced *reduced, int input, size_t bytes)
{
    const void *total = ts_stage_reduced_sum(reduced, input);
    const bool begun = total != NULL;
    ts_ranks_send(0, &begun, sizeof begun);
    if (begun)
        ts_ranks_send(0, total, bytes);
}

/* Adds counts to `to`: the total of this rank, if it has one. */
static void join_counts(struct stage_reduced *reduced, int input, const uint64_t *counts,
                        size_t bytes)
{
    const bool begun = ts_stage_reduced_sum(reduced, input) != NULL;
    uint64_t *total = ts_stage_reduced_total(reduced, input);
    for (size_t i = 0; i < bytes / sizeof *total; i++)
        total[i] = begun ? total[i] + counts[i] : counts[i];
}

/* Rank 0 joins the totals of the others to its own. Each rank has reduced every n-th slab, so the
   bytes are those of one process only if totals can be merged in any grouping: as on CUDA devices
   (cuda_reduction.reduce), and in exact reductions of the CPU, which today are all. Float sums
   would have to go from rank to rank in rising z. */
static void join_all(struct run *run, int32_t node, int input, size_t bytes)
{
    struct stage_reduced *reduced = reduced_of(run, node);
    assert(run->plan->cuda || run->plan->nodes[node].context.stage->reduction->exact);
    if (run->plan->rank > 0)
        send_total(reduced, input, bytes);
    for (int from = 1; run->plan->rank == 0 && from < run->plan->n_ranks; from++) {
        void *total = ts_stage_reduced_spare(reduced);
        bool begun;
        ts_ranks_receive(from, &begun, sizeof begun);
        if (!begun)
            continue;
        ts_ranks_receive(from, total, bytes);
        if (counts_bytes(run, node, input) > 0)
            join_counts(reduced, input, total, bytes);
        else
            ts_stage_reduced_join(reduced, input, total);
    }
}

/* Copies the total of device 0 to every other device of this rank. */
static void spread(struct run *run, int32_t node, int input, size_t bytes)
{
    const void *total = ts_stage_reduced_sum(run->devices[0].nodes[node].driver->reduced, input);
    for (int device = 1; total && device < run->plan->n_devices; device++)
        memcpy(ts_stage_reduced_total(run->devices[device].nodes[node].driver->reduced, input),
               total, bytes);
}

/* Hands device 0 an input's total on the host. */
static enum ts_status collect_total(struct run *run, int32_t node, int input)
{
    int *holder = &run->results[node].totals[input];
    if (run->plan->n_ranks == 1 || !run->back_end->collect || *holder < 0)
        return TS_OK;
    enum ts_status status = ts_devices_use(run, *holder);
    if (status == TS_OK)
        status = run->back_end->collect(run, node, input);
    const size_t bytes = total_bytes(run, node, input);
    struct stage_reduced *first = run->devices[0].nodes[node].driver->reduced,
                         *own = reduced_of(run, node);
    const void *total = ts_stage_reduced_sum(own, input);
    if (status == TS_OK && total && own != first)
        memcpy(ts_stage_reduced_total(first, input), total, bytes);
    *holder = -1;
    const enum ts_status back = ts_devices_use(run, 0);
    return status == TS_OK ? back : status;
}

/* Gives every rank the total of all ranks. */
static void join_total(struct run *run, int32_t node, int input)
{
    struct stage_reduced *reduced = reduced_of(run, node);
    if (run->plan->n_ranks == 1)
        return;
    const size_t bytes = total_bytes(run, node, input);
    join_all(run, node, input, bytes);
    bool begun = ts_stage_reduced_sum(reduced, input) != NULL;
    ts_ranks_share(&begun, sizeof begun);
    if (begun)
        ts_ranks_share(ts_stage_reduced_total(reduced, input), bytes);
    else
        ts_stage_reduced_forget(reduced, input);
    spread(run, node, input, bytes);
}

/* While totals are joined, no rank can fail unless all do. */
static enum ts_status fleet_join_totals(struct run *run, const unsigned *ends)
{
    const struct ts_plan *plan = run->plan;
    enum ts_status status = TS_OK;
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++)
        for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++)
            if (ends[i] >> input & 1)
                status = collect_total(run, i, input);
    status = ts_ranks_agree(status);
    for (int32_t i = plan->n_sources; status == TS_OK && i < plan->n_nodes; i++)
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (ends[i] >> input & 1)
                join_total(run, i, input);
    return status;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* What a rank sends to rank 0 before the slices or chunks of an output. */
struct message {
    int64_t z_first, slices, chunks;
    uint64_t bytes;
    /* last: nothing follows; failed: the rank has failed, and nothing follows */
    int32_t last, failed;
    struct run_chunk places[RUN_CHUNKS];
};

static void send_part(struct run *run, const struct message *message, const void *data)
{
    ts_ranks_send(0, message, sizeof *message);
    if (message->bytes > 0)
        ts_ranks_send(0, data, message->bytes);
    run->owed -= message->last;
}

static enum ts_status fleet_hand_slices(struct run *run, int32_t node,
                                        const struct ts_image *slices, bool last)
{
    const struct message message = {.z_first = slices->z_first,
                                    .slices = slices->axes[0].n,
                                    .bytes = ts_image_bytes(slices),
                                    .last = last};
    if (run->plan->rank == 0)
        return ts_run_put(run, node, slices);
    send_part(run, &message, slices->data);
    return TS_OK;
}

static enum ts_status fleet_hand_chunks(struct run *run, int32_t node,
                                        const struct run_chunk *chunks, int64_t n,
                                        const unsigned char *data, bool last)
{
    if (run->plan->rank == 0)
        return ts_run_put_chunks(run, node, chunks, n, data);
    struct message message = {
        .chunks = n, .bytes = chunks[n - 1].offset + chunks[n - 1].bytes, .last = last};
    memcpy(message.places, chunks, (size_t)n * sizeof *chunks);
    send_part(run, &message, data);
    return TS_OK;
}

/* Tells rank 0 that this rank has failed, in place of what it still has to send. */
static void send_failure(struct run *run)
{
    while (run->owed > 0)
        send_part(run, &(struct message){.last = true, .failed = true}, NULL);
}

/* Receives the slab of an output from another rank and, if `status` is TS_OK, hands it to the
   outputs. Returns their status; the other rank reports its own failure. `slices` describes the
   slab. */
static enum ts_status receive(struct run *run, int from, int32_t node,
                              const struct ts_image *slices, enum ts_status status)
{
    struct message message = {0};
    struct ts_image part = *slices;
    part.data = run->received;
    part.dtype = ts_plan_leaves_rounded(run->plan, node) ? TS_F16 : part.dtype;
    while (!message.last) {
        ts_ranks_receive(from, &message, sizeof message);
        if (message.bytes > 0)
            ts_ranks_receive(from, run->received, message.bytes);
        run->lost |= message.failed;
        part.axes[0].n = message.slices;
        part.z_first = message.z_first;
        if (status == TS_OK && !run->lost && message.chunks > 0)
            status = ts_run_put_chunks(run, node, message.places, message.chunks, run->received);
        else if (status == TS_OK && !run->lost)
            status = ts_run_put(run, node, &part);
    }
    return status;
}

/* ---- outputs of the CPU -------------------------------------------------------------------- */

/* A rank of the CPU compresses the chunks that are whole in its slab, all at once, before rank 0
   asks for the first, so that ranks compress at the same time. It sends the slices before and
   behind them as values. If the file holds halves, the rank rounds its slab first. The bytes are
   those that the writer would make. */

/* The chunks [first, end) of a grid, encoded one after the other in `data`. */
struct encoded {
    int64_t first, end;
    struct run_chunk *chunks;
    unsigned char *data;
};

/* Rounds the slices, at the beginning of run->received, to halves, and keeps the largest magnitude
   that halves cannot hold. */
static void round_slices(struct run *run, int32_t node, struct ts_image *slices)
{
    const int64_t n = slices->axes[0].n;
    const size_t values = ts_image_count(slices) / (size_t)n;
    const float *from = slices->data;
    uint16_t *to = run->received;
    float largest = run->results[node].largest;
#pragma omp parallel for num_threads(run->plan->threads) reduction(max : largest)
    for (int64_t z = 0; z < n; z++)
        largest = fmaxf(largest,
                        ts_half_round(to + (size_t)z * values, from + (size_t)z * values, values));
    run->results[node].largest = largest;
    slices->dtype = TS_F16;
    slices->data = to;
}

/* Encodes chunk `first + i` to place i; each place has `bound` bytes. Returns false if memory is
   out. */
static bool encode_all(const struct run *run, const struct plan_chunks *plan,
                       const unsigned char *values, const struct encoded *encoded)
{
    const size_t bytes = plan->grid.chunk_bytes;
    const int64_t n = encoded->end - encoded->first;
    int64_t n_failed = 0;
#pragma omp parallel num_threads(run->plan->threads) reduction(+ : n_failed)
    {
        struct chunk_coder *coder = ts_chunk_coder_create();
#pragma omp for schedule(dynamic, 1)
        for (int64_t i = 0; i < n; i++) {
            unsigned char *to = encoded->data + (size_t)i * plan->bound;
            struct run_chunk *chunk = &encoded->chunks[i];
            chunk->offset = (uint64_t)i * plan->bound;
            chunk->bytes = coder
                               ? ts_chunk_encode(coder, &plan->filters, values + (size_t)i * bytes,
                                                 bytes, to, plan->bound)
                               : 0;
            n_failed += chunk->bytes == 0;
        }
        ts_chunk_coder_destroy(coder);
    }
    return n_failed == 0;
}

/* Hands the chunks over, RUN_CHUNKS at once, and closes the gaps between them. */
static enum ts_status hand_all(struct run *run, int32_t node, const struct encoded *encoded,
                               bool last)
{
    unsigned char *data = encoded->data;
    const int64_t n = encoded->end - encoded->first;
    enum ts_status status = TS_OK;
    for (int64_t done = 0, some; status == TS_OK && done < n; done += some) {
        struct run_chunk *chunks = encoded->chunks + done;
        uint64_t bytes = 0;
        some = n - done < RUN_CHUNKS ? n - done : RUN_CHUNKS;
        for (int64_t i = 0; i < some; i++) {
            memmove(data + bytes, data + chunks[i].offset, chunks[i].bytes);
            chunks[i].offset = bytes;
            bytes += chunks[i].bytes;
        }
        status = fleet_hand_chunks(run, node, chunks, some, data, last && done + some == n);
    }
    return status;
}

/* Hands slices [z, end) over as values, if there are any. */
static enum ts_status hand_values(struct run *run, int32_t node, const struct ts_image *slices,
                                  int64_t z, int64_t end, bool last)
{
    const struct ts_image some =
        z < end ? ts_image_slices(slices, z - slices->z_first, end - z) : *slices;
    return z < end ? fleet_hand_slices(run, node, &some, last) : TS_OK;
}

/* Hands over the slab of an output, which is in host memory. A rank other than 0 first rounds it to
   halves, if the file holds halves, and compresses its whole chunks. */
static enum ts_status fleet_hand_output(struct run *run, int32_t node,
                                        const struct ts_image *computed)
{
    struct plan_chunks plan;
    struct ts_image written = *computed, *slices = &written;
    struct encoded encoded = {.data = run->received};
    if (run->plan->rank == 0)
        return ts_run_put(run, node, computed);
    if (ts_plan_leaves_rounded(run->plan, node)) {
        round_slices(run, node, slices);
        encoded.data += ts_image_bytes(slices);
    }
    const int64_t slice = (int64_t)ts_slice_bytes(slices);
    const int64_t z = slices->z_first, past = z + slices->axes[0].n;
    const int64_t n =
        ts_plan_chunks(run->plan, node, &plan)
            ? ts_plan_whole_chunks(&plan, (size_t)slice, z, slices->axes[0].n, &encoded.first)
            : 0;
    if (n == 0)
        return fleet_hand_slices(run, node, slices, true);
    const int64_t chunk = (int64_t)plan.grid.chunk_bytes;
    encoded.end = encoded.first + n;
    const int64_t first = encoded.first * chunk / slice, end = encoded.end * chunk / slice;
    const size_t bytes = (size_t)(encoded.end - encoded.first) * sizeof *encoded.chunks;
    encoded.chunks = malloc(bytes);
    enum ts_status status = TS_OK;
    if (!encoded.chunks || !encode_all(run, &plan, ts_slice_data(slices, first - z), &encoded))
        status = ts_diag_no_memory(run->diag, bytes + plan.bound);
    if (status == TS_OK)
        status = hand_values(run, node, slices, z, first, false);
    if (status == TS_OK)
        status = hand_all(run, node, &encoded, end == past);
    if (status == TS_OK)
        status = hand_values(run, node, slices, end, past, true);
    free(encoded.chunks);
    return status;
}

/* ---- slabs leave ----------------------------------------------------------------------------- */

/* The outputs of the ranks' slabs go to rank 0 in rising z, round by round. All ranks take part
   together, so nothing else is sent meanwhile, and a rank that has failed says so in place of what
   it has to send. */

/* Counts the outputs whose slices this pass writes. */
static int count_written(const struct run *run, int32_t domain)
{
    int n = 0;
    for (int32_t i = 0; i < run->plan->n_nodes; i++)
        n += ts_run_is_written(run, i, domain);
    return n;
}

/* Writes the slabs that the other ranks have computed in this round. Receives them even after a
   failure. */
static enum ts_status write_others(struct run *run, int32_t domain, int64_t round_z,
                                   enum ts_status status)
{
    const struct ts_plan *plan = run->plan;
    const int64_t nz = plan->nodes[domain].out.axes[0].n;
    for (int rank = 1; plan->rank == 0 && rank < plan->n_ranks; rank++) {
        int64_t z;
        const int64_t n = ts_plan_slab_of(rank, nz, round_z, plan->slab_slices, &z);
        for (int32_t i = 0; n > 0 && i < plan->n_nodes; i++) {
            if (!ts_run_is_written(run, i, domain))
                continue;
            struct ts_image slices = plan->nodes[i].out;
            slices.z_first = ts_run_place(run, i, z);
            status = receive(run, rank, i, &slices, status);
        }
    }
    return status;
}

/* Writes the slabs that all ranks have computed in the round of this slab number. If the back end
   only enqueues its work this is an earlier round, so that the device has later ones to work on.
   All ranks call it together, whatever their status is. */
static enum ts_status let_leave(struct run *run, int32_t domain, int64_t slab_number,
                                enum ts_status status)
{
    const struct ts_plan *plan = run->plan;
    const int64_t round_z = (slab_number - run->first_slab) * plan->slab_slices * plan->n_ranks;
    int64_t z;
    const int64_t n = ts_plan_slab_of(plan->rank, plan->nodes[domain].out.axes[0].n, round_z,
                                      plan->slab_slices, &z);
    run->owed = plan->rank > 0 && n > 0 ? count_written(run, domain) : 0;
    if (status == TS_OK && n > 0)
        status = run->back_end->leave ? run->back_end->leave(run, slab_number)
                                      : ts_run_write_own(run, domain, z, n);
    send_failure(run);
    return write_others(run, domain, round_z, status);
}

/* Returns after how many rounds a slab is written. A device that is about to begin a slab needs the
   memory of the one that it began PLAN_RING slabs before. */
static int64_t rounds_behind(const struct run *run)
{
    return run->back_end->leave ? PLAN_RING * run->plan->n_devices - 1 : 0;
}

/* Ends this rank's slab [z, z + n). A back end that only enqueues (it has leave()) begins to write
   the slab here, and the slab of `behind` rounds ago leaves. For any other, `behind` is 0 and
   let_leave() writes this very slab. */
static enum ts_status fleet_write_slab(struct run *run, int32_t domain, int64_t z, int64_t n,
                                       enum ts_status status)
{
    const int64_t behind = rounds_behind(run);
    if (run->back_end->leave && status == TS_OK && n > 0)
        status = ts_run_write_own(run, domain, z, n);
    if (status == TS_OK && n > 0 && run->back_end->end_slab)
        status = run->back_end->end_slab(run);
    if (run->slab_number - behind >= run->first_slab)
        status = let_leave(run, domain, run->slab_number - behind, status);
    return status;
}

static enum ts_status fleet_write_rest(struct run *run, int32_t domain, enum ts_status status)
{
    const int64_t behind = rounds_behind(run);
    if (behind == 0)
        return status;
    status = ts_ranks_agree(status);
    if (status != TS_OK)
        return status;
    for (int64_t slab = run->slab_number - behind; slab < run->slab_number; slab++)
        if (slab >= run->first_slab)
            status = let_leave(run, domain, slab, status);
    return status;
}

/* ---- what each rank knows of its slices ------------------------------------------------------ */

static enum ts_status fleet_unite_tables(struct run *run, enum ts_status status)
{
    status = ts_ranks_agree(status);
    if (status != TS_OK || run->plan->n_ranks == 1)
        return status;
    for (int32_t i = 0; i < run->plan->n_nodes; i++) {
        const struct stage_table *tables;
        const struct stage_reduced *reduced = ts_run_reduced(run, i);
        const int n = reduced ? ts_stage_reduced_tables(reduced, &tables) : 0;
        for (int t = 0; t < n; t++)
            ts_ranks_unite(tables[t].image.data, ts_image_bytes(&tables[t].image));
    }
    return TS_OK;
}

/* Gives all ranks what each knows of the slices of a source. Each rank has noted the largest loss
   in what it read, so the largest of all is noted. Refuses slices whose pixels differ between
   ranks. */
static enum ts_status unite_facts(const struct source *source, const char *name,
                                  struct ts_diag *diag)
{
    const int64_t n = ts_source_number(source, ts_source_total(source) - 1) + 1;
    struct ts_rounding some = {0};
    for (int64_t i = 0; i < n; i++)
        if (source->slices[i].rounding.n == ROUNDING_SOME) {
            ts_rounding_join(&some, &source->slices[i].rounding);
            source->slices[i].rounding = (struct ts_rounding){0};
        }
    /* Positive doubles are ordered as the integers of their bits. */
    int64_t least[2] = {some.n, 0};
    memcpy(&least[1], &some.most, sizeof some.most);
    least[1] = -least[1];
    ts_ranks_least(TS_OK, least);
    least[1] = -least[1];
    memcpy(&some.most, &least[1], sizeof some.most);
    some.n = least[0];
    const size_t bytes = (size_t)n * sizeof *source->slices;
    struct source_slice *own = malloc(bytes);
    if (own)
        memcpy(own, source->slices, bytes);
    ts_ranks_unite(source->slices, bytes);
    if (some.n == ROUNDING_SOME)
        ts_rounding_join(&source->slices[0].rounding, &some);
    enum ts_status status = own ? TS_OK : ts_diag_no_memory(diag, bytes);
    for (int64_t i = 0; status == TS_OK && i < n; i++)
        if (*own[i].pixel_sha256 &&
            strcmp(own[i].pixel_sha256, source->slices[i].pixel_sha256) != 0) {
            status = ts_diag_error(diag, TS_RUN_FAILED,
                                   &(struct diag_site){.code = "ranks-differ", .stage = name},
                                   "slice %lld has other pixels on another rank", (long long)i);
            ts_diag_hint(diag, "the inputs must be the same on every machine");
        }
    free(own);
    return status;
}

/* Gives all ranks the valid bits of an output. Bits on a device are copied to the host and back. */
static enum ts_status unite_saved(struct run *run, int32_t node)
{
    const size_t bytes = ts_plan_saved_bytes(run->plan, node);
    if (!run->plan->cuda) {
        ts_ranks_unite(run->nodes[node].saved, bytes);
        return TS_OK;
    }
    void *bits = malloc(bytes);
    enum ts_status status =
        bits ? ts_devices_fetch_saved(run, node, bits, bytes) : ts_diag_no_memory(run->diag, bytes);
    status = ts_ranks_agree(status);
    if (status == TS_OK) {
        ts_ranks_unite(bits, bytes);
        status = run->back_end->load(run, run->nodes[node].saved, bits, bytes);
    }
    free(bits);
    return status;
}

/* Gives all ranks the largest magnitude that halves could not hold. */
static void unite_largest(struct run *run, int32_t node)
{
    float *largest = &run->results[node].largest;
    uint32_t bits;
    memcpy(&bits, largest, sizeof bits); /* positive floats are ordered as their bits */
    int64_t least[] = {-(int64_t)bits, 0};
    ts_ranks_least(TS_OK, least);
    bits = (uint32_t)-least[0];
    memcpy(largest, &bits, sizeof bits);
}

static enum ts_status fleet_unite_slices(struct run *run, enum ts_status status)
{
    const struct ts_plan *plan = run->plan;
    status = ts_ranks_agree(status);
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++)
        unite_largest(run, i);
    if (status != TS_OK || plan->n_ranks == 1)
        return status;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct source *source = plan->nodes[i].source;
        const enum ts_status united =
            source ? unite_facts(source, plan->nodes[i].label, run->diag) : TS_OK;
        status = status == TS_OK ? united : status;
    }
    /* Only ranks that have read a slice find that its pixels differ, so all agree before any of
       them unites bits. */
    status = ts_ranks_agree(status);
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++)
        if (ts_plan_saved_bytes(plan, i) > 0)
            status = unite_saved(run, i);
    return ts_ranks_agree(status);
}

const struct run_fleet ts_run_fleet = {
    .use = ts_devices_use,
    .on_devices = ts_devices_call,
    .free_devices = ts_devices_free,
    .bring_total = ts_devices_bring_total,
    .has_refused = ts_devices_have_refused,
    .refuse = ts_devices_refuse,
    .finish_reduction = ts_devices_finish_reduction,
    .renew = ts_devices_renew,
    .join_tables = ts_devices_join_tables,
    .fetch_saved = ts_devices_fetch_saved,
    .compare_plans = fleet_compare_plans,
    .name_rank = fleet_name_rank,
    .join_totals = fleet_join_totals,
    .write_slab = fleet_write_slab,
    .write_rest = fleet_write_rest,
    .hand_output = fleet_hand_output,
    .hand_slices = fleet_hand_slices,
    .hand_chunks = fleet_hand_chunks,
    .unite_tables = fleet_unite_tables,
    .unite_slices = fleet_unite_slices,
};
