/* SPDX-License-Identifier: Apache-2.0
 *
 * Refuses images whose headers have a number that cannot be read (struct dicom_unread), or warns
 * of it.
 */
#ifndef IO_DICOM_SERIES_DICOM_UNREAD_H
#define IO_DICOM_SERIES_DICOM_UNREAD_H

#include "io/dicom_series/dicom_series.h"

/* Refuses the files of images whose unread numbers may tell them from others of their series UID.
 * Returns false if memory is out. */
bool ts_dicom_refuse_unread(struct dicom_image *const *images, size_t n, struct arena *arena);
/* Warns of the unread numbers of a series by name. */
void ts_dicom_warn_of_unread(struct dicom_series *series);

#endif
