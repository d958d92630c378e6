/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices of one volume, and volumes of one series, that were measured in several ways.
 */
#ifndef IO_DICOM_SERIES_DICOM_SEQUENCES_H
#define IO_DICOM_SERIES_DICOM_SEQUENCES_H

#include "io/dicom_series/dicom_series.h"

/* Warns if the slices of a volume differ in settings of their sequence, and of volumes of perfusion
 * whose blood was labeled in several ways. */
void ts_dicom_warn_of_sequences(struct dicom_series *series);

#endif
