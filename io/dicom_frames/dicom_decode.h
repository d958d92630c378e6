/* SPDX-License-Identifier: Apache-2.0
 *
 * The C side of the DCMTK shim: decodes one frame of JPEG or JPEG-LS. Called in worker processes
 * only.
 */
#ifndef IO_DICOM_FRAMES_DICOM_DECODE_H
#define IO_DICOM_FRAMES_DICOM_DECODE_H

#include <stddef.h>

#include "io/dicom_header/dicom_codestream.h"

#ifdef __cplusplus
#define DICOM_NOEXCEPT noexcept
extern "C" {
#else
#define DICOM_NOEXCEPT
#endif

/* Registers codecs, silences logging, loads a data dictionary. Returns 0, or non-zero with a
 * message in `error`. */
int ts_dicom_decode_init(char *error, size_t error_bytes) DICOM_NOEXCEPT;
/* Decodes a frame whose header states `precision` bits a value to out: exactly out_bytes,
 * little-endian cells of 8 bits, or of 16 if it has more than 8. Returns 0, or non-zero with a
 * message. No exception leaves it. */
int ts_dicom_decode_frame(const struct dicom_frame_form *form, int precision, const void *stream,
                          size_t bytes, void *out, size_t out_bytes, char *error,
                          size_t error_bytes) DICOM_NOEXCEPT;
/* Returns "DCMTK 3.6.7", as it was compiled in. */
const char *ts_dicom_decode_version(void) DICOM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
