/* SPDX-License-Identifier: Apache-2.0
 *
 * The locks of a sandboxed child: limits, seccomp and Landlock. io/sandbox/sandbox.c alone calls them.
 */
#ifndef IO_SANDBOX_SANDBOX_LOCK_H
#define IO_SANDBOX_SANDBOX_LOCK_H

#include <stdbool.h>
#include <stddef.h>

struct sandbox_limits {
    size_t address_bytes; /* addresses beyond those of a fresh child; no limit under sanitizers */
    int cpu_seconds;      /* processor time of its whole life */
};

/* Sets the limits of this process, drops capabilities, the file system and the network and filters its system calls,
 * for good; it may talk on `channel` alone. False with errno where the kernel refuses one of them that it has.
 */
bool ts_sandbox_lock(const struct sandbox_limits *limits, int channel);
/* Whether a debugger's tool (valgrind, a sanitizer) runs this process, which then stays unfiltered. */
bool ts_sandbox_is_instrumented(void);
/* ABI version of Landlock, 0 where the kernel has none. */
int ts_sandbox_landlock(void);
/* Whether the kernel filters system calls. */
bool ts_sandbox_has_seccomp(void);

#endif
