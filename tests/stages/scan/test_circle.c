/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/circle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/npy.h"
#include "tests/stages/scan/circle_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(circle);

/* Pixels of 0.7 mm by 0.5 mm. */
TEST_ON_BOTH(circle, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "ratio=0.9 value=7"},
        {.assignments = "ratio=1.37 value=100"},
        {.assignments = "ratio=0"},
        {.assignments = "ratio=2"},
        {.assignments = "ratio=0.013", .values = VALUES_EXTREME},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&circle_stage, ts_circle_oracle, cases, n), 8 * 7 * n);
}

/* Square pixels of sizes that no float is, even and odd, against the sum of squares of whole
 * numbers. */
TEST_ON_BOTH(circle, is_exact_for_square_pixels)
{
    for (int64_t n = 1; n < 70; n += 4)
        for (int even = 0; even < 2; even++) {
            const int64_t ny = n + even, nx = n + 5;
            struct ts_image in = ts_test_image(2, ny, nx, TS_U16, VALUES_CONSTANT, 1);
            struct stage_run run;
            in.axes[1].spacing = in.axes[2].spacing = 0.1;
            cr_assert_eq(ts_test_run(&run, &circle_stage, "", &in, NULL, 0, 1), TS_OK);
            for (int64_t y = 0; y < ny; y++)
                for (int64_t x = 0; x < nx; x++) {
                    const int64_t a = 2 * y - (ny - 1), b = 2 * x - (nx - 1);
                    cr_assert_eq(((uint16_t *)run.out.data)[y * nx + x],
                                 a * a + b * b < ny * ny ? 7 : 0);
                }
            ts_test_run_clear(&run);
            free(in.data);
        }
}

/* TomoPy's masks of planes perpendicular to each axis, from files it wrote; ours are perpendicular
 * to z, so the array is turned. */
TEST_ON_BOTH(circle, agrees_with_tomopy)
{
    enum { N = 8 * 32 * 32 };
    static const int64_t shapes[3][3] = {{8, 32, 32}, {32, 8, 32}, {32, 8, 32}};
    static const int64_t strides[3][3] = {{1024, 32, 1}, {32, 1024, 1}, {1, 1024, 32}};
    double object[N];
    float theirs[N];
    SKIP_WITHOUT_DATA("circle");
    ts_test_npy("obj.npy", object, sizeof object);
    for (int axis = 0; axis < 3; axis++) {
        char name[32];
        snprintf(name, sizeof name, "circ_mask_%d.npy", axis);
        ts_test_npy(name, theirs, sizeof theirs);
        struct ts_image in = ts_test_image(shapes[axis][0], shapes[axis][1], shapes[axis][2],
                                           TS_F32, VALUES_CONSTANT, 1);
        struct stage_run run;
        in.axes[1].spacing = in.axes[2].spacing = 1;
        for (int64_t i = 0; i < N; i++) {
            const int64_t z = i / (in.axes[1].n * in.axes[2].n),
                          y = i / in.axes[2].n % in.axes[1].n;
            const int64_t from =
                z * strides[axis][0] + y * strides[axis][1] + i % in.axes[2].n * strides[axis][2];
            ((float *)in.data)[i] = (float)object[from];
        }
        cr_assert_eq(ts_test_run(&run, &circle_stage, "", &in, NULL, 0, 1), TS_OK);
        for (int64_t i = 0; i < N; i++) {
            const int64_t z = i / (in.axes[1].n * in.axes[2].n),
                          y = i / in.axes[2].n % in.axes[1].n;
            const int64_t from =
                z * strides[axis][0] + y * strides[axis][1] + i % in.axes[2].n * strides[axis][2];
            cr_assert_eq(((float *)run.out.data)[i], theirs[from], "axis %d, value %lld", axis,
                         (long long)i);
        }
        ts_test_run_clear(&run);
        free(in.data);
    }
}

Test(circle, refuses_what_the_image_cannot_hold)
{
    ts_test_refused(&circle_stage, "value=-1", TS_U8, false, "value-range");
    ts_test_refused(&circle_stage, "value=256", TS_U8, false, "value-range");
    ts_test_refused(&circle_stage, "value=0.5", TS_I16, false, "value-range");
    struct ts_image in = ts_test_image(1, 2, 3, TS_F32, VALUES_CONSTANT, 1);
    in.axes[1].unit = "pixel";
    ts_test_refuses(&circle_stage, "value=0.5", &in, NULL, "axis-units", "");
    in.axes[1].unit = "mm";
    in.axes[1].kind = TS_AXIS_VIEW;
    ts_test_refuses(&circle_stage, "", &in, NULL, "stage-axes", "");
    free(in.data);
}
