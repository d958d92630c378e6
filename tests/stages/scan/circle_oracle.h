/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_CIRCLE_ORACLE_H
#define TESTS_STAGES_SCAN_CIRCLE_ORACLE_H

#include "tests/support/oracles.h"

/* Every pixel by its distance in mm from the middle of the slice. */
void ts_circle_oracle(const struct stage_context *context, const double *in, double *out);

#endif
