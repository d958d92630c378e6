/* SPDX-License-Identifier: Apache-2.0
 *
 * Non-local means by their definition: every pair of patches is compared pixel by pixel, in double.
 */
#ifndef TESTS_STAGES_DENOISING_NLM_ORACLE_H
#define TESTS_STAGES_DENOISING_NLM_ORACLE_H

#include "tests/support/oracles.h"

void ts_nlm_oracle(const struct stage_context *context, const double *in, double *out);
void ts_nlm_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                          struct bench_tables *tables);

#endif
