/* SPDX-License-Identifier: Apache-2.0
 *
 * zlib inflates, since it can stop anywhere. The file is read through a buffer of 256 KiB. zlib
 * compares a member's checksum when it reaches the member's end; a caller that has read all values
 * asks for that by ts_gzip_reader_check.
 */
#include "io/file/gzip_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "io/file/file_bytes.h"

/* The window's flag makes zlib find out if a stream is gzip or zlib. */
enum { BUFFER_BYTES = 256 << 10, ANY_WINDOW = 15 + 32, LONGEST = 1 << 30 };

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

bool ts_zlib_is(int fd, uint64_t offset)
{
    unsigned char magic[2];
    return ts_file_read_at(fd, magic, sizeof magic, offset) && (magic[0] & 0x0F) == 8 &&
           (256 * magic[0] + magic[1]) % 31 == 0;
}

struct gzip_reader *ts_gzip_reader_create(int fd, uint64_t offset)
{
    struct gzip_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->fd = fd;
    reader->offset = offset;
    if (inflateInit2(&reader->stream, ANY_WINDOW) == Z_OK)
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

/* Reads more of the file if all of it is inflated. Returns NULL, or what failed. At the file's end
   it adds no bytes. */
static const char *gzip_reader_fill(struct gzip_reader *reader)
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

/* Inflates at least one byte of the file, to at most `bytes` bytes of `out`, and sets *made to the
   number of bytes that came out. Returns NULL, or what is wrong. */
static const char *inflate_some(struct gzip_reader *reader, unsigned char *out, size_t bytes,
                                size_t *made)
{
    z_stream *stream = &reader->stream;
    const char *wrong = gzip_reader_fill(reader);
    *made = 0;
    if (wrong)
        return wrong;
    if (stream->avail_in == 0)
        return "ends before its data do";
    if (reader->ended && inflateReset(stream) != Z_OK)
        return "has a gzip member that cannot be inflated";
    const size_t n = bytes < LONGEST ? bytes : LONGEST;
    stream->next_out = out;
    stream->avail_out = (uInt)n;
    const int result = inflate(stream, Z_NO_FLUSH);
    *made = n - stream->avail_out;
    reader->ended = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR)
        return "cannot be inflated: memory is out";
    if (result == Z_DATA_ERROR && stream->msg &&
        (strstr(stream->msg, "data check") || strstr(stream->msg, "length check")))
        return "is damaged: its compressed data have another checksum or length than they state";
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR
               ? NULL
               : "is damaged: its compressed data cannot be inflated";
}

const char *ts_gzip_reader_read(struct gzip_reader *reader, void *out, size_t bytes)
{
    const char *wrong = NULL;
    size_t made;
    for (unsigned char *to = out; bytes > 0 && !wrong; to += made, bytes -= made)
        wrong = inflate_some(reader, to, bytes, &made);
    return wrong;
}

const char *ts_gzip_reader_skip(struct gzip_reader *reader, uint64_t bytes)
{
    unsigned char passed[4096];
    const char *wrong = NULL;
    for (; !wrong && bytes > 0; bytes -= bytes < sizeof passed ? bytes : sizeof passed)
        wrong = ts_gzip_reader_read(reader, passed,
                                    bytes < sizeof passed ? (size_t)bytes : sizeof passed);
    return wrong;
}

const char *ts_gzip_reader_check(struct gzip_reader *reader, uint64_t most, bool *whole,
                                 uint64_t *rest)
{
    enum { MAGIC = 0x1F };
    unsigned char passed[32 << 10];
    *rest = 0;
    for (;;) {
        size_t made;
        const char *wrong = gzip_reader_fill(reader);
        const z_stream *stream = &reader->stream;
        *whole = !wrong && reader->ended && (stream->avail_in == 0 || *stream->next_in != MAGIC);
        if (wrong || *whole || most == 0)
            return wrong;
        wrong = inflate_some(reader, passed, most < sizeof passed ? (size_t)most : sizeof passed,
                             &made);
        if (wrong)
            return wrong;
        most -= made;
        *rest += made;
    }
}
