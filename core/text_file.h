/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of text that are written from their beginning to their end, such as plots.
 */
#ifndef CORE_TEXT_FILE_H
#define CORE_TEXT_FILE_H

#include <stdio.h>

#include "core/diag.h"

/* Checks before long work that the file can be made or replaced, without changing it. TS_RUN_FAILED with the code
 * not-written where it cannot. */
enum ts_status ts_text_file_check(const char *path, struct ts_diag *diag);
/* Opens a file for writing. NULL with the code output-exists where the file is there and must not be replaced, and with
 * not-written where it cannot be made. */
FILE *ts_text_file_open(const char *path, bool replace, struct ts_diag *diag);
/* Closes the file; TS_RUN_FAILED with the code not-written unless every byte of it was taken. */
enum ts_status ts_text_file_close(FILE *file, const char *path, struct ts_diag *diag);

#endif
