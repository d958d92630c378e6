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
/* Warns where the times of the volumes, which are in order, are Acquisition DateTimes that
 * Acquisition Times contradict. */
void ts_dicom_warn_of_clocks(struct dicom_series *series);

#endif
