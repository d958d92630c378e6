/* SPDX-License-Identifier: Apache-2.0
 *
 * The measure as its paper describes it: the mirrored half is moved pixel by pixel and put below
 * the other, the whole is transformed by sums over all pixels, and magnitudes outside of the double
 * wedge are averaged with the Gaussian's weights. Stripes are taken out before.
 */
#include "tests/stages/scan/center_oracle.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

static double complex transformed(const double *turn, int64_t rows, int64_t n, int64_t m, int64_t k)
{
    double complex sum = 0;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t d = 0; d < n; d++)
            sum += turn[row * n + d] *
                   cexp(-2 * M_PI * I *
                        ((double)(m * row) / (double)rows + (double)(k * d) / (double)n));
    return sum;
}

void ts_center_stripes_oracle(double *p, int64_t n_views, int64_t n)
{
    double *means = calloc((size_t)n, sizeof *means);
    for (int64_t i = 0; i < n_views * n; i++)
        means[i % n] += p[i] / (double)n_views;
    for (int64_t d = 0; d < n; d++) {
        double below[9], above[9]; /* the lower half by taking out the least one again and again */
        int64_t count = 0;
        for (int64_t other = d - 4; other <= d + 4; other++)
            if (other >= 0 && other < n)
                below[count++] = means[other];
        for (int64_t i = 0; i < count; i++) {
            int64_t least = i;
            for (int64_t j = i; j < count; j++)
                least = below[j] < below[least] ? j : least;
            above[i] = below[least];
            below[least] = below[i];
        }
        const double median = 0.5 * (above[count / 2] + above[(count - 1) / 2]);
        for (int64_t view = 0; view < n_views; view++)
            p[view * n + d] -= means[d] - median;
    }
    free(means);
}

double ts_center_measure_oracle(const double *p, int64_t n_views, int64_t n, int64_t shift)
{
    const int64_t rows = 2 * n_views, drop = n_views / 4 < 2 ? n_views / 4 : 2;
    double *turn = malloc((size_t)(rows * n) * sizeof *turn), sum = 0, weights = 0;
    for (int64_t view = 0; view < n_views; view++)
        for (int64_t d = 0; d < n; d++) {
            turn[view * n + d] = p[view * n + d];
            turn[(n_views + view) * n + ((d + shift) % n + n) % n] = p[view * n + n - 1 - d];
        }
    for (int64_t m = -n_views; m < n_views; m++)
        for (int64_t k = 1; k <= n / 2; k++) {
            if (!((double)llabs(m) > M_PI * (double)k) || llabs(m) <= drop)
                continue;
            const double f = (double)m / (double)rows, g = (double)k / (double)n;
            const double weight = exp(-2 * M_PI * M_PI * (f * f + g * g));
            sum += weight * cabs(transformed(turn, rows, n, m, k));
            weights += weight;
        }
    free(turn);
    return sum / weights;
}

void ts_center_oracle_results(const struct stage_context *context,
                              const struct ts_image inputs[STAGE_INPUTS], double *out,
                              struct bench_tables *tables)
{
    const struct ts_axis *detectors = &inputs[0].axes[2];
    double *center = ts_bench_table(tables, "center");
    (void)context;
    (void)out;
    if (center)
        *center = -detectors->first / detectors->spacing;
}
