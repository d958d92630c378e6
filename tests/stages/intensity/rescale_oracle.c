/* SPDX-License-Identifier: Apache-2.0
 *
 * One value to a range, as scikit-image states it. An empty range sends its one value to out_low.
 */
#include "tests/stages/intensity/rescale_oracle.h"

#include <math.h>

#include "stages/intensity/rescale.h"
#include "stages/values/scope.h"
#include "stages/values/value_range.h"
#include "tests/stages/histogram/statistics_oracle.h"

double ts_rescale_value_oracle(double x, double low, double high, double out_low, double out_high,
                               bool clip)
{
    if (clip && x > high)
        x = high;
    if (clip && x < low)
        x = low;
    const double share = high > low ? (x - low) / (high - low) : x - low;
    return share * (out_high - out_low) + out_low;
}

/* These values become out_low and out_high; or they are the mean and the standard deviation. */
struct numbers {
    double low, high;
};

static struct numbers numbers_of(const struct stage_context *context, const double *in, size_t n)
{
    const struct rescale_params *params = context->params;
    struct statistics_oracle found;
    struct numbers numbers;
    ts_statistics_oracle_samples(in, n, 0, &found);
    ts_dtype_range(context->in.dtype, &numbers.low, &numbers.high);
    if (params->method == RESCALE_Z_SCORE)
        numbers = (struct numbers){found.mean, sqrt(found.variance)};
    else if (params->method == RESCALE_PERCENTILES)
        numbers = (struct numbers){ts_percentile_oracle(in, n, params->low_percentile),
                                   ts_percentile_oracle(in, n, params->high_percentile)};
    else if (params->range.values)
        numbers = (struct numbers){params->range.values[0], params->range.values[1]};
    else if (params->limits == LIMITS_DATA)
        numbers = (struct numbers){found.min, found.max};
    return numbers;
}

static void rescale_part(const struct stage_context *context, const double *in, size_t n,
                         double *out)
{
    const struct rescale_params *params = context->params;
    const struct numbers numbers = numbers_of(context, in, n);
    double lowest, highest;
    ts_dtype_range(context->out.dtype, &lowest, &highest);
    for (size_t i = 0; i < n; i++) {
        double y = ts_rescale_value_oracle(in[i], numbers.low, numbers.high, params->out_low,
                                           params->out_high, params->clip);
        if (params->method == RESCALE_Z_SCORE)
            y = numbers.high > 0 ? (in[i] - numbers.low) / numbers.high : 0;
        out[i] = context->out.dtype == TS_F32 ? y : fmin(fmax(rint(y), lowest), highest);
    }
}

static size_t part_of(const struct stage_context *context)
{
    const bool slices = ((const struct rescale_params *)context->params)->scope == SCOPE_SLICE;
    return slices ? ts_slice_count(&context->in) : ts_image_count(&context->in);
}

void ts_rescale_oracle(const struct stage_context *context, const double *in, double *out)
{
    const size_t whole = ts_image_count(&context->in), n = part_of(context);
    for (size_t first = 0; first < whole; first += n)
        rescale_part(context, in + first, n, out + first);
}

void ts_rescale_oracle_tables(const struct stage_context *context, const double *in,
                              const double *out, struct bench_tables *tables)
{
    const bool z_score =
        ((const struct rescale_params *)context->params)->method == RESCALE_Z_SCORE;
    double *low = ts_bench_table(tables, z_score ? "mean" : "low"),
           *high = ts_bench_table(tables, z_score ? "standard_deviation" : "high");
    const size_t whole = ts_image_count(&context->in), n = part_of(context);
    (void)out;
    for (size_t i = 0; low && high && i < whole / n; i++) {
        const struct numbers numbers = numbers_of(context, in + i * n, n);
        low[i] = numbers.low;
        high[i] = numbers.high;
    }
}
