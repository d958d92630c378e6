/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes slices as gray pictures, one PNG file each in a folder, or one file if there is one slice.
 * They are turned as all pictures are (core/picture_plane.h) and numbered by the index of the
 * slice. Unsigned values of 8 and 16 bits are stored unchanged; others become 8 bits by a window,
 * which the chain gives, or which goes from the 1st to the 99th percentile of a sample of the whole
 * image; of HU it is that of soft tissue, as in previews. A comment in each file states the slice,
 * the sides of the patient and the window. Invalid pixels and values that are not finite are black.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/description.h"
#include "core/picture_plane.h"
#include "io/file/file_bytes.h"
#include "io/file/png.h"
#include "io/sink/sink_scratch.h"

struct png_files {
    struct sink sink; /* first */
    struct sink_scratch scratch;
    bool raw; /* values are stored unchanged */
    struct sink_window window;
    struct picture_plane plane; /* that the slices are in */
};

/* Returns true if an image's values can be used as gray values. */
static bool is_raw(const struct sink_request *request)
{
    return !request->window.given &&
           (request->image->dtype == TS_U8 || request->image->dtype == TS_U16);
}

static const char *png_sink_refusal(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    if (ts_sink_is_file(&png_sink, request->path) && (image->axes[0].n > 1 || request->volumes))
        return "a PNG file is one slice";
    return image->axes[1].n > PNG_LONGEST_SIDE || image->axes[2].n > PNG_LONGEST_SIDE
               ? "its slices are too large"
               : NULL;
}

/* ---- one picture ----------------------------------------------------------------------------- */

/* Converts slice z to gray bytes in the order of the plane; 16-bit values have the high byte
   first. */
static void make_gray(const struct png_files *files, int64_t z, const unsigned char *slice,
                      unsigned char *gray)
{
    const struct sink_window *window = &files->window;
    const struct ts_image *image = &files->sink.image;
    const struct picture_plane *plane = &files->plane;
    const size_t n = ts_slice_count(image), width = ts_dtype_bytes(image->dtype);
    for (size_t k = 0; k < n; k++) {
        const size_t i = (size_t)ts_picture_offset(image, plane, (int64_t)k / plane->columns,
                                                   (int64_t)k % plane->columns);
        double value;
        if (!ts_sink_is_valid(&files->sink, z, i)) {
            memset(gray + k * (files->raw ? width : 1), 0, files->raw ? width : 1);
        } else if (files->raw && width == 1) {
            gray[k] = slice[i];
        } else if (files->raw) {
            uint16_t sample;
            memcpy(&sample, slice + 2 * i, sizeof sample);
            gray[2 * k] = (unsigned char)(sample >> 8);
            gray[2 * k + 1] = (unsigned char)sample;
        } else {
            ts_load_f64(&value, slice + i * width, image->dtype, 1);
            const double shade = (value - window->low) / (window->high - window->low) * 255;
            if (shade >= 255)
                gray[k] = 255;
            else if (shade > 0)
                gray[k] = (unsigned char)lrint(shade);
            else
                gray[k] = 0;
        }
    }
}

/* States the slice, the sides of the patient from the left to the bottom, and the window. */
static void make_comment(const struct png_files *files, int64_t z, char *text, size_t size)
{
    const struct ts_image *image = &files->sink.image;
    const char *quantity = ts_quantity_name(image->quantity), *unit = image->unit;
    struct picture_plane plane = files->plane;
    char of[PNG_COMMENT / 2];
    size_t used = 0;
    ts_picture_move(image, z % image->axes[0].n, &plane);
    used +=
        (size_t)snprintf(text, size, "%s, ", ts_picture_slice_text(image, &plane, of, sizeof of));
    if (*plane.sides)
        used += (size_t)snprintf(text + used, size - used, "%.4s; ", plane.sides);
    if (files->raw)
        snprintf(text + used, size - used, "gray values are %s in %s", quantity, unit);
    else
        snprintf(text + used, size - used, "black is %.9g, white is %.9g (%s in %s)",
                 files->window.low, files->window.high, quantity, unit);
}

static int create_file(const struct sink *sink, int64_t z)
{
    return sink->staged[0].is_folder
               ? ts_staged_create_part(&sink->staged[0], z, ts_sink_slices(sink),
                                       sink->format->part)
               : dup(sink->staged[0].file.fd);
}

static int write_picture(const struct sink *sink, int64_t z, const unsigned char *slice)
{
    const struct png_files *files = (const struct png_files *)sink;
    const struct ts_axis *rows = &files->sink.image.axes[files->plane.down],
                         *columns = &files->sink.image.axes[files->plane.right];
    char comment[PNG_COMMENT];
    const bool in_mm = ts_axis_mm(columns) > 0 && ts_axis_mm(rows) > 0;
    const struct png_picture picture = {
        .width = columns->n,
        .height = rows->n,
        .kind = files->raw && files->sink.image.dtype == TS_U16 ? PNG_GRAY16 : PNG_GRAY8,
        .pixel_mm = {in_mm ? ts_axis_spacing(columns) : 0, in_mm ? ts_axis_spacing(rows) : 0},
        .comment = comment};
    unsigned char *gray =
        malloc(ts_png_pixel_bytes(picture.kind) * (size_t)picture.width * (size_t)picture.height);
    void *bytes = NULL;
    size_t n = 0;
    make_comment(files, z, comment, sizeof comment);
    int error = gray ? 0 : ENOMEM;
    if (!error) {
        make_gray(files, z, slice, gray);
        error = ts_png_encode(&picture, gray, &bytes, &n);
    }
    const int fd = error ? -1 : create_file(sink, z);
    if (!error && (fd < 0 || !ts_file_write_at(fd, bytes, n, 0)))
        error = errno;
    if (fd >= 0 && close(fd) != 0 && !error)
        error = errno;
    free(bytes);
    free(gray);
    return error;
}

/* ---- the table ------------------------------------------------------------------------------- */

static size_t memory_bytes(const struct sink_request *request)
{
    return (size_t)request->threads *
           (ts_slice_bytes(request->image) + 4 * ts_slice_count(request->image));
}

static enum ts_status open_files(struct sink *sink, struct ts_diag *diag)
{
    struct png_files *files = (struct png_files *)sink;
    files->raw = is_raw(&sink->request);
    ts_picture_plane(&sink->image, PLANE_STORED, true, &files->plane);
    return ts_scratch_create(&files->scratch, sink, diag);
}

static enum ts_status png_sink_put(struct sink *sink, const struct ts_image *slab,
                                   struct ts_diag *diag)
{
    return ts_scratch_put(&((struct png_files *)sink)->scratch, sink, slab, diag);
}

static enum ts_status png_sink_finish(struct sink *sink, struct ts_diag *diag)
{
    struct png_files *files = (struct png_files *)sink;
    const enum ts_status status = ts_scratch_end(&files->scratch, sink, diag);
    if (status != TS_OK)
        return status;
    files->window = ts_scratch_window(&files->scratch, sink);
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
    .refusal = png_sink_refusal,
    .memory_bytes = memory_bytes,
    .open = open_files,
    .put = png_sink_put,
    .finish = png_sink_finish,
    .free = free_files,
};
