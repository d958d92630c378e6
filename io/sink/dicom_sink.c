/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a volume, or a series of them, as a derived DICOM series, one file a slice in a folder: as
 * CT, MR or PET images if the input or the quantity says so, else as secondary captures. Stored
 * values are 16-bit integers. Values that fit these are stored unchanged; others get one slope and
 * intercept for the series, with which each changes by at most half a step, and whole Hounsfield
 * units are exact. Invalid pixels have a stored value of their own, which Pixel Padding Value
 * states. UIDs follow from the values and the geometry, so that equal results have equal files.
 * dicom_attributes.c makes the headers. Source: DICOM PS3.3 A.3, A.4, A.8, A.21 and C.11.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/vector3.h"
#include "io/file/file_bytes.h"
#include "io/sink/dicom_files.h"
#include "io/sink/dicom_pack.h"

enum { LONGEST_SIDE = UINT16_MAX };

/* ---- RLE ------------------------------------------------------------------------------------- */

/* RLE has a segment for each byte of the pixels, the high byte first, and packs each row by itself,
   as the standard demands: runs of three and more equal bytes become a count and the byte, others
   stay. */
enum { RLE_HEADER_BYTES = 64, SHORTEST_RUN = 3, LONGEST_RUN = 128 };

/* Returns how many equal bytes, two apart in memory, begin here; at most `most`. */
static size_t run_at(const unsigned char *at, size_t most)
{
    size_t run = 1;
    while (run < most && at[2 * run] == *at)
        run++;
    return run;
}

/* Packs one row of bytes that are two apart in memory. Returns the bytes written: at most one more
   for each 128 of the row. */
static size_t pack_row(const unsigned char *row, size_t n, unsigned char *out)
{
    size_t done = 0, written = 0;
    while (done < n) {
        const size_t left = n - done,
                     run = run_at(row + 2 * done, left < LONGEST_RUN ? left : LONGEST_RUN);
        if (run >= SHORTEST_RUN) {
            out[written++] = (unsigned char)(257 - run);
            out[written++] = row[2 * done];
            done += run;
            continue;
        }
        unsigned char *control = &out[written++];
        size_t plain = 0;
        do {
            out[written++] = row[2 * done++];
            plain++;
        } while (plain < LONGEST_RUN && done < n &&
                 run_at(row + 2 * done, n - done < SHORTEST_RUN ? n - done : SHORTEST_RUN) <
                     SHORTEST_RUN);
        *control = (unsigned char)(plain - 1);
    }
    return written;
}

/* Returns how many bytes `out` of rle_encode must have. */
static size_t rle_bound(size_t rows, size_t columns)
{
    return RLE_HEADER_BYTES + 2 * (rows * (columns + columns / LONGEST_RUN + 1) + 1);
}

/* Encodes a frame of 16-bit pixels. Returns its length, which is even. */
static size_t rle_encode(const uint16_t *pixels, size_t rows, size_t columns, unsigned char *out)
{
    size_t at = RLE_HEADER_BYTES;
    memset(out, 0, RLE_HEADER_BYTES);
    out[0] = 2;
    for (size_t segment = 0; segment < 2; segment++) {
        for (size_t i = 0; i < 4; i++)
            out[4 * (segment + 1) + i] = (unsigned char)(at >> 8 * i);
        for (size_t y = 0; y < rows; y++)
            at += pack_row((const unsigned char *)(pixels + y * columns) + (1 - segment), columns,
                           out + at);
        if (at % 2 != 0)
            out[at++] = 0;
    }
    return at;
}

/* ---- what it can hold ------------------------------------------------------------------------ */

static const char *dicom_sink_refusal(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    const char *wrong = ts_sink_no_volume(request);
    if (request->volumes && request->volumes->kind == TS_AXIS_ITEM)
        return "the values of a sweep are no times, and a series would say that they are";
    if (wrong)
        return wrong;
    for (int d = 1; d < 3; d++)
        if (image->axes[d].n > LONGEST_SIDE)
            return "a side of its slices is longer than 65535 pixels";
    if (strcmp(image->axes[1].unit, "mm") || strcmp(image->axes[2].unit, "mm"))
        return "its pixels have no size in mm";
    return ts_dicom_lacks_of_pet(request);
}

/* Returns true if slices rise against the normal of their rows and columns. */
static bool is_left_handed(const struct ts_image *image)
{
    double normal[3];
    ts_cross(image->direction, image->direction + 3, normal);
    return image->has_geometry && ts_dot(normal, image->step_z_mm) < 0;
}

/* DICOM orders slices only by their positions. */
static const char *warning(const struct sink_request *request)
{
    return request->image->axes[0].n > 1 && is_left_handed(request->image)
               ? "is left-handed: DICOM has no order of slices, so that it is read back with its "
                 "slices in the opposite order, each at its place"
               : NULL;
}

/* Returns the bytes of memory that a codec takes for a frame: for RLE its output; for JPEG 2000 the
   frame as 32-bit integers, the coefficients and its code blocks. */
static size_t codec_bytes(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    switch (request->codec) {
    case SINK_CODEC_NONE:
        return 0;
    case SINK_CODEC_RLE:
        return rle_bound((size_t)image->axes[1].n, (size_t)image->axes[2].n);
    case SINK_CODEC_J2K:
        break;
    }
    return 30 * ts_slice_count(image);
}

static size_t memory_bytes(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    return (size_t)request->threads *
           (ts_slice_bytes(image) + 2 * ts_slice_count(image) + codec_bytes(request));
}

/* ---- stored values --------------------------------------------------------------------------- */

/* Rounds a number to the digits of VR DS. */
static double as_written(double value)
{
    char text[DICOM_NUMBER_BYTES];
    ts_dicom_decimal(value, text);
    return strtod(text, NULL);
}

/* Chooses a stored value that no valid pixel has, if values are stored unchanged: the one value of
   the invalid pixels, or the next one beyond the valid ones. Returns false if there is none. */
static bool choose_padding(struct dicom_files *files, double low, double high)
{
    const struct sink_scratch *scratch = &files->scratch;
    const double least = files->is_signed ? INT16_MIN : 0,
                 most = files->is_signed ? INT16_MAX : UINT16_MAX;
    const double own = scratch->hidden_low;
    const bool keeps = own == scratch->hidden_high && (own < low || own > high);
    const double padding = keeps ? own : low - 1 >= least ? low - 1 : high + 1;
    files->padding = (int32_t)fmin(padding, most);
    return padding <= most;
}

/* Chooses the scale of PET, which has no intercept: the largest magnitude gets the largest stored
   value, and negative values make stored ones signed. */
static void choose_scale_of_pet(struct dicom_files *files, double low, double high)
{
    files->is_signed = low < 0 || files->has_padding;
    files->padding = INT16_MIN;
    files->least = files->is_signed ? -INT16_MAX : 0;
    files->most = files->is_signed ? INT16_MAX : UINT16_MAX;
    const double largest = fmax(-low, high);
    const bool whole = ts_dtype_is_integer(files->sink.image.dtype) && largest <= files->most;
    files->rounded = !whole && largest > 0;
    files->slope = whole || !(largest > 0) ? 1 : as_written(largest / files->most * (1 + 1e-9));
}

/* Stores values as steps from `first` on, if 16 bits can count the steps, and step and `first` can
   be written in VR DS so that they give `first` again. Returns false if not. */
static bool take_steps(struct dicom_files *files, double first, double high, double step)
{
    const double intercept = first - files->least * step;
    if (!(step > 0) || high - first > (files->most - files->least) * step ||
        as_written(step) != step || as_written(intercept) != intercept ||
        intercept + files->least * step != first)
        return false;
    files->slope = step;
    files->intercept = intercept;
    return true;
}

/* Gives Hounsfield units a power of two as their step, so that whole units are restored exactly.
   Returns false if the step would be more than 1. */
static bool take_whole_steps(struct dicom_files *files, double low, double high)
{
    const double least = (high - low) / (files->most - files->least);
    if (files->sink.image.quantity != TS_HU || !(least > 0))
        return false;
    for (double step = exp2(ceil(log2(least))); step <= 1; step *= 2)
        if (take_steps(files, floor(low / step) * step, high, step))
            return true;
    return false;
}

static void choose_scale(struct dicom_files *files)
{
    const struct sink_scratch *scratch = &files->scratch;
    const enum ts_dtype dtype = files->sink.image.dtype;
    const double low = scratch->low <= scratch->high ? scratch->low : 0,
                 high = scratch->low <= scratch->high ? scratch->high : 0;
    files->slope = 1;
    files->is_signed = dtype == TS_I8 || dtype == TS_I16;
    files->direct = files->is_signed || dtype == TS_U8 || dtype == TS_U16;
    files->has_padding = files->sink.valid || (!files->direct && scratch->has_nan);
    files->direct = files->direct && (!files->has_padding || choose_padding(files, low, high));
    if (files->direct)
        return;
    if (files->object == DICOM_PT) {
        choose_scale_of_pet(files, low, high);
        return;
    }
    files->is_signed = false;
    files->padding = 0;
    files->least = files->has_padding;
    files->most = UINT16_MAX;
    files->intercept = low - files->least;
    if (ts_dtype_is_integer(dtype) && high - low <= files->most - files->least)
        return;
    /* Values on an even grid are restored exactly. If there is only one value, any step will do. */
    if (take_steps(files, low, high, isfinite(scratch->step) ? scratch->step : 1))
        return;
    files->rounded = high > low;
    if (take_whole_steps(files, low, high))
        return;
    /* The range is a little wider, because VR DS may cut digits of intercept and slope. If there is
       only one value and it is not a multiple of the step, it becomes the step, and keeps its
       digits however small it is. */
    const double range =
        high > low ? (high - low) / (files->most - files->least) * (1 + 1e-9) : fabs(low);
    files->slope = as_written(range);
    files->intercept = as_written(low - files->least * files->slope);
}

/* Fills in the stored values of slice z; signed ones in two's complement. */
static void dicom_sink_store(const struct dicom_files *files, int64_t z, const unsigned char *slice,
                             uint16_t *stored)
{
    const struct ts_image *image = &files->sink.image;
    const size_t n = ts_slice_count(image), width = ts_dtype_bytes(image->dtype);
    for (size_t i = 0; i < n; i++) {
        double value;
        ts_load_f64(&value, slice + i * width, image->dtype, 1);
        if (!ts_sink_is_valid(&files->sink, z, i)) {
            stored[i] = (uint16_t)files->padding;
            continue;
        }
        if (files->direct) {
            stored[i] = (uint16_t)(int32_t)value;
            continue;
        }
        const double level = rint((value - files->intercept) / files->slope);
        stored[i] =
            (uint16_t)(!isfinite(value) ? files->padding
                                        : (int32_t)fmin(fmax(level, files->least), files->most));
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Puts an item of a sequence of fragments. */
static void put_item(struct dicom_header *header, uint32_t element, uint32_t length)
{
    ts_dicom_put_number(header, 0xFFFE, 2);
    ts_dicom_put_number(header, element, 2);
    ts_dicom_put_number(header, length, 4);
}

/* Writes the header and then the fragment or, if `packed` is NULL, the uncompressed pixels. */
static bool write_file(int fd, const struct dicom_files *files, struct dicom_header *header,
                       const uint16_t *stored, const unsigned char *packed, size_t n)
{
    enum { ITEM = 0xE000, END = 0xE0DD };
    const size_t bytes = ts_slice_count(&files->sink.image) * sizeof *stored;
    if (!packed) {
        ts_dicom_put_element(header, 0x7FE00010, "OW", (uint32_t)bytes);
        return ts_file_write_at(fd, header->bytes, header->n, 0) &&
               ts_file_write_at(fd, stored, bytes, header->n);
    }
    struct dicom_header end = {.n = 0};
    ts_dicom_put_element(header, 0x7FE00010, "OB", UINT32_MAX);
    put_item(header, ITEM, 0); /* an empty offset table */
    put_item(header, ITEM, (uint32_t)n);
    put_item(&end, END, 0);
    return ts_file_write_at(fd, header->bytes, header->n, 0) &&
           ts_file_write_at(fd, packed, n, header->n) &&
           ts_file_write_at(fd, end.bytes, end.n, header->n + n);
}

static bool pack_rle(const struct dicom_pixels *pixels, unsigned char **out, size_t *bytes)
{
    *out = malloc(rle_bound(pixels->rows, pixels->columns));
    *bytes = *out ? rle_encode(pixels->values, pixels->rows, pixels->columns, *out) : 0;
    return *out != NULL;
}

static int write_slice(const struct sink *sink, int64_t z, const unsigned char *slice)
{
    static dicom_pack *const packs[] = {[SINK_CODEC_NONE] = NULL,
                                        [SINK_CODEC_RLE] = pack_rle,
                                        [SINK_CODEC_J2K] = ts_dicom_pack_jpeg_2000};
    const struct dicom_files *files = (const struct dicom_files *)sink;
    const struct ts_image *image = &sink->image;
    dicom_pack *const pack = packs[sink->request.codec];
    unsigned char *packed = NULL;
    size_t n = 0;
    uint16_t *stored = malloc(ts_slice_count(image) * sizeof *stored);
    struct dicom_header *header = malloc(sizeof *header);
    int error = stored && header ? 0 : ENOMEM;
    if (!error) {
        const struct dicom_pixels pixels = {stored, (size_t)image->axes[1].n,
                                            (size_t)image->axes[2].n, files->is_signed, 16};
        dicom_sink_store(files, z, slice, stored);
        ts_dicom_make_header(files, z, header);
        if (pack && !pack(&pixels, &packed, &n))
            error = ENOMEM;
    }
    if (!error) {
        const int fd = ts_staged_create_part(&sink->staged[0], z + 1, ts_sink_slices(sink),
                                             sink->format->part);
        if (fd < 0 || !write_file(fd, files, header, stored, packed, n))
            error = errno;
        if (fd >= 0 && close(fd) != 0 && !error)
            error = errno;
    }
    free(packed);
    free(stored);
    free(header);
    return error;
}

/* ---- the table ------------------------------------------------------------------------------- */

static enum ts_status open_files(struct sink *sink, struct ts_diag *diag)
{
    return ts_scratch_create(&((struct dicom_files *)sink)->scratch, sink, diag);
}

static enum ts_status dicom_sink_put(struct sink *sink, const struct ts_image *slab,
                                     struct ts_diag *diag)
{
    return ts_scratch_put(&((struct dicom_files *)sink)->scratch, sink, slab, diag);
}

static enum ts_status dicom_sink_finish(struct sink *sink, struct ts_diag *diag)
{
    struct dicom_files *files = (struct dicom_files *)sink;
    const enum ts_status status = ts_scratch_end(&files->scratch, sink, diag);
    if (status != TS_OK)
        return status;
    ts_dicom_choose_object(files);
    choose_scale(files);
    if (files->rounded)
        ts_diag_note(
            diag, &(struct diag_site){.code = "output-rounded", .stage = "output.dicom"},
            "the values are stored in steps of %g %s, each within half a step of what it was",
            files->slope, sink->image.unit);
    files->window = ts_scratch_window(&files->scratch, sink);
    ts_sink_transform(&sink->image, files->transform);
    ts_dicom_make_uids(files);
    return ts_scratch_write_all(&files->scratch, sink, write_slice, diag);
}

static void free_files(struct sink *sink)
{
    ts_scratch_clear(&((struct dicom_files *)sink)->scratch);
}

const struct sink_format dicom_sink = {
    .name = "dicom",
    .summary = "a folder of one DICOM file a slice, a derived series without identity",
    .part = ".dcm",
    .has_codec = true,
    .has_window = true,
    .sink_bytes = sizeof(struct dicom_files),
    .refusal = dicom_sink_refusal,
    .warning = warning,
    .memory_bytes = memory_bytes,
    .open = open_files,
    .put = dicom_sink_put,
    .finish = dicom_sink_finish,
    .free = free_files,
};
