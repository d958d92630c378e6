/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_HISTOGRAM_COMPARE_ORACLE_H
#define TESTS_STAGES_HISTOGRAM_COMPARE_ORACLE_H

#include "tests/support/oracles.h"

/* Each window by itself: means first, then variances about them. */
void ts_compare_oracle_results(const struct stage_context *context,
                               const struct ts_image inputs[STAGE_INPUTS], double *out,
                               struct bench_tables *tables);

#endif
