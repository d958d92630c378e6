/* SPDX-License-Identifier: Apache-2.0
 *
 * The order that the frames of enhanced files have along the dimensions that the files name.
 */
#ifndef IO_DICOM_DICOM_DIMENSIONS_H
#define IO_DICOM_DICOM_DIMENSIONS_H

#include "io/dicom_series/dicom_series.h"

/* Fills in dimensions_rank of the images, which are in order along the normal: their place, from 0, among the Dimension
 * Index Values of the series; NaN where an image has none, or where these do not tell apart any images at one position.
 * Sets series->no_memory where memory is out. */
void ts_dicom_rank_dimensions(struct dicom_series *series);

#endif
