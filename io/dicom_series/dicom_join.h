/* SPDX-License-Identifier: Apache-2.0
 *
 * These attributes say to which series an image belongs: UIDs, numbers and names (enum
 * dicom_series_key). Some writers give each slice of a volume another one, or leave it out of some
 * files. This finds such attributes, so that they do not tear the volume, and keeps those that tell
 * series apart.
 */
#ifndef IO_DICOM_SERIES_DICOM_JOIN_H
#define IO_DICOM_SERIES_DICOM_JOIN_H

#include "io/dicom_series/dicom_series.h"

/* The words of `join`, in the order of enum dicom_series_key. */
extern const char *const ts_dicom_join_words[DICOM_SERIES_KEYS];

/* Compares what the images show: the kind of image, its size, and what its file is. */
int ts_dicom_compare_content(const struct dicom_image *a, const struct dicom_image *b);
/* Sets `keys` of the n images: the values by which series are told apart, "" for the attributes
 * that `join` names (1 << enum dicom_series_key), and one value for all slices of a volume that an
 * attribute would tear. Sets `torn`. The images are rearranged. Returns false if memory is out. */
bool ts_dicom_join(struct dicom_image **images, size_t n, unsigned join, struct arena *arena);
/* Writes the words with which `join` makes one volume of the series and others of its UID: "study,
 * series", or "". */
void ts_dicom_join_list(const struct dicom_series *series, char *out, size_t size);
/* Warns of attributes that differ within a series that was joined, of those by which it was split
 * from other images of its Series Instance UID, and of a missing UID. The series are in the order
 * of their UIDs. */
void ts_dicom_warn_of_keys(struct dicom_series *series, size_t n);

#endif
