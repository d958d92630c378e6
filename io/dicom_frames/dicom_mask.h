/* SPDX-License-Identifier: Apache-2.0
 *
 * Blackens rectangles of each slice, for text that is burned into the pixels. The user names the
 * rectangles: no program finds all such text.
 */
#ifndef IO_DICOM_DICOM_MASK_H
#define IO_DICOM_DICOM_MASK_H

#include "core/image.h"
#include "core/params.h"

struct dicom_mask {
    const struct ts_numbers
        *boxes; /* rows of first row, first column, end row, end column; NULL: there is none */
    double value;
};

/* Checks the boxes and the value against the image. TS_BAD_CHAIN: mask-boxes, mask-value. */
enum ts_status ts_dicom_mask_check(const struct param_set *set, const struct dicom_mask *mask,
                                   const struct ts_image *image, struct ts_diag *diag);
/* Fills the boxes of n slices of the image with the value. */
void ts_dicom_mask_slices(const struct dicom_mask *mask, const struct ts_image *image, int64_t n,
                          void *slices);

#endif
