/* SPDX-License-Identifier: Apache-2.0
 *
 * backproject of fan beams: the exact adjoint of radon.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/projection/backproject_oracle.h"
#include "tests/support/adjoint_check.h"
#include "tests/support/scan_check.h"
#include "tests/support/support.h"

TestSuite(backproject_fan);

TEST_ON_BOTH(backproject_fan, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"", 3, 40, 23, .beam = SCAN_ARC},
        {"", 3, 40, 23, .beam = SCAN_FLAT},
        {"rows=13 columns=41 pixel_size=0.7 row_spacing=0.4", 1, 17, 31, .beam = SCAN_FLAT,
         .center = 2.3, .arc = 300},
        {"rows=30 columns=3 pixel_size=1", 1, 17, 31, .beam = SCAN_ARC, .center = -3.4},
        {"rows=9 columns=9 pixel_size=2.5", 2, 19, 80, .beam = SCAN_FLAT},
        {"rows=1", 1, 5, 19, .beam = SCAN_FLAT},
        {"rows=2 columns=1", 1, 3, 1, .beam = SCAN_ARC},
        {"", 37, 9, 13, .beam = SCAN_FLAT},
        {"", 131, 7, 9, .beam = SCAN_ARC},
        {"rows=3 columns=5", 1, 2053, 5, .beam = SCAN_FLAT},
        {"method=stack", 3, 40, 23, .beam = SCAN_ARC},
        {"rows=30 columns=3 pixel_size=1 method=stack", 1, 17, 31, .beam = SCAN_ARC,
         .center = -3.4},
        {"rows=9 columns=9 pixel_size=2.5 method=stack", 2, 19, 80, .beam = SCAN_FLAT},
        {"rows=23 columns=30 pixel_size=0.5 method=stack", 3, 30, 60, .beam = SCAN_FLAT},
        {"rows=23 columns=30 pixel_size=0.9 row_spacing=0.6 method=stack", 3, 30, 60,
         .beam = SCAN_ARC},
        {"rows=17 columns=19 pixel_size=1.5 method=stack", 3, 30, 60, .beam = SCAN_FLAT,
         .center = 7.25},
        {"method=pixel", 37, 9, 13, .beam = SCAN_FLAT},
        {"rows=9 columns=9 pixel_size=2.5 method=pixel", 18, 19, 80, .beam = SCAN_FLAT},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_scan_check(&backproject_stage, ts_backproject_oracle, cases, n),
                 ts_test_device ? n : n - 8);
}

/* On numbers of both signs. */
TEST_ON_BOTH(backproject_fan, is_the_adjoint_of_radon)
{
    static const char *const beams[] = {"fan-arc", "fan-flat"}, *const methods[] = {"joseph", "ray",
                                                                                    "stack"};
    static const struct adjoint_case cases[] = {
        {"views=47 start=3 source_axis=60 source_detector=95", "", 5, 61, 83, 0.7, 0.5, -1, 1e-6},
        {"views=31 arc=200 detectors=301 detector_spacing=0.11 center=99 source_axis=20 "
         "source_detector=30",
         "", 5, 37, 29, 0.7, 0.5, -1, 1e-6},
        {"views=31 detectors=9 detector_spacing=5 source_axis=40 source_detector=90", "", 5, 37, 1,
         0.7, 0.5, -1, 1e-6},
        {"views=19 source_axis=60 source_detector=95", "", 67, 31, 23, 0.5, 0.5, 0, 1e-6},
    };
    for (int b = 0; b < 2; b++)
        for (int m = ts_test_device ? 1 : 0; m < (ts_test_device ? 3 : 1); m++)
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct adjoint_case which = cases[i];
                char text[160];
                snprintf(text, sizeof text, "%s beam=%s method=%s", which.radon, beams[b],
                         methods[m]);
                which.radon = text;
                ts_test_adjoint(&which);
                which.backproject = "method=stack";
                if (ts_test_device)
                    ts_test_adjoint(&which);
            }
}

TEST_ON_BOTH(backproject_fan, values_that_are_no_numbers_end_the_run)
{
    static const struct scan_case which = {"", 2, 40, 29, .beam = SCAN_ARC};
    static const char *const texts[] = {"", "method=pixel", "method=stack"};
    struct ts_image in = ts_test_scan(&which, 5);
    struct stage_run run;
    ((float *)in.data)[40 * 29 + 7 * 29 + 28] = NAN;
    for (size_t i = 0; i < (ts_test_device ? 3 : 1); i++) {
        cr_assert_eq(ts_test_run(&run, &backproject_stage, texts[i], &in, NULL, 0, 1),
                     TS_BAD_INPUT);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "not-finite");
        cr_assert(strstr(ts_diag_get(run.diag, 0)->message, "in view 7 at detector pixel 28"), "%s",
                  ts_diag_get(run.diag, 0)->message);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

Test(backproject_fan, refuses_what_belongs_to_fbp)
{
    static const char *const wrong[][2] = {{"model=linear", "model-beam"},
                                           {"weights=angles", "weights-beam"},
                                           {"pixel_size=3", "source-inside"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        static const struct scan_case which = {"", 1, 40, 29, .beam = SCAN_ARC};
        struct ts_image in = ts_test_scan(&which, 5);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &backproject_stage, wrong[i][0], &in, NULL, 0, 1),
                     TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, wrong[i][1]);
        ts_test_run_clear(&run);
        free(in.data);
    }
}
