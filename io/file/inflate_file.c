/* SPDX-License-Identifier: Apache-2.0
 *
 * zlib inflates, since libdeflate needs the whole stream and its length in advance. The ratio is
 * checked while inflating: a stream of zeros is refused after a small part of what it would inflate
 * to.
 */
#include "io/file/inflate_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BYTES = 64 << 10, SKIP_BYTES = 64 << 10, RAW_STREAM = -15 };

struct inflate_file {
    z_stream stream;
    bool begun; /* inflating the stream below has begun, and has reached total_out */
    bool ended;
    int fd;
    dev_t device;
    ino_t inode;
    int64_t offset;     /* where the stream begins in the file */
    int64_t read_bytes; /* that were read of it */
    int64_t taken,
        /* bytes that went into the stream and came out; zlib's own counts may have 32 bits */
        given;
    unsigned char input[INPUT_BYTES], skipped[SKIP_BYTES];
};

struct inflate_file *ts_inflate_file_create(void)
{
    struct inflate_file *file = calloc(1, sizeof *file);
    if (file && inflateInit2(&file->stream, RAW_STREAM) != Z_OK) {
        free(file);
        return NULL;
    }
    return file;
}

void ts_inflate_file_destroy(struct inflate_file *file)
{
    if (!file)
        return;
    inflateEnd(&file->stream);
    free(file);
}

static void inflate_file_begin(struct inflate_file *file)
{
    inflateReset(&file->stream);
    file->stream.avail_in = 0;
    file->read_bytes = file->taken = file->given = 0;
    file->ended = false;
}

void ts_inflate_file_choose(struct inflate_file *file, int fd, dev_t device, ino_t inode,
                            int64_t offset)
{
    file->fd = fd;
    if (file->begun && file->device == device && file->inode == inode && file->offset == offset)
        return;
    file->begun = true;
    file->device = device;
    file->inode = inode;
    file->offset = offset;
    inflate_file_begin(file);
}

/* Reads the next piece of the file; at its end, none. Returns false with errno if it cannot. */
static bool fill_input(struct inflate_file *file)
{
    ssize_t got;
    do {
        got = pread(file->fd, file->input, INPUT_BYTES, (off_t)(file->offset + file->read_bytes));
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return false;
    file->read_bytes += got;
    file->stream.next_in = file->input;
    file->stream.avail_in = (uInt)got;
    return true;
}

/* Inflates at most n bytes to `out`, and sets *got to how many came. INFLATE_WHOLE: n bytes came,
   or the stream has ended. */
static enum inflate_end inflate_some(struct inflate_file *file, void *out, size_t n, size_t *got)
{
    z_stream *stream = &file->stream;
    *got = 0;
    while (*got < n && !file->ended) {
        if (stream->avail_in == 0) {
            if (!fill_input(file))
                return INFLATE_UNREADABLE;
            if (stream->avail_in == 0)
                return INFLATE_CUT;
        }
        const uInt before = stream->avail_in;
        const uInt room = n - *got < UINT32_MAX ? (uInt)(n - *got) : UINT32_MAX;
        stream->next_out = (unsigned char *)out + *got;
        stream->avail_out = room;
        const int code = inflate(stream, Z_NO_FLUSH);
        file->taken += before - stream->avail_in;
        *got += room - stream->avail_out;
        file->given += room - stream->avail_out;
        file->ended = code == Z_STREAM_END;
        if (code == Z_MEM_ERROR)
            errno = ENOMEM;
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return code == Z_MEM_ERROR ? INFLATE_UNREADABLE : INFLATE_DAMAGED;
    }
    return INFLATE_WHOLE;
}

enum inflate_end ts_inflate_file_measure(struct inflate_file *file,
                                         const struct inflate_limits *limits, int64_t *inflated,
                                         int64_t *deflated)
{
    enum inflate_end end = INFLATE_WHOLE;
    inflate_file_begin(file);
    while (end == INFLATE_WHOLE && !file->ended) {
        size_t got;
        end = inflate_some(file, file->skipped, SKIP_BYTES, &got);
        if (file->given > limits->bytes ||
            (file->given > limits->free_bytes && file->given / limits->ratio > file->taken))
            end = INFLATE_LIMIT;
    }
    *inflated = file->given;
    *deflated = file->taken;
    return end;
}

enum inflate_end ts_inflate_file_read(struct inflate_file *file, int64_t offset, void *out,
                                      size_t n)
{
    size_t got;
    enum inflate_end end = INFLATE_WHOLE;
    if (offset < file->given)
        inflate_file_begin(file);
    while (end == INFLATE_WHOLE && file->given < offset && !file->ended) {
        const int64_t left = offset - file->given;
        end =
            inflate_some(file, file->skipped, left < SKIP_BYTES ? (size_t)left : SKIP_BYTES, &got);
    }
    if (end == INFLATE_WHOLE)
        end = inflate_some(file, out, n, &got);
    if (end == INFLATE_WHOLE && got < n)
        end = INFLATE_CUT;
    return end;
}
