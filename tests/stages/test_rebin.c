/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/rebin.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/reference/rebin_reference.h"
#include "tests/support/radon_scene.h"
#include "tests/support/scan_check.h"

TestSuite(rebin);

TEST_ON_BOTH(rebin, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"", 3, 40, 23, .beam = SCAN_ARC},
        {"", 3, 40, 23, .beam = SCAN_FLAT},
        {"views=7 start=-31 detectors=41 detector_spacing=0.31", 1, 37, 31, .beam = SCAN_FLAT, .center = 2.3},
        {"views=60", 1, 37, 31, .beam = SCAN_ARC, .center = -3.4},
        {"", 2, 53, 29, .beam = SCAN_FLAT, .arc = 261},
        {"start=13", 2, 53, 29, .beam = SCAN_ARC, .arc = 233, .center = 1.2},
        {"detectors=300 detector_spacing=0.5", 1, 30, 19, .beam = SCAN_FLAT}, /* past the source */
        {"", 1, 30, 1, .beam = SCAN_FLAT},
        {"", 19, 12, 17, .beam = SCAN_FLAT},
        {"views=5", 1, 2053, 5, .beam = SCAN_ARC},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_scan_check(&rebin_stage, ts_rebin_reference, cases, n), n);
}

/* The chords of an ellipse, off center and turned, as a parallel beam sees them. */
TEST_ON_BOTH(rebin, ellipses_have_their_chords)
{
    static const struct ellipse ellipse = {9, -14, 17, 8, 30, 1};
    static const char *const scans[] = {"beam=fan-arc", "beam=fan-flat", "beam=fan-arc arc=250 start=-40",
                                        "beam=fan-flat arc=-250 center=80"};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        struct radon_scene scene;
        char text[160];
        snprintf(text, sizeof text, "views=720 detectors=170 detector_spacing=1 source_axis=120 source_detector=200 %s",
                 scans[i]);
        ts_test_scene_make(&scene, text, 130, 170, 0.5, 0.4);
        ts_test_ellipse_draw(&scene.in, &ellipse);
        ts_test_scene_project(&scene);
        struct stage_run run;
        cr_assert_eq(
            ts_test_run(&run, &rebin_stage, "views=36 detectors=120 detector_spacing=0.6", &scene.out, NULL, 0, 1),
            TS_OK);
        double square = 0, n = 0;
        for (int64_t v = 0; v < 36; v++)
            for (int64_t d = 0; d < 120; d++) {
                const double expected = ts_test_ellipse_chord(&ellipse, 5 * (double)v, ((double)d - 59.5) * 0.6);
                square += pow(((const float *)run.out.data)[v * 120 + d] - expected, 2);
                n += expected > 0;
            }
        cr_assert(n > 500 && sqrt(square / n) < 0.35, "%s: rms %g over %g rays", scans[i], sqrt(square / n), n);
        cr_assert_eq(run.out.beam.kind, TS_BEAM_PARALLEL);
        cr_assert_eq(run.out.quantity, TS_LINE_INTEGRAL);
        ts_test_run_clear(&run);
        ts_test_scene_clear(&scene);
    }
}

Test(rebin, refuses_what_it_cannot_rebin)
{
    static const struct {
        struct scan_case scan;
        const char *code;
    } wrong[] = {{{"", 1, 40, 29}, "stage-beam"},
                 {{"", 1, 40, 29, .beam = SCAN_FLAT, .arc = 200}, "short-scan"},
                 {{"", 1, 40, 29, .beam = SCAN_ARC}, "angles-missing"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ts_image in = ts_test_scan(&wrong[i].scan, 5);
        if (i == 2)
            in.axes[1].unit = "";
        ts_test_refuses(&rebin_stage, "", &in, NULL, wrong[i].code, "");
        free(in.data);
    }
}
