/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_INVERT_ORACLE_H
#define TESTS_STAGES_INTENSITY_INVERT_ORACLE_H

#include "tests/support/oracles.h"

#include "core/image.h"

/* skimage.util.invert of one value of this type. */
double ts_invert_value_oracle(double x, enum ts_dtype dtype);

/* The whole stage, for the comparison loop: the image as doubles to the result as doubles. */
void ts_invert_oracle(const struct stage_context *context, const double *in, double *out);
/* The smallest and the largest value. */
void ts_invert_oracle_tables(const struct stage_context *context, const double *in,
                             const double *out, struct bench_tables *tables);

#endif
