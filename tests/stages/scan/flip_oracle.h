/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_FLIP_ORACLE_H
#define TESTS_STAGES_SCAN_FLIP_ORACLE_H

#include "tests/support/oracles.h"

void ts_flip_oracle(const struct stage_context *context, const double *in, double *out);

#endif
