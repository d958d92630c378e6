/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/stitch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/fourier.h"
#include "stages/scan/center.h"
#include "tests/stages/scan/stitch_oracle.h"
#include "tests/support/scan_check.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(stitch);

TEST_ON_BOTH(stitch, agrees_with_the_oracle)
{
    static const struct scan_case cases[] = {
        {"", 3, 40, 23, .arc = 360, .center = -8},
        {"blend=cosine", 2, 40, 24, .arc = 360, .center = -8.25},
        {"interpolation=cubic", 2, 38, 24, .arc = 360, .center = 9.1},
        {"interpolation=cubic blend=cosine detectors=33", 5, 36, 23, .arc = 360, .center = 7.3},
        {"detectors=9", 2, 20, 23, .arc = 360, .center = -9.5},
        {"detectors=1", 1, 20, 23, .arc = 360, .center = 3},
        {"detectors=30", 3, 20, 23, .arc = 360},
        {"", 1, 20, 23, .arc = 360, .center = 0.25},
        {"", 1, 20, 23, .arc = 360, .center = -11},
        {"", 1, 20, 23, .arc = 360, .center = 11},
        {"center=1.7", 1, 20, 23, .arc = 360},
        {"", 2, 40, 1, .arc = 360},
        {"", 2, 40, 2, .arc = 360, .center = 0.4},
        {"", 2, 4, 7, .arc = 360, .center = 2},
        {"between=interpolate", 3, 41, 23, .arc = 360, .center = -8.3},
        {"between=interpolate interpolation=cubic", 2, 7, 131, .arc = 360, .center = 50.4},
        {"", 1, 41, 23, .arc = 369, .center = -8}, /* the end point as well */
        {"", 2, 80, 23, .arc = 720, .center = -8},
        {"", 19, 6, 300, .arc = 360, .center = -120.6},
        {"", 1, 2050, 5, .arc = 360, .center = 1},
        {"", 2, 118, 23, .arc = 354,
         .center = -8}, /* two views lost, then one, which is interpolated */
        {"interpolation=cubic", 2, 39, 23, .arc = 351, .center = 5.3},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_scan_check(&stitch_stage, ts_stitch_oracle, cases, n), n);
}

/* Every type gives what the same numbers as floats give, to the bit. */
TEST_ON_BOTH(stitch, takes_every_dtype)
{
    size_t compared = 0;
    for (int dtype = TS_U8; dtype < TS_F32; dtype++) {
        struct ts_image in = ts_test_image(3, 14, 37, dtype, VALUES_RANDOM, 5), floats;
        ts_test_sinogram(&in);
        in.axes[1].spacing *= 2;
        floats = in;
        floats.dtype = TS_F32;
        floats.data = malloc(ts_image_bytes(&floats));
        ts_load_f32(floats.data, in.data, in.dtype, ts_image_count(&in));
        struct ts_image is = ts_test_output(&stitch_stage, "center=5.3", &in),
                        expected = ts_test_output(&stitch_stage, "center=5.3", &floats);
        cr_assert_eq(is.dtype, TS_F32);
        cr_assert(!memcmp(is.data, expected.data, ts_image_bytes(&is)), "%s",
                  ts_dtype_name(in.dtype));
        compared++;
        free(is.data);
        free(expected.data);
        free(in.data);
        free(floats.data);
    }
    cr_assert_eq(compared, 6);
}

/* Views of the first half turn that no opposite sees are copied, and those of the second where 2
 * center is whole. */
TEST_ON_BOTH(stitch, copies_what_one_view_sees)
{
    static const struct scan_case which = {"", 2,          12,
                                           20, .arc = 360, .center = -6.5}; /* axis at 3 */
    struct ts_image in = ts_test_scan(&which, 5);
    struct ts_image out = ts_test_output(&stitch_stage, "", &in);
    cr_assert_eq(out.axes[1].n, 6);
    cr_assert_eq(out.axes[1].first, 7);
    cr_assert_eq(out.axes[1].spacing, 30);
    cr_assert_eq(out.axes[2].n, 39);
    cr_assert_eq(out.axes[2].spacing, 0.5);
    cr_assert_eq(-out.axes[2].first / out.axes[2].spacing, 19); /* 3 + 16 */
    cr_assert_eq(out.quantity, TS_LINE_INTEGRAL);
    for (int z = 0; z < 2; z++)
        for (int v = 0; v < 6; v++) {
            const float *row = (const float *)out.data + (z * 6 + v) * 39,
                        *own = (const float *)in.data + (z * 12 + v) * 20,
                        *opposite = own + (size_t)6 * 20;
            for (int k = 0; k < 39; k++) {
                const int d = k - 16;
                if (d > 6)
                    cr_assert_eq(row[k], d < 20 ? own[d] : 0);
                else if (d < 0)
                    cr_assert_eq(row[k], 6 - d < 20 ? opposite[6 - d] : 0);
            }
            cr_assert_eq(row[16 + 3], 0.5F * own[3] + 0.5F * opposite[3]);
        }
    in.quantity = TS_TRANSMISSION;
    free(out.data);
    out = ts_test_output(&stitch_stage, "", &in);
    cr_assert_eq(((const float *)out.data)[0], 1); /* air */
    cr_assert_eq(out.quantity, TS_TRANSMISSION);
    free(out.data);
    free(in.data);
}

/* A disc beside the axis as a parallel beam sees it, and the axis on detector `center`; in the
 * middle of each detector. */
static void draw(struct ts_image *image, double center)
{
    const struct ts_axis *view = &image->axes[1];
    const double radius = 12, x = 9, y = -14;
    image->axes[2].first = -center * image->axes[2].spacing;
    for (int64_t v = 0; v < view->n; v++) {
        const double theta =
            (view->positions ? view->positions[v] : view->first + (double)v * view->spacing) *
            M_PI / 180;
        for (int64_t d = 0; d < image->axes[2].n; d++) {
            const double s =
                ((double)d - center) * image->axes[2].spacing - x * cos(theta) - y * sin(theta);
            ((float *)image->data)[v * image->axes[2].n + d] =
                s * s < radius * radius ? (float)(2 * sqrt(radius * radius - s * s)) : 0;
        }
    }
}

static double farthest(const struct ts_image *a, const struct ts_image *b)
{
    double most = 0;
    for (size_t i = 0; i < ts_image_count(a); i++)
        most = fmax(
            most, fabs((double)((const float *)a->data)[i] - (double)((const float *)b->data)[i]));
    return most;
}

/* Angles that rise or fall, from anywhere, wrapped or not, give what a detector wide enough sees
 * over half a turn. */
TEST_ON_BOTH(stitch, is_the_scan_of_a_wide_detector)
{
    static double wrapped[90], uneven[90];
    for (int v = 0; v < 90; v++) {
        wrapped[v] = 4 * v + 100 < 180 ? 4 * v + 100 : 4 * v - 260;
        uneven[v] = 4 * v + sin((v % 45) * 7) + (v < 45 ? 0 : 0.1);
    }
    const struct {
        double first, step, center;
        int64_t n;
        const double *positions;
    } scans[] = {{0, 4, 9.5, 90, NULL},     {-180, 4, 70, 90, NULL},   {33, -4, 9, 90, NULL},
                 {360, -4, 63.5, 91, NULL}, {0, 0, 11.5, 90, wrapped}, {0, 4, 68, 180, NULL},
                 {0, 0, 8.5, 90, uneven}};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        static const struct scan_case which = {"", 1, 180, 80, .arc = 360}, wide = {"", 1, 45, 159};
        struct ts_image in = ts_test_scan(&which, 5), expected = ts_test_scan(&wide, 5);
        in.axes[1].n = scans[i].n;
        in.axes[1].first = expected.axes[1].first = scans[i].first;
        in.axes[1].spacing = expected.axes[1].spacing = scans[i].step;
        in.axes[1].positions = expected.axes[1].positions = scans[i].positions;
        draw(&in, scans[i].center);
        struct ts_image out = ts_test_output(&stitch_stage, "", &in);
        cr_assert_eq(out.axes[1].n, 45);
        cr_assert_eq(out.axes[1].first, scans[i].first);
        cr_assert_eq(out.axes[1].positions, scans[i].positions);
        cr_assert_leq(fabs(-out.axes[2].first / 0.5 - 79), 0.5);
        draw(&expected, -out.axes[2].first / out.axes[2].spacing);
        const double error = farthest(&out, &expected);
        cr_assert(error < (scans[i].positions == uneven ? 1.5 : 1e-5), "scan %zu: %g", i, error);
        free(out.data);
        free(in.data);
        free(expected.data);
    }
}

/* Views that are lost at the end, in the middle, of a turn either way, and a turn and a bit. The
 * result has the angles that its axis says. */
TEST_ON_BOTH(stitch, a_few_views_may_be_lost)
{
    static double middle[87], straddling[87], first_half[86], single[88];
    for (int v = 0, a = 0, b = 0, c = 0, d = 0; v < 90; v++) {
        if (v < 62 || v > 64)
            middle[a++] = 4 * v;
        if (v < 44 || v > 46)
            straddling[b++] = 50 - 4 * v;
        if (v < 20 || v > 23)
            first_half[c++] = 4 * v - 100;
        if (v != 20 && v != 70)
            single[d++] = 4 * v;
    }
    const struct {
        double first, step;
        int64_t n, views;
        const double *positions;
        double error;
        bool warns;
    } scans[] = {{0, 4, 87, 42, NULL, 1e-5, true},        {33, -4, 87, 42, NULL, 1e-5, true},
                 {0, 0, 87, 42, middle, 1e-5, true},      {0, 0, 87, 42, straddling, 1e-5, true},
                 {0, 0, 86, 41, first_half, 1e-5, false}, {0, 0, 88, 44, single, 4, false},
                 {-30, 4, 92, 45, NULL, 1e-5, false},     {10, -4, 94, 45, NULL, 1e-5, false}};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        static const struct scan_case which = {"", 1, 94, 80, .arc = 360}, wide = {"", 1, 45, 159};
        struct ts_image in = ts_test_scan(&which, 5), expected = ts_test_scan(&wide, 5);
        struct stage_run run;
        in.axes[1].n = scans[i].n;
        in.axes[1].first = scans[i].first;
        in.axes[1].spacing = scans[i].step;
        in.axes[1].positions = scans[i].positions;
        draw(&in, 9.5);
        cr_assert_eq(ts_test_run(&run, &stitch_stage, "", &in, NULL, 0, 2), TS_OK, "scan %zu", i);
        cr_expect_eq(run.out.axes[1].n, scans[i].views, "scan %zu: %lld views", i,
                     (long long)run.out.axes[1].n);
        cr_expect_eq(ts_test_record(run.diag, "views-lost") != NULL, scans[i].warns, "scan %zu", i);
        expected.axes[1] = run.out.axes[1];
        draw(&expected, -run.out.axes[2].first / run.out.axes[2].spacing);
        const double error = farthest(&run.out, &expected);
        cr_expect(error < scans[i].error, "scan %zu: %g", i, error);
        ts_test_run_clear(&run);
        free(in.data);
        free(expected.data);
    }
}

/* A disc of 0.02 / mm nearly as wide as the enlarged field, off the axis, with the axis at 20.3 of
 * 120 detectors. */
TEST_ON_BOTH(stitch, gives_back_the_disc_of_half_an_acquisition)
{
    enum { VIEWS = 400, N = 120 };
    static const struct scan_case which = {"", 1, VIEWS, N, .arc = 360};
    const double center = 20.3, radius = 47;
    static const struct stage *const reconstructions[] = {&fbp_stage, &fourier_stage};
    struct ts_image in = ts_test_scan(&which, 5);
    for (int v = 0; v < VIEWS; v++)
        for (int d = 0; d < N; d++) {
            const double s =
                ((double)d - center) * 0.5 - 2 * cos((7 + 360.0 * v / VIEWS) * M_PI / 180);
            ((float *)in.data)[v * N + d] =
                s * s < radius * radius ? (float)(0.04 * sqrt(radius * radius - s * s)) : 0;
        }
    struct stage_run given;
    cr_assert_eq(ts_test_run(&given, &center_stage, "center=20.3", &in, NULL, 0, 2), TS_OK);
    struct ts_image axis = in;
    axis.axes[2] = given.context.out.axes[2];
    struct ts_image joined = ts_test_output(&stitch_stage, "", &axis);
    for (size_t i = 0; i < 2; i++) {
        struct ts_image slice = ts_test_output(reconstructions[i], "", &joined);
        const int64_t side = slice.axes[1].n;
        double sum = 0, most = 0, n = 0;
        for (int64_t y = 0; y < side; y++)
            for (int64_t x = 0; x < side; x++) {
                const double dx = ((double)x - 0.5 * (double)(side - 1)) * 0.5,
                             dy = ((double)y - 0.5 * (double)(side - 1)) * 0.5;
                if (hypot(dx - 2, dy) > 0.8 * radius)
                    continue;
                const double error = ((const float *)slice.data)[y * side + x] / 0.02 - 1;
                sum += error;
                n++;
                most = fmax(most, fabs(error));
            }
        cr_assert(n > 17000 && fabs(sum / n) < 0.001 && most < 0.005,
                  "%s: mean %g, most %g over %g pixels", reconstructions[i]->name, sum / n, most,
                  n);
        free(slice.data);
    }
    ts_test_run_clear(&given);
    free(joined.data);
    free(in.data);
}

/* One that is NaN reaches no sample that is not made of it. */
TEST_ON_BOTH(stitch, keeps_nan_where_it_is)
{
    static const struct scan_case which = {"", 1, 8, 20, .arc = 360, .center = -6.5};
    struct ts_image in = ts_test_scan(&which, 5);
    ((float *)in.data)[6 * 20 + 12] = NAN;
    struct ts_image out = ts_test_output(&stitch_stage, "", &in);
    for (int i = 0; i < 4 * 39; i++)
        cr_assert_eq(isnan(((const float *)out.data)[i]), i == 2 * 39 + 6 - 12 + 16);
    free(out.data);
    free(in.data);
}

Test(stitch, refuses_what_it_cannot_join)
{
    static double radians[40], jumbled[40], gap[40];
    static const double uneven[9] = {0, 1, 3};
    for (int v = 0; v < 40; v++) {
        radians[v] = 2 * M_PI * v / 40;
        jumbled[v] = 9 * (v ^ 1);
        gap[v] = 9 * v + (v > 20 ? 2 : 0);
    }
    static const struct {
        struct scan_case scan;
        const char *assignments, *code, *words;
        const double *angles;
    } wrong[] = {
        {{"", 1, 40, 9, .arc = 360, .beam = SCAN_ARC}, "", "stage-beam", "fan-arc"},
        {{"", 1, 40, 9}, "", "views-opposite", "view 0 at 7 degrees has no opposite"},
        {{"", 1, 40, 9, .arc = 351},
         "",
         "views-between",
         "the opposite of view 0 at 7 degrees lies between view 20"},
        {{"", 1, 39, 9, .arc = 351}, "between=refuse", "views-between", "between: interpolate"},
        {{"", 1, 41, 9, .arc = 360},
         "",
         "views-between",
         "within a tenth of a step, 0.857143 degrees"},
        {{"", 1, 40, 9, .arc = 300},
         "between=interpolate",
         "views-opposite",
         "a whole turn was expected"},
        {{"", 1, 40, 9, .arc = 360},
         "center=-0.5",
         "center-outside",
         "-0.5 is outside the detector, [0, 8]"},
        {{"", 1, 40, 9, .arc = 360}, "center=8.5", "center-outside", ""},
        {{"", 1, 40, 9, .arc = 360},
         "detectors=18",
         "detectors-empty",
         "more than two views of 9 detector pixels can fill, 17"},
        {{"", 1, 40, 9}, "", "angles-in-radians", "", radians},
        {{"", 1, 40, 9},
         "",
         "views-order",
         "view 4, at 45 degrees, comes after view 3, at 18",
         jumbled},
        {{"", 1, 40, 9},
         "",
         "views-between",
         "view 1 at 9 degrees lies between view 20 at 180 and view 21 at 191",
         gap},
        {{"", 1, 1, 9}, "", "one-direction", "", NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ts_image in = ts_test_scan(&wrong[i].scan, 5);
        in.axes[1].positions = wrong[i].angles;
        ts_test_refuses(&stitch_stage, wrong[i].assignments, &in, NULL, wrong[i].code,
                        wrong[i].words);
        free(in.data);
    }
    static const struct scan_case good = {"", 1, 40, 9, .arc = 360};
    struct ts_image in = ts_test_scan(&good, 5);
    in.axes[2].positions = uneven;
    ts_test_refuses(&stitch_stage, "", &in, NULL, "detectors-uneven", "");
    in.axes[2].positions = NULL;
    in.axes[1].unit = "";
    ts_test_refuses(&stitch_stage, "", &in, NULL, "angles-missing", "");
    in.axes[1].unit = "degree";
    in.quantity = TS_COUNTS;
    ts_test_refuses(&stitch_stage, "", &in, NULL, "stage-quantity", "flat_field");
    free(in.data);
}

/* A disc off the axis, of which the detector sees a little more than half: its center is found, and
 * its slice is right, though views are lost. */
TEST_ON_BOTH(stitch, half_an_acquisition_that_lacks_views_is_found_and_joined)
{
    static double middle[177], jittered[180];
    enum { N = 96 };
    const double axis = 14.3, radius = 38;
    uint64_t seed = 5;
    for (int v = 0, a = 0; v < 180; v++) {
        if (v < 130 || v > 132)
            middle[a++] = 2 * v;
        jittered[v] = 2 * v + 0.6 * (ts_random_unit(&seed) - 0.5);
    }
    const struct {
        int64_t n;
        double first, step;
        const double *positions;
        const char *assignments;
    } scans[] = {{180, 7, 2, NULL, ""},
                 {178, 0, 2, NULL, ""},
                 {178, 20, -2, NULL, ""},
                 {177, 0, 0, middle, ""},
                 {180, 0, 0, jittered, "between=interpolate"}};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        static const struct scan_case which = {"", 1, 180, N, .arc = 360};
        struct ts_image in = ts_test_scan(&which, 5);
        struct stage_run found;
        in.axes[1].n = scans[i].n;
        in.axes[1].first = scans[i].first;
        in.axes[1].spacing = scans[i].step;
        in.axes[1].positions = scans[i].positions;
        for (int64_t v = 0; v < in.axes[1].n; v++)
            for (int d = 0; d < N; d++) {
                const double theta = ts_view_degree(&in.axes[1], v) * M_PI / 180;
                const double s = (d - axis) * 0.5 - 2 * cos(theta),
                             t = (d - axis) * 0.5 - 6 * cos(theta) - 3 * sin(theta);
                ((float *)in.data)[v * N + d] =
                    (float)((s * s < radius * radius ? 0.04 * sqrt(radius * radius - s * s) : 0) +
                            (t * t < 25 ? 0.04 * sqrt(25 - t * t) : 0));
            }
        cr_assert_eq(ts_test_run(&found, &center_stage, "method=overlap", &in, NULL, 0, 2), TS_OK,
                     "scan %zu", i);
        const double center = ts_test_table_at(&found, "center", 0);
        cr_expect_leq(fabs(center - axis), 0.1, "scan %zu: center %g", i, center);
        in.axes[2].first = -axis * in.axes[2].spacing;
        struct ts_image joined = ts_test_output(&stitch_stage, scans[i].assignments, &in),
                        slice = ts_test_output(&fbp_stage, "", &joined);
        const int64_t side = slice.axes[1].n;
        double most = 0;
        for (int64_t y = 0; y < side; y++)
            for (int64_t x = 0; x < side; x++) {
                const double dx = ((double)x - 0.5 * (double)(side - 1)) * 0.5,
                             dy = (0.5 * (double)(side - 1) - (double)y) * 0.5;
                if (hypot(dx - 2, dy) < 0.8 * radius && fabs(hypot(dx - 6, dy - 3) - 5) > 2)
                    most = fmax(most, fabs(((const float *)slice.data)[y * side + x] -
                                           (hypot(dx - 6, dy - 3) < 5 ? 0.04 : 0.02)));
            }
        cr_expect_leq(most, 0.004, "scan %zu: error %g", i, most);
        ts_test_run_clear(&found);
        free(slice.data);
        free(joined.data);
        free(in.data);
    }
}
