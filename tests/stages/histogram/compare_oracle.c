/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/histogram/compare_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/histogram/compare.h"

struct sums {
    double largest, squares, reference, n, similarity, n_windows;
};

/* Returns SSIM of the window of taps x taps pixels whose first is at `a` and `b`, rows nx apart. */
static double similarity(const double *a, const double *b, int64_t nx,
                         const struct compare_params *params)
{
    const bool gaussian = params->window == WINDOW_GAUSSIAN;
    const int taps = gaussian ? 11 : 7;
    double weights = 0, mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int y = 0; y < taps; y++)
            for (int x = 0; x < taps; x++) {
                const double squared =
                    (y - taps / 2) * (y - taps / 2) + (x - taps / 2) * (x - taps / 2);
                const double weight = gaussian ? exp(-squared / (2 * 1.5 * 1.5)) : 1;
                const double va = a[y * nx + x], vb = b[y * nx + x];
                if (pass == 0) {
                    weights += weight;
                    mean_a += weight * va;
                    mean_b += weight * vb;
                } else {
                    aa += weight * (va - mean_a / weights) * (va - mean_a / weights);
                    bb += weight * (vb - mean_b / weights) * (vb - mean_b / weights);
                    ab += weight * (va - mean_a / weights) * (vb - mean_b / weights);
                }
            }
    const double sample = taps * taps / (taps * taps - 1.0) / weights;
    const double c1 = pow(0.01 * params->data_range, 2), c2 = pow(0.03 * params->data_range, 2);
    mean_a /= weights;
    mean_b /= weights;
    return (2 * mean_a * mean_b + c1) * (2 * sample * ab + c2) /
           ((mean_a * mean_a + mean_b * mean_b + c1) * (sample * (aa + bb) + c2));
}

static struct sums sums_of(const double *a, const double *b, int64_t ny, int64_t nx,
                           const struct compare_params *params)
{
    const int taps = params->window == WINDOW_GAUSSIAN ? 11 : 7;
    struct sums sums = {0};
    for (int64_t i = 0; i < ny * nx; i++)
        if (isfinite(a[i]) && isfinite(b[i])) {
            sums.largest = fmax(sums.largest, fabs(a[i] - b[i]));
            sums.squares += pow(a[i] - b[i], 2);
            sums.reference += b[i] * b[i];
            sums.n++;
        }
    for (int64_t y = 0; y + taps <= ny; y++)
        for (int64_t x = 0; x + taps <= nx; x++) {
            const double s = similarity(a + y * nx + x, b + y * nx + x, nx, params);
            sums.similarity += isnan(s) ? 0 : s;
            sums.n_windows += !isnan(s);
        }
    return sums;
}

static void write(const struct sums *sums, double range, struct bench_tables *tables,
                  const char *const names[5], int64_t at)
{
    const double mean_square = sums->squares / sums->n;
    const double values[] = {sums->n > 0 ? sums->largest : (double)NAN, sqrt(mean_square),
                             sqrt(sums->squares / sums->reference),
                             10 * log10(range * range / mean_square),
                             sums->similarity / sums->n_windows};
    for (int i = 0; i < 5; i++)
        ts_bench_table(tables, names[i])[at] = values[i];
}

void ts_compare_oracle_results(const struct stage_context *context,
                               const struct ts_image inputs[STAGE_INPUTS], double *out,
                               struct bench_tables *tables)
{
    static const char *const names[] = {"max_difference", "rms_difference", "relative_difference",
                                        "psnr", "ssim"};
    static const char *const of_slices[] = {"slice_max_difference", "slice_rms_difference",
                                            "slice_relative_difference", "slice_psnr",
                                            "slice_ssim"};
    const struct compare_params *params = context->params;
    const size_t n = ts_image_count(&inputs[0]), slice = ts_slice_count(&inputs[0]);
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b),
           *left_out = ts_bench_table(tables, "not_compared");
    struct sums all = {0};
    (void)out;
    ts_load_f64(a, inputs[0].data, inputs[0].dtype, n);
    ts_load_f64(b, inputs[1].data, inputs[1].dtype, n);
    for (int64_t z = 0; z < inputs[0].axes[0].n; z++) {
        const size_t at = (size_t)z * slice;
        const struct sums sums =
            sums_of(a + at, b + at, inputs[0].axes[1].n, inputs[0].axes[2].n, params);
        write(&sums, params->data_range, tables, of_slices, z);
        left_out[z] = (double)slice - sums.n;
        all.largest = fmax(all.largest, sums.largest);
        all.squares += sums.squares;
        all.reference += sums.reference;
        all.n += sums.n;
        all.similarity += sums.similarity;
        all.n_windows += sums.n_windows;
    }
    write(&all, params->data_range, tables, names, 0);
    free(a);
    free(b);
}
