/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp of fan beams.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/projection/fan_fbp_oracle.h"
#include "tests/support/radon_scene.h"
#include "tests/support/scan_check.h"

TestSuite(fbp_fan);

/* The same case for each method; those that a device does not have are left out. */
#define EVERY_METHOD(text, ...)                                                                    \
    {text, __VA_ARGS__}, {text " method=pixel", __VA_ARGS__},                                      \
    {                                                                                              \
        text " method=stack", __VA_ARGS__                                                          \
    }

TEST_ON_BOTH(fbp_fan, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        EVERY_METHOD("", 3, 40, 23, .beam = SCAN_ARC),
        EVERY_METHOD("", 3, 40, 23, .beam = SCAN_FLAT),
        EVERY_METHOD("filter=hann cutoff=0.8", 1, 37, 31, .beam = SCAN_FLAT, .center = 2.3),
        EVERY_METHOD("", 1, 37, 31, .beam = SCAN_ARC, .center = -3.4),
        EVERY_METHOD("", 2, 50, 29, .beam = SCAN_FLAT, .arc = 260),
        EVERY_METHOD("", 2, 50, 29, .beam = SCAN_ARC, .arc = 230, .center = 1.2),
        EVERY_METHOD("filter=none rows=9 columns=33 pixel_size=0.7 row_spacing=0.4", 1, 30, 19,
                     .beam = SCAN_ARC, .arc = 300),
        EVERY_METHOD("rows=1", 1, 30, 19, .beam = SCAN_FLAT),
        EVERY_METHOD("columns=1 pixel_size=2", 1, 30, 1, .beam = SCAN_FLAT),
        EVERY_METHOD("", 37, 12, 17, .beam = SCAN_FLAT),
        EVERY_METHOD("", 131, 12, 9, .beam = SCAN_ARC),
        EVERY_METHOD("rows=3 columns=5", 1, 2053, 5, .beam = SCAN_ARC),
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_scan_check(&fbp_stage, ts_fan_fbp_oracle, cases, n),
                 ts_test_device ? n : n / 3);
}

/* A projected ellipse comes back in its place with its value: whole turns, short scans, either way
 * round, an axis that is not in the middle, views at one angle. */
TEST_ON_BOTH(fbp_fan, brings_an_ellipse_back)
{
    static const struct ellipse ellipse = {8, -11, 24, 15, 35, 1};
    static const char *const scans[] = {
        "views=360",          "views=361 start=5", "views=360 arc=260 start=-70",
        "views=300 arc=-235", "views=450 arc=450", "views=360 detectors=190 center=80"};
    static const char *const beams[] = {"fan-arc", "fan-flat"};
    for (int b = 0; b < 2; b++)
        for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
            struct radon_scene scene;
            char text[160];
            snprintf(text, sizeof text, "%s beam=%s source_axis=150 source_detector=225", scans[i],
                     beams[b]);
            ts_test_scene_make(&scene, text, 90, 100, 1, 1);
            ts_test_ellipse_draw(&scene.in, &ellipse);
            ts_test_scene_project(&scene);
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, &fbp_stage, "rows=90 columns=100 pixel_size=1",
                                     &scene.out, NULL, 0, 1),
                         TS_OK);
            const float *out = run.out.data;
            double inside = 0, outside = 0, n_inside = 0, n_outside = 0;
            for (int64_t p = 0; p < 90 * 100; p++) {
                const double x = (double)(p % 100) - 49.5 - ellipse.x,
                             y = 44.5 - (double)(p / 100) - ellipse.y;
                const double c = cos(35 * M_PI / 180), s = sin(35 * M_PI / 180);
                const double r = hypot((x * c + y * s) / 24, (y * c - x * s) / 15);
                if (r < 0.8) {
                    inside += out[p];
                    n_inside++;
                    cr_assert(fabs(out[p] - 1) < 0.02, "%s: pixel %lld is %g", text, (long long)p,
                              (double)out[p]);
                } else if (r > 1.2 && r < 1.6) {
                    outside += out[p];
                    n_outside++;
                }
            }
            cr_assert(fabs(inside / n_inside - 1) < 1e-3 && fabs(outside / n_outside) < 1e-3,
                      "%s: %g and %g", text, inside / n_inside, outside / n_outside);
            cr_assert_eq(run.out.beam.kind, TS_BEAM_PARALLEL);
            ts_test_run_clear(&run);
            ts_test_scene_clear(&scene);
        }
}

Test(fbp_fan, refuses_what_it_cannot_reconstruct)
{
    static const struct {
        struct scan_case scan;
        const char *assignments, *code;
    } wrong[] = {
        {{"", 1, 40, 29, .beam = SCAN_FLAT, .arc = 200}, "", "short-scan"},
        {{"", 1, 40, 29, .beam = SCAN_ARC, .arc = 180}, "", "short-scan"},
        {{"", 1, 40, 29, .beam = SCAN_ARC}, "pixel_size=3", "source-inside"},
        {{"", 1, 40, 29, .beam = SCAN_ARC}, "center=29", "center-outside"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ts_image in = ts_test_scan(&wrong[i].scan, 5);
        struct stage_run run;
        ts_test_refuses(&fbp_stage, wrong[i].assignments, &in, NULL, wrong[i].code, "");
        if (i == 0) {
            cr_assert_eq(ts_test_run(&run, &fbp_stage, "gaps=accept", &in, NULL, 0, 1), TS_OK);
            ts_test_run_clear(&run);
        }
        free(in.data);
    }
}
