/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that were cut off at a level, and zingers, are found in noisy scans; scans without them
 * are legal, with noise and without.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/scan/view_values.h"
#include "tests/support/support.h"

enum { N = 96, VIEWS = 120, COUNT = N * VIEWS };

static double normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(1 - ts_random_unit(seed)));
    return radius * cos(2 * M_PI * ts_random_unit(seed));
}

/* Makes the counts of discs, or, `slit`, of two plates with a gap that one view alone looks
 * through, with the noise of photons times `noise`. */
static void make_counts(double light, double noise, bool slit, uint64_t *seed, float *p)
{
    struct disc {
        double x, y, radius, value;
    } discs[6];
    for (int i = 0; i < 6; i++)
        discs[i] =
            (struct disc){30 * ts_random_unit(seed) - 15, 30 * ts_random_unit(seed) - 15,
                          2 + 14 * ts_random_unit(seed), (i ? 0.06 : 0.03) * ts_random_unit(seed)};
    for (int v = 0; v < VIEWS; v++)
        for (int d = 0; d < N; d++) {
            const double theta = M_PI * v / VIEWS, t = d - 0.5 * (N - 1);
            double sum = 0;
            for (int i = 0; !slit && i < 6; i++) {
                const double from = t - discs[i].x * cos(theta) - discs[i].y * sin(theta);
                sum += discs[i].value * 2 *
                       sqrt(fmax(0, discs[i].radius * discs[i].radius - from * from));
            }
            if (slit)
                sum = fabs(t) < 30 && (v != VIEWS / 2 || d != N / 2) ? 1.5 : 0;
            const double mean = light * exp(-sum);
            p[v * N + d] = roundf((float)(mean + noise * sqrt(mean) * normal(seed)));
        }
}

static const double lights[] = {200, 3000, 20000, 50000};

Test(view_values, legal_scans_have_neither)
{
    static float p[COUNT];
    uint64_t seed = 11;
    for (int i = 0; i < 240; i++) {
        float level, excess;
        make_counts(lights[i % 4], i / 4 % 3, i / 12 % 4 == 0, &seed, p);
        cr_expect_eq(ts_view_values_clipped(p, VIEWS, N, &level), 0, "scan %d at %g", i, level);
        cr_expect_eq(ts_view_values_zingers(p, VIEWS, N, &excess), 0, "scan %d by %g", i, excess);
    }
}

Test(view_values, what_is_cut_off_is_found)
{
    static float p[COUNT];
    uint64_t seed = 12;
    for (int i = 0; i < 60; i++) {
        const double light = lights[1 + i % 3];
        const float at = roundf((float)(light * (0.6 + 0.2 * (i / 3 % 3))));
        float level;
        int64_t expected = 0;
        make_counts(light, 1, false, &seed, p);
        for (int k = 0; k < COUNT; k++) {
            expected += p[k] >= at;
            p[k] = fminf(p[k], at);
        }
        cr_expect_eq(ts_view_values_clipped(p, VIEWS, N, &level), expected, "scan %d", i);
        cr_expect_eq(level, at, "scan %d", i);
    }
}

/* flat_field warns of these. */
Test(view_values, the_full_scale_of_a_detector_is_left_to_others)
{
    static float p[COUNT];
    static const float levels[] = {255, 4095, 4095 * 16, 65535};
    uint64_t seed = 13;
    for (int i = 0; i < 4; i++) {
        float level;
        make_counts(1.3 * levels[i], 1, false, &seed, p);
        for (int k = 0; k < COUNT; k++)
            p[k] = fminf(p[k], levels[i]);
        cr_expect_eq(ts_view_values_clipped(p, VIEWS, N, &level), 0);
    }
}

Test(view_values, zingers_are_counted)
{
    static float p[COUNT];
    uint64_t seed = 14;
    for (int i = 0; i < 60; i++) {
        const double light = lights[1 + i % 3];
        float excess;
        make_counts(light, i % 2, false, &seed, p);
        const int n_zingers = 1 + i;
        for (int k = 0; k < n_zingers; k++) /* none beside another */
            p[(1 + 2 * (k % 50)) * N + 1 + 3 * (k * 7 % 31)] = (float)(2.5 * light + k);
        cr_expect_eq(ts_view_values_zingers(p, VIEWS, N, &excess), n_zingers, "scan %d", i);
        cr_expect(excess >= 1.4 * light && excess <= 2.6 * light, "scan %d: %g", i, excess);
    }
}

/* A detector pixel that is hot in all views is none, nor is a view that is too bright; NaN is not
 * compared; and scans of two views have no neighbors. */
Test(view_values, hot_pixels_and_bright_views_are_no_zingers)
{
    static float p[COUNT];
    uint64_t seed = 15;
    float excess;
    make_counts(20000, 1, false, &seed, p);
    for (int v = 0; v < VIEWS; v++)
        p[v * N + 40] = 60000;
    for (int d = 0; d < N; d++)
        p[50 * N + d] *= 3;
    p[30 * N + 20] = NAN;
    cr_expect_eq(ts_view_values_zingers(p, VIEWS, N, &excess), 1, "where both cross");
    p[50 * N + 40] = 60000;
    cr_expect_eq(ts_view_values_zingers(p, VIEWS, N, &excess), 0);
    cr_expect_eq(ts_view_values_zingers(p, 2, N, &excess), 0);
    cr_expect_eq(ts_view_values_zingers(p, VIEWS, 2, &excess), 0);
}
