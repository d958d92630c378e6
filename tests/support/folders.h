/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders for what tests write. All of them lie in a folder of the whole run, which is removed when
 * the run ends, with what tests left there that failed, crashed or were skipped.
 */
#ifndef TESTS_SUPPORT_FOLDERS_H
#define TESTS_SUPPORT_FOLDERS_H

#include <stddef.h>

/* Makes an empty folder; the path in `folder` (of size bytes). Fails the test where it cannot. */
void ts_test_folder(char *folder, size_t size);
/* The same in memory, where the system has /dev/shm. */
void ts_test_folder_in_memory(char *folder, size_t size);
/* Removes a folder with all that is in it. */
void ts_test_remove_folder(const char *folder);

#endif
