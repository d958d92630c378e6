/* SPDX-License-Identifier: Apache-2.0
 *
 * The definition: a line is fitted by least squares to two points, each the place and the mean of
 * the outer detectors on one side. All in extended precision.
 */
#include "tests/stages/scan/air_oracle.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "stages/scan/air.h"

static void row_oracle(const struct ts_image *image, size_t first, int64_t detectors, double dark,
                       double *out, double *scale, uint64_t *blocked)
{
    const int64_t n = image->axes[2].n;
    long double place[2] = {0, 0}, mean[2] = {0, 0};
    for (int64_t d = 0; d < n; d++) {
        ts_load_f64(out + d,
                    (const char *)image->data + (first + (size_t)d) * ts_dtype_bytes(image->dtype),
                    image->dtype, 1);
        const int side = d < detectors ? 0 : d >= n - detectors ? 1 : -1;
        if (side >= 0) {
            place[side] += (long double)d / detectors;
            mean[side] += (long double)(out[d] - dark) / detectors;
        }
    }
    const long double middle = (place[0] + place[1]) / 2, half = (place[1] - place[0]) / 2,
                      level = (mean[0] + mean[1]) / 2, rise = (mean[1] - mean[0]) / 2 / half;
    bool lit = true;
    for (int64_t d = 0; d < n; d += n - 1)
        lit = lit && level + rise * (d - middle) > 0 && level + rise * (d - middle) <= FLT_MAX;
    *blocked += !lit;
    for (int64_t d = 0; d < n; d++) {
        const long double beam = level + rise * (d - middle), value = out[d];
        out[d] = lit ? (double)((value - dark) / beam) : (double)NAN;
        scale[d] = lit ? (double)((fabsl(value) + fabsl((long double)dark)) / beam) : (double)NAN;
    }
}

void ts_air_oracle_lines(const struct ts_image *image, int64_t detectors, double dark, double *out,
                         double *scale, uint64_t *blocked)
{
    const int64_t nz = image->axes[0].n, n_views = image->axes[1].n, n = image->axes[2].n;
    for (int64_t z = 0; z < nz; z++) {
        blocked[z] = 0;
        for (int64_t view = 0; view < n_views; view++) {
            const size_t first = (size_t)((z * n_views + view) * n);
            row_oracle(image, first, detectors, dark, out + first, scale + first, &blocked[z]);
        }
    }
}

void ts_air_oracle_results(const struct stage_context *context,
                           const struct ts_image inputs[STAGE_INPUTS], double *out,
                           struct bench_tables *tables)
{
    const struct air_params *params = context->params;
    const size_t nz = (size_t)inputs[0].axes[0].n;
    double *scale = malloc(ts_image_count(&inputs[0]) * sizeof *scale),
           *counts = ts_bench_table(tables, "blocked");
    uint64_t *blocked = malloc(nz * sizeof *blocked);
    ts_air_oracle_lines(&inputs[0], params->detectors, params->dark, out, scale, blocked);
    for (size_t z = 0; z < nz; z++)
        counts[z] = (double)blocked[z];
    free(scale);
    free(blocked);
}
