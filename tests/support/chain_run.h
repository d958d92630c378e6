/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains as texts that run from their files to their output, on the device of the test.
 */
#ifndef TESTS_SUPPORT_CHAIN_RUN_H
#define TESTS_SUPPORT_CHAIN_RUN_H

#include "include/tomostage.h"

/* Paths are relative to `folder`. Runs the chain; records go to `diag`. */
enum ts_status ts_test_chain(const char *text, const char *folder, struct ts_diag *diag);
/* The same; fails the test, with what was said, where the run does not end well. */
void ts_test_chain_runs(const char *text, const char *folder);
/* Fails unless the run ends in this status, with this code among the errors, and the folder holds
 * what it held. */
void ts_test_chain_refused(const char *text, const char *folder, enum ts_status status,
                           const char *code);

/* The chain's text up to and with `stages:` for the scan of a tooth in Data Exchange, with its
 * flats and darks; its first stage is flat_field. */
void ts_test_tooth_chain(char *text, size_t size);

#endif
