/* SPDX-License-Identifier: Apache-2.0
 *
 * From files to volumes: groups files into series, orders each along its normal, and says of each whether it is one
 * clean volume, and if not why. Nothing is guessed: spacing and order come from positions alone.
 */
#ifndef IO_DICOM_SERIES_H
#define IO_DICOM_SERIES_H

#include "io/dicom_scan.h"
#include "pipeline/image.h"

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
};

enum ts_status ts_dicom_group(const struct dicom_folder *folder, struct arena *arena, struct dicom_series **series,
                              size_t *n_series, struct ts_diag *diag);
/* The series that `choice` names: NULL or "" where only one is an image series fit for a volume or there is only one; a
 * number; or a series UID. Reports otherwise, with the table of series. */
enum ts_status ts_dicom_choose(const struct dicom_series *series, size_t n_series, const char *choice,
                               const struct dicom_folder *folder, const struct dicom_series **chosen,
                               struct ts_diag *diag);
/* `tomostage info FOLDER`. */
enum ts_status ts_dicom_info(const char *path, bool json, FILE *stream, struct ts_diag *diag);

#endif
