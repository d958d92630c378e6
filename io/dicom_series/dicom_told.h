/* SPDX-License-Identifier: Apache-2.0
 *
 * Some elements show that images at one position are of several volumes, but not which image is of
 * which volume: comments that people or scanners write, such as "T=50%", and times that are the
 * same in all images of a volume. The functions here find them.
 */
#ifndef IO_DICOM_SERIES_DICOM_TOLD_H
#define IO_DICOM_SERIES_DICOM_TOLD_H

#include "io/dicom_series/dicom_series.h"

/* The images of a series, which are in order along the normal. */

enum { DICOM_TOLD_COMMENTS = 1 };
/* Returns what tells volumes apart: DICOM_TOLD_COMMENTS if Series Description or comments differ at
 * a position and have the same values at all, and other bits for settings that do. */
uint64_t ts_dicom_find_told(struct dicom_series *series);
/* Returns true if two images differ in Series Description or comments. */
bool ts_dicom_differ_in_comments(const struct dicom_image *a, const struct dicom_image *b);
/* Returns true if n images are none of one volume, since they differ in what tells volumes apart.
 */
bool ts_dicom_is_mixture(struct dicom_image *const *images, size_t n, uint64_t told);
/* Returns the name of what tells the volumes of a series apart and differs among the images that
 * are not left out; NULL if there is none. */
const char *ts_dicom_name_mixture(struct dicom_series *series, const bool *left);
/* Warns if the slices of a volume have comments that name phases, such as "50 %", each of several
 * slices. */
void ts_dicom_warn_of_comments(struct dicom_series *series);

#endif
