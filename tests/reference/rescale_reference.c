/* SPDX-License-Identifier: Apache-2.0
 *
 * One value to a range, as scikit-image states it. An empty range sends its one value to out_low.
 */
#include "tests/reference/rescale_reference.h"

#include <math.h>

#include "stages/common/limits.h"
#include "stages/common/scope.h"
#include "stages/rescale.h"
#include "tests/reference/statistics_reference.h"

double ts_rescale_value_reference(double x, double low, double high, double out_low, double out_high, bool clip)
{
    if (clip && x > high)
        x = high;
    if (clip && x < low)
        x = low;
    const double share = high > low ? (x - low) / (high - low) : x - low;
    return share * (out_high - out_low) + out_low;
}

static void rescale_part(const struct stage_context *context, const double *in, size_t n, double *out)
{
    const struct rescale_params *params = context->params;
    struct statistics_reference found;
    double low, high, lowest, highest;
    ts_statistics_reference(in, n, 0, &found);
    ts_dtype_range(context->in.dtype, &low, &high);
    ts_dtype_range(context->out.dtype, &lowest, &highest);
    if (params->method == RESCALE_PERCENTILES) {
        low = ts_percentile_reference(in, n, params->low_percentile);
        high = ts_percentile_reference(in, n, params->high_percentile);
    } else if (params->range.values) {
        low = params->range.values[0];
        high = params->range.values[1];
    } else if (params->limits == LIMITS_DATA) {
        low = found.min;
        high = found.max;
    }
    for (size_t i = 0; i < n; i++) {
        double y = ts_rescale_value_reference(in[i], low, high, params->out_low, params->out_high, params->clip);
        if (params->method == RESCALE_Z_SCORE)
            y = found.variance > 0 ? (in[i] - found.mean) / sqrt(found.variance) : 0;
        out[i] = context->out.dtype == TS_F32 ? y : fmin(fmax(rint(y), lowest), highest);
    }
}

void ts_rescale_reference(const struct stage_context *context, const double *in, double *out)
{
    const bool slices = ((const struct rescale_params *)context->params)->scope == SCOPE_SLICE;
    const size_t whole = ts_image_count(&context->in), n = slices ? ts_slice_count(&context->in) : whole;
    for (size_t first = 0; first < whole; first += n)
        rescale_part(context, in + first, n, out + first);
}
