/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/invert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "tests/reference/invert_reference.h"
#include "tests/support/stage_run.h"

TestSuite(invert);

TEST_ON_BOTH(invert, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "", .values = VALUES_EXTREME},
        {.assignments = "scope=slice", .values = VALUES_CT},
        {.assignments = "limits=data"},
        {.assignments = "limits=data", .values = VALUES_CT},
        {.assignments = "limits=data scope=slice", .values = VALUES_CT},
        {.assignments = "limits=data", .values = VALUES_CONSTANT},
        {.assignments = "range=-1024,3071", .values = VALUES_CT},
        {.assignments = "range=0,254.5", .values = VALUES_EXTREME},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&invert_stage, ts_invert_reference, cases, n), 8 * 7 * n);
}

TEST_ON_BOTH(invert, twice_is_the_image_again)
{
    for (int dtype = TS_U8; dtype <= TS_I32; dtype++) {
        struct ts_image in = ts_test_image(2, 9, 13, (enum ts_dtype)dtype, VALUES_RANDOM, 4);
        struct stage_run once, twice;
        cr_assert_eq(ts_test_run(&once, &invert_stage, "", &in, NULL, 0, 1), TS_OK);
        cr_assert_eq(ts_test_run(&twice, &invert_stage, "", &once.out, NULL, 0, 1), TS_OK);
        cr_assert_eq(once.out.quantity, TS_INTENSITY);
        cr_assert_eq(once.out.dtype, in.dtype);
        cr_assert_arr_eq(twice.out.data, in.data, ts_image_bytes(&in));
        ts_test_run_clear(&once);
        ts_test_run_clear(&twice);
        free(in.data);
    }
}

Test(invert, refuses_a_range_that_is_none)
{
    ts_test_refused(&invert_stage, "range=1", TS_U8, false, "range-length");
    ts_test_refused(&invert_stage, "range=1,1", TS_F32, false, "range-order");
}
