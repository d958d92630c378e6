/* SPDX-License-Identifier: Apache-2.0
 *
 * Locks a sandboxed child by limits, seccomp and Landlock. io/sandbox/sandbox.c calls the first
 * function.
 */
#ifndef IO_SANDBOX_SANDBOX_LOCK_H
#define IO_SANDBOX_SANDBOX_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* It has no padding, which would be sent to the child with what was in memory before. */
struct sandbox_limits {
    size_t address_bytes; /* addresses beyond those of a fresh child; no limit under sanitizers */
    int64_t cpu_seconds;  /* processor time of its whole life */
};

/* Sets the limits of this process, drops capabilities, denies the file system and the network, and
   filters its system calls, for good. It can then talk only on `channel`. Returns false with errno
   if the kernel refuses one of these although it has it. */
bool ts_sandbox_lock(const struct sandbox_limits *limits, int channel);
/* Returns true if memory ran out because the machine, or a limit with which this process was
   started, has none left; false if it was the limit that ts_sandbox_lock set, which no sound file
   reaches. */
bool ts_sandbox_lacks_memory(void);
/* Returns true if valgrind or a sanitizer runs this process, which is then not filtered. */
bool ts_sandbox_is_instrumented(void);
/* Returns the ABI version of Landlock; 0 if the kernel has none. */
int ts_sandbox_landlock(void);
/* Returns true if the kernel filters system calls. */
bool ts_sandbox_has_seccomp(void);

#endif
