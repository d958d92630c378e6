/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_OUTLIERS_REFERENCE_H
#define TESTS_OUTLIERS_REFERENCE_H

#include "pipeline/bench.h"

/* Every window sorted. */
void ts_outliers_reference(const struct stage_context *context, const double *in, double *out);
/* How many values of each slice were replaced. */
void ts_outliers_reference_tables(const struct stage_context *context, const double *in, const double *out,
                                  struct bench_tables *tables);

#endif
