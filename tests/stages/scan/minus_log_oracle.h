/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_MINUS_LOG_ORACLE_H
#define TESTS_STAGES_SCAN_MINUS_LOG_ORACLE_H

#include "tests/support/oracles.h"

/* The double logarithm of every transmission, and the rules for what has none. */
void ts_minus_log_oracle(const struct stage_context *context, const double *in, double *out);
/* Counts how many values of each slice have no logarithm, of each kind. */
void ts_minus_log_oracle_tables(const struct stage_context *context, const double *in,
                                const double *out, struct bench_tables *tables);

#endif
