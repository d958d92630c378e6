/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/reconstruction/iterate_tables.h"

#include <math.h>
#include <stdlib.h>

void ts_iterate_oracle_tables(const struct stage_context *context,
                              const struct iterate_params *params, iterate_oracle *iterate,
                              const double *in, struct bench_tables *tables)
{
    double *residual = ts_bench_table(tables, "residual"),
           *iterations = ts_bench_table(tables, "iterations");
    const int64_t nz = context->in.axes[0].n, n = params->iterations + 1;
    double *x = malloc(ts_slice_count(&context->out) * sizeof *x);
    for (int64_t i = 0; i < nz * n; i++)
        residual[i] = (double)NAN;
    for (int64_t z = 0; z < nz; z++)
        iterations[z] = (double)iterate(context, in + (size_t)z * ts_slice_count(&context->in), x,
                                        residual + z * n);
    free(x);
}
