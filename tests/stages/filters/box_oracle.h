/* SPDX-License-Identifier: Apache-2.0
 *
 * The mean over a window by its definition: every sample of every window, in double.
 */
#ifndef TESTS_STAGES_FILTERS_BOX_ORACLE_H
#define TESTS_STAGES_FILTERS_BOX_ORACLE_H

#include "tests/support/oracles.h"

void ts_box_oracle(const struct stage_context *context, const double *in, double *out);

#endif
