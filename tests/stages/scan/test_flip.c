/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/flip.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/projection/reconstruction.h"
#include "tests/stages/scan/flip_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(flip);

TEST_ON_BOTH(flip, agrees_with_the_definition)
{
    const struct stage_case cases[] = {{.assignments = ""},
                                       {.assignments = "", .values = VALUES_EXTREME},
                                       {"", 3, 67, 1027},
                                       {"", 2, 5, 300}};
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&flip_stage, ts_flip_oracle, cases, n), (2 * 8 + 2) * 7);
}

static struct ts_image sinogram(int64_t center)
{
    struct ts_image in = ts_test_image(1, 90, 65, TS_F32, VALUES_CONSTANT, 1);
    in.axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW, .n = 90, .spacing = 2, .unit = "degree"};
    in.axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                  .n = 65,
                                  .spacing = 0.5,
                                  .first = -0.5 * (double)center,
                                  .unit = "mm"};
    in.quantity = TS_LINE_INTEGRAL;
    in.unit = "1";
    return in;
}

/* A point at (x, y) = (6, 4) mm, seen by detectors that run the other way, is at (-6, 4) without
 * flip() and in its place with it, the axis not in the middle. */
TEST_ON_BOTH(flip, mirrors_about_the_rotation_axis)
{
    const double degree = acos(-1) / 180;
    const int64_t center = 30;
    struct ts_image in = sinogram(center);
    for (int64_t i = 0; i < 90 * 65; i++) {
        const double theta = 2 * degree * (double)(i / 65), u = -0.5 * (double)(i % 65 - center),
                     away = u - 6 * cos(theta) - 4 * sin(theta);
        ((float *)in.data)[i] = (float)exp(-away * away);
    }
    struct stage_run flipped, image;
    cr_assert_eq(ts_test_run(&flipped, &flip_stage, "", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(-flipped.out.axes[2].first / flipped.out.axes[2].spacing, 34);
    cr_assert_eq(ts_test_run(&image, &fbp_stage, "", &flipped.out, NULL, 0, 1), TS_OK);
    const struct ts_axis *y = &image.out.axes[1], *x = &image.out.axes[2];
    const float *pixels = image.out.data;
    int64_t largest = 0;
    for (int64_t i = 0; i < y->n * x->n; i++)
        largest = pixels[i] > pixels[largest] ? i : largest;
    cr_assert_eq(largest % x->n, x->n / 2 + 12);
    cr_assert_eq(largest / x->n, y->n / 2 - 8);
    ts_test_run_clear(&image);
    ts_test_run_clear(&flipped);
    free(in.data);
}

Test(flip, refuses_detectors_without_an_even_distance)
{
    const double positions[] = {0, 1, 3, 4};
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refuses(&flip_stage, "", &in, NULL, "stage-axes", "");
    in.axes[1].kind = TS_AXIS_VIEW;
    in.axes[2].kind = TS_AXIS_DETECTOR;
    in.axes[2].positions = positions;
    ts_test_refuses(&flip_stage, "", &in, NULL, "detectors-uneven", "");
    free(in.data);
}
