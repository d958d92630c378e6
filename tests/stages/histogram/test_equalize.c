/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/histogram/equalize.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/stages/histogram/equalize_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(equalize);

TEST_ON_BOTH(equalize, agrees_with_the_definition)
{
    const unsigned small =
        TS_DTYPE_BIT(TS_U8) | TS_DTYPE_BIT(TS_I8) | TS_DTYPE_BIT(TS_U16) | TS_DTYPE_BIT(TS_I16);
    const unsigned large = TS_ANY_DTYPE & ~small;
    const struct stage_case cases[] = {
        {.assignments = ""},
        {.assignments = "", .values = VALUES_CT},
        {.assignments = "", .values = VALUES_CONSTANT},
        {.assignments = "", .values = VALUES_EXTREME},
        {.assignments = "scope=slice"},
        {.assignments = "scope=slice", .values = VALUES_CT},
        {.assignments = "bins=2", .dtypes = large},
        {.assignments = "bins=999 scope=slice", .dtypes = large, .values = VALUES_CT},
        {.assignments = "method=opencv", .dtypes = small},
        {.assignments = "method=opencv", .dtypes = small, .values = VALUES_CT},
        {.assignments = "method=opencv", .dtypes = small, .values = VALUES_CONSTANT},
        {.assignments = "method=opencv", .dtypes = small, .values = VALUES_EXTREME},
        {.assignments = "method=opencv scope=slice", .dtypes = small, .values = VALUES_CT},
    };
    const size_t n = sizeof cases / sizeof *cases;
    cr_assert_eq(ts_stage_check(&equalize_stage, ts_equalize_oracle, cases, n),
                 8 * (6 * 7 + 2 * 3 + 5 * 4));
}

/* Checks what pixels [0, n) become, by counting them. */
static void check_pixels(const uint16_t *in, const void *out, size_t n, bool levels)
{
    uint64_t *below = calloc(65536, sizeof *below), lowest = 0;
    for (size_t i = 0; i < n; i++)
        below[in[i]]++;
    for (size_t v = 0; v < 65536; v++) {
        lowest = lowest ? lowest : below[v];
        below[v] += v > 0 ? below[v - 1] : 0;
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t count = below[in[i]];
        const float value = levels ? ((const uint16_t *)out)[i] : ((const float *)out)[i];
        const float expected =
            levels ? (float)rintl((long double)(count - lowest) * 65535 / (long double)(n - lowest))
                   : (float)((double)count / (double)n);
        if (value != expected) /* asserting each would take longest */
            cr_assert_fail("pixel %zu is %.9g, expected %.9g", i, (double)value, (double)expected);
    }
    free(below);
}

/* Enough pixels for every block of a GPU to take several pieces, of slices that begin anywhere. */
TEST_ON_BOTH(equalize, large_images)
{
    static const enum stage_values values[] = {VALUES_RANDOM, VALUES_CT};
    for (int v = 0; v < (ts_test_few() ? 1 : 2); v++)
        for (int way = 0; way < 4; way += ts_test_few() ? 3 : 1) {
            const bool levels = way % 2, slices = way / 2;
            struct ts_image in = ts_test_few() ? ts_test_image(1, 257, 259, TS_U16, values[v], 7)
                                               : ts_test_image(17, 513, 517, TS_U16, values[v], 7);
            const size_t n = slices ? ts_slice_count(&in) : ts_image_count(&in),
                         bytes = levels ? 2 : 4;
            char assignments[64];
            snprintf(assignments, sizeof assignments, "method=%s scope=%s",
                     levels ? "opencv" : "skimage", slices ? "slice" : "volume");
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, &equalize_stage, assignments, &in, NULL, 0, 2), TS_OK);
            for (size_t i = 0; i < ts_image_count(&in); i += n)
                check_pixels((const uint16_t *)in.data + i, (const char *)run.out.data + i * bytes,
                             n, levels);
            ts_test_run_clear(&run);
            free(in.data);
        }
}

/* Bytes that OpenCV 4.6.0 gave for these values and counts. */
TEST_ON_BOTH(equalize, gives_the_bytes_of_opencv)
{
    static const uint8_t values[] = {3, 7, 8, 40, 41, 100, 101, 102, 130, 200, 201, 240, 254, 255};
    static const int64_t counts[] = {50, 1, 30, 7, 9, 111, 3, 3, 1, 64, 2, 19, 5, 23};
    static const uint8_t expected[] = {0,   1,   28,  35,  43,  145, 148,
                                       150, 151, 210, 212, 229, 234, 255};
    struct ts_image in = ts_test_image(1, 1, 328, TS_U8, VALUES_CONSTANT, 1);
    uint8_t *data = in.data;
    for (size_t v = 0; v < sizeof values; v++)
        for (int64_t i = 0; i < counts[v]; i++)
            *data++ = values[v];
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "method=opencv", &in, NULL, 0, 1), TS_OK);
    const uint8_t *out = run.out.data;
    for (size_t v = 0; v < sizeof values; v++)
        for (int64_t i = 0; i < counts[v]; i++, out++)
            cr_assert_eq(*out, expected[v], "%d became %d, OpenCV says %d", values[v], *out,
                         expected[v]);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Of 65,536 levels the page's formula is exact, where single precision gives 32767, 61604 and
 * 58974. */
TEST_ON_BOTH(equalize, rounds_levels_of_16_bits_exactly)
{
    static const struct {
        int64_t lowest, middle, highest; /* counts of three values */
        uint16_t level;                  /* of the middle one */
    } cases[] = {{1, 11, 11, 32768}, {23, 768, 49, 61605}, {3, 737, 82, 58973}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t low = cases[i].lowest, high = low + cases[i].middle,
                      n = high + cases[i].highest;
        struct ts_image in = ts_test_image(1, 1, n, TS_U16, VALUES_CONSTANT, 1);
        for (int64_t k = 0; k < n; k++)
            ((uint16_t *)in.data)[k] = k < low ? 5 : k < high ? 900 : 41000;
        const struct ts_image out = ts_test_output(&equalize_stage, "method=opencv", &in);
        cr_expect_eq(((uint16_t *)out.data)[low], cases[i].level, "case %zu became %d", i,
                     ((uint16_t *)out.data)[low]);
        cr_expect_eq(((uint16_t *)out.data)[n - 1], 65535);
        free(in.data);
        free(out.data);
    }
}

/* Numbers that scikit-image 0.19.3 gave for these values and counts. */
TEST_ON_BOTH(equalize, matches_as_skimage_does)
{
    static const int16_t values[] = {-1000, -5, 0, 17, 400, 2000},
                         reference_values[] = {10, 12, 13, 200, 1000};
    static const int64_t counts[] = {7, 2, 9, 4, 1, 3}, reference_counts[] = {3, 10, 2, 4, 1};
    static const double expected[] = {10.476923076923077, 10.784615384615385, 12.423076923076923,
                                      102.90384615384617, 138.8653846153846,  1000.0};
    struct ts_image in = ts_test_image(1, 1, 26, TS_I16, VALUES_CONSTANT, 1);
    struct ts_image reference = ts_test_image(4, 1, 5, TS_I16, VALUES_CONSTANT, 1);
    int16_t *data = in.data;
    for (size_t v = 0; v < 6; v++)
        for (int64_t i = 0; i < counts[v]; i++)
            *data++ = values[v];
    data = reference.data;
    for (size_t v = 0; v < 5; v++)
        for (int64_t i = 0; i < reference_counts[v]; i++)
            *data++ = reference_values[v];
    reference.quantity = TS_HU;
    reference.unit = "HU";
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "", &in, &reference, 0, 1), TS_OK);
    cr_assert_eq(run.out.quantity, TS_HU, "the result has the reference's values");
    const float *out = run.out.data;
    for (size_t v = 0; v < 6; v++)
        for (int64_t i = 0; i < counts[v]; i++, out++)
            cr_assert_eq(*out, (float)expected[v], "%d became %.9g, scikit-image says %.9g",
                         values[v], (double)*out, expected[v]);
    ts_test_run_clear(&run);
    free(in.data);
    free(reference.data);
}

/* Exact for integers that span few values; to one bin of both images for the others. */
static size_t check_matching(enum ts_dtype dtype, enum ts_dtype reference_dtype,
                             const char *assignments)
{
    struct ts_image in = ts_test_image(3, 17, 29, dtype, VALUES_CT, 3);
    struct ts_image reference = ts_test_image(5, 13, 31, reference_dtype, VALUES_RANDOM, 4);
    const size_t n_in = ts_image_count(&in), n_reference = ts_image_count(&reference),
                 slice = ts_slice_count(&in);
    const bool slices = *assignments != '\0';
    double *values = malloc(n_in * sizeof *values), *target = malloc(n_reference * sizeof *target);
    double *expected = malloc(n_in * sizeof *expected), low, high;
    float *first = NULL;
    ts_load_f64(values, in.data, dtype, n_in);
    ts_load_f64(target, reference.data, reference_dtype, n_reference);
    for (size_t i = 0; i < n_in; i += slices ? slice : n_in)
        ts_equalize_oracle_match(values + i, slices ? slice : n_in, target, n_reference,
                                 expected + i);
    ts_dtype_range(reference_dtype, &low, &high);
    const double span = reference_dtype == TS_F32 ? 4000 : high - low;
    const bool exact =
        dtype != TS_F32 && reference_dtype <= TS_I16; /* the image spans a CT's values */
    /* A bin holds at most a few values of the image; neighbors in rank lie this far apart in a
     * uniform reference. */
    const double bound = exact ? 6e-8 * span : 0.01 * span;
    for (int64_t slab = ts_test_few() ? 2 : 0; slab < 3; slab++) {
        struct stage_run run;
        cr_assert_eq(
            ts_test_run(&run, &equalize_stage, assignments, &in, &reference, slab, 1 + (int)slab),
            TS_OK);
        const float *out = run.out.data;
        for (size_t i = 0; i < n_in; i++) {
            cr_assert(fabs((double)out[i] - expected[i]) <= bound,
                      "%s to %s {%s}: element %zu is %g, expected %g", ts_dtype_name(dtype),
                      ts_dtype_name(reference_dtype), assignments, i, (double)out[i], expected[i]);
            cr_assert(!first || first[i] == out[i], "other bytes with slabs of %lld",
                      (long long)slab);
        }
        if (!first) {
            first = run.out.data;
            run.out.data = NULL;
        }
        ts_test_run_clear(&run);
    }
    free(first);
    free(expected);
    free(values);
    free(target);
    free(in.data);
    free(reference.data);
    return 1;
}

TEST_ON_BOTH(equalize, matches_a_reference_of_any_type)
{
    size_t compared = 0;
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int reference = TS_U8; reference <= TS_F32; reference++) {
            if (ts_test_few() && (dtype + 2 * reference) % 7 != 6)
                continue;
            if (!ts_test_few() || dtype % 2)
                compared += check_matching((enum ts_dtype)dtype, (enum ts_dtype)reference, "");
            if (!ts_test_few() || dtype % 2 == 0)
                compared +=
                    check_matching((enum ts_dtype)dtype, (enum ts_dtype)reference, "scope=slice");
        }
    cr_assert_eq(compared, ts_test_few() ? 7 : 2 * 7 * 7);
}

static const enum ts_dtype copies[] = {TS_U16, TS_I16, TS_U32, TS_I32};
enum { COPIES = sizeof copies / sizeof *copies };

/* A CT's values from 0 on, the same in every type. */
static struct ts_image copy_of_ct(enum ts_dtype dtype, uint64_t seed)
{
    struct ts_image ct = ts_test_image(3, 19, 31, TS_I16, VALUES_CT, seed);
    struct ts_image copy = ts_test_image(3, 19, 31, dtype, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < ts_image_count(&ct); i++)
        ts_test_store(copy.data, dtype, i, ((const int16_t *)ct.data)[i] + 1100);
    free(ct.data);
    return copy;
}

/* The type that values are stored in does not show: all results are the bytes of the first. */
static void check_copies(const char *assignments, bool with_reference)
{
    float *first = NULL;
    for (int i = 0; i < COPIES; i += ts_test_few() ? 3 : 1)
        for (int r = 0; r < (with_reference ? COPIES : 1); r++) {
            if (ts_test_few() && with_reference && i != COPIES - 1 - r)
                continue;
            struct ts_image in = copy_of_ct(copies[i], 3), reference = copy_of_ct(copies[r], 77);
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, &equalize_stage, assignments, &in,
                                     with_reference ? &reference : NULL, 2, 2),
                         TS_OK);
            cr_assert(!first || !memcmp(first, run.out.data, ts_image_bytes(&run.out)),
                      "%s to %s {%s}: other values", ts_dtype_name(copies[i]),
                      ts_dtype_name(copies[r]), assignments);
            if (!first) {
                first = run.out.data;
                run.out.data = NULL;
            }
            ts_test_run_clear(&run);
            free(in.data);
            free(reference.data);
        }
    free(first);
}

TEST_ON_BOTH(equalize, takes_equal_values_of_any_integer_type_alike)
{
    static const char *const scopes[] = {"", "scope=slice"};
    for (int i = 0; i < 2; i++) {
        check_copies(scopes[i], false);
        check_copies(scopes[i], true);
    }
}

/* 65,536 values are counted one by one; one more and `bins` has its say. */
TEST_ON_BOTH(equalize, counts_integers_one_by_one_up_to_a_span)
{
    for (int wider = 0; wider < 2; wider++) {
        struct ts_image in = ts_test_image(1, 1, 4, TS_I32, VALUES_CONSTANT, 1);
        const int32_t values[] = {-70000, -69999, -70000 + 65535 + wider, -69998};
        memcpy(in.data, values, sizeof values);
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &equalize_stage, "bins=2", &in, NULL, 0, 1), TS_OK);
        const float *out = run.out.data;
        cr_assert_eq(out[0], wider ? 0.75f : 0.25f);
        cr_assert_eq(out[1], wider ? 0.75f : 0.5f);
        cr_assert_eq(out[3], 0.75f);
        cr_assert_eq(out[2], 1.0f);
        ts_test_run_clear(&run);
        free(in.data);
    }
}

/* Floats of one slope never share a bin, so a sparse reference makes no difference to the bound. */
TEST_ON_BOTH(equalize, matches_floats_of_one_slope_exactly)
{
    struct ts_image in = ts_test_image(3, 19, 31, TS_F32, VALUES_CT, 3);
    struct ts_image reference = ts_test_image(3, 13, 17, TS_U16, VALUES_CT, 5);
    const size_t n = ts_image_count(&in), n_reference = ts_image_count(&reference);
    double *values = malloc(n * sizeof *values), *target = malloc(n_reference * sizeof *target);
    double *expected = malloc(n * sizeof *expected);
    float *data = in.data;
    uint16_t *sparse = reference.data;
    for (size_t i = 0; i < n; i++) {
        data[i] = (float)(0.1 * rint((double)data[i]));
        values[i] = (double)data[i];
    }
    for (size_t i = 0; i < n_reference; i++) {
        sparse[i] = (uint16_t)(sparse[i] / 500 * 500);
        target[i] = sparse[i];
    }
    ts_equalize_oracle_match(values, n, target, n_reference, expected);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "", &in, &reference, 0, 1), TS_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs((double)((const float *)run.out.data)[i] - expected[i]) <= 6e-8 * 4000,
                  "element %zu is %.9g, expected %.9g", i, (double)((const float *)run.out.data)[i],
                  expected[i]);
    ts_test_run_clear(&run);
    free(in.data);
    free(reference.data);
    free(values);
    free(target);
    free(expected);
}

TEST_ON_BOTH(equalize, numbers_that_are_none_count_nowhere)
{
    struct ts_image in = ts_test_image(1, 1, 8, TS_F32, VALUES_CONSTANT, 1);
    const float values[] = {NAN, 0, 1, 2, 3, INFINITY, -INFINITY, NAN};
    struct stage_run run;
    for (size_t i = 0; i < 8; i++)
        ((float *)in.data)[i] = values[i];
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "", &in, NULL, 0, 1), TS_OK);
    const float *out = run.out.data;
    cr_assert(isnan(out[0]) && isnan(out[7]));
    cr_assert_eq(out[1], 0.25f);
    cr_assert_eq(out[4], 1.0f);
    cr_assert_eq(out[5], 1.0f);
    cr_assert_eq(out[6], 0.25f);
    ts_test_run_clear(&run);
    for (size_t i = 0; i < 8; i++)
        ((float *)in.data)[i] = NAN;
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "", &in, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < 8; i++)
        cr_assert(isnan(((float *)run.out.data)[i]));
    ts_test_run_clear(&run);
    free(in.data);
}

Test(equalize, states_type_quantity_and_bins)
{
    struct ts_image in = ts_test_image(1, 2, 2, TS_I16, VALUES_CT, 1);
    in.quantity = TS_HU;
    in.unit = "HU";
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(run.out.dtype, TS_F32);
    cr_assert_eq(run.out.quantity, TS_INTENSITY);
    cr_assert_str_eq(run.out.unit, "1");
    cr_assert_eq(((const struct equalize_params *)run.set.values)->bins, 65536);
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "method=opencv bins=65536", &in, NULL, 0, 1),
                 TS_OK);
    cr_assert_eq(run.out.dtype, TS_I16);
    cr_assert_eq(run.out.quantity, TS_INTENSITY);
    ts_test_run_clear(&run);
    free(in.data);
    ts_test_refused(&equalize_stage, "bins=256", TS_I16, false, "bins-of-integers");
    ts_test_refused(&equalize_stage, "method=opencv", TS_F32, false, "opencv-of-float");
    ts_test_refused(&equalize_stage, "method=opencv", TS_U8, true, "opencv-reference");
}

static void compare_with_skimage(const char *file)
{
    size_t n;
    double *values = ts_test_read_hdf5(file, "input", &n),
           *expected = ts_test_read_hdf5(file, "equalize_hist", &n);
    struct ts_image in = ts_test_image(1, 152, 152, TS_F32, VALUES_CONSTANT, 1);
    cr_assert_eq(ts_image_count(&in), n);
    for (size_t i = 0; i < n; i++)
        ((float *)in.data)[i] = (float)values[i];
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &equalize_stage, "", &in, NULL, 0, 1), TS_OK);
    for (size_t i = 0; i < n; i++)
        cr_assert(fabs((double)((const float *)run.out.data)[i] - expected[i]) <= 1.2e-7,
                  "%s: element %zu is %.9g, expected %.9g", file, i,
                  (double)((const float *)run.out.data)[i], expected[i]);
    ts_test_run_clear(&run);
    free(in.data);
    free(values);
    free(expected);
}

TEST_ON_BOTH(equalize, agrees_with_skimage_on_ct_and_mr)
{
    SKIP_WITHOUT_DATA("equalize/agrees_with_skimage_on_ct_and_mr");
    compare_with_skimage("reference/generated/filters_ct_ge_head.h5");
    compare_with_skimage("reference/generated/filters_mr_sts001.h5");
}
