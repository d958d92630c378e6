/* SPDX-License-Identifier: Apache-2.0
 *
 * The median of a window by its definition: all values of every window, sorted.
 */
#ifndef TESTS_STAGES_FILTERS_MEDIAN_ORACLE_H
#define TESTS_STAGES_FILTERS_MEDIAN_ORACLE_H

#include "tests/support/oracles.h"

void ts_median_oracle(const struct stage_context *context, const double *in, double *out);

#endif
