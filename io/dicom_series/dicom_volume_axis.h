/* SPDX-License-Identifier: Apache-2.0
 *
 * The axis along which the volumes of a series lie: echo times, b-values or times.
 */
#ifndef IO_DICOM_SERIES_DICOM_VOLUME_AXIS_H
#define IO_DICOM_SERIES_DICOM_VOLUME_AXIS_H

#include "io/dicom_series/dicom_series.h"

/* Fills volume_axis, and the gradients of a diffusion series, of a series whose images are in order
 * volume by volume. */
void ts_dicom_set_volume_axis(struct dicom_series *series, enum ts_axis_kind kind);

#endif
