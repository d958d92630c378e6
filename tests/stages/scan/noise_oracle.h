/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_NOISE_ORACLE_H
#define TESTS_STAGES_SCAN_NOISE_ORACLE_H

#include "tests/support/oracles.h"

/* The same samples by the C library's functions. */
void ts_noise_oracle(const struct stage_context *context, const double *in, double *out);
void ts_noise_oracle_tables(const struct stage_context *context, const double *in,
                            const double *out, struct bench_tables *tables);

#endif
