/* SPDX-License-Identifier: Apache-2.0
 *
 * See dicom_study.h.
 */
#include "tests/files/dicom_study.h"

#include <criterion/criterion.h>

#include "io/dicom_header/dicom_scan.h"

const struct dicom_rules ts_test_version_1 = {
    .positions = POSITIONS_ENDS, .tilt = TILT_REFUSE, .spacing_tolerance = DICOM_SPACING_TOLERANCE};

void ts_test_study_open(struct dicom_study *study, const char *folder,
                        const struct dicom_rules *rules)
{
    *study = (struct dicom_study){.arena = ts_arena_create(), .diag = ts_diag_create()};
    cr_assert_eq(ts_dicom_scan(&folder, 1, study->arena, &study->files, study->diag), TS_OK, "%s",
                 folder);
    cr_assert_eq(
        ts_dicom_group(&study->files, rules, study->arena, &study->series, &study->n, study->diag),
        TS_OK);
}

void ts_test_study_close(struct dicom_study *study)
{
    ts_arena_destroy(study->arena);
    ts_diag_destroy(study->diag);
}
