/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/regions/apply_mask.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/regions/apply_mask_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(apply_mask);

/* Makes a mask of which two thirds are 0, and a value NaN where the type has it. */
static struct ts_image make_mask(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype)
{
    struct ts_image mask = ts_test_image(nz, ny, nx, dtype, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < ts_image_count(&mask); i++)
        ts_test_store(mask.data, dtype, i, i % 3 == 0 ? (double)(i % 5 + 1) : 0);
    if (dtype == TS_F32)
        ((float *)mask.data)[0] = NAN;
    return mask;
}

static void check(enum ts_dtype dtype, enum ts_dtype mask_dtype, const char *assignments,
                  int64_t slab)
{
    enum { NZ = 4, NY = 7, NX = 19 };
    struct ts_image in = ts_test_image(NZ, NY, NX, dtype, VALUES_RANDOM, 5),
                    mask = make_mask(NZ, NY, NX, mask_dtype);
    struct stage_run run;
    double expected[NZ * NY * NX], is[NZ * NY * NX];
    if (dtype == TS_F32)
        ((float *)in.data)[3] = NAN;
    cr_assert_eq(ts_test_run(&run, &apply_mask_stage, assignments, &in, &mask, slab, 2), TS_OK);
    const struct ts_image inputs[STAGE_INPUTS] = {in, mask};
    ts_apply_mask_oracle_results(&run.context, inputs, expected, NULL);
    ts_load_f64(is, run.out.data, dtype, NZ * NY * NX);
    for (size_t i = 0; i < NZ * NY * NX; i++)
        cr_assert(is[i] == expected[i] || (isnan(is[i]) && isnan(expected[i])),
                  "%s {%s} mask %s: pixel %zu is %g", ts_dtype_name(dtype), assignments,
                  ts_dtype_name(mask_dtype), i, is[i]);
    cr_assert_eq(run.out.masked, strstr(assignments, "outside") == NULL);
    ts_test_run_clear(&run);
    free(in.data);
    free(mask.data);
}

TEST_ON_BOTH(apply_mask, agrees_with_the_definition)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int of_mask = TS_U8; of_mask <= TS_F32; of_mask++) {
            check((enum ts_dtype)dtype, (enum ts_dtype)of_mask, "", of_mask % 3);
            check((enum ts_dtype)dtype, (enum ts_dtype)of_mask, "outside=value value=100",
                  of_mask % 3);
        }
    check(TS_F32, TS_U8, "outside=value value=-0.5", 1);
    check(TS_I16, TS_U8, "outside=value value=-32768", 1);
}

/* The value of an invalid pixel of the mask is not believed. */
TEST_ON_BOTH(apply_mask, an_invalid_pixel_of_the_mask_is_outside)
{
    struct ts_image in = ts_test_image(2, 5, 40, TS_I16, VALUES_RANDOM, 5),
                    mask = ts_test_image(2, 5, 40, TS_U8, VALUES_CONSTANT, 1);
    struct stage_run run;
    ts_test_mask(&mask, MASKED_SOME, 1, 3);
    memset(mask.data, 1, ts_image_bytes(&mask));
    cr_assert_eq(ts_test_run(&run, &apply_mask_stage, "outside=value value=7", &in, &mask, 1, 1),
                 TS_OK);
    for (int64_t z = 0; z < 2; z++)
        for (size_t i = 0; i < 200; i++)
            cr_assert_eq(((const int16_t *)ts_slice_data(&run.out, z))[i],
                         ts_test_is_valid(&mask, z, i) ? ((const int16_t *)ts_slice_data(&in, z))[i]
                                                       : 7);
    ts_test_run_clear(&run);
    free(mask.valid);
    free(mask.data);
    free(in.data);
}

Test(apply_mask, refuses_what_contradicts_itself)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_RANDOM, 1),
                    other = ts_test_image(2, 4, 3, TS_U8, VALUES_RANDOM, 2);
    ts_test_refused(&apply_mask_stage, "value=3", TS_U8, true, "parameter-unused");
    ts_test_refused(&apply_mask_stage, "outside=value value=256", TS_U8, true, "value-range");
    ts_test_refused(&apply_mask_stage, "outside=value value=0.5", TS_I16, true, "value-range");
    ts_test_refuses(&apply_mask_stage, "", &image, &other, "reference-shape", "2 x 4 x 3");
    free(image.data);
    free(other.data);
}
