/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/scan/minus_log_oracle.h"

#include <math.h>

#include "stages/scan/minus_log.h"

void ts_minus_log_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct minus_log_params *params = context->params;
    for (size_t i = 0; i < ts_image_count(&context->in); i++) {
        const double lowest = (double)(float)params->floor;
        if (!isfinite(in[i]))
            out[i] = (double)NAN;
        else if (params->nonpositive == MINUS_LOG_FLOOR && in[i] < lowest)
            out[i] = -log(lowest);
        else
            out[i] = in[i] > 0 ? -log(in[i]) : (double)NAN;
    }
}

void ts_minus_log_oracle_tables(const struct stage_context *context, const double *in,
                                const double *out, struct bench_tables *tables)
{
    const double lowest = (double)(float)((const struct minus_log_params *)context->params)->floor;
    double *floored = ts_bench_table(tables, "floored"),
           *nonpositive = ts_bench_table(tables, "nonpositive");
    double *nonfinite = ts_bench_table(tables, "nonfinite");
    const size_t slice = ts_slice_count(&context->in);
    (void)out;
    for (size_t i = 0; i < ts_image_count(&context->in); i++) {
        if (floored)
            floored[i / slice] += isfinite(in[i]) && in[i] < lowest;
        if (nonpositive)
            nonpositive[i / slice] += in[i] <= 0 && isfinite(in[i]);
        if (nonfinite)
            nonfinite[i / slice] += !isfinite(in[i]);
    }
}
