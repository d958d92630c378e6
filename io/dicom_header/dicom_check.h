/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks a header that was read to its end: whether the image is of a kind that can be a slice of a volume, and
 * whether size, layout and pixel data agree. It refuses the image before any decoder sees its pixels, because decoders
 * trust the header.
 */
#ifndef IO_DICOM_DICOM_CHECK_H
#define IO_DICOM_DICOM_CHECK_H

#include "io/dicom_header/dicom_scan_state.h"

/* Lists the images of the file, which are NULL where memory is out. Checks kind of image, layout, values and pixel data
 * against each other; scan->file->refusal states what is wrong. */
void ts_dicom_check(struct scan *scan);

#endif
