/* SPDX-License-Identifier: Apache-2.0
 *
 * N4 in double, as its papers state it: every sample with all control points near it, the sums of
 * Lee's approximation one by one, transforms as their definition says. Levels are not refined; each
 * keeps its own lattice, and the field is the sum of all.
 */
#ifndef TESTS_STAGES_INTENSITY_N4_ORACLE_H
#define TESTS_STAGES_INTENSITY_N4_ORACLE_H

#include "tests/support/oracles.h"

/* Corrects the image inputs[0] with the mask and the weights behind it. */
void ts_n4_oracle_results(const struct stage_context *context,
                          const struct ts_image inputs[STAGE_INPUTS], double *out,
                          struct bench_tables *tables);
/* The same of an image without a mask and weights. */
void ts_n4_oracle(const struct stage_context *context, const double *in, double *out);

#endif
