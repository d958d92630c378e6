/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/bounds_oracle.h"

#include <math.h>

#include "stages/regions/bounds.h"

/* Returns the value of a pixel, NaN where it is invalid. */
static double value_of(const struct ts_image *image, size_t i)
{
    const size_t slice = ts_slice_count(image), at = i % slice;
    const uint64_t *valid = ts_slice_valid(image, (int64_t)(i / slice));
    double value;
    ts_load_f64(&value, (const char *)image->data + i * ts_dtype_bytes(image->dtype), image->dtype,
                1);
    return image->masked && !(valid[at / 64] >> at % 64 & 1) ? (double)NAN : value;
}

void ts_bounds_oracle_box(const struct stage_context *context, const struct ts_image *image,
                          const struct ts_image *mask, uint64_t *count, int64_t first[3],
                          int64_t end[3])
{
    const struct bounds_params *params = context->params;
    const int64_t ny = image->axes[1].n, nx = image->axes[2].n;
    *count = 0;
    for (int axis = 0; axis < 3; axis++)
        first[axis] = end[axis] = 0;
    for (size_t i = 0; i < ts_image_count(image); i++) {
        const double value = value_of(image, i), chosen = mask ? value_of(mask, i) : 1;
        const int64_t at[3] = {(int64_t)i / (ny * nx), (int64_t)i / nx % ny, (int64_t)i % nx};
        const bool within = !isnan(value) && (isinf(params->above) || value > params->above) &&
                            (isinf(params->below) || value < params->below);
        if (!within || isnan(chosen) || chosen == 0)
            continue;
        for (int axis = 0; axis < 3; axis++) {
            first[axis] = *count == 0 || at[axis] < first[axis] ? at[axis] : first[axis];
            end[axis] = at[axis] + 1 > end[axis] ? at[axis] + 1 : end[axis];
        }
        ++*count;
    }
}

void ts_bounds_oracle_results(const struct stage_context *context,
                              const struct ts_image inputs[STAGE_INPUTS], double *out,
                              struct bench_tables *tables)
{
    uint64_t count;
    int64_t first[3], end[3];
    (void)out;
    ts_bounds_oracle_box(context, &inputs[0], inputs[1].data ? &inputs[1] : NULL, &count, first,
                         end);
    *ts_bench_table(tables, "count") = (double)count;
    for (int axis = 0; axis < 3; axis++) {
        ts_bench_table(tables, "first")[axis] = (double)first[axis];
        ts_bench_table(tables, "end")[axis] = (double)end[axis];
    }
}
