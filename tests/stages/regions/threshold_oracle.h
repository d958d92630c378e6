/* SPDX-License-Identifier: Apache-2.0
 *
 * Thresholds by their definitions: Otsu's by the variance between the two classes of every possible
 * part, a percentile by sorting, and the comparison of each value with it, all in double.
 */
#ifndef TESTS_STAGES_REGIONS_THRESHOLD_ORACLE_H
#define TESTS_STAGES_REGIONS_THRESHOLD_ORACLE_H

#include "tests/support/oracles.h"

#include <stddef.h>

/* Returns the threshold that the stage finds among these values, of which those that are not finite
 * have no part. */
double ts_threshold_oracle_found(const struct stage_context *context, const double *values,
                                 size_t n);

/* The whole stage, for the comparison loop, and its table. */
void ts_threshold_oracle(const struct stage_context *context, const double *in, double *out);
void ts_threshold_oracle_tables(const struct stage_context *context, const double *in,
                                const double *out, struct bench_tables *tables);

#endif
