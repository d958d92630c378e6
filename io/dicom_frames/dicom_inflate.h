/* SPDX-License-Identifier: Apache-2.0
 *
 * This decodes frames of Deflated Image Frame Compression. Source: DICOM PS3.5 A.4.14.
 */
#ifndef IO_DICOM_DICOM_INFLATE_H
#define IO_DICOM_DICOM_INFLATE_H

#include <stdbool.h>
#include <stddef.h>

/* Inflates one frame, a deflate stream, to `cell_bytes` bytes of cells. A byte behind the pixels may make their length
 * even. Returns false, with a message, where the stream is damaged or holds another number of bytes. */
bool ts_dicom_inflate_frame(const unsigned char *data, size_t bytes, unsigned char *cells, size_t cell_bytes,
                            char *error, size_t error_bytes);

#endif
