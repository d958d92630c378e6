/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of 1 bit follow each other without a gap where they are not compressed, so that one begins within a byte.
 * Compressed ones stand by themselves. Of 1 bit they hold packed bits, up to a whole byte, and of RLE there are also
 * writers that give every pixel a byte: the length of what is decoded tells which (PS3.5 8.2.2 says too little).
 * RLE and deflate are decoded in the program itself, by its own code and by libdeflate, into a buffer of known size.
 */
#include <string.h>

#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_frames/dicom_inflate.h"
#include "io/dicom_frames/dicom_rle.h"
#include "io/dicom_header/dicom_fragments.h"
#include "io/mask/seg.h"

static size_t pixels_of(const struct seg *seg)
{
    return (size_t)(seg->rows * seg->columns);
}

/* Returns the bytes of a frame whose bits are packed. */
static size_t packed_bytes(const struct seg *seg)
{
    return (pixels_of(seg) * (size_t)seg->bits + 7) / 8;
}

size_t ts_seg_frame_bytes(const struct seg *seg)
{
    return (seg->longest > 0 && seg->bits == 1 ? pixels_of(seg) : packed_bytes(seg)) + 4;
}

void ts_seg_pack(unsigned char *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool set = pixels[i] != 0;
        if (i % 8 == 0)
            pixels[i / 8] = 0;
        pixels[i / 8] |= (unsigned char)(set << i % 8);
    }
}

static bool decode_rle(const struct seg *seg, const unsigned char *data, size_t bytes, unsigned char *pixels,
                       char *text, size_t text_bytes)
{
    if (seg->bits > 1)
        return ts_dicom_rle_decode(data, bytes, pixels, pixels_of(seg), (size_t)seg->bits / 8, text, text_bytes);
    if (ts_dicom_rle_decode(data, bytes, pixels, packed_bytes(seg), 1, text, text_bytes))
        return true;
    if (!ts_dicom_rle_decode(data, bytes, pixels, pixels_of(seg), 1, text, text_bytes))
        return false;
    ts_seg_pack(pixels, pixels_of(seg));
    return true;
}

/* Reads a frame that is not compressed. It may begin within a byte, at bit `shift`, and that within a big-endian word.
 */
static bool read_native(struct region_file *file, const struct seg *seg, int64_t number, unsigned char *pixels,
                        int *shift)
{
    const int64_t bits = seg->rows * seg->columns * seg->bits, first = number * bits;
    *shift = (int)(first % 8);
    const size_t before = seg->words ? (size_t)(first / 8 % 2) : 0, n = (size_t)((*shift + bits + 7) / 8);
    const size_t all = seg->words ? (before + n + 1) / 2 * 2 : n;
    if (!ts_dicom_read(&file->scan.reader, seg->pixel_offset + first / 8 - (int64_t)before, pixels, all))
        return false;
    if (seg->words)
        ts_dicom_turn_words(pixels, before, n);
    return true;
}

const char *ts_seg_read_frame(struct region_file *file, const struct seg *seg, int64_t number, unsigned char *pixels,
                              unsigned char *scratch, int *shift, char *text, size_t text_bytes)
{
    *shift = 0;
    if (seg->longest == 0)
        return read_native(file, seg, number, pixels, shift) ? NULL : "could not be read to its end";
    const struct dicom_stream *stream = &file->file.streams[number];
    const size_t bytes = (size_t)ts_dicom_stream_bytes(stream);
    if (!ts_dicom_read(&file->scan.reader, stream->offset, scratch, (size_t)stream->bytes) ||
        !ts_dicom_stream_join(stream, scratch))
        return "could not be read to its end";
    const bool decoded = file->file.syntax == DICOM_RLE
                             ? decode_rle(seg, scratch, bytes, pixels, text, text_bytes)
                             : ts_dicom_inflate_frame(scratch, bytes, pixels, packed_bytes(seg), text, text_bytes);
    return decoded ? NULL : text;
}
