/* SPDX-License-Identifier: Apache-2.0
 *
 * The definition, pixel by pixel: frames are sorted for their median, and each dead pixel looks at all others.
 */
#include "tests/stages/scan/flat_field_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/scan/flat_field.h"

static double value(const struct ts_image *image, int64_t z, int64_t view, int64_t d)
{
    double out;
    const size_t i = (size_t)((z * image->axes[1].n + view) * image->axes[2].n + d);
    ts_load_f64(&out, (const char *)image->data + i * ts_dtype_bytes(image->dtype), image->dtype, 1);
    return out;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double combined(const struct ts_image *frames, int64_t z, int64_t d, bool median)
{
    if (!frames)
        return 0;
    const int64_t n = frames->axes[1].n;
    double *values = malloc((size_t)n * sizeof *values), sum = 0;
    for (int64_t frame = 0; frame < n; frame++)
        sum += values[frame] = value(frames, z, frame, d);
    double out = sum / (double)n;
    bool any_nan = false;
    for (int64_t frame = 0; frame < n; frame++)
        any_nan |= isnan(values[frame]);
    if (median && !any_nan) {
        qsort(values, (size_t)n, sizeof *values, compare);
        out = (values[(n - 1) / 2] + values[n / 2]) / 2;
    }
    free(values);
    return any_nan ? NAN : out;
}

static bool is_dead(double range)
{
    return !(range > 0 && isfinite(range));
}

void ts_flat_field_oracle_transmission(const struct ts_image *counts, const struct ts_image *flats,
                                       const struct ts_image *darks, bool median, bool nearest, double *out,
                                       double *scale, uint64_t *dead)
{
    const int64_t nz = counts->axes[0].n, n_views = counts->axes[1].n, n = counts->axes[2].n;
    double *dark = malloc((size_t)n * sizeof *dark), *range = malloc((size_t)n * sizeof *range);
    for (int64_t z = 0; z < nz; z++) {
        dead[z] = 0;
        for (int64_t d = 0; d < n; d++) {
            dark[d] = combined(darks, z, d, median);
            range[d] = combined(flats, z, d, median) - dark[d];
            dead[z] += is_dead(range[d]);
        }
        for (int64_t d = 0; d < n; d++) {
            int64_t from = is_dead(range[d]) ? -1 : d;
            for (int64_t other = 0; nearest && is_dead(range[d]) && other < n; other++)
                if (!is_dead(range[other]) && (from < 0 || llabs(other - d) < llabs(from - d)))
                    from = other;
            for (int64_t view = 0; view < n_views; view++) {
                const size_t i = (size_t)((z * n_views + view) * n + d);
                const double v = from < 0 ? NAN : value(counts, z, view, from);
                out[i] = from < 0 ? NAN : (v - dark[from]) / range[from];
                scale[i] = from < 0 ? NAN : (fabs(v) + fabs(dark[from])) / range[from];
            }
        }
    }
    free(dark);
    free(range);
}

/* Adds the values of each slice that are the largest of an integer type. */
static void count_saturated(const struct ts_image *image, double *counts)
{
    const size_t n = ts_image_count(image), slice = ts_slice_count(image);
    double low, high, *values = malloc(n * sizeof *values);
    ts_dtype_range(image->dtype, &low, &high);
    ts_load_f64(values, image->data, image->dtype, n);
    for (size_t i = 0; i < n; i++)
        counts[i / slice] += image->dtype != TS_F32 && values[i] == high;
    free(values);
}

void ts_flat_field_oracle_results(const struct stage_context *context, const struct ts_image inputs[STAGE_INPUTS],
                                  double *out, struct bench_tables *tables)
{
    const struct flat_field_params *params = context->params;
    const struct ts_image *darks = &inputs[FLAT_FIELD_DARKS];
    const size_t nz = (size_t)inputs[0].axes[0].n;
    double *scale = malloc(ts_image_count(&inputs[0]) * sizeof *scale), *counts = ts_bench_table(tables, "dead");
    uint64_t *dead = malloc(nz * sizeof *dead);
    ts_flat_field_oracle_transmission(&inputs[0], &inputs[FLAT_FIELD_FLATS], darks->data ? darks : NULL,
                                      params->combine == COMBINE_MEDIAN, params->dead == DEAD_NEAREST, out, scale,
                                      dead);
    for (size_t z = 0; z < nz; z++)
        counts[z] = (double)dead[z];
    count_saturated(&inputs[0], ts_bench_table(tables, "saturated"));
    count_saturated(&inputs[FLAT_FIELD_FLATS], ts_bench_table(tables, "saturated"));
    free(scale);
    free(dead);
}
