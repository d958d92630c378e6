/* SPDX-License-Identifier: Apache-2.0
 *
 * Names in a DICOM input that are no images: which of them may have been slices, and how all of them are reported. A
 * file without a readable header does not name its series. It is suspect if its name or size resembles the images of
 * its folder, or of any folder if its own has none.
 */
#ifndef IO_DICOM_DICOM_NON_IMAGES_H
#define IO_DICOM_DICOM_NON_IMAGES_H

#include "io/dicom/dicom_series.h"

#define DICOM_UNREADABLE_HINT                                                                                          \
    "supply the files anew or remove them; `unreadable: skip` beside the path reads what is left of the series"

#define DICOM_INCOMPLETE_HINT                                                                                          \
    "supply the whole series; `incomplete: allow` beside the path reads the files that are there"

/* Sets `suspect` of the files that are empty, cut, or without magic, and that the user named, or that hold a data set
 * without preamble, or have a name of the shape of an image's, or the size of one and no well-known extension. */
enum ts_status ts_dicom_mark_suspects(struct dicom_folder *folder, struct arena *arena, struct ts_diag *diag);
/* A file's name without extensions, in lower case, runs of digits as '#': that by which the slices of a series are
 * alike. */
void ts_dicom_name_stem(const char *path, char *out, size_t size);
/* Sets `n_suspects` and `suspects` of each series: suspect files and those of strangers, by their place and name. */
enum ts_status ts_dicom_count_suspects(const struct dicom_folder *folder, struct arena *arena,
                                       struct dicom_series *series, size_t n_series, struct ts_diag *diag);

/* "14 files passed over: 9 not DICOM, 2 empty", or "". */
void ts_dicom_passed_over(const struct dicom_folder *folder, char *out, size_t size);
/* "cannot read s/IM5, a link to /annex/IM5: No such file or directory" */
void ts_dicom_unreadable_text(const struct dicom_other *other, char *out, size_t size);
/* "3 files beside its slices may be slices too: IM5 (empty), IM7 (not DICOM), ..." */
void ts_dicom_suspects_text(const struct dicom_series *series, char *out, size_t size);
/* An error for each name that cannot be read, up to a few. TS_OK where there is none. */
enum ts_status ts_dicom_refuse_unreadable(const struct dicom_folder *folder, struct ts_diag *diag);
/* As ts_dicom_passed_over, with the first names; and "2 names were left out: ...", for files of several names. */
void ts_dicom_others_text(const struct dicom_folder *folder, char *out, size_t size);
void ts_dicom_same_text(const struct dicom_folder *folder, char *out, size_t size);
/* Both of these texts as warnings, and one of the listed paths that brought no image. */
void ts_dicom_warn_of_others(const struct dicom_folder *folder, struct ts_diag *diag);

#endif
