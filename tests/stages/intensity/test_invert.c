/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/invert.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/intensity/invert_oracle.h"
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
    cr_assert_eq(ts_stage_check(&invert_stage, ts_invert_oracle, cases, n), 8 * 7 * n);
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

/* Every stage that knows some beams alone refuses the others in these words. */
Test(invert, a_stage_names_the_beam_that_it_does_not_take)
{
    struct stage parallel = invert_stage;
    parallel.beams = TS_BEAM_BIT(TS_BEAM_PARALLEL);
    for (int kind = TS_BEAM_PARALLEL; kind <= TS_BEAM_FAN_FLAT; kind++) {
        struct ts_image in = ts_test_image(1, 3, 4, TS_F32, VALUES_RANDOM, 1);
        in.axes[1].kind = TS_AXIS_VIEW;
        in.axes[2].kind = TS_AXIS_DETECTOR;
        in.beam = (struct ts_beam){(enum ts_beam_kind)kind, kind ? 500 : 0, kind ? 900 : 0};
        struct stage_run refused, carried;
        cr_assert_eq(ts_test_run(&refused, &parallel, "", &in, NULL, 0, 1),
                     kind ? TS_BAD_CHAIN : TS_OK);
        if (kind) {
            cr_assert_str_eq(ts_diag_get(refused.diag, 0)->code, "stage-beam");
            cr_assert(strstr(ts_diag_get(refused.diag, 0)->message, ts_beam_name(in.beam.kind)));
            cr_assert_str_eq(ts_diag_get(refused.diag, 0)->hint, "it takes parallel");
        }
        cr_assert_eq(ts_test_run(&carried, &invert_stage, "", &in, NULL, 0, 1), TS_OK);
        cr_assert(!memcmp(&carried.out.beam, &in.beam, sizeof in.beam));
        ts_test_run_clear(&refused);
        ts_test_run_clear(&carried);
        free(in.data);
    }
}

Test(invert, refuses_a_range_that_is_none)
{
    ts_test_refused(&invert_stage, "range=1", TS_U8, false, "range-length");
    ts_test_refused(&invert_stage, "range=1,1", TS_F32, false, "range-order");
}
