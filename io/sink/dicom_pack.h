/* SPDX-License-Identifier: Apache-2.0
 *
 * Compress a frame of pixels without loss, to a fragment of a DICOM file.
 */
#ifndef IO_SINK_DICOM_PACK_H
#define IO_SINK_DICOM_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dicom_pixels {
    const uint16_t *values; /* rows * columns; signed ones in two's complement */
    size_t rows, columns;
    bool is_signed;
    int bits; /* bits of a value; codecs other than JPEG 2000 always store 16 */
};

/* Each sets *out, which the caller frees, and its even length. Returns false, with *out NULL, if
   memory is out or the codec fails. Several threads may call them at once. */
typedef bool dicom_pack(const struct dicom_pixels *pixels, unsigned char **out, size_t *bytes);
/* JPEG 2000 with the reversible wavelet, by OpenJPEG. Source: ISO/IEC 15444-1; DICOM PS3.5
 * A.4.4. */
bool ts_dicom_pack_jpeg_2000(const struct dicom_pixels *pixels, unsigned char **out, size_t *bytes);

#endif
