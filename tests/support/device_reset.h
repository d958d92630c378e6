/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA's context ends with the process: compute-sanitizer counts as leaked what is not freed by
 * then, and not otherwise.
 */
#ifndef TESTS_SUPPORT_DEVICE_RESET_H
#define TESTS_SUPPORT_DEVICE_RESET_H

/* Takes effect once a process, however often it is called. */
void ts_test_reset_device_at_exit(void);

#endif
