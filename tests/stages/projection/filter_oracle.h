/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of filter: each row convolved with the filter's kernel, in double.
 */
#ifndef TESTS_STAGES_PROJECTION_FILTER_ORACLE_H
#define TESTS_STAGES_PROJECTION_FILTER_ORACLE_H

#include "tests/support/oracles.h"

void ts_filter_oracle(const struct stage_context *context, const double *in, double *out);
/* n_rows rows of n samples at this spacing; name and cutoff as the stage's parameters. */
void ts_filter_rows_oracle(int name, double cutoff, double spacing, const double *in,
                           int64_t n_rows, int64_t n, double *out);

#endif
