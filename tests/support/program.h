/* SPDX-License-Identifier: Apache-2.0
 *
 * The built program as a test starts it: no shell, a folder of its own, both outputs kept.
 */
#ifndef TESTS_SUPPORT_PROGRAM_H
#define TESTS_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/support/folders.h"

enum { PROGRAM_ARGUMENTS = 24 };
#define ARGUMENTS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct program_outcome {
    int code;       /* exit code; 256 + number where a signal ended it */
    double seconds; /* processor time of the program from the wait on, which other programs' load
                       does not change */
    char out[1 << 20], err[65536]; /* cut to fit, ended by a zero */
};

/* Removes a folder of ts_test_folder, and the program's outputs beside it. */
void ts_program_folder_remove(const char *folder);
/* Writes the names in the folder, sorted, each followed by a space. */
void ts_program_folder_list(const char *folder, char *names, size_t size);

/* Starts the program with arguments (NULL ends them) in the folder; outputs go to the files
 * FOLDER.out, FOLDER.err, or standard error to `terminal` where that is not -1. */
pid_t ts_program_start(const char *folder, const char *const *arguments, int terminal);
/* Waits until it handles the signal, which a busy machine may put off: before that a signal kills
 * it. */
void ts_program_await_handler(pid_t pid, int number);
/* Waits for it. */
void ts_program_wait(pid_t pid, const char *folder, struct program_outcome *outcome);
void ts_program_run(const char *folder, const char *const *arguments,
                    struct program_outcome *outcome);
/* Makes a new folder with a study, `study`: a disc in 9 slices of 64 x 64. */
void ts_program_make_study(char *folder, size_t size);

/* True where the text is one JSON value (RFC 8259), blanks around it allowed. */
bool ts_test_is_json(const char *text, size_t length);

#endif
