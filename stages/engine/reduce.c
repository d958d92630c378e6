/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads reduce slices to partial results, which one thread merges. The order of float operations
 * depends only on the image: if merging is not exact, every slice is its own partial result, and
 * partials join in rising z, so that neither slabs nor threads change the bytes. Slices of a
 * reduction per slice are reduced and finished side by side.
 */
#include "stages/engine/reduce.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"

struct stage_reduced {
    struct stage_context context; /* a copy: round and result belong to this state */
    int n_tables, n_map_tables;   /* number of all tables, and of the last ones, which the map
                                   * writes */
    struct stage_table tables[STAGE_TABLES];
    bool per_slice;
    int64_t slab_slices;
    size_t partial_bytes, result_bytes; /* the largest of all inputs and rounds */
    void *totals[STAGE_INPUTS];
    bool begun[STAGE_INPUTS];
    void *partials; /* slots of partial_bytes each */
    int64_t n_slots;
    void *packed; /* memory for the valid pixels of a slice, for each slot; NULL if nothing is
                   * packed here */
    size_t packed_bytes;
    void *result; /* one result, or slab_slices of them for a reduction per slice */
    void *reference_result;
    struct ts_diag *quiet; /* for a reduction per slice: diagnostics of slices that run side by
                            * side, which nobody reads */
};

/* Partials start on their own cache lines. */
static size_t padded_bytes(size_t bytes)
{
    return (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
}

static size_t largest_partial(const struct stage_context *context)
{
    struct stage_context probe = *context;
    size_t largest = 0;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++)
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (ts_stage_input(context, input)) {
                const size_t bytes = context->stage->reduction->partial_bytes(&probe, input);
                largest = bytes > largest ? bytes : largest;
            }
    return padded_bytes(largest);
}

static int64_t slot_count(const struct stage_context *context, int64_t slab_slices)
{
    /* A build without CUDA code may plan for a device of a different machine. */
    const struct stage_cuda *code = context->device ? context->stage->cuda : NULL;
    const struct cuda_reduction *cuda = code ? code->reduction : NULL;
    if (cuda && (!ts_stage_reduces_slices(context) || (cuda->finishes && cuda->finishes(context))))
        return 1; /* partials are made on the device; totals of slices come here side by side */
    if (context->stage->reduction->add)
        return 1; /* for the total of another process */
    const bool one_a_thread = context->stage->reduction->exact || ts_stage_reduces_slices(context);
    return one_a_thread && context->threads < slab_slices ? context->threads : slab_slices;
}

/* Returns the bytes of a slot's packed pixels. A CUDA device packs them itself. */
static size_t packed_bytes(const struct stage_context *context)
{
    return context->device ? 0 : ts_stage_packed_bytes(context);
}

/* Returns how many inputs have a total. */
static size_t count_inputs(const struct stage_context *context)
{
    size_t n = 0;
    for (int input = 0; input < STAGE_INPUTS; input++)
        n += ts_stage_input(context, input) != NULL;
    return n;
}

size_t ts_stage_reduced_bytes(const struct stage_context *context, int64_t slab_slices)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    struct stage_table tables[STAGE_TABLES];
    int n_map;
    if (!ts_stage_has_state(context))
        return 0;
    const int n_tables = ts_stage_tables(context, tables, &n_map);
    size_t bytes = sizeof(struct stage_reduced) + 64 * MEMORY_ALIGNMENT;
    if (reduction)
        bytes += count_inputs(context) * largest_partial(context) +
                 (size_t)slot_count(context, slab_slices) *
                     (largest_partial(context) + packed_bytes(context)) +
                 (ts_stage_reduces_slices(context) ? (size_t)slab_slices + 1 : 1) *
                     padded_bytes(reduction->result_bytes(context));
    for (int i = 0; i < n_tables; i++)
        bytes += padded_bytes(ts_image_bytes(&tables[i].image));
    return bytes;
}

static bool create_totals(struct stage_reduced *reduced)
{
    const struct stage_context *context = &reduced->context;
    bool complete = true;
    reduced->partial_bytes = largest_partial(context);
    reduced->result_bytes = context->stage->reduction->result_bytes(context);
    reduced->n_slots = slot_count(context, reduced->slab_slices);
    for (int input = 0; input < STAGE_INPUTS; input++)
        if (ts_stage_input(context, input)) {
            reduced->totals[input] = ts_memory_zeroed(reduced->partial_bytes);
            complete &= reduced->totals[input] != NULL;
        }
    reduced->partials = ts_memory_zeroed((size_t)reduced->n_slots * reduced->partial_bytes);
    reduced->packed_bytes = packed_bytes(context);
    if (reduced->packed_bytes > 0)
        reduced->packed = ts_memory_aligned((size_t)reduced->n_slots * reduced->packed_bytes);
    complete &= reduced->packed || reduced->packed_bytes == 0;
    reduced->result = ts_memory_zeroed((reduced->per_slice ? (size_t)reduced->slab_slices : 1) *
                                       reduced->result_bytes);
    reduced->reference_result = ts_memory_zeroed(reduced->result_bytes);
    reduced->quiet = reduced->per_slice ? ts_diag_create() : NULL;
    return complete && reduced->partials && reduced->result && reduced->reference_result &&
           (reduced->quiet || !reduced->per_slice);
}

enum ts_status ts_stage_reduced_create(const struct stage_context *context, int64_t slab_slices,
                                       struct stage_reduced **result)
{
    const struct stage_reduction *reduction = context->stage->reduction;
    struct stage_reduced *reduced = calloc(1, sizeof *reduced);
    *result = NULL;
    if (!reduced)
        return ts_diag_no_memory(context->diag, sizeof *reduced);
    reduced->context = *context;
    reduced->per_slice = ts_stage_reduces_slices(context);
    reduced->slab_slices = slab_slices;
    reduced->n_tables = ts_stage_tables(context, reduced->tables, &reduced->n_map_tables);
    bool complete = true;
    for (int i = 0; i < reduced->n_tables; i++) {
        reduced->tables[i].image.data = ts_memory_zeroed(ts_image_bytes(&reduced->tables[i].image));
        complete &= reduced->tables[i].image.data != NULL;
    }
    if (complete && reduction)
        complete = create_totals(reduced);
    if (!complete) {
        ts_stage_reduced_destroy(reduced);
        return ts_diag_no_memory(context->diag, ts_stage_reduced_bytes(context, slab_slices));
    }
    *result = reduced;
    return TS_OK;
}

enum ts_status ts_stage_reduced_renew(struct stage_reduced *reduced,
                                      const struct stage_context *context)
{
    struct stage_table tables[STAGE_TABLES];
    int n_map;
    const int n = ts_stage_tables(context, tables, &n_map);
    bool same = n == reduced->n_tables;
    for (int i = 0; same && i < n; i++)
        same = ts_image_bytes(&tables[i].image) == ts_image_bytes(&reduced->tables[i].image);
    if (!same)
        return ts_diag_error(
            context->diag, TS_RUN_FAILED,
            &(struct diag_site){.code = "found-sizes", .stage = context->set->owner},
            "its tables would have other sizes with the axes that an earlier stage found");
    for (int i = 0; i < n; i++) {
        tables[i].image.data = reduced->tables[i].image.data;
        reduced->tables[i] = tables[i];
    }
    reduced->context.in = context->in;
    reduced->context.out = context->out;
    return TS_OK;
}

void ts_stage_reduced_destroy(struct stage_reduced *reduced)
{
    if (!reduced)
        return;
    for (int i = 0; i < reduced->n_tables; i++)
        free(reduced->tables[i].image.data);
    for (int input = 0; input < STAGE_INPUTS; input++)
        free(reduced->totals[input]);
    free(reduced->partials);
    free(reduced->packed);
    free(reduced->result);
    free(reduced->reference_result);
    ts_diag_destroy(reduced->quiet);
    free(reduced);
}

static void *slot(const struct stage_reduced *reduced, int64_t i)
{
    return (unsigned char *)reduced->partials + (size_t)i * reduced->partial_bytes;
}

/* Views slices [first, first + n) of a slab for the round of the context. If the stage only wants
 * valid pixels, n is 1, and they are packed into the memory of a slot. */
static void take_slices(const struct stage_reduced *reduced, const struct stage_context *context,
                        int input, const struct ts_image *slab, int64_t first, int64_t n,
                        int64_t slot, struct ts_image slices[STAGE_INPUTS])
{
    struct ts_image views[STAGE_INPUTS];
    if (!ts_stage_packs_now(context, input)) {
        ts_stage_slices(context, input, slab, first, n, slices);
        return;
    }
    ts_stage_slices(context, input, slab, first, n, views);
    ts_stage_pack(context, input, views,
                  (char *)reduced->packed + (size_t)slot * reduced->packed_bytes, slices);
}

/* Returns the context of reductions over the volume. */
static struct stage_context *volume_context(struct stage_reduced *reduced)
{
    reduced->context.result = reduced->per_slice ? reduced->reference_result : reduced->result;
    return &reduced->context;
}

void ts_stage_reduced_join(struct stage_reduced *reduced, int input, const void *total)
{
    const struct stage_context *context = volume_context(reduced);
    if (reduced->begun[input])
        context->stage->reduction->merge(context, input, reduced->totals[input], total);
    else
        memcpy(reduced->totals[input], total, ts_stage_reduced_sum_bytes(reduced, input));
    reduced->begun[input] = true;
}

void ts_stage_reduced_add(struct stage_reduced *reduced, int input, const struct ts_image *slab)
{
    const struct stage_context *context = volume_context(reduced);
    const struct stage_reduction *reduction = context->stage->reduction;
    const int64_t n = slab->axes[0].n;
    if (reduction->partial_bytes(context, input) == 0)
        return;
    if (reduction->add) {
        if (!reduced->begun[input])
            memset(reduced->totals[input], 0, reduced->partial_bytes);
        reduction->add(context, input, slab, reduced->totals[input]);
        reduced->begun[input] = true;
        return;
    }
    for (int64_t done = 0; done < n;) {
        /* With exact merging, each slot gets a contiguous group of slices. Else, or if slices are
         * packed, each slot gets one slice, again and again. */
        const int64_t left = n - done, groups = left < reduced->n_slots ? left : reduced->n_slots;
        const int64_t taken =
            reduction->exact && !ts_stage_packs_now(context, input) ? left : groups;
#pragma omp parallel for schedule(static, 1) num_threads(context->threads)
        for (int64_t group = 0; group < groups; group++) {
            const int64_t first = done + taken * group / groups,
                          end = done + taken * (group + 1) / groups;
            struct ts_image slices[STAGE_INPUTS];
            take_slices(reduced, context, input, slab, first, end - first, group, slices);
            reduction->reduce(context, input, slices, slot(reduced, group));
        }
        for (int64_t group = 0; group < groups; group++)
            ts_stage_reduced_join(reduced, input, slot(reduced, group));
        done += taken;
    }
}

const void *ts_stage_reduced_sum(const struct stage_reduced *reduced, int input)
{
    return reduced->begun[input] ? reduced->totals[input] : NULL;
}

size_t ts_stage_reduced_sum_bytes(const struct stage_reduced *reduced, int input)
{
    return reduced->context.stage->reduction->partial_bytes(&reduced->context, input);
}

void ts_stage_reduced_forget(struct stage_reduced *reduced, int input)
{
    reduced->begun[input] = false;
}

void *ts_stage_reduced_spare(const struct stage_reduced *reduced)
{
    return slot(reduced, 0);
}

enum ts_status ts_stage_reduced_finish(struct stage_reduced *reduced)
{
    struct stage_context *context = &reduced->context;
    const struct stage_reduction *reduction = context->stage->reduction;
    const void *totals[STAGE_INPUTS];
    struct ts_image tables[STAGE_TABLES];
    for (int input = 0; input < STAGE_INPUTS; input++)
        totals[input] = ts_stage_reduced_sum(reduced, input);
    for (int i = 0; i < reduced->n_tables - reduced->n_map_tables; i++)
        tables[i] = reduced->tables[i].image;
    void *result = reduced->per_slice ? reduced->reference_result : reduced->result;
    context->result = result;
    const enum ts_status status =
        reduction->finish(context, totals, result, reduced->per_slice ? NULL : tables);
    memset(reduced->begun, 0, sizeof reduced->begun);
    context->round++;
    return status;
}

void *ts_stage_reduced_total(struct stage_reduced *reduced, int input)
{
    reduced->begun[input] = true;
    return reduced->totals[input];
}

const void *ts_stage_reduced_reference_result(const struct stage_reduced *reduced)
{
    return reduced->reference_result;
}

/* Returns the context of one slice of a slab. Its result starts as a copy of the references'
 * result. */
static struct stage_context slice_context(const struct stage_reduced *reduced, int round, int64_t i,
                                          struct ts_diag *diag, void **result)
{
    struct stage_context context = reduced->context;
    *result = (unsigned char *)reduced->result + (size_t)i * reduced->result_bytes;
    if (round == 0)
        memcpy(*result, reduced->reference_result, reduced->result_bytes);
    context.result = *result;
    context.round = round;
    context.diag = diag;
    return context;
}

static enum ts_status finish_slice(const struct stage_reduced *reduced,
                                   const struct stage_context *context, int64_t z,
                                   const void *total, void *result)
{
    struct ts_image rows[STAGE_TABLES];
    const void *totals[STAGE_INPUTS] = {total};
    for (int t = 0; t < reduced->n_tables - reduced->n_map_tables; t++)
        rows[t] = ts_image_slices(&reduced->tables[t].image, z, 1);
    return context->stage->reduction->finish(context, totals, result, rows);
}

/* The work on the slices of a slab: all rounds over their pixels, or one round with totals that
 * were made on a device. */
struct slices_job {
    const struct ts_image *slab;
    int round; /* round of these totals */
    int64_t z_first, n;
    stage_total_of *total_of;
    const void *elsewhere;
};

static enum ts_status take_slice(const struct stage_reduced *reduced, const struct slices_job *job,
                                 int64_t i, void *total, struct ts_diag *diag)
{
    void *result;
    const struct stage_context context = slice_context(reduced, job->round, i, diag, &result);
    job->total_of(job->elsewhere, i, total);
    return finish_slice(reduced, &context, job->z_first + i, total, result);
}

/* Reduces slice i of the job with the memory of a slot. */
static enum ts_status reduce_slice(const struct stage_reduced *reduced,
                                   const struct slices_job *job, int64_t i, int64_t with,
                                   struct ts_diag *diag)
{
    void *partial = slot(reduced, with);
    struct ts_image slices[STAGE_INPUTS];
    enum ts_status status = TS_OK;
    if (job->total_of)
        return take_slice(reduced, job, i, partial, diag);
    bool packed = false;
    for (int round = 0; status == TS_OK && round < ts_stage_rounds(&reduced->context); round++) {
        void *result;
        const struct stage_context context = slice_context(reduced, round, i, diag, &result);
        if (round == 0 || packed != ts_stage_packs_now(&context, 0))
            take_slices(reduced, &context, 0, job->slab, i, 1, with, slices);
        packed = ts_stage_packs_now(&context, 0);
        context.stage->reduction->reduce(&context, 0, slices, partial);
        status = finish_slice(reduced, &context, slices[0].z_first, partial, result);
    }
    return status;
}

static enum ts_status reduce_slices(struct stage_reduced *reduced, const struct slices_job *job)
{
    assert(reduced->per_slice && job->n <= reduced->slab_slices);
    const int64_t n = job->n, groups = n < reduced->n_slots ? n : reduced->n_slots;
    int64_t failed = n; /* becomes the first slice that fails */
#pragma omp parallel for schedule(static, 1) num_threads(reduced->context.threads)
    for (int64_t group = 0; group < groups; group++)
        for (int64_t i = n * group / groups; i < n * (group + 1) / groups; i++)
            if (reduce_slice(reduced, job, i, group, reduced->quiet) != TS_OK) {
#pragma omp critical(stage_reduced_failed)
                failed = i < failed ? i : failed;
                break;
            }
    /* The first slice that failed is reduced again with the run's diagnostics, so that there is one
     * message whatever the threads do. */
    return failed < n ? reduce_slice(reduced, job, failed, 0, reduced->context.diag) : TS_OK;
}

enum ts_status ts_stage_reduced_slab(struct stage_reduced *reduced, const struct ts_image *slab)
{
    return reduce_slices(reduced, &(struct slices_job){.slab = slab, .n = slab->axes[0].n});
}

enum ts_status ts_stage_reduced_slices(struct stage_reduced *reduced, int round, int64_t z_first,
                                       int64_t n, stage_total_of *total_of, const void *elsewhere)
{
    return reduce_slices(reduced, &(struct slices_job){.round = round,
                                                       .z_first = z_first,
                                                       .n = n,
                                                       .total_of = total_of,
                                                       .elsewhere = elsewhere});
}

const void *ts_stage_reduced_result(const struct stage_reduced *reduced)
{
    return reduced->result;
}

int ts_stage_reduced_map_tables(const struct stage_reduced *reduced,
                                const struct stage_table **tables)
{
    *tables = reduced->tables + reduced->n_tables - reduced->n_map_tables;
    return reduced->n_map_tables;
}

int ts_stage_reduced_tables(const struct stage_reduced *reduced, const struct stage_table **tables)
{
    *tables = reduced->tables;
    return reduced->n_tables;
}
