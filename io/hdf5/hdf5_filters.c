/* SPDX-License-Identifier: Apache-2.0
 *
 * Each filter is a function from bytes to bytes that returns how many it made (0 if the input is
 * damaged) and never writes more than it has space for. A chunk is whole if the last filter made as
 * many bytes as its values have. Source of the layouts: the registered filters of HDF5
 * (github.com/HDFGroup/hdf5_plugins), what hdf5plugin 7.1 writes.
 */
#include "io/hdf5/hdf5_filters.h"

#include <blosc.h>
#include <errno.h>
#include <hdf5.h>
#include <libdeflate.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "io/file/chunks.h"
#include "io/hdf5/bitshuffle.h"
#include "io/hdf5/blosc2.h"

struct hdf5_undoer {
    struct libdeflate_decompressor *inflater;
    ZSTD_DCtx *zstd;
};

/* One step: the input bytes, and where the result goes. */
struct step {
    struct hdf5_undoer *undoer;
    const struct hdf5_filter *filter;
    size_t element_bytes;
    const unsigned char *in;
    size_t bytes;
    unsigned char *out;
    size_t capacity;
};

typedef size_t undo_filter(const struct step *step);

static uint32_t big_32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint64_t big_64(const unsigned char *at)
{
    return (uint64_t)big_32(at) << 32 | big_32(at + 4);
}

/* ---- filters of HDF5 itself ------------------------------------------------------------------ */

static size_t undo_shuffle(const struct step *step)
{
    const size_t width = step->element_bytes, n = step->bytes / width;
    if (step->bytes > step->capacity)
        return 0;
    ts_chunk_unshuffle(step->out, step->in, n, width);
    memcpy(step->out + n * width, step->in + n * width, step->bytes - n * width);
    return step->bytes;
}

static size_t inflate_into(struct hdf5_undoer *undoer, const unsigned char *in, size_t bytes,
                           unsigned char *out, size_t capacity)
{
    size_t made = 0;
    return libdeflate_zlib_decompress(undoer->inflater, in, bytes, out, capacity, &made) ==
                   LIBDEFLATE_SUCCESS
               ? made
               : 0;
}

static size_t undo_deflate(const struct step *step)
{
    return inflate_into(step->undoer, step->in, step->bytes, step->out, step->capacity);
}

/* ---- zstd, lz4, blosc ------------------------------------------------------------------------ */

static size_t zstd_into(struct hdf5_undoer *undoer, const unsigned char *in, size_t bytes,
                        unsigned char *out, size_t capacity)
{
    const size_t made = ZSTD_decompressDCtx(undoer->zstd, out, capacity, in, bytes);
    if (!ZSTD_isError(made))
        return made;
    if (ZSTD_getErrorCode(made) == ZSTD_error_memory_allocation)
        errno = ENOMEM;
    return 0;
}

static size_t undo_zstd(const struct step *step)
{
    return zstd_into(step->undoer, step->in, step->bytes, step->out, step->capacity);
}

static size_t lz4_into(const unsigned char *in, size_t bytes, unsigned char *out, size_t capacity)
{
    if (bytes > INT32_MAX || capacity > INT32_MAX)
        return 0;
    const int made = LZ4_decompress_safe((const char *)in, (char *)out, (int)bytes, (int)capacity);
    return made > 0 ? (size_t)made : 0;
}

/* A header of 12 bytes has the total length and that of a block. Each block has its length before
   it; if that is the block's own, it is not compressed. */
static size_t undo_lz4(const struct step *step)
{
    const unsigned char *at = step->in, *const end = step->in + step->bytes;
    if (step->bytes < 12)
        return 0;
    const uint64_t all = big_64(at);
    uint64_t block = big_32(at + 8), made = 0;
    at += 12;
    if (all > step->capacity || block == 0)
        return 0;
    for (; made < all; made += block) {
        block = block < all - made ? block : all - made;
        if (end - at < 4)
            return 0;
        const uint32_t bytes = big_32(at);
        at += 4;
        if (bytes > (size_t)(end - at))
            return 0;
        if (bytes == block)
            memcpy(step->out + made, at, bytes);
        else if (lz4_into(at, bytes, step->out + made, block) != block)
            return 0;
        at += bytes;
    }
    return made;
}

static size_t undo_blosc(const struct step *step)
{
    size_t all = 0;
    if (blosc_cbuffer_validate(step->in, step->bytes, &all) < 0 || all == 0 || all > step->capacity)
        return 0;
    const int made = blosc_decompress_ctx(step->in, step->out, step->capacity, 1);
    return made > 0 ? (size_t)made : 0;
}

static size_t blosc2_into(void *user, int codec, const unsigned char *in, size_t bytes,
                          unsigned char *out, size_t capacity)
{
    if (codec == BLOSC2_LZ4)
        return lz4_into(in, bytes, out, capacity);
    if (codec == BLOSC2_ZLIB)
        return inflate_into(user, in, bytes, out, capacity);
    return codec == BLOSC2_ZSTD ? zstd_into(user, in, bytes, out, capacity) : 0;
}

static size_t undo_blosc2(const struct step *step)
{
    return ts_blosc2_decode(step->in, step->bytes, step->out, step->capacity, blosc2_into,
                            step->undoer);
}

/* ---- lzf ------------------------------------------------------------------------------------- */

/* A control byte below 32 begins a run of literal bytes, one more than its value. Others repeat
   bytes: the high three bits (and one more byte if all are set) are the length less 2, the low five
   bits and the next byte are the distance less 1. (M. Lehmann, LibLZF.) */
static size_t undo_lzf(const struct step *step)
{
    const unsigned char *at = step->in, *const end = step->in + step->bytes;
    size_t made = 0;
    while (at < end) {
        const unsigned control = *at++;
        size_t n = control < 32 ? control + 1 : (control >> 5) + 2;
        if (control < 32) {
            if (n > (size_t)(end - at) || n > step->capacity - made)
                return 0;
            memcpy(step->out + made, at, n);
            made += n;
            at += n;
            continue;
        }
        if (control >> 5 == 7) {
            if (at == end)
                return 0;
            n += *at++;
        }
        if (at == end)
            return 0;
        const size_t distance = ((size_t)(control & 31) << 8 | *at++) + 1;
        if (distance > made || n > step->capacity - made)
            return 0;
        for (const size_t past = made + n; made < past; made++)
            step->out[made] = step->out[made - distance];
    }
    return made;
}

/* ---- bitshuffle ------------------------------------------------------------------------------ */

/* BLOCK_BYTES and BLOCK_LEAST give the size of a block if the file states none. */
enum { BITS_LZ4 = 2, BITS_ZSTD = 3, BLOCK_BYTES = 8192, BLOCK_LEAST = 128, BLOCK_UNIT = 8 };

struct bit_blocks {
    uint32_t coder;  /* BITS_LZ4, BITS_ZSTD; 0: not compressed */
    size_t width, n; /* of the elements */
    size_t block;    /* elements of a block */
    const unsigned char *at, *end;
    unsigned char *scratch[2];
};

/* Undoes one block of n elements, which may be compressed. */
static bool undo_block(const struct step *step, struct bit_blocks *blocks, size_t n,
                       unsigned char *out)
{
    const size_t bytes = n * blocks->width, left = (size_t)(blocks->end - blocks->at);
    const unsigned char *bits = blocks->at;
    size_t stored = bytes;
    if (blocks->coder) {
        if (left < 4)
            return false;
        stored = big_32(blocks->at);
        blocks->at += 4;
        if (stored > left - 4)
            return false;
        const size_t made =
            blocks->coder == BITS_LZ4
                ? lz4_into(blocks->at, stored, blocks->scratch[0], bytes)
                : zstd_into(step->undoer, blocks->at, stored, blocks->scratch[0], bytes);
        if (made != bytes)
            return false;
        bits = blocks->scratch[0];
    } else if (stored > left) {
        return false;
    }
    ts_bitshuffle_undo(out, bits, n, blocks->width, blocks->scratch[1]);
    blocks->at += stored;
    return true;
}

/* Undoes all blocks. The last block may be shorter, with a multiple of 8 elements. The remaining
 * elements, fewer than 8, are stored unchanged. */
static bool undo_blocks(const struct step *step, struct bit_blocks *blocks)
{
    const size_t rest = blocks->n % BLOCK_UNIT, whole = blocks->n - rest;
    unsigned char *out = step->out;
    for (size_t first = 0, n; first < whole; first += n) {
        n = whole - first < blocks->block ? whole - first : blocks->block;
        if (!undo_block(step, blocks, n, out))
            return false;
        out += n * blocks->width;
    }
    if (rest * blocks->width != (size_t)(blocks->end - blocks->at))
        return false;
    memcpy(out, blocks->at, rest * blocks->width);
    return true;
}

static size_t undo_bitshuffle(const struct step *step)
{
    const struct hdf5_filter *filter = step->filter;
    const uint32_t coder = filter->n_values > 4 ? filter->values[4] : 0;
    struct bit_blocks blocks = {.width =
                                    filter->n_values > 2 ? filter->values[2] : step->element_bytes,
                                .coder = coder == BITS_LZ4 || coder == BITS_ZSTD ? coder : 0,
                                .at = step->in,
                                .end = step->in + step->bytes};
    uint64_t all = step->bytes;
    if (blocks.width == 0)
        return 0;
    blocks.block = filter->n_values > 3 ? filter->values[3] : 0;
    if (blocks.coder) {
        if (step->bytes < 12)
            return 0;
        all = big_64(step->in);
        blocks.block = big_32(step->in + 8) / blocks.width;
        blocks.at += 12;
    } else if (blocks.block == 0) {
        blocks.block = BLOCK_BYTES / blocks.width / BLOCK_UNIT * BLOCK_UNIT;
        blocks.block = blocks.block < BLOCK_LEAST ? BLOCK_LEAST : blocks.block;
    }
    blocks.n = all / blocks.width;
    if (all == 0 || all > step->capacity || all % blocks.width || blocks.block == 0 ||
        blocks.block % BLOCK_UNIT)
        return 0;
    const size_t most = blocks.block < blocks.n ? blocks.block : blocks.n;
    unsigned char *scratch = malloc(2 * most * blocks.width);
    if (!scratch)
        return 0;
    blocks.scratch[0] = scratch;
    blocks.scratch[1] = scratch + most * blocks.width;
    const bool done = undo_blocks(step, &blocks);
    free(scratch);
    return done ? all : 0;
}

/* ---- pipelines ------------------------------------------------------------------------------- */

/* fletcher32 has no function: its checksum is only removed. */
static const struct known {
    int32_t id;
    const char *name;
    bool plain;
    undo_filter *undo;
} known[] = {{H5Z_FILTER_SHUFFLE, "shuffle", true, undo_shuffle},
             {H5Z_FILTER_DEFLATE, "deflate", true, undo_deflate},
             {H5Z_FILTER_FLETCHER32, "fletcher32", true, NULL},
             {FILTER_LZF, "lzf", false, undo_lzf},
             {FILTER_LZ4, "lz4", false, undo_lz4},
             {FILTER_BITSHUFFLE, "bitshuffle", false, undo_bitshuffle},
             {FILTER_ZSTD, "zstd", false, undo_zstd},
             {FILTER_BLOSC, "blosc", false, undo_blosc},
             {FILTER_BLOSC2, "blosc2", false, undo_blosc2}};

static const struct known *find_known(int32_t id)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].id == id)
            return &known[i];
    return NULL;
}

const char *ts_hdf5_filter_name(int32_t id)
{
    const struct known *found = find_known(id);
    return found ? found->name : NULL;
}

bool ts_hdf5_pipeline_is_plain(const struct hdf5_pipeline *pipeline)
{
    for (int i = 0; i < pipeline->n_filters; i++) {
        const struct known *found = find_known(pipeline->filters[i].id);
        if (!found || !found->plain)
            return false;
    }
    return true;
}

size_t ts_hdf5_pipeline_bound(const struct hdf5_pipeline *pipeline)
{
    if (!ts_hdf5_pipeline_is_plain(pipeline))
        return ts_hdf5_pipeline_block(pipeline);
    return libdeflate_zlib_compress_bound(NULL, pipeline->chunk_bytes) +
           PIPELINE_FILTERS * CHUNK_CHECKSUM_BYTES;
}

/* Data that do not compress may grow, by several compressors one after the other and by blocks of a
   few bytes with their lengths. */
size_t ts_hdf5_pipeline_block(const struct hdf5_pipeline *pipeline)
{
    enum { HEADERS_BYTES = 64 << 10 };
    return ts_hdf5_pipeline_is_plain(pipeline)
               ? pipeline->chunk_bytes + PIPELINE_FILTERS * CHUNK_CHECKSUM_BYTES
               : 2 * pipeline->chunk_bytes + HEADERS_BYTES;
}

struct hdf5_undoer *ts_hdf5_undoer_create(void)
{
    struct hdf5_undoer *undoer = calloc(1, sizeof *undoer);
    if (!undoer)
        return NULL;
    undoer->inflater = libdeflate_alloc_decompressor();
    undoer->zstd = ZSTD_createDCtx();
    if (undoer->inflater && undoer->zstd)
        return undoer;
    ts_hdf5_undoer_destroy(undoer);
    return NULL;
}

void ts_hdf5_undoer_destroy(struct hdf5_undoer *undoer)
{
    if (!undoer)
        return;
    libdeflate_free_decompressor(undoer->inflater);
    ZSTD_freeDCtx(undoer->zstd);
    free(undoer);
}

bool ts_hdf5_pipeline_undo(const struct hdf5_pipeline *pipeline, struct hdf5_undoer *undoer,
                           const unsigned char *encoded, size_t bytes, uint32_t skipped,
                           unsigned char *block, unsigned char *other)
{
    const unsigned char *at = encoded;
    int left = 0; /* number of steps left; the last one ends in `block` */
    errno = 0;
    for (int i = 0; i < pipeline->n_filters; i++)
        left += !(skipped >> i & 1) && pipeline->filters[i].id != H5Z_FILTER_FLETCHER32;
    for (int i = pipeline->n_filters - 1; i >= 0; i--) {
        const struct hdf5_filter *filter = &pipeline->filters[i];
        const struct known *found = find_known(filter->id);
        if (skipped >> i & 1)
            continue;
        if (!found)
            return false;
        if (!found->undo) {
            if (!ts_chunk_is_intact(at, bytes))
                return false;
            bytes -= CHUNK_CHECKSUM_BYTES;
            continue;
        }
        const struct step step = {.undoer = undoer,
                                  .filter = filter,
                                  .element_bytes = pipeline->element_bytes,
                                  .in = at,
                                  .bytes = bytes,
                                  .out = left-- % 2 ? block : other,
                                  .capacity = ts_hdf5_pipeline_block(pipeline)};
        bytes = found->undo(&step);
        if (bytes == 0)
            return false;
        at = step.out;
    }
    if (bytes != pipeline->chunk_bytes)
        return false;
    if (at == encoded)
        memcpy(block, at, bytes);
    return true;
}

/* ---- for libhdf5 ----------------------------------------------------------------------------- */

/* libhdf5 does not say how large the chunk is, so more and more space is tried. */
static size_t undo_for_library(const struct hdf5_filter *filter, size_t bytes, size_t *buffer_bytes,
                               void **buffer)
{
    enum { FIRST_BYTES = 64 << 10, MOST_BYTES = 64 << 20 };
    static struct hdf5_undoer *undoer;
    if (!undoer && !(undoer = ts_hdf5_undoer_create()))
        return 0;
    const size_t width = filter->n_values > 2 && filter->values[2] > 0 ? filter->values[2] : 1;
    for (size_t capacity = FIRST_BYTES; capacity <= MOST_BYTES; capacity *= 2) {
        void *out = capacity >= bytes ? malloc(capacity) : NULL;
        const struct step step = {.undoer = undoer,
                                  .filter = filter,
                                  .element_bytes = width,
                                  .in = *buffer,
                                  .bytes = bytes,
                                  .out = out,
                                  .capacity = capacity};
        const size_t made = out ? find_known(filter->id)->undo(&step) : 0;
        if (made > 0) {
            free(*buffer);
            *buffer = out;
            *buffer_bytes = capacity;
            return made;
        }
        free(out);
    }
    return 0;
}

/* Wraps a filter for libhdf5, which passes its parameters but not its number. */
#define LIBRARY_FILTER(name, number)                                                               \
    static size_t library_##name(unsigned flags, size_t n, const unsigned values[], size_t bytes,  \
                                 size_t *buffer_bytes, void **buffer)                              \
    {                                                                                              \
        struct hdf5_filter filter = {                                                              \
            .id = (number), .n_values = (uint32_t)(n < FILTER_VALUES ? n : FILTER_VALUES)};        \
        for (uint32_t i = 0; i < filter.n_values; i++)                                             \
            filter.values[i] = values[i];                                                          \
        return flags & H5Z_FLAG_REVERSE ? undo_for_library(&filter, bytes, buffer_bytes, buffer)   \
                                        : 0;                                                       \
    }
LIBRARY_FILTER(lzf, FILTER_LZF)
LIBRARY_FILTER(lz4, FILTER_LZ4)
LIBRARY_FILTER(bitshuffle, FILTER_BITSHUFFLE)
LIBRARY_FILTER(zstd, FILTER_ZSTD)
LIBRARY_FILTER(blosc, FILTER_BLOSC)
LIBRARY_FILTER(blosc2, FILTER_BLOSC2)

bool ts_hdf5_filters_register(void)
{
    static const struct {
        int32_t id;
        H5Z_func_t function;
    } filters[] = {{FILTER_LZF, library_lzf},
                   {FILTER_LZ4, library_lz4},
                   {FILTER_BITSHUFFLE, library_bitshuffle},
                   {FILTER_ZSTD, library_zstd},
                   {FILTER_BLOSC, library_blosc},
                   {FILTER_BLOSC2, library_blosc2}};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        const H5Z_class2_t class = {.version = H5Z_CLASS_T_VERS,
                                    .id = filters[i].id,
                                    .decoder_present = 1,
                                    .name = ts_hdf5_filter_name(filters[i].id),
                                    .filter = filters[i].function};
        if (H5Zregister(&class) < 0)
            return false;
    }
    return true;
}
