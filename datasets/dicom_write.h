/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes valid CT Image Storage instances, explicit VR little endian: every Type 1 and Type 2
 * attribute of the IOD and nothing that depends on the day or the machine. Source: DICOM PS3.3 A.3
 * (CT Image IOD), PS3.5 7.1 (explicit VR), PS3.10 7 (file format).
 */
#ifndef DATASETS_DICOM_WRITE_H
#define DATASETS_DICOM_WRITE_H

#include "core/diag.h"
#include "io/sink/dicom_encode.h"

struct ct_series {
    const char *patient_name, *patient_id, *description;
    char study[DICOM_UID_BYTES], series[DICOM_UID_BYTES], frame_of_reference[DICOM_UID_BYTES];
    int64_t nx, ny;
    double spacing_x_mm, spacing_y_mm, spacing_z_mm;
};

/* Writes instance `number` (from 1) with the center of its first pixel at position_mm. Stored
 * values are HU + 1024 in 12 of 16 bits, ny rows of nx. The file must not exist. TS_RUN_FAILED: it
 * could not be written; nothing is left of it. */
enum ts_status ts_ct_write(const char *path, const struct ct_series *series, int64_t number,
                           const char *instance, const double position_mm[3],
                           const uint16_t *stored, struct ts_diag *diag);

#endif
