/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of rebin, for evenly spaced views that rise.
 */
#ifndef TESTS_STAGES_PROJECTION_REBIN_ORACLE_H
#define TESTS_STAGES_PROJECTION_REBIN_ORACLE_H

#include "tests/support/oracles.h"

void ts_rebin_oracle(const struct stage_context *context, const double *in, double *out);

#endif
