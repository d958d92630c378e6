/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims folders for files that a command is about to write, so that they never mix with other
 * files.
 */
#ifndef IO_FILE_NEW_FOLDER_H
#define IO_FILE_NEW_FOLDER_H

#include "core/diag.h"

/* Makes the folder, or checks that it is empty; *made tells which. TS_RUN_FAILED: it cannot be made
   or listed (code folder-not-usable), or is not empty (folder-not-empty). */
enum ts_status ts_new_folder(const char *folder, bool *made, struct ts_diag *diag);
/* Makes a folder of an unused name in `parent`, and writes its path to `folder`, of `size` bytes.
   TS_RUN_FAILED (folder-not-usable) if it cannot be made or the path is too long. */
enum ts_status ts_temporary_folder_make(const char *parent, char *folder, size_t size,
                                        struct ts_diag *diag);
/* Removes a file, or a folder with all that it holds, as far as possible. It is
   async-signal-safe. */
void ts_temporary_folder_remove(const char *folder);

#endif
