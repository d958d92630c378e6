/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/filters/outliers_oracle.h"

#include <stdlib.h>

#include "stages/filters/outliers.h"
#include "tests/stages/values/border_oracle.h"
#include "tests/stages/values/middle_oracle.h"

static double median_around(const struct stage_context *context, const double *in,
                            const int64_t at[3], double *window)
{
    const struct outliers_params *params = context->params;
    const int64_t half = params->size / 2;
    int64_t n[3], count = 0;
    for (int i = 0; i < 3; i++)
        n[i] = context->in.axes[i].n;
    for (int64_t row = -half; row <= half; row++)
        for (int64_t column = -half; column <= half; column++) {
            int64_t from[3] = {at[0], at[1],
                               ts_border_oracle(at[2] + column, n[2], BORDER_REFLECT)};
            const int axis = params->plane == OUTLIERS_PROJECTION ? 0 : 1;
            from[axis] = ts_border_oracle(at[axis] + row, n[axis], BORDER_REFLECT);
            window[count++] = in[(from[0] * n[1] + from[1]) * n[2] + from[2]];
        }
    return ts_middle_oracle(window, count);
}

/* replaced: of each slice, zeros at first; or NULL. */
static void replace(const struct stage_context *context, const double *in, double *out,
                    double *replaced)
{
    const struct outliers_params *params = context->params;
    double *window = malloc((size_t)(params->size * params->size) * sizeof *window);
    size_t i = 0;
    int64_t at[3];
    for (at[0] = 0; at[0] < context->in.axes[0].n; at[0]++)
        for (at[1] = 0; at[1] < context->in.axes[1].n; at[1]++)
            for (at[2] = 0; at[2] < context->in.axes[2].n; at[2]++, i++) {
                const double median = median_around(context, in, at, window),
                             above = in[i] - median;
                const bool bright = (params->kind & OUTLIERS_BRIGHT) && above >= params->threshold;
                const bool dark = (params->kind & OUTLIERS_DARK) && -above >= params->threshold;
                if (out)
                    out[i] = bright || dark ? median : in[i];
                if (replaced)
                    replaced[at[0]] += bright || dark;
            }
    free(window);
}

void ts_outliers_oracle(const struct stage_context *context, const double *in, double *out)
{
    replace(context, in, out, NULL);
}

void ts_outliers_oracle_tables(const struct stage_context *context, const double *in,
                               const double *out, struct bench_tables *tables)
{
    (void)out;
    replace(context, in, NULL, ts_bench_table(tables, "replaced"));
}
