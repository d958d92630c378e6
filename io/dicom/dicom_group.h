/* SPDX-License-Identifier: Apache-2.0
 *
 * From files to volumes: groups files into series, orders each along its normal, and says of each whether it is one
 * clean volume, and if not why. Nothing is guessed: spacing and order come from positions alone.
 */
#ifndef IO_DICOM_DICOM_GROUP_H
#define IO_DICOM_DICOM_GROUP_H

#include "io/dicom/dicom_series.h"

/* All series of the files that were found, numbered from 1, whether fit for a volume or refused. TS_RUN_FAILED where
 * memory is out, and nothing else. */
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
