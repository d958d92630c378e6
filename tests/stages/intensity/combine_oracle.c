/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/intensity/combine_oracle.h"

#include <math.h>
#include <string.h>

static double value_at(const struct ts_image *image, int64_t z, int64_t pixel)
{
    double value;
    const int64_t i = z * image->axes[1].n * image->axes[2].n + pixel;
    ts_load_f64(&value, (const char *)image->data + (size_t)i * ts_dtype_bytes(image->dtype),
                image->dtype, 1);
    return value;
}

static bool measured(const struct ts_image *image, int64_t z, int64_t pixel)
{
    const int64_t words = (image->axes[1].n * image->axes[2].n + 63) / 64;
    return !image->valid || (image->valid[z * words + pixel / 64] & (uint64_t)1 << pixel % 64);
}

enum combine_fate ts_combine_oracle_fate(const struct stage_context *context,
                                         const struct ts_image inputs[STAGE_INPUTS], int64_t z,
                                         int64_t pixel)
{
    const char *op = ts_param_choice_name(context->set, "op");
    if (inputs[2].data) {
        const double chosen = value_at(&inputs[2], z, pixel);
        if (chosen == 0 || isnan(chosen) || !measured(&inputs[2], z, pixel))
            return FATE_STAYS;
    }
    if (!measured(&inputs[0], z, pixel) || !measured(&inputs[1], z, pixel))
        return FATE_UNMEASURED;
    return !strcmp(op, "divide") && value_at(&inputs[1], z, pixel) == 0 ? FATE_DIVIDED
                                                                        : FATE_COMBINED;
}

static double computed(const char *op, double a, double b)
{
    if (!strcmp(op, "add"))
        return a + b;
    if (!strcmp(op, "subtract"))
        return a - b;
    if (!strcmp(op, "multiply"))
        return a * b;
    if (!strcmp(op, "divide"))
        return a / b;
    if (!strcmp(op, "mean"))
        return (a + b) / 2;
    if (isnan(a) || isnan(b))
        return (double)NAN;
    return !strcmp(op, "maximum") ? fmax(a, b) : fmin(a, b);
}

void ts_combine_oracle_results(const struct stage_context *context,
                               const struct ts_image inputs[STAGE_INPUTS], double *out,
                               struct bench_tables *tables)
{
    const char *op = ts_param_choice_name(context->set, "op");
    const int64_t n = inputs[0].axes[1].n * inputs[0].axes[2].n;
    double *divided =
        tables && !strcmp(op, "divide") ? ts_bench_table(tables, "divided_by_zero") : NULL;
    for (int64_t z = 0; z < inputs[0].axes[0].n; z++)
        for (int64_t pixel = 0; pixel < n; pixel++) {
            const enum combine_fate fate = ts_combine_oracle_fate(context, inputs, z, pixel);
            const double a = value_at(&inputs[0], z, pixel), b = value_at(&inputs[1], z, pixel);
            double *to = &out[z * n + pixel];
            *to = fate == FATE_COMBINED ? computed(op, a, b) : fate == FATE_DIVIDED ? 0 : a;
            if (divided)
                divided[z] += fate == FATE_DIVIDED;
        }
}
