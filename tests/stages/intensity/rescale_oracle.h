/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_RESCALE_ORACLE_H
#define TESTS_STAGES_INTENSITY_RESCALE_ORACLE_H

#include "tests/support/oracles.h"

#include <stdbool.h>

/* skimage.exposure.rescale_intensity of one value. */
double ts_rescale_value_oracle(double x, double low, double high, double out_low, double out_high,
                               bool clip);

/* The whole stage, for the comparison loop: the image as doubles to the result as doubles. */
void ts_rescale_oracle(const struct stage_context *context, const double *in, double *out);
/* The numbers that the image was scaled by: those of its data. */
void ts_rescale_oracle_tables(const struct stage_context *context, const double *in,
                              const double *out, struct bench_tables *tables);

#endif
