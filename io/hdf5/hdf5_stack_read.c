/* SPDX-License-Identifier: Apache-2.0
 *
 * Several threads read boxes of a stack, a chunk or some rows each. Rows of the last axis that the
 * result needs as they are in the file are read directly to their places, also from chunks without
 * filters: only what is in the box is read. Other chunks are decoded whole, and their elements
 * moved to their places.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/clamp.h"
#include "io/file/file_bytes.h"
#include "io/hdf5/hdf5_decoder.h"
#include "io/hdf5/hdf5_stack.h"
#include "io/hdf5/hdf5_stack_put.h"

/* PIECE_BYTES: bytes of rows that a thread reads at once. SCRATCH_BYTES: most bytes of the buffers
   of all threads, unless one thread needs more. */
enum { PIECE_BYTES = 1 << 20, SCRATCH_BYTES = 256 << 20 };

/* The buffers of a thread, which are allocated when it first needs them. For chunks that a decoder
   undoes, they are the decoder's. */
struct buffers {
    const struct hdf5_stack *stack; /* the stack for which they were allocated */
    struct hdf5_undoer *undoer;
    struct hdf5_decoder *decoder;
    unsigned char *encoded, *block, *other;
    struct iovec *places;
    struct put_faults faults;
};

struct hdf5_stack_reader {
    const struct hdf5_stack *stack;
    struct pool *readers;
    int n_threads;
    struct buffers *threads;
};

/* One box of a stored dataset while it is read. */
struct reading {
    const struct hdf5_stack *stack;
    const struct hdf5_input *input; /* for messages; each thread has a diag of its own */
    struct hdf5_box box;
    bool takes_rows;
    int64_t n_parts[3]; /* chunks or pieces along each axis */
    /* one more than the number of its last part; parts of all boxes are counted together */
    int64_t end;
};

/* The boxes of stored datasets that make up one box. */
struct readings {
    struct hdf5_stack_reader *reader;
    struct reading *list;
    int64_t n, room;
    int64_t **maps; /* maps that were made for the boxes */
    int64_t n_maps;
    struct put_faults faults; /* of the fill value, if no part gives values */
};

/* What a thread needs to read one part. */
struct part {
    const struct reading *reading;
    struct buffers *buffers;
    struct ts_diag *diag;
};

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Returns true if rows of the last axis are whole and unchanged in the file, each at a known
   place. */
static bool has_plain_rows(const struct hdf5_stack *stack)
{
    return stack->chunk_bytes == 0 ||
           (stack->storage.n_filters == 0 && stack->chunk[2] == stack->n[2]);
}

static int64_t together(const struct hdf5_stack *stack, int axis)
{
    if (has_plain_rows(stack))
        return axis == 2 ? stack->n[2] : 1;
    return stack->chunk[axis] < stack->n[axis] ? stack->chunk[axis] : stack->n[axis];
}

int64_t ts_hdf5_stack_together(const struct hdf5_stack *stack, int axis)
{
    int64_t most = 1;
    if (stack->n_parts == 0)
        return together(stack, axis);
    for (int64_t i = 0; i < stack->n_parts; i++) {
        const struct hdf5_part *part = &stack->parts[i];
        const int64_t n =
            part->axis[axis] < 0 ? 1 : ts_hdf5_stack_together(part->source, part->axis[axis]);
        most = n > most ? n : most;
    }
    return most < stack->n[axis] ? most : stack->n[axis];
}

static size_t row_bytes(const struct hdf5_stack *stack)
{
    return (size_t)stack->n[2] * ts_dtype_bytes(stack->stored);
}

static int64_t rows_at_once(const struct hdf5_stack *stack)
{
    const int64_t rows = (int64_t)(PIECE_BYTES / row_bytes(stack)),
                  most = rows < IOV_MAX ? rows : IOV_MAX;
    return ts_clamp(most, 1, stack->n[1]);
}

/* Returns the bytes of `block`, and of `other`. */
static size_t block_bytes(const struct hdf5_stack *stack)
{
    if (stack->storage.rank < 2 && stack->chunk_bytes == 0) /* a list of numbers is read at once */
        return (size_t)stack->n[0] * ts_dtype_bytes(stack->stored);
    return has_plain_rows(stack) ? (size_t)rows_at_once(stack) * row_bytes(stack)
                                 : ts_hdf5_pipeline_block(&stack->pipeline);
}

static size_t thread_bytes(const struct hdf5_stack *stack)
{
    if (has_plain_rows(stack))
        return block_bytes(stack) + (size_t)rows_at_once(stack) * sizeof(struct iovec);
    return ts_hdf5_pipeline_is_plain(&stack->pipeline)
               ? ts_hdf5_pipeline_bound(&stack->pipeline) + 2 * block_bytes(stack)
               : ts_hdf5_decoder_bytes(&stack->pipeline);
}

/* Returns the most that a thread needs for one of the datasets that hold the values. */
static size_t most_thread_bytes(const struct hdf5_stack *stack)
{
    size_t most = stack->n_parts > 0 ? 1 : thread_bytes(stack);
    for (int64_t i = 0; i < stack->n_sources; i++) {
        const size_t bytes = most_thread_bytes(stack->sources[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Returns how many of the threads can read at once with small buffers. */
static int useful_threads(const struct hdf5_stack *stack, int threads)
{
    const size_t most = SCRATCH_BYTES / most_thread_bytes(stack);
    return (int)ts_clamp((int64_t)most, 1, threads);
}

static size_t table_bytes(const struct hdf5_stack *stack)
{
    size_t bytes =
        stack->chunk_bytes > 0 ? (size_t)stack->storage.n_chunks * sizeof *stack->table : 0;
    for (int64_t i = 0; i < stack->n_sources; i++)
        bytes += table_bytes(stack->sources[i]);
    return bytes + (size_t)stack->n_parts * (sizeof *stack->parts + sizeof(struct reading));
}

size_t ts_hdf5_stack_scratch(const struct hdf5_stack *stack, int threads)
{
    return (size_t)useful_threads(stack, threads) * most_thread_bytes(stack) + table_bytes(stack);
}

/* ---- failures -------------------------------------------------------------------------------- */

static struct hdf5_input input_of(const struct part *part)
{
    struct hdf5_input input = *part->reading->input;
    input.diag = part->diag;
    return input;
}

static enum ts_status damaged(const struct part *part, const int64_t start[3], const char *what)
{
    const struct hdf5_input input = input_of(part);
    return ts_hdf5_input_refuse(&input, "hdf5-damaged",
                                "the chunk at (%" PRId64 ", %" PRId64 ", %" PRId64 ") of %s %s",
                                start[0], start[1], start[2], part->reading->stack->name, what);
}

static enum ts_status unwritten(const struct part *part, const int64_t start[3])
{
    const struct hdf5_input input = input_of(part);
    return ts_hdf5_input_refuse(&input, "hdf5-not-written",
                                "the chunk at (%" PRId64 ", %" PRId64 ", %" PRId64
                                ") of %s was never written",
                                start[0], start[1], start[2], part->reading->stack->name);
}

/* Reports a read that failed. */
static enum ts_status unreadable(const struct part *part)
{
    const int error = errno;
    const struct hdf5_input input = input_of(part);
    return ts_hdf5_input_refuse(&input, "hdf5-unreadable", "%s cannot be read: %s",
                                part->reading->stack->name,
                                error ? ts_errno_text(error) : "the file has become shorter");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Reads rows [j, end) of index i of the first axis, all of which are wanted, directly to their
   places. */
static bool read_to_places(const struct part *part, int64_t i, int64_t j, int64_t end,
                           uint64_t offset)
{
    const struct hdf5_box *box = &part->reading->box;
    const size_t size = ts_dtype_bytes(part->reading->stack->stored),
                 bytes = row_bytes(part->reading->stack);
    const ptrdiff_t at_i = ts_hdf5_box_place(box, 0, i) * box->stride[0];
    struct iovec *places = part->buffers->places;
    int n = 0;
    for (; j < end; j++) {
        const ptrdiff_t at = at_i + ts_hdf5_box_place(box, 1, j) * box->stride[1];
        unsigned char *to = (unsigned char *)box->out + at * (ptrdiff_t)size;
        if (n > 0 && (unsigned char *)places[n - 1].iov_base + places[n - 1].iov_len == to)
            places[n - 1].iov_len += bytes;
        else
            places[n++] = (struct iovec){to, bytes};
    }
    return ts_file_read_to(part->reading->stack->fd, places, n, offset);
}

/* Reads rows [first, end) of index i of the first axis. The first of them is at `offset`. */
static enum ts_status read_rows(const struct part *part, int64_t i, int64_t first, int64_t end,
                                uint64_t offset)
{
    const struct reading *reading = part->reading;
    const struct hdf5_stack *stack = reading->stack;
    const struct hdf5_box *box = &reading->box;
    const int64_t most = rows_at_once(stack);
    for (int64_t j = first, past; j < end; j = past) {
        past = j + 1;
        if (ts_hdf5_box_place(box, 1, j) < 0)
            continue;
        while (past < end && past - j < most && ts_hdf5_box_place(box, 1, past) >= 0)
            past++;
        const uint64_t at = offset + (uint64_t)(j - first) * row_bytes(stack);
        const int64_t start[3] = {i, j, 0}, n[3] = {1, past - j, stack->n[2]};
        const bool done = reading->takes_rows
                              ? read_to_places(part, i, j, past, at)
                              : ts_file_read_at(stack->fd, part->buffers->block,
                                                (size_t)(past - j) * row_bytes(stack), at);
        if (!done)
            return unreadable(part);
        if (!reading->takes_rows)
            ts_hdf5_box_put(stack, box, part->buffers->block, start, n, &part->buffers->faults);
    }
    return TS_OK;
}

/* Reads what the box needs of storage in one piece: rows of one index of the first axis. */
static enum ts_status read_piece(const struct part *part, int64_t number)
{
    const struct reading *reading = part->reading;
    const struct hdf5_stack *stack = reading->stack;
    const struct hdf5_box *box = &reading->box;
    const int64_t i = box->first[0] + number / reading->n_parts[1], most = rows_at_once(stack),
                  first = box->first[1] + number % reading->n_parts[1] * most,
                  end = first + most < box->end[1] ? first + most : box->end[1];
    if (ts_hdf5_box_place(box, 0, i) < 0)
        return TS_OK;
    return read_rows(part, i, first, end,
                     (uint64_t)stack->storage.offset +
                         (uint64_t)(i * stack->n[1] + first) * row_bytes(stack));
}

/* Reads all of a list of numbers, or values that came with the description. */
static enum ts_status read_small(const struct part *part)
{
    const struct hdf5_stack *stack = part->reading->stack;
    const int64_t start[3] = {0};
    const void *values = stack->compact ? stack->compact : part->buffers->block;
    if (!stack->compact &&
        !ts_file_read_at(stack->fd, part->buffers->block, (size_t)stack->n[0] * row_bytes(stack),
                         (uint64_t)stack->storage.offset))
        return unreadable(part);
    ts_hdf5_box_put(stack, &part->reading->box, values, start, stack->n, &part->buffers->faults);
    return TS_OK;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* Returns the filters that this chunk skips; a file may leave partial chunks at the edges
   unfiltered. */
static uint32_t skipped_filters(const struct hdf5_stack *stack, const struct storage_chunk *chunk,
                                const int64_t start[3])
{
    bool whole = true;
    for (int d = 0; d < 3; d++)
        whole = whole && start[d] + stack->chunk[d] <= stack->n[d];
    return stack->storage.edges_unfiltered && !whole ? UINT32_MAX : chunk->skipped;
}

/* Undoes the filters, from `encoded` to `block`. */
static enum ts_status decode(const struct part *part, const struct storage_chunk *chunk,
                             const int64_t start[3])
{
    const struct hdf5_pipeline *pipeline = &part->reading->stack->pipeline;
    const uint32_t skipped = skipped_filters(part->reading->stack, chunk, start);
    struct buffers *buffers = part->buffers;
    char what[320] = "is damaged";
    enum ts_status status = TS_OK;
    if (buffers->decoder)
        status = ts_hdf5_decoder_undo(buffers->decoder, chunk->bytes, skipped, what, sizeof what,
                                      part->diag);
    else if (!ts_hdf5_pipeline_undo(pipeline, buffers->undoer, buffers->encoded, chunk->bytes,
                                    skipped, buffers->block, buffers->other))
        status = TS_BAD_INPUT;
    return status == TS_BAD_INPUT ? damaged(part, start, what) : status;
}

static enum ts_status read_encoded(const struct part *part, const struct storage_chunk *chunk,
                                   const int64_t start[3])
{
    const struct hdf5_stack *stack = part->reading->stack;
    struct buffers *buffers = part->buffers;
    if (chunk->bytes > ts_hdf5_pipeline_bound(&stack->pipeline))
        return damaged(part, start, "is damaged: it is stored in more bytes than it has");
    if (!ts_file_read_at(stack->fd, buffers->encoded, chunk->bytes, chunk->offset))
        return unreadable(part);
    const enum ts_status status = decode(part, chunk, start);
    if (status == TS_OK)
        ts_hdf5_box_put(stack, &part->reading->box, buffers->block, start, stack->chunk,
                        &buffers->faults);
    return status;
}

/* Reads the rows of a chunk without filters that are in the box. */
static enum ts_status read_plain(const struct part *part, const struct storage_chunk *chunk,
                                 const int64_t start[3])
{
    const struct hdf5_stack *stack = part->reading->stack;
    const struct hdf5_box *box = &part->reading->box;
    int64_t first[2], end[2];
    enum ts_status status = TS_OK;
    if (chunk->bytes != stack->chunk_bytes)
        return damaged(part, start, "is damaged");
    for (int d = 0; d < 2; d++) {
        first[d] = start[d] > box->first[d] ? start[d] : box->first[d];
        end[d] =
            start[d] + stack->chunk[d] < box->end[d] ? start[d] + stack->chunk[d] : box->end[d];
    }
    for (int64_t i = first[0]; status == TS_OK && i < end[0]; i++)
        if (ts_hdf5_box_place(box, 0, i) >= 0)
            status = read_rows(
                part, i, first[1], end[1],
                chunk->offset + (uint64_t)((i - start[0]) * stack->chunk[1] + first[1] - start[1]) *
                                    row_bytes(stack));
    return status;
}

/* Returns true if the maps keep any index of the chunk. */
static bool is_wanted(const struct reading *reading, const int64_t start[3])
{
    const struct hdf5_box *box = &reading->box;
    for (int d = 0; d < 3; d++) {
        int64_t i = start[d] > box->first[d] ? start[d] : box->first[d];
        const int64_t past = start[d] + reading->stack->chunk[d],
                      end = past < box->end[d] ? past : box->end[d];
        while (i < end && ts_hdf5_box_place(box, d, i) < 0)
            i++;
        if (i >= end)
            return false;
    }
    return true;
}

static enum ts_status read_chunk(const struct part *part, int64_t number)
{
    const struct reading *reading = part->reading;
    const struct hdf5_stack *stack = reading->stack;
    int64_t start[3];
    for (int d = 2; d >= 0; d--) {
        start[d] = (reading->box.first[d] / stack->chunk[d] + number % reading->n_parts[d]) *
                   stack->chunk[d];
        number /= reading->n_parts[d];
    }
    if (!is_wanted(reading, start))
        return TS_OK;
    const struct storage_chunk *chunk =
        &stack->table[ts_hdf5_storage_chunk_at(&stack->storage, start)];
    if (chunk->bytes == 0)
        return unwritten(part, start);
    return has_plain_rows(stack) ? read_plain(part, chunk, start)
                                 : read_encoded(part, chunk, start);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static enum ts_status allocate_rows(const struct hdf5_stack *stack, struct buffers *buffers,
                                    struct ts_diag *diag)
{
    buffers->block = malloc(block_bytes(stack));
    buffers->places = malloc((size_t)rows_at_once(stack) * sizeof *buffers->places);
    return buffers->block && buffers->places ? TS_OK : ts_diag_no_memory(diag, thread_bytes(stack));
}

static enum ts_status allocate_decoder(const struct hdf5_stack *stack, struct buffers *buffers,
                                       struct ts_diag *diag)
{
    const enum ts_status status =
        ts_hdf5_decoder_create(stack->sandbox, &stack->pipeline, &buffers->decoder, diag);
    if (status != TS_OK)
        return status;
    buffers->encoded = ts_hdf5_decoder_encoded(buffers->decoder);
    buffers->block = ts_hdf5_decoder_block(buffers->decoder);
    return TS_OK;
}

static enum ts_status allocate(const struct hdf5_stack *stack, struct buffers *buffers,
                               struct ts_diag *diag)
{
    if (has_plain_rows(stack))
        return allocate_rows(stack, buffers, diag);
    if (!ts_hdf5_pipeline_is_plain(&stack->pipeline))
        return allocate_decoder(stack, buffers, diag);
    buffers->block = malloc(block_bytes(stack));
    buffers->encoded = malloc(ts_hdf5_pipeline_bound(&stack->pipeline));
    buffers->other = malloc(block_bytes(stack));
    buffers->undoer = ts_hdf5_undoer_create();
    return buffers->block && buffers->encoded && buffers->other && buffers->undoer
               ? TS_OK
               : ts_diag_no_memory(diag, thread_bytes(stack));
}

static void release(struct buffers *buffers)
{
    if (!buffers->decoder) {
        free(buffers->encoded);
        free(buffers->block);
    }
    free(buffers->other);
    free(buffers->places);
    ts_hdf5_undoer_destroy(buffers->undoer);
    ts_hdf5_decoder_destroy(buffers->decoder);
    *buffers = (struct buffers){0};
}

static bool is_small(const struct hdf5_stack *stack)
{
    return stack->chunk_bytes == 0 && (stack->compact || stack->storage.rank < 2);
}

/* Returns true if buffers for one stack can be used for the other. */
static bool are_alike(const struct hdf5_stack *a, const struct hdf5_stack *b)
{
    return a == b || (!is_small(a) && !is_small(b) && has_plain_rows(a) == has_plain_rows(b) &&
                      block_bytes(a) == block_bytes(b) && rows_at_once(a) == rows_at_once(b) &&
                      memcmp(&a->pipeline, &b->pipeline, sizeof a->pipeline) == 0);
}

/* Makes the thread's buffers fit the stack. */
static enum ts_status fit_buffers(const struct hdf5_stack *stack, struct buffers *buffers,
                                  struct ts_diag *diag)
{
    const struct put_faults faults = buffers->faults;
    if (buffers->block && are_alike(buffers->stack, stack))
        return TS_OK;
    release(buffers);
    const enum ts_status status = allocate(stack, buffers, diag);
    if (status != TS_OK)
        release(buffers);
    buffers->stack = stack;
    buffers->faults = faults;
    return status;
}

static enum ts_status read_part(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct readings *readings = user;
    int64_t low = 0, high = readings->n - 1;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (i < readings->list[middle].end)
            high = middle;
        else
            low = middle + 1;
    }
    const struct reading *reading = &readings->list[low];
    const struct hdf5_stack *stack = reading->stack;
    const struct part part = {reading, &readings->reader->threads[thread], diag};
    const enum ts_status status = fit_buffers(stack, part.buffers, diag);
    if (status != TS_OK)
        return status;
    i -= low > 0 ? readings->list[low - 1].end : 0;
    if (is_small(stack))
        return read_small(&part);
    return stack->chunk_bytes > 0 ? read_chunk(&part, i) : read_piece(&part, i);
}

/* Counts the chunks or pieces of the box along each axis. */
static void count_parts(struct reading *reading)
{
    const struct hdf5_stack *stack = reading->stack;
    const struct hdf5_box *box = &reading->box;
    for (int d = 0; d < 3; d++) {
        const int64_t step = d == 1 ? rows_at_once(stack) : 1, chunk = stack->chunk[d];
        if (is_small(stack) || (stack->chunk_bytes == 0 && d == 2))
            reading->n_parts[d] = 1;
        else if (stack->chunk_bytes > 0)
            reading->n_parts[d] = (box->end[d] + chunk - 1) / chunk - box->first[d] / chunk;
        else
            reading->n_parts[d] = (box->end[d] - box->first[d] + step - 1) / step;
    }
}

/* ---- virtual datasets ------------------------------------------------------------------------ */

/* Adds the box of a stored dataset. */
static enum ts_status add_reading(struct readings *readings, const struct hdf5_stack *stack,
                                  const struct hdf5_input *input, const struct hdf5_box *box)
{
    if (readings->n == readings->room) {
        const int64_t room = 2 * readings->room + 1;
        struct reading *grown = realloc(readings->list, (size_t)room * sizeof *grown);
        if (!grown)
            return ts_diag_no_memory(input->diag, (size_t)room * sizeof *grown);
        readings->list = grown;
        readings->room = room;
    }
    struct reading *added = &readings->list[readings->n];
    *added = (struct reading){.stack = stack,
                              .input = input,
                              .box = *box,
                              .takes_rows = ts_hdf5_box_takes_rows(stack, box)};
    count_parts(added);
    added->end = (readings->n > 0 ? added[-1].end : 0) +
                 added->n_parts[0] * added->n_parts[1] * added->n_parts[2];
    readings->n++;
    return TS_OK;
}

/* Returns a map of n indices, all left out, which lives as long as the readings. */
static int64_t *add_map(struct readings *readings, size_t n)
{
    int64_t **grown = realloc(readings->maps, (size_t)(readings->n_maps + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    readings->maps = grown;
    int64_t *map = malloc(n * sizeof *map);
    if (map) {
        memset(map, 0xFF, n * sizeof *map); /* -1 */
        readings->maps[readings->n_maps++] = map;
    }
    return map;
}

/* Maps indices k0 to k1 - 1 of an axis of the part to their places in the box of the virtual
   dataset. */
static bool map_axis(struct readings *readings, const struct hdf5_part *part, int d, int64_t k0,
                     int64_t k1, const struct hdf5_box *box, struct hdf5_box *from,
                     ptrdiff_t *offset)
{
    const int e = part->axis[d];
    const struct hdf5_indices *on = &part->on[d], *source = &part->from[e];
    const int64_t first = ts_hdf5_index(source, k0), end = ts_hdf5_index(source, k1 - 1) + 1;
    const int64_t difference = ts_hdf5_index(on, k0) - first;
    from->first[e] = first;
    from->end[e] = end;
    from->stride[e] = box->stride[d];
    if (k1 - k0 == 1 || (ts_hdf5_indices_follow(on) && ts_hdf5_indices_follow(source))) {
        from->map[e] = box->map[d];
        from->shift[e] = box->shift[d] + difference;
        if (!box->map[d])
            *offset += (first + difference - box->first[d]) * box->stride[d];
        return true;
    }
    int64_t *map = add_map(readings, (size_t)(end - first));
    if (!map)
        return false;
    for (int64_t k = k0; k < k1; k++)
        map[ts_hdf5_index(source, k) - first] = ts_hdf5_box_place(box, d, ts_hdf5_index(on, k));
    from->map[e] = map;
    from->shift[e] = -first;
    return true;
}

static enum ts_status add_stack(struct readings *readings, const struct hdf5_stack *stack,
                                const struct hdf5_input *input, const struct hdf5_box *box);

/* Adds what the box needs of one part of a virtual dataset. */
static enum ts_status add_part(struct readings *readings, const struct hdf5_stack *stack,
                               const struct hdf5_part *part, const struct hdf5_input *input,
                               const struct hdf5_box *box)
{
    struct hdf5_box from = {.rounding = NULL, .doubles = box->doubles};
    ptrdiff_t offset = 0;
    bool wanted = true, done = true;
    for (int e = 0; e < 3; e++) {
        from.first[e] = part->from[e].start;
        from.end[e] = from.first[e] + 1;
    }
    for (int d = 0; d < 3 && wanted && done; d++) {
        const int64_t k0 = ts_hdf5_indices_below(&part->on[d], box->first[d]),
                      k1 = ts_hdf5_indices_below(&part->on[d], box->end[d]);
        wanted = k0 < k1;
        if (wanted && part->axis[d] >= 0)
            done = map_axis(readings, part, d, k0, k1, box, &from, &offset);
        if (!wanted || part->axis[d] >= 0)
            continue;
        const int64_t place = ts_hdf5_box_place(box, d, part->on[d].start);
        wanted = place >= 0;
        offset += place * box->stride[d];
    }
    const size_t size = box->doubles ? sizeof(double) : ts_dtype_bytes(stack->dtype);
    from.out = (unsigned char *)box->out + offset * (ptrdiff_t)size;
    if (!done)
        return ts_diag_no_memory(input->diag, sizeof from);
    return wanted ? add_stack(readings, part->source, input, &from) : TS_OK;
}

/* Fills the whole box with the fill value; the parts come later. */
static enum ts_status fill_gaps(struct readings *readings, const struct hdf5_stack *stack,
                                const struct hdf5_input *input, const struct hdf5_box *box)
{
    const size_t bytes = ts_dtype_bytes(stack->stored), n = (size_t)stack->n[2];
    unsigned char *row = malloc(n * bytes);
    if (!row)
        return ts_diag_no_memory(input->diag, n * bytes);
    for (size_t i = 0; i < n; i++)
        memcpy(row + i * bytes, stack->fill, bytes);
    for (int64_t i = box->first[0]; i < box->end[0]; i++)
        for (int64_t j = box->first[1]; j < box->end[1]; j++)
            ts_hdf5_box_put(stack, box, row, (const int64_t[]){i, j, 0},
                            (const int64_t[]){1, 1, stack->n[2]}, &readings->faults);
    free(row);
    return TS_OK;
}

/* Adds the box of a dataset, or those of its sources. */
static enum ts_status add_stack(struct readings *readings, const struct hdf5_stack *stack,
                                const struct hdf5_input *input, const struct hdf5_box *box)
{
    if (stack->n_parts == 0)
        return add_reading(readings, stack, input, box);
    for (int64_t i = box->first[0]; stack->lost && i < box->end[0]; i++)
        if (stack->lost[i] && ts_hdf5_box_place(box, 0, i) >= 0)
            return ts_hdf5_stack_check_lost(input, stack, NULL);
    enum ts_status status = stack->has_gaps ? fill_gaps(readings, stack, input, box) : TS_OK;
    for (int64_t i = 0; i < stack->n_parts && status == TS_OK; i++)
        status = add_part(readings, stack, &stack->parts[i], input, box);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void join_faults(struct put_faults *all, const struct put_faults *faults)
{
    all->overflow |= faults->overflow;
    all->inexact |= faults->inexact;
    ts_rounding_join(&all->rounding, &faults->rounding);
}

enum ts_status ts_hdf5_stack_read(struct hdf5_stack_reader *reader, const struct hdf5_input *input,
                                  const struct hdf5_box *box)
{
    const struct hdf5_stack *stack = reader->stack;
    struct readings readings = {.reader = reader};
    enum ts_status status = add_stack(&readings, stack, input, box);
    if (status == TS_OK && readings.n > 0)
        status = ts_pool_run(reader->readers, reader->n_threads, readings.list[readings.n - 1].end,
                             read_part, &readings, input->diag);
    for (int64_t i = 0; i < readings.n_maps; i++)
        free(readings.maps[i]);
    free(readings.maps);
    free(readings.list);
    struct put_faults faults = readings.faults;
    for (int t = 0; t < reader->n_threads; t++) {
        join_faults(&faults, &reader->threads[t].faults);
        reader->threads[t].faults = (struct put_faults){0};
    }
    if (box->rounding)
        *box->rounding = faults.rounding;
    if (status == TS_OK && faults.overflow)
        status = ts_hdf5_input_refuse(
            input, "hdf5-range", "%s holds values past the range of 32-bit floats", stack->name);
    if (status == TS_OK && faults.inexact)
        status = ts_hdf5_input_refuse(
            input, "hdf5-range",
            "%s holds integers past 2^53 that a 64-bit float does not hold exactly", stack->name);
    return status;
}

struct hdf5_stack_reader *ts_hdf5_stack_reader_create(const struct hdf5_stack *stack,
                                                      struct pool *readers)
{
    struct hdf5_stack_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    *reader =
        (struct hdf5_stack_reader){.stack = stack,
                                   .readers = readers,
                                   .n_threads = useful_threads(stack, ts_pool_threads(readers))};
    reader->threads = calloc((size_t)reader->n_threads, sizeof *reader->threads);
    if (reader->threads)
        return reader;
    free(reader);
    return NULL;
}

void ts_hdf5_stack_reader_destroy(struct hdf5_stack_reader *reader)
{
    for (int t = 0; reader && t < reader->n_threads; t++)
        release(&reader->threads[t]);
    if (reader)
        free(reader->threads);
    free(reader);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Reads the numbers of an open list. */
static enum ts_status read_numbers(struct hdf5_input *input, struct hdf5_stack *stack, int64_t most,
                                   double **values)
{
    const int64_t count = stack->n[0] * stack->n[1] * stack->n[2]; /* as check_sizes knows */
    if (count > most)
        return ts_hdf5_input_refuse(input, "hdf5-size",
                                    "%s has %" PRId64 " values, expected at most %" PRId64,
                                    stack->name, count, most);
    enum ts_status status = ts_hdf5_stack_locate(input, stack);
    if (status != TS_OK)
        return status;
    *values = ts_arena_alloc(input->arena, (size_t)count * sizeof **values);
    if (!*values)
        return ts_diag_no_memory(input->diag, (size_t)count * sizeof **values);
    const struct hdf5_box box = {.end = {stack->n[0], stack->n[1], stack->n[2]},
                                 .stride = {stack->n[1] * stack->n[2], stack->n[2], 1},
                                 .out = *values,
                                 .doubles = true};
    struct pool *readers = ts_pool_create(1);
    struct hdf5_stack_reader *reader = readers ? ts_hdf5_stack_reader_create(stack, readers) : NULL;
    status = reader ? ts_hdf5_stack_read(reader, input, &box)
                    : ts_diag_no_memory(input->diag, sizeof box);
    ts_hdf5_stack_reader_destroy(reader);
    ts_pool_destroy(readers);
    return status;
}

static enum ts_status read_list(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                const char *name, int64_t columns, int64_t most, double **values,
                                int64_t *n)
{
    struct hdf5_stack stack;
    *values = NULL;
    *n = 0;
    if (dataset->kind == FINDER_NONE)
        return TS_OK;
    enum ts_status status = ts_hdf5_stack_open(input, dataset, name, columns > 1 ? 2 : 1, &stack);
    if (status == TS_OK && columns > 1 && stack.n[1] != columns)
        status = ts_hdf5_input_refuse(input, "hdf5-size",
                                      "%s has %" PRId64 " columns, expected %" PRId64, stack.name,
                                      stack.n[1], columns);
    if (status == TS_OK && columns == 1 && stack.has_gaps)
        status = ts_hdf5_input_refuse(input, "hdf5-source-missing",
                                      "nothing gives some of the values of %s", stack.name);
    if (status == TS_OK)
        status = read_numbers(input, &stack, most, values);
    *n = columns > 1 ? stack.n[0] : stack.n[0] * stack.n[1] * stack.n[2];
    ts_hdf5_stack_close(&stack);
    return status;
}

enum ts_status ts_hdf5_stack_list(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                  const char *name, int64_t most, double **values, int64_t *n)
{
    return read_list(input, dataset, name, 1, most, values, n);
}

enum ts_status ts_hdf5_stack_vectors(struct hdf5_input *input, const struct hdf5_ref *from,
                                     const char *path, int64_t columns, int64_t most,
                                     double **values, int64_t *n)
{
    struct hdf5_ref dataset;
    *values = NULL;
    *n = 0;
    enum ts_status status = ts_hdf5_input_find(input, from, path, &dataset);
    if (status == TS_OK)
        status = read_list(input, &dataset, path, columns, most, values, n);
    ts_hdf5_input_release(input, &dataset);
    return status;
}

enum ts_status ts_hdf5_stack_numbers(struct hdf5_input *input, const struct hdf5_ref *from,
                                     const char *path, int64_t most, double **values, int64_t *n)
{
    return ts_hdf5_stack_vectors(input, from, path, 1, most, values, n);
}
