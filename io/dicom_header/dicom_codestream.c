/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame's own header must state the rows, columns and bits that the file's header states, since
 * decoders allocate and write by their own. JPEG 2000 alone may state other bits: there the frame
 * is believed, as all readers do, and the caller reads its values with those bits.
 *
 * JPEG and JPEG 2000 are rows of marker segments: FF, a marker, a length of 2 bytes that counts
 * itself, and the segment.
 */
#include "io/dicom_header/dicom_codestream.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom_header/dicom_elements.h"

enum {
    RLE_HEADER_BYTES = 64,
    MAX_MARKERS = 1000,
    MAX_BOXES = 100,
    SIZ_BYTES = 43, /* marker and segment for one component */
    COD_BYTES = 14, /* likewise */
    MAX_TILES = 4096,
    MIN_TILE_SIDE = 32,
    MAX_JPEG_2000_BITS = 16
};

enum {
    TEM = 0x01,
    SOF_BASELINE = 0xC0,
    SOF_EXTENDED,
    SOF_PROGRESSIVE,
    SOF_LOSSLESS,
    DHT,
    JPG = 0xC8,
    DAC = 0xCC,
    SOF_LAST = 0xCF,
    RST0,
    SOI = 0xD8,
    EOI,
    SOS,
    SOF_JPEG_LS = 0xF7
};
enum { SOF_LEAST = 11, SOS_LEAST = 8 }; /* bytes of segments of one component */
enum { SIZ = 0x51, COD = 0x52, COC = 0x53, SOT = 0x90 };

static enum codestream_state bad(struct dicom_codestream *stream, const char *code,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));
static enum codestream_state bad(struct dicom_codestream *stream, const char *code,
                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(stream->text, sizeof stream->text, format, arguments);
    va_end(arguments);
    stream->code = code;
    return CODESTREAM_BAD;
}

static unsigned be16(const unsigned char *bytes)
{
    return ts_dicom_u16(bytes, true);
}

static uint32_t be32(const unsigned char *bytes)
{
    return ts_dicom_u32(bytes, true);
}

static enum codestream_state check_rle(const struct dicom_frame_form *form,
                                       const unsigned char *data, size_t bytes, int64_t total,
                                       struct dicom_codestream *stream)
{
    if (bytes < RLE_HEADER_BYTES)
        return bad(stream, "dicom-bad-rle",
                   "the RLE frame has %" PRId64 " bytes, its header alone needs %d", total,
                   (int)RLE_HEADER_BYTES);
    const uint32_t segments = ts_dicom_u32(data, false);
    const uint32_t expected = (uint32_t)(form->bits_allocated / 8 * form->samples_per_pixel);
    if (segments != expected)
        return bad(stream, "dicom-bad-rle",
                   "the RLE header names %" PRIu32 " segments, expected %" PRIu32, segments,
                   expected);
    int64_t before = RLE_HEADER_BYTES - 1;
    for (uint32_t i = 0; i < segments; i++) {
        const int64_t start = ts_dicom_u32(data + 4 + 4 * i, false);
        if (start <= before || start >= total || (i == 0 && start != RLE_HEADER_BYTES))
            return bad(stream, "dicom-bad-rle",
                       "RLE segment %" PRIu32 " starts at byte %" PRId64 " of a frame of %" PRId64
                       " bytes",
                       i + 1, start, total);
        before = start;
    }
    return CODESTREAM_GOOD;
}

/* The bytes of a header, and whether more of it may follow. */
struct header {
    const unsigned char *data;
    size_t bytes;
    bool goes_on;
};

/* Reads the marker segment at *at, whose length is its own. Fill bytes before it are passed
 * over. */
static enum codestream_state read_marker(const struct header *header, size_t *at, int *marker,
                                         size_t *segment)
{
    const unsigned char *data = header->data;
    while (*at + 4 <= header->bytes && data[*at] == 0xFF && data[*at + 1] == 0xFF)
        ++*at;
    if (*at + 4 > header->bytes)
        return header->goes_on ? CODESTREAM_SHORT : CODESTREAM_BAD;
    *marker = data[*at + 1];
    *segment = be16(data + *at + 2);
    if (data[*at] != 0xFF || *segment < 2)
        return CODESTREAM_BAD;
    if (*at + 2 + *segment > header->bytes)
        return header->goes_on ? CODESTREAM_SHORT : CODESTREAM_BAD;
    return CODESTREAM_GOOD;
}

/* ---- JPEG and JPEG-LS ------------------------------------------------------------------------ */

struct jpeg_header {
    int frame_marker, precision, rows, columns, components, near;
    int selection; /* of the predictor, of JPEG lossless */
    int cut_bits;  /* its point transform: low bits that are not kept */
};

static bool is_frame_marker(int marker)
{
    return (marker >= SOF_BASELINE && marker <= SOF_LAST && marker != DHT && marker != JPG &&
            marker != DAC) ||
           marker == SOF_JPEG_LS;
}

static bool lacks_segment(int marker)
{
    return marker == 0 || marker == TEM || (marker >= RST0 && marker <= EOI);
}

/* Walks the marker segments behind SOI to the first SOS; exactly one frame header (SOF) must come
 * before it. */
static enum codestream_state read_jpeg_header(const struct header *header, struct jpeg_header *jpeg)
{
    const unsigned char *data = header->data;
    size_t at = 2, segment = 0;
    int marker = 0;
    *jpeg = (struct jpeg_header){0};
    if (header->bytes < 2 || data[0] != 0xFF || data[1] != SOI)
        return CODESTREAM_BAD;
    for (int i = 0; i < MAX_MARKERS; i++, at += 2 + segment) {
        const enum codestream_state state = read_marker(header, &at, &marker, &segment);
        if (state != CODESTREAM_GOOD)
            return state;
        const unsigned char *values = data + at + 4;
        if (lacks_segment(marker))
            return CODESTREAM_BAD;
        if (is_frame_marker(marker)) {
            if (segment < SOF_LEAST || jpeg->frame_marker != 0)
                return CODESTREAM_BAD;
            *jpeg = (struct jpeg_header){.frame_marker = marker,
                                         .precision = values[0],
                                         .rows = (int)be16(values + 1),
                                         .columns = (int)be16(values + 3),
                                         .components = values[5]};
        }
        if (marker == SOS) {
            if (segment < SOS_LEAST || jpeg->frame_marker == 0)
                return CODESTREAM_BAD;
            /* Ss of JPEG and NEAR of JPEG-LS follow 2 bytes for each of the components. */
            const size_t parameter = 1 + 2 * (size_t)values[0];
            if (segment < parameter + 3)
                return CODESTREAM_BAD;
            jpeg->near = jpeg->frame_marker == SOF_JPEG_LS ? values[parameter] : 0;
            jpeg->selection = values[parameter];
            jpeg->cut_bits = segment < parameter + 5 ? 0 : values[parameter + 2] & 15;
            return CODESTREAM_GOOD;
        }
    }
    return CODESTREAM_BAD;
}

static const char *jpeg_name(enum dicom_syntax syntax)
{
    if (syntax >= DICOM_JPEG_LS)
        return "JPEG-LS";
    return syntax >= DICOM_JPEG_LOSSLESS ? "JPEG lossless" : "JPEG";
}

static bool allows_marker(enum dicom_syntax syntax, int marker)
{
    if (syntax >= DICOM_JPEG_LS)
        return marker == SOF_JPEG_LS;
    if (syntax >= DICOM_JPEG_LOSSLESS)
        return marker == SOF_LOSSLESS;
    return marker == SOF_BASELINE || marker == SOF_EXTENDED ||
           (marker == SOF_PROGRESSIVE && syntax >= DICOM_JPEG_SPECTRAL);
}

static enum codestream_state check_jpeg(const struct dicom_frame_form *form,
                                        const struct header *header,
                                        struct dicom_codestream *stream)
{
    static const char code[] = "dicom-bad-jpeg";
    const char *name = jpeg_name(form->syntax);
    struct jpeg_header jpeg;
    const enum codestream_state state = read_jpeg_header(header, &jpeg);
    if (state == CODESTREAM_SHORT)
        return state;
    if (state == CODESTREAM_BAD)
        return bad(stream, code, "the frame does not start with a whole %s header", name);
    if (!allows_marker(form->syntax, jpeg.frame_marker))
        return bad(stream, code, "the compressed frame is marked FF%02X, which is not %s",
                   jpeg.frame_marker, name);
    if (jpeg.rows != form->rows || jpeg.columns != form->columns)
        return bad(stream, code, "the compressed frame is %d x %d, Rows x Columns is %d x %d",
                   jpeg.rows, jpeg.columns, form->rows, form->columns);
    if (jpeg.components != form->samples_per_pixel)
        return bad(stream, code, "the compressed frame has %d components, Samples per Pixel is %d",
                   jpeg.components, form->samples_per_pixel);
    if (jpeg.precision < form->bits_stored || jpeg.precision > form->bits_allocated)
        return bad(stream, code,
                   "the compressed frame has %d bits a sample, Bits Stored is %d in %d allocated",
                   jpeg.precision, form->bits_stored, form->bits_allocated);
    stream->precision = jpeg.precision;
    stream->lossy = jpeg.frame_marker <= SOF_PROGRESSIVE || jpeg.near > 0 ||
                    (jpeg.frame_marker == SOF_LOSSLESS && jpeg.cut_bits > 0);
    return CODESTREAM_GOOD;
}

/* Returns the UID of a JPEG or JPEG-LS frame that begins with these bytes, or NULL. */
static const char *jpeg_syntax(const struct header *header)
{
    enum { FIRST_ORDER = 1 };
    struct jpeg_header jpeg;
    if (read_jpeg_header(header, &jpeg) != CODESTREAM_GOOD)
        return NULL;
    switch (jpeg.frame_marker) {
    case SOF_BASELINE:
        return "1.2.840.10008.1.2.4.50";
    case SOF_EXTENDED:
        return "1.2.840.10008.1.2.4.51";
    case SOF_PROGRESSIVE:
        return "1.2.840.10008.1.2.4.55";
    case SOF_LOSSLESS:
        return jpeg.selection == FIRST_ORDER ? "1.2.840.10008.1.2.4.70" : "1.2.840.10008.1.2.4.57";
    case SOF_JPEG_LS:
        return jpeg.near == 0 ? "1.2.840.10008.1.2.4.80" : "1.2.840.10008.1.2.4.81";
    default:
        return NULL;
    }
}

/* ---- JPEG 2000 and HTJ2K --------------------------------------------------------------------- */

/* Finds the codestream in the boxes of a JP2 file, which some writers store whole. */
static enum codestream_state find_codestream(const struct header *header, size_t *start)
{
    static const unsigned char signature[] = {0,   0,   0,    12,   'j',  'P',
                                              ' ', ' ', '\r', '\n', 0x87, '\n'};
    const unsigned char *data = header->data;
    size_t at = sizeof signature;
    *start = 0;
    if (header->bytes < sizeof signature || memcmp(data, signature, sizeof signature) != 0)
        return CODESTREAM_GOOD;
    for (int i = 0; i < MAX_BOXES; i++) {
        if (at > header->bytes || header->bytes - at < 16)
            return header->goes_on ? CODESTREAM_SHORT : CODESTREAM_BAD;
        const uint32_t length = be32(data + at);
        if (memcmp(data + at + 4, "jp2c", 4) == 0) {
            *start = at + (length == 1 ? 16 : 8);
            return CODESTREAM_GOOD;
        }
        if (length < 8)
            return CODESTREAM_BAD;
        at += length;
    }
    return CODESTREAM_BAD;
}

/* Checks the size of image and tiles. `siz` is the marker segment with its marker. */
static enum codestream_state check_siz(const struct dicom_frame_form *form,
                                       const unsigned char *siz, struct dicom_codestream *stream)
{
    static const char code[] = "dicom-bad-jpeg-2000";
    const uint64_t x1 = be32(siz + 6), y1 = be32(siz + 10), x0 = be32(siz + 14),
                   y0 = be32(siz + 18);
    const uint64_t tile_x = be32(siz + 22), tile_y = be32(siz + 26), tiles_x0 = be32(siz + 30),
                   tiles_y0 = be32(siz + 34);
    const unsigned components = be16(siz + 38), precision = (siz[40] & 0x7F) + 1u;
    if (x1 <= x0 || y1 <= y0 || x1 - x0 != (uint64_t)form->columns ||
        y1 - y0 != (uint64_t)form->rows)
        return bad(stream, code,
                   "the compressed frame is %" PRId64 " x %" PRId64 ", Rows x Columns is %d x %d",
                   (int64_t)(y1 - y0), (int64_t)(x1 - x0), form->rows, form->columns);
    if (components != (unsigned)form->samples_per_pixel)
        return bad(stream, code, "the compressed frame has %u components, Samples per Pixel is %d",
                   components, form->samples_per_pixel);
    if (precision > MAX_JPEG_2000_BITS || precision > (unsigned)form->bits_allocated)
        return bad(stream, code, "the compressed frame has %u bits a sample, expected at most %d",
                   precision,
                   form->bits_allocated < MAX_JPEG_2000_BITS ? form->bits_allocated
                                                             : MAX_JPEG_2000_BITS);
    if (siz[41] != 1 || siz[42] != 1)
        return bad(stream, code,
                   "the compressed frame has a sample for %d x %d pixels, expected one for each",
                   siz[42], siz[41]);
    if (tile_x == 0 || tile_y == 0 || tiles_x0 > x0 || tiles_y0 > y0 || tiles_x0 + tile_x <= x0 ||
        tiles_y0 + tile_y <= y0)
        return bad(stream, code, "the tiles of the compressed frame do not begin in it");
    const uint64_t across = (x1 - tiles_x0 + tile_x - 1) / tile_x,
                   down = (y1 - tiles_y0 + tile_y - 1) / tile_y;
    const bool tiny = across * down > 1 && (tile_x < MIN_TILE_SIDE || tile_y < MIN_TILE_SIDE);
    if (across * down > MAX_TILES || tiny)
        return bad(stream, code,
                   "the compressed frame has %" PRIu64 " tiles of %" PRIu64 " x %" PRIu64
                   ", expected at most %d and none smaller than %d x %d",
                   across * down, tile_y, tile_x, (int)MAX_TILES, (int)MIN_TILE_SIDE,
                   (int)MIN_TILE_SIDE);
    stream->precision = (int)precision;
    return CODESTREAM_GOOD;
}

/* Walks the main header to its first tile. The wavelet of real numbers (transformation 0) never
 * gives back what went in. */
static enum codestream_state walk_jpeg_2000(const struct dicom_frame_form *form,
                                            const struct header *header,
                                            struct dicom_codestream *stream)
{
    const unsigned char *data = header->data;
    size_t at = stream->start + 2, segment = 0;
    int marker = 0;
    bool coded = false;
    for (int i = 0; i < MAX_MARKERS; i++, at += 2 + segment) {
        enum codestream_state state = read_marker(header, &at, &marker, &segment);
        if (state != CODESTREAM_GOOD)
            return state;
        if (marker == SOT)
            return coded ? CODESTREAM_GOOD : CODESTREAM_BAD;
        if ((marker == SIZ) != (i == 0) || (marker == SIZ && segment < SIZ_BYTES - 2) ||
            ((marker == COD || marker == COC) &&
             segment < (marker == COD ? COD_BYTES : COD_BYTES - 3) - 2))
            return CODESTREAM_BAD;
        if (marker == SIZ && (state = check_siz(form, data + at, stream)) != CODESTREAM_GOOD)
            return state;
        if (marker == COD || marker == COC)
            stream->lossy = data[at + (marker == COD ? 13 : 10)] == 0;
        coded = coded || marker == COD;
    }
    return CODESTREAM_BAD;
}

static enum codestream_state check_jpeg_2000(const struct dicom_frame_form *form,
                                             const struct header *header,
                                             struct dicom_codestream *stream)
{
    enum codestream_state state = find_codestream(header, &stream->start);
    const size_t left = stream->start < header->bytes ? header->bytes - stream->start : 0;
    if (state == CODESTREAM_GOOD && left < 2)
        state = header->goes_on ? CODESTREAM_SHORT : CODESTREAM_BAD;
    if (state == CODESTREAM_GOOD && memcmp(header->data + stream->start, "\xFF\x4F", 2) != 0)
        state = CODESTREAM_BAD;
    if (state == CODESTREAM_GOOD)
        state = walk_jpeg_2000(form, header, stream);
    if (state == CODESTREAM_BAD && !stream->code)
        return bad(stream, "dicom-bad-jpeg-2000",
                   "the frame does not start with a whole JPEG 2000 header");
    return state;
}

enum codestream_state ts_dicom_codestream(const struct dicom_frame_form *form,
                                          const unsigned char *data, size_t bytes, int64_t total,
                                          struct dicom_codestream *stream)
{
    const struct header header = {data, bytes, (int64_t)bytes < total};
    *stream = (struct dicom_codestream){.precision = 0};
    switch (form->syntax) {
    case DICOM_RLE:
        return check_rle(form, data, bytes, total, stream);
    case DICOM_JPEG_2000:
        return check_jpeg_2000(form, &header, stream);
    case DICOM_DEFLATED_FRAME:
        return CODESTREAM_GOOD;
    default:
        return check_jpeg(form, &header, stream);
    }
}

/* ---- a frame of unknown syntax --------------------------------------------------------------- */

static bool begins_rle(const unsigned char *data, size_t bytes)
{
    enum { MAX_SEGMENTS = 15 };
    if (bytes < RLE_HEADER_BYTES)
        return false;
    const uint32_t segments = ts_dicom_u32(data, false);
    bool begins = segments >= 1 && segments <= MAX_SEGMENTS &&
                  ts_dicom_u32(data + 4, false) == RLE_HEADER_BYTES;
    for (uint32_t i = segments; begins && i < MAX_SEGMENTS; i++)
        begins = ts_dicom_u32(data + 4 + 4 * i, false) == 0;
    return begins;
}

const char *ts_dicom_codestream_syntax(const unsigned char *data, size_t bytes)
{
    const struct header header = {data, bytes, true};
    size_t start;
    if (begins_rle(data, bytes))
        return "1.2.840.10008.1.2.5";
    if (find_codestream(&header, &start) == CODESTREAM_GOOD && start + 4 <= bytes &&
        memcmp(data + start, "\xFF\x4F\xFF\x51", 4) == 0)
        return "1.2.840.10008.1.2.4.91";
    return jpeg_syntax(&header);
}
