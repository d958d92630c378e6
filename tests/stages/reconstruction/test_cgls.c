/* SPDX-License-Identifier: Apache-2.0 */

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/reconstruction/iterate.h"
#include "tests/stages/projection/scan_oracle.h"
#include "tests/stages/reconstruction/cgls_oracle.h"
#include "tests/stages/reconstruction/iterate_tests.h"
#include "tests/support/scan_check.h"
#include "tests/support/support.h"

TestSuite(cgls);

ITERATE_TESTS(cgls)

/* Few iterations: each multiplies the rounding of the ones before, in the oracle as well. */
TEST_ON_BOTH(cgls, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"iterations=1", 1, 13, 17},
        {"iterations=4", 3, 19, 23},
        {"iterations=4", 3, 19, 23, .beam = SCAN_ARC},
        {"iterations=4", 3, 19, 23, .beam = SCAN_FLAT},
        {"iterations=4", 2, 12, 21, .center = 1.3},
        {"iterations=5 rows=9 columns=31 pixel_size=0.61", 1, 17, 19, .arc = 360},
        {"iterations=4 rows=40 columns=1", 1, 17, 19, .beam = SCAN_ARC, .arc = 220},
        {"iterations=4 center=8.5 row_spacing=0.7 rows=14", 2, 15, 19},
        {"iterations=4 pixel_size=0.9 rows=12 columns=11", 18, 15, 19},
        {"iterations=3", 1, 2, 1},
        {"iterations=3 rows=1", 2, 2, 29, .beam = SCAN_FLAT},
        {"iterations=5 stop=residual tolerance=0.45", 3, 11, 15},
        {"iterations=5 stop=discrepancy noise=0.8", 3, 11, 15, .beam = SCAN_ARC},
    };
    cr_assert_eq(ts_scan_check(&cgls_stage, ts_cgls_oracle, cases, sizeof cases / sizeof *cases),
                 sizeof cases / sizeof *cases);
}

TEST_ON_BOTH(cgls, agrees_by_every_method)
{
    ts_scan_check_methods(&cgls_stage, ts_cgls_oracle);
}

static double residual_of(const struct stage_run *run, const double *b, const double *x)
{
    const size_t n = ts_image_count(&run->context.in);
    double *rays = malloc(n * sizeof *rays), sum = 0;
    ts_scan_project_oracle(&run->context.out, &run->context.in, x, rays);
    for (size_t i = 0; i < n; i++)
        sum += pow(b[i] - rays[i], 2);
    free(rays);
    return sqrt(sum);
}

/* After many iterations the image is at least as far as double precision is two iterations earlier,
 * and not beyond. */
TEST_ON_BOTH(cgls, is_at_most_two_iterations_behind)
{
    enum {
        ITERATIONS = 14,
        BEHIND = 2,
        VIEWS = 31,
        DETECTORS = 47,
        PIXELS = DETECTORS * DETECTORS
    };
    static const struct scan_case which = {"iterations=14", 1, VIEWS, DETECTORS};
    static double b[VIEWS * DETECTORS], x[PIXELS];
    struct ts_image in = ts_test_scan(&which, 21);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &cgls_stage, which.assignments, &in, NULL, 0, 2), TS_OK);
    struct iterate_params params = *(const struct iterate_params *)run.context.params;
    struct stage_context context = run.context;
    double left[BEHIND + 1];
    ts_load_f64(b, in.data, TS_F32, VIEWS * DETECTORS);
    context.params = &params;
    for (int i = 0; i <= BEHIND; i++) {
        params.iterations = ITERATIONS - BEHIND + i;
        ts_cgls_oracle(&context, b, x);
        left[i] = residual_of(&run, b, x);
    }
    ts_load_f64(x, run.out.data, TS_F32, PIXELS);
    const double found = residual_of(&run, b, x);
    cr_assert(found <= left[0] && found >= (1 - 1e-3) * left[BEHIND], "%g, not between %g and %g",
              found, left[BEHIND], left[0]);
    for (int64_t i = 1; i <= ITERATIONS; i++)
        cr_assert(ts_test_table_at(&run, "residual", i) <=
                  ts_test_table_at(&run, "residual", i - 1));
    double norm = 0;
    for (int i = 0; i < VIEWS * DETECTORS; i++)
        norm += b[i] * b[i];
    const double reported = ts_test_table_at(&run, "residual", ITERATIONS) * sqrt(norm);
    cr_assert(fabs(reported - found) <= 1e-3 * found, "%g, not %g", reported, found);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Long after a slice is solved to rounding, its residual has not risen and its image is where it
 * was. */
TEST_ON_BOTH(cgls, stays_where_it_is_solved)
{
    enum { VIEWS = 9 };
    static const struct scan_case cases[] = {
        {"rows=2 columns=2", 3, VIEWS, 2}, {"rows=2 columns=3", 18, VIEWS, 3}, {"", 2, 2, 1}};
    const int iterations = ts_test_few() ? 26 : 200, solved_after = ts_test_few() ? 20 : 40;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct ts_image in = ts_test_scan(&cases[c], 40 + c);
        struct stage_run run, early;
        char text[64];
        snprintf(text, sizeof text, "iterations=%d %s", iterations, cases[c].assignments);
        cr_assert_eq(ts_test_run(&run, &cgls_stage, text, &in, NULL, 0, 2), TS_OK);
        snprintf(text, sizeof text, "iterations=%d %s", solved_after, cases[c].assignments);
        cr_assert_eq(ts_test_run(&early, &cgls_stage, text, &in, NULL, 0, 2), TS_OK);
        for (int64_t z = 0; z < cases[c].nz; z++)
            for (int64_t i = 1; i <= iterations; i++) {
                const double before =
                    ts_test_table_at(&run, "residual", z * (iterations + 1) + i - 1);
                cr_assert(ts_test_table_at(&run, "residual", z * (iterations + 1) + i) <=
                              before + 1e-6,
                          "case %zu, slice %lld, iteration %lld", c, (long long)z, (long long)i);
            }
        const float *last = run.out.data, *solved = early.out.data;
        float largest = 0;
        for (size_t i = 0; i < ts_image_count(&run.out); i++)
            largest = fmaxf(largest, fabsf(solved[i]));
        for (size_t i = 0; i < ts_image_count(&run.out); i++)
            cr_assert(fabsf(last[i] - solved[i]) <= 1e-4F * largest,
                      "case %zu, element %zu: %g, not %g", c, i, (double)last[i],
                      (double)solved[i]);
        ts_test_run_clear(&run);
        ts_test_run_clear(&early);
        free(in.data);
    }
}

/* The discrepancy rule stops a slice at the first iteration with ||b - A x|| <= noise * sqrt(rays).
 * The residuals of a run without a rule say which noise that is for iteration AT: with 2 % more the
 * slice stops there, with 2 % less it goes on, so that a stopping value that is 10 % off in either
 * direction fails. */
TEST_ON_BOTH(cgls, stops_at_the_discrepancy)
{
    enum { AT = 4, VIEWS = 31, DETECTORS = 47 };
    static const struct scan_case which = {"iterations=7", 1, VIEWS, DETECTORS};
    static double b[VIEWS * DETECTORS];
    struct ts_image in = ts_test_scan(&which, 22);
    struct stage_run run;
    double norm = 0, residuals[AT + 2];
    ts_load_f64(b, in.data, TS_F32, VIEWS * DETECTORS);
    for (int i = 0; i < VIEWS * DETECTORS; i++)
        norm += b[i] * b[i];
    cr_assert_eq(ts_test_run(&run, &cgls_stage, which.assignments, &in, NULL, 0, 2), TS_OK);
    for (int i = 0; i < AT + 2; i++)
        residuals[i] = ts_test_table_at(&run, "residual", i);
    ts_test_run_clear(&run);
    cr_assert(residuals[AT - 1] > 1.03 * residuals[AT] && residuals[AT + 1] < 0.97 * residuals[AT]);
    for (int below = 0; below < 2; below++) {
        char text[96];
        const double noise =
            (below ? 0.98 : 1.02) * residuals[AT] * sqrt(norm / (VIEWS * DETECTORS));
        snprintf(text, sizeof text, "iterations=7 stop=discrepancy noise=%.17g", noise);
        cr_assert_eq(ts_test_run(&run, &cgls_stage, text, &in, NULL, 0, 2), TS_OK);
        cr_expect_eq(ts_test_table_at(&run, "iterations", 0), AT + below, "noise %g: %g iterations",
                     noise, ts_test_table_at(&run, "iterations", 0));
        ts_test_run_clear(&run);
    }
    free(in.data);
}

Test(cgls, refuses_a_rule_without_its_number)
{
    static const struct scan_case which = {"", 1, 4, 9};
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &cgls_stage, "stop=discrepancy", &in, NULL, 0, 1), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "noise-missing");
    ts_test_run_clear(&run);
    free(in.data);
}
