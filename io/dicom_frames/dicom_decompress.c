/* SPDX-License-Identifier: Apache-2.0
 *
 * A frame is joined of its fragments in memory, so that it costs what it takes itself and not the whole file. Its
 * header is checked once more, in these bytes: the scan has seen only the start of the first frame. RLE and deflate are
 * decoded here, JPEG 2000 by OpenJPEG, JPEG and JPEG-LS by DCMTK.
 */
#include "io/dicom_frames/dicom_decompress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom_frames/dicom_decode.h"
#include "io/dicom_frames/dicom_inflate.h"
#include "io/dicom_frames/dicom_jpeg_2000.h"
#include "io/dicom_frames/dicom_rle.h"
#include "io/dicom_header/dicom_fragments.h"

/* Widens cells in place from `from` bytes each to `to`. The last comes first, as each lies behind what it is made of.
 */
static void widen(unsigned char *cells, size_t n, size_t from, size_t to)
{
    for (size_t i = n; from < to && i-- > 0;) {
        memmove(cells + i * to, cells + i * from, from);
        memset(cells + i * to + from, 0, to - from);
    }
}

/* Decodes a frame of bits. They are packed, but there are writers of RLE that give every pixel a byte: the length of
 * what is decoded tells which (PS3.5 8.2.2 says too little). */
static bool decode_bits(const struct dicom_job *job, const unsigned char *data, size_t bytes, unsigned char *cells,
                        struct dicom_reply *reply)
{
    const size_t n = job->frame_n, packed = (n + 7) / 8;
    const bool rle = job->form.syntax == DICOM_RLE;
    if (rle ? !ts_dicom_rle_decode(data, bytes, cells, packed, 1, reply->text, sizeof reply->text)
            : !ts_dicom_inflate_frame(data, bytes, cells, packed, reply->text, sizeof reply->text))
        return rle && ts_dicom_rle_decode(data, bytes, cells, n, 1, reply->text, sizeof reply->text);
    for (size_t i = n; i-- > 0;) /* from the last on, as each byte of bits stands before the cells that it fills */
        cells[i] = cells[i / 8] >> i % 8 & 1;
    return true;
}

static bool decode_by_dcmtk(const struct dicom_job *job, const struct dicom_codestream *stream,
                            const unsigned char *data, size_t bytes, unsigned char *cells, struct dicom_reply *reply)
{
    const size_t decoded = stream->precision > 8 ? 2 : 1;
    if (ts_dicom_decode_frame(&job->form, stream->precision, data, bytes, cells, job->frame_n * decoded, reply->text,
                              sizeof reply->text) != 0)
        return false;
    widen(cells, job->frame_n, decoded, (size_t)job->cells.bits_allocated / 8);
    return true;
}

static bool decode(const struct dicom_job *job, const struct dicom_codestream *stream, const unsigned char *data,
                   size_t bytes, unsigned char *cells, struct dicom_reply *reply)
{
    const size_t cell = (size_t)job->cells.bits_allocated / 8;
    const bool bits = job->bits && (job->form.syntax == DICOM_RLE || job->form.syntax == DICOM_DEFLATED_FRAME);
    if (bits)
        return decode_bits(job, data, bytes, cells, reply);
    if (job->form.precision > 0 && stream->precision != job->form.precision) {
        snprintf(reply->text, sizeof reply->text, "the frame has %d bits a sample, the first one has %d",
                 stream->precision, job->form.precision);
        return false;
    }
    switch (job->form.syntax) {
    case DICOM_RLE:
        return ts_dicom_rle_decode(data, bytes, cells, job->frame_n, cell, reply->text, sizeof reply->text);
    case DICOM_DEFLATED_FRAME:
        return ts_dicom_inflate_frame(data, bytes, cells, job->frame_n * cell, reply->text, sizeof reply->text);
    case DICOM_JPEG_2000:
        return ts_dicom_jpeg_2000_decode(&job->form, stream, job->cells.is_signed, data, bytes, cells, reply->text,
                                         sizeof reply->text);
    default:
        return decode_by_dcmtk(job, stream, data, bytes, cells, reply);
    }
}

bool ts_dicom_decompress(const struct dicom_job *job, int fd, unsigned char *cells, struct dicom_reply *reply)
{
    const size_t bytes = (size_t)ts_dicom_stream_bytes(&job->stream);
    unsigned char *data = malloc((size_t)job->stream.bytes);
    struct dicom_codestream stream;
    bool ok = false;
    if (!data) {
        ts_dicom_reply_no_memory(reply);
    } else if (!ts_dicom_read_pixels(fd, data, (size_t)job->stream.bytes, job->stream.offset, reply)) {
        ; /* the reply says why */
    } else if (!ts_dicom_stream_join(&job->stream, data)) {
        ts_dicom_reply_refuse(reply, "file-changed", "the fragments are not those that were checked");
    } else if (ts_dicom_codestream(&job->form, data, bytes, (int64_t)bytes, &stream) != CODESTREAM_GOOD) {
        ts_dicom_reply_refuse(reply, stream.code, stream.text);
    } else if (job->labels && stream.lossy) {
        ts_dicom_reply_refuse(reply, "seg-syntax",
                              "the frame was compressed with loss, so that its labels are not known");
    } else if (job->loss_unsaid && stream.lossy) {
        ts_dicom_reply_refuse(
            reply, "dicom-loss-unsaid",
            "the frame was compressed with loss, of which neither the header nor the first frame tells");
    } else {
        errno = 0;
        ok = decode(job, &stream, data, bytes, cells, reply);
        if (!ok && errno == ENOMEM && ts_sandbox_lacks_memory())
            ts_dicom_reply_no_memory(reply);
        else if (!ok)
            ts_dicom_reply_refuse(reply, "pixel-data-damaged", NULL);
    }
    free(data);
    return ok;
}
