/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a volume as a derived DICOM series, one file a slice in a folder: as CT or MR images where the input or the
 * quantity says so, else as secondary captures. Stored values are 16-bit integers; values that these hold are stored as
 * they are, others get one slope and intercept a series, with which each is within half a step of what it was.
 * Invalid pixels have a stored value of their own, which Pixel Padding Value names. UIDs
 * follow from the values and the geometry, so that equal results have equal files. No attribute comes from a patient:
 * name, number, dates and the like are empty. Source: DICOM PS3.3 A.3, A.4, A.8 and C.11.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/sink/dicom_encode.h"
#include "io/sink/sink_scratch.h"

#define CT_CLASS "1.2.840.10008.5.1.4.1.1.2"
#define MR_CLASS "1.2.840.10008.5.1.4.1.1.4"
#define CAPTURE_CLASS "1.2.840.10008.5.1.4.1.1.7"

enum { LONGEST_SIDE = UINT16_MAX, MOST_STORED = UINT16_MAX };

struct dicom_files {
    struct sink sink; /* first */
    struct sink_scratch scratch;
    const char *object_class, *modality;
    /* value = slope * stored + intercept. What is not valid or not finite is stored as `padding`, as nothing else is.
     */
    double slope, intercept;
    bool is_signed, direct, has_padding;
    int32_t padding;
    struct sink_window window;
    double transform[3][4]; /* voxel (x, y, z, 1) to LPS */
    char study[DICOM_UID_BYTES], series[DICOM_UID_BYTES], frame[DICOM_UID_BYTES];
};

static const char *refusal(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    const char *wrong = ts_sink_no_volume(request);
    if (wrong || request->volumes)
        return wrong ? wrong : "a series of volumes; nifti and tiff hold one";
    for (int d = 1; d < 3; d++)
        if (image->axes[d].n > LONGEST_SIDE)
            return "a side of its slices is longer than 65535 pixels";
    return strcmp(image->axes[1].unit, "mm") || strcmp(image->axes[2].unit, "mm") ? "its pixels have no size in mm"
                                                                                  : NULL;
}

static size_t memory_bytes(const struct sink_request *request)
{
    const struct ts_image *image = request->image;
    return (size_t)request->threads * (ts_slice_bytes(image) + 2 * ts_slice_count(image) +
                                       ts_dicom_rle_bound((size_t)image->axes[1].n, (size_t)image->axes[2].n));
}

/* ---- stored values ------------------------------------------------------------------------------- */

/* Rounds a number to the digits of VR DS. */
static double as_written(double value)
{
    char text[DICOM_NUMBER_BYTES];
    ts_dicom_decimal(value, text);
    return strtod(text, NULL);
}

/* Chooses a stored value that no valid pixel has, for values that are stored as they are: the one value of the invalid
 * pixels, or the next beyond those of valid ones. Returns false where there is none. */
static bool choose_padding(struct dicom_files *files, double low, double high)
{
    const struct sink_scratch *scratch = &files->scratch;
    const double least = files->is_signed ? INT16_MIN : 0, most = files->is_signed ? INT16_MAX : UINT16_MAX;
    const double own = scratch->hidden_low;
    const bool keeps = own == scratch->hidden_high && (own < low || own > high);
    const double padding = keeps ? own : low - 1 >= least ? low - 1 : high + 1;
    files->padding = (int32_t)fmin(padding, most);
    return padding <= most;
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
    const double first = files->has_padding, steps = MOST_STORED - first;
    files->is_signed = false;
    files->padding = 0;
    files->intercept = low - first;
    if (ts_dtype_is_integer(dtype) && high - low <= steps)
        return;
    /* A little more than is needed, for what the digits of intercept and slope leave out. */
    files->slope = as_written(high > low ? (high - low) / steps * (1 + 1e-9) : 1);
    files->intercept = as_written(low - first * files->slope);
}

/* Fills in the stored values of slice z. */
static void store(const struct dicom_files *files, int64_t z, const unsigned char *slice, uint16_t *stored)
{
    const struct ts_image *image = &files->sink.image;
    const size_t n = ts_slice_count(image), width = ts_dtype_bytes(image->dtype);
    const double first = files->has_padding;
    for (size_t i = 0; i < n; i++) {
        double value;
        ts_load_f64(&value, slice + i * width, image->dtype, 1);
        if (!ts_sink_is_valid(&files->sink, z, i)) {
            stored[i] = (uint16_t)files->padding;
            continue;
        }
        if (files->direct) {
            stored[i] = (uint16_t)(int32_t)value; /* the lowest bits of a signed number */
            continue;
        }
        const double level = rint((value - files->intercept) / files->slope);
        stored[i] = !isfinite(value)      ? (uint16_t)files->padding
                    : level < first       ? (uint16_t)first
                    : level > MOST_STORED ? MOST_STORED
                                          : (uint16_t)level;
    }
}

/* ---- elements ------------------------------------------------------------------------------------ */

static void put_decimals(struct dicom_header *header, uint32_t tag, const double *values, int n)
{
    char text[6 * DICOM_NUMBER_BYTES] = "", number[DICOM_NUMBER_BYTES];
    for (int i = 0; i < n; i++) {
        ts_dicom_decimal(values[i], number);
        if (i > 0)
            strcat(text, "\\");
        strcat(text, number);
    }
    ts_dicom_put_text(header, tag, "DS", "%s", text);
}

static void put_empty(struct dicom_header *header, uint32_t tag, const char *vr)
{
    ts_dicom_put_text(header, tag, vr, "%s", "");
}

static void put_identity(struct dicom_header *header, const struct dicom_files *files, const char *instance)
{
    const bool capture = !strcmp(files->object_class, CAPTURE_CLASS);
    const struct ts_image *image = &files->sink.image;
    ts_dicom_put_text(header, 0x00080008, "CS", "DERIVED\\SECONDARY\\%s",
                      !strcmp(files->object_class, CT_CLASS) ? "AXIAL" : "OTHER");
    ts_dicom_put_text(header, 0x00080016, "UI", "%s", files->object_class);
    ts_dicom_put_text(header, 0x00080018, "UI", "%s", instance);
    put_empty(header, 0x00080020, "DA");
    put_empty(header, 0x00080030, "TM");
    put_empty(header, 0x00080050, "SH");
    ts_dicom_put_text(header, 0x00080060, "CS", "%s", files->modality);
    if (capture)
        ts_dicom_put_text(header, 0x00080064, "CS", "WSD");
    put_empty(header, 0x00080070, "LO");
    put_empty(header, 0x00080090, "PN");
    ts_dicom_put_text(header, 0x0008103E, "LO", "%.24s: %s in %.16s", files->sink.request.name,
                      ts_quantity_name(image->quantity), image->unit);
    ts_dicom_put_text(header, 0x00082111, "ST", "computed by tomostage %s", ts_version());
    put_empty(header, 0x00100010, "PN");
    put_empty(header, 0x00100020, "LO");
    put_empty(header, 0x00100030, "DA");
    put_empty(header, 0x00100040, "CS");
    ts_dicom_put_text(header, 0x00120062, "CS", "YES");
    ts_dicom_put_text(header, 0x00120063, "LO", "values and geometry alone, no other attribute");
}

static void put_acquisition(struct dicom_header *header, const struct dicom_files *files)
{
    const bool mr = !strcmp(files->object_class, MR_CLASS);
    const double thickness = files->sink.image.axes[0].spacing;
    if (mr) {
        ts_dicom_put_text(header, 0x00180020, "CS", "RM");
        ts_dicom_put_text(header, 0x00180021, "CS", "NONE");
        put_empty(header, 0x00180022, "CS");
        put_empty(header, 0x00180023, "CS");
    }
    if (thickness > 0)
        put_decimals(header, 0x00180050, &thickness, 1);
    else
        put_empty(header, 0x00180050, "DS");
    if (!strcmp(files->object_class, CT_CLASS))
        put_empty(header, 0x00180060, "DS");
    if (mr) {
        put_empty(header, 0x00180080, "DS");
        put_empty(header, 0x00180081, "DS");
        if (thickness > 0)
            put_decimals(header, 0x00180088, &thickness, 1);
        put_empty(header, 0x00180091, "IS");
    }
    ts_dicom_put_text(header, 0x00181020, "LO", "tomostage %s", ts_version());
    put_empty(header, 0x00185100, "CS");
}

static void put_place(struct dicom_header *header, const struct dicom_files *files, int64_t z)
{
    double position[3], orientation[6];
    for (int i = 0; i < 3; i++) {
        position[i] = files->transform[i][3] + (double)z * files->transform[i][2];
        for (int d = 0; d < 2; d++)
            orientation[3 * d + i] =
                files->transform[i][d] / ts_axis_spacing(&files->sink.image.axes[2 - d]) + 0; /* no negative zero */
    }
    ts_dicom_put_text(header, 0x0020000D, "UI", "%s", files->study);
    ts_dicom_put_text(header, 0x0020000E, "UI", "%s", files->series);
    put_empty(header, 0x00200010, "SH");
    ts_dicom_put_text(header, 0x00200011, "IS", "1");
    put_empty(header, 0x00200012, "IS");
    ts_dicom_put_text(header, 0x00200013, "IS", "%lld", (long long)z + 1);
    if (!strcmp(files->object_class, CAPTURE_CLASS))
        put_empty(header, 0x00200020, "CS");
    put_decimals(header, 0x00200032, position, 3);
    put_decimals(header, 0x00200037, orientation, 6);
    ts_dicom_put_text(header, 0x00200052, "UI", "%s", files->frame);
    put_empty(header, 0x00200060, "CS");
    put_empty(header, 0x00201040, "LO");
}

static void put_pixel_module(struct dicom_header *header, const struct dicom_files *files)
{
    const struct ts_image *image = &files->sink.image;
    const double spacing[2] = {ts_axis_spacing(&image->axes[1]), ts_axis_spacing(&image->axes[2])};
    const double width = files->window.high - files->window.low, center = (files->window.high + files->window.low) / 2;
    ts_dicom_put_short(header, 0x00280002, 1);
    ts_dicom_put_text(header, 0x00280004, "CS", "MONOCHROME2");
    ts_dicom_put_short(header, 0x00280010, (uint32_t)image->axes[1].n);
    ts_dicom_put_short(header, 0x00280011, (uint32_t)image->axes[2].n);
    put_decimals(header, 0x00280030, spacing, 2);
    ts_dicom_put_short(header, 0x00280100, 16);
    ts_dicom_put_short(header, 0x00280101, 16);
    ts_dicom_put_short(header, 0x00280102, 15);
    ts_dicom_put_short(header, 0x00280103, files->is_signed);
    if (files->has_padding) {
        ts_dicom_put_element(header, 0x00280120, files->is_signed ? "SS" : "US", 2);
        ts_dicom_put_number(header, (uint32_t)files->padding, 2);
    }
    const char *burned_in = ts_sink_attribute(&files->sink.request, "burned_in_annotation");
    if (burned_in && strcmp(burned_in, "UNKNOWN") != 0)
        ts_dicom_put_text(header, 0x00280301, "CS", "%.3s", burned_in);
    put_decimals(header, 0x00281050, &center, 1);
    put_decimals(header, 0x00281051, &width, 1);
    put_decimals(header, 0x00281052, &files->intercept, 1);
    put_decimals(header, 0x00281053, &files->slope, 1);
    ts_dicom_put_text(header, 0x00281054, "LO", "%s", image->quantity == TS_HU ? "HU" : "US");
    if (width < 1) /* the usual function has no smaller width */
        ts_dicom_put_text(header, 0x00281056, "CS", "LINEAR_EXACT");
}

/* ---- files --------------------------------------------------------------------------------------- */

static void make_header(const struct dicom_files *files, int64_t z, struct dicom_header *header)
{
    char instance[DICOM_UID_BYTES], text[160];
    const bool rle = files->sink.request.codec == SINK_CODEC_RLE;
    snprintf(text, sizeof text, "%s instance %lld", files->series, (long long)z);
    ts_dicom_uid(instance, text);
    ts_dicom_put_meta(header, files->object_class, instance, rle ? DICOM_RLE_SYNTAX : DICOM_EXPLICIT_SYNTAX);
    put_identity(header, files, instance);
    put_acquisition(header, files);
    put_place(header, files, z);
    put_pixel_module(header, files);
}

/* Puts an item of a sequence of fragments. */
static void put_item(struct dicom_header *header, uint32_t element, uint32_t length)
{
    ts_dicom_put_number(header, 0xFFFE, 2);
    ts_dicom_put_number(header, element, 2);
    ts_dicom_put_number(header, length, 4);
}

static bool write_file(int fd, const struct dicom_files *files, struct dicom_header *header, const uint16_t *stored,
                       unsigned char *packed)
{
    enum { ITEM = 0xE000, END = 0xE0DD };
    const struct ts_image *image = &files->sink.image;
    const size_t bytes = ts_slice_count(image) * sizeof *stored;
    if (!packed) {
        ts_dicom_put_element(header, 0x7FE00010, "OW", (uint32_t)bytes);
        return ts_file_write_at(fd, header->bytes, header->n, 0) && ts_file_write_at(fd, stored, bytes, header->n);
    }
    struct dicom_header end = {.n = 0};
    const size_t n = ts_dicom_rle(stored, (size_t)image->axes[1].n, (size_t)image->axes[2].n, packed);
    ts_dicom_put_element(header, 0x7FE00010, "OB", UINT32_MAX);
    put_item(header, ITEM, 0); /* an empty table of offsets */
    put_item(header, ITEM, (uint32_t)n);
    put_item(&end, END, 0);
    return ts_file_write_at(fd, header->bytes, header->n, 0) && ts_file_write_at(fd, packed, n, header->n) &&
           ts_file_write_at(fd, end.bytes, end.n, header->n + n);
}

static int write_slice(const struct sink *sink, int64_t z, const unsigned char *slice)
{
    const struct dicom_files *files = (const struct dicom_files *)sink;
    const struct ts_image *image = &sink->image;
    const bool rle = sink->request.codec == SINK_CODEC_RLE;
    unsigned char *packed = NULL;
    uint16_t *stored = malloc(ts_slice_count(image) * sizeof *stored);
    struct dicom_header *header = malloc(sizeof *header);
    if (rle)
        packed = malloc(ts_dicom_rle_bound((size_t)image->axes[1].n, (size_t)image->axes[2].n));
    int error = stored && header && (packed || !rle) ? 0 : ENOMEM;
    if (!error) {
        store(files, z, slice, stored);
        make_header(files, z, header);
        const int fd = ts_staged_create_part(&sink->staged[0], z + 1, image->axes[0].n, sink->format->part);
        if (fd < 0 || !write_file(fd, files, header, stored, packed))
            error = errno;
        if (fd >= 0 && close(fd) != 0 && !error)
            error = errno;
    }
    free(packed);
    free(stored);
    free(header);
    return error;
}

/* Chooses the kind of object: what the input was, or what the quantity is measured by. */
static void choose_class(struct dicom_files *files)
{
    const char *modality = ts_sink_attribute(&files->sink.request, "modality");
    const enum ts_quantity quantity = files->sink.image.quantity;
    if (modality ? !strcmp(modality, "CT") : quantity == TS_HU || quantity == TS_ATTENUATION) {
        files->object_class = CT_CLASS;
        files->modality = "CT";
    } else if (modality && !strcmp(modality, "MR")) {
        files->object_class = MR_CLASS;
        files->modality = "MR";
    } else {
        files->object_class = CAPTURE_CLASS;
        files->modality = modality && strlen(modality) <= 16 ? modality : "OT";
    }
}

static void make_uids(struct dicom_files *files)
{
    char text[512];
    size_t n = (size_t)snprintf(text, sizeof text, "%s %s", files->scratch.digest_text, files->object_class);
    if (files->sink.valid)
        n += (size_t)snprintf(text + n, sizeof text - n, " padding %d", (int)files->padding);
    for (int i = 0; i < 3; i++)
        for (int d = 0; d < 4; d++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %.9g", files->transform[i][d]);
    char part[600];
    snprintf(part, sizeof part, "tomostage study %s", text);
    ts_dicom_uid(files->study, part);
    snprintf(part, sizeof part, "tomostage series %s %d", text, (int)files->sink.request.codec);
    ts_dicom_uid(files->series, part);
    snprintf(part, sizeof part, "tomostage frame %s", text);
    ts_dicom_uid(files->frame, part);
}

/* ---- the table ----------------------------------------------------------------------------------- */

static enum ts_status open_files(struct sink *sink, struct ts_diag *diag)
{
    return ts_scratch_create(&((struct dicom_files *)sink)->scratch, sink, diag);
}

static enum ts_status put(struct sink *sink, const struct ts_image *slab, struct ts_diag *diag)
{
    return ts_scratch_put(&((struct dicom_files *)sink)->scratch, sink, slab, diag);
}

static enum ts_status finish(struct sink *sink, struct ts_diag *diag)
{
    struct dicom_files *files = (struct dicom_files *)sink;
    const enum ts_status status = ts_scratch_end(&files->scratch, sink, diag);
    if (status != TS_OK)
        return status;
    choose_class(files);
    choose_scale(files);
    files->window = ts_scratch_window(&files->scratch, sink);
    ts_sink_transform(&sink->image, files->transform);
    make_uids(files);
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
    .sink_bytes = sizeof(struct dicom_files),
    .refusal = refusal,
    .memory_bytes = memory_bytes,
    .open = open_files,
    .put = put,
    .finish = finish,
    .free = free_files,
};
