/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks pixel data against the header before any decoder sees it: sizes of native data; items, fragments and the first
 * headers (RLE, JPEG lossless, JPEG-LS) of encapsulated data.
 * Source: DICOM PS3.5, 8 and annexes A.4, G; ITU-T T.81 B.2 (JPEG), T.87 C.2 (JPEG-LS).
 */
#ifndef IO_DICOM_DICOM_PIXELS_H
#define IO_DICOM_DICOM_PIXELS_H

#include "io/dicom/dicom_elements.h"
#include "io/dicom/dicom_scan.h"

struct dicom_fault {
    const char *code; /* NULL: none */
    char message[224];
};
/* Keeps the first fault. */
void ts_dicom_fault(struct dicom_fault *fault, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Walks offset table and fragments; fills pixel_offset, pixel_bytes and n_fragments and moves the walk behind them. The
 * first fragment's place goes to *offset and *length. */
void ts_dicom_walk_fragments(struct dicom_walk *walk, struct dicom_file *file, int64_t *offset, int64_t *length,
                             struct dicom_fault *fault);
/* The bytes of one decoded frame; rows, columns and bits_allocated must have been checked. */
int64_t ts_dicom_frame_bytes(const struct dicom_file *file);
/* Native: found against needed. */
void ts_dicom_check_native(const struct dicom_file *file, bool truncated, int64_t claimed, struct dicom_fault *fault);
/* Encapsulated: the compressed stream's own header against Rows, Columns, Bits Stored. */
void ts_dicom_check_encoded(struct dicom_reader *reader, const struct dicom_file *file, int64_t offset, int64_t length,
                            struct dicom_fault *fault);

#endif
