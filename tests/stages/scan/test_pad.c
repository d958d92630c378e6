/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/pad.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/stages/scan/pad_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(pad);

TEST_ON_BOTH(pad, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "left=3 right=0"},
        {.assignments = "left=0 right=0"},
        {.assignments = "left=5 right=17 border=reflect"},
        {.assignments = "left=300 right=301 border=reflect"},
        {.assignments = "left=8 right=40 border=mirror"},
        {.assignments = "left=1 right=70 border=wrap"},
        {.assignments = "border=constant"},
        {.assignments = "left=33 right=2 border=constant constant=9", .values = VALUES_EXTREME},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&pad_stage, ts_pad_oracle, cases, n), 8 * 7 * n);
}

/* Detector i of the input is detector i + left of the result, at the same place. */
TEST_ON_BOTH(pad, keeps_the_rotation_center)
{
    struct ts_image in = ts_test_image(2, 3, 640, TS_F32, VALUES_RANDOM, 1);
    struct stage_run run;
    in.axes[1].kind = TS_AXIS_VIEW;
    in.axes[2] = (struct ts_axis){
        .kind = TS_AXIS_DETECTOR, .n = 640, .spacing = 0.25, .first = -295.5 * 0.25, .unit = "mm"};
    in.quantity = TS_LINE_INTEGRAL;
    cr_assert_eq(ts_test_run(&run, &pad_stage, "left=10 right=20", &in, NULL, 0, 1), TS_OK);
    const struct ts_axis *detectors = &run.out.axes[2];
    cr_assert_eq(detectors->n, 670);
    cr_assert_eq(-detectors->first / detectors->spacing, 305.5);
    cr_assert_eq(run.out.quantity, TS_LINE_INTEGRAL);
    cr_assert_eq(((float *)run.out.data)[670 + 10], ((float *)in.data)[640]);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &pad_stage, "", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(((const struct pad_params *)run.set.values)->left, 133); /* 640 * 0.2071 = 132.5 */
    cr_assert_eq(run.out.axes[2].n, 906);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(pad, refuses_what_it_cannot_continue)
{
    const double positions[] = {0, 1, 3, 4};
    struct ts_image in = ts_test_image(2, 3, 4, TS_U8, VALUES_CONSTANT, 1);
    ts_test_refuses(&pad_stage, "", &in, NULL, "stage-axes", "");
    in.axes[1].kind = TS_AXIS_VIEW;
    in.axes[2].kind = TS_AXIS_DETECTOR;
    ts_test_refuses(&pad_stage, "constant=3", &in, NULL, "parameter-unused", "");
    ts_test_refuses(&pad_stage, "border=constant constant=-1", &in, NULL, "value-range", "");
    ts_test_refuses(&pad_stage, "border=constant constant=0.5", &in, NULL, "value-range", "");
    in.axes[2].positions = positions;
    ts_test_refuses(&pad_stage, "", &in, NULL, "detectors-uneven", "");
    free(in.data);
}
