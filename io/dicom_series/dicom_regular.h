/* SPDX-License-Identifier: Apache-2.0
 *
 * This says whether the numbers and times of a series run through its volumes in one way. The first `complete` volumes
 * of `positions` slices are looked at; `place` is that of a number (DICOM_NUMBER).
 */
#ifndef IO_DICOM_DICOM_REGULAR_H
#define IO_DICOM_DICOM_REGULAR_H

#include "io/dicom_series/dicom_series.h"

/* Returns true where the numbers of every volume run as those of the first one. */
bool ts_dicom_is_regular(const struct dicom_series *series, size_t complete, size_t positions, size_t place);
/* Returns true where the numbers run through one volume after the other, or through one position after the other,
 * whatever their order within each. */
bool ts_dicom_is_in_blocks(struct dicom_series *series, size_t complete, size_t positions, size_t place);
/* Returns true where the number does not go back from a volume to the next one. */
bool ts_dicom_goes_on(const struct dicom_series *series, size_t complete, size_t positions, size_t place);
/* Returns true where the Instance Numbers have the volumes in one order at all positions, whichever it is. */
bool ts_dicom_numbers_agree(const struct dicom_series *series, size_t complete, size_t positions);
/* Returns true where no time goes back from a volume to the next one. */
bool ts_dicom_times_go_on(const struct dicom_series *series, size_t complete, size_t positions);

#endif
