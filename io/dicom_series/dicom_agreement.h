/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers state the times of volumes, or only their order, by several attributes. The volumes are
 * read by one of them; the functions here compare it with all others.
 */
#ifndef IO_DICOM_SERIES_DICOM_AGREEMENT_H
#define IO_DICOM_SERIES_DICOM_AGREEMENT_H

#include "io/dicom_series/dicom_series.h"

/* The images of the series are in order volume by volume. */

/* Returns true if Trigger Time rises from each of the `volumes` to the next one at all `positions`,
 * by steps that are alike: those of the phases of a heart change with its rate, and delays that
 * each slice has for itself step by chance. */
bool ts_dicom_triggers_step_alike(const struct dicom_series *series, size_t volumes,
                                  size_t positions);
/* Warns of attributes that give the volumes another order, the same at every position, than the one
 * that series->order names. */
void ts_dicom_compare_orders(struct dicom_series *series);
/* Warns of what contradicts the times of the volumes, which are those at `place` (DICOM_NUMBER)
 * times `factor`, in seconds: other times, Temporal Resolution, frames that last into the next. */
void ts_dicom_compare_times(struct dicom_series *series, size_t place, double factor);
/* Frame Reference Time is that of the middle of a PET frame, or nearly, by some scanners of its
 * beginning. Fills `values` with the times at which the n_volumes frames begin, from the least of
 * each: by Actual Frame Duration if frames then follow each other, else as they are, with a warning
 * unless both are the same. */
void ts_dicom_begin_frames(struct dicom_series *series, double *values);

#endif
