/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/cgls.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/reference/cgls_reference.h"
#include "tests/reference/scan_reference.h"
#include "tests/support/scan_check.h"

TestSuite(cgls);

#define ARC                                                                                                            \
    {                                                                                                                  \
        TS_BEAM_FAN_ARC, 40, 60                                                                                        \
    }
#define FLAT                                                                                                           \
    {                                                                                                                  \
        TS_BEAM_FAN_FLAT, 40, 60                                                                                       \
    }

/* Few iterations: each multiplies the rounding of the ones before, in the oracle as well. */
TEST_ON_BOTH(cgls, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"iterations=1", 1, 13, 17},
        {"iterations=4", 3, 19, 23},
        {"iterations=4", 3, 19, 23, .beam = ARC},
        {"iterations=4", 3, 19, 23, .beam = FLAT},
        {"iterations=4", 2, 12, 21, .center = 1.3},
        {"iterations=5 rows=9 columns=31 pixel_size=0.61", 1, 17, 19, .arc = 360},
        {"iterations=4 rows=40 columns=1", 1, 17, 19, .beam = ARC, .arc = 220},
        {"iterations=3", 1, 1, 1},
        {"iterations=3 rows=1", 2, 1, 29, .beam = FLAT},
        {"iterations=5 stop=residual tolerance=0.45", 3, 11, 15},
        {"iterations=5 stop=discrepancy noise=0.8", 3, 11, 15, .beam = ARC},
        {"iterations=3", 21, 9, 13},
        {"iterations=3", 37, 9, 13, .beam = FLAT},
        {"iterations=3 stop=residual tolerance=0.5", 135, 7, 11, .beam = ARC},
    };
    cr_assert_eq(ts_scan_check(&cgls_stage, ts_cgls_reference, cases, sizeof cases / sizeof *cases),
                 4 * sizeof cases / sizeof *cases);
}

/* The residual with which each iteration begins, from the oracle's image after the iterations before. */
TEST_ON_BOTH(cgls, records_its_residuals)
{
    enum { ITERATIONS = 6 };
    static const struct scan_case which = {"iterations=6 stop=residual tolerance=0.4", 5, 13, 17, .beam = FLAT};
    struct ts_image in = ts_test_scan(&which, 8);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &cgls_stage, which.assignments, &in, NULL, 2, 2), TS_OK);
    const size_t n_rays = 13 * 17, n_pixels = 17 * 17;
    double *b = malloc(5 * n_rays * sizeof *b), *x = malloc(5 * n_pixels * sizeof *x),
           *rays = malloc(n_rays * sizeof *rays);
    ts_load_f64(b, in.data, TS_F32, 5 * n_rays);
    struct cgls_params params = *(const struct cgls_params *)run.context.params;
    params.stop = STOP_NEVER;
    struct stage_context context = run.context;
    context.params = &params;
    int64_t carried_out[5] = {0};
    for (params.iterations = 0; params.iterations < ITERATIONS; params.iterations++) {
        ts_cgls_reference(&context, b, x);
        for (int64_t z = 0; z < 5; z++) {
            double left = 0, all = 0;
            ts_scan_project_reference(&context.out, &context.in, x + (size_t)z * n_pixels, rays);
            for (size_t r = 0; r < n_rays; r++) {
                left += pow(b[(size_t)z * n_rays + r] - rays[r], 2);
                all += pow(b[(size_t)z * n_rays + r], 2);
            }
            const double expected = sqrt(left / all),
                         is = ts_test_table_at(&run, "residual", z * ITERATIONS + params.iterations);
            if (carried_out[z] < params.iterations) {
                cr_assert(isnan(is), "slice %lld iteration %lld: %g", (long long)z, (long long)params.iterations, is);
                continue;
            }
            cr_assert(fabs(is - expected) <= 1e-4, "slice %lld iteration %lld: %g, not %g", (long long)z,
                      (long long)params.iterations, is, expected);
            carried_out[z] += expected > 0.4;
        }
    }
    for (int64_t z = 0; z < 5; z++)
        cr_assert_eq(ts_test_table_at(&run, "iterations", z), carried_out[z]);
    free(b);
    free(x);
    free(rays);
    ts_test_run_clear(&run);
    free(in.data);
}

/* A sinogram of zeros is its own reconstruction, and NaN stays in its slice. */
TEST_ON_BOTH(cgls, slices_are_independent)
{
    static const struct scan_case which = {"iterations=4 stop=residual tolerance=0.01", 3, 11, 17};
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    for (int64_t i = 0; i < 11 * 17; i++)
        ((float *)in.data)[i] = 0;
    ((float *)in.data)[11 * 17 + 40] = NAN;
    cr_assert_eq(ts_test_run(&run, &cgls_stage, which.assignments, &in, NULL, 0, 1), TS_OK);
    const float *out = run.out.data;
    for (int64_t i = 0; i < 17 * 17; i++) {
        cr_assert_eq(out[i], 0);
        cr_assert(isfinite(out[2 * 17 * 17 + i]));
    }
    ts_test_run_clear(&run);
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
