/* SPDX-License-Identifier: Apache-2.0
 *
 * compare beside its oracle, beside scikit-image 0.19.3, and where values are missing or slices are
 * smaller than a window. Every run must give the same bytes however z is cut.
 */
#include "stages/histogram/compare.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stages/histogram/compare_oracle.h"
#include "tests/support/masked.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(compare);

/* The image with noise of `amount`, in another element type. */
static struct ts_image noisy(const struct ts_image *image, enum ts_dtype dtype, double amount)
{
    struct ts_image out = *image;
    uint64_t state = 9;
    const size_t n = ts_image_count(image);
    double *values = malloc(n * sizeof *values);
    out.dtype = dtype;
    out.data = malloc(ts_image_bytes(&out));
    ts_load_f64(values, image->data, image->dtype, n);
    for (size_t i = 0; i < n; i++) {
        const double value = values[i] + amount * (ts_random_unit(&state) - 0.5);
        if (dtype == TS_F32)
            ((float *)out.data)[i] = (float)value;
        else
            ((int16_t *)out.data)[i] = (int16_t)fmin(fmax(value, -32768), 32767);
    }
    free(values);
    return out;
}

static bool near(double is, double expected)
{
    return is == expected || (isnan(is) && isnan(expected)) ||
           fabs(is - expected) <= 1e-9 * fabs(expected);
}

/* Compares every table with the oracle's, and with the bytes of the first run. */
static void expect_tables(const struct stage_run *run, const struct ts_image *in,
                          const struct ts_image *reference, double **first)
{
    struct ts_image inputs[STAGE_INPUTS] = {*in, *reference};
    struct bench_tables expected = {0};
    expected.n = ts_stage_reduced_tables(run->reduced, &expected.tables);
    cr_assert_eq(expected.n, 11);
    for (int t = 0; t < expected.n; t++)
        expected.values[t] = calloc(ts_image_count(&expected.tables[t].image), sizeof(double));
    ts_compare_oracle_results(&run->context, inputs, NULL, &expected);
    for (int t = 0; t < expected.n; t++) {
        const struct ts_image *table = &expected.tables[t].image;
        const size_t n = ts_image_count(table);
        cr_assert(expected.known[t]);
        for (size_t i = 0; i < n; i++) {
            const double is = ts_test_table_at(run, expected.tables[t].name, (int64_t)i);
            cr_assert(near(is, expected.values[t][i]), "%s[%zu] is %.17g, expected %.17g",
                      expected.tables[t].name, i, is, expected.values[t][i]);
        }
        if (!first[t]) {
            first[t] = malloc(n * sizeof(double));
            memcpy(first[t], table->data, n * sizeof(double));
        }
        cr_assert_eq(memcmp(first[t], table->data, n * sizeof(double)), 0, "%s",
                     expected.tables[t].name);
        free(expected.values[t]);
    }
}

TEST_ON_BOTH(compare, agrees_with_the_definition)
{
    static const int64_t shapes[][3] = {{1, 1, 1},     {2, 7, 7},   {3, 6, 40},   {2, 41, 1},
                                        {3, 67, 131},  {1, 11, 11}, {2, 64, 128}, {2, 71, 128},
                                        {1, 130, 259}, {1, 75, 122}};
    static const char *const rows[] = {"data_range=4000", "data_range=4000 window=gaussian",
                                       "data_range=100"};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t row = 0; row < sizeof rows / sizeof *rows; row++)
            for (int dtype = TS_U8; dtype <= TS_F32; dtype += 3) {
                struct ts_image in = ts_test_image(shapes[s][0], shapes[s][1], shapes[s][2],
                                                   (enum ts_dtype)dtype, VALUES_CT, s);
                struct ts_image reference = noisy(&in, row == 1 ? TS_I16 : TS_F32, 300);
                double *first[11] = {NULL};
                for (int64_t slab = 0; slab < 3; slab++) {
                    struct stage_run run;
                    cr_assert_eq(ts_test_run(&run, &compare_stage, rows[row], &in, &reference, slab,
                                             1 + (int)slab),
                                 TS_OK);
                    expect_tables(&run, &in, &reference, first);
                    ts_test_run_clear(&run);
                }
                for (int t = 0; t < 11; t++)
                    free(first[t]);
                free(in.data);
                free(reference.data);
            }
}

/* Pixels that are invalid in either image are left out as those that are NaN in it. */
TEST_ON_BOTH(compare, leaves_out_what_is_invalid)
{
    enum { NZ = 4, NY = 30, NX = 71 };
    static const char *const rows[] = {"data_range=4000", "data_range=4000 window=gaussian"};
    for (int which = 0; which < 4; which++) {
        struct ts_image in = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 8),
                        reference = noisy(&in, TS_F32, 300);
        struct ts_image twins[2] = {noisy(&in, TS_F32, 0), noisy(&reference, TS_F32, 0)},
                        *images[2] = {&in, &reference};
        double *first[11] = {NULL};
        for (int k = 0; k < 2; k++) {
            if (which % 3 != k && which != 2)
                continue;
            ts_test_mask(images[k], MASKED_SOME, -2000, 9 + (uint64_t)k);
            for (size_t i = 0; i < ts_image_count(&in); i++)
                if (!ts_test_is_valid(images[k], (int64_t)(i / (NY * NX)), i % (NY * NX)))
                    ((float *)twins[k].data)[i] = NAN;
        }
        for (int64_t slab = 0; slab < 3; slab++) {
            struct stage_run run;
            cr_assert_eq(ts_test_run(&run, &compare_stage, rows[which % 2], &in, &reference, slab,
                                     1 + (int)slab),
                         TS_OK);
            expect_tables(&run, &twins[0], &twins[1], first);
            ts_test_run_clear(&run);
        }
        for (int t = 0; t < 11; t++)
            free(first[t]);
        for (int k = 0; k < 2; k++) {
            free(images[k]->data);
            free(images[k]->valid);
            free(twins[k].data);
        }
    }
}

/* skimage.metrics: structural_similarity, peak_signal_noise_ratio, normalized_root_mse, and the
 * root of mean_squared_error of the same slices. The SSIM of the volume is the mean of its
 * slices'. */
TEST_ON_BOTH(compare, agrees_with_scikit_image)
{
    static const struct {
        const char *table;
        double expected[2], gaussian[2];
    } rows[] = {
        {"slice_ssim",
         {0.8474166207881453, 0.8653766315936183},
         {0.8425640234304947, 0.8614784008390485}},
        {"ssim", {0.8563966261908817}, {0.8520212121347717}},
        {"slice_max_difference", {72, 72}, {72, 72}},
        {"slice_rms_difference",
         {42.59288998999551, 38.803800366216066},
         {42.59288998999551, 38.803800366216066}},
        {"slice_relative_difference",
         {0.2899950344381485, 0.27037750859338117},
         {0.2899950344381485, 0.27037750859338117}},
        {"slice_psnr",
         {15.544061436870045, 16.35331837656199},
         {15.544061436870045, 16.35331837656199}},
        {"rms_difference", {40.7424177029359}, {40.7424177029359}},
        {"relative_difference", {0.2805844636058631}, {0.2805844636058631}},
        {"psnr", {15.929867669206036}, {15.929867669206036}},
    };
    struct ts_image in = ts_test_image(2, 23, 31, TS_U8, VALUES_CONSTANT, 1), reference = in;
    reference.data = malloc(ts_image_bytes(&reference));
    for (int i = 0; i < 2 * 23 * 31; i++) {
        const int x = i % 31, y = i / 31 % 23, z = i / (31 * 23);
        const int value = (7 * x + 11 * y * y + 13 * z * x * y) % 251,
                  other = value + 9 * ((x * y + 5 * z) % 17) - 72;
        ((uint8_t *)reference.data)[i] = (uint8_t)value;
        ((uint8_t *)in.data)[i] = (uint8_t)(other < 0 ? 0 : other > 255 ? 255 : other);
    }
    for (int gaussian = 0; gaussian < 2; gaussian++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &compare_stage,
                                 gaussian ? "data_range=255 window=gaussian" : "data_range=255",
                                 &in, &reference, 0, 2),
                     TS_OK);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (size_t z = 0; z < ts_image_count(ts_test_table(&run, rows[i].table)); z++) {
                const double expected = gaussian ? rows[i].gaussian[z] : rows[i].expected[z];
                const double is = ts_test_table_at(&run, rows[i].table, (int64_t)z);
                cr_assert(fabs(is - expected) <= 1e-12 * expected,
                          "%s[%zu] is %.17g, expected %.17g", rows[i].table, z, is, expected);
            }
        ts_test_run_clear(&run);
    }
    free(in.data);
    free(reference.data);
}

/* A pixel that is not finite takes 49 windows with it. */
TEST_ON_BOTH(compare, leaves_out_what_is_not_finite)
{
    struct ts_image in = ts_test_image(2, 40, 150, TS_F32, VALUES_CT, 1),
                    reference = noisy(&in, TS_F32, 300);
    double *first[11] = {NULL};
    struct stage_run run;
    ((float *)in.data)[17 * 150 + 124] = NAN;
    ((float *)reference.data)[25 * 150 + 3] = INFINITY;
    ((float *)reference.data)[40 * 150] = -INFINITY;
    cr_assert_eq(ts_test_run(&run, &compare_stage, "data_range=4000", &in, &reference, 1, 1),
                 TS_OK);
    cr_assert(ts_test_table_at(&run, "not_compared", 0) == 2 &&
              ts_test_table_at(&run, "not_compared", 1) == 1);
    expect_tables(&run, &in, &reference, first);
    ts_test_run_clear(&run);
    for (int t = 0; t < 11; t++)
        free(first[t]);
    free(in.data);
    free(reference.data);
}

TEST_ON_BOTH(compare, equal_images_have_no_difference)
{
    struct ts_image in = ts_test_image(1, 20, 30, TS_I16, VALUES_CT, 1);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &compare_stage, "data_range=4000", &in, &in, 0, 1), TS_OK);
    cr_assert(ts_test_table_at(&run, "max_difference", 0) == 0 &&
              ts_test_table_at(&run, "relative_difference", 0) == 0);
    cr_assert(ts_test_table_at(&run, "psnr", 0) == (double)INFINITY &&
              ts_test_table_at(&run, "ssim", 0) == 1);
    ts_test_run_clear(&run);
    free(in.data);
}

Test(compare, refuses_another_grid_or_unit)
{
    struct ts_image in = ts_test_image(2, 5, 7, TS_F32, VALUES_CT, 1), other = in;
    ts_test_refuses(&compare_stage, "data_range=1", &in, NULL, "reference-missing",
                    "names no image");
    other.axes[2].n = 8;
    ts_test_refuses(&compare_stage, "data_range=1", &in, &other, "reference-shape", "2 x 5 x 8");
    other = in;
    other.axes[0].n = 3;
    ts_test_refuses(&compare_stage, "data_range=1", &in, &other, "reference-shape", "3 x 5 x 7");
    other = in;
    other.axes[1].spacing *= 1.001;
    ts_test_refuses(&compare_stage, "data_range=1", &in, &other, "reference-grid", "along y");
    other = in;
    other.unit = "HU";
    ts_test_refuses(&compare_stage, "data_range=1", &in, &other, "reference-unit", "'HU'");
    free(in.data);
}
