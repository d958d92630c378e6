/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of an oracle that iterates slice by slice.
 */
#ifndef TESTS_STAGES_RECONSTRUCTION_ITERATE_TABLES_H
#define TESTS_STAGES_RECONSTRUCTION_ITERATE_TABLES_H

#include "stages/reconstruction/iterate.h"
#include "tests/support/oracles.h"

/* One slice: sinogram b to image x, and the residuals; returns the iterations that were made. */
typedef int64_t iterate_oracle(const struct stage_context *, const double *b, double *x,
                               double *residual);

/* `residual`, NaN after the last of a slice, and `iterations`. */
void ts_iterate_oracle_tables(const struct stage_context *context,
                              const struct iterate_params *params, iterate_oracle *iterate,
                              const double *in, struct bench_tables *tables);

#endif
