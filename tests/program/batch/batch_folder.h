/* SPDX-License-Identifier: Apache-2.0
 *
 * The tests of batches share a folder with three studies and a chain. Names are relative to that
 * folder.
 */
#ifndef TESTS_PROGRAM_BATCH_BATCH_FOLDER_H
#define TESTS_PROGRAM_BATCH_BATCH_FOLDER_H

#include "tests/program/record/compare_program.h"

/* Makes the folder with st/p1, st/p2 and st/p3, DICOM series of 6 slices, and chain.yaml;
 * ts_compare_program_end removes it. */
void ts_batch_folder_begin(void);
void ts_batch_folder_make(const char *name);
void ts_batch_folder_remove(const char *name);
/* Cuts the last third of a file off. */
void ts_batch_folder_cut(const char *name);
/* Writes the names in a folder, sorted, each followed by a space; files whose names begin with a
 * dot are among them. */
void ts_batch_folder_list(const char *name, char *names, size_t size);
/* Fails the test unless the folder holds these names. */
void ts_batch_folder_expect(const char *name, const char *names);

#endif
