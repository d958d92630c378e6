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

/* Finds the path of tomostage: beside this program or, for test programs, one folder above. Returns
   false if it is not there. */
bool ts_process_find(char path[PATH_MAX]);
/* Starts the program at that path. `arguments` begin with its name and end with NULL. Its standard
   input and output are empty, its errors go to the descriptor `errors`, and it inherits the
   descriptor `kept` (-1: none). It is not a rank of MPI. Signals that this process catches or
   blocks have their usual effect there; ignored ones stay ignored. Returns 0 or an errno. */
int ts_process_start(const char *path, char *const *arguments, int errors, int kept, pid_t *pid);

#endif
