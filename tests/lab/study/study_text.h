/* SPDX-License-Identifier: Apache-2.0
 *
 * Every test of a study carries it out and reads what it printed; these functions do so. A request
 * takes one run, and the device of the test where it names none.
 */
#ifndef TESTS_LAB_STUDY_STUDY_TEXT_H
#define TESTS_LAB_STUDY_STUDY_TEXT_H

#include "lab/study/study.h"

/* Carries the study out and returns what it printed, which the caller frees. The test fails where
 * the study does, and where JSON was asked for and is none. */
char *ts_test_study(const struct study *study, struct study_request request);
/* Does the same for a study that may fail, with its status and records. */
char *ts_test_study_tried(const struct study *study, struct study_request request,
                          enum ts_status *status, struct ts_diag *diag);

#endif
