/* SPDX-License-Identifier: Apache-2.0
 *
 * noise beside its oracle; that its bytes are those of one function on every device; and what it
 * does with counts that have no logarithm. tests/stages/values/test_samples.c holds the samples
 * against their distributions.
 */
#include "stages/scan/noise.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/scan/noise_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(noise);

/* Line integrals from 0 to `most`, or transmissions of them. */
static struct ts_image scan(int64_t nz, int64_t n_views, int64_t n_detectors,
                            enum ts_quantity quantity, double most)
{
    struct ts_image image = ts_test_image(nz, n_views, n_detectors, TS_F32, VALUES_CONSTANT, 1);
    uint64_t seed = 4;
    ts_test_sinogram(&image);
    image.quantity = quantity;
    image.unit = "1";
    for (size_t i = 0; i < ts_image_count(&image); i++) {
        const double line = most * ts_random_unit(&seed);
        ((float *)image.data)[i] = (float)(quantity == TS_LINE_INTEGRAL ? line : exp(-line));
    }
    return image;
}

TEST_ON_BOTH(noise, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = "photons=1000", .quantity = TS_TRANSMISSION},
        {.assignments = "photons=7 electronic=2.5 seed=3",
         .values = VALUES_CONSTANT,
         .quantity = TS_TRANSMISSION},
        {.assignments = "photons=100000 electronic=20",
         .values = VALUES_CONSTANT,
         .quantity = TS_LINE_INTEGRAL},
        {"photons=1e6 seed=9007199254740991", 3, 130, 259, .values = VALUES_CT,
         .quantity = TS_TRANSMISSION},
    };
    cr_assert_eq(ts_stage_check(&noise_stage, ts_noise_oracle, cases, 3), 3 * 8);
    cr_assert_eq(ts_stage_check(&noise_stage, ts_noise_oracle, cases + 3, 1), 1);
}

/* Every bit, whatever runs it and however z is cut: the function itself is the expectation. */
TEST_ON_BOTH(noise, bytes_depend_on_the_pixel_alone)
{
    static const char *const rows[] = {"photons=20 electronic=3 seed=5",
                                       "photons=20 electronic=3 nonpositive=nan",
                                       "photons=1e5 seed=4294967297", "photons=1e9 electronic=0.5"};
    for (int lines = 0; lines < 2; lines++)
        for (size_t row = lines ? 0 : 2; row < sizeof rows / sizeof *rows; row++) {
            struct ts_image in = scan(5, 37, 45, lines ? TS_LINE_INTEGRAL : TS_TRANSMISSION, 9);
            ((float *)in.data)[7] = NAN;
            ((float *)in.data)[8] = -100;
            for (int64_t slab = 0; slab < 4; slab++) {
                struct stage_run run;
                cr_assert_eq(
                    ts_test_run(&run, &noise_stage, rows[row], &in, NULL, slab, 1 + (int)slab),
                    TS_OK);
                const struct noise_rule rule = ts_noise_rule(&run.context);
                uint64_t n_starved[5] = {0};
                for (size_t i = 0; i < ts_image_count(&in); i++) {
                    bool starved;
                    const float is = ((float *)run.out.data)[i],
                                expected = ts_noise(&rule, ((float *)in.data)[i], i, &starved);
                    n_starved[i / (37 * 45)] += starved;
                    cr_assert(memcmp(&is, &expected, sizeof is) == 0 ||
                                  (isnan(is) && isnan(expected)),
                              "%s: pixel %zu is %a, expected %a", rows[row], i, (double)is,
                              (double)expected);
                }
                for (int64_t z = 0; lines && z < 5; z++)
                    cr_assert_eq(ts_test_table_at(&run, row == 1 ? "nonpositive" : "floored", z),
                                 (double)n_starved[z]);
                cr_assert(!lines || row > 1 || n_starved[0] > 100);
                ts_test_run_clear(&run);
            }
            free(in.data);
        }
}

/* Mean and variance of a transmission are t and (photons t + electronic^2) / photons^2, here of
 * 60,000 pixels: four standard deviations of each. */
TEST_ON_BOTH(noise, has_the_mean_and_variance_of_counted_photons)
{
    struct ts_image in = scan(1, 200, 300, TS_TRANSMISSION, 0);
    const size_t n = ts_image_count(&in);
    struct stage_run run;
    for (size_t i = 0; i < n; i++)
        ((float *)in.data)[i] = 0.25f;
    cr_assert_eq(
        ts_test_run(&run, &noise_stage, "photons=1000 electronic=10 seed=1", &in, NULL, 0, 2),
        TS_OK);
    double mean = 0, variance = 0;
    for (size_t i = 0; i < n; i++)
        mean += (double)((float *)run.out.data)[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        variance += pow((double)((float *)run.out.data)[i] - mean, 2) / (double)(n - 1);
    const double expected = (250 + 100) / 1e6;
    cr_assert(fabs(mean - 0.25) < 4 * sqrt(expected / (double)n), "mean %g", mean);
    cr_assert(fabs(variance / expected - 1) < 4 * sqrt(2.0 / (double)n), "variance %g, expected %g",
              variance, expected);
    cr_assert_eq(run.out.quantity, TS_TRANSMISSION);
    ts_test_run_clear(&run);
    free(in.data);
}

TEST_ON_BOTH(noise, a_starved_pixel_gets_the_floor_and_is_counted)
{
    struct ts_image in = scan(2, 3, 5, TS_LINE_INTEGRAL, 0);
    struct stage_run run;
    for (int i = 0; i < 15; i++)
        ((float *)in.data)[i] = 100;
    cr_assert_eq(ts_test_run(&run, &noise_stage, "photons=1000 floor=0.5", &in, NULL, 1, 1), TS_OK);
    for (int i = 0; i < 15; i++)
        cr_assert_eq(((float *)run.out.data)[i], (float)log(2000));
    cr_assert(ts_test_table_at(&run, "floored", 0) == 15 &&
              ts_test_table_at(&run, "floored", 1) == 0);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &noise_stage, "photons=1000 nonpositive=nan", &in, NULL, 1, 1),
                 TS_OK);
    for (int i = 0; i < 15; i++)
        cr_assert(isnan(((float *)run.out.data)[i]));
    cr_assert_eq(ts_test_table_at(&run, "nonpositive", 0), 15);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(noise, refuses_what_plays_no_part_and_lines_with_a_unit)
{
    struct ts_image in = scan(1, 3, 5, TS_TRANSMISSION, 1);
    ts_test_refuses(&noise_stage, "photons=10 floor=2", &in, NULL, "parameter-unused",
                    "line integrals");
    ts_test_refuses(&noise_stage, "photons=10 nonpositive=nan", &in, NULL, "parameter-unused",
                    "transmissions");
    in.quantity = TS_LINE_INTEGRAL;
    ts_test_refuses(&noise_stage, "photons=10 nonpositive=nan floor=2", &in, NULL,
                    "parameter-unused", "floor");
    in.unit = "HU mm";
    ts_test_refuses(&noise_stage, "photons=10", &in, NULL, "line-integral-unit", "to_attenuation");
    in.quantity = TS_COUNTS;
    ts_test_refuses(&noise_stage, "photons=10", &in, NULL, "stage-quantity", "already");
    free(in.data);
}
