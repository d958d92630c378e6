/* SPDX-License-Identifier: Apache-2.0
 *
 * Total-variation denoising in double over the whole image, one array for every quantity of the
 * published iterations.
 */
#ifndef TESTS_STAGES_DENOISING_TV_ORACLE_H
#define TESTS_STAGES_DENOISING_TV_ORACLE_H

#include "tests/support/oracles.h"

void ts_tv_oracle(const struct stage_context *context, const double *in, double *out);
/* Returns 1/2 ||u - f||^2 + weight * sum |grad u| over nz planes. */
double ts_tv_energy(const double *u, const double *f, double weight, int64_t nz, int64_t ny,
                    int64_t nx);

#endif
