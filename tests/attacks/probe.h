/* SPDX-License-Identifier: Apache-2.0
 *
 * The two parts of the library `probe` share this: what is tried and where it is reported
 * (tests/attacks/probe.c).
 */
#ifndef TESTS_ATTACKS_PROBE_H
#define TESTS_ATTACKS_PROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#pragma GCC visibility push(hidden) /* a preloaded library's names would replace those of others   \
                                     */

struct probe_report {
    atomic_int begun;     /* children that began the attempt */
    atomic_int refused;   /* children whose attempt came back with an error */
    atomic_int succeeded; /* children whose attempt came back with success */
};

enum { MAX_INPUTS = 64 };

struct probe {
    struct probe_report *report;
    volatile char *first_process; /* a page that holds 1 in the process that was started, and 0 in
                                     its children */
    const char *attempt, *victim;
    struct stat inputs[MAX_INPUTS], secret;
    int n_inputs;
    pid_t parent;
};
extern struct probe probe;

struct attempt {
    const char *name; /* NULL ends the table */
    bool (*attempt)(void);
};
extern const struct attempt attempts[];

/* Returns true where a file of the folder PROBE_INPUT is open as this descriptor. It makes no
 * system call but fstat. */
bool is_input(int fd);

#pragma GCC visibility pop

#endif
