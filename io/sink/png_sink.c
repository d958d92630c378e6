/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes slices as gray pictures, one PNG file each in a folder, or one file where there is one slice. Values of 8
 * and 16 bits without a sign are stored as they are; others become 8 bits by a window, which the chain gives, or which
 * goes from the 1st to the 99th percentile of a sample of the whole image. A comment in each file states the window.
 * Values that are not finite, and invalid pixels, are black. Source: PNG, ISO/IEC 15948.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "io/file/file_bytes.h"
#include "io/file/zlib_stream.h"
#include "io/sink/sink_scratch.h"

enum { LONGEST_SIDE = 1 << 20, DEFLATE_LEVEL = 6, CHUNK_EXTRA = 12, HEAD_BYTES = 512 };

struct png_files {
    struct sink sink; /* first */
    struct sink_scratch scratch;
    bool raw; /* values are stored as they are */
    struct sink_window window;
    char comment[HEAD_BYTES / 4];
};

/* Returns true where an image's values can be the gray values themselves. */
static bool is_raw(const struct sink_request *request)
{
    return !request->window.given && (request->image->dtype == TS_U8 || request->image->dtype == TS_U16);
}

static const char *refusal(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    if (ts_sink_is_file(&png_sink, request->path) && (image->axes[0].n > 1 || request->volumes))
        return "a PNG file is one slice";
    return image->axes[1].n > LONGEST_SIDE || image->axes[2].n > LONGEST_SIDE ? "its slices are too large" : NULL;
}

/* ---- one picture --------------------------------------------------------------------------------- */

/* This holds a PNG file while it is made in memory. */
struct picture {
    unsigned char *bytes;
    size_t n;
};

static void put_u32(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* Ends a chunk of n bytes, which stand behind its length and name already. */
static void end_chunk(struct picture *picture, const char *name, size_t n)
{
    unsigned char *chunk = picture->bytes + picture->n;
    put_u32(chunk, (uint32_t)n);
    memcpy(chunk + 4, name, 4);
    put_u32(chunk + 8 + n, (uint32_t)crc32(0, chunk + 4, (uInt)(n + 4)));
    picture->n += n + CHUNK_EXTRA;
}

/* Adds what stands before the pixels. */
static void put_head(struct picture *picture, const struct ts_image *image, bool wide, const char *comment)
{
    static const unsigned char signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    enum { GRAY = 0, METER = 1, MM_PER_METER = 1000 };
    memcpy(picture->bytes, signature, sizeof signature);
    picture->n = sizeof signature;
    unsigned char *data = picture->bytes + picture->n + 8;
    memset(data, 0, 13);
    put_u32(data, (uint32_t)image->axes[2].n);
    put_u32(data + 4, (uint32_t)image->axes[1].n);
    data[8] = wide ? 16 : 8;
    data[9] = GRAY;
    end_chunk(picture, "IHDR", 13);
    if (!strcmp(image->axes[2].unit, "mm") && !strcmp(image->axes[1].unit, "mm")) {
        data = picture->bytes + picture->n + 8;
        put_u32(data, (uint32_t)fmin(rint(MM_PER_METER / ts_axis_spacing(&image->axes[2])), INT32_MAX));
        put_u32(data + 4, (uint32_t)fmin(rint(MM_PER_METER / ts_axis_spacing(&image->axes[1])), INT32_MAX));
        data[8] = METER;
        end_chunk(picture, "pHYs", 9);
    }
    data = picture->bytes + picture->n + 8;
    const size_t n = (size_t)snprintf((char *)data, HEAD_BYTES / 2, "Comment%c%s", '\0', comment);
    end_chunk(picture, "tEXt", n);
}

/* Makes the rows of a picture: a filter byte, Sub, and the differences from the pixel before. */
static void filter_rows(unsigned char *out, const unsigned char *gray, int64_t rows, size_t pitch, size_t width)
{
    for (int64_t y = 0; y < rows; y++, gray += pitch) {
        *out++ = 1;
        for (size_t i = 0; i < pitch; i++)
            *out++ = (unsigned char)(gray[i] - (i < width ? 0 : gray[i - width]));
    }
}

/* Turns slice z to gray bytes, 16-bit ones high byte first. */
static void make_gray(const struct png_files *files, int64_t z, const unsigned char *slice, unsigned char *gray)
{
    const struct sink_window *window = &files->window;
    const struct ts_image *image = &files->sink.image;
    const size_t n = ts_slice_count(image), width = ts_dtype_bytes(image->dtype);
    for (size_t i = 0; i < n; i++) {
        double value;
        if (!ts_sink_is_valid(&files->sink, z, i)) {
            memset(gray + i * (files->raw ? width : 1), 0, files->raw ? width : 1);
        } else if (files->raw && width == 1) {
            gray[i] = slice[i];
        } else if (files->raw) {
            uint16_t sample;
            memcpy(&sample, slice + 2 * i, sizeof sample);
            gray[2 * i] = (unsigned char)(sample >> 8);
            gray[2 * i + 1] = (unsigned char)sample;
        } else {
            ts_load_f64(&value, slice + i * width, image->dtype, 1);
            const double shade = (value - window->low) / (window->high - window->low) * 255;
            gray[i] = shade >= 255 ? 255 : shade > 0 ? (unsigned char)lrint(shade) : 0;
        }
    }
}

static int create_file(const struct sink *sink, int64_t z)
{
    return sink->staged[0].is_folder
               ? ts_staged_create_part(&sink->staged[0], z + 1, ts_sink_slices(sink), sink->format->part)
               : dup(sink->staged[0].file.fd);
}

static int write_picture(const struct sink *sink, int64_t z, const unsigned char *slice)
{
    const struct png_files *files = (const struct png_files *)sink;
    const struct ts_image *image = &files->sink.image;
    const bool wide = files->raw && image->dtype == TS_U16;
    const size_t width = wide ? 2 : 1, pitch = (size_t)image->axes[2].n * width;
    const int64_t rows = image->axes[1].n;
    const size_t n = (pitch + 1) * (size_t)rows, bound = ts_zlib_bound(n);
    unsigned char *gray = malloc(pitch * (size_t)rows), *filtered = malloc(n);
    struct picture picture = {malloc(HEAD_BYTES + bound + 2 * CHUNK_EXTRA), 0};
    struct zlib_coder *coder = ts_zlib_coder_create();
    int error = gray && filtered && picture.bytes && coder ? 0 : ENOMEM;
    if (!error) {
        make_gray(files, z, slice, gray);
        filter_rows(filtered, gray, rows, pitch, width);
        put_head(&picture, image, wide, files->comment);
        const size_t packed = ts_zlib_deflate(coder, DEFLATE_LEVEL, filtered, n, picture.bytes + picture.n + 8, bound);
        error = packed > 0 && packed <= INT32_MAX ? 0 : ENOMEM;
        if (!error) {
            end_chunk(&picture, "IDAT", packed);
            end_chunk(&picture, "IEND", 0);
        }
    }
    const int fd = error ? -1 : create_file(sink, z);
    if (!error && (fd < 0 || !ts_file_write_at(fd, picture.bytes, picture.n, 0)))
        error = errno;
    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    ts_zlib_coder_destroy(coder);
    free(picture.bytes);
    free(filtered);
    free(gray);
    return error;
}

/* ---- the table ----------------------------------------------------------------------------------- */

static size_t memory_bytes(const struct sink_request *request)
{
    return (size_t)request->threads * (ts_slice_bytes(request->image) + 4 * ts_slice_count(request->image));
}

static enum ts_status open_files(struct sink *sink, struct ts_diag *diag)
{
    struct png_files *files = (struct png_files *)sink;
    files->raw = is_raw(&sink->request);
    return ts_scratch_create(&files->scratch, sink, diag);
}

static enum ts_status put(struct sink *sink, const struct ts_image *slab, struct ts_diag *diag)
{
    return ts_scratch_put(&((struct png_files *)sink)->scratch, sink, slab, diag);
}

static enum ts_status finish(struct sink *sink, struct ts_diag *diag)
{
    struct png_files *files = (struct png_files *)sink;
    const char *quantity = ts_quantity_name(sink->image.quantity), *unit = sink->image.unit;
    const enum ts_status status = ts_scratch_end(&files->scratch, sink, diag);
    if (status != TS_OK)
        return status;
    files->window = ts_scratch_window(&files->scratch, sink);
    if (files->raw)
        snprintf(files->comment, sizeof files->comment, "gray values are %s in %s", quantity, unit);
    else
        snprintf(files->comment, sizeof files->comment, "black is %.9g, white is %.9g (%s in %s)", files->window.low,
                 files->window.high, quantity, unit);
    return ts_scratch_write_all(&files->scratch, sink, write_picture, diag);
}

static void free_files(struct sink *sink)
{
    ts_scratch_clear(&((struct png_files *)sink)->scratch);
}

const struct sink_format png_sink = {
    .name = "png",
    .summary = "a folder of one PNG picture a slice, or one .png file of one slice",
    .suffixes = {".png"},
    .has_window = true,
    .part = ".png",
    .sink_bytes = sizeof(struct png_files),
    .refusal = refusal,
    .memory_bytes = memory_bytes,
    .open = open_files,
    .put = put,
    .finish = finish,
    .free = free_files,
};
