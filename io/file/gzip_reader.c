/* SPDX-License-Identifier: Apache-2.0
 *
 * zlib inflates, since it can stop anywhere; the file is read through a buffer of 256 KiB. A member's checksum is
 * compared by zlib where its end is reached, which need not be asked for.
 */
#include "io/file/gzip_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "io/file/file_bytes.h"

enum { BUFFER_BYTES = 256 << 10, GZIP_WINDOW = 15 + 16, LONGEST = 1 << 30 };

struct gzip_reader {
    int fd;
    uint64_t offset;
    bool ended; /* a member has ended, and the next has not begun */
    z_stream stream;
    unsigned char buffer[BUFFER_BYTES];
};

bool ts_gzip_is(int fd, uint64_t offset)
{
    unsigned char magic[2];
    return ts_file_read_at(fd, magic, sizeof magic, offset) && magic[0] == 0x1F && magic[1] == 0x8B;
}

struct gzip_reader *ts_gzip_reader_create(int fd, uint64_t offset)
{
    struct gzip_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->fd = fd;
    reader->offset = offset;
    if (inflateInit2(&reader->stream, GZIP_WINDOW) == Z_OK)
        return reader;
    free(reader);
    return NULL;
}

void ts_gzip_reader_destroy(struct gzip_reader *reader)
{
    if (reader)
        (void)inflateEnd(&reader->stream);
    free(reader);
}

/* Reads more of the file where all of it is inflated. Returns NULL, or what failed; at the file's end nothing is there
 * to inflate. */
static const char *fill(struct gzip_reader *reader)
{
    ssize_t n;
    if (reader->stream.avail_in > 0)
        return NULL;
    do
        n = pread(reader->fd, reader->buffer, BUFFER_BYTES, (off_t)reader->offset);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return ts_errno_text(errno);
    reader->offset += (uint64_t)n;
    reader->stream.next_in = reader->buffer;
    reader->stream.avail_in = (uInt)n;
    return NULL;
}

const char *ts_gzip_reader_read(struct gzip_reader *reader, void *out, size_t bytes)
{
    z_stream *stream = &reader->stream;
    for (unsigned char *to = out; bytes > 0;) {
        const char *wrong = fill(reader);
        if (wrong)
            return wrong;
        if (stream->avail_in == 0)
            return "ends before its data do";
        if (reader->ended && inflateReset(stream) != Z_OK)
            return "has a gzip member that cannot be inflated";
        reader->ended = false;
        const size_t n = bytes < LONGEST ? bytes : LONGEST;
        stream->next_out = to;
        stream->avail_out = (uInt)n;
        const int result = inflate(stream, Z_NO_FLUSH);
        const size_t made = n - stream->avail_out;
        to += made;
        bytes -= made;
        reader->ended = result == Z_STREAM_END;
        if (result == Z_MEM_ERROR)
            return "cannot be inflated: memory is out";
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            return "is damaged: its gzip data cannot be inflated";
    }
    return NULL;
}

const char *ts_gzip_reader_skip(struct gzip_reader *reader, uint64_t bytes)
{
    unsigned char passed[4096];
    const char *wrong = NULL;
    for (; !wrong && bytes > 0; bytes -= bytes < sizeof passed ? bytes : sizeof passed)
        wrong = ts_gzip_reader_read(reader, passed, bytes < sizeof passed ? (size_t)bytes : sizeof passed);
    return wrong;
}
