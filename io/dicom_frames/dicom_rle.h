/* SPDX-License-Identifier: Apache-2.0
 *
 * This decodes DICOM RLE Lossless. DCMTK's decoder is not used, since it fills in silently what a
 * damaged frame leaves out. Source: DICOM PS3.5 annex G.
 */
#ifndef IO_DICOM_FRAMES_DICOM_RLE_H
#define IO_DICOM_FRAMES_DICOM_RLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one frame (its 64-byte header first) of n pixels of one sample in cell_bytes bytes into
 * little-endian cells. Returns false, with a message, if a segment is missing, ends before n bytes
 * or runs over them. */
bool ts_dicom_rle_decode(const unsigned char *frame, size_t frame_bytes, unsigned char *cells,
                         size_t n, size_t cell_bytes, char *error, size_t error_bytes);

#endif
