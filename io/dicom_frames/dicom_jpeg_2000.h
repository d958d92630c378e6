/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes a frame of JPEG 2000 or HTJ2K by OpenJPEG. Called in worker processes only.
 */
#ifndef IO_DICOM_FRAMES_DICOM_JPEG_2000_H
#define IO_DICOM_FRAMES_DICOM_JPEG_2000_H

#include "io/dicom_header/dicom_codestream.h"

/* Keeps OpenJPEG from starting threads, which a locked worker may not. To be called before the
 * worker is locked. */
void ts_dicom_jpeg_2000_prepare(void);
/* Decodes a frame whose header ts_dicom_codestream has found good, `stream`, to rows x columns
 * little-endian cells of form->bits_allocated: the values as the codestream states them, in two's
 * complement. Returns false with a message if the frame is damaged, has other bits than the header
 * says by now, or holds a negative value and is not `is_signed`: then stream->code says so. */
bool ts_dicom_jpeg_2000_decode(const struct dicom_frame_form *form, struct dicom_codestream *stream,
                               bool is_signed, const unsigned char *data, size_t bytes,
                               unsigned char *cells, char *error, size_t error_bytes);
/* Returns the bytes that OpenJPEG needs for a frame, beside the compressed ones. */
size_t ts_dicom_jpeg_2000_bytes(size_t pixels);
/* Returns the version of OpenJPEG that is loaded. */
const char *ts_dicom_jpeg_2000_version(void);

#endif
