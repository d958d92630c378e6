/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes one volume of a group of files, or says why not: order, spacing and tilt from positions; unit and element type
 * from the rescale values. Shared by the parts that make and describe series.
 */
#ifndef IO_DICOM_DICOM_GEOMETRY_H
#define IO_DICOM_DICOM_GEOMETRY_H

#include "io/dicom/dicom_series.h"

/* Drops identical copies, orders the files along the normal, fills shape, spacing and geometry of series->image.
 * `mixed`: the series was split by orientation. Needs files that each passed the scan. */
void ts_dicom_arrange(struct dicom_series *series, bool mixed, struct arena *arena);
/* Fills dtype, quantity and unit of series->image. */
void ts_dicom_quantify(struct dicom_series *series, struct arena *arena);

/* Whether both files hold the same pixel bytes, read anew. Where one cannot be read *error is the errno. */
bool ts_dicom_same_pixels(const struct dicom_file *a, const struct dicom_file *b, int *error);

/* "axial", "coronal", "sagittal", or "axial, oblique 12.3 degrees". */
void ts_dicom_orientation_name(const struct ts_image *image, char *out, size_t size);
/* "CT, 512 x 512 x 28, 0.488 x 0.488 x 5 mm, axial, i16 HU": one line for people; rows x columns x slices. */
void ts_dicom_series_line(const struct dicom_series *series, char *out, size_t size);

/* Whether a file's refusal tells of damage, rather than of a whole file of a kind that is not read. */
bool ts_dicom_is_damage(const char *code);
/* Checks all n series, after they were arranged: it warns of gaps in the Instance Numbers and of fewer images than
 * Images in Acquisition says, and sets `incomplete` where they are fewer than Number of Series Related Instances says,
 * `damaged` and `stranger`. False where memory is out. */
bool ts_dicom_check_whole(struct dicom_series *all, size_t n, struct arena *arena);

#endif
