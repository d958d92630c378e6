/* SPDX-License-Identifier: Apache-2.0
 *
 * The series that the files of a folder make, for tests of what is found out about them.
 */
#ifndef TESTS_FILES_DICOM_STUDY_H
#define TESTS_FILES_DICOM_STUDY_H

#include "io/dicom_series/dicom_group.h"

struct dicom_study {
    struct arena *arena;
    struct ts_diag *diag;
    struct dicom_folder files;
    struct dicom_series *series;
    size_t n;
};

/* Chains of version 1 judge positions so. */
extern const struct dicom_rules ts_test_version_1;

/* Scans and groups the folder; fails the test where that fails. */
void ts_test_study_open(struct dicom_study *study, const char *folder,
                        const struct dicom_rules *rules);
void ts_test_study_close(struct dicom_study *study);

#endif
