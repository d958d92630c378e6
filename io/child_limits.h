/* SPDX-License-Identifier: Apache-2.0
 *
 * What a forked child that handles untrusted bytes gives up before it begins.
 */
#ifndef IO_CHILD_LIMITS_H
#define IO_CHILD_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

/* Default actions in place of the parent's handlers; what the terminal and a user send is ignored: a Ctrl-C reaches the
 * whole process group, and it is the parent that decides when work ends. */
void ts_child_signals(void);
/* Both limits of a resource down to `value`. */
bool ts_child_limit(int resource, rlim_t value);
/* So many bytes of addresses beyond those that are in use; nothing under sanitizers, whose shadow memory takes
 * terabytes. */
bool ts_child_limit_addresses(size_t more);

#endif
