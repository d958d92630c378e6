/* SPDX-License-Identifier: Apache-2.0
 *
 * Datasets of foreign files that are accepted hold integers of 8 to 64 bits or IEEE floats:
 * contiguous, compact, chunked with filters that io/hdf5/hdf5_filters.h knows, or virtual. All
 * sizes are checked before anything is allocated.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_stack.h"

/* Hints how to convert a file; every refusal of a storage that other programs can read ends
   here. */
static enum ts_status hint_plain(const struct hdf5_input *input)
{
    return ts_diag_hint(input->diag, "the Python script in docs/inputs.md, under \"HDF5 that is "
                                     "not read as it is\", writes a copy that is read");
}

/* Joins the first two of four axes if the order of chunks stays that of the file: each chunk holds
   whole indices of the first axis, or a part of one index that divides the second axis evenly. */
static void fold(struct hdf5_stack *stack)
{
    struct hdf5_storage *storage = &stack->storage;
    int64_t *n = storage->n, *chunk = storage->chunk, product;
    const bool chunked = storage->layout == STORAGE_CHUNKED;
    const bool even =
        !chunked || chunk[1] == n[1] || (chunk[0] == 1 && chunk[1] > 0 && n[1] % chunk[1] == 0);
    if (storage->rank != TS_MAX_RANK || !even || __builtin_mul_overflow(n[0], n[1], &product))
        return;
    stack->n_volumes = n[0];
    n[0] = product;
    chunk[0] = chunked && chunk[1] == n[1] ? chunk[0] * chunk[1] : chunk[1];
    for (int d = 1; d < 3; d++) {
        n[d] = n[d + 1];
        chunk[d] = chunk[d + 1];
    }
    storage->rank = 3;
}

/* Adds axes of length 1 in front, so that there are three. */
static void pad(struct hdf5_stack *stack)
{
    struct hdf5_storage *storage = &stack->storage;
    const int more = 3 - storage->rank;
    if (storage->rank < 0 || more <= 0)
        return;
    for (int d = 2; d >= 0; d--) {
        storage->n[d] = d < more ? 1 : storage->n[d - more];
        storage->chunk[d] = d < more ? 1 : storage->chunk[d - more];
    }
    for (int64_t i = 0; i < stack->n_parts; i++)
        for (int d = 2; d >= 0; d--) {
            struct hdf5_part *part = &stack->parts[i];
            part->on[d] = d < more ? (struct hdf5_indices){1, 0, 1, 1} : part->on[d - more];
            part->axis[d] = d < more ? -1 : part->axis[d - more];
        }
    storage->rank = 3;
}

/* Returns the number of axes; of a list, those of length 1 beside a longer one do not count. */
static int count_axes(const struct hdf5_storage *storage, int rank)
{
    int longer = 0;
    if (rank != 1 || storage->rank > 3)
        return storage->rank;
    for (int d = 0; d < storage->rank; d++)
        longer += storage->n[d] != 1;
    return longer;
}

static enum ts_status check_sizes(const struct hdf5_input *input, struct hdf5_stack *stack,
                                  int rank)
{
    const int64_t *n = stack->storage.n;
    if (rank == TS_MAX_RANK)
        fold(stack);
    if (rank == STACK_ANY_RANK)
        pad(stack);
    const int n_axes = stack->storage.rank;
    size_t bytes = ts_dtype_bytes(stack->stored);
    rank = rank == TS_MAX_RANK || rank == STACK_ANY_RANK ? 3 : rank;
    const int counted = count_axes(&stack->storage, rank);
    if (rank > 1 ? n_axes != rank : counted > rank)
        return ts_hdf5_input_refuse(input, "hdf5-rank", "%s has %d axes, expected %d", stack->name,
                                    n_axes, rank);
    for (int d = 0; d < 3; d++) {
        stack->n[d] = d < n_axes ? n[d] : 1;
        if (d < n_axes && (n[d] == 0 || n[d] > INT32_MAX))
            return ts_hdf5_input_refuse(input, "hdf5-empty",
                                        "axis %d of %s has length %" PRId64 ", expected 1 to %d", d,
                                        stack->name, n[d], INT32_MAX);
        if (!ts_mul_size(bytes, (size_t)stack->n[d], &bytes) || bytes > INT64_MAX / 8)
            return ts_hdf5_input_refuse(input, "hdf5-size", "the size of %s cannot be addressed",
                                        stack->name);
    }
    return TS_OK;
}

static enum ts_status check_filters(const struct hdf5_input *input, struct hdf5_stack *stack)
{
    const int n_filters = stack->storage.n_filters;
    struct hdf5_pipeline *pipeline = &stack->pipeline;
    if (n_filters > PIPELINE_FILTERS) {
        ts_hdf5_input_refuse(input, "hdf5-filter", "%s has %d filters, at most %d are read",
                             stack->name, n_filters, PIPELINE_FILTERS);
        return hint_plain(input);
    }
    *pipeline = (struct hdf5_pipeline){.n_filters = n_filters,
                                       .element_bytes = (uint32_t)ts_dtype_bytes(stack->stored),
                                       .chunk_bytes = stack->chunk_bytes};
    for (int i = 0; i < n_filters; i++) {
        const struct storage_filter *stored = &stack->storage.filters[i];
        char shown[4 * sizeof stored->name];
        pipeline->filters[i] = stored->filter;
        if (ts_hdf5_filter_name(stored->filter.id))
            continue;
        ts_text_escape(shown, sizeof shown, stored->name);
        ts_hdf5_input_refuse(input, "hdf5-filter",
                             "%s was stored with the filter %d (%s), which is not read",
                             stack->name, stored->filter.id, *shown ? shown : "without a name");
        return hint_plain(input);
    }
    return TS_OK;
}

static enum ts_status check_chunks(const struct hdf5_input *input, struct hdf5_stack *stack)
{
    size_t bytes = ts_dtype_bytes(stack->stored);
    const size_t most = stack->storage.rank < 2 ? STACK_LIST_CHUNK_BYTES : STACK_CHUNK_BYTES;
    for (int d = 0; d < 3; d++) {
        const int64_t n = d < stack->storage.rank ? stack->storage.chunk[d] : 1;
        stack->chunk[d] = n;
        if (n > INT32_MAX || !ts_mul_size(bytes, (size_t)n, &bytes) || bytes > most) {
            ts_hdf5_input_refuse(input, "hdf5-chunk", "a chunk of %s has more than %zu bytes",
                                 stack->name, most);
            return hint_plain(input);
        }
    }
    stack->chunk_bytes = bytes;
    return check_filters(input, stack);
}

/* Storage in one piece must be complete. */
static enum ts_status check_piece(const struct hdf5_input *input, const struct hdf5_stack *stack)
{
    const struct hdf5_storage *storage = &stack->storage;
    const int64_t bytes =
        (int64_t)ts_dtype_bytes(stack->stored) * stack->n[0] * stack->n[1] * stack->n[2];
    const bool compact = storage->layout == STORAGE_COMPACT;
    if (!compact && (storage->offset < 0 || storage->stored_bytes == 0))
        return ts_hdf5_input_refuse(input, "hdf5-not-written", "%s was created, but never written",
                                    stack->name);
    if (storage->stored_bytes < bytes || bytes > stack->file_bytes ||
        (compact && storage->compact_bytes != bytes) ||
        (!compact && storage->offset > stack->file_bytes - bytes))
        return ts_hdf5_input_refuse(input, "hdf5-truncated",
                                    "%s claims %" PRId64
                                    " bytes, more than there are: the file is damaged",
                                    stack->name, bytes);
    return TS_OK;
}

static enum ts_status check_storage(const struct hdf5_input *input, struct hdf5_stack *stack)
{
    switch ((enum storage_layout)stack->storage.layout) {
    case STORAGE_VIRTUAL:
        return stack->n_parts > 0
                   ? TS_OK
                   : ts_hdf5_input_refuse(input, "hdf5-virtual", "%s is virtual and has no part",
                                          stack->name);
    case STORAGE_EXTERNAL:
        ts_hdf5_input_refuse(input, "hdf5-external",
                             "%s has its values in other files (external storage)", stack->name);
        return hint_plain(input);
    case STORAGE_CHUNKED:
        return check_chunks(input, stack);
    default:
        return check_piece(input, stack);
    }
}

enum ts_status ts_hdf5_stack_check(const struct hdf5_input *input, struct hdf5_stack *stack,
                                   int rank)
{
    const enum ts_status status = check_sizes(input, stack, rank);
    return status == TS_OK ? check_storage(input, stack) : status;
}

enum ts_status ts_hdf5_stack_locate(const struct hdf5_input *input, struct hdf5_stack *stack)
{
    void *answer;
    size_t bytes;
    int64_t outside;
    if (stack->chunk_bytes == 0)
        return TS_OK;
    if (stack->storage.n_chunks > STORAGE_CHUNKS) {
        ts_hdf5_input_refuse(input, "hdf5-chunks", "%s has %" PRId64 " chunks, at most %d are read",
                             stack->name, stack->storage.n_chunks, STORAGE_CHUNKS);
        return hint_plain(input);
    }
    const enum ts_status status =
        ts_hdf5_input_call(input, ts_hdf5_task_table, &stack->dataset, &answer, &bytes);
    if (status != TS_OK)
        return status;
    stack->table = answer;
    if (ts_hdf5_storage_check_table(&stack->storage, answer, bytes, stack->file_bytes, &outside))
        return TS_OK;
    return outside < 0
               ? ts_hdf5_session_wrong_answer(input->session, input->diag)
               : ts_hdf5_input_refuse(input, "hdf5-truncated",
                                      "chunk %" PRId64
                                      " of %s lies outside of the file: the file is damaged",
                                      outside, stack->name);
}

/* ---- what was never written ------------------------------------------------------------------ */

static int64_t count_lost(const bool *lost, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += lost[i];
    return count;
}

/* Marks the first index of each chunk, for the others of the chunk, until all are known. */
static void mark_chunks(const struct hdf5_stack *stack, int axis, bool any, bool *lost)
{
    const int64_t n = stack->n[axis], length = stack->chunk[axis];
    int64_t later = 1;
    memset(lost, !any, (size_t)n);
    for (int d = axis + 1; d < 3; d++)
        later *= (stack->n[d] - 1) / stack->chunk[d] + 1;
    for (int64_t i = 0; i < stack->storage.n_chunks; i++)
        if ((stack->table[i].bytes == 0) == any)
            lost[i / later % ((n - 1) / length + 1) * length] = any;
    for (int64_t i = 0; i < n; i++)
        lost[i] = lost[i / length * length];
}

/* Marks what a part of a virtual dataset takes from lost indices of its source. */
static void mark_part(const struct hdf5_part *part, int axis, bool *lost)
{
    const int e = part->axis[axis] < 0 ? 0 : part->axis[axis];
    const int64_t n = part->source->n[e];
    bool *theirs = malloc((size_t)n);
    const int64_t count = theirs ? ts_hdf5_stack_unwritten(part->source, e, false, theirs) : 0;
    for (int64_t k = 0; count > 0 && k < part->on[axis].n; k++)
        lost[ts_hdf5_index(&part->on[axis], k)] |=
            part->axis[axis] < 0 ? count == n : theirs[ts_hdf5_index(&part->from[e], k)];
    free(theirs);
}

int64_t ts_hdf5_stack_unwritten(const struct hdf5_stack *stack, int axis, bool any, bool *lost)
{
    const int64_t n = stack->n[axis];
    if (stack->chunk_bytes > 0)
        mark_chunks(stack, axis, any, lost);
    else
        memset(lost, false, (size_t)n);
    for (int64_t i = 0; i < stack->n_parts; i++)
        mark_part(&stack->parts[i], axis, lost);
    return count_lost(lost, n);
}

enum ts_status ts_hdf5_stack_check_lost(const struct hdf5_input *input,
                                        const struct hdf5_stack *stack, const int64_t *map)
{
    int64_t first = 0, n = 0;
    char more[64] = "";
    for (int64_t i = stack->lost ? stack->n[0] : 0; i-- > 0;)
        if (stack->lost[i] && (!map || map[i] >= 0)) {
            first = i;
            n++;
        }
    if (n == 0)
        return TS_OK;
    if (n > 1)
        snprintf(more, sizeof more, " and of %" PRId64 " more", n - 1);
    return ts_hdf5_input_refuse(input, "hdf5-source-missing",
                                "nothing gives the values of index %" PRId64
                                "%s of the first axis of %s",
                                first, more, stack->name);
}
