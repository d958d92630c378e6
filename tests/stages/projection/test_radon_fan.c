/* SPDX-License-Identifier: Apache-2.0
 *
 * radon of fan beams.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/projection/radon.h"
#include "tests/stages/projection/radon_oracle.h"
#include "tests/support/radon_scene.h"
#include "tests/support/stage_run.h"

TestSuite(radon_fan);

/* The same fan case for each method that knows fans. */
#define FAN_METHODS(text, ...)                                                                     \
    {.assignments = text, __VA_ARGS__}, {.assignments = text " method=ray", __VA_ARGS__},          \
    {                                                                                              \
        .assignments = text " method=stack", __VA_ARGS__                                           \
    }

/* Comparisons of n cases by FAN_METHODS. */
static size_t each_fan_method(size_t n)
{
    return ts_test_device ? 3 * n : n;
}

#define FLAT "beam=fan-flat source_axis=90 source_detector=150 "
#define ARC "beam=fan-arc source_axis=90 source_detector=150 "

TEST_ON_BOTH(radon_fan, agrees_with_the_oracle_in_a_fan)
{
    static const struct stage_case cases[] = {
        FAN_METHODS(FLAT "views=7"),
        FAN_METHODS(ARC "views=7"),
        FAN_METHODS(FLAT "views=12 start=-33 arc=400 detectors=31 detector_spacing=1.9 center=11.3",
                    .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(ARC "angles=0,45,90,135,180,-45,225,270,315,360",
                    .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(FLAT "angles=44.999,45.001,89.9999,90.0001,17", .values = VALUES_CT,
                    .dtypes = TS_DTYPE_BIT(TS_I16)),
        FAN_METHODS(ARC "views=5", .values = VALUES_EXTREME, .dtypes = TS_DTYPE_BIT(TS_I32)),
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, sizeof cases / sizeof *cases),
                 each_fan_method(8 * (2 * 7 + 4)));
}

/* Every grouping of slices; lines longer than a block is for 512 and 1,024 samples; a source that
 * all but touches the slice, wide fans, rays from 50 a pixel to many pixels apart, an axis far
 * outside, a source that is far away; past 2,048 views and 4,096 detectors. */
TEST_ON_BOTH(radon_fan, agrees_in_every_fan)
{
    static const struct stage_case cases[] = {
        FAN_METHODS(FLAT "views=6", .nz = 23, .ny = 19, .nx = 30, .dtypes = TS_DTYPE_BIT(TS_U16)),
        FAN_METHODS(ARC "views=3", .nz = 67, .ny = 17, .nx = 40, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(FLAT "views=2 start=30", .nz = 165, .ny = 23, .nx = 14,
                    .dtypes = TS_DTYPE_BIT(TS_U8)),
        FAN_METHODS("views=4 start=3 beam=fan-flat source_axis=300 source_detector=500", .nz = 1,
                    .ny = 35, .nx = 530, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS("views=4 start=3 beam=fan-arc source_axis=500 source_detector=500", .nz = 4,
                    .ny = 1100, .nx = 21, .dtypes = TS_DTYPE_BIT(TS_I8)),
        FAN_METHODS("views=9 beam=fan-arc source_axis=57.5 source_detector=80 detector_spacing=0.3",
                    .nz = 3, .ny = 129, .nx = 131, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS("views=9 beam=fan-flat source_axis=57.5 source_detector=80 detectors=700",
                    .nz = 2, .ny = 129, .nx = 131, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(FLAT "views=8 detectors=37 detector_spacing=0.01", .nz = 2, .ny = 21, .nx = 34,
                    .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(ARC "views=8 detectors=10 detector_spacing=9.3", .nz = 2, .ny = 21, .nx = 34,
                    .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(FLAT "views=8 detectors=5 detector_spacing=1000000", .nz = 2, .ny = 21,
                    .nx = 34, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(FLAT "views=8 detectors=9 center=-400", .nz = 2, .ny = 21, .nx = 34,
                    .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS("views=8 beam=fan-flat source_axis=1e8 source_detector=1e8", .nz = 2, .ny = 21,
                    .nx = 34, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(ARC "views=2053", .nz = 1, .ny = 5, .nx = 3, .dtypes = TS_DTYPE_BIT(TS_F32)),
        FAN_METHODS(FLAT "views=3 detectors=4099 detector_spacing=0.001", .nz = 1, .ny = 5, .nx = 3,
                    .dtypes = TS_DTYPE_BIT(TS_F32)),
    };
    cr_assert_eq(ts_stage_check(&radon_stage, ts_radon_oracle, cases, sizeof cases / sizeof *cases),
                 each_fan_method(14));
}

/* A fan's ray is the parallel one of angle theta + gamma at s = source_axis * sin(gamma); the
 * chords are exact. */
TEST_ON_BOTH(radon_fan, ellipses_have_their_chords_in_a_fan)
{
    static const struct ellipse ellipse = {9, -14, 17, 8, 30, 1};
    static const char *const beams[] = {"fan-arc", "fan-flat"};
    for (int b = 0; b < 2; b++) {
        struct radon_scene made;
        char text[160];
        snprintf(text, sizeof text,
                 "views=24 detectors=150 detector_spacing=1.1 center=70 beam=%s source_axis=120 "
                 "source_detector=200",
                 beams[b]);
        ts_test_scene_make(&made, text, 130, 170, 0.5, 0.4);
        ts_test_ellipse_draw(&made.in, &ellipse);
        ts_test_scene_project(&made);
        cr_assert(made.out.beam.kind == (b ? TS_BEAM_FAN_FLAT : TS_BEAM_FAN_ARC) &&
                  made.out.beam.source_axis_mm == 120 && made.out.beam.source_detector_mm == 200);
        double square = 0, summed = 0;
        for (int64_t v = 0; v < 24; v++)
            for (int64_t d = 0; d < 150; d++) {
                const double u = ((double)d - 70) * 1.1, gamma = b ? atan(u / 200) : u / 200;
                const double expected = ts_test_ellipse_chord(
                    &ellipse, 15 * (double)v + gamma * 180 / M_PI, 120 * sin(gamma));
                square += pow(made.sinogram[v * 150 + d] - expected, 2);
                summed += expected > 0;
            }
        cr_assert(summed > 500 && sqrt(square / summed) <= 0.35, "%s: rms %g over %g rays",
                  beams[b], sqrt(square / summed), summed);
        ts_test_scene_clear(&made);
    }
}

/* One bright pixel at x = 26 mm, y = 8 mm. With theta 0 the source stands above, with 90 at the
 * left: where the ray through the pixel meets the detector follows from similar triangles. */
TEST_ON_BOTH(radon_fan, one_pixel_stands_where_the_convention_says_in_a_fan)
{
    enum { DETECTORS = 401 };
    static const double across[] = {26, 8, -26, -8}, towards[] = {8, -26, -8, 26};
    struct radon_scene made;
    ts_test_scene_make(&made,
                       "angles=0,90,180,270 detectors=401 detector_spacing=0.5 beam=fan-flat "
                       "source_axis=100 source_detector=150",
                       21, 41, 2, 2);
    for (int64_t i = 0; i < 21 * 41; i++)
        ((float *)made.in.data)[i] = 0;
    ((float *)made.in.data)[(10 - 4) * 41 + 20 + 13] = 5;
    ts_test_scene_project(&made);
    for (int64_t v = 0; v < 4; v++) {
        const double expected = 150 * across[v] / (100 - towards[v]);
        double sum = 0, moment = 0;
        for (int64_t d = 0; d < DETECTORS; d++) {
            sum += made.sinogram[v * DETECTORS + d];
            moment += made.sinogram[v * DETECTORS + d] * 0.5 * ((double)d - 200);
        }
        cr_assert(sum > 0 && fabs(moment / sum - expected) <= 0.3, "view %lld: %g, expected %g",
                  (long long)v, moment / sum, expected);
    }
    ts_test_scene_clear(&made);
}

Test(radon_fan, refuses_a_fan_that_cannot_be)
{
    static const char *const wrong[][2] = {
        {"beam=fan-flat", "source-missing"},
        {"beam=fan-arc source_axis=500", "source-missing"},
        {"source_axis=500", "source-parallel"},
        {"beam=parallel source_detector=900", "source-parallel"},
        {"beam=fan-flat source_axis=1.5 source_detector=900", "source-inside"},
        {"beam=fan-flat source_axis=500 source_detector=499", "detector-inside"},
        {"beam=fan-arc source_axis=500 source_detector=500 detectors=4000", "fan-angle"},
        {"beam=fan-arc source_axis=500 source_detector=500 method=row-fan-in", "method-beam"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ts_test_refused(&radon_stage, wrong[i][0], TS_F32, false, wrong[i][1]);
    struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
    in.axes[1].unit = in.axes[2].unit = "pixel";
    ts_test_refuses(&radon_stage, "beam=fan-flat source_axis=500 source_detector=900", &in, NULL,
                    "source-unit", "");
    free(in.data);
}

/* There are as many detector pixels as the slice's diagonal needs, with the pixels at the axis
 * magnified. Their number is even because that of the columns is. */
Test(radon_fan, a_fan_covers_the_slice)
{
    static const char *const beams[] = {"fan-arc", "fan-flat"};
    for (int b = 0; b < 2; b++) {
        struct radon_scene made;
        char text[96];
        snprintf(text, sizeof text, "beam=%s source_axis=100 source_detector=150", beams[b]);
        ts_test_scene_make(&made, text, 30, 40, 1, 1);
        ts_test_scene_project(&made);
        const double gamma = asin(0.25), wide = 2 * 150 * (b ? tan(gamma) : gamma);
        cr_assert(made.out.axes[2].spacing == 1.5 &&
                  made.out.axes[2].n == 2 * (int64_t)ceil(0.5 * wide / 1.5));
        cr_assert(made.out.axes[1].n == 180 && made.out.axes[1].spacing == 2);
        ts_test_scene_clear(&made);
    }
}
