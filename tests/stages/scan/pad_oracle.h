/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_PAD_ORACLE_H
#define TESTS_STAGES_SCAN_PAD_ORACLE_H

#include "tests/support/oracles.h"

/* Every detector of the result by the picture of its border rule. */
void ts_pad_oracle(const struct stage_context *context, const double *in, double *out);

#endif
