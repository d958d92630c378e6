/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of acquisition are comparable if their clocks are: DICOM states them by clocks of several
 * time zones, and twice, as Acquisition DateTime and as Acquisition Date and Time.
 */
#ifndef IO_DICOM_DICOM_CLOCKS_H
#define IO_DICOM_DICOM_CLOCKS_H

#include "io/dicom_series/dicom_series.h"

/* Brings the times of acquisition of a series to one time zone. Where some times state a zone and
 * others have none, they do not compare: a warning says so, and the images have no times. */
void ts_dicom_join_zones(struct dicom_series *series);
/* Gives images, which are in order along the normal, their Acquisition Times where Acquisition
 * DateTimes contradict these and Instance Numbers too; a warning says so. */
void ts_dicom_settle_clocks(struct dicom_series *series);
/* Returns true where Acquisition DateTimes and Acquisition Times of the volumes, which are in
 * order, contradict each other and nothing says which is right. A warning says what is used. */
bool ts_dicom_clocks_contradict(struct dicom_series *series);

#endif
