/* SPDX-License-Identifier: Apache-2.0
 *
 * This asks the system what it can still give to this process: memory without swapping, and
 * processors. Control groups and the job of a Slurm step limit both to less than the machine has.
 */
#ifndef CORE_AVAILABLE_H
#define CORE_AVAILABLE_H

#include <stdint.h>

/* Returns the free memory in bytes, or 0 where the system does not report it. */
int64_t ts_memory_available(void);

/* Return what the control groups (versions 1 and 2) of a process leave of their limits, caches
 * counted as free; and the memory of this machine that Slurm gave to the job. INT64_MAX: no limit.
 * Files are read below `root`, "" for those of this system. */
int64_t ts_memory_of_groups(const char *root);
int64_t ts_memory_of_job(void);

/* Returns how many processors this process may use: those of its affinity, no more than its control
 * groups give it time for, and no more than Slurm gave to the task, which need not be bound to
 * them. */
int ts_processors(void);
/* Returns the time that the control groups of a process (versions 1 and 2) leave it, in processors,
 * rounded up; INT_MAX: no limit. `root` is as above. */
int ts_processors_of_groups(const char *root);
/* Writes the affinity as a set of bits; and counts the processors of a set, but no more than the
 * control groups give time for. So several processes of a machine find what they have together. */
enum { AVAILABLE_SET_BYTES = 2048 };
void ts_processors_set(unsigned char set[AVAILABLE_SET_BYTES]);
int ts_processors_of_set(const unsigned char set[AVAILABLE_SET_BYTES]);

#endif
