/* SPDX-License-Identifier: Apache-2.0
 *
 * Series whose times of acquisition have no date, or a wrong one, and which crossed midnight.
 */
#ifndef IO_DICOM_DICOM_MIDNIGHT_H
#define IO_DICOM_DICOM_MIDNIGHT_H

#include "io/dicom_series/dicom_series.h"

enum dicom_midnight {
    MIDNIGHT_NONE,   /* the times are in order as they are */
    MIDNIGHT_PASSED, /* a day was added to those behind midnight */
    MIDNIGHT_DOUBT   /* nothing says whether the early times are those of the next day, or what says
                        it differs */
};

/* Returns true where the images' times of acquisition are times of day, without a date. */
bool ts_dicom_is_undated(const struct dicom_series *series);
/* Puts the times of acquisition of a series right that crossed midnight and has no date, or one
 * date that at least two attributes contradict, which a warning says. The images are in order along
 * the normal. */
enum dicom_midnight ts_dicom_pass_midnight(struct dicom_series *series);

#endif
