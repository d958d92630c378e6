/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/scan/flip_oracle.h"

void ts_flip_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t n = (size_t)context->in.axes[2].n, all = ts_image_count(&context->in);
    for (size_t i = 0; i < all; i++)
        out[i / n * n + (n - 1 - i % n)] = in[i];
}
