/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of fourier: every frequency of every view at every pixel, in double.
 */
#ifndef TESTS_STAGES_RECONSTRUCTION_FOURIER_ORACLE_H
#define TESTS_STAGES_RECONSTRUCTION_FOURIER_ORACLE_H

#include "tests/support/oracles.h"

void ts_fourier_oracle(const struct stage_context *context, const double *in, double *out);

#endif
