/* SPDX-License-Identifier: Apache-2.0
 *
 * The axis along which the volumes of a series lie: its kind, unit and positions.
 */
#ifndef IO_DICOM_DICOM_VOLUME_AXIS_H
#define IO_DICOM_DICOM_VOLUME_AXIS_H

#include "io/dicom_series/dicom_series.h"

/* Fills volume_axis, and the gradients of a diffusion series, of a series whose images stand volume by volume. */
void ts_dicom_set_volume_axis(struct dicom_series *series, enum ts_axis_kind kind);

#endif
