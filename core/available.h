/* SPDX-License-Identifier: Apache-2.0
 *
 * This asks the system what it can still give to this process: memory without swapping, and
 * processors. Control groups and Slurm can limit both to less than the machine has.
 */
#ifndef CORE_AVAILABLE_H
#define CORE_AVAILABLE_H

#include <stdint.h>

/* Returns the free memory in bytes, or 0 if the system does not report it. */
int64_t ts_memory_available(void);

/* Returns memory in MiB. */
static inline double ts_mib(double bytes)
{
    return bytes / 1048576.0;
}

/* Return the bytes that the control groups (versions 1 and 2) of this process leave of their
 * limits, with caches counted as free, and the bytes of this machine that Slurm gave to the job.
 * INT64_MAX means no limit. Files are read below `root`, which is "" for this system. */
int64_t ts_memory_of_groups(const char *root);
int64_t ts_memory_of_job(void);

/* Returns how many processors this process may use: the smallest of its affinity, the time that its
 * control groups give it, and what Slurm gave to the task (which need not be bound to them). */
int ts_processors(void);
/* Returns the processor time that the control groups (versions 1 and 2) of this process leave it,
 * as a number of processors, rounded up; INT_MAX means no limit. `root` is as above. */
int ts_processors_of_groups(const char *root);
/* The first writes the affinity as a set of bits. The second counts the processors of a set, but at
 * most those that the control groups give time for. Several processes of a machine use both to find
 * what they have together. */
enum { AVAILABLE_SET_BYTES = 2048 };
void ts_processors_set(unsigned char set[AVAILABLE_SET_BYTES]);
int ts_processors_of_set(const unsigned char set[AVAILABLE_SET_BYTES]);

#endif
