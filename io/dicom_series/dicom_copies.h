/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds copies of images in a series.
 */
#ifndef IO_DICOM_SERIES_DICOM_COPIES_H
#define IO_DICOM_SERIES_DICOM_COPIES_H

#include "io/dicom_series/dicom_series.h"

struct sandbox;

/* Drops identical copies of one instance, which are side by side in the group's order, and refuses
 * the series if copies differ or cannot be read. If each SOP Instance UID is that of equally many
 * images, which something else tells apart, none of them is a copy. `keep`: those whose bytes
 * differ are images of their own, whatever their UID. Compressed ones are decoded by processes of
 * the sandbox (NULL: that of the process). */
void ts_dicom_drop_duplicates(struct dicom_series *series, bool keep, struct sandbox *sandbox);
/* Returns true if the frames of both images hold the same bytes, read anew, of cells of one kind.
 * If one cannot be read *error is the errno. */
bool ts_dicom_same_bytes(const struct dicom_image *a, const struct dicom_image *b, int *error);

#endif
