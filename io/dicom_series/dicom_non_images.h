/* SPDX-License-Identifier: Apache-2.0
 *
 * This handles names in a DICOM input that are no images: it decides which of them may have been
 * slices, and reports all of them. A file without a readable header does not name its series. It is
 * suspect if its name or size resembles the images of its folder, or of any folder if its own has
 * none.
 */
#ifndef IO_DICOM_SERIES_DICOM_NON_IMAGES_H
#define IO_DICOM_SERIES_DICOM_NON_IMAGES_H

#include "core/diag.h"
#include "io/dicom_series/dicom_series.h"

#define DICOM_UNREADABLE_HINT                                                                      \
    "supply the files anew or remove them; `unreadable: skip` beside the path reads what is left " \
    "of the series"

/* The ways in which a series may lack slices. A run refuses each of them unless the chain allows
 * it. */
enum dicom_lack_kind {
    LACK_SUSPECTS,  /* files that cannot be read may be slices of the series */
    LACK_DAMAGED,   /* other damaged files have its UID; the reason is their refusal */
    LACK_INCOMPLETE /* there are fewer files than the header states */
};
enum { DICOM_MAX_LACKS = 3 };

struct dicom_lack {
    enum dicom_lack_kind kind;
    const char *code, *hint;
    char reason[1024];
};

/* Lists what the series may lack; returns how many of the three kinds there are. */
size_t ts_dicom_lacks(const struct dicom_series *series, struct dicom_lack lacks[DICOM_MAX_LACKS]);

/* Sets `suspect` of each name that may have been a slice (dicom_lost.c): files that are empty, cut,
 * or without magic, and that the user named, or that hold a data set without preamble, or have a
 * name of the shape of an image's, or the size of one and no well-known extension. TS_RUN_FAILED:
 * memory is out. */
enum ts_status ts_dicom_mark_suspects(struct dicom_folder *folder, struct arena *arena,
                                      struct ts_diag *diag);
/* Sets `n_suspects` and `suspects` of each series by the place and name of suspect files, and of
 * damaged files whose UID may be wrong (dicom_lost.c). TS_RUN_FAILED: memory is out. */
enum ts_status ts_dicom_count_suspects(const struct dicom_folder *folder, struct arena *arena,
                                       struct dicom_series *series, size_t n_series,
                                       struct ts_diag *diag);

/* Returns the key of the kind in JSON, such as "not_dicom". */
const char *ts_dicom_other_key(enum dicom_other_kind kind);
/* Writes "14 files passed over: 9 not DICOM, 2 empty", or "". */
void ts_dicom_passed_over(const struct dicom_folder *folder, char *out, size_t size);
/* Writes "cannot read s/IM5, a link to /annex/IM5: No such file or directory". */
void ts_dicom_unreadable_text(const struct dicom_other *other, char *out, size_t size);
/* Reports an error for each name that cannot be read, up to a few, as TS_BAD_INPUT. TS_OK if there
 * is none. */
enum ts_status ts_dicom_refuse_unreadable(const struct dicom_folder *folder, struct ts_diag *diag);
/* Tells of what is no image that it is a mask of some. */
#define DICOM_MASK_HINT                                                                            \
    "`mask: FILE` reads it, as a further input beside that of its images (docs/masks.md)"
/* Refuses an input without an image; names the first files that are objects of another kind. */
enum ts_status ts_dicom_refuse_no_images(const struct dicom_folder *folder, struct ts_diag *diag);
/* Writes the text of ts_dicom_passed_over with the first names behind it. */
void ts_dicom_others_text(const struct dicom_folder *folder, char *out, size_t size);
/* Writes "2 names were left out: ..." if files have several names, or "". */
void ts_dicom_same_text(const struct dicom_folder *folder, char *out, size_t size);
/* Warns with both of these texts, and of listed paths that brought no image. */
void ts_dicom_warn_of_others(const struct dicom_folder *folder, struct ts_diag *diag);

#endif
