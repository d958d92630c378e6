/* SPDX-License-Identifier: Apache-2.0
 *
 * This starts the program tomostage from a program of this project, with posix_spawn, which does
 * not copy this process.
 */
#ifndef PROGRAM_BATCH_PROCESS_H
#define PROGRAM_BATCH_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* Writes the path of tomostage: it stands beside this program, or, for the programs of tests, a
 * folder above it. */
bool ts_process_find(char path[PATH_MAX]);
/* Starts the program of that path with the arguments, of which the first is its name and NULL the
 * end. It reads nothing and prints to nobody; its errors go to the descriptor `errors`, and it
 * inherits the descriptor `kept` (-1: none). It is no rank of MPI. Signals that this process
 * catches or holds have their usual effect there, ignored ones stay ignored. Returns 0 or an
 * errno. */
int ts_process_start(const char *path, char *const *arguments, int errors, int kept, pid_t *pid);

#endif
