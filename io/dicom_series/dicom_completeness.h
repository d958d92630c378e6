/* SPDX-License-Identifier: Apache-2.0
 *
 * This checks whether series are whole, as far as their headers state it.
 */
#ifndef IO_DICOM_SERIES_DICOM_COMPLETENESS_H
#define IO_DICOM_SERIES_DICOM_COMPLETENESS_H

#include "io/dicom_series/dicom_series.h"

/* Returns true if the code of a file's refusal means damage, rather than a whole file of a kind
 * that is not read. False for NULL. */
bool ts_dicom_is_damage(const char *code);
/* Checks all n series, after they were arranged. It warns of gaps in the Instance Numbers, of fewer
 * images than Images in Acquisition says and of images that would continue a series, and sets
 * `incomplete`, `damaged` and `doubtful_uid`. */
void ts_dicom_check_completeness(struct dicom_series *all, size_t n);

#endif
