/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks pixel data against its header. Compressed streams are checked up to the first byte that only a decoder
 * can judge: their own headers must state the same rows, columns and bits, and they may not claim a size out of all
 * proportion to their bytes.
 */
#include "io/dicom_header/dicom_pixels.h"

#include <inttypes.h>
#include <string.h>

/* A file may claim a thousand times its size only where the claim is small: a run-length coded slice of air is honest.
 */
enum { MAX_RATIO = 1000, RATIO_FREE_BYTES = 16 << 20, MAX_JPEG_MARKERS = 1000, RLE_HEADER_BYTES = 64 };

void ts_dicom_check_native(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int64_t need = file->frames * ts_dicom_frame_bytes(file);
    if (file->pixel_bytes < need) {
        ts_dicom_refuse(scan, "dicom-pixels-short", "pixel data has %" PRId64 " bytes, needs %" PRId64,
                        file->pixel_bytes, need);
    } else if (scan->pixels_truncated) {
        ts_dicom_refuse(scan, "dicom-length", "pixel data claims %" PRId64 " bytes, the file holds %" PRId64,
                        scan->pixels_claimed, file->pixel_bytes);
    }
}

void ts_dicom_walk_fragments(struct scan *scan, struct dicom_walk *walk)
{
    struct dicom_file *file = scan->file;
    for (int64_t item = 0;; item++) {
        unsigned char bytes[8];
        if (!ts_dicom_read(walk->reader, walk->offset, bytes, 8)) {
            /* A missing delimiter loses nothing where the last fragment is whole; PS3.5 A.4 wants it all the same. */
            ts_dicom_refuse(scan, "dicom-truncated", "the file ends before the end of its compressed pixel data");
            return;
        }
        uint32_t tag = DICOM_TAG(ts_dicom_u16(bytes, false), ts_dicom_u16(bytes + 2, false));
        uint32_t claimed = ts_dicom_u32(bytes + 4, false);
        walk->offset += 8;
        if (tag == DICOM_SEQUENCE_END && claimed == 0 && item > 0)
            return;
        int64_t left = walk->reader->file_bytes - walk->offset;
        if (tag != DICOM_ITEM || claimed == DICOM_UNDEFINED) {
            ts_dicom_refuse(scan, "dicom-bad-fragments", "(%04x,%04x) stands where a fragment should, at byte %" PRId64,
                            tag >> 16, tag & 0xFFFF, walk->offset - 8);
            return;
        }
        if ((int64_t)claimed > left) {
            ts_dicom_refuse(scan, "dicom-bad-fragments",
                            "fragment %" PRId64 " claims %" PRIu32 " bytes, %" PRId64 " are left", item, claimed, left);
            return;
        }
        if (++walk->n_elements > walk->max_elements) {
            ts_dicom_refuse(scan, "dicom-too-many-elements", "more than %" PRId64 " elements", walk->max_elements);
            return;
        }
        if (item == 1) {
            file->pixel_offset = walk->offset - 8;
            scan->fragment_offset = walk->offset;
            scan->fragment_bytes = claimed;
        }
        if (item > 0) { /* item 0 is the offset table */
            file->n_fragments++;
            file->pixel_bytes += claimed;
        }
        walk->offset += claimed;
    }
}

static void check_rle(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int64_t length = scan->fragment_bytes;
    unsigned char header[RLE_HEADER_BYTES];
    if (file->n_fragments != 1) {
        ts_dicom_refuse(scan, "dicom-bad-fragments", "the RLE frame lies in %d fragments, expected 1",
                        file->n_fragments);
        return;
    }
    if (length < RLE_HEADER_BYTES || !ts_dicom_read(&scan->reader, scan->fragment_offset, header, sizeof header)) {
        ts_dicom_refuse(scan, "dicom-bad-rle", "the RLE frame has %" PRId64 " bytes, its header alone needs %d", length,
                        (int)RLE_HEADER_BYTES);
        return;
    }
    uint32_t segments = ts_dicom_u32(header, false);
    uint32_t expected = (uint32_t)(file->bits_allocated / 8 * file->samples_per_pixel);
    if (segments != expected) {
        ts_dicom_refuse(scan, "dicom-bad-rle", "the RLE header names %" PRIu32 " segments, expected %" PRIu32, segments,
                        expected);
        return;
    }
    int64_t before = RLE_HEADER_BYTES - 1;
    for (uint32_t i = 0; i < segments; i++) {
        int64_t start = ts_dicom_u32(header + 4 + 4 * i, false);
        if (start <= before || start >= length || (i == 0 && start != RLE_HEADER_BYTES)) {
            ts_dicom_refuse(scan, "dicom-bad-rle",
                            "RLE segment %" PRIu32 " starts at byte %" PRId64 " of a frame of %" PRId64 " bytes", i + 1,
                            start, length);
            return;
        }
        before = start;
    }
}

/* The header of a JPEG stream, up to its first scan. */
struct jpeg_header {
    int marker, precision, rows, columns, components, near;
};

static bool read_frame_header(struct dicom_reader *reader, int64_t at, int marker, struct jpeg_header *header)
{
    unsigned char bytes[6];
    if (header->marker != 0 || !ts_dicom_read(reader, at, bytes, sizeof bytes))
        return false;
    *header = (struct jpeg_header){.marker = marker,
                                   .precision = bytes[0],
                                   .rows = bytes[1] << 8 | bytes[2],
                                   .columns = bytes[3] << 8 | bytes[4],
                                   .components = bytes[5],
                                   .near = -1};
    return true;
}

/* Walks the marker segments to the first SOS. False: not a JPEG header within the first fragment. */
static bool read_jpeg_header(struct dicom_reader *reader, int64_t offset, int64_t length, struct jpeg_header *header)
{
    unsigned char bytes[4];
    int64_t at = 2;
    *header = (struct jpeg_header){.marker = 0};
    if (length < 2 || !ts_dicom_read(reader, offset, bytes, 2) || bytes[0] != 0xFF || bytes[1] != 0xD8)
        return false;
    for (int i = 0; i < MAX_JPEG_MARKERS; i++) {
        if (at + 4 > length || !ts_dicom_read(reader, offset + at, bytes, 4) || bytes[0] != 0xFF)
            return false;
        int marker = bytes[1], segment = bytes[2] << 8 | bytes[3];
        if (marker == 0xFF) { /* a fill byte */
            at++;
            continue;
        }
        bool standalone = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD9) || marker == 0;
        if (standalone || segment < 2 || at + 2 + segment > length)
            return false;
        bool frame =
            (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) || marker == 0xF7;
        if (frame && (segment < 11 || !read_frame_header(reader, offset + at + 4, marker, header)))
            return false;
        if (marker == 0xDA) {
            unsigned char scan[4];
            if (header->marker == 0 || segment < 8 || !ts_dicom_read(reader, offset + at + 4, scan, 4))
                return false;
            header->near = scan[3];
            return true;
        }
        at += 2 + segment;
    }
    return false;
}

static void check_jpeg(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    bool jpeg_ls = file->syntax == DICOM_JPEG_LS;
    const char *name = jpeg_ls ? "JPEG-LS" : "JPEG lossless";
    struct jpeg_header header;
    if (!read_jpeg_header(&scan->reader, scan->fragment_offset, scan->fragment_bytes, &header)) {
        ts_dicom_refuse(scan, "dicom-bad-jpeg", "the first fragment does not start with a whole %s header", name);
    } else if (header.marker != (jpeg_ls ? 0xF7 : 0xC3)) {
        ts_dicom_refuse(scan, "dicom-bad-jpeg", "the compressed frame is marked FF%02X, %s is FF%02X", header.marker,
                        name, jpeg_ls ? 0xF7 : 0xC3);
    } else if (header.rows != file->rows || header.columns != file->columns) {
        ts_dicom_refuse(scan, "dicom-bad-jpeg", "the compressed frame is %d x %d, Rows x Columns is %d x %d",
                        header.rows, header.columns, file->rows, file->columns);
    } else if (header.components != file->samples_per_pixel) {
        ts_dicom_refuse(scan, "dicom-bad-jpeg", "the compressed frame has %d components, Samples per Pixel is %d",
                        header.components, file->samples_per_pixel);
    } else if (header.precision < file->bits_stored || header.precision > file->bits_allocated) {
        ts_dicom_refuse(scan, "dicom-bad-jpeg",
                        "the compressed frame has %d bits a sample, Bits Stored is %d in %d allocated",
                        header.precision, file->bits_stored, file->bits_allocated);
    } else if (jpeg_ls && header.near != 0) {
        ts_dicom_refuse(scan, "dicom-lossy", "the JPEG-LS frame is near-lossless (error up to %d), expected lossless",
                        header.near);
    }
}

void ts_dicom_check_encoded(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int64_t decoded = ts_dicom_frame_bytes(file);
    if (file->n_fragments == 0 || file->pixel_bytes == 0) {
        ts_dicom_refuse(scan, "dicom-pixels-missing", "the compressed pixel data is empty");
        return;
    }
    if (file->frames > 1) {
        ts_dicom_refuse(scan, "dicom-multi-frame", "compressed frames, several in one file, are not in this build");
        return;
    }
    if (decoded > RATIO_FREE_BYTES && decoded / MAX_RATIO > file->pixel_bytes) {
        ts_dicom_refuse(scan, "dicom-ratio",
                        "the header claims %" PRId64 " bytes of pixels from %" PRId64 " compressed ones, limit %d to 1",
                        decoded, file->pixel_bytes, (int)MAX_RATIO);
        return;
    }
    if (file->syntax == DICOM_RLE)
        check_rle(scan);
    else
        check_jpeg(scan);
}
