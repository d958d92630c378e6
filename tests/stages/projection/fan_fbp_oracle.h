/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of fbp for evenly spaced views of a fan; of an arc without a window.
 */
#ifndef TESTS_STAGES_PROJECTION_FAN_FBP_ORACLE_H
#define TESTS_STAGES_PROJECTION_FAN_FBP_ORACLE_H

#include "tests/support/oracles.h"

void ts_fan_fbp_oracle(const struct stage_context *context, const double *in, double *out);

#endif
