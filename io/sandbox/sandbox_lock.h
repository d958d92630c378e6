/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions lock a sandboxed child by limits, seccomp and Landlock. io/sandbox/sandbox.c
 * calls the first of them.
 */
#ifndef IO_SANDBOX_SANDBOX_LOCK_H
#define IO_SANDBOX_SANDBOX_LOCK_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox_limits {
    size_t address_bytes; /* addresses beyond those of a fresh child; no limit under sanitizers */
    int cpu_seconds;      /* processor time of its whole life */
};

/* Sets the limits of this process, drops capabilities, the file system and the network and filters
 * its system calls, for good; it may talk on `channel` alone. False with errno where the kernel
 * refuses one of them that it has. */
bool ts_sandbox_lock(const struct sandbox_limits *limits, int channel);
/* Returns true where memory failed because the machine, or a limit that this process was started
 * with, has none left; false where it was the limit that ts_sandbox_lock set, which no sound file
 * reaches. */
bool ts_sandbox_lacks_memory(void);
/* Returns true where valgrind or a sanitizer runs this process, which then stays unfiltered. */
bool ts_sandbox_is_instrumented(void);
/* Returns the ABI version of Landlock, 0 where the kernel has none. */
int ts_sandbox_landlock(void);
/* Returns true where the kernel filters system calls. */
bool ts_sandbox_has_seccomp(void);

#endif
