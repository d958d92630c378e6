/* SPDX-License-Identifier: Apache-2.0
 *
 * The order in which the moments of a slice are added up; their values are tested through the stage
 * statistics.
 */
#include <criterion/criterion.h>

#include "stages/counting/moments.h"

/* 2^60 loses a 1 that is added to it. Halving with stride joins it with -2^60 before the 1 comes;
 * whoever adds one value after the other, in one lane or in several, meets the 1 between them. */
Test(moments, are_added_up_in_the_order_of_the_method)
{
    float values[256] = {[0] = 0x1p60f, [32] = 1, [128] = -0x1p60f};
    struct moments moments;
    ts_moments_of_slice_by(&moments, values, TS_F32, 256, REDUCTION_FAN_IN);
    cr_expect_eq(moments.sum, 1);
    ts_moments_of_slice_by(&moments, values, TS_F32, 256, REDUCTION_TWO_LEVEL);
    cr_expect_eq(moments.sum, 0);
}
