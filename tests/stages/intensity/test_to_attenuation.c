/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/to_attenuation.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/intensity/to_attenuation_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(to_attenuation);

static struct ts_image hounsfield(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype,
                                  enum stage_values values)
{
    struct ts_image image = ts_test_image(nz, ny, nx, dtype, values, 5);
    image.quantity = TS_HU;
    image.unit = "HU";
    return image;
}

TEST_ON_BOTH(to_attenuation, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = "water=0.0206", .quantity = TS_HU},
        {.assignments = "water=0.0206 negative=keep", .quantity = TS_HU},
        {.assignments = "water=10", .values = VALUES_CT, .quantity = TS_HU},
        {.assignments = "water=1e-4 negative=keep", .values = VALUES_EXTREME, .quantity = TS_HU},
        {"water=0.0171", 3, 511, 1027, TS_DTYPE_BIT(TS_I16) | TS_DTYPE_BIT(TS_F32),
         .quantity = TS_HU},
    };
    cr_assert_eq(ts_stage_check(&to_attenuation_stage, ts_to_attenuation_oracle, cases, 5),
                 4 * 8 * 7 + 2);
}

TEST_ON_BOTH(to_attenuation, clips_and_counts_below_vacuum_and_keeps_nan)
{
    const float values[] = {-1000, -1000.5f, 0, 1000, NAN, -3024, -INFINITY, INFINITY};
    for (int keep = 0; keep < 2; keep++) {
        struct ts_image in = hounsfield(1, 2, 4, TS_F32, VALUES_CONSTANT);
        struct stage_run run;
        memcpy(in.data, values, sizeof values);
        cr_assert_eq(ts_test_run(&run, &to_attenuation_stage,
                                 keep ? "water=0.02 negative=keep" : "water=0.02", &in, NULL, 0, 1),
                     TS_OK);
        const float *out = run.out.data;
        cr_assert(out[0] == 0 && out[2] == 0.02f && out[3] == 0.04f && isnan(out[4]) &&
                  out[7] == INFINITY);
        if (keep)
            cr_assert(out[1] == -1e-5f && out[5] == -0.04048f && out[6] == -INFINITY);
        else
            cr_assert(out[1] == 0 && out[5] == 0 && out[6] == 0 &&
                      ts_test_table_at(&run, "negative", 0) == 3);
        cr_assert_eq(run.out.quantity, TS_ATTENUATION);
        cr_assert_str_eq(run.out.unit, "1/mm");
        ts_test_run_clear(&run);
        free(in.data);
    }
}

TEST_ON_BOTH(to_attenuation, counts_every_slice)
{
    struct ts_image in = hounsfield(5, 130, 259, TS_I16, VALUES_RANDOM);
    const size_t count = ts_slice_count(&in);
    for (int64_t slab = 1; slab <= 5; slab += 2) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &to_attenuation_stage, "water=0.02", &in, NULL, slab, 2),
                     TS_OK);
        for (int64_t z = 0; z < 5; z++) {
            int64_t below = 0;
            for (size_t i = 0; i < count; i++)
                below += ((const int16_t *)ts_slice_data(&in, z))[i] < -1000;
            cr_assert_gt(below, 0);
            cr_assert_eq(ts_test_table_at(&run, "negative", z), (double)below);
        }
        ts_test_run_clear(&run);
    }
    free(in.data);
}

/* Every CT number comes back: f32 holds attenuations to 6e-8 of themselves, 4096 HU to 0.0003
 * HU. */
TEST_ON_BOTH(to_attenuation, to_hu_is_its_inverse)
{
    struct ts_image in = hounsfield(1, 64, 128, TS_I16, VALUES_CONSTANT);
    for (int i = 0; i < 64 * 128; i++)
        ((int16_t *)in.data)[i] = (int16_t)(i - 4096);
    struct ts_image there =
        ts_test_output(&to_attenuation_stage, "water=0.0206 negative=keep", &in);
    there.unit = "1/mm";
    struct ts_image back = ts_test_output(&to_hu_stage, "water=0.0206", &there);
    for (int i = 0; i < 64 * 128; i++)
        cr_assert(fabs((double)((float *)back.data)[i] - (i - 4096)) < 6e-4,
                  "%d HU come back as %g", i - 4096, (double)((float *)back.data)[i]);
    free(in.data);
    free(there.data);
    free(back.data);
}

Test(to_attenuation, refuses_what_is_not_in_hu)
{
    struct ts_image in = hounsfield(1, 2, 3, TS_F32, VALUES_CONSTANT);
    in.quantity = TS_ATTENUATION;
    ts_test_refuses(&to_attenuation_stage, "water=0.02", &in, NULL, "stage-quantity", "already");
    in.quantity = TS_INTENSITY;
    ts_test_refuses(&to_attenuation_stage, "water=0.02", &in, NULL, "stage-quantity",
                    "quantity: hu");
    in.quantity = TS_LINE_INTEGRAL;
    ts_test_refuses(&to_attenuation_stage, "water=0.02", &in, NULL, "stage-quantity", "hu");
    free(in.data);
}

/* Padding lies below vacuum, and is neither noise nor measured. */
TEST_ON_BOTH(to_attenuation, counts_what_is_valid_alone)
{
    enum { NZ = 4, NY = 70, NX = 131 };
    struct ts_image in = hounsfield(NZ, NY, NX, TS_I16, VALUES_RANDOM);
    struct stage_run run;
    ts_test_mask(&in, MASKED_SOME, -2000, 6);
    cr_assert_eq(ts_test_run(&run, &to_attenuation_stage, "water=0.0206", &in, NULL, 2, 3), TS_OK);
    for (int64_t z = 0; z < NZ; z++) {
        int64_t negative = 0;
        for (size_t i = 0; i < NY * NX; i++)
            negative +=
                ts_test_is_valid(&in, z, i) && ((const int16_t *)ts_slice_data(&in, z))[i] < -1000;
        cr_assert_eq((int64_t)ts_test_table_at(&run, "negative", z), negative, "slice %lld",
                     (long long)z);
    }
    ts_test_run_clear(&run);
    free(in.data);
    free(in.valid);
}
