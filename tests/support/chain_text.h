/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains as texts, for tests: files of a folder, and what parsing says about them.
 */
#ifndef TESTS_SUPPORT_CHAIN_TEXT_H
#define TESTS_SUPPORT_CHAIN_TEXT_H

#include "pipeline/chain/chain.h"

/* Returns the whole file, allocated and NUL-terminated, or NULL. */
char *ts_test_read(const char *path, size_t *length);
/* Lists the names in a folder that end in `ending`, sorted; the caller frees each and the list. */
size_t ts_test_names(const char *folder, const char *ending, char ***names);
/* Returns the errors of a diag, a line each, as the program prints them after the file's name:
 * "5:27: error: box.radius: ..." Allocated. */
char *ts_test_errors(const struct ts_diag *diag);
/* Parses a text as ts_chain_parse does, into a fresh diag that the caller destroys. */
enum ts_status ts_test_parse(const char *text, struct ts_chain **chain, struct ts_diag **diag);

#endif
