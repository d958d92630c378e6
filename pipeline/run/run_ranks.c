/* SPDX-License-Identifier: Apache-2.0
 *
 * Several ranks in one run. Slabs are dealt out to them in turn. In each round every rank computes a slab, all meet,
 * and rank 0 gets their slices of outputs, which it writes in rising z; totals are joined when a pass ends. So the
 * writer gets what it would get from one process. On the CPU no rank holds back slabs; those of devices leave some
 * rounds later (pipeline/run/run_walk.c).
 *
 * Halos are not exchanged. Each rank reads and computes those of its slabs, as one process does that does not keep the
 * images whole.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "io/source/source_slices.h"
#ifdef TS_HAVE_CUDA
#include "cuda/device/driver.h"
#endif
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/ranks/ranks.h"
#include "pipeline/run/run.h"

/* ---- a failure --------------------------------------------------------------------------------- */

void ts_run_name_rank(const struct run *run)
{
    const struct ts_plan *plan = run->plan;
    bool failed = false;
    for (size_t i = 0; i < ts_diag_count(run->diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(run->diag, i);
        failed |= record->severity == TS_ERROR && !strncmp(record->code, "cuda-", 5);
    }
    if (failed && plan->n_ranks > 1)
        ts_diag_note(run->diag, &(struct diag_site){.code = "ranks-device"}, "this is rank %d of %d, on %s (%s)",
                     plan->rank, plan->n_ranks, plan->device, plan->cuda ? plan->cuda->name : "");
}

/* ---- totals ------------------------------------------------------------------------------------ */

static struct stage_reduced *reduced_of(const struct run *run, int32_t node)
{
    return run->nodes[node].driver->reduced;
}

/* Returns the bytes of 64-bit counts of which the total consists, where a device ends the reduction itself; else 0. */
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

/* Adds counts up: `to` is the total of this rank, where it has any. */
static void join_counts(struct stage_reduced *reduced, int input, const uint64_t *counts, size_t bytes)
{
    const bool begun = ts_stage_reduced_sum(reduced, input) != NULL;
    uint64_t *total = ts_stage_reduced_total(reduced, input);
    for (size_t i = 0; i < bytes / sizeof *total; i++)
        total[i] = begun ? total[i] + counts[i] : counts[i];
}

/* Rank 0 joins the totals of the others to its own. Each rank has reduced every n-th slab, so that the bytes are those
 * of one process only where merging in any grouping gives the same bytes: as on CUDA devices (cuda_reduction.reduce),
 * and in reductions of the CPU that are exact, as all are today. Float sums would have to go from rank to rank in
 * rising z.
 */
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

/* Gives every device of this rank the total that device 0 has. */
static void spread(struct run *run, int32_t node, int input, size_t bytes)
{
    const void *total = ts_stage_reduced_sum(run->devices[0].nodes[node].driver->reduced, input);
    for (int device = 1; total && device < run->plan->n_devices; device++)
        memcpy(ts_stage_reduced_total(run->devices[device].nodes[node].driver->reduced, input), total, bytes);
}

enum ts_status ts_run_collect_total(struct run *run, int32_t node, int input)
{
    int *device = &run->results[node].totals[input];
    if (run->plan->n_ranks == 1 || !run->back_end->collect || *device < 0)
        return TS_OK;
    enum ts_status status = ts_run_use(run, *device);
    if (status == TS_OK)
        status = run->back_end->collect(run, node, input);
    const size_t bytes = total_bytes(run, node, input);
    struct stage_reduced *first = run->devices[0].nodes[node].driver->reduced, *own = reduced_of(run, node);
    const void *total = ts_stage_reduced_sum(own, input);
    if (status == TS_OK && total && own != first)
        memcpy(ts_stage_reduced_total(first, input), total, bytes);
    *device = -1;
    const enum ts_status back = ts_run_use(run, 0);
    return status == TS_OK ? back : status;
}

void ts_run_join_totals(struct run *run, int32_t node, int input)
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

/* ---- outputs ----------------------------------------------------------------------------------- */

/* This goes to rank 0 before the slices or chunks of an output. */
struct message {
    int64_t z_first, slices, chunks;
    uint64_t bytes;
    int32_t last, failed; /* failed: the rank has failed, and nothing follows */
    struct run_chunk places[RUN_CHUNKS];
};

static void send_part(struct run *run, const struct message *message, const void *data)
{
    ts_ranks_send(0, message, sizeof *message);
    if (message->bytes > 0)
        ts_ranks_send(0, data, message->bytes);
    run->owed -= message->last;
}

enum ts_status ts_run_hand_slices(struct run *run, int32_t node, const struct ts_image *slices, bool last)
{
    const struct message message = {
        .z_first = slices->z_first, .slices = slices->axes[0].n, .bytes = ts_image_bytes(slices), .last = last};
    if (run->plan->rank == 0)
        return ts_run_put(run, node, slices);
    send_part(run, &message, slices->data);
    return TS_OK;
}

/* Hands encoded chunks to the writer, which owns each from then on. */
static enum ts_status put_chunks(struct run *run, int32_t node, const struct run_chunk *chunks, int64_t n,
                                 const unsigned char *data)
{
    enum ts_status status = TS_OK;
    for (int64_t i = 0; status == TS_OK && i < n; i++) {
        void *encoded = malloc(chunks[i].bytes);
        if (!encoded)
            return ts_diag_no_memory(run->diag, chunks[i].bytes);
        memcpy(encoded, data + chunks[i].offset, chunks[i].bytes);
        status = ts_hdf5_write_chunk_take(run->writer, run->results[node].dataset, encoded, chunks[i].bytes);
    }
    return status;
}

enum ts_status ts_run_hand_chunks(struct run *run, int32_t node, const struct run_chunk *chunks, int64_t n,
                                  const unsigned char *data, bool last)
{
    if (run->plan->rank == 0)
        return put_chunks(run, node, chunks, n, data);
    struct message message = {.chunks = n, .bytes = chunks[n - 1].offset + chunks[n - 1].bytes, .last = last};
    memcpy(message.places, chunks, (size_t)n * sizeof *chunks);
    send_part(run, &message, data);
    return TS_OK;
}

void ts_run_send_failure(struct run *run)
{
    while (run->owed > 0)
        send_part(run, &(struct message){.last = true, .failed = true}, NULL);
}

enum ts_status ts_run_receive(struct run *run, int from, int32_t node, const struct ts_image *slices,
                              enum ts_status status)
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
            status = put_chunks(run, node, message.places, message.chunks, run->received);
        else if (status == TS_OK && !run->lost)
            status = ts_run_put(run, node, &part);
    }
    return status;
}

/* ---- what each rank knows of its slices -------------------------------------------------------- */

enum ts_status ts_run_unite_tables(struct run *run, enum ts_status status)
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

/* Joins what the ranks know of the slices of a source. Each rank has noted what its own readings lost, in slices that
 * others read as well, so that the largest loss of all is noted in the place of theirs. Refuses slices that have other
 * pixels on another rank. */
static enum ts_status unite_facts(const struct source *source, const char *name, struct ts_diag *diag)
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
        if (*own[i].pixel_sha256 && strcmp(own[i].pixel_sha256, source->slices[i].pixel_sha256) != 0) {
            status = ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-differ", .stage = name},
                                   "slice %lld has other pixels on another rank", (long long)i);
            ts_diag_hint(diag, "the inputs must be the same on every machine");
        }
    free(own);
    return status;
}

/* Gives all ranks the bits of an output. Those of a device go by way of host memory. */
static enum ts_status unite_saved(struct run *run, int32_t node)
{
    const size_t bytes = ts_plan_saved_bytes(run->plan, node);
    if (!run->plan->cuda) {
        ts_ranks_unite(run->nodes[node].saved, bytes);
        return TS_OK;
    }
    void *bits = malloc(bytes);
    enum ts_status status = bits ? ts_run_fetch_saved(run, node, bits, bytes) : ts_diag_no_memory(run->diag, bytes);
    status = ts_ranks_agree(status);
    if (status == TS_OK) {
        ts_ranks_unite(bits, bytes);
        status = run->back_end->load(run, run->nodes[node].saved, bits, bytes);
    }
    free(bits);
    return status;
}

/* Reports to the writer which values halves could not hold, on all ranks. It has noted those that it rounded itself. */
static void unite_largest(struct run *run, int32_t node)
{
    float *largest = &run->results[node].largest;
    uint32_t bits;
    memcpy(&bits, largest, sizeof bits); /* positive floats are ordered as their bits */
    int64_t least[] = {-(int64_t)bits, 0};
    ts_ranks_least(TS_OK, least);
    bits = (uint32_t)-least[0];
    memcpy(largest, &bits, sizeof bits);
    if (run->writer && run->results[node].dataset >= 0)
        ts_hdf5_note_largest(run->writer, run->results[node].dataset, *largest);
}

enum ts_status ts_run_unite_slices(struct run *run, enum ts_status status)
{
    const struct ts_plan *plan = run->plan;
    status = ts_ranks_agree(status);
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++)
        unite_largest(run, i);
    if (status != TS_OK || plan->n_ranks == 1)
        return status;
    for (int32_t i = 0; i < plan->n_nodes; i++) {
        const struct source *source = plan->nodes[i].source;
        const enum ts_status united = source ? unite_facts(source, plan->nodes[i].label, run->diag) : TS_OK;
        status = status == TS_OK ? united : status;
    }
    /* Only the ranks that have read a slice find that its pixels differ, and all of them unite the bits or none. */
    status = ts_ranks_agree(status);
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++)
        if (ts_plan_saved_bytes(plan, i) > 0)
            status = unite_saved(run, i);
    return ts_ranks_agree(status);
}
