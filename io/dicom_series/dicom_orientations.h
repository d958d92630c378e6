/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the images that have one orientation: direction cosines are rounded, and some scanners
 * or tools let them jitter from slice to slice.
 */
#ifndef IO_DICOM_DICOM_ORIENTATIONS_H
#define IO_DICOM_DICOM_ORIENTATIONS_H

#include "io/dicom_series/dicom_series.h"

/* Orientations are one where no direction cosine differs by more than the first number; images
 * whose orientations jitter, where none differs by more than the second. */
#define DICOM_SAME_ORIENTATION 1e-4
#define DICOM_JITTER 2e-3

bool ts_dicom_same_orientation(const struct dicom_image *a, const struct dicom_image *b,
                               double most);
/* Returns by how many degrees the axes of two orientations differ. */
double ts_dicom_angle_between(const double a[6], const double b[6]);
/* Returns true where the images whose orientation jitters around that of the first are one volume,
 * or several: they lie at even steps, equally many at each position, and no orientation has all
 * positions for itself. Returns false where they have one orientation, too. *no_memory is set where
 * memory is out. */
bool ts_dicom_is_jitter(struct dicom_image *const *images, size_t n, bool *no_memory);
/* Fills in the orientation of the series, which is that of its first image, or the mean where
 * orientations jitter; a warning says so. */
void ts_dicom_find_orientation(struct dicom_series *series, double orientation[6]);

#endif
