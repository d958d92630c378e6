/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/fourier.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/fbp.h"
#include "stages/radon.h"
#include "tests/reference/fourier_reference.h"
#include "tests/support/scan_check.h"
#include "tests/support/stage_run.h"

TestSuite(fourier);

#define FLOATS .dtypes = TS_DTYPE_BIT(TS_F32)

/* ---- against the oracle ------------------------------------------------------------------------ */

/* Slices that are no squares, coarser and finer than the detector in both directions: points of the grid wrap around.
 */
TEST_ON_BOTH(fourier, agrees_with_the_oracle)
{
    static const struct stage_case cases[] = {
        {"", .nz = 3, .ny = 20, .nx = 17},
        {"filter=hann cutoff=0.7", .nz = 2, .ny = 31, .nx = 34, FLOATS},
        {"filter=none rows=17 columns=8", .nz = 2, .ny = 13, .nx = 23, FLOATS},
        {"filter=shepp rows=9 columns=14 pixel_size=0.31 row_spacing=0.47", .nz = 2, .ny = 13, .nx = 23, FLOATS},
        {"filter=cosine rows=12 columns=31 pixel_size=1.7 row_spacing=3.9", .nz = 1, .ny = 24, .nx = 40, FLOATS},
        {"filter=parzen center=3.3 columns=40", .nz = 5, .ny = 21, .nx = 19, FLOATS},
        {"filter=hamming", .values = VALUES_CT, .nz = 2, .ny = 40, .nx = 33, .dtypes = TS_DTYPE_BIT(TS_I16)},
        {"", .values = VALUES_CONSTANT, .nz = 4, .ny = 19, .nx = 16, .dtypes = TS_DTYPE_BIT(TS_U8)},
        {"", .values = VALUES_EXTREME, .nz = 3, .ny = 19, .nx = 16, .dtypes = TS_DTYPE_BIT(TS_I32)},
    };
    cr_assert_eq(ts_stage_check(&fourier_stage, ts_fourier_reference, cases, sizeof cases / sizeof *cases), 7 + 8);
}

TEST_ON_BOTH(fourier, agrees_at_odd_sizes)
{
    static const struct stage_case cases[] = {
        {"", .nz = 1, .ny = 1, .nx = 1, FLOATS},
        {"", .nz = 2, .ny = 1, .nx = 37, FLOATS},
        {"", .nz = 3, .ny = 41, .nx = 1, FLOATS},
        {"gaps=accept", .nz = 7, .ny = 3, .nx = 2, FLOATS},
        {"rows=1 columns=1", .nz = 2, .ny = 8, .nx = 16, FLOATS},
        {"rows=80 columns=3", .nz = 2, .ny = 67, .nx = 131, FLOATS},
        {"rows=61 columns=90", .nz = 3, .ny = 67, .nx = 131, FLOATS},
    };
    cr_assert_eq(ts_stage_check(&fourier_stage, ts_fourier_reference, cases, sizeof cases / sizeof *cases), 7);
}

/* What its page claims: the whole error, not that of one pixel. */
TEST_ON_BOTH(fourier, keeps_a_relative_l2_error_of_1e_4)
{
    struct ts_image in = ts_test_image(2, 90, 64, TS_F32, VALUES_RANDOM, 3);
    struct stage_run run;
    ts_test_sinogram(&in);
    cr_assert_eq(ts_test_run(&run, &fourier_stage, "", &in, NULL, 0, 2), TS_OK);
    const size_t n_in = ts_image_count(&in), n_out = ts_image_count(&run.out);
    double *rows = malloc(n_in * sizeof *rows), *expected = malloc(n_out * sizeof *expected), error = 0, all = 0;
    ts_load_f64(rows, in.data, TS_F32, n_in);
    ts_fourier_reference(&run.context, rows, expected);
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

/* ---- the same bytes, values that are no numbers ------------------------------------------------- */

TEST_ON_BOTH(fourier, gives_the_same_bytes_in_20_runs_over_any_slabs)
{
    static const int64_t slabs[] = {0, 1, 2, 3, 5, 8, 9, 16};
    struct ts_image in = ts_test_image(19, 37, 45, TS_F32, VALUES_RANDOM, 3);
    struct stage_run first;
    ts_test_sinogram(&in);
    cr_assert_eq(ts_test_run(&first, &fourier_stage, "", &in, NULL, 0, 2), TS_OK);
    for (size_t i = 0; i < 20; i++) {
        struct stage_run again;
        cr_assert_eq(ts_test_run(&again, &fourier_stage, "", &in, NULL, slabs[i % 8], 1 + (int)(i % 3)), TS_OK);
        cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)), "run %zu", i);
        ts_test_run_clear(&again);
    }
    ts_test_run_clear(&first);
    free(in.data);
}

/* Two slices share a grid: a bad one, and one that is 10^30 times as bright, leave the other as it is. */
TEST_ON_BOTH(fourier, slices_do_not_reach_their_neighbors)
{
    struct ts_image in = ts_test_image(4, 24, 30, TS_F32, VALUES_RANDOM, 5);
    struct stage_run run, bad;
    ts_test_sinogram(&in);
    float *values = in.data;
    const size_t slice = 24 * 30, pixels = 30 * 30;
    cr_assert_eq(ts_test_run(&run, &fourier_stage, "", &in, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < slice; i++)
        values[i] *= 0x1p100F;
    values[2 * slice + 77] = NAN;
    cr_assert_eq(ts_test_run(&bad, &fourier_stage, "", &in, NULL, 0, 1), TS_OK);
    const float *was = run.out.data, *is = bad.out.data;
    cr_assert(!memcmp(was + pixels, is + pixels, pixels * sizeof *is));
    for (size_t i = 0; i < pixels; i++) {
        cr_assert_eq(is[i], was[i] * 0x1p100F);
        cr_assert(isnan(is[2 * pixels + i]) && isfinite(is[3 * pixels + i]));
    }
    ts_test_run_clear(&run);
    ts_test_run_clear(&bad);
    free(in.data);
}

/* ---- what comes back --------------------------------------------------------------------------- */

/* Line integrals of a disc of attenuation 1/mm, off the center; n detectors of 0.5 mm. */
static struct ts_image disc(int64_t views, int64_t n, double arc, double x, double y, double radius)
{
    struct ts_image in = ts_test_image(1, views, n, TS_F32, VALUES_CONSTANT, 1);
    ts_test_sinogram(&in);
    in.axes[1].first = 0;
    in.axes[1].spacing = arc / (double)views;
    in.axes[1].positions = NULL;
    in.axes[2].spacing = 0.5;
    in.axes[2].first = -0.25 * (double)(n - 1);
    for (int64_t v = 0; v < views; v++)
        for (int64_t d = 0; d < n; d++) {
            const double theta = arc * (double)v / (double)views * M_PI / 180;
            const double t = in.axes[2].first + 0.5 * (double)d - x * cos(theta) - y * sin(theta);
            ((float *)in.data)[v * n + d] = (float)(2 * sqrt(fmax(0, radius * radius - t * t)));
        }
    return in;
}

static void check_disc(const char *filter, int64_t n, double arc)
{
    const double radius = 0.17 * (double)n, x = 0.04 * (double)n, y = -0.02 * (double)n;
    struct ts_image in = disc(n * 8 / 5 * (arc > 180 ? 2 : 1), n, arc, x, y, radius);
    struct stage_run run;
    char text[64];
    double sum = 0, inside = 0;
    snprintf(text, sizeof text, "filter=%s", filter);
    cr_assert_eq(ts_test_run(&run, &fourier_stage, text, &in, NULL, 0, 2), TS_OK);
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t row = i / n;
        const double px = ((double)(i % n) - 0.5 * (double)(n - 1)) * 0.5 - x,
                     py = (0.5 * (double)(n - 1) - (double)row) * 0.5 - y;
        if (hypot(px, py) <= 0.8 * radius) {
            sum += ((const float *)run.out.data)[i];
            inside++;
        }
    }
    cr_assert(fabs(sum / inside - 1) <= 0.005, "%s, %lld detectors, %g degrees: %g", filter, (long long)n, arc,
              sum / inside);
    ts_test_run_clear(&run);
    free(in.data);
}

TEST_ON_BOTH(fourier, a_disc_comes_back_as_1)
{
    static const char *const filters[] = {"ramp", "shepp-logan", "cosine", "hamming", "hann", "parzen"};
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        check_disc(filters[i], 63, 180);
    check_disc("ramp", 128, 180);
    check_disc("ramp", 201, 360);
}

/* The same image as fbp's, where it is smooth. */
TEST_ON_BOTH(fourier, agrees_with_fbp_on_smooth_slices)
{
    struct ts_image in = disc(320, 200, 180, 5, 3, 30);
    struct stage_run fourier, fbp;
    double error = 0, all = 0;
    cr_assert_eq(ts_test_run(&fourier, &fourier_stage, "filter=parzen cutoff=0.5", &in, NULL, 0, 2), TS_OK);
    cr_assert_eq(ts_test_run(&fbp, &fbp_stage, "filter=parzen cutoff=0.5", &in, NULL, 0, 2), TS_OK);
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
    cr_assert(sqrt(error / all) <= 0.01, "%g", sqrt(error / all));
    ts_test_run_clear(&fourier);
    ts_test_run_clear(&fbp);
    free(in.data);
}

/* Projected and reconstructed, it sits where it was. */
TEST_ON_BOTH(fourier, brings_a_projected_volume_back_to_its_place)
{
    struct ts_image in = ts_test_image(2, 60, 74, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run projected, back;
    double error = 0, power = 0;
    for (int64_t i = 0; i < 2 * 60 * 74; i++) {
        const int64_t y = i / 74 % 60, x = i % 74;
        ((float *)in.data)[i] = y > 15 && y < 30 && x > 18 && x < 49 ? 0.02F : y > 36 && y < 45 && x > 37 ? 0.05F : 0;
    }
    in.quantity = TS_ATTENUATION;
    in.unit = "1/mm";
    in.origin_mm[0] = -31;
    cr_assert_eq(ts_test_run(&projected, &radon_stage, "views=200 arc=-180 detectors=160 center=70.3", &in, NULL, 0, 2),
                 TS_OK);
    cr_assert_eq(ts_test_run(&back, &fourier_stage, "rows=60 columns=74 pixel_size=0.5 row_spacing=0.7", &projected.out,
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

/* ---- refusals ---------------------------------------------------------------------------------- */

Test(fourier, refuses_grids_past_32_bits)
{
    struct ts_image in = ts_test_image(1, 4, 5, TS_F32, VALUES_RANDOM, 8);
    struct stage_run run;
    ts_test_sinogram(&in);
    cr_assert_eq(ts_test_run(&run, &fourier_stage, "rows=24000 columns=23000", &in, NULL, 0, 1), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "grid-too-large");
    ts_test_run_clear(&run);
    free(in.data);
}

Test(fourier, refuses_angles_of_no_scan)
{
    ts_scan_check_angles(&fourier_stage, "");
}
