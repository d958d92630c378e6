/* SPDX-License-Identifier: Apache-2.0
 *
 * This compares the pixels of images that should be copies: the bytes in their files where both have one encoding, and
 * else the values that decoders make of them.
 */
#ifndef IO_DICOM_DICOM_SAME_H
#define IO_DICOM_DICOM_SAME_H

#include "io/dicom_header/dicom_file.h"

/* Returns true where the frames of both images hold the same bytes, read anew, of cells of one kind. Where one cannot
 * be read *error is the errno. */
bool ts_dicom_same_bytes(const struct dicom_image *a, const struct dicom_image *b, int *error);
/* Returns true where images of which that is not so may hold the same values: in two encodings, in a compressed one, or
 * with other Bits Stored. */
bool ts_dicom_may_be_same(const struct dicom_image *a, const struct dicom_image *b);
/* Decodes n pairs of images, which stand side by side and have the same rows and columns, in worker processes as a run
 * does. Returns the first pair whose stored values differ or cannot be decoded; n where there is none. */
size_t ts_dicom_find_different(struct dicom_image *const *pairs, size_t n);

#endif
