/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of cgls.
 */
#ifndef TESTS_STAGES_RECONSTRUCTION_CGLS_ORACLE_H
#define TESTS_STAGES_RECONSTRUCTION_CGLS_ORACLE_H

#include "tests/support/oracles.h"

void ts_cgls_oracle(const struct stage_context *context, const double *in, double *out);
/* The residual with which each iteration began, that of the image at the end, and how many
 * iterations there were. */
void ts_cgls_oracle_tables(const struct stage_context *context, const double *in, const double *out,
                           struct bench_tables *tables);

#endif
