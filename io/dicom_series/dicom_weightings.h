/* SPDX-License-Identifier: Apache-2.0
 *
 * The order that the images of a series have by their diffusion weighting, and by their place in a
 * file of frames.
 */
#ifndef IO_DICOM_SERIES_DICOM_WEIGHTINGS_H
#define IO_DICOM_SERIES_DICOM_WEIGHTINGS_H

#include "io/dicom_series/dicom_series.h"

/* This brings the diffusion weighting of a series into one form, whoever made the scanner: b-values
 * in s/mm2, and gradients as unit vectors in patient coordinates. */

/* Gives the images of a series the b-values and gradients that GE's private elements state, if no
   others do. The direction of the series must be known. */
void ts_dicom_take_ge_weighting(struct dicom_series *series);
/* Takes the weighting of images of Canon that only Image Comments state, such as
 * "b=1000(0.5,0,0.866)". */
void ts_dicom_take_canon_weighting(struct dicom_series *series);
/* Fills series->gradients from the first slice of each volume. */
void ts_dicom_list_gradients(struct dicom_series *series);

/* Takes images that state no weighting for b = 0 if those beside them at each position are
   weighted. The images are in order along the normal. */
void ts_dicom_take_unstated_weighting(struct dicom_series *series);

/* Fills in weighting_order and frame_order of the images, which are in order along the normal.
 * Returns true if some images of one position have the same weighting, so that only their order in
 * the file tells them apart. Sets series->no_memory if memory is out. */
bool ts_dicom_order_weightings(struct dicom_series *series);
/* Returns true if all images of each of the `complete` volumes, which come first, one after the
 * other, have the same b-value and gradient; `roughly`: to 1 % of the b-value and 0.01 in each part
 * of the gradient. `positions` is the number of images of a volume. */
bool ts_dicom_same_weighting(const struct dicom_series *series, size_t complete, size_t positions,
                             bool roughly);

#endif
