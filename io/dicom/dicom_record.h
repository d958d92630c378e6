/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists all that a result records of a DICOM input beside its slices.
 */
#ifndef IO_DICOM_DICOM_RECORD_H
#define IO_DICOM_DICOM_RECORD_H

#include "io/dicom/dicom.h"
#include "io/dicom/dicom_metadata.h"
#include "io/dicom_frames/dicom_source.h"

/* The attribute that holds the number of the series among those of the input. */
#define DICOM_SERIES_OF_INPUT "series_of_input"

/* Sets the attributes of the source. */
enum ts_status ts_dicom_record(struct dicom_source *source, const struct dicom_params *params,
                               const struct dicom_identity *identity, const struct dicom_folder *folder,
                               const struct dicom_series *series, struct ts_diag *diag);

#endif
