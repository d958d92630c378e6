/* SPDX-License-Identifier: Apache-2.0
 *
 * Half acquisition: a whole turn with the axis near an end of the detector, found where both halves
 * see the object.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/reconstruction.h"
#include "stages/scan/center.h"
#include "stages/scan/stitch.h"
#include "tests/support/disc_scan.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(center_overlap);

enum { N = 120 };

struct disc {
    double x, y, radius, value; /* detectors */
};

/* A large one about the axis with others within. */
static void draw(struct ts_image *image, double center, const struct disc *discs, int n_discs)
{
    const int64_t n = image->axes[2].n;
    for (int64_t i = 0; i < image->axes[1].n * n; i++) {
        const int64_t view = i / n;
        const double theta =
            (image->axes[1].first + (double)view * image->axes[1].spacing) * M_PI / 180;
        double sum = 0;
        for (int k = 0; k < n_discs; k++) {
            const double s =
                (double)(i % n) - center - discs[k].x * cos(theta) - discs[k].y * sin(theta);
            sum += 2 * discs[k].value * sqrt(fmax(0, discs[k].radius * discs[k].radius - s * s));
        }
        ((float *)image->data)[i] = (float)sum;
    }
}

static int random_discs(uint64_t seed, double size, struct disc discs[12])
{
    discs[0] = (struct disc){1, -2, size, 0.01};
    for (int i = 1; i < 12; i++) {
        const double radius = 0.8 * size * sqrt(ts_random_unit(&seed)),
                     angle = 2 * M_PI * ts_random_unit(&seed);
        discs[i] = (struct disc){radius * cos(angle), radius * sin(angle),
                                 size * (0.03 + 0.1 * ts_random_unit(&seed)),
                                 0.03 * ts_random_unit(&seed) - 0.01};
    }
    return 12;
}

static double noise(uint64_t *seed)
{
    return sqrt(-2 * log(1 - ts_random_unit(seed))) * cos(2 * M_PI * ts_random_unit(seed));
}

TEST_ON_BOTH(center_overlap, finds_an_axis_near_either_end)
{
    static const double centers[] = {20.3, 99.7, 8.5, 111, 40.15, 59.5};
    static const double sizes[] = {0.6, 0.95, 1.4}; /* of what the far side sees */
    for (size_t c = 0; c < sizeof centers / sizeof *centers; c++)
        for (int s = 0; s < 3; s++) {
            struct disc discs[12];
            struct stage_run run;
            struct ts_image in = ts_disc_scan(1, 240, N, 13, s == 1 ? -1.5 : 1.5, TS_F32);
            uint64_t seed = 7 * c + (uint64_t)s;
            const double reach = fmax(centers[c], N - 1 - centers[c]);
            draw(&in, centers[c], discs, random_discs(seed, sizes[s] * reach, discs));
            for (int i = 0; i < 240 * N; i++)
                ((float *)in.data)[i] += (float)(0.01 * noise(&seed));
            cr_assert_eq(ts_test_run(&run, &center_stage, "method=overlap", &in, NULL, 0, 2),
                         TS_OK);
            const double found = ts_test_table_at(&run, "center", 0),
                         confidence = ts_test_table_at(&run, "confidence", 0);
            cr_assert_leq(fabs(found - centers[c]), 0.1, "%g, size %g: %g", centers[c], sizes[s],
                          found);
            cr_assert(confidence > 0.9 && confidence <= 1, "%g", confidence);
            cr_assert_float_eq(-run.context.out.axes[2].first / run.context.out.axes[2].spacing,
                               found, 1e-9);
            cr_assert_eq(ts_diag_count(run.diag), 0, "%s",
                         ts_diag_count(run.diag) ? ts_diag_get(run.diag, 0)->message : "");
            ts_test_run_clear(&run);
            free(in.data);
        }
}

/* Half acquisition without a method: the axis is found by overlap, near either end, of objects that
 * the far end cuts off as well, of noise and of an odd number of views. Where the parameters keep
 * the search near the middle a warning says which end, and names no wrong number; its hint is
 * carried out. */
TEST_ON_BOTH(center_overlap, is_taken_if_one_end_cuts_off_more)
{
    static const double centers[] = {16.3, 99.7, 11.5, 105}, sizes[] = {0.7, 0.95, 1.1},
                        noises[] = {0, 0.01, 0.05};
    for (int i = 0; i < 36; i += ts_test_device ? 7 : 1) {
        const double center = centers[i % 4], reach = fmax(center, N - 1 - center);
        const int64_t n_views = i % 2 ? 240 : 181;
        struct disc discs[12];
        struct stage_run run;
        struct ts_image in = ts_disc_scan(1, n_views, N, 13, 360.0 / (double)n_views, TS_F32);
        uint64_t seed = 100 + (uint64_t)i;
        draw(&in, center, discs, random_discs(seed, sizes[i / 4 % 3] * reach, discs));
        for (int64_t k = 0; k < n_views * N; k++)
            ((float *)in.data)[k] += (float)(noises[i / 12] * noise(&seed));
        cr_assert_eq(ts_test_run(&run, &center_stage, "", &in, NULL, 0, 2), TS_OK);
        const double found = ts_test_table_at(&run, "center", 0);
        cr_expect(fabs(found - center) < 0.2 && ts_diag_count(run.diag) == 0, "%g, size %g: %g, %s",
                  center, sizes[i / 4 % 3], found,
                  ts_diag_count(run.diag) ? ts_diag_get(run.diag, 0)->message : "");
        ts_test_run_clear(&run);
        if (ts_test_run(&run, &center_stage, "search=20", &in, NULL, 0, 2) == TS_OK &&
            ts_test_table_at(&run, "confidence", 0) > ts_test_table_at(&run, "noise", 0)) {
            const struct ts_diag_record *record = ts_test_record(run.diag, "center-truncated");
            cr_expect(record &&
                          strstr(record->message, center < 60 ? "its first end" : "its last end") &&
                          !strchr(record->message, '.') &&
                          strstr(record->hint, "`method: overlap`") && ts_diag_count(run.diag) == 1,
                      "%g: %s", center, record ? record->message : "no warning");
        }
        ts_test_run_clear(&run);
        cr_assert_eq(ts_test_run(&run, &center_stage, "method=overlap", &in, NULL, 0, 2), TS_OK);
        cr_expect(fabs(ts_test_table_at(&run, "center", 0) - center) < 0.2, "%g: %g", center,
                  ts_test_table_at(&run, "center", 0));
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* The measure of every trial against its definition, worked out from the means first. */
TEST_ON_BOTH(center_overlap, measures_the_concordance)
{
    struct ts_image in = ts_test_image(1, 20, 23, TS_F32, VALUES_RANDOM, 5);
    struct stage_run run;
    const float *p = in.data;
    in.quantity = TS_LINE_INTEGRAL;
    in.axes[1] = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = 20, .spacing = 18, .first = 4, .unit = "degree"};
    in.axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR, .n = 23, .spacing = 0.5, .unit = "mm"};
    cr_assert_eq(ts_test_run(&run, &center_stage, "method=overlap search=8", &in, NULL, 0, 2),
                 TS_OK);
    const struct ts_image *measure = ts_test_table(&run, "measure");
    cr_assert_eq(measure->axes[0].n, 33);
    for (int64_t i = 0; i < 33; i++) {
        const int64_t sum = 22 + i - 16; /* 2 c */
        double n = 0, mean_p = 0, mean_q = 0, far = 0, covariance = 0, spread = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int v = 0; v < 10; v++)
                for (int64_t d = 0; d < 23; d++) {
                    if (sum - d < 0 || sum - d > 22)
                        continue;
                    const double x = (double)p[v * 23 + d], y = (double)p[(v + 10) * 23 + sum - d];
                    if (pass == 0) {
                        n++;
                        mean_p += x;
                        mean_q += y;
                        continue;
                    }
                    covariance += (x - mean_p / n) * (y - mean_q / n) / n;
                    spread += (pow(x - mean_p / n, 2) + pow(y - mean_q / n, 2)) / n;
                }
        far = pow((mean_p - mean_q) / n, 2);
        cr_assert_float_eq(ts_test_table_at(&run, "measure", i), 2 * covariance / (spread + far),
                           1e-9);
        cr_assert_eq(ts_test_table_at(&run, "trial_center", i), 0.5 * (double)sum);
    }
    ts_test_run_clear(&run);
    free(in.data);
}

/* White noise is no object. */
Test(center_overlap, noise_is_uncertain)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct ts_image in = ts_disc_scan(1, 40, 64, 0, 9, TS_F32);
        struct stage_run run;
        uint64_t state = seed;
        for (int i = 0; i < 40 * 64; i++)
            ((float *)in.data)[i] = (float)noise(&state);
        const enum ts_status status =
            ts_test_run(&run, &center_stage, "method=overlap", &in, NULL, 0, 2);
        cr_assert(ts_diag_count(run.diag) > 0);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code,
                         status == TS_OK ? "center-uncertain" : "center-edge");
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* The hint for a scan of a whole turn names this method where another one ends at the outermost
 * trial. */
Test(center_overlap, is_named_where_the_best_trial_is_the_outermost)
{
    static const char *const methods[] = {"search=8", "search=8 method=opposite"};
    for (int halves = 1; halves <= 2; halves++)
        for (int i = 0; i < 2; i++) {
            struct ts_image in = ts_disc_scan(1, 90 * halves, 64, 0, 2, TS_F32);
            struct stage_run run;
            ts_disc_scan_draw(&in, 0, 45);
            cr_assert_eq(ts_test_run(&run, &center_stage, methods[i], &in, NULL, 0, 2),
                         TS_BAD_INPUT);
            const struct ts_diag_record *record = ts_diag_get(run.diag, 0);
            cr_assert_str_eq(record->code, "center-edge");
            cr_assert_eq(strstr(record->hint, "method: overlap") != NULL, halves == 2, "%d: %s", i,
                         record->hint);
            ts_test_run_clear(&run);
            free(in.data);
        }
}

/* From a scan of a disc nearly as wide as the enlarged field to its value. */
TEST_ON_BOTH(center_overlap, leads_to_the_disc_through_stitch_and_fbp)
{
    static const struct disc discs[] = {{3, -2, 93, 0.01}, {20, 15, 9, 0.002}, {-30, 8, 7, 0.003}};
    struct ts_image in = ts_disc_scan(1, 900, N, 0, 0.4, TS_F32), axis;
    struct stage_run run;
    draw(&in, 20.3, discs, 3);
    cr_assert_eq(ts_test_run(&run, &center_stage, "method=overlap", &in, NULL, 0, 2), TS_OK);
    axis = in;
    axis.axes[2] = run.context.out.axes[2];
    struct ts_image joined = ts_test_output(&stitch_stage, "", &axis),
                    slice = ts_test_output(&fbp_stage, "filter=hann", &joined);
    const int64_t side = slice.axes[1].n;
    double most = 0;
    int64_t n = 0;
    for (int64_t y = 0; y < side; y++)
        for (int64_t x = 0; x < side; x++) {
            const double dx = (double)x - 0.5 * (double)(side - 1),
                         dy = 0.5 * (double)(side - 1) - (double)y;
            if (hypot(dx - 3, dy + 2) > 0.8 * 93 || hypot(dx - 20, dy - 15) < 13 ||
                hypot(dx + 30, dy - 8) < 11)
                continue;
            most = fmax(most, fabs(((const float *)slice.data)[y * side + x] * 0.7 / 0.01 - 1));
            n++;
        }
    cr_assert(n > 15000 && most < 0.005, "%g over %lld pixels", most, (long long)n);
    ts_test_run_clear(&run);
    free(joined.data);
    free(slice.data);
    free(in.data);
}

Test(center_overlap, needs_a_whole_turn)
{
    struct ts_image in = ts_disc_scan(1, 40, 64, 0, 4.5, TS_F32);
    ts_disc_scan_draw(&in, 0, 30);
    ts_test_refuses(&center_stage, "method=overlap", &in, NULL, "views-turn", "a whole turn");
    in.axes[1].spacing = 9;
    ts_test_refuses(&center_stage, "method=overlap search=31", &in, NULL, "search-outside", "");
    ts_test_refuses(&center_stage, "method=overlap truncated=keep", &in, NULL, "parameter-unused",
                    "");
    struct stage_run run;
    in.axes[1] =
        (struct ts_axis){.kind = TS_AXIS_VIEW, .n = 39, .spacing = 360.0 / 39, .unit = "degree"};
    ts_disc_scan_draw(&in, 0, 30); /* an odd number: opposites between views */
    cr_assert_eq(ts_test_run(&run, &center_stage, "method=overlap", &in, NULL, 0, 2), TS_OK);
    cr_assert_float_eq(ts_test_table_at(&run, "center", 0), 30, 0.3);
    ts_test_run_clear(&run);
    free(in.data);
}
