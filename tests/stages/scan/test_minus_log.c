/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/scan/minus_log.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/values/log_f32.h"
#include "tests/stages/scan/minus_log_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(minus_log);

/* Transmissions in (0, 1]. */
static struct ts_image transmission(int64_t nz, int64_t n_views, int64_t n_detectors, uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, n_views, n_detectors, TS_F32, VALUES_CONSTANT, 1);
    image.axes[1].kind = TS_AXIS_VIEW;
    image.axes[2].kind = TS_AXIS_DETECTOR;
    image.quantity = TS_TRANSMISSION;
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((float *)image.data)[i] = (float)exp(-9 * ts_random_unit(&seed));
    return image;
}

TEST_ON_BOTH(minus_log, agrees_with_the_definition)
{
    const struct stage_case cases[] = {
        {.assignments = "nonpositive=floor", .quantity = TS_TRANSMISSION},
        {.assignments = "nonpositive=floor floor=0.25",
         .values = VALUES_CT,
         .quantity = TS_TRANSMISSION},
        {.assignments = "nonpositive=nan", .quantity = TS_TRANSMISSION},
        {.assignments = "nonpositive=nan nonfinite=nan",
         .values = VALUES_EXTREME,
         .quantity = TS_TRANSMISSION},
        {.assignments = "", .values = VALUES_CONSTANT, .quantity = TS_TRANSMISSION},
        {"nonpositive=floor floor=0.001", 3, 511, 1027, .quantity = TS_TRANSMISSION},
    };
    cr_assert_eq(ts_stage_check(&minus_log_stage, ts_minus_log_oracle, cases, 6), 8 * 5 + 1);
}

TEST_ON_BOTH(minus_log, gives_line_integrals_without_a_unit)
{
    struct ts_image in = transmission(2, 31, 45, 5);
    struct stage_run run;
    ((float *)in.data)[0] = 1;
    cr_assert_eq(ts_test_run(&run, &minus_log_stage, "", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(run.out.quantity, TS_LINE_INTEGRAL);
    cr_assert_str_eq(run.out.unit, "1");
    cr_assert_eq(run.out.axes[1].kind, TS_AXIS_VIEW);
    for (size_t i = 0; i < ts_image_count(&in); i++) {
        const double expected = -log((double)((float *)in.data)[i]),
                     is = (double)((float *)run.out.data)[i];
        cr_assert(fabs(is - expected) <= 9e-8 * expected, "%g, expected %g", is, expected);
    }
    cr_assert(!signbit(((float *)run.out.data)[0]), "log(1) is -0");
    ts_test_run_clear(&run);
    free(in.data);
}

/* Every 61st float, and all around 1, where the logarithm itself is small. */
Test(minus_log, logarithm_of_all_floats)
{
    for (uint32_t bits = 1;
         bits<0x7F800000; bits += bits> 0x3F7FF000 && bits < 0x3F801000 ? 1 : 61) {
        float t;
        memcpy(&t, &bits, sizeof t);
        const double expected = log((double)t), is = (double)ts_log_f32(t);
        if (!(fabs(is - expected) <= 9e-8 * fabs(expected)))
            cr_assert_fail("log(%a) is %.9g, expected %.9g", (double)t, is, expected);
    }
}

/* The same bytes on both devices, at every offset of the slices from 16 bytes. */
TEST_ON_BOTH(minus_log, bytes_do_not_depend_on_the_device)
{
    struct ts_image in = transmission(5, 37, 45, 6);
    struct stage_run run;
    const float *values = in.data;
    cr_assert_eq(ts_test_run(&run, &minus_log_stage, "", &in, NULL, 1, 1), TS_OK);
    for (size_t i = 0; i < ts_image_count(&in); i++)
        cr_assert_eq(((float *)run.out.data)[i], 0 - ts_log_f32(values[i]));
    ts_test_run_clear(&run);
    free(in.data);
}

static void expect_failure(const char *assignments, struct ts_image *in, const char *code,
                           const char *message)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &minus_log_stage, assignments, in, NULL, 2, 2), TS_BAD_INPUT,
                 "%s", code);
    cr_assert_eq(ts_diag_count(run.diag), 1);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, code);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->message, message);
    cr_assert(ts_diag_get(run.diag, 0)->hint);
    ts_test_run_clear(&run);
}

TEST_ON_BOTH(minus_log, says_which_transmissions_have_no_logarithm)
{
    struct ts_image in = transmission(5, 7, 11, 7);
    float *values = in.data;
    values[3 * 77 + 2 * 11 + 5] = 0;
    values[4 * 77] = -0.0f;
    expect_failure(
        "nonpositive=error", &in, "transmission-zero",
        "2 transmissions are 0 and have no logarithm; the first is at z 3, view 2, detector 5");
    values[3 * 77 + 2 * 11 + 5] = values[4 * 77] = 1;
    values[5 * 77 - 1] = -0.25f;
    expect_failure("nonpositive=error nonfinite=nan", &in, "transmission-negative",
                   "1 transmission is negative and has no logarithm; the first is at z 4, view 6, "
                   "detector 10");
    values[5 * 77 - 1] = NAN;
    expect_failure(
        "nonpositive=floor", &in, "transmission-nan",
        "1 transmission is NaN and has no logarithm; the first is at z 4, view 6, detector 10");
    values[5 * 77 - 1] = INFINITY;
    values[0] = -INFINITY;
    expect_failure("nonpositive=nan", &in, "transmission-infinite",
                   "2 transmissions are infinite and have no logarithm; the first is at z 0, view "
                   "0, detector 0");
    free(in.data);
}

/* Where flats and darks were exchanged every pixel is dead, and bad_pixels has nothing to fill them
 * from. */
Test(minus_log, an_image_of_nan_names_the_flats)
{
    struct ts_image in = transmission(2, 3, 5, 7);
    struct stage_run run;
    for (int i = 0; i < 2 * 3 * 5; i++)
        ((float *)in.data)[i] = NAN;
    cr_assert_eq(ts_test_run(&run, &minus_log_stage, "", &in, NULL, 2, 2), TS_BAD_INPUT);
    cr_assert_not_null(strstr(ts_diag_get(run.diag, 0)->hint, "exchanged"), "%s",
                       ts_diag_get(run.diag, 0)->hint);
    cr_assert_null(strstr(ts_diag_get(run.diag, 0)->hint, "bad_pixels"));
    ts_test_run_clear(&run);
    free(in.data);
}

TEST_ON_BOTH(minus_log, counts_what_a_rule_treats)
{
    struct ts_image in = transmission(3, 130, 259, 8);
    float *values = in.data;
    const int64_t slice = 130 * 259;
    values[5] = NAN;
    values[6] = -INFINITY;
    for (int64_t i = 0; i < 1000; i++)
        values[slice + 17 * i] = i % 2 ? 0 : -3;
    values[2 * slice + 1] = 1e-7f;
    values[2 * slice + 2] = FLT_TRUE_MIN;
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &minus_log_stage, "nonfinite=nan", &in, NULL, 2, 2), TS_OK);
    cr_assert_eq(ts_diag_count(run.diag), 1);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "transmission-floored");
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->message,
                     "1002 of 101010 transmissions were taken as 1e-06, the floor: 500 of them are "
                     "0, and 500 are negative");
    const double floored[] = {0, 1000, 2}, nonfinite[] = {2, 0, 0};
    for (int z = 0; z < 3; z++) {
        cr_assert_eq(ts_test_table_at(&run, "floored", z), floored[z]);
        cr_assert_eq(ts_test_table_at(&run, "nonfinite", z), nonfinite[z]);
    }
    const float *out = run.out.data, lowest = 0 - ts_log_f32(1e-6f);
    cr_assert(isnan(out[5]) && isnan(out[6]));
    cr_assert(out[slice] == lowest && out[slice + 17] == lowest && out[2 * slice + 2] == lowest);
    ts_test_run_clear(&run);
    cr_assert_eq(
        ts_test_run(&run, &minus_log_stage, "nonpositive=nan nonfinite=nan", &in, NULL, 0, 1),
        TS_OK);
    cr_assert_eq(ts_diag_count(run.diag), 0);
    cr_assert_eq(ts_test_table_at(&run, "nonpositive", 1), 1000);
    cr_assert_eq(ts_test_table_at(&run, "nonpositive", 2), 0);
    cr_assert(isnan(((float *)run.out.data)[slice]));
    cr_assert(fabsf(((float *)run.out.data)[2 * slice + 2] - 103.2789f) < 1e-4f);
    ts_test_run_clear(&run);
    free(in.data);
}

static void expect_quantity(enum ts_quantity quantity, const char *hint)
{
    struct ts_image in = transmission(1, 2, 3, 9);
    struct stage_run run;
    in.quantity = quantity;
    cr_assert_eq(ts_test_run(&run, &minus_log_stage, "", &in, NULL, 0, 1), TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "stage-quantity");
    cr_assert(strstr(ts_diag_get(run.diag, 0)->hint, hint), "%s", ts_diag_get(run.diag, 0)->hint);
    ts_test_run_clear(&run);
    free(in.data);
}

/* The quantity of the values is checked before their type. */
Test(minus_log, refuses_counts_of_16_bits_as_counts)
{
    ts_test_refused(&minus_log_stage, "", TS_U16, false, "stage-quantity");
}

Test(minus_log, refuses_what_is_no_transmission)
{
    expect_quantity(TS_LINE_INTEGRAL, "the logarithm of these was taken already");
    expect_quantity(TS_COUNTS, "`flat_field`");
    expect_quantity(TS_ATTENUATION, "reconstructed");
    expect_quantity(TS_HU, "reconstructed");
    expect_quantity(TS_INTENSITY, "quantity: transmission");
}

Test(minus_log, refuses_a_floor_without_use)
{
    struct ts_image in = transmission(1, 2, 3, 9);
    struct stage_run run;
    cr_assert_eq(
        ts_test_run(&run, &minus_log_stage, "nonpositive=error floor=0.1", &in, NULL, 0, 1),
        TS_BAD_CHAIN);
    cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, "parameter-unused");
    ts_test_run_clear(&run);
    free(in.data);
}
