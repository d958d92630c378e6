/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracles of backproject: Joseph's projection with pixel and ray exchanged, and sums of
 * linear interpolations, in double.
 */
#ifndef TESTS_STAGES_PROJECTION_BACKPROJECT_ORACLE_H
#define TESTS_STAGES_PROJECTION_BACKPROJECT_ORACLE_H

#include "tests/support/oracles.h"

void ts_backproject_oracle(const struct stage_context *context, const double *in, double *out);

/* Adds one view of one slice, by linear interpolation, times the weight; s in mm from the rotation
 * axis. */
void ts_linear_view_oracle(const struct stage_context *context, const double *row, double degree,
                           double weight, double *slice);
/* Half the distance to the neighboring directions modulo 180 degrees, in radian. */
double ts_view_weight_oracle(const struct ts_axis *axis, int64_t view);
double ts_view_degree_oracle(const struct ts_axis *axis, int64_t view);

#endif
