/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_MINUS_LOG_REFERENCE_H
#define TESTS_MINUS_LOG_REFERENCE_H

#include "pipeline/bench.h"

/* The double logarithm of every transmission, and the rules for what has none. */
void ts_minus_log_reference(const struct stage_context *context, const double *in, double *out);
/* How many values of each slice have no logarithm, of each kind. */
void ts_minus_log_reference_tables(const struct stage_context *context, const double *in, const double *out,
                                   struct bench_tables *tables);

#endif
