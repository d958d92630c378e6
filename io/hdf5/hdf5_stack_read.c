/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of a stack: block by block (a chunk, or one index of the first axis of what is not chunked), each scattered to
 * its place with the byte order and type changed on the way.
 */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/chunks.h"
#include "io/file/file_bytes.h"
#include "io/hdf5/hdf5_stack.h"

struct reading {
    const struct hdf5_input *input;
    const struct hdf5_stack *stack;
    const struct hdf5_box *box;
    bool overflow, inexact;
    struct libdeflate_decompressor *decompressor;
    unsigned char *encoded, *block, *other;
    size_t encoded_bytes, block_bytes; /* of the buffers */
};

/* ---- a block to its place ------------------------------------------------------------------------ */

#define SWAP_8(bits) (bits)
#define SWAP_16(bits) __builtin_bswap16(bits)
#define SWAP_32(bits) __builtin_bswap32(bits)
#define SWAP_64(bits) __builtin_bswap64(bits)

#define PUT_ROW(name, type, size, out_type)                                                                            \
    static void put_##name(void *out, ptrdiff_t stride, const unsigned char *in, int64_t n, bool swapped)              \
    {                                                                                                                  \
        out_type *to = out;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            uint##size##_t bits;                                                                                       \
            type value;                                                                                                \
            memcpy(&bits, in + (size_t)i * sizeof bits, sizeof bits);                                                  \
            bits = swapped ? SWAP_##size(bits) : bits;                                                                 \
            memcpy(&value, &bits, sizeof value);                                                                       \
            to[i * stride] = (out_type)value;                                                                          \
        }                                                                                                              \
    }
PUT_ROW(bits8, uint8_t, 8, uint8_t)
PUT_ROW(bits16, uint16_t, 16, uint16_t)
PUT_ROW(bits32, uint32_t, 32, uint32_t)
PUT_ROW(narrow, double, 64, float)
PUT_ROW(u8_f64, uint8_t, 8, double)
PUT_ROW(i8_f64, int8_t, 8, double)
PUT_ROW(u16_f64, uint16_t, 16, double)
PUT_ROW(i16_f64, int16_t, 16, double)
PUT_ROW(u32_f64, uint32_t, 32, double)
PUT_ROW(i32_f64, int32_t, 32, double)
PUT_ROW(f32_f64, float, 32, double)
PUT_ROW(f64_f64, double, 64, double)
PUT_ROW(u64_f64, uint64_t, 64, double)
PUT_ROW(i64_f64, int64_t, 64, double)

typedef void put_row(void *out, ptrdiff_t stride, const unsigned char *in, int64_t n, bool swapped);

static put_row *row_function(const struct hdf5_stack *stack, bool doubles)
{
    static put_row *const same[] = {
        [TS_U8] = put_bits8,   [TS_I8] = put_bits8,   [TS_U16] = put_bits16, [TS_I16] = put_bits16,
        [TS_U32] = put_bits32, [TS_I32] = put_bits32, [TS_F32] = put_bits32, [TS_F64] = put_narrow};
    static put_row *const wide[] = {[TS_U8] = put_u8_f64,   [TS_I8] = put_i8_f64,   [TS_U16] = put_u16_f64,
                                    [TS_I16] = put_i16_f64, [TS_U32] = put_u32_f64, [TS_I32] = put_i32_f64,
                                    [TS_F32] = put_f32_f64, [TS_F64] = put_f64_f64, [TS_U64] = put_u64_f64};
    if (stack->stored == TS_U64 && stack->storage.has_sign)
        return put_i64_f64;
    return doubles ? wide[stack->stored] : same[stack->stored];
}

/* Returns the bits of element i of 64 bits. */
static uint64_t bits_at(const unsigned char *in, int64_t i, bool swapped)
{
    uint64_t bits;
    memcpy(&bits, in + (size_t)i * sizeof bits, sizeof bits);
    return swapped ? __builtin_bswap64(bits) : bits;
}

/* Returns true where narrowing makes an infinity of what is none. */
static bool overflows(const unsigned char *in, int64_t n, bool swapped)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t bits = bits_at(in, i, swapped);
        double value;
        memcpy(&value, &bits, sizeof value);
        found |= isfinite(value) && !isfinite((float)value);
    }
    return found;
}

/* Returns true where an integer of 64 bits has more significant bits than a double holds. */
static bool loses_bits(const struct hdf5_stack *stack, const unsigned char *in, int64_t n)
{
    bool found = false;
    for (int64_t i = 0; i < n; i++) {
        uint64_t bits = bits_at(in, i, stack->swapped);
        if (stack->storage.has_sign && bits >> 63)
            bits = -bits;
        found |= bits != 0 && bits >> __builtin_ctzll(bits) >> DBL_MANT_DIG != 0;
    }
    return found;
}

/* Returns the place of index i of axis d in the result, or -1 where it is left out. */
static int64_t place_of(const struct hdf5_box *box, int d, int64_t i)
{
    const int64_t from_first = i - box->first[d];
    return box->map && d == box->map_axis ? box->map[i] : from_first;
}

/* Puts one row of the last axis, [first, end), stored at `in`, into the box. */
static void put_last(struct reading *reading, const unsigned char *in, ptrdiff_t at, int64_t first, int64_t end)
{
    const struct hdf5_box *box = reading->box;
    const struct hdf5_stack *stack = reading->stack;
    const size_t stored = ts_dtype_bytes(stack->stored),
                 size = box->doubles ? sizeof(double) : ts_dtype_bytes(stack->dtype);
    put_row *put = row_function(stack, box->doubles);
    if (stack->stored == TS_U64)
        reading->inexact |= loses_bits(stack, in, end - first);
    if (stack->stored == TS_F64 && !box->doubles)
        reading->overflow |= overflows(in, end - first, stack->swapped);
    if (!box->map || box->map_axis != 2) {
        at += (first - box->first[2]) * box->stride[2];
        put((unsigned char *)box->out + at * (ptrdiff_t)size, box->stride[2], in, end - first, stack->swapped);
        return;
    }
    for (int64_t i = first; i < end; i++, in += stored)
        if (box->map[i] >= 0)
            put((unsigned char *)box->out + (at + box->map[i] * box->stride[2]) * (ptrdiff_t)size, 1, in, 1,
                stack->swapped);
}

/* Copies the part of a block that lies in the box. The block starts at `start` and has n[d] elements along each
 * axis. */
static void put_block(struct reading *reading, const int64_t start[3], const int64_t n[3])
{
    const struct hdf5_box *box = reading->box;
    const size_t stored = ts_dtype_bytes(reading->stack->stored);
    int64_t first[3], end[3];
    for (int d = 0; d < 3; d++) {
        first[d] = start[d] > box->first[d] ? start[d] : box->first[d];
        end[d] = start[d] + n[d] < box->end[d] ? start[d] + n[d] : box->end[d];
    }
    for (int64_t i = first[0]; i < end[0]; i++) {
        const int64_t place_i = place_of(box, 0, i);
        for (int64_t j = first[1]; place_i >= 0 && j < end[1]; j++) {
            const int64_t place_j = place_of(box, 1, j);
            if (place_j < 0)
                continue;
            const int64_t index = ((i - start[0]) * n[1] + (j - start[1])) * n[2] + (first[2] - start[2]);
            put_last(reading, reading->block + (size_t)index * stored,
                     place_i * box->stride[0] + place_j * box->stride[1], first[2], end[2]);
        }
    }
}

/* ---- chunks ------------------------------------------------------------------------------------ */

static enum ts_status damaged(const struct reading *reading, const int64_t start[3], const char *what)
{
    return ts_hdf5_input_refuse(reading->input, "hdf5-damaged",
                                "the chunk at (%" PRId64 ", %" PRId64 ", %" PRId64 ") of %s %s", start[0], start[1],
                                start[2], reading->stack->name, what);
}

/* Reports a read that failed. */
static enum ts_status unreadable(const struct reading *reading)
{
    return ts_hdf5_input_refuse(reading->input, "hdf5-unreadable", "%s cannot be read: %s", reading->stack->name,
                                errno ? strerror(errno) : "the file has become shorter");
}

/* Takes the chunk as it is stored. */
static enum ts_status fetch(struct reading *reading, const int64_t start[3], size_t *bytes, uint32_t *skipped)
{
    const struct hdf5_stack *stack = reading->stack;
    const struct storage_chunk *chunk = &stack->table[ts_hdf5_storage_chunk_at(&stack->storage, start)];
    *bytes = chunk->bytes;
    *skipped = chunk->skipped;
    if (chunk->bytes == 0)
        return damaged(reading, start, "was never written");
    if (chunk->bytes > reading->encoded_bytes)
        return damaged(reading, start, "is damaged: it is stored in more bytes than it has");
    return ts_file_read_at(stack->fd, reading->encoded, chunk->bytes, chunk->offset) ? TS_OK : unreadable(reading);
}

/* Undoes the filters, last one first, from `encoded` to `block`. False where the chunk is damaged. */
static bool decode(struct reading *reading, size_t bytes, uint32_t skipped)
{
    const struct hdf5_stack *stack = reading->stack;
    const struct storage_filter *filters = stack->storage.filters;
    unsigned char *at = reading->encoded;
    for (int i = stack->storage.n_filters - 1; i >= 0; i--) {
        size_t expected = stack->chunk_bytes;
        unsigned char *next = at == reading->block ? reading->other : reading->block;
        if (skipped >> i & 1)
            continue;
        for (int j = 0; j < i; j++)
            expected += filters[j].id == H5Z_FILTER_FLETCHER32 && !(skipped >> j & 1) ? CHUNK_CHECKSUM_BYTES : 0;
        if (filters[i].id == H5Z_FILTER_FLETCHER32) {
            if (!ts_chunk_is_intact(at, bytes))
                return false;
            bytes -= CHUNK_CHECKSUM_BYTES;
            continue;
        }
        if (filters[i].id == H5Z_FILTER_DEFLATE) {
            /* There is no length out, because the stream must fill the chunk exactly. */
            if (libdeflate_zlib_decompress(reading->decompressor, at, bytes, next, expected, NULL) !=
                LIBDEFLATE_SUCCESS)
                return false;
            bytes = expected;
        } else {
            const size_t width = ts_dtype_bytes(stack->stored), n = bytes / width;
            if (bytes > reading->block_bytes)
                return false;
            ts_chunk_unshuffle(next, at, n, width);
            memcpy(next + n * width, at + n * width, bytes - n * width);
        }
        at = next;
    }
    if (bytes != stack->chunk_bytes)
        return false;
    if (at == reading->other) {
        reading->other = reading->block;
        reading->block = at;
    } else if (at == reading->encoded) {
        memcpy(reading->block, at, bytes);
    }
    return true;
}

/* Returns true where the map keeps any index of the chunk. */
static bool is_wanted(const struct reading *reading, const int64_t start[3])
{
    const struct hdf5_box *box = reading->box;
    const int d = box->map_axis;
    if (!box->map)
        return true;
    for (int64_t i = start[d]; i < start[d] + reading->stack->chunk[d] && i < reading->stack->n[d]; i++)
        if (box->map[i] >= 0)
            return true;
    return false;
}

static enum ts_status read_chunks(struct reading *reading)
{
    const struct hdf5_box *box = reading->box;
    const int64_t *chunk = reading->stack->chunk;
    int64_t start[3];
    size_t bytes = 0;
    uint32_t skipped = 0;
    for (start[0] = box->first[0] / chunk[0] * chunk[0]; start[0] < box->end[0]; start[0] += chunk[0])
        for (start[1] = box->first[1] / chunk[1] * chunk[1]; start[1] < box->end[1]; start[1] += chunk[1])
            for (start[2] = box->first[2] / chunk[2] * chunk[2]; start[2] < box->end[2]; start[2] += chunk[2]) {
                if (!is_wanted(reading, start))
                    continue;
                const enum ts_status status = fetch(reading, start, &bytes, &skipped);
                if (status != TS_OK)
                    return status;
                if (!decode(reading, bytes, skipped))
                    return damaged(reading, start, "is damaged");
                put_block(reading, start, chunk);
            }
    return TS_OK;
}

/* ---- storage in one piece ------------------------------------------------------------------------ */

/* Whole rows of the last axis: n elements of one index of the first axis, or of a list. */
static enum ts_status read_piece(struct reading *reading, const int64_t start[3], const int64_t n[3])
{
    const struct hdf5_stack *stack = reading->stack;
    const size_t size = ts_dtype_bytes(stack->stored), bytes = (size_t)(n[0] * n[1] * n[2]) * size;
    const size_t offset = (size_t)((start[0] * stack->n[1] + start[1]) * stack->n[2]) * size;
    if (stack->compact)
        memcpy(reading->block, (const unsigned char *)stack->compact + offset, bytes);
    else if (!ts_file_read_at(stack->fd, reading->block, bytes, (uint64_t)stack->storage.offset + offset))
        return unreadable(reading);
    put_block(reading, start, n);
    return TS_OK;
}

static enum ts_status read_pieces(struct reading *reading)
{
    const struct hdf5_box *box = reading->box;
    const int64_t n[3] = {1, box->end[1] - box->first[1], reading->stack->n[2]};
    enum ts_status status = TS_OK;
    if (reading->stack->storage.rank < 2) { /* a list of numbers: at once */
        const int64_t all[3] = {box->end[0] - box->first[0], 1, 1};
        return read_piece(reading, box->first, all);
    }
    for (int64_t i = box->first[0]; status == TS_OK && i < box->end[0]; i++) {
        const int64_t start[3] = {i, box->first[1], 0};
        if (place_of(box, 0, i) >= 0)
            status = read_piece(reading, start, n);
    }
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static size_t encoded_bound(const struct hdf5_stack *stack)
{
    return libdeflate_zlib_compress_bound(NULL, stack->chunk_bytes) + STACK_FILTERS * CHUNK_CHECKSUM_BYTES;
}

size_t ts_hdf5_stack_scratch(const struct hdf5_stack *stack)
{
    if (stack->chunk_bytes == 0)
        return (size_t)stack->n[1] * (size_t)stack->n[2] * ts_dtype_bytes(stack->stored);
    return encoded_bound(stack) + 2 * (stack->chunk_bytes + STACK_FILTERS * CHUNK_CHECKSUM_BYTES) +
           (size_t)stack->storage.n_chunks * sizeof *stack->table;
}

enum ts_status ts_hdf5_stack_read(const struct hdf5_input *input, const struct hdf5_stack *stack,
                                  const struct hdf5_box *box)
{
    struct reading reading = {.input = input, .stack = stack, .box = box};
    const bool chunked = stack->chunk_bytes > 0;
    if (chunked) {
        reading.block_bytes = stack->chunk_bytes + STACK_FILTERS * CHUNK_CHECKSUM_BYTES;
        reading.encoded_bytes = encoded_bound(stack);
        reading.encoded = malloc(reading.encoded_bytes);
        reading.other = malloc(reading.block_bytes);
        reading.decompressor = libdeflate_alloc_decompressor();
    } else {
        const int64_t n = stack->storage.rank < 2 ? box->end[0] - box->first[0] : 1;
        reading.block_bytes = (size_t)(n * (box->end[1] - box->first[1]) * stack->n[2]) * ts_dtype_bytes(stack->stored);
    }
    reading.block = malloc(reading.block_bytes);
    enum ts_status status;
    if (!reading.block || (chunked && (!reading.encoded || !reading.other || !reading.decompressor)))
        status = ts_diag_no_memory(input->diag, ts_hdf5_stack_scratch(stack));
    else
        status = chunked ? read_chunks(&reading) : read_pieces(&reading);
    if (status == TS_OK && reading.overflow)
        status =
            ts_hdf5_input_refuse(input, "hdf5-range", "%s holds values past the range of 32-bit floats", stack->name);
    if (status == TS_OK && reading.inexact)
        status = ts_hdf5_input_refuse(
            input, "hdf5-range", "%s holds integers past 2^53 that a 64-bit float does not hold exactly", stack->name);
    free(reading.encoded);
    free(reading.other);
    free(reading.block);
    libdeflate_free_decompressor(reading.decompressor);
    return status;
}
