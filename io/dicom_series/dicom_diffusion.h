/* SPDX-License-Identifier: Apache-2.0
 *
 * This brings the diffusion weighting of a series into one form, whoever made the scanner: b-values
 * in s/mm2, and gradients as unit vectors in patient coordinates.
 */
#ifndef IO_DICOM_DICOM_DIFFUSION_H
#define IO_DICOM_DICOM_DIFFUSION_H

#include "io/dicom_series/dicom_series.h"

/* Gives the images of a series the b-values and gradients that GE's private elements state, where
 * no others do. The direction of the series must be known. */
void ts_dicom_take_ge_weighting(struct dicom_series *series);
/* Fills series->gradients from the first slice of each volume. */
void ts_dicom_list_gradients(struct dicom_series *series);

/* Takes images that state no weighting for b = 0 where those beside them at each position are
 * weighted. The images are in order along the normal. */
void ts_dicom_take_unstated_weighting(struct dicom_series *series);

#endif
