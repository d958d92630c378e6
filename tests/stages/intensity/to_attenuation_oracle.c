/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/intensity/to_attenuation_oracle.h"

#include "stages/intensity/to_attenuation.h"

void ts_to_attenuation_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct to_attenuation_params *params = context->params;
    for (size_t i = 0; i < ts_image_count(&context->in); i++)
        out[i] = in[i] < -1000 && params->negative == NEGATIVE_ZERO
                     ? 0
                     : params->water + params->water * in[i] / 1000;
}

void ts_to_attenuation_oracle_tables(const struct stage_context *context, const double *in,
                                     const double *out, struct bench_tables *tables)
{
    double *negative = ts_bench_table(tables, "negative");
    (void)out;
    for (size_t i = 0; negative && i < ts_image_count(&context->in); i++)
        negative[i / ts_slice_count(&context->in)] += in[i] < -1000;
}
