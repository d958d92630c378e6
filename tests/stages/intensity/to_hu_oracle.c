/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/intensity/to_hu_oracle.h"

#include "stages/intensity/to_hu.h"

void ts_to_hu_oracle(const struct stage_context *context, const double *in, double *out)
{
    const double per_mu = 1000 / ((const struct to_hu_params *)context->params)->water;
    for (size_t i = 0; i < ts_image_count(&context->in); i++)
        out[i] = per_mu * in[i] - 1000;
}
