/* SPDX-License-Identifier: Apache-2.0
 *
 * The tests of commands that compare share a folder with a study and a result, and the program's
 * outcome.
 */
#ifndef TESTS_PROGRAM_RECORD_COMPARE_PROGRAM_H
#define TESTS_PROGRAM_RECORD_COMPARE_PROGRAM_H

#include "tests/support/program.h"

struct compare_program {
    struct program_outcome outcome;
    char folder[256]; /* holds the DICOM series `study`, 6 slices of 48 x 48 pixels, and a.h5 */
};
extern struct compare_program ts_compare_program;

/* Make and remove the folder; `chain` makes a.h5. ts_compare_program_begin_empty makes neither
 * study nor result. */
void ts_compare_program_begin_empty(void);
void ts_compare_program_begin(const char *chain);
void ts_compare_program_end(void);
/* Writes a text file of this name into the folder. */
void ts_compare_program_write(const char *name, const char *text);
/* Runs the program in the folder, and fails the test unless it ends with 0. */
void ts_compare_program_run(const char *const *arguments);
/* Fails the test unless the program ends with this code, and prints every one of the texts, which
 * NULL ends. */
void ts_compare_program_expect(const char *const *arguments, int code, const char *const *texts);
/* Fails the test unless both files of the folder have the same bytes. */
void ts_compare_program_expect_same_bytes(const char *a, const char *b);

#endif
