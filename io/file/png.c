/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture is one chunk of deflated rows, each of which holds the differences from the previous
 * pixel. Source: PNG, ISO/IEC 15948.
 */
#include "io/file/png.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/file/whole_file.h"
#include "io/file/zlib_stream.h"

enum { DEFLATE_LEVEL = 6, CHUNK_EXTRA = 12, HEAD_BYTES = 512, SUB = 1 };

/* The file while it is made. */
struct encoding {
    unsigned char *bytes;
    size_t n;
};

size_t ts_png_pixel_bytes(enum png_kind kind)
{
    static const size_t bytes[] = {[PNG_GRAY8] = 1, [PNG_GRAY16] = 2, [PNG_RGBA8] = 4};
    return bytes[kind];
}

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Returns where the data of the next chunk begin. */
static unsigned char *chunk_data(const struct encoding *encoding)
{
    return encoding->bytes + encoding->n + 8;
}

/* Ends a chunk of n bytes, which are already there behind its length and name. */
static void end_chunk(struct encoding *encoding, const char *name, size_t n)
{
    unsigned char *chunk = encoding->bytes + encoding->n;
    put_u32(chunk, (uint32_t)n);
    memcpy(chunk + 4, name, 4);
    put_u32(chunk + 8 + n, (uint32_t)crc32(0, chunk + 4, (uInt)(n + 4)));
    encoding->n += n + CHUNK_EXTRA;
}

/* Adds the chunks before the pixels. */
static void put_head(struct encoding *encoding, const struct png_picture *picture)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    enum { GRAY = 0, RGBA = 6, METER = 1, MM_PER_METER = 1000 };
    memcpy(encoding->bytes, signature, sizeof signature);
    encoding->n = sizeof signature;
    unsigned char *data = chunk_data(encoding);
    memset(data, 0, 13);
    put_u32(data, (uint32_t)picture->width);
    put_u32(data + 4, (uint32_t)picture->height);
    data[8] = picture->kind == PNG_GRAY16 ? 16 : 8;
    data[9] = picture->kind == PNG_RGBA8 ? RGBA : GRAY;
    end_chunk(encoding, "IHDR", 13);
    if (picture->pixel_mm[0] > 0) {
        data = chunk_data(encoding);
        put_u32(data, (uint32_t)fmin(rint(MM_PER_METER / picture->pixel_mm[0]), INT32_MAX));
        put_u32(data + 4, (uint32_t)fmin(rint(MM_PER_METER / picture->pixel_mm[1]), INT32_MAX));
        data[8] = METER;
        end_chunk(encoding, "pHYs", 9);
    }
    if (picture->comment) {
        const int n = snprintf((char *)chunk_data(encoding), HEAD_BYTES / 2, "Comment%c%s", '\0',
                               picture->comment);
        end_chunk(encoding, "tEXt", (size_t)n);
    }
}

/* Makes the rows of a picture: a filter byte (Sub) and the differences from the previous pixel. */
static void filter_rows(unsigned char *out, const unsigned char *pixels, int64_t rows, size_t pitch,
                        size_t width)
{
    for (int64_t y = 0; y < rows; y++, pixels += pitch) {
        *out++ = SUB;
        for (size_t i = 0; i < pitch; i++)
            *out++ = (unsigned char)(pixels[i] - (i < width ? 0 : pixels[i - width]));
    }
}

int ts_png_encode(const struct png_picture *picture, const unsigned char *pixels, void **bytes,
                  size_t *n)
{
    const size_t width = ts_png_pixel_bytes(picture->kind), pitch = (size_t)picture->width * width;
    const size_t filtered_bytes = (pitch + 1) * (size_t)picture->height,
                 bound = ts_zlib_bound(filtered_bytes);
    unsigned char *filtered = malloc(filtered_bytes);
    struct encoding encoding = {malloc(HEAD_BYTES + bound + 2 * CHUNK_EXTRA), 0};
    struct zlib_coder *coder = ts_zlib_coder_create();
    size_t packed = 0;
    if (filtered && encoding.bytes && coder) {
        filter_rows(filtered, pixels, picture->height, pitch, width);
        put_head(&encoding, picture);
        packed = ts_zlib_deflate(coder, DEFLATE_LEVEL, filtered, filtered_bytes,
                                 chunk_data(&encoding), bound);
    }
    const bool made = packed > 0 && packed <= INT32_MAX;
    if (made) {
        end_chunk(&encoding, "IDAT", packed);
        end_chunk(&encoding, "IEND", 0);
    } else {
        free(encoding.bytes);
    }
    ts_zlib_coder_destroy(coder);
    free(filtered);
    *bytes = made ? encoding.bytes : NULL;
    *n = made ? encoding.n : 0;
    return made ? 0 : ENOMEM;
}

static enum ts_status encode(const struct png_picture *picture, const uint8_t *pixels, void **bytes,
                             size_t *n, struct ts_diag *diag)
{
    *bytes = NULL;
    *n = 0;
    if (picture->width < 1 || picture->height < 1 || picture->width > PNG_LONGEST_SIDE ||
        picture->height > PNG_LONGEST_SIDE)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "png-write"},
                             "a picture of %lld x %lld pixels cannot be a PNG",
                             (long long)picture->width, (long long)picture->height);
    return ts_png_encode(picture, pixels, bytes, n) == 0
               ? TS_OK
               : ts_diag_no_memory(diag, ts_png_pixel_bytes(picture->kind) *
                                             (size_t)picture->width * (size_t)picture->height);
}

static enum ts_status write_png(const char *path, const struct png_picture *picture,
                                const uint8_t *pixels, struct ts_diag *diag)
{
    void *bytes;
    size_t n;
    struct whole_file file;
    enum ts_status status = encode(picture, pixels, &bytes, &n, diag);
    if (status == TS_OK)
        status = ts_whole_file_open(&file, path, true, diag);
    if (status == TS_OK) {
        (void)fwrite(bytes, 1, n, file.stream); /* an error is found when the file is closed */
        status = ts_whole_file_close(&file, diag);
    }
    free(bytes);
    return status;
}

enum ts_status ts_png_write_gray8(const char *path, int64_t width, int64_t height,
                                  const uint8_t *pixels, struct ts_diag *diag)
{
    return write_png(path, &(struct png_picture){width, height, PNG_GRAY8, {0}, NULL}, pixels,
                     diag);
}

enum ts_status ts_png_gray8(int64_t width, int64_t height, const uint8_t *pixels, void **bytes,
                            size_t *n, struct ts_diag *diag)
{
    return encode(&(struct png_picture){width, height, PNG_GRAY8, {0}, NULL}, pixels, bytes, n,
                  diag);
}

enum ts_status ts_png_write_rgba8(const char *path, int64_t width, int64_t height,
                                  const uint8_t *pixels, struct ts_diag *diag)
{
    return write_png(path, &(struct png_picture){width, height, PNG_RGBA8, {0}, NULL}, pixels,
                     diag);
}
