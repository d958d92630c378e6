/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics by label: the numbers of every label are those of its values, picked out and worked
 * out by the definition; they are the same bytes for every slab, number of threads and device, and
 * nothing is dropped.
 */
#include "stages/histogram/statistics_labels.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/histogram/statistics_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

enum { NZ = 5, NY = 23, NX = 61, N_LABELS = 7 };
static const double percents[] = {0, 31, 50, 100};
enum { N_PERCENTS = sizeof percents / sizeof *percents };

TestSuite(statistics_labels);

/* Areas of labels from -1 to N_LABELS + 1 with single pixels of others between them; label 3 is
 * nowhere. */
static struct ts_image make_labels(enum ts_dtype dtype)
{
    struct ts_image labels = ts_test_image(NZ, NY, NX, dtype, VALUES_CONSTANT, 1);
    uint64_t state = 7;
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    for (size_t i = 0; i < ts_image_count(&labels); i++) {
        const bool speck = ts_random_next(&state) % 16 == 0;
        int64_t label = speck ? (int64_t)(ts_random_next(&state) % (N_LABELS + 3)) - 1
                              : (int64_t)(i / 9 / NX + i / 11) % 5;
        label = label == 3 || (double)label < low ? N_LABELS : label;
        ts_test_store(labels.data, dtype, i, (double)label);
    }
    return labels;
}

static bool is_under(const struct ts_image *labels, size_t i, int64_t label)
{
    double value;
    ts_load_f64(&value, (const char *)labels->data + i * ts_dtype_bytes(labels->dtype),
                labels->dtype, 1);
    return label < N_LABELS ? value == (double)label : value < 0 || value >= N_LABELS;
}

/* Picks the values under a label, or under all that have no row (label N_LABELS); returns how
 * many. */
static size_t pick(const struct ts_image *image, const struct ts_image *mask,
                   const struct ts_image *labels, int64_t label, double *values)
{
    const size_t slice = ts_slice_count(image), element = ts_dtype_bytes(image->dtype);
    size_t n = 0;
    for (size_t i = 0; i < ts_image_count(image); i++) {
        if ((image->masked && !ts_test_is_valid(image, (int64_t)(i / slice), i % slice)) ||
            (mask && ((const uint8_t *)mask->data)[i] == 0) || !is_under(labels, i, label))
            continue;
        ts_load_f64(&values[n++], (const char *)image->data + i * element, image->dtype, 1);
    }
    return n;
}

static void expect_near(double is, double expected, double relative, const char *what)
{
    cr_assert((isnan(is) && isnan(expected)) ||
                  fabs(is - expected) <= relative * fmax(1, fabs(expected)),
              "%s is %.17g, expected %.17g", what, is, expected);
}

static void expect_rows(const struct stage_run *run, const struct ts_image *image,
                        const struct ts_image *mask, const struct ts_image *labels, int64_t ddof)
{
    double *values = malloc(ts_image_count(image) * sizeof *values);
    size_t all = 0;
    for (int64_t label = 0; label < N_LABELS; label++) {
        struct statistics_oracle oracle;
        const size_t n = pick(image, mask, labels, label, values);
        all += n;
        ts_statistics_oracle_samples(values, n, ddof, &oracle);
        cr_assert_eq(ts_test_table_at(run, "count", label), oracle.count);
        cr_assert_eq(ts_test_table_at(run, "nan", label), oracle.nan);
        cr_assert_eq(ts_test_table_at(run, "infinite", label), oracle.infinite);
        cr_assert_eq(ts_test_table_at(run, "zeros", label), oracle.zeros);
        expect_near(ts_test_table_at(run, "sum", label), oracle.count ? oracle.sum : 0, 1e-12,
                    "sum");
        expect_near(ts_test_table_at(run, "min", label), oracle.min, 0, "min");
        expect_near(ts_test_table_at(run, "max", label), oracle.max, 0, "max");
        expect_near(ts_test_table_at(run, "mean", label), oracle.count ? oracle.mean : NAN, 1e-12,
                    "mean");
        expect_near(ts_test_table_at(run, "variance", label), oracle.variance, 1e-12, "variance");
        expect_near(ts_test_table_at(run, "standard_deviation", label), sqrt(oracle.variance),
                    1e-12, "deviation");
        for (int i = 0; i < N_PERCENTS; i++)
            expect_near(ts_test_table_at(run, "percentiles", label * N_PERCENTS + i),
                        ts_percentile_oracle(values, n, percents[i]), 1e-12, "percentile");
    }
    const size_t others = pick(image, mask, labels, N_LABELS, values);
    cr_assert_eq(ts_test_table_at(run, "other_labels", 0), others);
    size_t warned = 0;
    for (size_t i = 0; i < ts_diag_count(run->diag); i++)
        warned += !strcmp(ts_diag_get(run->diag, i)->code, "labels-without-row");
    cr_assert_eq(warned, others > 0 ? 1u : 0u);
    if (image->masked || mask)
        cr_assert_eq(ts_test_table_at(run, "left_out", 0), ts_image_count(image) - all - others);
    free(values);
}

/* Runs over every slab and several threads, on the device of the test and then on the CPU: all
 * tables are the same bytes. The first run is left in *first. */
static void run_all(struct stage_run *first, const char *assignments, const struct ts_image *image,
                    const struct ts_image *const references[STAGE_REFERENCES])
{
    const struct device_numbers *device = ts_test_device;
    *first = (struct stage_run){0};
    for (int way = 0; way < 7; way++) {
        struct stage_run run;
        const struct stage_table *tables, *expected;
        ts_test_device = way == 6 ? NULL : device;
        ts_test_run_references(&run, &statistics_stage, assignments, image, references, way % 4,
                               1 + way / 2);
        ts_test_device = device;
        cr_assert_eq(run.status, TS_OK, "{%s}", assignments);
        if (way == 0) {
            *first = run;
            continue;
        }
        const int n = ts_stage_reduced_tables(run.reduced, &tables);
        ts_stage_reduced_tables(first->reduced, &expected);
        for (int i = 0; i < n; i++)
            cr_assert(!memcmp(tables[i].image.data, expected[i].image.data,
                              ts_image_bytes(&tables[i].image)),
                      "{%s} %s: table %s differs (way %d)", assignments,
                      ts_dtype_name(image->dtype), tables[i].name, way);
        ts_test_run_clear(&run);
    }
}

static void check(enum ts_dtype dtype, enum ts_dtype of_labels, enum stage_values kind, bool masked,
                  bool by_mask)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, dtype, kind, 11),
                    mask = ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 12),
                    labels = make_labels(of_labels);
    const struct ts_image *const references[STAGE_REFERENCES] = {by_mask ? &mask : NULL, &labels};
    struct stage_run run;
    char assignments[96];
    const int64_t ddof = of_labels % 2;
    for (size_t i = 0; i < ts_image_count(&mask); i++)
        ((uint8_t *)mask.data)[i] &= 1;
    if (dtype == TS_F32) {
        ((float *)image.data)[5] = NAN;
        ((float *)image.data)[6] = -INFINITY;
        ((float *)image.data)[7] = 0;
    }
    if (masked)
        ts_test_mask(&image, MASKED_SOME, 1, 13);
    snprintf(assignments, sizeof assignments, "percentiles=0,31,50,100 n_labels=%d ddof=%d",
             N_LABELS, (int)ddof);
    run_all(&run, assignments, &image, references);
    expect_rows(&run, &image, references[0], &labels, ddof);
    ts_test_run_clear(&run);
    free(image.data);
    if (masked)
        free(image.valid);
    free(mask.data);
    free(labels.data);
}

TEST_ON_BOTH(statistics_labels, rows_are_those_of_the_values_under_each_label)
{
    for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
        check((enum ts_dtype)dtype, TS_U8, VALUES_CT, false, false);
        check((enum ts_dtype)dtype, TS_I16, VALUES_RANDOM, true, false);
        check((enum ts_dtype)dtype, TS_I32, VALUES_EXTREME, false, true);
        check((enum ts_dtype)dtype, TS_U32, VALUES_CT, true, true);
    }
    for (int of_labels = TS_U8; of_labels < TS_F32; of_labels++)
        check(TS_I16, (enum ts_dtype)of_labels, VALUES_CONSTANT, false, false);
}

/* 2^100 and its negative leave what lies between them, down to the smallest float, to the last
 * bit. */
TEST_ON_BOTH(statistics_labels, sums_of_floats_are_exact)
{
    struct ts_image image = ts_test_image(1, 1, 6, TS_F32, VALUES_CONSTANT, 1),
                    labels = ts_test_image(1, 1, 6, TS_U8, VALUES_CONSTANT, 1);
    const float values[] = {0x1p100F, 0x1p-149F, 3, -0x1p100F, 0x1.fffffep127F, 0x1.fffffep127F};
    const uint8_t under[] = {1, 1, 1, 1, 2, 2};
    const struct ts_image *const references[STAGE_REFERENCES] = {NULL, &labels};
    struct stage_run run;
    memcpy(image.data, values, sizeof values);
    memcpy(labels.data, under, sizeof under);
    run_all(&run, "n_labels=3", &image, references);
    cr_assert_eq(ts_test_table_at(&run, "sum", 1), 3);
    cr_assert_eq(ts_test_table_at(&run, "variance", 1), 0x1p199);
    cr_assert_eq(ts_test_table_at(&run, "sum", 2), 2 * 0x1.fffffep127);
    cr_assert_eq(ts_test_table_at(&run, "variance", 2), 0);
    cr_assert_eq(ts_test_table_at(&run, "count", 0), 0);
    cr_assert(isnan(ts_test_table_at(&run, "mean", 0)) && ts_test_table_at(&run, "sum", 0) == 0);
    ((float *)image.data)[2] = 0;
    ts_test_run_clear(&run);
    run_all(&run, "n_labels=3", &image, references);
    cr_assert_eq(ts_test_table_at(&run, "sum", 1), 0x1p-149);
    ts_test_run_clear(&run);
    free(image.data);
    free(labels.data);
}

Test(statistics_labels, refuses_what_has_no_rows)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U8, VALUES_RANDOM, 1),
                    floats = ts_test_image(2, 3, 4, TS_F32, VALUES_RANDOM, 1),
                    other = ts_test_image(2, 4, 3, TS_U8, VALUES_RANDOM, 1);
    const struct {
        const char *assignments, *code;
        const struct ts_image *labels;
    } rows[] = {{"", "labels-of-float", &floats},
                {"", "reference-shape", &other},
                {"scope=slice", "labels-per-slice", &image},
                {"noise=both", "noise-of-labels", &image},
                {"percentiles=1,2,3 n_labels=65536", "labels-too-many-counts", &image}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ts_image *const references[STAGE_REFERENCES] = {NULL, rows[i].labels};
        struct stage_run run;
        cr_assert_eq(ts_test_run_references(&run, &statistics_stage, rows[i].assignments, &image,
                                            references, 0, 1),
                     TS_BAD_CHAIN);
        cr_assert_str_eq(ts_diag_get(run.diag, 0)->code, rows[i].code);
        ts_test_run_clear(&run);
    }
    free(image.data);
    free(floats.data);
    free(other.data);
}
