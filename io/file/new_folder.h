/* SPDX-License-Identifier: Apache-2.0
 *
 * This claims a folder for files that a command is about to write, so that they never mix with somebody else's.
 */
#ifndef IO_FILE_NEW_FOLDER_H
#define IO_FILE_NEW_FOLDER_H

#include "core/diag.h"

/* Makes the folder, or checks that it is empty; *made says which. TS_RUN_FAILED: it cannot be made or listed (code
 * folder-not-usable), or holds anything (folder-not-empty). */
enum ts_status ts_new_folder(const char *folder, bool *made, struct ts_diag *diag);

#endif
