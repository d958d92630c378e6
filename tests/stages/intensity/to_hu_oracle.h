/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STAGES_INTENSITY_TO_HU_ORACLE_H
#define TESTS_STAGES_INTENSITY_TO_HU_ORACLE_H

#include "tests/support/oracles.h"

/* Hounsfield's scale: a straight line through (0, -1000) and (water, 0). */
void ts_to_hu_oracle(const struct stage_context *context, const double *in, double *out);

#endif
