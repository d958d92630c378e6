/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_FILTERS_OUTLIERS_ORACLE_H
#define TESTS_STAGES_FILTERS_OUTLIERS_ORACLE_H

#include "tests/support/oracles.h"

/* Every window sorted. */
void ts_outliers_oracle(const struct stage_context *context, const double *in, double *out);
/* Counts how many values of each slice were replaced. */
void ts_outliers_oracle_tables(const struct stage_context *context, const double *in,
                               const double *out, struct bench_tables *tables);

#endif
