/* SPDX-License-Identifier: Apache-2.0
 *
 * The C side of the DCMTK shim: decodes the one frame of a compressed file. Called in worker processes only.
 */
#ifndef IO_DICOM_DICOM_DECODE_H
#define IO_DICOM_DICOM_DECODE_H

#include <stddef.h>

#ifdef __cplusplus
#define DICOM_NOEXCEPT noexcept
extern "C" {
#else
#define DICOM_NOEXCEPT
#endif

/* Registers codecs, silences logging, checks the data dictionary. Returns 0, or non-zero with a message in `error`. */
int ts_dicom_decode_init(char *error, size_t error_bytes) DICOM_NOEXCEPT;
/* Decodes the frame of the file, which is in memory, into out: exactly out_bytes, little-endian cells of BitsAllocated.
 * Returns 0, or non-zero with a message. No exception leaves it. */
int ts_dicom_decode_frame(const void *file, size_t file_bytes, void *out, size_t out_bytes, char *error,
                          size_t error_bytes) DICOM_NOEXCEPT;
/* Returns "DCMTK 3.6.7", as it was compiled in. */
const char *ts_dicom_decode_version(void) DICOM_NOEXCEPT;

#ifdef __cplusplus
}
#endif
#endif
