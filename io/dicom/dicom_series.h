/* SPDX-License-Identifier: Apache-2.0
 *
 * A series: its files in order along the normal, and whether they are one clean volume, and if not why.
 */
#ifndef IO_DICOM_DICOM_SERIES_H
#define IO_DICOM_DICOM_SERIES_H

#include "core/image.h"
#include "io/dicom/dicom_scan.h"

enum { DICOM_MAX_WARNINGS = 16, DICOM_MAX_NAMED = 3 };

struct dicom_series {
    int number; /* as shown to the user, from 1; order fixed by (study, series UID, orientation...), not by file names
                 */
    char series[DICOM_UID_MAX], modality[DICOM_TEXT_MAX], image_type[DICOM_TEXT_MAX * 2];
    struct dicom_file **files; /* in order of position along the normal; duplicates dropped */
    size_t n_files, n_duplicates;
    const char *refusal, *refusal_code, *hint; /* refusal NULL: one clean volume */
    struct ts_image image;                     /* where clean: shape, spacing, geometry, dtype, unit, quantity */
    const char **warnings;                     /* e.g. SpacingBetweenSlices disagrees with positions */
    size_t n_warnings;
    /* What the chain may allow: files that may have been slices of it, the first of them; another series of damaged
     * files that has its UID, or NULL; and fewer files than the header says, NULL where they are not. */
    size_t n_suspects;
    const struct dicom_other *suspects[DICOM_MAX_NAMED];
    const struct dicom_series *damaged;
    const char *incomplete;
    size_t n_dropped; /* damaged files that the chain allowed to leave out */
    bool stranger;    /* damaged files under a UID that may be wrong: see dicom_lost_series.c */
};

/* The first refusal of a series stands. hint: a literal or arena text, or NULL. */
void ts_dicom_series_refuse(struct dicom_series *series, struct arena *arena, const char *code, const char *hint,
                            const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Beyond DICOM_MAX_WARNINGS nothing is added. */
void ts_dicom_series_warn(struct dicom_series *series, struct arena *arena, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The file's own name, without folders. */
const char *ts_dicom_base_name(const char *path);

#endif
