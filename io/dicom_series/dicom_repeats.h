/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds different images at one position in a series.
 */
#ifndef IO_DICOM_SERIES_DICOM_REPEATS_H
#define IO_DICOM_SERIES_DICOM_REPEATS_H

#include "io/dicom_series/dicom_series.h"

/* Keeps one image of each position, that of the lowest Instance Number, and warns of how many are
 * left out. The images are in order along the normal. */
void ts_dicom_keep_first(struct dicom_series *series);
/* Refuses a series with several images at one position, and says in what they differ. The images
 * are in order along the normal. */
void ts_dicom_refuse_repeats(struct dicom_series *series);
/* Refuses volumes that are not at one place. */
void ts_dicom_refuse_shifted(struct dicom_series *series);
/* Refuses images at one position whose Slice Locations say that they are apart. */
void ts_dicom_refuse_contradicted(struct dicom_series *series);

#endif
