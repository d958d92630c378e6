/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/projection/filter.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/projection/filter_oracle.h"
#include "tests/support/stage_run.h"

TestSuite(filter);

static struct ts_image sinogram_of(int64_t nz, int64_t views, int64_t detectors,
                                   enum ts_dtype dtype, enum stage_values values, uint64_t seed)
{
    struct ts_image image = ts_test_image(nz, views, detectors, dtype, values, seed);
    ts_test_sinogram(&image);
    return image;
}

static struct ts_image sinogram(int64_t nz, int64_t views, int64_t detectors,
                                enum stage_values values, uint64_t seed)
{
    return sinogram_of(nz, views, detectors, TS_F32, values, seed);
}

TEST_ON_BOTH(filter, agrees_with_the_oracle)
{
    static const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "", .values = VALUES_CONSTANT, .dtypes = TS_DTYPE_BIT(TS_U8)},
        {.assignments = "", .values = VALUES_EXTREME, .dtypes = TS_DTYPE_BIT(TS_I32)},
        {.assignments = "filter=none"},
        {.assignments = "filter=shepp-logan", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "filter=cosine", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "filter=hamming", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "filter=hann", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "filter=parzen", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "cutoff=0.37", .dtypes = TS_DTYPE_BIT(TS_F32)},
        {.assignments = "filter=hann cutoff=0.61", .dtypes = TS_DTYPE_BIT(TS_F32)},
    };
    cr_assert_eq(
        ts_stage_check(&filter_stage, ts_filter_oracle, cases, sizeof cases / sizeof *cases),
        8 * (7 + 1 + 1 + 7 + 7));
}

/* Each padded length from 2 on, its shortest and its longest row, of floats and of integers. */
TEST_ON_BOTH(filter, agrees_at_every_length)
{
    size_t n = 0, expected = 0;
    for (int64_t half = 1; half <= 512; half *= 2)
        for (int side = 0; side < 2; side++, expected += 2) {
            const struct stage_case which = {.assignments = side ? "filter=hamming" : "",
                                             .nz = 2,
                                             .ny = 3,
                                             .nx = half + side,
                                             .dtypes = TS_DTYPE_BIT(TS_F32) | TS_DTYPE_BIT(TS_I16)};
            n += ts_stage_check(&filter_stage, ts_filter_oracle, &which, 1);
        }
    cr_assert_eq(n, expected);
}

/* Against sums in the samples, where the kernel is known without any transform. */
static void check_ramp(int64_t n, enum ts_dtype dtype)
{
    struct ts_image in = sinogram_of(1, 2, n, dtype, VALUES_RANDOM, 5);
    struct stage_run run;
    float *values = malloc((size_t)(2 * n) * sizeof *values);
    ts_load_f32(values, in.data, dtype, (size_t)(2 * n));
    cr_assert_eq(ts_test_run(&run, &filter_stage, "", &in, NULL, 0, 1), TS_OK);
    const float *out = run.out.data;
    double largest = 0, worst = 0;
    for (int64_t i = 0; i < n; i += 1 + n / 97) {
        double sum = (double)values[i] / (4 * 0.5);
        for (int64_t j = (i + 1) % 2; j < n; j += 2)
            sum -= (double)values[j] / (M_PI * M_PI * (double)((i - j) * (i - j)) * 0.5);
        largest = fmax(largest, fabs(sum));
        worst = fmax(worst, fabs(sum - (double)out[i]));
    }
    cr_assert(worst <= 2e-6 * largest, "%lld detectors of %s: off by %g of %g", (long long)n,
              ts_dtype_name(dtype), worst, largest);
    ts_test_run_clear(&run);
    free(values);
    free(in.data);
}

TEST_ON_BOTH(filter, has_no_limit_at_4096_detectors)
{
    static const int64_t lengths[] = {129,  257,  513,  1000, 1024, 1025,
                                      2048, 2049, 4096, 4097, 8193, 20011};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_ramp(lengths[i], i % 3 == 1 ? TS_U16 : TS_F32);
    check_ramp(2048, TS_I8);
    check_ramp(8000, TS_U32);
    check_ramp(16384, TS_I16);
    check_ramp(17000, TS_U16);
}

TEST_ON_BOTH(filter, gives_the_same_bytes_in_20_runs_over_any_slabs)
{
    static const int64_t slabs[] = {0, 1, 7, 32, 5, 13};
    struct ts_image in = sinogram(37, 11, 83, VALUES_RANDOM, 3);
    struct stage_run first;
    cr_assert_eq(ts_test_run(&first, &filter_stage, "filter=shepp-logan", &in, NULL, 0, 2), TS_OK);
    for (size_t i = 0; i < (ts_test_few() ? 3 : 20); i++) {
        struct stage_run again;
        cr_assert_eq(ts_test_run(&again, &filter_stage, "filter=shepp-logan", &in, NULL,
                                 slabs[i % 6], 1 + (int)(i % 3)),
                     TS_OK);
        cr_assert(!memcmp(first.out.data, again.out.data, ts_image_bytes(&first.out)));
        ts_test_run_clear(&again);
    }
    ts_test_run_clear(&first);
    free(in.data);
}

TEST_ON_BOTH(filter, a_value_that_is_no_number_spoils_its_row_alone)
{
    static const int64_t lengths[] = {40, 100, 200, 400, 600, 1100};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        const int64_t n = lengths[k];
        struct ts_image in = sinogram(3, 5, n, VALUES_RANDOM, 4);
        struct stage_run run;
        ((float *)in.data)[7 * n + 17] = NAN;
        ((float *)in.data)[14 * n + 39] = INFINITY;
        cr_assert_eq(ts_test_run(&run, &filter_stage, "", &in, NULL, 0, 1), TS_OK);
        for (int64_t i = 0; i < 15 * n; i++)
            cr_assert_eq(isfinite(((const float *)run.out.data)[i]) == 0, i / n == 7 || i / n == 14,
                         "%lld of %lld", (long long)i, (long long)n);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* ---- names and units ------------------------------------------------------------------------- */

Test(filter, other_names_mean_the_same_and_are_recorded_by_the_first)
{
    static const char *const pairs[][2] = {
        {"ram-lak", "ramp"},      {"ram_lak", "ramp"},
        {"ramlak", "ramp"},       {"ramachandran-lakshminarayanan", "ramp"},
        {"shepp", "shepp-logan"}, {"shepp_logan", "shepp-logan"},
        {"hanning", "hann"},      {"hann", "hann"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[64], recorded[64];
        struct param_set set;
        snprintf(text, sizeof text, "filter=%s", pairs[i][0]);
        ts_test_params(&filter_stage, text, &set);
        ts_param_format(&set, 0, recorded, sizeof recorded);
        cr_assert_str_eq(recorded, pairs[i][1]);
        ts_test_params_clear(&set);
    }
}

static void check_unit(const char *unit, const char *length, const char *text, const char *expected,
                       enum ts_quantity quantity)
{
    struct ts_image in = sinogram(1, 2, 3, VALUES_RANDOM, 4);
    struct stage_run run;
    in.unit = unit;
    in.axes[2].unit = length;
    cr_assert_eq(ts_test_run(&run, &filter_stage, text, &in, NULL, 0, 1), TS_OK);
    cr_expect_str_eq(run.out.unit, expected);
    cr_expect_eq(run.out.quantity, quantity);
    cr_expect_eq(run.out.dtype, TS_F32);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(filter, values_are_per_length)
{
    check_unit("1", "mm", "", "1/mm", TS_INTENSITY);
    check_unit("", "pixel", "", "1/pixel", TS_INTENSITY);
    check_unit("HU mm", "mm", "", "HU", TS_INTENSITY);
    check_unit("mm", "mm", "", "1", TS_INTENSITY);
    check_unit("Bq/ml mm", "mm", "", "Bq/ml", TS_INTENSITY);
    check_unit("counts", "mm", "", "counts/mm", TS_INTENSITY);
    check_unit("1", "mm", "filter=none", "1", TS_LINE_INTEGRAL);
}

Test(filter, the_cutoff_plays_no_part_without_a_filter)
{
    struct ts_image in = sinogram(1, 2, 3, VALUES_RANDOM, 4);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &filter_stage, "filter=none", &in, NULL, 0, 1), TS_OK);
    cr_assert(ts_param_is_idle(&run.set, 1));
    ts_test_run_clear(&run);
    free(in.data);
}

Test(filter, refuses_what_is_no_sinogram_of_line_integrals)
{
    ts_test_refused(&filter_stage, "", TS_F32, false, "stage-axes");
}
