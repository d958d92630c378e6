/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens DICOM in tests: the way a chain does, or a single file whatever series it would make.
 */
#ifndef TESTS_FILES_DICOM_OPEN_H
#define TESTS_FILES_DICOM_OPEN_H

#include "io/dicom/dicom.h"

/* Opens what `input: {dicom: path, series: series, burned_in: ...}` opens; with series NULL the
 * default. */
enum ts_status ts_test_open_dicom(const char *path, const char *series, int32_t burned_in,
                                  struct source **source, struct ts_diag *diag);
/* One file as a volume of its frames in their stored values: slope and intercept are left out.
 * False: no image, or refused by the scan for another reason than `allowed` (a code, or NULL);
 * *code then says why. */
bool ts_test_open_file(const char *path, const char *allowed, struct source **source,
                       const char **code, struct ts_diag *diag);
/* Reads everything; free() the result. Fails the test with the first record where it cannot. */
void *ts_test_read_all(struct source *source, struct ts_diag *diag);
/* Opens what `input: {dicom: folder, take: take}` opens; take NULL: without it. NULL where it is
 * refused. */
struct source *ts_test_open_take(const char *folder, const char *take, struct ts_diag *diag);
/* Returns the message of the first record; "" where there is none. */
const char *ts_test_first_message(const struct ts_diag *diag);
/* Reads all volumes, as ts_test_read_all does of one. */
void *ts_test_read_volumes(struct source *source, struct ts_diag *diag);
/* Returns value i of what was read. */
double ts_test_value(const struct source *source, const void *data, size_t i);
/* Fails the test unless the source has counted, while it read, so many values that a float does not
 * hold, of which the farthest changed by `most`. */
void ts_test_expect_rounding(const struct source *source, int64_t n, double most);
/* Fails the test unless the newest error has this code and its message holds the text. */
void ts_test_expect(const struct ts_diag *diag, const char *code, const char *text);
void ts_test_expect_warning(const struct ts_diag *diag, const char *code, const char *text);

#endif
