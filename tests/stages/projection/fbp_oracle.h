/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of fbp: rows convolved with the filter's kernel, then sums of linear
 * interpolations, in double.
 */
#ifndef TESTS_STAGES_PROJECTION_FBP_ORACLE_H
#define TESTS_STAGES_PROJECTION_FBP_ORACLE_H

#include "tests/support/oracles.h"

void ts_fbp_oracle(const struct stage_context *context, const double *in, double *out);

#endif
