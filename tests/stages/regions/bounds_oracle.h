/* SPDX-License-Identifier: Apache-2.0
 *
 * The box of a region by its definition: every pixel of it is looked at.
 */
#ifndef TESTS_STAGES_REGIONS_BOUNDS_ORACLE_H
#define TESTS_STAGES_REGIONS_BOUNDS_ORACLE_H

#include "tests/support/oracles.h"

/* Writes count, and the box [first, end) along z, y and x, all 0 where no pixel belongs to the
 * region. mask NULL: none. */
void ts_bounds_oracle_box(const struct stage_context *context, const struct ts_image *image,
                          const struct ts_image *mask, uint64_t *count, int64_t first[3],
                          int64_t end[3]);
/* All tables, for the benchmark. */
void ts_bounds_oracle_results(const struct stage_context *context,
                              const struct ts_image inputs[STAGE_INPUTS], double *out,
                              struct bench_tables *tables);

#endif
