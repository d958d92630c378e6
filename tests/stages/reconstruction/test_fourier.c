/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/reconstruction/fourier.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/radon.h"
#include "stages/projection/reconstruction.h"
#include "tests/stages/reconstruction/fourier_oracle.h"
#include "tests/support/scan_check.h"
#include "tests/support/stage_run.h"

TestSuite(fourier);

#define FLOATS .dtypes = TS_DTYPE_BIT(TS_F32)

/* ---- against the oracle ---------------------------------------------------------------------- */

/* Slices that are no squares, coarser and finer than the detector in both directions: points of the
 * grid wrap around. */
TEST_ON_BOTH(fourier, agrees_with_the_oracle)
{
    static const struct stage_case cases[] = {
        {"", .nz = 3, .ny = 20, .nx = 17},
        {"filter=hann cutoff=0.7", .nz = 2, .ny = 31, .nx = 34, FLOATS},
        {"filter=none rows=17 columns=8", .nz = 2, .ny = 13, .nx = 23, FLOATS},
        {"filter=shepp rows=9 columns=14 pixel_size=0.31 row_spacing=0.47", .nz = 2, .ny = 13,
         .nx = 23, FLOATS},
        {"filter=cosine rows=12 columns=31 pixel_size=1.7 row_spacing=3.9", .nz = 1, .ny = 24,
         .nx = 40, FLOATS},
        {"filter=parzen center=3.3 columns=40", .nz = 5, .ny = 21, .nx = 19, FLOATS},
        {"filter=hamming", .values = VALUES_CT, .nz = 2, .ny = 40, .nx = 33,
         .dtypes = TS_DTYPE_BIT(TS_I16)},
        {"", .values = VALUES_CONSTANT, .nz = 4, .ny = 19, .nx = 16, .dtypes = TS_DTYPE_BIT(TS_U8)},
        {"", .values = VALUES_EXTREME, .nz = 3, .ny = 19, .nx = 16, .dtypes = TS_DTYPE_BIT(TS_I32)},
        {"", .nz = 17, .ny = 22, .nx = 15, FLOATS},
    };
    cr_assert_eq(
        ts_stage_check(&fourier_stage, ts_fourier_oracle, cases, sizeof cases / sizeof *cases),
        7 + 9);
}

/* A row's spectrum repeats itself beyond half a cycle a detector pixel, and a cutoff cuts the
 * middle out of it. */
TEST_ON_BOTH(fourier, interpolates_as_the_oracle)
{
    static const struct stage_case cases[] = {
        {"interpolation=sinc", .nz = 3, .ny = 20, .nx = 17, FLOATS},
        {"interpolation=linear cutoff=0.001", .nz = 2, .ny = 21, .nx = 33, FLOATS},
        {"interpolation=linear filter=none", .nz = 9, .ny = 15, .nx = 12, FLOATS},
        {"interpolation=sinc filter=none", .nz = 2, .ny = 15, .nx = 12, FLOATS},
        {"interpolation=linear cutoff=0.3 filter=hamming", .nz = 2, .ny = 21, .nx = 30, FLOATS},
        {"interpolation=sinc cutoff=0.5", .nz = 2, .ny = 21, .nx = 30, FLOATS},
        {"interpolation=sinc cutoff=0.501", .nz = 2, .ny = 21, .nx = 65, FLOATS},
        {"interpolation=linear cutoff=0.21", .nz = 2, .ny = 21, .nx = 33, FLOATS},
        {"interpolation=sinc cutoff=0.001", .nz = 2, .ny = 21, .nx = 33, FLOATS},
        {"interpolation=linear rows=9 columns=14 pixel_size=0.31 row_spacing=0.47", .nz = 2,
         .ny = 13, .nx = 23, FLOATS},
        {"interpolation=linear rows=12 columns=31 pixel_size=1.7 row_spacing=3.9", .nz = 1,
         .ny = 24, .nx = 40, FLOATS},
        {"interpolation=linear gaps=accept", .nz = 1, .ny = 1, .nx = 1, FLOATS},
        {"interpolation=sinc", .nz = 10, .ny = 5, .nx = 1, FLOATS},
        {"interpolation=linear", .nz = 11, .ny = 41, .nx = 2, FLOATS},
    };
    cr_assert_eq(
        ts_stage_check(&fourier_stage, ts_fourier_oracle, cases, sizeof cases / sizeof *cases), 14);
}

TEST_ON_BOTH(fourier, agrees_at_odd_sizes)
{
    static const struct stage_case cases[] = {
        {"gaps=accept", .nz = 1, .ny = 1, .nx = 1, FLOATS},
        {"", .nz = 11, .ny = 5, .nx = 1, FLOATS},
        {"gaps=accept", .nz = 2, .ny = 1, .nx = 37, FLOATS},
        {"", .nz = 3, .ny = 41, .nx = 1, FLOATS},
        {"gaps=accept", .nz = 7, .ny = 3, .nx = 2, FLOATS},
        {"rows=1 columns=1", .nz = 2, .ny = 8, .nx = 16, FLOATS},
        {"rows=80 columns=3", .nz = 2, .ny = 67, .nx = 131, FLOATS},
        {"rows=61 columns=90", .nz = 3, .ny = 67, .nx = 131, FLOATS},
    };
    cr_assert_eq(
        ts_stage_check(&fourier_stage, ts_fourier_oracle, cases, sizeof cases / sizeof *cases), 8);
}

/* The page of the stage claims this for the whole error, not for that of one pixel. */
TEST_ON_BOTH(fourier, keeps_a_relative_l2_error_of_1e_4)
{
    struct ts_image in = ts_test_image(2, 90, 64, TS_F32, VALUES_RANDOM, 3);
    struct stage_run run;
    ts_test_sinogram(&in);
    cr_assert_eq(ts_test_run(&run, &fourier_stage, "", &in, NULL, 0, 2), TS_OK);
    const size_t n_in = ts_image_count(&in), n_out = ts_image_count(&run.out);
    double *rows = malloc(n_in * sizeof *rows), *expected = malloc(n_out * sizeof *expected),
           error = 0, all = 0;
    ts_load_f64(rows, in.data, TS_F32, n_in);
    ts_fourier_oracle(&run.context, rows, expected);
    for (size_t i = 0; i < n_out; i++) {
        error += pow(((const float *)run.out.data)[i] - expected[i], 2);
        all += expected[i] * expected[i];
    }
    cr_assert(sqrt(error / all) <= 1e-4, "%g", sqrt(error / all));
    free(rows);
    free(expected);
    free(in.data);
    ts_test_run_clear(&run);
}

/* ---- the same bytes, values that are no numbers ---------------------------------------------- */

TEST_ON_BOTH(fourier, gives_the_same_bytes_in_20_runs_over_any_slabs)
{
    static const int64_t slabs[] = {0, 1, 2, 3, 5, 8, 9, 16};
    struct ts_image in = ts_test_image(19, 37, 45, TS_F32, VALUES_RANDOM, 3);
    struct stage_run first;
    ts_test_sinogram(&in);
    cr_assert_eq(ts_test_run(&first, &fourier_stage, "", &in, NULL, 0, 2), TS_OK);
    for (size_t i = 0; i < (ts_test_few() ? 3 : 20); i++) {
        struct stage_run again;
        cr_assert_eq(
            ts_test_run(&again, &fourier_stage, "", &in, NULL, slabs[i % 8], 1 + (int)(i % 3)),
            TS_OK);
        cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)), "run %zu",
                  i);
        ts_test_run_clear(&again);
    }
    ts_test_run_clear(&first);
    free(in.data);
}

/* Pairs of slices share a grid: a range that begins at an even slice and ends before one has the
 * bytes of the whole, another one not more than the roundings of the page. */
TEST_ON_BOTH(fourier, a_range_of_slices_is_that_of_the_whole)
{
    static const int64_t ranges[][2] = {{2, 4}, {0, 6}, {4, 6}, {1, 4}, {2, 5}, {3, 4}};
    struct ts_image in = ts_test_image(6, 40, 41, TS_F32, VALUES_RANDOM, 11);
    ts_test_sinogram(&in);
    const struct ts_image whole = ts_test_output(&fourier_stage, "", &in);
    const size_t pixels = ts_slice_count(&whole);
    float largest = 0;
    for (size_t i = 0; i < 6 * pixels; i++)
        largest = fmaxf(largest, fabsf(((const float *)whole.data)[i]));
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++) {
        const int64_t first = ranges[k][0], n = ranges[k][1] - first;
        struct ts_image part = ts_image_slices(&in, first, n);
        part.z_first = 0;
        const struct ts_image out = ts_test_output(&fourier_stage, "", &part);
        const float *is = out.data, *was = (const float *)whole.data + (size_t)first * pixels;
        float apart = 0;
        for (size_t i = 0; i < (size_t)n * pixels; i++)
            apart = fmaxf(apart, fabsf(is[i] - was[i]));
        cr_expect(apart <= (first % 2 == 0 && n % 2 == 0 ? 0 : 2e-6f) * largest,
                  "range %zu is %g of %g apart", k, (double)apart, (double)largest);
        free(out.data);
    }
    free(whole.data);
    free(in.data);
}

TEST_ON_BOTH(fourier, a_value_that_is_no_number_ends_the_run)
{
    ts_scan_check_finite(&fourier_stage, "");
    ts_scan_check_finite(&fourier_stage, "interpolation=sinc");
}

/* Two slices share a grid: one that is 10^30 times as bright, and a bad one, which ends the run
 * where its own turn comes, leave the other as it is. */
TEST_ON_BOTH(fourier, slices_do_not_reach_their_neighbors)
{
    struct ts_image in = ts_test_image(4, 24, 30, TS_F32, VALUES_RANDOM, 5);
    struct stage_run run, bright, bad;
    ts_test_sinogram(&in);
    float *values = in.data;
    const size_t slice = 24 * 30, pixels = 30 * 30;
    cr_assert_eq(ts_test_run(&run, &fourier_stage, "", &in, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < slice; i++)
        values[i] *= 0x1p100F;
    cr_assert_eq(ts_test_run(&bright, &fourier_stage, "", &in, NULL, 0, 1), TS_OK);
    values[3 * slice + 77] = NAN;
    cr_assert_eq(ts_test_run(&bad, &fourier_stage, "", &in, NULL, 1, 1), TS_BAD_INPUT);
    const float *was = run.out.data, *is = bright.out.data, *last = bad.out.data;
    cr_assert(!memcmp(was + pixels, is + pixels, 3 * pixels * sizeof *is));
    cr_assert(!memcmp(is, last, 2 * pixels * sizeof *is));
    for (size_t i = 0; i < pixels; i++) {
        cr_assert_eq(is[i], was[i] * 0x1p100F);
        cr_assert(isfinite(last[2 * pixels + i]));
    }
    ts_test_run_clear(&run);
    ts_test_run_clear(&bright);
    ts_test_run_clear(&bad);
    free(in.data);
}

/* ---- what comes back ------------------------------------------------------------------------- */

/* Line integrals of a disc of attenuation 1/mm, off the center, each the mean over its detector; n
 * of 0.5 mm. */
static struct ts_image disc(int64_t views, int64_t n, double arc, double x, double y, double radius)
{
    struct ts_image in = ts_test_image(1, views, n, TS_F32, VALUES_CONSTANT, 1);
    ts_test_sinogram(&in);
    in.axes[1].first = 0;
    in.axes[1].spacing = arc / (double)views;
    in.axes[1].positions = NULL;
    in.axes[2].spacing = 0.5;
    in.axes[2].first = -0.25 * (double)(n - 1);
    for (int64_t i = 0; i < views * n; i++) {
        const int64_t view = i / n;
        const double theta = arc * (double)view / (double)views * M_PI / 180;
        const double at =
            in.axes[2].first + 0.5 * (double)(i % n) - x * cos(theta) - y * sin(theta);
        double sum = 0;
        for (int part = 0; part < 8; part++) {
            const double t = at + 0.5 * ((part + 0.5) / 8 - 0.5);
            sum += 2 * sqrt(fmax(0, radius * radius - t * t)) / 8;
        }
        ((float *)in.data)[i] = (float)sum;
    }
    return in;
}

/* These are deviations within the inner 80 % of the disc. */
struct deviation {
    double mean, largest;
};

static struct deviation off_by(const char *assignments, int64_t n, double arc)
{
    const double radius = 0.17 * (double)n, x = 0.04 * (double)n, y = -0.02 * (double)n;
    struct ts_image in = disc(n * 8 / 5 * (arc > 180 ? 2 : 1), n, arc, x, y, radius);
    struct stage_run run;
    struct deviation deviation = {0};
    double inside = 0;
    cr_assert_eq(ts_test_run(&run, &fourier_stage, assignments, &in, NULL, 0, 2), TS_OK);
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t row = i / n;
        const double px = ((double)(i % n) - 0.5 * (double)(n - 1)) * 0.5 - x,
                     py = (0.5 * (double)(n - 1) - (double)row) * 0.5 - y,
                     off = fabs(((const float *)run.out.data)[i] - 1.0);
        if (hypot(px, py) > 0.8 * radius)
            continue;
        deviation.mean += ((const float *)run.out.data)[i] - 1.0;
        inside++;
        if (!(off <= deviation.largest))
            deviation.largest = off;
    }
    deviation.mean /= inside;
    ts_test_run_clear(&run);
    free(in.data);
    return deviation;
}

static void check_disc(const char *assignments, int64_t n, double arc)
{
    const struct deviation deviation = off_by(assignments, n, arc);
    cr_expect(deviation.largest <= 0.005, "%s, %lld detectors, %g degrees: %g", assignments,
              (long long)n, arc, deviation.largest);
}

/* Every pixel. The table of docs/accuracy.md (test_accuracy.c) has discs about the axis, of all
 * sizes. */
TEST_ON_BOTH(fourier, a_disc_off_the_axis_comes_back_as_1)
{
    static const char *const filters[] = {"filter=ramp",    "filter=shepp-logan", "filter=cosine",
                                          "filter=hamming", "filter=hann",        "filter=parzen"};
    static const int64_t sizes[] = {63, 64, 127, 128, 255};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        for (size_t s = 0; s < (ts_test_few() ? 1 : sizeof sizes / sizeof *sizes); s++) {
            check_disc(filters[i], sizes[s], 180);
            check_disc(filters[i], sizes[s], 360);
        }
    if (!ts_test_few())
        check_disc("", 1025, 180);
}

/* The sharpest leaves waves, about the right value. */
TEST_ON_BOTH(fourier, sinc_keeps_the_mean_of_a_disc)
{
    static const int64_t sizes[] = {63, 128};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const struct deviation sharp = off_by("interpolation=sinc", sizes[s], 180);
        cr_expect(fabs(sharp.mean) <= 0.005 && sharp.largest <= 0.1, "%g %g", sharp.mean,
                  sharp.largest);
    }
}

/* Returns the relative L2 difference within the circle that the detector covers. */
static double differs_from_fbp(const char *assignments, const char *of_fbp)
{
    struct ts_image in = disc(320, 200, 180, 5, 3, 30);
    struct stage_run fourier, fbp;
    double error = 0, all = 0;
    cr_assert_eq(ts_test_run(&fourier, &fourier_stage, assignments, &in, NULL, 0, 2), TS_OK);
    cr_assert_eq(ts_test_run(&fbp, &fbp_stage, of_fbp, &in, NULL, 0, 2), TS_OK);
    cr_assert_str_eq(fourier.out.unit, "1/mm");
    cr_assert_eq(fourier.out.quantity, TS_ATTENUATION);
    for (int64_t i = 0; i < 200 * 200; i++) {
        const double a = ((const float *)fourier.out.data)[i], b = ((const float *)fbp.out.data)[i];
        const int64_t row = i / 200;
        const double x = (double)(i % 200) - 99.5, y = (double)row - 99.5;
        if (hypot(x, y) > 95)
            continue;
        error += (a - b) * (a - b);
        all += b * b;
    }
    ts_test_run_clear(&fourier);
    ts_test_run_clear(&fbp);
    free(in.data);
    return sqrt(error / all);
}

TEST_ON_BOTH(fourier, agrees_with_fbp)
{
    const double smooth = differs_from_fbp("filter=parzen cutoff=0.5", "filter=parzen cutoff=0.5"),
                 sharp = differs_from_fbp("", "");
    cr_expect(smooth <= 0.001, "smooth %g", smooth);
    cr_expect(sharp <= 0.003, "ramp %g",
              sharp); /* but for the frequencies beyond 1 cycle a detector */
}

/* Projected and reconstructed, it sits where it was. */
TEST_ON_BOTH(fourier, brings_a_projected_volume_back_to_its_place)
{
    struct ts_image in = ts_test_image(2, 60, 74, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run projected, back;
    double error = 0, power = 0;
    for (int64_t i = 0; i < 2 * 60 * 74; i++) {
        const int64_t y = i / 74 % 60, x = i % 74;
        ((float *)in.data)[i] = y > 15 && y < 30 && x > 18 && x < 49 ? 0.02F
                                : y > 36 && y < 45 && x > 37         ? 0.05F
                                                                     : 0;
    }
    in.quantity = TS_ATTENUATION;
    in.unit = "1/mm";
    in.origin_mm[0] = -31;
    cr_assert_eq(ts_test_run(&projected, &radon_stage,
                             "views=200 arc=-180 detectors=160 center=70.3", &in, NULL, 0, 2),
                 TS_OK);
    cr_assert_eq(ts_test_run(&back, &fourier_stage,
                             "rows=60 columns=74 pixel_size=0.5 row_spacing=0.7", &projected.out,
                             NULL, 0, 2),
                 TS_OK);
    for (int i = 0; i < 3; i++)
        cr_assert_float_eq(back.out.origin_mm[i], in.origin_mm[i], 1e-9);
    for (size_t i = 0; i < ts_image_count(&in); i++) {
        const double is = ((const float *)back.out.data)[i], was = ((const float *)in.data)[i];
        error += (is - was) * (is - was);
        power += was * was;
    }
    cr_assert(sqrt(error / power) <= 0.12, "%g", sqrt(error / power));
    ts_test_run_clear(&back);
    ts_test_run_clear(&projected);
    free(in.data);
}

/* ---- refusals -------------------------------------------------------------------------------- */

Test(fourier, refuses_grids_past_32_bits)
{
    struct ts_image in = ts_test_image(1, 4, 5, TS_F32, VALUES_RANDOM, 8);
    struct stage_run run;
    ts_test_sinogram(&in);
    cr_assert_eq(ts_test_run(&run, &fourier_stage, "rows=24000 columns=23000", &in, NULL, 0, 1),
                 TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "grid-too-large");
    ts_test_run_clear(&run);
    free(in.data);
}

Test(fourier, refuses_what_is_not_called_line_integrals)
{
    ts_scan_check_quantity(&fourier_stage);
}

Test(fourier, refuses_angles_of_no_scan)
{
    ts_scan_check_angles(&fourier_stage, "");
}
