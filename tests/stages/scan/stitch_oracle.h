/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of stitch.
 */
#ifndef TESTS_STAGES_SCAN_STITCH_ORACLE_H
#define TESTS_STAGES_SCAN_STITCH_ORACLE_H

#include "tests/support/oracles.h"

void ts_stitch_oracle(const struct stage_context *context, const double *in, double *out);

#endif
