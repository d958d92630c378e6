/* SPDX-License-Identifier: Apache-2.0
 *
 * A mask by its definition, pixel by pixel in double.
 */
#ifndef TESTS_STAGES_REGIONS_APPLY_MASK_ORACLE_H
#define TESTS_STAGES_REGIONS_APPLY_MASK_ORACLE_H

#include "tests/support/oracles.h"

/* The image, for the benchmark and the tests; inputs[1] is the mask. */
void ts_apply_mask_oracle_results(const struct stage_context *context,
                                  const struct ts_image inputs[STAGE_INPUTS], double *out,
                                  struct bench_tables *tables);

#endif
