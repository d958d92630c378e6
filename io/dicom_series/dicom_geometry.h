/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes one volume of a group of files, or states why it cannot: order, spacing and tilt come from positions, unit
 * and element type from the rescale values.
 */
#ifndef IO_DICOM_DICOM_GEOMETRY_H
#define IO_DICOM_DICOM_GEOMETRY_H

#include "io/dicom_series/dicom_series.h"

/* Drops identical copies, orders the files along the normal, fills shape, spacing and geometry of series->image.
 * `mixed`: the series was split by orientation. Every file must have passed the scan. */
void ts_dicom_arrange(struct dicom_series *series, bool mixed);
/* Fills dtype, quantity and unit of series->image (dicom_quantity.c). */
void ts_dicom_quantify(struct dicom_series *series);

#endif
