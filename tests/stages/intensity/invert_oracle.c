/* SPDX-License-Identifier: Apache-2.0
 *
 * skimage.util.invert: unsigned integers are taken from their maximum, signed ones from -1, floats
 * from 1.
 */
#include "tests/stages/intensity/invert_oracle.h"

#include <math.h>

#include "stages/intensity/invert.h"
#include "stages/values/scope.h"

double ts_invert_value_oracle(double x, enum ts_dtype dtype)
{
    switch (dtype) {
    case TS_U8:
        return 255 - x;
    case TS_U16:
        return 65535 - x;
    case TS_U32:
        return 4294967295.0 - x;
    case TS_F32:
        return 1 - x;
    default:
        return -1 - x;
    }
}

static void invert_part(const struct stage_context *context, const double *in, size_t n,
                        double *out)
{
    const struct invert_params *params = context->params;
    double lowest, highest, smallest = in[0], largest = in[0];
    ts_dtype_range(context->out.dtype, &lowest, &highest);
    for (size_t i = 0; i < n; i++) {
        smallest = fmin(smallest, in[i]);
        largest = fmax(largest, in[i]);
    }
    for (size_t i = 0; i < n; i++) {
        double y = ts_invert_value_oracle(in[i], context->in.dtype);
        if (params->range.values)
            y = params->range.values[0] + params->range.values[1] - in[i];
        else if (params->limits == INVERT_DATA)
            y = smallest + largest - in[i];
        out[i] = context->out.dtype == TS_F32 ? y : fmin(fmax(rint(y), lowest), highest);
    }
}

void ts_invert_oracle(const struct stage_context *context, const double *in, double *out)
{
    const bool slices = ((const struct invert_params *)context->params)->scope == SCOPE_SLICE;
    const size_t whole = ts_image_count(&context->in),
                 n = slices ? ts_slice_count(&context->in) : whole;
    for (size_t first = 0; first < whole; first += n)
        invert_part(context, in + first, n, out + first);
}

void ts_invert_oracle_tables(const struct stage_context *context, const double *in,
                             const double *out, struct bench_tables *tables)
{
    double *low = ts_bench_table(tables, "low"), *high = ts_bench_table(tables, "high");
    const bool slices = ((const struct invert_params *)context->params)->scope == SCOPE_SLICE;
    const size_t whole = ts_image_count(&context->in),
                 n = slices ? ts_slice_count(&context->in) : whole;
    (void)out;
    for (size_t i = 0; low && high && i < whole; i++) {
        low[i / n] = i % n ? fmin(low[i / n], in[i]) : in[i];
        high[i / n] = i % n ? fmax(high[i / n], in[i]) : in[i];
    }
}
