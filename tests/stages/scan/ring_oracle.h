/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_SCAN_RING_ORACLE_H
#define TESTS_STAGES_SCAN_RING_ORACLE_H

#include "tests/support/oracles.h"

/* Sorted columns, sorted windows, every value back by its view. */
void ts_ring_oracle(const struct stage_context *context, const double *in, double *out);

#endif
