/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks pixel data against the header before any decoder sees it: sizes of native data, and the
 * first frame's own header if frames are compressed. ts_dicom_refuse records faults. Source: DICOM
 * PS3.5 8 and annex A.4.
 */
#ifndef IO_DICOM_HEADER_DICOM_PIXELS_H
#define IO_DICOM_HEADER_DICOM_PIXELS_H

#include "io/dicom_header/dicom_codestream.h"
#include "io/dicom_header/dicom_scan_state.h"

/* A file may claim a thousand times its size only if the claim is small: a run-length coded slice
 * of air is honest. */
enum { DICOM_MAX_RATIO = 1000, DICOM_RATIO_FREE_BYTES = 16 << 20 };

/* Compares the bytes of native pixel data with those that rows, columns and bits need. */
void ts_dicom_check_native(struct scan *scan);
/* Returns what the header says of each compressed frame. */
struct dicom_frame_form ts_dicom_frame_form(const struct dicom_file *file);
/* Compares the first compressed frame's own header with Rows, Columns and bits. JPEG 2000 is
 * believed if it has other bits: they become those of the file. */
void ts_dicom_check_encoded(struct scan *scan);

#endif
