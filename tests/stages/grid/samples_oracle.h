/* SPDX-License-Identifier: Apache-2.0
 *
 * The definition of interpolation on another grid, in double: every voxel of the output is placed
 * in the patient, from there in the input by solving three equations, and its value is a sum over
 * all samples of the input with the weights of a kernel of the distance. Integers are saturated.
 */
#ifndef TESTS_STAGES_GRID_SAMPLES_ORACLE_H
#define TESTS_STAGES_GRID_SAMPLES_ORACLE_H

#include "stages/grid/samples.h"
#include "tests/support/oracles.h"

/* Fills `out`, on the grid that context->out describes. Integers are not rounded: a result that is
 * rounded rightly is at most 1/2 from them, which tests can ask for where a sum in float may fall
 * on the other side of a half. */
void ts_samples_oracle(const struct stage_context *context, enum interpolation interpolation,
                       double outside, const double *in, double *out);
/* The same with the parameters of the stage. */
void ts_resample_unrounded(const struct stage_context *context, const double *in, double *out);
/* The same, rounded. */
void ts_resample_oracle(const struct stage_context *context, const double *in, double *out);

/* The same two for unshear. */
void ts_unshear_unrounded(const struct stage_context *context, const double *in, double *out);
void ts_unshear_oracle(const struct stage_context *context, const double *in, double *out);

#endif
