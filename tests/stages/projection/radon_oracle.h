/* SPDX-License-Identifier: Apache-2.0
 *
 * The naive oracle of radon: Joseph's method from its definition, in double.
 */
#ifndef TESTS_STAGES_PROJECTION_RADON_ORACLE_H
#define TESTS_STAGES_PROJECTION_RADON_ORACLE_H

#include "tests/support/oracles.h"

void ts_radon_oracle(const struct stage_context *context, const double *in, double *out);

#endif
