/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunk shape and filters.
 *   shuffle:    out[j * n + i] = in[i * element_bytes + j]   (byte j of every element together)
 *   deflate:    zlib stream (RFC 1950)
 *   fletcher32: s1 = sum of words, s2 = sum of s1, both modulo 65535; s2 << 16 | s1, little-endian,
 *       at the end
 * Source: HDF5 file format specification 3.0 (filter pipeline message); J. Fletcher, IEEE Trans.
 * Comm. 30, 1982.
 */
#include "io/file/chunks.h"

#include <stdlib.h>
#include <string.h>

#include "io/file/zlib_stream.h"

enum {
    CHUNK_TARGET_BYTES = 4 << 20,
    CHUNK_SLICE_BYTES = 8 << 20,
    /* bytes that an uncompressed block of deflate has in addition to its data */
    STORED_BLOCK_BYTES = 5,
};

struct chunk_coder {
    struct zlib_coder *zlib;
    unsigned char *scratch;
    size_t scratch_bytes;
};

bool ts_chunk_grid_init(struct chunk_grid *grid, int rank, const int64_t *n, size_t element_bytes)
{
    memset(grid, 0, sizeof *grid);
    grid->rank = rank;
    grid->element_bytes = element_bytes;
    grid->n_chunks = 1;
    size_t total = element_bytes;
    for (int d = 0; d < rank; d++)
        if (n[d] <= 0 || !ts_mul_size(total, (size_t)n[d], &total) || total > INT64_MAX)
            return false;
    size_t bytes = grid->element_bytes;
    bool whole = true; /* so far, every axis is within one chunk */
    for (int d = rank - 1; d >= 0; d--) {
        int64_t most = 1;
        if (whole) {
            size_t limit = d == 0 ? CHUNK_TARGET_BYTES : CHUNK_SLICE_BYTES;
            most = (size_t)n[d] <= limit / bytes ? n[d] : (int64_t)(CHUNK_TARGET_BYTES / bytes);
            grid->split = d;
        }
        if (most < 1)
            most = 1;
        whole = whole && most == n[d];
        int64_t parts = (n[d] + most - 1) / most;
        /* Chunks of several volumes have one size, so that the volumes can be read one after the
           other. */
        while (rank == TS_MAX_RANK && d == 1 && n[d] % parts != 0)
            parts++;
        grid->n[d] = n[d];
        grid->chunk[d] = (n[d] + parts - 1) /
                         parts; /* parts of equal size leave little padding in the last one */
        grid->n_chunks *= (n[d] + grid->chunk[d] - 1) / grid->chunk[d];
        bytes *= (size_t)grid->chunk[d];
    }
    grid->chunk_bytes = bytes;
    return true;
}

void ts_chunk_grid_part(struct chunk_grid *grid)
{
    grid->chunk_bytes /= (size_t)grid->chunk[0];
    grid->n_chunks = grid->chunk[0] > 1 ? grid->n[0] : grid->n_chunks;
    grid->chunk[0] = 1;
}

size_t ts_chunk_place(const struct chunk_grid *grid, int64_t i, int64_t start[TS_MAX_RANK])
{
    for (int d = grid->rank - 1; d >= 0; d--) {
        int64_t count = (grid->n[d] + grid->chunk[d] - 1) / grid->chunk[d];
        start[d] = i % count * grid->chunk[d];
        i /= count;
    }
    int s = grid->split;
    int64_t left = grid->n[s] - start[s];
    return left < grid->chunk[s] ? grid->chunk_bytes / (size_t)grid->chunk[s] * (size_t)left
                                 : grid->chunk_bytes;
}

static uint32_t fold(uint32_t sum)
{
    return (sum & 0xffff) + (sum >> 16);
}

/* Sums eight words at a time. With n_steps steps, word j of step t counts n_steps * 8 - 8 t - j
   times in s2; so lane j keeps the sum of its words, and the sum of these sums, which counts word t
   n_steps - t times. */
typedef uint16_t lanes_16 __attribute__((vector_size(16)));
typedef uint32_t lanes_32 __attribute__((vector_size(32)));
enum {
    CHECKSUM_LANES = 8,
    CHECKSUM_WORDS = 360
}; /* most words whose sums fit 32 bits before folding */

TS_VECTORIZED
static const unsigned char *add_words(const unsigned char *word, size_t n_words, uint32_t *s1,
                                      uint32_t *s2)
{
    const size_t n_steps = n_words / CHECKSUM_LANES;
    lanes_32 sums = {0}, sums_of_sums = {0};
    for (size_t t = 0; t < n_steps; t++, word += sizeof(lanes_16)) {
        lanes_16 words;
        memcpy(&words, word, sizeof words);
        words = words << 8 | words >> 8;
        sums += __builtin_convertvector(words, lanes_32);
        sums_of_sums += sums;
    }
    *s2 += (uint32_t)(n_steps * CHECKSUM_LANES) * *s1;
    for (uint32_t j = 0; j < CHECKSUM_LANES; j++) {
        *s1 += sums[j];
        *s2 += CHECKSUM_LANES * sums_of_sums[j] - j * sums[j];
    }
    for (size_t left = n_words % CHECKSUM_LANES; left > 0; left--, word += 2) {
        *s1 += (uint32_t)word[0] << 8 | word[1];
        *s2 += *s1;
    }
    return word;
}

uint32_t ts_chunk_checksum(const void *data, size_t bytes)
{
    const unsigned char *word = data;
    uint32_t s1 = 0, s2 = 0;
    for (size_t words = bytes / 2; words > 0;) {
        const size_t block = words < CHECKSUM_WORDS ? words : CHECKSUM_WORDS;
        word = add_words(word, block, &s1, &s2);
        words -= block;
        s1 = fold(s1);
        s2 = fold(s2);
    }
    if (bytes % 2) {
        s1 = fold(s1 + ((uint32_t)*word << 8));
        s2 = fold(s2 + s1);
    }
    return fold(s2) << 16 | fold(s1);
}

static void put_checksum(unsigned char *out, uint32_t sum)
{
    for (int i = 0; i < CHUNK_CHECKSUM_BYTES; i++)
        out[i] = (unsigned char)(sum >> (8 * i));
}

/* Byte j of element i moves from i * width + j to j * stride + i, or back. Each of these functions
   has a constant element width, so that its loop vectorizes. */
#define MOVE_BYTES(name, width, to, from)                                                          \
    TS_VECTORIZED                                                                                  \
    static void name(unsigned char *restrict out, const unsigned char *restrict in, size_t n,      \
                     size_t stride)                                                                \
    {                                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            for (size_t j = 0; j < (width); j++)                                                   \
                out[to] = in[from];                                                                \
    }
MOVE_BYTES(shuffle_2, 2, i + j * stride, i * 2 + j)
MOVE_BYTES(shuffle_4, 4, i + j * stride, i * 4 + j)
MOVE_BYTES(unshuffle_2, 2, i * 2 + j, i + j * stride)
MOVE_BYTES(unshuffle_4, 4, i * 4 + j, i + j * stride)
MOVE_BYTES(unshuffle_8, 8, i * 8 + j, i + j * stride)

static void shuffle(unsigned char *restrict out, const unsigned char *restrict in, size_t n,
                    size_t width)
{
    if (width == 2)
        shuffle_2(out, in, n, n);
    else if (width == 4)
        shuffle_4(out, in, n, n);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < width; j++)
                out[j * n + i] = in[i * width + j];
}

/* Byte j of element i is in[j * stride + i]. */
static void unshuffle(unsigned char *restrict out, const unsigned char *restrict in, size_t n,
                      size_t stride, size_t width)
{
    if (width == 2)
        unshuffle_2(out, in, n, stride);
    else if (width == 4)
        unshuffle_4(out, in, n, stride);
    else if (width == 8)
        unshuffle_8(out, in, n, stride);
    else
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < width; j++)
                out[i * width + j] = in[j * stride + i];
}

void ts_chunk_unshuffle(unsigned char *restrict out, const unsigned char *restrict in, size_t n,
                        size_t width)
{
    unshuffle(out, in, n, n, width);
}

/* Returns true if `shuffled` holds the n elements of `values`. Puts them back in order in parts
   that fit the cache. Elements wider than a number are long texts, of which a chunk has few. */
static bool is_shuffled(const unsigned char *shuffled, const unsigned char *values, size_t n,
                        size_t width)
{
    enum { PART_BYTES = 16 << 10, WIDEST = 8 };
    unsigned char part[PART_BYTES];
    for (size_t i = 0; width > WIDEST && i < n; i++)
        for (size_t j = 0; j < width; j++)
            if (shuffled[j * n + i] != values[i * width + j])
                return false;
    for (size_t i = 0; width <= WIDEST && i < n; i += PART_BYTES / width) {
        const size_t count = n - i < PART_BYTES / width ? n - i : PART_BYTES / width;
        unshuffle(part, shuffled + i, count, n, width);
        if (memcmp(part, values + i * width, count * width) != 0)
            return false;
    }
    return true;
}

/* A CUDA device compresses each plane of shuffled bytes by itself, so a chunk of a few values may
   have as many stored blocks as planes, while zlib's bound counts one. */
size_t ts_chunk_bound(const struct chunk_filters *filters, size_t chunk_bytes)
{
    size_t bytes = chunk_bytes;
    if (filters->level > 0)
        bytes = ts_zlib_bound(chunk_bytes) + filters->element_bytes * STORED_BLOCK_BYTES;
    return bytes + (filters->plain ? 0 : CHUNK_CHECKSUM_BYTES);
}

struct chunk_coder *ts_chunk_coder_create(void)
{
    struct chunk_coder *coder = calloc(1, sizeof *coder);
    if (coder && (coder->zlib = ts_zlib_coder_create()))
        return coder;
    free(coder);
    return NULL;
}

void ts_chunk_coder_destroy(struct chunk_coder *coder)
{
    if (!coder)
        return;
    ts_zlib_coder_destroy(coder->zlib);
    free(coder->scratch);
    free(coder);
}

static bool reserve_scratch(struct chunk_coder *coder, size_t bytes)
{
    if (coder->scratch_bytes >= bytes)
        return true;
    free(coder->scratch);
    coder->scratch = malloc(bytes);
    coder->scratch_bytes = coder->scratch ? bytes : 0;
    return coder->scratch;
}

size_t ts_chunk_encode(struct chunk_coder *coder, const struct chunk_filters *filters,
                       const void *chunk, size_t chunk_bytes, void *out, size_t out_bytes)
{
    size_t length = chunk_bytes, width = filters->element_bytes;
    if (out_bytes < ts_chunk_bound(filters, chunk_bytes))
        return 0;
    if (filters->level == 0) {
        if (out != chunk)
            memcpy(out, chunk, chunk_bytes);
    } else {
        const void *source = chunk;
        if (width > 1 && !reserve_scratch(coder, chunk_bytes))
            return 0;
        if (width > 1) {
            shuffle(coder->scratch, chunk, chunk_bytes / width, width);
            source = coder->scratch;
        }
        length = ts_zlib_deflate(coder->zlib, filters->level, source, chunk_bytes, out,
                                 out_bytes - CHUNK_CHECKSUM_BYTES);
        if (length == 0)
            return 0;
    }
    if (filters->plain)
        return length;
    put_checksum((unsigned char *)out + length, ts_chunk_checksum(out, length));
    return length + CHUNK_CHECKSUM_BYTES;
}

bool ts_chunk_is_intact(const void *data, size_t bytes)
{
    unsigned char sum[CHUNK_CHECKSUM_BYTES];
    if (bytes < CHUNK_CHECKSUM_BYTES)
        return false;
    bytes -= CHUNK_CHECKSUM_BYTES;
    put_checksum(sum, ts_chunk_checksum(data, bytes));
    return memcmp(sum, (const unsigned char *)data + bytes, CHUNK_CHECKSUM_BYTES) == 0;
}

const void *ts_chunk_decode(struct chunk_coder *coder, const struct chunk_filters *filters,
                            const void *data, size_t bytes, void *chunk, size_t chunk_bytes)
{
    const size_t width = filters->element_bytes;
    if (filters->plain)
        return bytes == chunk_bytes ? data : NULL;
    if (!ts_chunk_is_intact(data, bytes))
        return NULL;
    if (filters->level == 0)
        return bytes - CHUNK_CHECKSUM_BYTES == chunk_bytes ? data : NULL;
    if (width > 1 && !reserve_scratch(coder, chunk_bytes))
        return NULL;
    if (!ts_zlib_inflate(coder->zlib, data, bytes - CHUNK_CHECKSUM_BYTES,
                         width > 1 ? coder->scratch : chunk, chunk_bytes))
        return NULL;
    if (width > 1)
        ts_chunk_unshuffle(chunk, coder->scratch, chunk_bytes / width, width);
    return chunk;
}

bool ts_chunk_matches(struct chunk_coder *coder, const struct chunk_filters *filters,
                      const void *data, size_t bytes, const void *chunk, size_t chunk_bytes)
{
    const size_t width = filters->element_bytes;
    return ts_chunk_is_intact(data, bytes) && filters->level > 0 &&
           reserve_scratch(coder, chunk_bytes) &&
           ts_zlib_inflate(coder->zlib, data, bytes - CHUNK_CHECKSUM_BYTES, coder->scratch,
                           chunk_bytes) &&
           is_shuffled(coder->scratch, chunk, chunk_bytes / width, width);
}
