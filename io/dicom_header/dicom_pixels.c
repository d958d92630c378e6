/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks pixel data against its header. Compressed streams are checked up to the first byte
 * that only a decoder can judge: their own headers must state the same rows, columns and bits, and
 * they may not claim a size out of all proportion to their bytes.
 */
#include "io/dicom_header/dicom_pixels.h"

#include <inttypes.h>
#include <stdlib.h>

#include "io/dicom_header/dicom_fragments.h"

/* Warns of pixel data that is longer than the frames. If it is so just several times, what states
 * the length of the frames is probably wrong. */
static void warn_of_rest(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int64_t need = file->frames * ts_dicom_frame_bytes(file);
    const char *several = NULL;
    if (file->pixel_bytes <= need + 1)
        return;
    if (file->pixel_bytes % need <= need % 2)
        several = ts_arena_printf(
            scan->arena,
            "pixel data has %" PRId64 " times the bytes that the image needs: Bits Allocated, "
            "Samples per Pixel, Number of Frames, Rows or Columns is probably wrong, and then all "
            "values are",
            file->pixel_bytes / need);
    ts_dicom_warn(scan, several ? several
                        : file->frames > 1
                            ? "more pixel data than the frames need; the rest was passed over"
                            : "more pixel data than one frame needs; the rest was passed over");
}

void ts_dicom_check_native(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int64_t bytes = file->frames * ts_dicom_frame_bytes(file),
                  need = file->words ? (bytes + 1) / 2 * 2 : bytes;
    if (file->pixel_bytes < need) {
        ts_dicom_refuse(scan, "dicom-pixels-short",
                        "pixel data has %" PRId64 " bytes, needs %" PRId64, file->pixel_bytes,
                        need);
    } else if (scan->pixels_truncated) {
        ts_dicom_refuse(scan, "dicom-length",
                        "pixel data claims %" PRId64 " bytes, the file holds %" PRId64,
                        scan->pixels_claimed, file->pixel_bytes);
    }
    warn_of_rest(scan);
}

/* The header of a frame is read in pieces, each many times as long as the one before. */
enum { FIRST_HEADER_BYTES = 1 << 10, HEADER_GROWTH = 16, MAX_HEADER_BYTES = 4 << 20 };

struct dicom_frame_form ts_dicom_frame_form(const struct dicom_file *file)
{
    return (struct dicom_frame_form){.syntax = file->syntax,
                                     .rows = file->rows,
                                     .columns = file->columns,
                                     .samples_per_pixel = file->samples_per_pixel,
                                     .bits_allocated = file->bits_allocated,
                                     .bits_stored = file->bits_stored,
                                     .precision = file->precision};
}

/* Reads as much of the first frame as its header takes. Returns CODESTREAM_SHORT if it cannot be
 * read, or goes on. */
static enum codestream_state read_first_frame(struct scan *scan, struct dicom_codestream *stream)
{
    const struct dicom_stream *frame = &scan->file->streams[0];
    const struct dicom_frame_form form = ts_dicom_frame_form(scan->file);
    const int64_t total = ts_dicom_stream_bytes(frame);
    enum codestream_state state = CODESTREAM_SHORT;
    for (size_t bytes = FIRST_HEADER_BYTES; state == CODESTREAM_SHORT && bytes <= MAX_HEADER_BYTES;
         bytes *= HEADER_GROWTH) {
        const size_t wanted = (int64_t)bytes < total ? bytes : (size_t)total;
        unsigned char *start = malloc(wanted > 0 ? wanted : 1);
        if (!start) {
            *stream = (struct dicom_codestream){.code = "no-memory", .text = "memory is out"};
            return CODESTREAM_BAD;
        }
        const bool is_read = ts_dicom_stream_start(&scan->reader, frame, start, wanted) == wanted;
        if (is_read)
            state = ts_dicom_codestream(&form, start, wanted, total, stream);
        free(start);
        if (!is_read)
            break;
    }
    return state;
}

/* Decides which bits of the samples are the value. A frame of more bits than Bits Stored holds
 * whole cells, with what overlays and the like put beside the value, and is masked as native pixels
 * are. One that was compressed with loss has no such bits left, and its values may go a little
 * beyond Bits Stored: it has its own bits, as JPEG 2000 of fewer bits has. Samples of just Bits
 * Stored are the value, wherever High Bit says that it lies. */
static void choose_bits(struct scan *scan, int precision)
{
    struct dicom_file *file = scan->file;
    const bool jpeg_2000 = file->syntax == DICOM_JPEG_2000, whole = precision > file->bits_stored;
    if (file->syntax == DICOM_RLE || file->syntax == DICOM_DEFLATED_FRAME)
        return;
    file->precision = jpeg_2000 || whole || file->high_bit >= precision ? precision : 0;
    if (whole && file->high_bit < precision &&
        !(file->lossy && (jpeg_2000 || file->pixel_representation == 0)))
        return;
    if (whole && !file->lossy && !jpeg_2000)
        ts_dicom_refuse(scan, "dicom-bad-bits",
                        "High Bit is %d, and the compressed frame has %d bits a sample",
                        file->high_bit, precision);
    if (precision != file->bits_stored)
        ts_dicom_warn(
            scan,
            "the compressed frame has other bits than Bits Stored says, and is read with its own");
    file->bits_stored = precision;
    file->high_bit = precision - 1;
}

/* Advises another transfer syntax if the first frame is a good one of that. */
static void advise_frames(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    const enum dicom_syntax said = file->syntax;
    const char *uid = ts_dicom_compressed_syntax(scan, file->pixel_offset);
    struct dicom_codestream stream;
    if (!uid || ts_dicom_syntax(uid)->syntax == said)
        return;
    file->syntax = ts_dicom_syntax(uid)->syntax;
    if (read_first_frame(scan, &stream) == CODESTREAM_GOOD)
        ts_dicom_advise_syntax(scan, uid);
    file->syntax = said;
}

static void check_first_frame(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    struct dicom_codestream stream;
    switch (read_first_frame(scan, &stream)) {
    case CODESTREAM_BAD:
        advise_frames(scan);
        ts_dicom_refuse(scan, stream.code, "%s", stream.text);
        return;
    case CODESTREAM_SHORT:
        ts_dicom_refuse(scan, "dicom-bad-fragments",
                        "the first compressed frame cannot be read, or its header has no end");
        return;
    case CODESTREAM_GOOD:
        break;
    }
    file->lossy = stream.lossy;
    choose_bits(scan, stream.precision);
}

void ts_dicom_check_encoded(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const int64_t encoded = scan->compressed_bytes,
                  decoded = ts_dicom_frame_bytes(file) * file->frames;
    if (encoded == 0)
        ts_dicom_refuse(scan, "dicom-pixels-missing", "the compressed pixel data is empty");
    else if (decoded > DICOM_RATIO_FREE_BYTES && decoded / DICOM_MAX_RATIO > encoded)
        ts_dicom_refuse(scan, "dicom-ratio",
                        "the header claims %" PRId64 " bytes of pixels from %" PRId64
                        " compressed ones, limit %d to 1",
                        decoded, encoded, (int)DICOM_MAX_RATIO);
    else
        check_first_frame(scan);
}
