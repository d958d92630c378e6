/* SPDX-License-Identifier: Apache-2.0
 *
 * Reductions of masked images: the numbers are those of the oracles on the valid values alone,
 * whatever slabs and threads are, with a mask given as a parameter too; and slices or volumes
 * without a valid pixel have the stated result.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/histogram/histogram.h"
#include "tests/stages/counting/noise_estimate_oracle.h"
#include "tests/stages/histogram/equalize_oracle.h"
#include "tests/stages/histogram/histogram_oracle.h"
#include "tests/stages/histogram/statistics_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_check.h"
#include "tests/support/stage_run.h"

enum { NZ = 5, NY = 13, NX = 37, BINS = 16 };
static const double percents[] = {0, 31, 50, 100};
enum { N_PERCENTS = sizeof percents / sizeof *percents };

struct masked_case {
    struct ts_image image, mask;
    const struct ts_image *references[STAGE_REFERENCES];
    bool by_mask;
};

/* Makes a masked image, and a mask beside it. */
static struct masked_case make_case(enum ts_dtype dtype, enum masked_pixels which, bool by_mask)
{
    struct masked_case made = {.image = ts_test_image(NZ, NY, NX, dtype, VALUES_CT, 11),
                               .mask = ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 12),
                               .by_mask = by_mask};
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    if (dtype == TS_F32)
        ((float *)made.image.data)[5] = NAN;
    ts_test_mask(&made.image, which, isfinite(low) ? low : -1e30, 13);
    for (size_t i = 0; i < ts_image_count(&made.mask); i++)
        ((uint8_t *)made.mask.data)[i] &= 1;
    return made;
}

static void clear_case(struct masked_case *made)
{
    free(made->image.data);
    free(made->image.valid);
    free(made->mask.data);
}

/* Runs the stage with every slab and several threads; the tables and the output are the same bytes,
 * and the last run is left in *run. */
static void run_all(struct stage_run *run, const struct stage *stage, const char *assignments,
                    struct masked_case *made, int place)
{
    static const int64_t slabs[] = {1, 2, 3, 0};
    struct stage_run first = {0};
    if (made->by_mask)
        made->references[place] = &made->mask;
    for (size_t s = 0; s < 4; s++)
        for (int threads = 1; threads <= 3; threads += 2) {
            const struct stage_table *tables, *expected;
            ts_test_run_references(run, stage, assignments, &made->image, made->references,
                                   slabs[s], threads);
            cr_assert_eq(run->status, TS_OK, "%s {%s}", stage->name, assignments);
            if (!first.diag) {
                first = *run;
                continue;
            }
            const int n = ts_stage_reduced_tables(run->reduced, &tables);
            ts_stage_reduced_tables(first.reduced, &expected);
            for (int i = 0; i < n; i++)
                cr_assert(!memcmp(tables[i].image.data, expected[i].image.data,
                                  ts_image_bytes(&tables[i].image)),
                          "%s {%s}: table %s differs (slab %lld, %d threads)", stage->name,
                          assignments, tables[i].name, (long long)slabs[s], threads);
            if (stage->map)
                cr_assert(!memcmp(run->out.data, first.out.data, ts_image_bytes(&run->out)),
                          "%s {%s}: the output differs (slab %lld, %d threads)", stage->name,
                          assignments, (long long)slabs[s], threads);
            ts_test_run_clear(run);
        }
    *run = first;
}

static void expect_near(double is, double expected, double relative, const char *what)
{
    cr_assert((isnan(is) && isnan(expected)) ||
                  fabs(is - expected) <= relative * fmax(1, fabs(expected)),
              "%s is %.17g, expected %.17g", what, is, expected);
}

/* ---- statistics ------------------------------------------------------------------------------ */

static void check_numbers(const struct stage_run *run, const struct masked_case *made, int64_t z,
                          int64_t n, int64_t at)
{
    double *values;
    struct statistics_oracle oracle;
    const size_t count =
        ts_test_valid_values(&made->image, made->by_mask ? &made->mask : NULL, z, n, &values);
    ts_statistics_oracle_samples(values, count, 0, &oracle);
    cr_assert_eq(ts_test_table_at(run, "count", at), oracle.count);
    cr_assert_eq(ts_test_table_at(run, "nan", at), oracle.nan);
    cr_assert_eq(ts_test_table_at(run, "zeros", at), oracle.zeros);
    cr_assert_eq(ts_test_table_at(run, "left_out", at), (size_t)n * NY * NX - count);
    expect_near(ts_test_table_at(run, "sum", at), oracle.count ? oracle.sum : 0, 1e-12, "sum");
    expect_near(ts_test_table_at(run, "min", at), oracle.count ? oracle.min : NAN, 0, "min");
    expect_near(ts_test_table_at(run, "max", at), oracle.count ? oracle.max : NAN, 0, "max");
    expect_near(ts_test_table_at(run, "mean", at), oracle.count ? oracle.mean : NAN, 1e-12, "mean");
    expect_near(ts_test_table_at(run, "variance", at), oracle.count ? oracle.variance : NAN, 1e-12,
                "variance");
    for (int i = 0; i < N_PERCENTS; i++)
        expect_near(ts_test_table_at(run, "percentiles", at * N_PERCENTS + i),
                    ts_percentile_oracle(values, count, percents[i]), 1e-12, "percentile");
    free(values);
}

static void check_statistics(enum ts_dtype dtype, enum masked_pixels which, bool by_mask,
                             const char *more)
{
    struct stage_run run;
    char assignments[128];
    struct masked_case made = make_case(dtype, which, by_mask);
    const bool slices = strstr(more, "scope=slice") != NULL;
    snprintf(assignments, sizeof assignments, "percentiles=0,31,50,100 %s", more);
    run_all(&run, &statistics_stage, assignments, &made, 0);
    for (int64_t z = 0; z < (slices ? NZ : 1); z++)
        check_numbers(&run, &made, z, slices ? 1 : NZ, z);
    ts_test_run_clear(&run);
    clear_case(&made);
}

TEST_ON_BOTH(masked, statistics_are_those_of_the_valid_values)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int which = MASKED_SOME; which <= MASKED_NONE; which++)
            for (int by_mask = 0; by_mask < 2; by_mask++) {
                check_statistics((enum ts_dtype)dtype, (enum masked_pixels)which, by_mask, "");
                check_statistics((enum ts_dtype)dtype, (enum masked_pixels)which, by_mask,
                                 "scope=slice");
            }
    check_statistics(TS_F32, MASKED_SOME, true, "scope=slice percentile_method=sort");
    check_statistics(TS_F32, MASKED_SOME, true, "method=fan-in");
}

/* ---- histogram ------------------------------------------------------------------------------- */

static void check_counts(enum ts_dtype dtype, enum masked_pixels which, bool by_mask,
                         const char *more)
{
    struct stage_run run;
    char assignments[128];
    struct masked_case made = make_case(dtype, which, by_mask);
    const bool slices = strstr(more, "scope=slice") != NULL;
    snprintf(assignments, sizeof assignments, "bins=%d %s", BINS, more);
    run_all(&run, &histogram_stage, assignments, &made, HISTOGRAM_MASK - 1);
    for (int64_t z = 0; z < (slices ? NZ : 1); z++) {
        double *values;
        uint64_t counts[BINS], under, over, nan;
        const size_t n = ts_test_valid_values(&made.image, by_mask ? &made.mask : NULL, z,
                                              slices ? 1 : NZ, &values);
        const double low = ts_test_table_at(&run, "edges", z * (BINS + 1)),
                     high = ts_test_table_at(&run, "edges", z * (BINS + 1) + BINS);
        struct statistics_oracle range;
        ts_statistics_oracle_samples(values, n, 0, &range);
        if (!strstr(more, "range=") && range.count > 1)
            cr_assert(low == range.min && high == range.max, "edges of the valid values' range");
        ts_histogram_oracle_counts(values, n, low, high, BINS, counts, &under, &over, &nan);
        for (int bin = 0; bin < BINS; bin++)
            cr_assert_eq(ts_test_table_at(&run, "counts", z * BINS + bin), counts[bin]);
        cr_assert_eq(ts_test_table_at(&run, "underflow", z), under);
        cr_assert_eq(ts_test_table_at(&run, "overflow", z), over);
        cr_assert_eq(ts_test_table_at(&run, "nan", z), nan);
        free(values);
    }
    ts_test_run_clear(&run);
    clear_case(&made);
}

TEST_ON_BOTH(masked, histograms_are_those_of_the_valid_values)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int which = MASKED_SOME; which <= MASKED_NONE; which++)
            for (int by_mask = 0; by_mask < 2; by_mask++) {
                check_counts((enum ts_dtype)dtype, (enum masked_pixels)which, by_mask, "");
                check_counts((enum ts_dtype)dtype, (enum masked_pixels)which, by_mask,
                             "scope=slice range=-50,200");
                check_counts((enum ts_dtype)dtype, (enum masked_pixels)which, by_mask,
                             "scope=slice");
            }
}

/* The rows of labels leave out the same pixels. */
TEST_ON_BOTH(masked, labels_leave_out_the_same_pixels)
{
    struct stage_run run;
    struct masked_case made = make_case(TS_U16, MASKED_SOME, true);
    struct ts_image labels = ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 14);
    for (size_t i = 0; i < ts_image_count(&labels); i++)
        ((uint8_t *)labels.data)[i] %= 3;
    made.references[HISTOGRAM_LABELS - 1] = &labels;
    run_all(&run, &histogram_stage, "bins=16 range=0,4096 n_labels=2", &made, HISTOGRAM_MASK - 1);
    for (int label = 0; label < 2; label++) {
        struct ts_image chosen = made.mask;
        double *values;
        uint64_t counts[BINS], under, over, nan;
        chosen.data = malloc(ts_image_bytes(&chosen));
        for (size_t i = 0; i < ts_image_count(&chosen); i++)
            ((uint8_t *)chosen.data)[i] =
                ((const uint8_t *)made.mask.data)[i] && ((const uint8_t *)labels.data)[i] == label;
        const size_t n = ts_test_valid_values(&made.image, &chosen, 0, NZ, &values);
        ts_histogram_oracle_counts(values, n, 0, 4096, BINS, counts, &under, &over, &nan);
        for (int bin = 0; bin < BINS; bin++)
            cr_assert_eq(ts_test_table_at(&run, "label_counts", label * BINS + bin), counts[bin]);
        free(values);
        free(chosen.data);
    }
    ts_test_run_clear(&run);
    clear_case(&made);
    free(labels.data);
}

/* ---- equalize -------------------------------------------------------------------------------- */

/* Valid pixels have what the oracle makes of the valid values alone. */
static void check_equalized(enum ts_dtype dtype, enum masked_pixels which, const char *assignments)
{
    struct stage_run run;
    struct masked_case made = make_case(dtype, which, false);
    const bool slices = strstr(assignments, "scope=slice") != NULL,
               levels = strstr(assignments, "opencv") != NULL;
    const int64_t per = slices ? 1 : NZ;
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    if (dtype == TS_F32)
        ((float *)made.image.data)[5] = 1;
    run_all(&run, &equalize_stage, assignments, &made, 1);
    for (int64_t z = 0; z < NZ; z += per) {
        double *values, *expected;
        const size_t n = ts_test_valid_values(&made.image, NULL, z, per, &values);
        size_t taken = 0;
        expected = malloc(n * sizeof *expected + 1);
        if (levels)
            ts_equalize_oracle_levels(values, n, low, ts_dtype_bytes(dtype) == 1 ? 256 : 65536,
                                      expected);
        else if (dtype == TS_F32 && n > 0)
            ts_equalize_oracle_bins(values, n, 256, expected);
        else
            ts_equalize_oracle_share(values, n, expected);
        for (int64_t at = z; at < z + per; at++)
            for (size_t i = 0; i < (size_t)NY * NX; i++) {
                double is;
                ts_load_f64(&is,
                            (const char *)ts_slice_data(&run.out, at) +
                                i * ts_dtype_bytes(run.out.dtype),
                            run.out.dtype, 1);
                if (ts_test_is_valid(&made.image, at, i))
                    expect_near(is, expected[taken++], levels ? 0 : 1.2e-7, "equalized");
                else
                    cr_assert(!isnan(is) && (n > 0 || is == (levels ? low : 0)),
                              "an invalid pixel became %g", is);
            }
        free(expected);
        free(values);
    }
    ts_test_run_clear(&run);
    clear_case(&made);
}

TEST_ON_BOTH(masked, equalization_ranks_by_the_valid_values)
{
    static const enum ts_dtype dtypes[] = {TS_U8, TS_I8, TS_U16, TS_I16, TS_I32, TS_F32};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (int which = MASKED_SOME; which <= MASKED_NONE; which++) {
            check_equalized(dtypes[i], (enum masked_pixels)which, "method=skimage");
            check_equalized(dtypes[i], (enum masked_pixels)which, "method=skimage scope=slice");
            if (i < 4) {
                check_equalized(dtypes[i], (enum masked_pixels)which, "method=opencv");
                check_equalized(dtypes[i], (enum masked_pixels)which, "method=opencv scope=slice");
            }
        }
}

/* ---- rescale, invert, refusals --------------------------------------------------------------- */

TEST_ON_BOTH(masked, found_ranges_are_those_of_the_valid_values)
{
    static const char *const methods[] = {"method=range", "method=range scope=slice",
                                          "method=percentiles", "method=percentiles scope=slice"};
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
            struct stage_run run;
            struct masked_case made = make_case((enum ts_dtype)dtype, MASKED_SOME, false);
            const bool slices = strstr(methods[m], "slice") != NULL, percent = m >= 2;
            run_all(&run, &rescale_stage, methods[m], &made, 0);
            for (int64_t z = 0; z < (slices ? NZ : 1); z++) {
                double *values;
                const size_t n =
                    ts_test_valid_values(&made.image, NULL, z, slices ? 1 : NZ, &values);
                expect_near(ts_test_table_at(&run, "low", z),
                            ts_percentile_oracle(values, n, percent ? 2 : 0), 1e-12, methods[m]);
                expect_near(ts_test_table_at(&run, "high", z),
                            ts_percentile_oracle(values, n, percent ? 98 : 100), 1e-12, methods[m]);
                free(values);
            }
            ts_test_run_clear(&run);
            clear_case(&made);
        }
}

/* The oracles leave out what a NaN touches, so that each pixel which does not count is a NaN to
 * them. */
static double *values_or_nan(const struct masked_case *made)
{
    const size_t n = ts_image_count(&made->image), slice = ts_slice_count(&made->image);
    double *values = malloc(n * sizeof *values);
    ts_load_f64(values, made->image.data, made->image.dtype, n);
    for (size_t i = 0; i < n; i++)
        if ((made->image.masked &&
             !ts_test_is_valid(&made->image, (int64_t)(i / slice), i % slice)) ||
            (made->by_mask && ((const uint8_t *)made->mask.data)[i] == 0))
            values[i] = NAN;
    return values;
}

/* padded: the image itself has invalid pixels. Returns how many estimates are numbers. */
static int check_noise(enum ts_dtype dtype, enum masked_pixels which, bool padded, bool by_mask,
                       const char *more)
{
    struct stage_run run;
    char assignments[128];
    struct masked_case made = make_case(dtype, which, by_mask);
    const int64_t n = strstr(more, "scope=slice") ? 1 : NZ;
    int numbers = 0;
    made.image.masked = padded;
    uint64_t *const bits = made.image.valid;
    made.image.valid = padded ? bits : NULL;
    for (size_t i = 0; i < ts_image_count(&made.mask); i++)
        ((uint8_t *)made.mask.data)[i] = i * 7919 % 29 != 0;
    snprintf(assignments, sizeof assignments, "noise=both %s", more);
    run_all(&run, &statistics_stage, assignments, &made, 0);
    double *values = values_or_nan(&made);
    for (int64_t z = 0; z < NZ / n; z++) {
        const double *from = values + z * NY * NX, immerkaer = ts_immerkaer_oracle(from, n, NY, NX);
        expect_near(ts_test_table_at(&run, "noise_immerkaer", z), immerkaer, 1e-12,
                    "noise_immerkaer");
        expect_near(ts_test_table_at(&run, "noise_wavelet", z),
                    ts_wavelet_noise_oracle(from, n, NY, NX), 0x1p-23, "noise_wavelet");
        numbers += !isnan(immerkaer);
    }
    free(values);
    made.image.valid = bits;
    ts_test_run_clear(&run);
    clear_case(&made);
    return numbers;
}

TEST_ON_BOTH(masked, noise_is_that_of_windows_without_a_pixel_that_is_left_out)
{
    static const char *const cases[] = {"", "scope=slice", "percentiles=50",
                                        "scope=slice percentiles=50",
                                        "scope=slice percentiles=50 percentile_method=sort"};
    int numbers = 0;
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
        for (int which = MASKED_SOME; which <= MASKED_NONE; which++)
            for (int how = ts_test_few() ? 3 : 1; how < 4; how++)
                for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                    const bool one_byte = ts_dtype_bytes((enum ts_dtype)dtype) < 4;
                    if (!(one_byte && strstr(cases[i], "sort")))
                        numbers += check_noise((enum ts_dtype)dtype, (enum masked_pixels)which,
                                               how & 1, how & 2, cases[i]);
                }
    cr_expect_gt(numbers, ts_test_few() ? 70 : 200);
}

Test(masked, a_mask_has_the_shape_of_its_image)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_RANDOM, 1),
                    mask = ts_test_image(2, 4, 3, TS_U8, VALUES_RANDOM, 2);
    ts_test_refuses(&statistics_stage, "", &image, &mask, "reference-shape", "2 x 4 x 3");
    free(image.data);
    free(mask.data);
}

static void accepted(const struct ts_image *image, const struct ts_image *mask)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &statistics_stage, "", image, mask, 0, 1), TS_OK);
    ts_test_run_clear(&run);
}

Test(masked, a_mask_lies_on_the_grid_of_its_image)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_RANDOM, 1), mask = image;
    mask.origin_mm[2] += 0.004; /* less than a hundredth of the smallest spacing */
    accepted(&image, &mask);
    mask.origin_mm[2] += 0.002;
    ts_test_refuses(&statistics_stage, "", &image, &mask, "reference-grid",
                    "the first at (0, 0, 0.006) mm");
    mask = image;
    mask.axes[0].spacing = mask.step_z_mm[2] = 3;
    ts_test_refuses(&statistics_stage, "", &image, &mask, "reference-grid", "0.5 x 0.7 x 2 mm");
    ts_test_refuses(&statistics_stage, "", &image, &mask, "reference-grid",
                    "`resample` with `like:`");
    mask = image;
    mask.direction[0] = mask.direction[4] = -1;
    ts_test_refuses(&statistics_stage, "", &image, &mask, "reference-grid", "x along (-1, 0, 0)");
    mask.has_geometry = false; /* there is nothing to compare; the plan warns */
    accepted(&image, &mask);
    free(image.data);
}
