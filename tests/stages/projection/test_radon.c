/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/projection/radon.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/geometry/beam.h"
#include "tests/stages/projection/radon_oracle.h"
#include "tests/support/radon_scene.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

/* ---- against the oracle ---------------------------------------------------------------------- */

/* The same case for each method; those that a device does not have are left out. */
#define NO_TENSOR_METHOD(text, ...)                                                                \
    {.assignments = text, __VA_ARGS__}, {.assignments = text " method=row-fan-in", __VA_ARGS__},   \
        {.assignments = text " method=ray", __VA_ARGS__},                                          \
    {                                                                                              \
        .assignments = text " method=stack", __VA_ARGS__                                           \
    }
#define EVERY_METHOD(text, ...)                                                                    \
    NO_TENSOR_METHOD(text, __VA_ARGS__), {.assignments = text " method=tensor", __VA_ARGS__},      \
    {                                                                                              \
        .assignments = text " method=tensor-split", __VA_ARGS__                                    \
    }

/* Cases of n rows of EVERY_METHOD; those that a device skips are counted too. */
static size_t each_method(size_t n)
{
    return (ts_test_device ? 6 : 2) * n;
}

/* Those that run here. */
static size_t n_methods(void)
{
    return !ts_test_device ? 2 : ts_test_device->code >= CUDA_TENSOR_CODE ? 6 : 4;
}

TEST_ON_BOTH(radon, agrees_with_the_oracle)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("views=7"),
        EVERY_METHOD("views=12 start=-33 arc=360 detectors=31 detector_spacing=0.9 center=11.3",
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("angles=0,45,90,135,180,-45,225,270,315,360", .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("angles=44.999,45.001,89.9999,90.0001,17", .values = VALUES_CT,
                     .dtypes = TS_DTYPE_BIT(TS_I16)),
        EVERY_METHOD("views=9", .values = VALUES_CONSTANT, .dtypes = TS_DTYPE_BIT(TS_U8)),
        EVERY_METHOD("views=5", .values = VALUES_EXTREME, .dtypes = TS_DTYPE_BIT(TS_I32)),
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, sizeof cases / sizeof *cases),
                 each_method(8 * (7 + 5)));
}

/* Slices side by side in groups of 16, 4 and 1 on the CPU, of 128, 64 and 32 on a CUDA device, some
 * lanes empty; lines longer than a block is for 512 and 1,024 samples. */
TEST_ON_BOTH(radon, agrees_in_every_grouping_of_slices)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("views=6", .nz = 23, .ny = 19, .nx = 30,
                     .dtypes = TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=4 start=3", .nz = 1, .ny = 35, .nx = 530,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=4 start=3", .nz = 4, .ny = 1100, .nx = 21,
                     .dtypes = TS_DTYPE_BIT(TS_I8)),
        EVERY_METHOD("views=3", .nz = 33, .ny = 31, .nx = 18, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=3", .nz = 67, .ny = 17, .nx = 40, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=2 start=30", .nz = 165, .ny = 23, .nx = 14,
                     .dtypes = TS_DTYPE_BIT(TS_U8)),
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, ts_test_few() ? n / 2 : n),
                 each_method(ts_test_few() ? 4 : 7));
}

/* One view alone at each angle where rays run along pixels or their diagonals, and many; whole
 * blocks of detectors and of views, and a few more. */
TEST_ON_BOTH(radon, agrees_on_larger_slices)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("angles=0 detectors=160", .nz = 2, .ny = 129, .nx = 131,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("angles=45", .nz = 2, .ny = 129, .nx = 131, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("angles=90", .nz = 2, .ny = 129, .nx = 131, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("angles=180", .nz = 2, .ny = 129, .nx = 131, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=75", .nz = 3, .ny = 129, .nx = 131, .dtypes = TS_DTYPE_BIT(TS_U16)),
        EVERY_METHOD("views=40 arc=-360 detectors=96 detector_spacing=1.1", .nz = 2, .ny = 129,
                     .nx = 131, .dtypes = TS_DTYPE_BIT(TS_F32)),
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, sizeof cases / sizeof *cases),
                 each_method(6));
}

/* From 50 rays a pixel to rays many pixels apart, in every width of a group, and an axis far
 * outside the slice. */
TEST_ON_BOTH(radon, agrees_at_any_distance_of_detectors)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("views=8 detectors=37 detector_spacing=0.01", .nz = 2, .ny = 21, .nx = 34,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=8 detectors=90 detector_spacing=0.3", .nz = 2, .ny = 21, .nx = 34,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=8 detectors=23 detector_spacing=1.6", .nz = 2, .ny = 21, .nx = 34,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=8 detectors=10 detector_spacing=5.3", .nz = 2, .ny = 21, .nx = 34,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        NO_TENSOR_METHOD("views=4 detectors=5 detector_spacing=1000000", .nz = 2, .ny = 21,
                         .nx = 34, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=8 detectors=70 center=45", .nz = 2, .ny = 21, .nx = 34,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=8 detectors=9 center=-400", .nz = 2, .ny = 21, .nx = 34,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=6 detectors=9 detector_spacing=1.7", .nz = 40, .ny = 15, .nx = 22,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=6 detectors=9 detector_spacing=1.7", .nz = 71, .ny = 15, .nx = 22,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, sizeof cases / sizeof *cases),
                 each_method(8) + (ts_test_device ? 4 : 2));
}

TEST_ON_BOTH(radon, has_no_limit_at_2048_views_or_4096_detectors)
{
    static const struct stage_case cases[] = {
        EVERY_METHOD("views=2053", .nz = 1, .ny = 5, .nx = 3, .dtypes = TS_DTYPE_BIT(TS_F32)),
        EVERY_METHOD("views=3 detectors=4099 detector_spacing=0.001", .nz = 1, .ny = 5, .nx = 3,
                     .dtypes = TS_DTYPE_BIT(TS_F32)),
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, sizeof cases / sizeof *cases),
                 each_method(2));
}

/* ---- the same bytes, pixels that are no numbers ---------------------------------------------- */

static const char *const methods[] = {"auto",  "row-fan-in", "ray",
                                      "stack", "tensor",     "tensor-split"};

TEST_ON_BOTH(radon, gives_the_same_bytes_in_20_runs_over_any_slabs)
{
    static const int64_t slabs[] = {0, 1, 7, 32, 40, 64, 100, 129}, slabs_of_few[] = {40, 100};
    struct ts_image in = ts_test_image(131, 37, 45, TS_F32, VALUES_RANDOM, 3);
    for (size_t m = 0; m < n_methods(); m++) {
        char text[64];
        struct stage_run first;
        snprintf(text, sizeof text, "views=17 detectors=52 method=%s", methods[m]);
        cr_assert_eq(ts_test_run(&first, &radon_stage, text, &in, NULL, 0, 2), TS_OK);
        for (size_t i = 0; i < (ts_test_few() ? 2 : 20); i++) {
            struct stage_run again;
            const int64_t slab =
                ts_test_few() ? slabs_of_few[i] : slabs[i % (sizeof slabs / sizeof *slabs)];
            cr_assert_eq(ts_test_run(&again, &radon_stage, text, &in, NULL, slab, 1 + (int)(i % 3)),
                         TS_OK);
            cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)),
                      "%s, run %zu, slabs of %lld", text, i, (long long)slab);
            ts_test_run_clear(&again);
        }
        ts_test_run_clear(&first);
    }
    free(in.data);
}

/* Parts of 32 rows come to 2^25, 1, -2^25 and 0: halving cancels the first with the third before
 * the 1 is added, and sums from part to part lose it. */
TEST_ON_BOTH(radon, row_fan_in_joins_its_vectors_by_halving)
{
    const char *const others = ts_test_device ? "ray" : "joseph";
    for (int by_input = 0; by_input < 2; by_input++) {
        struct ts_image in = ts_test_image(1, 128, 5, TS_F32, VALUES_CONSTANT, 1);
        struct stage_run run;
        char text[64];
        memset(in.data, 0, ts_image_bytes(&in));
        ((float *)in.data)[2] = 0x1p25f;
        ((float *)in.data)[32 * 5 + 2] = 1;
        ((float *)in.data)[64 * 5 + 2] = -0x1p25f;
        for (int i = 1; i < 3; i++)
            in.axes[i].spacing = 1;
        snprintf(text, sizeof text, "angles=0 detectors=5 method=%s",
                 by_input ? "row-fan-in" : others);
        cr_assert_eq(ts_test_run(&run, &radon_stage, text, &in, NULL, 0, 1), TS_OK);
        cr_expect_eq(((const float *)run.out.data)[2], (float)by_input, "%s: %g", text,
                     (double)((const float *)run.out.data)[2]);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* They reach the rays beside them, and no others. */
TEST_ON_BOTH(radon, pixels_that_are_no_numbers_reach_their_rays_alone)
{
    for (size_t m = 0; m < n_methods(); m++) {
        struct ts_image in = ts_test_image(3, 40, 33, TS_F32, VALUES_RANDOM, 4);
        const int64_t slice = in.axes[1].n * in.axes[2].n;
        ((float *)in.data)[slice + 11 * 33 + 20] = NAN;
        ((float *)in.data)[slice + 39 * 33 + 2] = INFINITY;
        char text[64];
        struct stage_run run;
        snprintf(text, sizeof text, "views=13 start=1 method=%s", methods[m]);
        cr_assert_eq(ts_test_run(&run, &radon_stage, text, &in, NULL, 0, 1), TS_OK);
        const size_t n_in = ts_image_count(&in), n_out = ts_image_count(&run.out);
        double *pixels = malloc(n_in * sizeof *pixels),
               *expected = malloc(n_out * sizeof *expected);
        ts_load_f64(pixels, in.data, TS_F32, n_in);
        ts_radon_oracle(&run.context, pixels, expected);
        size_t no_numbers = 0;
        for (size_t i = 0; i < n_out; i++) {
            const float is = ((const float *)run.out.data)[i];
            no_numbers += !isfinite(expected[i]);
            cr_assert_eq(isfinite(expected[i]), isfinite(is), "%s: element %zu is %g, expected %g",
                         text, i, (double)is, expected[i]);
        }
        cr_assert(no_numbers >= 13 * 2 && no_numbers < 13 * 12, "%zu", no_numbers);
        free(pixels);
        free(expected);
        free(in.data);
        ts_test_run_clear(&run);
    }
}

/* ---- against mathematics --------------------------------------------------------------------- */

/* Off-center, turned, in pixels that are not square: any swapped axis, flip or wrong unit moves the
 * shadow. The bounds are the chords of the rays one pixel to either side, widened by the edge's
 * partial pixels. */
TEST_ON_BOTH(radon, ellipses_have_their_chords)
{
    static const struct ellipse ellipses[] = {{0, 0, 20, 20, 0, 1},
                                              {9, -14, 8, 8, 0, 0.02},
                                              {-11, 6, 17, 5, 30, 3},
                                              {4, 15, 3, 12, -70, -1}};
    for (size_t e = 0; e < sizeof ellipses / sizeof *ellipses; e++) {
        struct radon_scene made;
        ts_test_scene_make(&made, "views=36 arc=360 detectors=150 detector_spacing=0.6", 130, 170,
                           0.5, 0.4);
        ts_test_ellipse_draw(&made.in, &ellipses[e]);
        ts_test_scene_project(&made);
        double worst = 0, summed = 0, square = 0, value = fabs(ellipses[e].value);
        for (int64_t v = 0; v < 36; v++)
            for (int64_t d = 0; d < 150; d++) {
                const double degree = 10 * (double)v, s = ((double)d - 74.5) * 0.6;
                double low = INFINITY, high = -INFINITY;
                for (int k = -10; k <= 10; k++) {
                    const double near = ts_test_ellipse_chord(
                        &ellipses[e], degree, s + 0.064 * k); /* a pixel's diagonal */
                    low = fmin(low, near);
                    high = fmax(high, near);
                }
                const double is = made.sinogram[v * 150 + d];
                cr_assert(is >= low - 0.6 * value && is <= high + 0.6 * value,
                          "ellipse %zu view %lld detector %lld: %g outside [%g, %g]", e,
                          (long long)v, (long long)d, is, low, high);
                const double error = is - ts_test_ellipse_chord(&ellipses[e], degree, s);
                worst = fmax(worst, fabs(error));
                square += error * error;
                summed += fabs(ts_test_ellipse_chord(&ellipses[e], degree, s)) > 0;
            }
        cr_assert(sqrt(square / summed) <= 0.35 * value, "ellipse %zu: rms %g, worst %g", e,
                  sqrt(square / summed), worst);
        ts_test_scene_clear(&made);
    }
}

/* Each view sums, over s, to the integral of the slice: interpolation weights of a pixel add up to
 * one. */
TEST_ON_BOTH(radon, every_view_keeps_the_sum)
{
    struct radon_scene made;
    ts_test_scene_make(&made, "views=64 arc=360 detectors=401 detector_spacing=0.1", 23, 31, 0.7,
                       0.9);
    double mass = 0;
    uint64_t seed = 5;
    for (int64_t i = 0; i < 23 * 31; i++) {
        ((float *)made.in.data)[i] = (float)ts_random_unit(&seed);
        mass += ((float *)made.in.data)[i] * 0.7 * 0.9;
    }
    ts_test_scene_project(&made);
    for (int64_t v = 0; v < 64; v++) {
        double sum = 0;
        for (int64_t d = 0; d < 401; d++)
            sum += made.sinogram[v * 401 + d] * 0.1;
        cr_assert(fabs(sum - mass) <= 2e-3 * mass, "view %lld: %g of %g", (long long)v, sum, mass);
    }
    ts_test_scene_clear(&made);
}

/* One bright pixel right of and above the center: theta 0 shows it at +x, theta 90 at +y, and half
 * a turn mirrors s. */
TEST_ON_BOTH(radon, one_pixel_stands_where_the_convention_says)
{
    struct radon_scene made;
    ts_test_scene_make(&made, "angles=0,90,180,270 detectors=41 detector_spacing=2", 21, 41, 2, 2);
    for (int64_t i = 0; i < 21 * 41; i++)
        ((float *)made.in.data)[i] = 0;
    ((float *)made.in.data)[(10 - 4) * 41 + 20 + 13] = 5; /* x = 26 mm, y = 8 mm */
    ts_test_scene_project(&made);
    static const int64_t at[] = {20 + 13, 20 + 4, 20 - 13, 20 - 4};
    for (int64_t v = 0; v < 4; v++)
        for (int64_t d = 0; d < 41; d++)
            cr_assert_eq(made.sinogram[v * 41 + d], d == at[v] ? 10.0f : 0.0f,
                         "view %lld detector %lld: %g", (long long)v, (long long)d,
                         (double)made.sinogram[v * 41 + d]);
    ts_test_scene_clear(&made);
}

/* Turning the slice by 90 degrees is the same as adding 90 degrees to the angle; a shift by one
 * pixel shifts s. */
TEST_ON_BOTH(radon, turned_and_shifted_slices_give_turned_and_shifted_views)
{
    enum { N = 33, D = 61 };
    struct radon_scene one, turned, shifted;
    ts_test_scene_make(&one, "angles=0,20,40,60,80 detectors=61", N, N, 1, 1);
    ts_test_scene_make(&turned, "angles=90,110,130,150,170 detectors=61", N, N, 1, 1);
    ts_test_scene_make(&shifted, "angles=0,20,40,60,80 detectors=61 center=29", N, N, 1, 1);
    uint64_t seed = 9;
    for (int64_t y = 0; y < N; y++)
        for (int64_t x = 0; x < N; x++) {
            const float value = (float)ts_random_unit(&seed);
            ((float *)one.in.data)[y * N + x] = value;
            ((float *)turned.in.data)[(N - 1 - x) * N + y] = value; /* x becomes up */
            ((float *)shifted.in.data)[y * N + x] = value;
        }
    ts_test_scene_project(&one);
    ts_test_scene_project(&turned);
    ts_test_scene_project(&shifted);
    for (int64_t v = 0; v < 5; v++)
        for (int64_t d = 0; d < D; d++) {
            cr_assert(fabs(one.sinogram[v * D + d] - turned.sinogram[v * D + d]) <= 1e-4,
                      "turned, view %lld", (long long)v);
            if (d > 0)
                cr_assert(fabs(one.sinogram[v * D + d] - shifted.sinogram[v * D + d - 1]) <= 1e-4,
                          "shifted, view %lld", (long long)v);
        }
    ts_test_scene_clear(&one);
    ts_test_scene_clear(&turned);
    ts_test_scene_clear(&shifted);
}

Test(radon, angles_are_exact_where_they_can_be)
{
    static const double exact[][3] = {{0, 1, 0},    {90, 0, 1},  {180, -1, 0}, {270, 0, -1},
                                      {-90, 0, -1}, {720, 1, 0}, {-270, 0, 1}};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        double c, s;
        ts_angle_cos_sin(exact[i][0], &c, &s);
        cr_assert(c == exact[i][1] && s == exact[i][2], "%g: %g %g", exact[i][0], c, s);
    }
    for (double degree = -400; degree <= 400; degree += 0.37) {
        double c, s;
        ts_angle_cos_sin(degree, &c, &s);
        cr_assert(fabs(c - cos(degree * M_PI / 180)) <= 1e-14 &&
                      fabs(s - sin(degree * M_PI / 180)) <= 1e-14,
                  "%g", degree);
    }
    for (int quarter = 0; quarter < 4; quarter++) {
        double c, s;
        ts_angle_cos_sin(45 + 90 * quarter, &c, &s);
        cr_assert_eq(fabs(c), fabs(s));
    }
}

/* ---- description and refusals ---------------------------------------------------------------- */

Test(radon, describes_its_axes_and_unit)
{
    static const char *const units[][2] = {
        {"1/mm", "1"}, {"HU", "HU mm"}, {"1", "mm"}, {"Bq/ml", "Bq/ml mm"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct radon_scene made;
        ts_test_scene_make(&made, "views=10 start=5 arc=90", 3, 4, 2, 1.5);
        made.in.unit = units[i][0];
        ts_test_scene_project(&made);
        const struct ts_axis *view = &made.out.axes[1], *detector = &made.out.axes[2];
        cr_assert_str_eq(made.out.unit, units[i][1]);
        cr_assert_eq(made.out.quantity, TS_LINE_INTEGRAL);
        cr_assert(view->kind == TS_AXIS_VIEW && view->n == 10 && view->first == 5 &&
                  view->spacing == 9 && !view->positions);
        cr_assert_eq(detector->n, 6); /* hypot(6, 6) / 1.5 = 5.66 */
        cr_assert(detector->kind == TS_AXIS_DETECTOR && detector->spacing == 1.5 &&
                  detector->first == -2.5 * 1.5);
        cr_assert(made.out.origin_mm[0] == 1.5 * 1.5 && made.out.origin_mm[1] == 2);
        ts_test_scene_clear(&made);
    }
}

Test(radon, refuses_what_it_cannot_project)
{
    static const char *const wrong[][2] = {
        {"views=3 angles=1,2,3", "angles-twice"},
        {"angles=1,2 start=4", "angles-twice"},
        {"angles=0,1 arc=90", "angles-twice"},
        {"angles=1,2;3,4", "angles-shape"},
        {"views=3 detector_spacing=0.000001", "too-many-detectors"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ts_test_refused(&radon_stage, wrong[i][0], TS_F32, false, wrong[i][1]);
}

/* Half a turn and a turn; of 8 views, or over another range, they may be degrees. */
Test(radon, refuses_a_list_of_radians)
{
    static const struct {
        int n;
        double range;
        bool refused;
    } rows[] = {
        {9, M_PI, true}, {40, 2 * M_PI, true}, {8, M_PI, false}, {40, 7, false}, {40, 2.5, false}};
    struct ts_image in = ts_test_image(1, 4, 5, TS_F32, VALUES_RANDOM, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024] = "angles=";
        struct stage_run run;
        for (int v = 0; v < rows[i].n; v++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%.6f", v ? "," : "",
                     rows[i].range * v / rows[i].n);
        if (rows[i].refused) {
            ts_test_refuses(&radon_stage, text, &in, NULL, "angles-in-radians",
                            "degrees were expected");
            continue;
        }
        cr_assert_eq(ts_test_run(&run, &radon_stage, text, &in, NULL, 0, 1), TS_OK, "row %zu", i);
        ts_test_run_clear(&run);
    }
    free(in.data);
}

/* The plan records a method that the device has. */
TEST_ON_BOTH(radon, auto_is_resolved_for_the_device)
{
    struct ts_image in = ts_test_image(16, 5, 4, TS_F32, VALUES_RANDOM, 1);
    struct stage_run run;
    for (int64_t n = 15; n <= 16; n++) {
        const struct ts_image some = ts_image_slices(&in, 0, n);
        cr_assert_eq(ts_test_run(&run, &radon_stage, "views=2", &some, NULL, 0, 1), TS_OK);
        cr_assert_eq(((const struct radon_params *)run.context.params)->method,
                     !ts_test_device ? RADON_JOSEPH
                     : n < 16        ? RADON_RAY
                                     : RADON_STACK);
        ts_test_run_clear(&run);
    }
    cr_assert_eq(ts_test_run(&run, &radon_stage, ts_test_device ? "method=joseph" : "method=stack",
                             &in, NULL, 0, 1),
                 TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "choice-device");
    ts_test_run_clear(&run);
    free(in.data);
}

/* Only HU have a zero that is not vacuum. */
Test(radon, warns_of_the_water_around_an_image_in_hu)
{
    for (int hu = 0; hu < 2; hu++) {
        struct ts_image in = ts_test_image(1, 5, 7, TS_I16, VALUES_CT, 1);
        struct stage_run run;
        in.quantity = hu ? TS_HU : TS_ATTENUATION;
        in.unit = hu ? "HU" : "1/mm";
        cr_assert_eq(ts_test_run(&run, &radon_stage, "views=3", &in, NULL, 0, 1), TS_OK);
        cr_assert_eq(ts_diag_count(run.diag), (size_t)hu);
        if (hu) {
            cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "radon-of-hu");
            cr_assert(strstr(ts_diag_get(run.diag, 0)->hint, "to_attenuation"));
        }
        cr_assert_str_eq(run.out.unit, hu ? "HU mm" : "1");
        ts_test_run_clear(&run);
        free(in.data);
    }
}
