/* SPDX-License-Identifier: Apache-2.0
 *
 * Each block ends in an empty stored block (a full flush), so that the stream is at a whole byte
 * and the next block can follow, as in pigz (M. Adler, 2007). The checksums of the blocks are
 * combined. ISA-L deflates at its level 2 if the program was built with it, else zlib at level 1.
 * As in io/file/zlib_stream.c, the bytes may differ between machines but inflate to the same.
 * libdeflate cannot be used, because it cannot leave a stream open.
 */
#include "io/file/gzip_writer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef TS_HAVE_ISAL
#include <isa-l.h>
#endif

#include "io/file/file_bytes.h"

enum {
    BLOCK_BYTES = 1 << 20,
    BOUND_BYTES = BLOCK_BYTES + (BLOCK_BYTES >> 6) + 1024,
    LEVEL_BYTES = 1 << 20
};

struct block {
    unsigned char *values, *deflated, *level; /* BLOCK_BYTES, BOUND_BYTES, LEVEL_BYTES */
    size_t bytes, deflated_bytes;             /* deflated_bytes is 0 if deflating failed */
    uint32_t checksum;
};

struct gzip_writer {
    int fd, n_blocks, n_full;
    bool zlib;
    uint64_t offset, bytes; /* position in the file; bytes in the stream */
    uint32_t checksum;
    struct block *blocks; /* one for each thread; n_full of them are full */
};

size_t ts_gzip_writer_bytes(int threads)
{
    return (size_t)threads * (BLOCK_BYTES + BOUND_BYTES + LEVEL_BYTES);
}

void ts_gzip_writer_destroy(struct gzip_writer *writer)
{
    if (!writer)
        return;
    for (int i = 0; writer->blocks && i < writer->n_blocks; i++)
        free(writer->blocks[i].values);
    free(writer->blocks);
    free(writer);
}

static bool gzip_writer_put(struct gzip_writer *writer, const void *data, size_t bytes)
{
    const uint64_t at = writer->offset;
    writer->offset += bytes;
    return ts_file_write_at(writer->fd, data, bytes, at);
}

/* The checksum of gzip is a CRC, that of zlib is Adler's. */
static uint32_t gzip_writer_checksum(const struct gzip_writer *writer, const struct block *block)
{
    const uInt n = (uInt)block->bytes;
    return (uint32_t)(writer->zlib ? adler32(1, block->values, n) : crc32(0, block->values, n));
}

struct gzip_writer *ts_gzip_writer_create(int fd, uint64_t offset, bool zlib, int threads)
{
    /* RFC 1952: the magic number, deflate, no flags, no time, no extra flags, unknown system. RFC
       1950: deflate with a window of 32 KiB, the fastest level. */
    static const unsigned char gzip_head[10] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255},
                               zlib_head[2] = {0x78, 0x01};
    struct gzip_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->fd = fd;
    writer->offset = offset;
    writer->zlib = zlib;
    writer->checksum = zlib; /* of no bytes */
    writer->n_blocks = threads;
    writer->blocks = calloc((size_t)threads, sizeof *writer->blocks);
    bool complete = writer->blocks != NULL;
    for (int i = 0; complete && i < threads; i++) {
        struct block *block = &writer->blocks[i];
        block->values = malloc(BLOCK_BYTES + BOUND_BYTES + LEVEL_BYTES);
        complete = block->values != NULL;
        block->deflated = block->values + BLOCK_BYTES;
        block->level = block->deflated + BOUND_BYTES;
    }
    if (complete && gzip_writer_put(writer, zlib ? zlib_head : gzip_head,
                                    zlib ? sizeof zlib_head : sizeof gzip_head))
        return writer;
    ts_gzip_writer_destroy(writer);
    return NULL;
}

#ifdef TS_HAVE_ISAL
_Static_assert(ISAL_DEF_LVL2_DEFAULT <= LEVEL_BYTES, "the scratch of a block holds ISA-L's buffer");

static size_t deflate_open(const struct block *block)
{
    struct isal_zstream stream;
    isal_deflate_init(&stream);
    stream.level = 2;
    stream.level_buf = block->level;
    stream.level_buf_size = ISAL_DEF_LVL2_DEFAULT;
    stream.gzip_flag = IGZIP_DEFLATE;
    stream.flush = FULL_FLUSH;
    stream.next_in = block->values;
    stream.avail_in = (uint32_t)block->bytes;
    stream.next_out = block->deflated;
    stream.avail_out = BOUND_BYTES;
    const bool done =
        isal_deflate(&stream) == COMP_OK && stream.avail_in == 0 && stream.avail_out > 0;
    return done ? stream.total_out : 0;
}
#else
static size_t deflate_open(const struct block *block)
{
    enum { RAW_WINDOW = -15, MEMORY_LEVEL = 8, LEVEL = 1 };
    z_stream stream = {.next_in = block->values,
                       .avail_in = (uInt)block->bytes,
                       .next_out = block->deflated,
                       .avail_out = BOUND_BYTES};
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, RAW_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
        Z_OK)
        return 0;
    const bool done =
        deflate(&stream, Z_FULL_FLUSH) == Z_OK && stream.avail_in == 0 && stream.avail_out > 0;
    const size_t bytes = stream.total_out;
    (void)deflateEnd(&stream);
    return done ? bytes : 0;
}
#endif

/* Deflates all blocks that are not empty, in parallel, and writes them in their order. */
static bool write_blocks(struct gzip_writer *writer, int n)
{
#pragma omp parallel for schedule(dynamic) num_threads(writer->n_blocks)
    for (int i = 0; i < n; i++) {
        struct block *block = &writer->blocks[i];
        block->deflated_bytes = deflate_open(block);
        block->checksum = gzip_writer_checksum(writer, block);
    }
    for (int i = 0; i < n; i++) {
        struct block *block = &writer->blocks[i];
        if (block->deflated_bytes == 0) {
            errno = ENOMEM;
            return false;
        }
        const z_off_t bytes = (z_off_t)block->bytes;
        writer->checksum =
            (uint32_t)(writer->zlib ? adler32_combine(writer->checksum, block->checksum, bytes)
                                    : crc32_combine(writer->checksum, block->checksum, bytes));
        writer->bytes += block->bytes;
        if (!gzip_writer_put(writer, block->deflated, block->deflated_bytes))
            return false;
        block->bytes = 0;
    }
    writer->n_full = 0;
    return true;
}

bool ts_gzip_writer_add(struct gzip_writer *writer, const void *data, size_t bytes)
{
    for (const unsigned char *from = data; bytes > 0;) {
        struct block *block = &writer->blocks[writer->n_full];
        const size_t space = BLOCK_BYTES - block->bytes, n = bytes < space ? bytes : space;
        memcpy(block->values + block->bytes, from, n);
        block->bytes += n;
        from += n;
        bytes -= n;
        if (block->bytes == BLOCK_BYTES && ++writer->n_full == writer->n_blocks &&
            !write_blocks(writer, writer->n_full))
            return false;
    }
    return true;
}

bool ts_gzip_writer_end(struct gzip_writer *writer)
{
    const bool rest = writer->n_full < writer->n_blocks && writer->blocks[writer->n_full].bytes > 0;
    if (!write_blocks(writer, writer->n_full + rest))
        return false;
    unsigned char tail[10] = {3, 0}; /* an empty last block, then checksum and length */
    for (int i = 0; i < 4; i++) {
        tail[2 + i] = (unsigned char)(writer->checksum >> 8 * (writer->zlib ? 3 - i : i));
        tail[6 + i] = (unsigned char)(writer->bytes >> 8 * i);
    }
    return gzip_writer_put(writer, tail, writer->zlib ? 6 : sizeof tail);
}
