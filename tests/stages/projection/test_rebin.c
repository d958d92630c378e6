/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/projection/rebin.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/projection/rebin_oracle.h"
#include "tests/support/radon_scene.h"
#include "tests/support/scan_check.h"

TestSuite(rebin);

TEST_ON_BOTH(rebin, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"", 3, 40, 23, .beam = SCAN_ARC},
        {"", 3, 40, 23, .beam = SCAN_FLAT},
        {"views=7 start=-31 detectors=41 detector_spacing=0.31", 1, 37, 31, .beam = SCAN_FLAT,
         .center = 2.3},
        {"views=60", 1, 37, 31, .beam = SCAN_ARC, .center = -3.4},
        {"", 2, 53, 29, .beam = SCAN_FLAT, .arc = 261},
        {"start=13", 2, 53, 29, .beam = SCAN_ARC, .arc = 233, .center = 1.2},
        {"detectors=300 detector_spacing=0.5", 1, 30, 19, .beam = SCAN_FLAT}, /* past the source */
        {"", 1, 30, 1, .beam = SCAN_FLAT},
        {"", 19, 12, 17, .beam = SCAN_FLAT},
        {"views=5", 1, 2053, 5, .beam = SCAN_ARC},
        {"detectors=61", 2, 40, 31, .beam = SCAN_FLAT,
         .center = 11.3}, /* most rays are seen from one end */
        {"detectors=61", 1, 40, 31, .beam = SCAN_ARC, .center = -13.7},
        {"detectors=91 detector_spacing=0.11", 1, 40, 9, .beam = SCAN_FLAT,
         .center = 0.3}, /* beyond both ends */
        {"detectors=91 detector_spacing=0.11", 1, 40, 9, .beam = SCAN_ARC, .center = -0.6},
        {"detectors=41 detector_spacing=0.11", 1, 30, 1, .beam = SCAN_FLAT, .center = 0.2},
        {"detectors=61", 1, 53, 31, .beam = SCAN_FLAT, .center = 9.1, .arc = 270},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_scan_check(&rebin_stage, ts_rebin_oracle, cases, n), n);
}

/* The chords of an ellipse, off center and turned, as a parallel beam sees them. */
TEST_ON_BOTH(rebin, ellipses_have_their_chords)
{
    static const struct ellipse ellipse = {9, -14, 17, 8, 30, 1};
    static const char *const scans[] = {"beam=fan-arc", "beam=fan-flat",
                                        "beam=fan-arc arc=250 start=-40",
                                        "beam=fan-flat arc=-250 center=80"};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        struct radon_scene scene;
        char text[160];
        snprintf(
            text, sizeof text,
            "views=720 detectors=170 detector_spacing=1 source_axis=120 source_detector=200 %s",
            scans[i]);
        ts_test_scene_make(&scene, text, 130, 170, 0.5, 0.4);
        ts_test_ellipse_draw(&scene.in, &ellipse);
        ts_test_scene_project(&scene);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &rebin_stage, "views=36 detectors=120 detector_spacing=0.6",
                                 &scene.out, NULL, 0, 1),
                     TS_OK);
        double square = 0, n = 0;
        for (int64_t v = 0; v < 36; v++)
            for (int64_t d = 0; d < 120; d++) {
                const double expected =
                    ts_test_ellipse_chord(&ellipse, 5 * (double)v, ((double)d - 59.5) * 0.6);
                square += pow(((const float *)run.out.data)[v * 120 + d] - expected, 2);
                n += expected > 0;
            }
        cr_assert(n > 500 && sqrt(square / n) < 0.35, "%s: rms %g over %g rays", scans[i],
                  sqrt(square / n), n);
        cr_assert_eq(run.out.beam.kind, TS_BEAM_PARALLEL);
        cr_assert_eq(run.out.quantity, TS_LINE_INTEGRAL);
        ts_test_run_clear(&run);
        ts_test_scene_clear(&scene);
    }
}

/* A fan over a whole turn, exact chords of a disc; 2 mm between detectors, 1 mm at the axis. */
static struct ts_image disc_scan(const struct ellipse *disc, enum ts_beam_kind beam, double center)
{
    const struct scan_case which = {"", 1, 720, 101, .beam = {beam, 300, 600}};
    struct ts_image in = ts_test_scan(&which, 1);
    in.axes[2].spacing = 2;
    in.axes[2].first = -2 * center;
    for (int64_t i = 0; i < 720 * 101; i++) {
        const int64_t view = i / 101;
        const double u = 2 * ((double)(i % 101) - center),
                     gamma = beam == TS_BEAM_FAN_ARC ? u / 600 : atan(u / 600);
        const double beta = in.axes[1].first + 0.5 * (double)view;
        ((float *)in.data)[i] =
            (float)ts_test_ellipse_chord(disc, beta + gamma * 180 / M_PI, 300 * sin(gamma));
    }
    return in;
}

/* Every sample within 1 %, but near the disc's edge, wherever the axis is. */
TEST_ON_BOTH(rebin, rays_seen_from_one_end_count_fully)
{
    static const struct ellipse disc = {6, -4, 45, 45, 0, 1};
    static const double centers[] = {15, 50, 84.6, 15.4, 3};
    static const enum ts_beam_kind beams[] = {TS_BEAM_FAN_FLAT, TS_BEAM_FAN_ARC};
    for (int c = 0; c < 10; c++) {
        const double center = centers[c / 2], reach = fmax(center, 100 - center) * 0.97;
        struct ts_image in = disc_scan(&disc, beams[c % 2], center);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &rebin_stage, "views=90 detectors=401 detector_spacing=0.25",
                                 &in, NULL, 0, 1),
                     TS_OK);
        int64_t n = 0;
        for (int64_t i = 0; i < 90 * 401; i++) {
            const int64_t view = i / 401;
            const double s = 0.25 * (double)(i % 401 - 200);
            const double expected = ts_test_ellipse_chord(&disc, 2 * (double)view, s);
            if (expected < 30 || fabs(s) > reach)
                continue;
            const double is = ((const float *)run.out.data)[i];
            cr_assert(fabs(is - expected) <= 0.01 * expected,
                      "axis at %g, view %lld, s = %g mm: %g, not %g", center, (long long)view, s,
                      is, expected);
            n++;
        }
        cr_assert(n > 25000, "axis at %g: %lld rays", center, (long long)n);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(rebin, rows_reach_as_far_as_the_longer_side)
{
    static const struct {
        struct scan_case scan;
        int64_t detectors;
    } cases[] = {{{"", 1, 40, 31, .beam = SCAN_FLAT}, 31},
                 {{"", 1, 40, 30, .beam = SCAN_ARC}, 30},
                 {{"", 1, 40, 1, .beam = SCAN_ARC}, 1},
                 {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = 10}, 51},
                 {{"", 1, 40, 31, .beam = SCAN_ARC, .center = -10.3}, 51},
                 {{"detectors=7", 1, 40, 31, .beam = SCAN_ARC, .center = -10.3}, 7},
                 {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = 5, .arc = 261}, 31}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_image in = ts_test_scan(&cases[i].scan, 5),
                        out = ts_test_output(&rebin_stage, cases[i].scan.assignments, &in);
        cr_assert_eq(out.axes[2].n, cases[i].detectors, "case %zu: %lld", i,
                     (long long)out.axes[2].n);
        free(out.data);
        free(in.data);
    }
}

Test(rebin, warns_of_missing_rays)
{
    static const struct {
        struct scan_case scan;
        const char *words; /* NULL: there is no warning */
    } cases[] = {
        {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = 10}, NULL},
        {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = 15}, NULL},
        {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = 16},
         "at detector pixel 31 of 0 to 30: rays within 0.499961 mm"},
        {{"", 1, 40, 31, .beam = SCAN_ARC, .center = -17, .arc = 300},
         "no view sees the rotation axis, at detector pixel -2"},
        {{"", 1, 40, 31, .beam = SCAN_FLAT, .arc = 261}, NULL},
        {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = -5, .arc = 261}, NULL},
        {{"", 1, 40, 31, .beam = SCAN_FLAT, .center = -10, .arc = 261},
         "some rays further than 2.49513 mm"},
        {{"", 1, 40, 31, .beam = SCAN_ARC, .center = 10, .arc = 261},
         "at detector pixel 25 of 0 to 30, is near an end"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ts_image in = ts_test_scan(&cases[i].scan, 5);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &rebin_stage, "", &in, NULL, 0, 1), TS_OK);
        cr_assert_eq(ts_diag_count(run.diag), cases[i].words != NULL, "case %zu", i);
        if (cases[i].words) {
            const struct ts_diag_record *record = ts_diag_get(run.diag, 0);
            cr_assert_eq(record->severity, TS_WARNING);
            cr_assert_str_eq(record->code, "rays-missing");
            cr_assert(strstr(record->message, cases[i].words), "%s", record->message);
            cr_assert(strstr(record->hint, "sirt"), "%s", record->hint);
        }
        ts_test_run_clear(&run);
        free(in.data);
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
