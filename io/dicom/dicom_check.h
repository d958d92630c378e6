/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a header that was read to its end.
 */
#ifndef IO_DICOM_DICOM_CHECK_H
#define IO_DICOM_DICOM_CHECK_H

#include "io/dicom/dicom_scan_state.h"

/* Checks kind of image, layout, values and pixel data against each other; scan->file->refusal states what is wrong. */
void ts_dicom_check(struct scan *scan);

#endif
