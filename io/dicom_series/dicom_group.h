/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes volumes of files: groups files into series, orders each along its normal, and finds out
 * whether it is one clean volume, and if not why. Nothing is guessed: spacing and order come from
 * positions alone.
 */
#ifndef IO_DICOM_SERIES_DICOM_GROUP_H
#define IO_DICOM_SERIES_DICOM_GROUP_H

#include "io/dicom_series/dicom_geometry.h"
#include "io/dicom_series/dicom_series.h"

/* Marks the suspects among the other names of the folder, and gives all series of the files that
 * were found, numbered from 1, whether fit for a volume or refused. Nothing but memory that is out
 * makes it fail, as TS_RUN_FAILED. */
enum ts_status ts_dicom_group(struct dicom_folder *folder, const struct dicom_rules *rules,
                              struct arena *arena, struct dicom_series **series, size_t *n_series,
                              struct ts_diag *diag);
/* Gives the series that `choice` names by number or UID. NULL or "" choose the only series, or the
 * only one that is fit for a volume. TS_BAD_INPUT otherwise, reported with the list of series. */
enum ts_status ts_dicom_choose(const struct dicom_series *series, size_t n_series,
                               const char *choice, const struct dicom_folder *folder,
                               const struct dicom_series **chosen, struct ts_diag *diag);
/* Writes what `tomostage info PATH` shows; with `names` the descriptions of the series too, into
 * which people write. TS_BAD_INPUT: there is no image, or the path cannot be read. */
enum ts_status ts_dicom_info(const char *path, bool json, bool names, FILE *stream,
                             struct ts_diag *diag);

#endif
