/* SPDX-License-Identifier: Apache-2.0 */
#include <criterion/criterion.h>

#include "stages/engine/stage.h"
#include "tests/support/stage_check.h"

Test(save, passes_every_kind_of_image_on)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
        struct ts_image in = ts_test_image(3, 5, 7, dtype, VALUES_RANDOM, 1);
        struct param_set set;
        struct stage_context context;
        struct ts_diag *diag = ts_diag_create();
        ts_test_params(&save_stage, "", &set);
        cr_assert_eq(ts_stage_prepare(&save_stage, &set, &in, NULL, 1, NULL, diag, &context),
                     TS_OK);
        cr_assert_eq(context.out.dtype, in.dtype);
        cr_assert_eq(ts_image_bytes(&context.out), ts_image_bytes(&in));
        cr_assert(!save_stage.map && save_stage.traits & TRAIT_KEEPS_IMAGE);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
        free(in.data);
    }
}
