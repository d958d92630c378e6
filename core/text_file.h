/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions write text files from beginning to end, such as plots and tables. The caller checks before long work
 * whether the file can be written, opens it when the text is there, and learns from closing it whether all of it was
 * written. Existing files are replaced only where the user asked for it.
 */
#ifndef CORE_TEXT_FILE_H
#define CORE_TEXT_FILE_H

#include <stdio.h>

#include "core/diag.h"

/* Checks before long work that the file can be made or replaced, without changing it. Returns TS_RUN_FAILED (code
 * not-written) where it cannot. */
enum ts_status ts_text_file_check(const char *path, struct ts_diag *diag);
/* Opens a file for writing. Returns NULL where the file exists and must not be replaced (code output-exists), or cannot
 * be made (code not-written). */
FILE *ts_text_file_open(const char *path, bool replace, struct ts_diag *diag);
/* Closes the file. Returns TS_RUN_FAILED (code not-written) unless every byte was written. */
enum ts_status ts_text_file_close(FILE *file, const char *path, struct ts_diag *diag);

#endif
