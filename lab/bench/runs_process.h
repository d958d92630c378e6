/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of the program as a user starts them, with what the system says of their time and
 * memory, and the plain writing of a file that their time is held against.
 */
#ifndef LAB_BENCH_RUNS_PROCESS_H
#define LAB_BENCH_RUNS_PROCESS_H

#include "core/diag.h"

struct runs_process {
    double seconds; /* counted by the clock, from the start to the end */
    double
        processor_seconds; /* sums up all threads and children, in the program and in the system */
    double memory_bytes;   /* the most that one of its processes held; never less than this process
                              did as it began */
};

/* Runs the program tomostage of this program's folder with these arguments (NULL ends them) and
 * waits for it. What it prints is thrown away; where it fails, the first line of its errors is in
 * the message (code runs-failed). Returns TS_STOPPED where a signal ended it. */
enum ts_status ts_runs_process(const char *const *arguments, struct runs_process *process,
                               struct ts_diag *diag);
/* Writes so many bytes to a new file in blocks of 4 MiB and syncs them, as `dd bs=4M conv=fsync`
 * does, and removes it. TS_RUN_FAILED (code not-written) where it cannot. */
enum ts_status ts_runs_write(const char *path, int64_t bytes, double *seconds,
                             struct ts_diag *diag);

/* From now on, SIGINT and the like end the process that runs and not this one, which
 * ts_runs_process reports: so that what was made can be removed. */
void ts_runs_signals_catch(void);
/* Ends this process by the signal that came, where one came. */
void ts_runs_signals_obey(void);

#endif
