/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/radon.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/common/parallel_beam.h"
#include "tests/reference/radon_reference.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

/* ---- against the oracle ------------------------------------------------------------------------ */

Test(radon, agrees_with_the_oracle)
{
    static const struct stage_case cases[] = {
        {.assignments = "views=7"},
        {.assignments = "views=12 start=-33 arc=360 detectors=31 detector_spacing=0.9 center=11.3",
         .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "angles=0,45,90,135,180,-45,225,270,315,360", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "angles=44.999,45.001,89.9999,90.0001,17", .values = VALUES_CT, .dtypes = TS_DTYPE_BIT(TS_I16)},
        {.assignments = "views=9", .values = VALUES_CONSTANT, .dtypes = TS_DTYPE_BIT(TS_U8)},
        {.assignments = "views=5", .values = VALUES_EXTREME, .dtypes = TS_DTYPE_BIT(TS_I32)},
    };
    cr_assert_gt(ts_stage_check(&radon_stage, ts_radon_reference, cases, sizeof cases / sizeof *cases), 50);
}

/* Groups of 16, 4 and 1 slices, lines longer than a block is for 512 and 1,024 samples. */
Test(radon, agrees_in_every_grouping_of_slices)
{
    static const struct stage_case cases[] = {
        {.assignments = "views=6", .nz = 23, .ny = 19, .nx = 30, .dtypes = TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_F32)},
        {.assignments = "views=4 start=3", .nz = 1, .ny = 35, .nx = 530, .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "views=4 start=3", .nz = 4, .ny = 1100, .nx = 21, .dtypes = TS_DTYPE_BIT(TS_I8)},
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_reference, cases, sizeof cases / sizeof *cases), 4);
}

Test(radon, has_no_limit_at_2048_views_or_4096_detectors)
{
    static const struct stage_case cases[] = {
        {.assignments = "views=2053", .nz = 1, .ny = 5, .nx = 3, .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "views=3 detectors=4099 detector_spacing=0.001",
         .nz = 1,
         .ny = 5,
         .nx = 3,
         .dtypes = TS_DTYPE_BIT(TS_F32)},
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_reference, cases, sizeof cases / sizeof *cases), 2);
}

/* ---- helpers ----------------------------------------------------------------------------------- */

struct made {
    struct param_set set;
    struct stage_context context;
    struct ts_image in, out;
    float *sinogram;
};

static void make(struct made *made, const char *assignments, int64_t ny, int64_t nx, double dy, double dx)
{
    made->in = ts_test_image(1, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    made->in.axes[1].spacing = dy;
    made->in.axes[2].spacing = dx;
    ts_test_params(&radon_stage, assignments, &made->set);
}

static void project(struct made *made)
{
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = ts_stage_prepare(&radon_stage, &made->set, &made->in, NULL, 1, NULL, diag, &made->context);
    made->out = made->context.out;
    if (status == TS_OK) {
        made->out.data = made->sinogram = malloc(ts_image_bytes(&made->out));
        status = ts_stage_apply(&made->context, &made->in, &made->out, NULL, 0, NULL);
    }
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    ts_diag_destroy(diag);
    cr_assert_eq(status, TS_OK);
}

static void clear(struct made *made)
{
    ts_test_params_clear(&made->set);
    free(made->in.data);
    free(made->sinogram);
}

/* An ellipse in mm about (x, y), y up, turned by `turn` degrees from x towards y. */
struct ellipse {
    double x, y, a, b, turn, value;
};

/* Pixels as the mean of 8 x 8 points. */
static void draw(struct ts_image *image, const struct ellipse *ellipse)
{
    enum { POINTS = 8 };
    const int64_t ny = image->axes[1].n, nx = image->axes[2].n;
    const double dy = image->axes[1].spacing, dx = image->axes[2].spacing, c = cos(ellipse->turn * M_PI / 180),
                 s = sin(ellipse->turn * M_PI / 180);
    float *values = image->data;
    for (int64_t i = 0; i < ny * nx; i++) {
        int inside = 0;
        for (int k = 0; k < POINTS * POINTS; k++) {
            const double x =
                ((double)(i % nx) - 0.5 * (double)(nx - 1) + (k % POINTS + 0.5) / POINTS - 0.5) * dx - ellipse->x;
            const double y =
                (0.5 * (double)(ny - 1) - (double)(i / nx) - (k / POINTS + 0.5) / POINTS + 0.5) * dy - ellipse->y;
            const double u = (x * c + y * s) / ellipse->a, v = (y * c - x * s) / ellipse->b;
            inside += u * u + v * v <= 1;
        }
        values[i] = (float)(ellipse->value * inside / (POINTS * POINTS));
    }
}

/* The chord of ray (theta, s): 2 a b sqrt(r^2 - t^2) / r^2, r^2 = a^2 cos^2 + b^2 sin^2, t the distance from its
 * center. */
static double chord(const struct ellipse *ellipse, double degree, double s)
{
    const double theta = degree * M_PI / 180, inner = (degree - ellipse->turn) * M_PI / 180;
    const double t = s - ellipse->x * cos(theta) - ellipse->y * sin(theta);
    const double r2 = pow(ellipse->a * cos(inner), 2) + pow(ellipse->b * sin(inner), 2);
    return t * t >= r2 ? 0 : ellipse->value * 2 * ellipse->a * ellipse->b * sqrt(r2 - t * t) / r2;
}

/* ---- against mathematics ----------------------------------------------------------------------- */

/* Off-center, turned, in pixels that are not square: any swapped axis, flip or wrong unit moves the shadow. The bounds
 * are the chords of the rays one pixel to either side, widened by the edge's partial pixels. */
Test(radon, ellipses_have_their_chords)
{
    static const struct ellipse ellipses[] = {
        {0, 0, 20, 20, 0, 1}, {9, -14, 8, 8, 0, 0.02}, {-11, 6, 17, 5, 30, 3}, {4, 15, 3, 12, -70, -1}};
    for (size_t e = 0; e < sizeof ellipses / sizeof *ellipses; e++) {
        struct made made;
        make(&made, "views=36 arc=360 detectors=150 detector_spacing=0.6", 130, 170, 0.5, 0.4);
        draw(&made.in, &ellipses[e]);
        project(&made);
        double worst = 0, summed = 0, square = 0, value = fabs(ellipses[e].value);
        for (int64_t v = 0; v < 36; v++)
            for (int64_t d = 0; d < 150; d++) {
                const double degree = 10 * (double)v, s = ((double)d - 74.5) * 0.6;
                double low = INFINITY, high = -INFINITY;
                for (int k = -10; k <= 10; k++) {
                    const double near = chord(&ellipses[e], degree, s + 0.064 * k); /* a pixel's diagonal */
                    low = fmin(low, near);
                    high = fmax(high, near);
                }
                const double is = made.sinogram[v * 150 + d];
                cr_assert(is >= low - 0.6 * value && is <= high + 0.6 * value,
                          "ellipse %zu view %lld detector %lld: %g outside [%g, %g]", e, (long long)v, (long long)d, is,
                          low, high);
                const double error = is - chord(&ellipses[e], degree, s);
                worst = fmax(worst, fabs(error));
                square += error * error;
                summed += fabs(chord(&ellipses[e], degree, s)) > 0;
            }
        cr_assert(sqrt(square / summed) <= 0.35 * value, "ellipse %zu: rms %g, worst %g", e, sqrt(square / summed),
                  worst);
        clear(&made);
    }
}

/* Each view sums, over s, to the integral of the slice: interpolation weights of a pixel add up to one. */
Test(radon, every_view_keeps_the_sum)
{
    struct made made;
    make(&made, "views=64 arc=360 detectors=401 detector_spacing=0.1", 23, 31, 0.7, 0.9);
    double mass = 0;
    uint64_t seed = 5;
    for (int64_t i = 0; i < 23 * 31; i++) {
        ((float *)made.in.data)[i] = (float)ts_random_unit(&seed);
        mass += ((float *)made.in.data)[i] * 0.7 * 0.9;
    }
    project(&made);
    for (int64_t v = 0; v < 64; v++) {
        double sum = 0;
        for (int64_t d = 0; d < 401; d++)
            sum += made.sinogram[v * 401 + d] * 0.1;
        cr_assert(fabs(sum - mass) <= 2e-3 * mass, "view %lld: %g of %g", (long long)v, sum, mass);
    }
    clear(&made);
}

/* One bright pixel right of and above the center: theta 0 shows it at +x, theta 90 at +y, and half a turn mirrors s. */
Test(radon, one_pixel_stands_where_the_convention_says)
{
    struct made made;
    make(&made, "angles=0,90,180,270 detectors=41 detector_spacing=2", 21, 41, 2, 2);
    for (int64_t i = 0; i < 21 * 41; i++)
        ((float *)made.in.data)[i] = 0;
    ((float *)made.in.data)[(10 - 4) * 41 + 20 + 13] = 5; /* x = 26 mm, y = 8 mm */
    project(&made);
    static const int64_t at[] = {20 + 13, 20 + 4, 20 - 13, 20 - 4};
    for (int64_t v = 0; v < 4; v++)
        for (int64_t d = 0; d < 41; d++)
            cr_assert_eq(made.sinogram[v * 41 + d], d == at[v] ? 10.0f : 0.0f, "view %lld detector %lld: %g",
                         (long long)v, (long long)d, (double)made.sinogram[v * 41 + d]);
    clear(&made);
}

/* Turning the slice by 90 degrees is the same as adding 90 degrees to the angle; a shift by one pixel shifts s. */
Test(radon, turned_and_shifted_slices_give_turned_and_shifted_views)
{
    enum { N = 33, D = 61 };
    struct made one, turned, shifted;
    make(&one, "angles=0,20,40,60,80 detectors=61", N, N, 1, 1);
    make(&turned, "angles=90,110,130,150,170 detectors=61", N, N, 1, 1);
    make(&shifted, "angles=0,20,40,60,80 detectors=61 center=29", N, N, 1, 1);
    uint64_t seed = 9;
    for (int64_t y = 0; y < N; y++)
        for (int64_t x = 0; x < N; x++) {
            const float value = (float)ts_random_unit(&seed);
            ((float *)one.in.data)[y * N + x] = value;
            ((float *)turned.in.data)[(N - 1 - x) * N + y] = value; /* x becomes up */
            ((float *)shifted.in.data)[y * N + x] = value;
        }
    project(&one);
    project(&turned);
    project(&shifted);
    for (int64_t v = 0; v < 5; v++)
        for (int64_t d = 0; d < D; d++) {
            cr_assert(fabs(one.sinogram[v * D + d] - turned.sinogram[v * D + d]) <= 1e-4, "turned, view %lld",
                      (long long)v);
            if (d > 0)
                cr_assert(fabs(one.sinogram[v * D + d] - shifted.sinogram[v * D + d - 1]) <= 1e-4, "shifted, view %lld",
                          (long long)v);
        }
    clear(&one);
    clear(&turned);
    clear(&shifted);
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
        cr_assert(fabs(c - cos(degree * M_PI / 180)) <= 1e-14 && fabs(s - sin(degree * M_PI / 180)) <= 1e-14, "%g",
                  degree);
    }
    for (int quarter = 0; quarter < 4; quarter++) {
        double c, s;
        ts_angle_cos_sin(45 + 90 * quarter, &c, &s);
        cr_assert_eq(fabs(c), fabs(s));
    }
}

/* ---- description and refusals ------------------------------------------------------------------ */

Test(radon, describes_its_axes_and_unit)
{
    static const char *const units[][2] = {{"1/mm", "1"}, {"HU", "HU mm"}, {"1", "mm"}, {"Bq/ml", "Bq/ml mm"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        struct made made;
        make(&made, "views=10 start=5 arc=90", 3, 4, 2, 1.5);
        made.in.unit = units[i][0];
        project(&made);
        const struct ts_axis *view = &made.out.axes[1], *detector = &made.out.axes[2];
        cr_assert_str_eq(made.out.unit, units[i][1]);
        cr_assert_eq(made.out.quantity, TS_LINE_INTEGRAL);
        cr_assert(view->kind == TS_AXIS_VIEW && view->n == 10 && view->first == 5 && view->spacing == 9 &&
                  !view->positions);
        cr_assert_eq(detector->n, 6); /* hypot(6, 6) / 1.5 = 5.66 */
        cr_assert(detector->kind == TS_AXIS_DETECTOR && detector->spacing == 1.5 && detector->first == -2.5 * 1.5);
        cr_assert(made.out.origin_mm[0] == 1.5 * 1.5 && made.out.origin_mm[1] == 2);
        clear(&made);
    }
}

Test(radon, refuses_angles_given_twice)
{
    static const char *const wrong[] = {"views=3 angles=1,2,3", "angles=1,2 start=4", "angles=0,1 arc=90",
                                        "angles=1,2;3,4"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        ts_test_params(&radon_stage, wrong[i], &set);
        cr_assert_eq(ts_stage_prepare(&radon_stage, &set, &in, NULL, 1, NULL, diag, &context), TS_BAD_CHAIN, "%s",
                     wrong[i]);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, i < 3 ? "angles-twice" : "angles-shape");
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}
