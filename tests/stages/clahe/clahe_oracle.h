/* SPDX-License-Identifier: Apache-2.0
 *
 * CLAHE by the two tools' rules, one pixel after the other: its four tiles' histograms are made,
 * cut and summed as described, remembered per tile.
 */
#ifndef TESTS_STAGES_CLAHE_CLAHE_ORACLE_H
#define TESTS_STAGES_CLAHE_CLAHE_ORACLE_H

#include "tests/support/oracles.h"

void ts_clahe_oracle(const struct stage_context *context, const double *in, double *out);
/* Does the same with the pixels alone whose valid[i] is true: a tile without any has the table of
 * the nearest one that has some, and invalid pixels become 0. */
void ts_clahe_masked_oracle(const struct stage_context *context, const double *in,
                            const bool *valid, double *out);

#endif
