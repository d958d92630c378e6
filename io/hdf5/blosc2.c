/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame is a header, the compressed chunks, a compressed list of their offsets, and a trailer. A
 * chunk is cut into blocks, which are compressed one by one, each split into one stream for each
 * byte of an element if that pays. An array of several axes is stored block by block: its chunk is
 * padded to whole blocks. Numbers of the frame's header are big-endian (msgpack), those of chunks
 * little-endian. Source: C-Blosc2 2.x, README_CFRAME_FORMAT.rst, README_CHUNK_FORMAT.rst and
 * README_B2ND_METALAYER.rst.
 */
#include "io/hdf5/blosc2.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/chunks.h"
#include "io/hdf5/bitshuffle.h"

/* Offsets in the header of a frame, and in that of a chunk. */
enum {
    FRAME_HEADER_BYTES = 11,
    FRAME_BYTES = 16,
    FRAME_VALUE_BYTES = 30,
    FRAME_STORED_BYTES = 39,
    FRAME_WIDTH = 48,
    FRAME_CHUNK_BYTES = 58,
    FRAME_METALAYERS = 87,
    CHUNK_FLAGS = 2,
    CHUNK_WIDTH = 3,
    CHUNK_VALUE_BYTES = 4,
    CHUNK_BLOCK_BYTES = 8,
    CHUNK_STORED_BYTES = 12,
    CHUNK_FILTERS = 16,
    CHUNK_METAS = 24,
    CHUNK_MORE_FLAGS = 31,
    CHUNK_HEADER = 32
};
enum { FILTERS = 6, SHUFFLE = 1, BITSHUFFLE = 2, DELTA = 3, TRUNCATED = 4 };
enum { FLAG_EXTENDED = 0x5, FLAG_STORED = 0x2, FLAG_ONE_STREAM = 0x10, FLAG_DICTIONARY = 0x1 };
enum { SPECIAL_ZEROS = 1, SPECIAL_NANS = 2, SPECIAL_VALUE = 3, SPECIAL_ANY = 4 };
/* MOST_PADDING: how many times larger the padding to whole blocks may make a chunk. */
enum { AXES = 8, MOST_PADDING = 16 };

struct chunk {
    const unsigned char *data; /* from its header on */
    size_t bytes, value_bytes, block_bytes, width;
    unsigned flags, more;
    blosc2_codec *codec;
    void *user;
};

static uint64_t big(const unsigned char *at, int n)
{
    uint64_t value = 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | at[i];
    return value;
}

static uint32_t little_32(const unsigned char *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* ---- blosclz --------------------------------------------------------------------------------- */

/* A control byte below 32 begins a run of literal bytes, one more than its value. In others the
   high three bits are the length less 2 (if all are set, bytes are added until one is not 255), and
   the low five bits and the next byte are the distance less 1 (if all are set, two more bytes are
   added). The high bits of the first byte have no meaning. */
static size_t undo_blosclz(const unsigned char *at, size_t bytes, unsigned char *out,
                           size_t capacity)
{
    enum { FAR = 8191 };
    const unsigned char *const end = at + bytes;
    size_t made = 0;
    bool first = true;
    while (at < end) {
        const unsigned control = first ? *at & 31 : *at;
        at++;
        first = false;
        if (control < 32) {
            const size_t n = control + 1;
            if (n > (size_t)(end - at) || n > capacity - made)
                return 0;
            memcpy(out + made, at, n);
            made += n;
            at += n;
            continue;
        }
        size_t n = (control >> 5) - 1, distance = (size_t)(control & 31) << 8;
        unsigned code = 255;
        for (bool more = n == 6; more; more = code == 255) {
            if (at == end)
                return 0;
            code = *at++;
            n += code;
        }
        if (at == end)
            return 0;
        code = *at++;
        n += 3;
        distance += code;
        if (code == 255 && control % 32 == 31) {
            if (end - at < 2)
                return 0;
            distance = FAR + ((size_t)at[0] << 8 | at[1]);
            at += 2;
        }
        distance++;
        if (distance > made || n > capacity - made)
            return 0;
        for (const size_t past = made + n; made < past; made++)
            out[made] = out[made - distance];
    }
    return made;
}

/* ---- a chunk --------------------------------------------------------------------------------- */

/* Undoes the filters of a block of n bytes, the last one first, between the two buffers. Returns
   the buffer that holds the result. */
static unsigned char *undo_filters(const struct chunk *chunk, size_t n, unsigned char *block,
                                   unsigned char *other, unsigned char *scratch,
                                   const unsigned char *reference, size_t offset)
{
    const size_t width = chunk->width, count = n / width, whole = count - count % 8;
    for (int i = FILTERS - 1; i >= 0; i--) {
        const unsigned filter = chunk->data[CHUNK_FILTERS + i];
        unsigned char *made = other;
        if (filter == 0 || filter == TRUNCATED)
            continue;
        if (chunk->data[CHUNK_METAS + i] != 0 || filter > TRUNCATED)
            return NULL;
        /* in the first block relative to the previous element, in others to the first block */
        if (filter == DELTA) {
            const size_t step = width == 2 || width == 4 ? width
                                : width % 8 == 0         ? 8
                                                         : 1,
                         end = n - n % step;
            for (size_t k = offset == 0 ? step : 0; k < end; k++)
                block[k] ^= offset == 0 ? block[k - step] : reference[k];
            continue;
        }
        const size_t done = filter == SHUFFLE ? count : whole;
        if (filter == SHUFFLE)
            ts_chunk_unshuffle(made, block, count, width);
        else
            ts_bitshuffle_undo(made, block, whole, width, scratch);
        memcpy(made + done * width, block + done * width, n - done * width);
        other = block;
        block = made;
    }
    return block;
}

/* Decodes the streams of a block of n bytes, which begin at `start` of the chunk. */
static bool undo_streams(const struct chunk *chunk, size_t start, size_t n, unsigned char *block)
{
    const bool split =
        !(chunk->flags & FLAG_ONE_STREAM) && n == chunk->block_bytes && n % chunk->width == 0;
    const size_t streams = split ? chunk->width : 1, each = n / streams;
    const int codec = (int)(chunk->flags >> 5);
    for (size_t i = 0; i < streams; i++, block += each) {
        if (start > chunk->bytes || chunk->bytes - start < 4)
            return false;
        const int32_t stored = (int32_t)little_32(chunk->data + start);
        const unsigned char *at = chunk->data + start + 4;
        const size_t left = chunk->bytes - start - 4;
        start += 4;
        if (stored <= 0) { /* one byte, repeated */
            if (stored < -255 || (stored < 0 && (left < 1 || !(at[0] & 1))))
                return false;
            memset(block, -stored, each);
            start += stored < 0;
            continue;
        }
        if ((size_t)stored > left)
            return false;
        if ((size_t)stored == each)
            memcpy(block, at, each);
        else if ((codec == BLOSC2_BLOSCLZ
                      ? undo_blosclz(at, (size_t)stored, block, each)
                      : chunk->codec(chunk->user, codec, at, (size_t)stored, block, each)) != each)
            return false;
        start += (size_t)stored;
    }
    return true;
}

static bool undo_blocks(const struct chunk *chunk, unsigned char *out, unsigned char *buffers)
{
    const size_t n_blocks = (chunk->value_bytes - 1) / chunk->block_bytes + 1,
                 size = chunk->block_bytes;
    unsigned char *scratch = buffers + 2 * size;
    if (n_blocks > (chunk->bytes - CHUNK_HEADER) / 4)
        return false;
    for (size_t i = 0; i < n_blocks; i++) {
        const size_t at = i * size,
                     n = chunk->value_bytes - at < size ? chunk->value_bytes - at : size;
        if (!undo_streams(chunk, little_32(chunk->data + CHUNK_HEADER + 4 * i), n, buffers))
            return false;
        const unsigned char *block =
            undo_filters(chunk, n, buffers, buffers + size, scratch, out, at);
        if (!block)
            return false;
        memcpy(out + at, block, n);
    }
    return true;
}

static bool repeat(const struct chunk *chunk, unsigned special, unsigned char *out)
{
    static const unsigned char nan_32[4] = {0, 0, 0xC0, 0x7F},
                               nan_64[8] = {0, 0, 0, 0, 0, 0, 0xF8, 0x7F};
    const unsigned char *value = chunk->width == 4 ? nan_32 : nan_64;
    if (special == SPECIAL_VALUE)
        value = chunk->data + CHUNK_HEADER;
    if (special == SPECIAL_ZEROS || special == SPECIAL_ANY) {
        memset(out, 0, chunk->value_bytes);
        return true;
    }
    if ((special == SPECIAL_VALUE && chunk->bytes - CHUNK_HEADER < chunk->width) ||
        chunk->value_bytes % chunk->width || special > SPECIAL_VALUE ||
        (special == SPECIAL_NANS && chunk->width != 4 && chunk->width != 8))
        return false;
    for (size_t i = 0; i < chunk->value_bytes; i += chunk->width)
        memcpy(out + i, value, chunk->width);
    return true;
}

/* Decodes a chunk of at most this many bytes. Returns how many bytes its values have; 0 if it is
   damaged. */
static size_t undo_chunk(struct chunk *chunk, const unsigned char *data, size_t bytes,
                         unsigned char *out, size_t capacity)
{
    if (bytes < CHUNK_HEADER)
        return 0;
    chunk->data = data;
    chunk->bytes = little_32(data + CHUNK_STORED_BYTES);
    chunk->flags = data[CHUNK_FLAGS];
    chunk->more = data[CHUNK_MORE_FLAGS];
    chunk->width = data[CHUNK_WIDTH];
    chunk->value_bytes = little_32(data + CHUNK_VALUE_BYTES);
    chunk->block_bytes = little_32(data + CHUNK_BLOCK_BYTES);
    const unsigned special = chunk->more >> 4 & 7;
    if (chunk->bytes < CHUNK_HEADER || chunk->bytes > bytes || chunk->width == 0 ||
        chunk->value_bytes == 0 || chunk->value_bytes > capacity ||
        (chunk->flags & FLAG_EXTENDED) != FLAG_EXTENDED || (chunk->more & FLAG_DICTIONARY))
        return 0;
    if (special)
        return repeat(chunk, special, out) ? chunk->value_bytes : 0;
    if (chunk->flags & FLAG_STORED) {
        if (chunk->bytes - CHUNK_HEADER != chunk->value_bytes)
            return 0;
        memcpy(out, data + CHUNK_HEADER, chunk->value_bytes);
        return chunk->value_bytes;
    }
    if (chunk->block_bytes == 0 || chunk->block_bytes > chunk->value_bytes)
        return 0;
    unsigned char *buffers = malloc(3 * chunk->block_bytes);
    const bool done = buffers && undo_blocks(chunk, out, buffers);
    free(buffers);
    return done ? chunk->value_bytes : 0;
}

/* ---- arrays of several axes ------------------------------------------------------------------ */

struct array {
    int n_axes;
    size_t n[AXES], block[AXES], padded[AXES];
};

/* Reads so many numbers of msgpack, each with this mark and size. */
static bool take_numbers(const unsigned char **at, const unsigned char *end, int n, unsigned mark,
                         int size, size_t *out)
{
    if (end - *at < 1 || *(*at)++ != 0x90u + (unsigned)n || end - *at < n * (1 + size))
        return false;
    for (int i = 0; i < n; i++, *at += 1 + size) {
        out[i] = big(*at + 1, size);
        if (**at != mark || out[i] == 0 || out[i] > INT32_MAX)
            return false;
    }
    return true;
}

static bool take_array(const unsigned char *at, const unsigned char *end, struct array *array)
{
    size_t chunk[AXES];
    if (end - at < 3 || (at[0] & 0xF0) != 0x90 || at[2] < 1 || at[2] > AXES)
        return false;
    array->n_axes = at[2];
    at += 3;
    if (!take_numbers(&at, end, array->n_axes, 0xD3, 8, array->n) ||
        !take_numbers(&at, end, array->n_axes, 0xD2, 4, chunk) ||
        !take_numbers(&at, end, array->n_axes, 0xD2, 4, array->block))
        return false;
    for (int d = 0; d < array->n_axes; d++) {
        if (chunk[d] != array->n[d])
            return false;
        array->padded[d] = ((chunk[d] - 1) / array->block[d] + 1) * array->block[d];
    }
    return true;
}

/* Finds the layer "b2nd" among those of the header; an array without axes means that there is none.
   Returns false if the header is damaged. */
static bool find_array(const unsigned char *header, size_t bytes, struct array *array)
{
    const unsigned char *at = header + FRAME_METALAYERS, *const end = header + bytes;
    *array = (struct array){0};
    if (end - at < 7)
        return true;
    if (at[0] != 0x93 || at[1] != 0xCD || at[4] != 0xDE)
        return false;
    const int n = (int)big(at + 5, 2);
    at += 7;
    for (int i = 0; i < n; i++) {
        if (end - at < 1 || (at[0] & 0xE0) != 0xA0)
            return false;
        const size_t length = at[0] & 31;
        if ((size_t)(end - at) < 1 + length + 5 || at[1 + length] != 0xD2)
            return false;
        const size_t offset = big(at + 2 + length, 4);
        const bool found = length == 4 && memcmp(at + 1, "b2nd", 4) == 0;
        at += 1 + length + 5;
        if (!found)
            continue;
        if (offset > bytes || bytes - offset < 5 || header[offset] != 0xC6)
            return false;
        const size_t size = big(header + offset + 1, 4);
        return size <= bytes - offset - 5 &&
               take_array(header + offset + 5, header + offset + 5 + size, array);
    }
    return true;
}

/* Copies the rows of an array in blocks to their places. `width` is the size of an element. */
static bool unblock(const struct array *array, size_t width, const unsigned char *in, size_t bytes,
                    unsigned char *out, size_t capacity, size_t *made)
{
    const int last = array->n_axes - 1;
    size_t padded = width, all = width, block_rows = 1;
    for (int d = 0; d <= last; d++)
        if (__builtin_mul_overflow(padded, array->padded[d], &padded) ||
            __builtin_mul_overflow(all, array->n[d], &all))
            return false;
    if (padded != bytes || all > capacity)
        return false;
    for (int d = 0; d < last; d++)
        block_rows *= array->block[d];
    const size_t rows = bytes / width / array->block[last];
    for (size_t r = 0; r < rows;
         r++) { /* row r of the stored ones: its block, and its row in the block */
        size_t block = r / block_rows, in_block = r % block_rows, place = 0, step = 1, first = 0,
               n = 0;
        bool inside = true;
        for (int d = last; d >= 0; d--) {
            const size_t blocks = array->padded[d] / array->block[d];
            size_t i = block % blocks * array->block[d];
            block /= blocks;
            if (d < last) {
                i += in_block % array->block[d];
                in_block /= array->block[d];
            } else {
                first = i;
                n = array->n[d] - i < array->block[d] ? array->n[d] - i : array->block[d];
            }
            inside = inside && i < array->n[d];
            place += d < last ? i * step : 0;
            step *= array->n[d];
        }
        if (inside)
            memcpy(out + (place + first) * width, in + r * array->block[last] * width, n * width);
    }
    *made = all;
    return true;
}

/* ---- a frame --------------------------------------------------------------------------------- */

/* Finds the chunk; if it has no bytes, *special says of what it consists. */
static bool find_chunk(struct chunk *chunk, const unsigned char *frame, size_t header,
                       size_t stored, size_t bytes, size_t *place, unsigned *special)
{
    unsigned char offset[8];
    if (undo_chunk(chunk, frame + header + stored, bytes - header - stored, offset,
                   sizeof offset) != sizeof offset)
        return false;
    *special = 0;
    if (offset[7] & 0x80) {
        *special = offset[7] & 0x7F;
        return *special == SPECIAL_ZEROS || *special == SPECIAL_ANY;
    }
    const uint64_t at = (uint64_t)little_32(offset + 4) << 32 | little_32(offset);
    *place = header + at;
    return at < stored;
}

size_t ts_blosc2_decode(const unsigned char *frame, size_t bytes, unsigned char *out,
                        size_t capacity, blosc2_codec *codec, void *user)
{
    struct chunk chunk = {.codec = codec, .user = user};
    struct array array;
    size_t place = 0, made = 0;
    unsigned special;
    if (bytes < FRAME_METALAYERS || memcmp(frame + 2, "b2frame", 8) != 0)
        return 0;
    const uint64_t header = big(frame + FRAME_HEADER_BYTES, 4), all = big(frame + FRAME_BYTES, 8),
                   values = big(frame + FRAME_VALUE_BYTES, 8),
                   stored = big(frame + FRAME_STORED_BYTES, 8);
    const uint64_t of_chunk = big(frame + FRAME_CHUNK_BYTES, 4);
    if (header < FRAME_METALAYERS || header > bytes || all > bytes || stored > bytes - header ||
        values == 0 || values != of_chunk || !find_array(frame, header, &array) ||
        !find_chunk(&chunk, frame, header, stored, bytes, &place, &special))
        return 0;
    const size_t width = big(frame + FRAME_WIDTH, 4);
    if (width == 0 || width > UINT8_MAX || values > MOST_PADDING * capacity + (1 << 20))
        return 0;
    unsigned char *padded = array.n_axes > 0 ? calloc(values, 1) : NULL,
                  *to = padded ? padded : out;
    if (array.n_axes > 0 && !padded)
        return 0;
    made = array.n_axes > 0 || values <= capacity ? values : 0;
    if (special && !padded)
        memset(out, 0, made);
    if (!special &&
        undo_chunk(&chunk, frame + place, bytes - place, to, padded ? values : capacity) != values)
        made = 0;
    if (padded && made > 0 && !unblock(&array, width, padded, values, out, capacity, &made))
        made = 0;
    free(padded);
    return made;
}
