/* SPDX-License-Identifier: Apache-2.0
 *
 * Times of acquisition are comparable if their clocks are: DICOM states them by clocks of several
 * time zones, and twice, as Acquisition DateTime and as Acquisition Date and Time.
 */
#ifndef IO_DICOM_SERIES_DICOM_CLOCKS_H
#define IO_DICOM_SERIES_DICOM_CLOCKS_H

#include "io/dicom_series/dicom_series.h"

/* Series whose times of acquisition have no date, or a wrong one, and which crossed midnight. */

enum dicom_midnight {
    MIDNIGHT_NONE,   /* the times are in order as they are */
    MIDNIGHT_PASSED, /* a day was added to those behind midnight */
    MIDNIGHT_DOUBT   /* nothing says whether the early times are those of the next day, or what says
                        it differs */
};

/* Returns true if the images' times of acquisition are times of day, without a date. */
bool ts_dicom_is_undated(const struct dicom_series *series);
/* Puts the times of acquisition of a series right that crossed midnight and has no date, or one
 * date that at least two attributes contradict, which a warning says. The images are in order along
 * the normal. */
enum dicom_midnight ts_dicom_pass_midnight(struct dicom_series *series);

/* Brings the times of acquisition of a series to one time zone. If some times state a zone and
 * others have none, they do not compare: a warning says so, and the images have no times. */
void ts_dicom_join_zones(struct dicom_series *series);
/* Gives images, which are in order along the normal, their Acquisition Times if Acquisition
 * DateTimes contradict these and Instance Numbers too; a warning says so. */
void ts_dicom_settle_clocks(struct dicom_series *series);
/* Returns true if Acquisition DateTimes and Acquisition Times of the volumes, which are in order,
 * contradict each other and nothing says which is right. A warning says what is used. */
bool ts_dicom_clocks_contradict(struct dicom_series *series);

#endif
