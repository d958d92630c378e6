/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything is little-endian unless the stream says otherwise. A level of known length gets it
 * when it is closed.
 */
#include "tests/files/region_fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/sink/dicom_pack.h"
#include "tests/files/dicom_fixture.h"

static void append(struct region_stream *stream, const void *bytes, size_t n)
{
    stream->bytes = realloc(stream->bytes, stream->n + n + 1);
    cr_assert_not_null(stream->bytes);
    memcpy(stream->bytes + stream->n, bytes, n);
    stream->n += n;
}

static void append_number(struct region_stream *stream, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        append(stream,
               &(unsigned char){
                   (unsigned char)(value >> 8 * (stream->big_endian ? bytes - 1 - i : i))},
               1);
}

static void append_head(struct region_stream *stream, uint32_t tag, const char *vr, uint32_t n,
                        bool implicit)
{
    const bool is_long =
        vr && (!strcmp(vr, "SQ") || !strcmp(vr, "OB") || !strcmp(vr, "OW") || !strcmp(vr, "UN"));
    append_number(stream, tag >> 16, 2);
    append_number(stream, tag & 0xFFFF, 2);
    if (vr && !implicit)
        append(stream, vr, 2);
    if (vr && !implicit && is_long)
        append_number(stream, 0, 2);
    append_number(stream, n, vr && !implicit && !is_long ? 2 : 4);
}

void ts_region_put(struct region_stream *stream, uint32_t tag, const char *vr, const void *bytes,
                   size_t n)
{
    const bool is_long = n > 0xFFFE && !stream->implicit; /* as UN, which tells such lengths */
    append_head(stream, tag, is_long ? "UN" : vr, (uint32_t)n, stream->implicit);
    append(stream, bytes, n);
}

void ts_region_put_text(struct region_stream *stream, uint32_t tag, const char *vr,
                        const char *text)
{
    const size_t n = strlen(text), even = n + n % 2;
    char *padded = calloc(1, even + 1);
    memcpy(padded, text, n);
    if (even > n && strcmp(vr, "UI") != 0)
        padded[n] = ' ';
    ts_region_put(stream, tag, vr, padded, even);
    free(padded);
}

void ts_region_put_us(struct region_stream *stream, uint32_t tag, unsigned value)
{
    append_head(stream, tag, "US", 2, stream->implicit);
    append_number(stream, value, 2);
}

void ts_region_open_level(struct region_stream *stream, uint32_t tag)
{
    cr_assert_lt(stream->depth, REGION_DEPTH);
    append_head(stream, tag ? tag : 0xFFFEE000u, tag ? "SQ" : NULL,
                stream->undefined ? UINT32_MAX : 0, stream->implicit);
    stream->open[stream->depth++] = tag ? stream->n : stream->n | (size_t)1 << 62;
}

void ts_region_close_level(struct region_stream *stream)
{
    const size_t opened = stream->open[--stream->depth], at = opened & ~((size_t)1 << 62);
    if (stream->undefined)
        append_head(stream, opened == at ? 0xFFFEE0DDu : 0xFFFEE00Du, NULL, 0, true);
    for (size_t i = 0; !stream->undefined && i < 4; i++)
        stream->bytes[at - 4 + i] =
            (unsigned char)((stream->n - at) >> 8 * (stream->big_endian ? 3 - i : i));
}

static void begin_as(struct region_stream *stream, const char *sop_class, const char *syntax,
                     bool implicit, bool undefined)
{
    static const unsigned char preamble[128];
    *stream = (struct region_stream){.implicit = false, .undefined = undefined};
    append(stream, preamble, sizeof preamble);
    append(stream, "DICM", 4);
    ts_region_put_text(stream, 0x00020002, "UI", sop_class);
    ts_region_put_text(stream, 0x00020010, "UI", syntax);
    stream->implicit = implicit;
    stream->big_endian = !strcmp(syntax, FIXTURE_EXPLICIT_BE);
    stream->data_set = stream->n;
    ts_region_put_text(stream, 0x00080016, "UI", sop_class);
}

void ts_region_begin(struct region_stream *stream, const char *sop_class, bool implicit,
                     bool undefined)
{
    begin_as(stream, sop_class, implicit ? FIXTURE_IMPLICIT_LE : FIXTURE_EXPLICIT_LE, implicit,
             undefined);
}

void ts_region_save(struct region_stream *stream, const char *path)
{
    cr_assert_eq(stream->depth, 0);
    ts_fixture_write_bytes(path, stream->bytes, stream->n);
    free(stream->bytes);
}

/* ---- segmentations --------------------------------------------------------------------------- */

static void put_decimals(struct region_stream *stream, uint32_t tag, const double *values, int n)
{
    char text[256] = "";
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.10g", i ? "\\" : "",
                 values[i]);
    ts_region_put_text(stream, tag, "DS", text);
}

static void put_shared(struct region_stream *stream, const struct seg_fixture *fixture)
{
    ts_region_open_level(stream, 0x52009229);
    ts_region_open_level(stream, 0);
    ts_region_open_level(stream, 0x00209116);
    ts_region_open_level(stream, 0);
    put_decimals(stream, 0x00200037, fixture->orientation, 6);
    ts_region_close_level(stream);
    ts_region_close_level(stream);
    ts_region_open_level(stream, 0x00289110);
    ts_region_open_level(stream, 0);
    if (fixture->between_mm > 0)
        put_decimals(stream, 0x00180088, &fixture->between_mm, 1);
    put_decimals(stream, 0x00280030, fixture->spacing_mm, 2);
    for (int i = 0; i < 4; i++)
        ts_region_close_level(stream);
}

static void put_frames(struct region_stream *stream, const struct seg_fixture *fixture,
                       const struct seg_fixture_frame *frames)
{
    ts_region_open_level(stream, 0x52009230);
    for (int i = 0; i < fixture->n_frames; i++) {
        ts_region_open_level(stream, 0);
        ts_region_open_level(stream, 0x00209113);
        ts_region_open_level(stream, 0);
        if (fixture->position)
            ts_region_put_text(stream, 0x00200032, "DS", fixture->position);
        else
            put_decimals(stream, 0x00200032, frames[i].position_mm, 3);
        ts_region_close_level(stream);
        ts_region_close_level(stream);
        ts_region_open_level(stream, 0x0062000A);
        ts_region_open_level(stream, 0);
        ts_region_put_us(stream, 0x0062000B, (unsigned)frames[i].segment);
        for (int k = 0; k < 3; k++)
            ts_region_close_level(stream);
    }
    ts_region_close_level(stream);
}

/* Deflates bytes without a head (RFC 1951); free() them. */
static unsigned char *deflate_all(const unsigned char *bytes, size_t n, size_t *deflated)
{
    unsigned char *out = malloc(n + 1000);
    z_stream stream = {.next_in = (unsigned char *)bytes,
                       .avail_in = (uInt)n,
                       .next_out = out,
                       .avail_out = (uInt)(n + 1000)};
    cr_assert_eq(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *deflated = n + 1000 - stream.avail_out;
    deflateEnd(&stream);
    return out;
}

/* Appends an item that holds the frame in one RLE segment of literal runs. */
static void put_rle(struct region_stream *stream, const unsigned char *bytes, size_t n)
{
    enum { RUN = 128, HEADER = 64 };
    const size_t coded = HEADER + n + (n + RUN - 1) / RUN;
    append_head(stream, 0xFFFEE000u, NULL, (uint32_t)(coded + coded % 2), true);
    append_number(stream, 1, 4);
    append_number(stream, HEADER, 4);
    for (int i = 2; i < HEADER / 4; i++)
        append_number(stream, 0, 4);
    for (size_t i = 0; i < n; i += RUN) {
        const size_t run = n - i < RUN ? n - i : RUN;
        append_number(stream, (uint32_t)run - 1, 1);
        append(stream, bytes + i, run);
    }
    append_number(stream, 0, coded % 2);
}

/* Appends an item that holds the frame in JPEG 2000. */
static void put_jpeg_2000(struct region_stream *stream, const struct seg_fixture *fixture,
                          const unsigned char *bytes)
{
    const size_t n = (size_t)(fixture->rows * fixture->columns);
    uint16_t *values = malloc(n * sizeof *values);
    unsigned char *packed;
    size_t length;
    for (size_t i = 0; i < n; i++)
        values[i] = bytes[i];
    const struct dicom_pixels frame = {values, (size_t)fixture->rows, (size_t)fixture->columns,
                                       false, strcmp(fixture->type, "BINARY") ? 8 : 1};
    cr_assert(ts_dicom_pack_jpeg_2000(&frame, &packed, &length));
    append_head(stream, 0xFFFEE000u, NULL, (uint32_t)length, true);
    append(stream, packed, length);
    free(packed);
    free(values);
}

/* Puts each frame as a fragment of its own. */
static void put_fragments(struct region_stream *stream, const struct seg_fixture *fixture,
                          const struct seg_fixture_frame *frames)
{
    const size_t n = (size_t)(fixture->rows * fixture->columns);
    const bool packed = !strcmp(fixture->type, "BINARY") && fixture->coding != SEG_RLE_BYTES &&
                        fixture->coding != SEG_JPEG_2000;
    const size_t bytes = packed ? (n + 7) / 8 : n;
    append_head(stream, FIXTURE_PIXELS, "OB", UINT32_MAX, false);
    append_head(stream, 0xFFFEE000u, NULL, 0, true);
    for (int f = 0; f < fixture->n_frames; f++) {
        unsigned char *frame = calloc(1, n + 1);
        for (size_t i = 0; i < n; i++)
            frame[packed ? i / 8 : i] |=
                (unsigned char)(frames[f].pixels[i] << (packed ? i % 8 : 0));
        if (fixture->coding == SEG_DEFLATED_FRAMES) {
            size_t deflated;
            unsigned char *out = deflate_all(frame, bytes, &deflated);
            append_head(stream, 0xFFFEE000u, NULL, (uint32_t)(deflated + deflated % 2), true);
            append(stream, out, deflated);
            append_number(stream, 0, deflated % 2);
            free(out);
        } else if (fixture->coding == SEG_JPEG_2000) {
            put_jpeg_2000(stream, fixture, frame);
        } else {
            put_rle(stream, frame, bytes);
        }
        free(frame);
    }
    append_head(stream, 0xFFFEE0DDu, NULL, 0, true);
}

/* Deflates the data set of a stream in place. */
static void deflate_set(struct region_stream *stream)
{
    size_t deflated;
    unsigned char *out =
        deflate_all(stream->bytes + stream->data_set, stream->n - stream->data_set, &deflated);
    stream->n = stream->data_set;
    append(stream, out, deflated);
    free(out);
}

static void put_pixels(struct region_stream *stream, const struct seg_fixture *fixture,
                       const struct seg_fixture_frame *frames)
{
    const size_t n = (size_t)(fixture->rows * fixture->columns);
    const bool binary = !strcmp(fixture->type, "BINARY");
    const size_t stride = fixture->padded ? (n + 7) / 8 * 8 : n;
    unsigned char *bytes = calloc(2, stride * (size_t)fixture->n_frames + 16);
    for (size_t i = 0; fixture->factor && i < n * (size_t)fixture->n_frames; i++) {
        const int value = frames[i / n].pixels[i % n] * fixture->factor;
        bytes[2 * i + stream->big_endian] = (unsigned char)value;
        bytes[2 * i + !stream->big_endian] = (unsigned char)(value >> 8);
    }
    for (size_t i = 0; !fixture->factor && i < n * (size_t)fixture->n_frames; i++) {
        const unsigned char value = frames[i / n].pixels[i % n];
        const size_t bit = i / n * stride + i % n;
        bytes[binary ? bit / 8 : i] |= (unsigned char)(binary ? (value & 1) << bit % 8 : value);
    }
    const size_t all = binary ? (stride * (size_t)fixture->n_frames + 7) / 8
                              : n * (size_t)fixture->n_frames * (fixture->factor ? 2 : 1);
    const bool words = fixture->coding == SEG_BIG_WORDS;
    for (size_t i = 0; words && !fixture->factor && i < all; i += 2) {
        const unsigned char low = bytes[i];
        bytes[i] = bytes[i + 1];
        bytes[i + 1] = low;
    }
    ts_region_put(stream, FIXTURE_PIXELS, words ? "OW" : "OB", bytes,
                  fixture->claimed_bytes ? (size_t)fixture->claimed_bytes : all + all % 2);
    free(bytes);
}

void ts_seg_write(const struct seg_fixture *fixture, const struct seg_fixture_frame *frames,
                  const char *path)
{
    struct region_stream stream;
    char text[32];
    const bool labels = !strcmp(fixture->type, "LABELMAP");
    const unsigned bits = fixture->factor ? 16 : strcmp(fixture->type, "BINARY") ? 8 : 1;
    static const char *const syntaxes[] = {[SEG_RLE] = FIXTURE_RLE,
                                           [SEG_RLE_BYTES] = FIXTURE_RLE,
                                           [SEG_DEFLATED_FRAMES] = FIXTURE_DEFLATED_FRAME,
                                           [SEG_DEFLATED_SET] = FIXTURE_DEFLATED,
                                           [SEG_JPEG_LS] = "1.2.840.10008.1.2.4.80",
                                           [SEG_JPEG_2000] = "1.2.840.10008.1.2.4.90",
                                           [SEG_BIG_BYTES] = FIXTURE_EXPLICIT_BE,
                                           [SEG_BIG_WORDS] = FIXTURE_EXPLICIT_BE};
    begin_as(&stream, labels ? "1.2.840.10008.5.1.4.1.1.66.7" : "1.2.840.10008.5.1.4.1.1.66.4",
             fixture->coding     ? syntaxes[fixture->coding]
             : fixture->implicit ? FIXTURE_IMPLICIT_LE
                                 : FIXTURE_EXPLICIT_LE,
             fixture->implicit, fixture->undefined);
    if (fixture->frame_of_reference)
        ts_region_put_text(&stream, 0x00200052, "UI", fixture->frame_of_reference);
    ts_region_put_us(&stream, 0x00280002, 1);
    ts_region_put_text(&stream, 0x00280004, "CS",
                       fixture->photometric ? fixture->photometric : "MONOCHROME2");
    snprintf(text, sizeof text, "%d",
             fixture->claimed_frames ? fixture->claimed_frames : fixture->n_frames);
    ts_region_put_text(&stream, 0x00280008, "IS", text);
    ts_region_put_us(&stream, 0x00280010,
                     (unsigned)(fixture->claimed_rows ? fixture->claimed_rows : fixture->rows));
    ts_region_put_us(&stream, 0x00280011, (unsigned)fixture->columns);
    ts_region_put_us(&stream, 0x00280100, bits);
    ts_region_put_us(&stream, 0x00280101, bits);
    ts_region_put_us(&stream, 0x00280102, bits - 1);
    ts_region_put_us(&stream, 0x00280103, 0);
    if (fixture->padding)
        ts_region_put_us(&stream, 0x00280120, (unsigned)*fixture->padding);
    ts_region_put_text(&stream, 0x00620001, "CS", fixture->type);
    ts_region_open_level(&stream, 0x00620002);
    for (int i = fixture->background ? 0 : 1; i <= fixture->n_segments; i++) {
        const int number = fixture->numbers && i > 0 ? fixture->numbers[i - 1] : i;
        ts_region_open_level(&stream, 0);
        ts_region_put_us(&stream, 0x00620004, (unsigned)number);
        const bool again = fixture->numbers && i > 1 && fixture->numbers[i - 2] == number;
        snprintf(text, sizeof text, again ? "another %d" : "segment %d", number);
        ts_region_put_text(&stream, 0x00620005, "LO", text);
        ts_region_close_level(&stream);
    }
    ts_region_close_level(&stream);
    ts_region_put_us(&stream, 0x0062000E, 200);
    put_shared(&stream, fixture);
    put_frames(&stream, fixture, frames);
    if (fixture->coding == SEG_PLAIN || fixture->coding == SEG_DEFLATED_SET ||
        fixture->coding >= SEG_BIG_BYTES)
        put_pixels(&stream, fixture, frames);
    else
        put_fragments(&stream, fixture, frames);
    if (fixture->coding == SEG_DEFLATED_SET)
        deflate_set(&stream);
    ts_region_save(&stream, path);
}

/* ---- structure sets -------------------------------------------------------------------------- */

static void put_contour(struct region_stream *stream, const struct contour_fixture *contour)
{
    const int64_t claimed = contour->claimed ? contour->claimed : (int64_t)contour->n;
    char number[32], *text = malloc(contour->n * 80 + 1);
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < 3 * contour->n && !contour->text; i++)
        used += (size_t)sprintf(text + used, "%s%.10g", i ? "\\" : "", contour->points[i]);
    ts_region_open_level(stream, 0);
    ts_region_put_text(stream, 0x30060042, "CS", contour->type ? contour->type : "CLOSED_PLANAR");
    if (contour->offset)
        ts_region_put_text(stream, 0x30060045, "DS", contour->offset);
    snprintf(number, sizeof number, "%" PRId64, claimed);
    ts_region_put_text(stream, 0x30060046, "IS", number);
    ts_region_put_text(stream, 0x30060050, "DS", contour->text ? contour->text : text);
    ts_region_close_level(stream);
    free(text);
}

void ts_rtstruct_write(const struct contour_fixture *contours, size_t n, int n_rois, bool implicit,
                       bool undefined, const char *frame_of_reference, const char *path)
{
    struct region_stream stream;
    char text[32];
    ts_region_begin(&stream, "1.2.840.10008.5.1.4.1.1.481.3", implicit, undefined);
    ts_region_open_level(&stream, 0x30060020);
    for (int roi = 1; roi <= n_rois; roi++) {
        ts_region_open_level(&stream, 0);
        snprintf(text, sizeof text, "%d", roi);
        ts_region_put_text(&stream, 0x30060022, "IS", text);
        if (frame_of_reference)
            ts_region_put_text(&stream, 0x30060024, "UI", frame_of_reference);
        snprintf(text, sizeof text, "region %d", roi);
        ts_region_put_text(&stream, 0x30060026, "LO", text);
        ts_region_close_level(&stream);
    }
    ts_region_close_level(&stream);
    ts_region_open_level(&stream, 0x30060039);
    for (int roi = 1; roi <= n_rois; roi++) {
        ts_region_open_level(&stream, 0);
        ts_region_open_level(&stream, 0x30060040);
        for (size_t i = 0; i < n; i++)
            if (contours[i].roi == roi)
                put_contour(&stream, &contours[i]);
        ts_region_close_level(&stream);
        snprintf(text, sizeof text, "%d", roi);
        ts_region_put_text(&stream, 0x30060084, "IS", text);
        ts_region_close_level(&stream);
    }
    ts_region_close_level(&stream);
    ts_region_save(&stream, path);
}
