/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/scan/pad_oracle.h"

#include "stages/scan/pad.h"
#include "tests/stages/values/border_oracle.h"

void ts_pad_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct pad_params *params = context->params;
    const int64_t n = context->in.axes[2].n, n_out = n + params->left + params->right;
    const int64_t n_rows = context->in.axes[0].n * context->in.axes[1].n;
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t d = 0; d < n_out; d++) {
            const int64_t from =
                ts_border_oracle(d - params->left, n, (enum ts_border)params->border);
            out[row * n_out + d] = from < 0 ? params->constant : in[row * n + from];
        }
}
