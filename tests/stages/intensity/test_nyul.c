/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/intensity/nyul.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/intensity/nyul_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(nyul);

#define SCALE "landmarks=0,9.5,20,26,31,40,48,56,65,70,75,86,100"
/* A scale on which 20 to 40, and 80 to 90, are one value. */
#define STEPS "landmarks=-7,3,11,11,11,11,12,60,61,62,63,63,1e4"

TEST_ON_BOTH(nyul, agrees_with_torchio)
{
    static const struct stage_case cases[] = {
        {.assignments = SCALE, .nz = 5, .ny = 7, .nx = 11},
        {.assignments = SCALE, .nz = 3, .ny = 41, .nx = 1},
        {.assignments = SCALE, .nz = 4, .ny = 67, .nx = 129, .values = VALUES_CT},
        {.assignments = STEPS, .nz = 4, .ny = 67, .nx = 130, .values = VALUES_CT},
        {.assignments = STEPS, .nz = 1, .ny = 1, .nx = 2},
        {.assignments = SCALE, .nz = 2, .ny = 13, .nx = 17, .values = VALUES_EXTREME},
    };
    cr_assert_eq(ts_stage_check(&nyul_stage, ts_nyul_oracle, cases, sizeof cases / sizeof *cases),
                 6 * 7);
}

static struct ts_image floats(int64_t ny, int64_t nx, const float *values)
{
    struct ts_image in = ts_test_image(1, ny, nx, TS_F32, VALUES_CONSTANT, 1);
    memcpy(in.data, values, (size_t)(ny * nx) * sizeof *values);
    return in;
}

/* 101 values 0, 2, ..., 200: the percentile q is 2 q. The standard scale has 50 + q at q. */
TEST_ON_BOTH(nyul, lines_go_through_the_landmarks_and_beyond)
{
    float values[104];
    struct stage_run run;
    for (int i = 0; i <= 100; i++)
        values[i] = (float)(2 * ((37 * i) % 101));
    values[101] = NAN;
    values[102] = INFINITY;
    values[103] = -INFINITY;
    struct ts_image in = floats(8, 13, values);
    cr_assert_eq(ts_test_run(&run, &nyul_stage,
                             "landmarks=51,60,70,75,80,90,100,110,120,125,130,140,149", &in, NULL,
                             0, 1),
                 TS_OK);
    const float *out = run.out.data;
    for (int i = 0; i <= 100; i++)
        cr_assert_eq(out[i], 50 + values[i] / 2, "%g is %g", (double)values[i], (double)out[i]);
    cr_assert(isnan(out[101]) && out[102] == INFINITY && out[103] == -INFINITY);
    for (int i = 0; i < NYUL_PERCENTILES; i++)
        cr_assert_float_eq(ts_test_table_at(&run, "percentiles", i), 2 * ts_nyul_percents[i],
                           1e-13);
    cr_assert(run.out.dtype == TS_F32 && run.out.quantity == TS_INTENSITY &&
              !strcmp(run.out.unit, "1"));
    ts_test_run_clear(&run);
    free(in.data);
}

/* Percentiles 1 to 70 are 0: the background. Those lines have no slope, and 0 is where the last of
 * them ends; the landmark of 70 is its value. */
TEST_ON_BOTH(nyul, equal_percentiles_have_no_slope)
{
    float values[101] = {0};
    struct stage_run run;
    for (int i = 71; i <= 100; i++)
        values[i] = (float)(10 * (i - 70));
    values[0] = -1; /* below all landmarks */
    struct ts_image in = floats(1, 101, values);
    cr_assert_eq(ts_test_run(&run, &nyul_stage, "landmarks=0,10,20,25,30,40,50,60,70,75,80,90,99",
                             &in, NULL, 0, 1),
                 TS_OK);
    const float *out = run.out.data;
    cr_assert_eq(out[1], 70);
    cr_assert_eq(out[0], 0);
    cr_assert_eq(out[75], 75);
    cr_assert_eq(out[80], 80);
    cr_assert_eq(out[100], 100);
    ts_test_run_clear(&run);
    free(in.data);
}

TEST_ON_BOTH(nyul, counts_only_what_is_valid_and_in_the_mask)
{
    struct ts_image in = ts_test_image(4, 9, 23, TS_I16, VALUES_CT, 5),
                    mask = ts_test_image(4, 9, 23, TS_U8, VALUES_RANDOM, 6);
    struct stage_run run;
    double percentiles[13], *values;
    for (size_t i = 0; i < ts_image_count(&mask); i++)
        ((uint8_t *)mask.data)[i] %= 3;
    ts_test_mask(&in, MASKED_SOME, 30000, 7);
    const size_t n = ts_test_valid_values(&in, &mask, 0, 4, &values);
    cr_assert_eq(ts_test_run(&run, &nyul_stage, SCALE " mask=m", &in, &mask, 1, 2), TS_OK);
    struct ts_image alone = ts_test_image(1, 1, (int64_t)n, TS_F32, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < n; i++)
        ((float *)alone.data)[i] = (float)values[i];
    struct stage_run same;
    cr_assert_eq(ts_test_run(&same, &nyul_stage, SCALE, &alone, NULL, 0, 1), TS_OK);
    for (int i = 0; i < NYUL_PERCENTILES; i++) {
        percentiles[i] = ts_test_table_at(&run, "percentiles", i);
        cr_assert_eq(percentiles[i], ts_test_table_at(&same, "percentiles", i));
    }
    /* the map takes pixels outside of the mask as well */
    const double *landmarks = ((const struct nyul_params *)run.context.params)->landmarks.values;
    for (int64_t z = 0; z < 4; z++)
        for (size_t i = 0; i < 9 * 23; i++) {
            const double x = ((const int16_t *)in.data)[(size_t)z * 9 * 23 + i];
            double y;
            ts_nyul_values_oracle(&x, 1, percentiles, landmarks, &y);
            cr_assert(!ts_test_is_valid(&in, z, i) ||
                      fabs((double)((const float *)run.out.data)[(size_t)z * 9 * 23 + i] - y) <=
                          1e-4);
        }
    ts_test_run_clear(&same);
    ts_test_run_clear(&run);
    free(alone.data);
    free(values);
    free(in.valid);
    free(in.data);
    free(mask.data);
}

static void expect_refused(const struct ts_image *in, const struct ts_image *mask, const char *code,
                           const char *words)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &nyul_stage, mask ? SCALE " mask=m" : SCALE, in, mask, 0, 1),
                 TS_BAD_INPUT);
    cr_assert_eq(ts_diag_count(run.diag), 1);
    const struct ts_diag_record *record = ts_diag_get(run.diag, 0);
    cr_assert_str_eq(record->code, code);
    cr_assert(strstr(record->message, words), "%s", record->message);
    ts_test_run_clear(&run);
}

TEST_ON_BOTH(nyul, refuses_images_that_have_no_scale)
{
    static const float none[] = {NAN, INFINITY, -INFINITY, NAN}, one[] = {3, 3, NAN, 3},
                       some[] = {1, 2, NAN, 4};
    static const uint8_t on_nan[] = {0, 0, 1, 0}, nothing[] = {0, 0, 0, 0}, on_one[] = {0, 9, 0, 0};
    struct ts_image in = floats(1, 4, none),
                    mask = ts_test_image(1, 1, 4, TS_U8, VALUES_CONSTANT, 1);
    expect_refused(&in, NULL, "nyul-empty", "no pixel has a value");
    memcpy(in.data, one, sizeof one);
    expect_refused(&in, NULL, "nyul-flat", "are both 3,");
    memcpy(in.data, some, sizeof some);
    memcpy(mask.data, on_nan, sizeof on_nan);
    expect_refused(&in, &mask, "nyul-empty", "no pixel of the mask has a value");
    memcpy(mask.data, nothing, sizeof nothing);
    expect_refused(&in, &mask, "nyul-empty", "no pixel of the mask has a value");
    memcpy(mask.data, on_one, sizeof on_one);
    expect_refused(&in, &mask, "nyul-flat", "percentile of the mask are both 2,");
    free(in.data);
    free(mask.data);
}

Test(nyul, refuses_scales_that_are_none)
{
    ts_test_refused(&nyul_stage, "", TS_U8, false, "nyul-landmarks");
    ts_test_refused(&nyul_stage, "landmarks=0,100", TS_U8, false, "nyul-landmarks");
    ts_test_refused(&nyul_stage, "landmarks=0,9,20,26,31,40,48,47,65,70,75,86,100", TS_U8, false,
                    "nyul-landmarks");
    ts_test_refused(&nyul_stage, "landmarks=5,5,5,5,5,5,5,5,5,5,5,5,5", TS_F32, false,
                    "nyul-landmarks");
    ts_test_refused(&nyul_stage, SCALE " percentiles=2,10,20,25,30,40,50,60,70,75,80,90,98", TS_F32,
                    false, "nyul-percentiles");
    ts_test_refused(&nyul_stage, SCALE " percentiles=1,99", TS_F32, false, "nyul-percentiles");
    struct ts_image in = ts_test_image(2, 3, 4, TS_F32, VALUES_RANDOM, 1);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &nyul_stage,
                             SCALE " percentiles=1,10,20,25,30,40,50,60,70,75,80,90,99", &in, NULL,
                             0, 1),
                 TS_OK);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Both devices do the same operations in double and round once. */
Test(nyul, writes_the_bytes_of_the_cpu_on_cuda)
{
    for (unsigned bits = TS_ANY_DTYPE, dtype = 0; bits >> dtype; dtype++) {
        if (!(bits >> dtype & 1))
            continue;
        struct ts_image in = ts_test_image(5, 61, 203, (enum ts_dtype)dtype, VALUES_CT, 3);
        struct stage_run cpu, cuda;
        cr_assert_eq(ts_test_run(&cpu, &nyul_stage, STEPS, &in, NULL, 2, 2), TS_OK);
        ts_test_begin_cuda();
        cr_assert_eq(ts_test_run(&cuda, &nyul_stage, STEPS, &in, NULL, 3, 1), TS_OK);
        ts_test_end_cuda();
        cr_assert_eq(memcmp(cpu.out.data, cuda.out.data, ts_image_count(&in) * sizeof(float)), 0,
                     "%s", ts_dtype_name((enum ts_dtype)dtype));
        ts_test_run_clear(&cpu);
        ts_test_run_clear(&cuda);
        free(in.data);
    }
}
