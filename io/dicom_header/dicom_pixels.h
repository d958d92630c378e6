/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks pixel data against the header before any decoder sees it: sizes of native data; items, fragments and the first
 * headers (RLE, JPEG lossless, JPEG-LS) of encapsulated data. ts_dicom_refuse records faults. Source: DICOM PS3.5, 8
 * and annexes A.4, G; ITU-T T.81 B.2 (JPEG), T.87 C.2 (JPEG-LS).
 */
#ifndef IO_DICOM_DICOM_PIXELS_H
#define IO_DICOM_DICOM_PIXELS_H

#include "io/dicom_header/dicom_scan_state.h"

/* Walks offset table and fragments, fills pixel_offset, pixel_bytes and n_fragments of the file and the place of the
 * first fragment, and moves the walk behind them. */
void ts_dicom_walk_fragments(struct scan *scan, struct dicom_walk *walk);
/* Compares the bytes of native pixel data with those that rows, columns and bits need. */
void ts_dicom_check_native(struct scan *scan);
/* Compares the compressed stream's own header with Rows, Columns and Bits Stored. */
void ts_dicom_check_encoded(struct scan *scan);

#endif
