/* SPDX-License-Identifier: Apache-2.0
 *
 * The bilateral filter by its definition, in double.
 */
#ifndef TESTS_STAGES_DENOISING_BILATERAL_ORACLE_H
#define TESTS_STAGES_DENOISING_BILATERAL_ORACLE_H

#include "tests/support/oracles.h"

void ts_bilateral_oracle(const struct stage_context *context, const double *in, double *out);

#endif
