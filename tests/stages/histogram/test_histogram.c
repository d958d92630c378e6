/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/histogram/histogram.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/stages/histogram/histogram_oracle.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(histogram);

static uint64_t count_at(const struct stage_run *run, const char *name, int64_t z, int64_t bin)
{
    const struct ts_image *image = ts_test_table(run, name);
    const int64_t columns = image->rank > 0 ? image->axes[image->rank - 1].n : 1;
    return ((const uint64_t *)image->data)[image->rank == 2   ? z * columns + bin
                                           : image->rank == 1 ? z + bin
                                                              : 0];
}

static double edge_at(const struct stage_run *run, int64_t z, int64_t i)
{
    const struct ts_image *image = ts_test_table(run, "edges");
    return ((const double *)image->data)[(image->rank == 2 ? z * image->axes[1].n : 0) + i];
}

/* Compares the tables of rows [z, z + 1) (or of the volume) with the reference over the edges that
 * the stage states. */
static void compare(const struct stage_run *run, const double *values, size_t n, int64_t z,
                    const char *what)
{
    const int64_t bins = ((const struct histogram_params *)run->set.values)->bins;
    const double low = edge_at(run, z, 0), high = edge_at(run, z, bins);
    uint64_t *counts = malloc((size_t)bins * sizeof *counts), under, over, nan;
    ts_histogram_oracle_counts(values, n, low, high, bins, counts, &under, &over, &nan);
    for (int64_t i = 0; i < bins; i++)
        cr_assert_eq(count_at(run, "counts", z, i), counts[i],
                     "%s: z %lld bin %lld is %llu, expected %llu", what, (long long)z, (long long)i,
                     (unsigned long long)count_at(run, "counts", z, i),
                     (unsigned long long)counts[i]);
    cr_assert_eq(count_at(run, "underflow", z, 0), under, "%s: underflow", what);
    cr_assert_eq(count_at(run, "overflow", z, 0), over, "%s: overflow", what);
    cr_assert_eq(count_at(run, "nan", z, 0), nan, "%s: nan", what);
    free(counts);
}

static double *doubles_of(const struct ts_image *image)
{
    double *values = malloc(ts_image_count(image) * sizeof *values);
    ts_load_f64(values, image->data, image->dtype, ts_image_count(image));
    return values;
}

static size_t check_all(const char *assignments, enum ts_dtype dtype, enum stage_values values,
                        bool odd_values)
{
    static const int64_t slabs[] = {0, 1, 2, 3};
    struct ts_image in = ts_test_image(4, 23, 41, dtype, values, 77 + (uint64_t)dtype);
    if (odd_values && dtype == TS_F32) {
        float *data = in.data;
        data[3] = data[2500] = NAN;
        data[5] = INFINITY;
        data[6] = -INFINITY;
        data[7] = -0.0f;
    }
    double *as_doubles = doubles_of(&in);
    const size_t slice = ts_slice_count(&in);
    size_t compared = 0;
    for (size_t s = ts_test_few() ? 2 : 0; s < (ts_test_few() ? 3 : sizeof slabs / sizeof *slabs);
         s++) {
        struct stage_run run;
        char what[256];
        snprintf(what, sizeof what, "{%s} %s values %d slab %lld", assignments,
                 ts_dtype_name(dtype), values, (long long)slabs[s]);
        const enum ts_status status =
            ts_test_run(&run, &histogram_stage, assignments, &in, NULL, slabs[s], 1 + (int)s);
        if (status != TS_OK)
            ts_diag_print(run.diag, stderr);
        cr_assert_eq(status, TS_OK, "%s", what);
        if (ts_test_table(&run, "underflow")->rank == 0) {
            compare(&run, as_doubles, ts_image_count(&in), 0, what);
        } else {
            for (int64_t z = 0; z < in.axes[0].n; z++)
                compare(&run, as_doubles + (size_t)z * slice, slice, z, what);
        }
        ts_test_run_clear(&run);
        compared++;
    }
    free(as_doubles);
    free(in.data);
    return compared;
}

TEST_ON_BOTH(histogram, agrees_with_the_definition)
{
    static const char *const cases[] = {"",
                                        "scope=slice",
                                        "bins=1",
                                        "bins=7 range=-100,101.5",
                                        "bins=100 range=-0.25,90 scope=slice",
                                        "bins=64 range=0,64",
                                        "bins=4096 range=-1024,3072",
                                        "bins=33"};
    size_t compared = 0;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int dtype = TS_U8; dtype <= TS_F32; dtype++)
            for (int values = VALUES_RANDOM; values <= VALUES_EXTREME; values++)
                if (ts_test_few() ? values == VALUES_CT && (c + (size_t)dtype) % 3 == 0
                                  : !(dtype == TS_F32 && values == VALUES_EXTREME))
                    compared +=
                        check_all(cases[c], (enum ts_dtype)dtype, (enum stage_values)values, true);
    cr_assert_eq(compared, ts_test_few() ? 19 : 8 * (7 * 4 - 1) * 4);
}

TEST_ON_BOTH(histogram, counts_every_value_of_an_integer_type)
{
    size_t compared = 0;
    for (int dtype = TS_U8; dtype <= TS_I32; dtype++)
        for (int values = VALUES_RANDOM; values <= (ts_test_few() ? VALUES_RANDOM : VALUES_EXTREME);
             values++)
            compared += check_all("limits=dtype bins=256 scope=slice", (enum ts_dtype)dtype,
                                  (enum stage_values)values, false);
    cr_assert_eq(compared, ts_test_few() ? 6 : 6 * 4 * 4);

    struct ts_image in = ts_test_image(2, 64, 64, TS_I16, VALUES_RANDOM, 5);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "limits=dtype bins=65536", &in, NULL, 0, 1),
                 TS_OK);
    uint64_t *expected = calloc(65536, sizeof *expected);
    for (size_t i = 0; i < ts_image_count(&in); i++)
        expected[((const int16_t *)in.data)[i] + 32768]++;
    cr_assert(!memcmp(expected, ts_test_table(&run, "counts")->data, 65536 * sizeof *expected));
    cr_assert_eq(edge_at(&run, 0, 0), -32768);
    cr_assert_eq(edge_at(&run, 0, 65536), 32768);
    free(expected);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Every value on an edge and next to it: the edges alone decide, and the last bin is closed. */
TEST_ON_BOTH(histogram, values_on_edges_fall_as_stated)
{
    const double low = -0.3, high = 1.7;
    const int64_t bins = 1000;
    struct ts_image in = ts_test_image(1, 3, bins + 1, TS_F32, VALUES_RANDOM, 1);
    float *data = in.data;
    for (int64_t i = 0; i <= bins; i++) {
        const float edge =
            (float)(i == bins ? high : low + (double)i * ((high - low) / (double)bins));
        data[i] = edge;
        data[bins + 1 + i] = nextafterf(edge, -INFINITY);
        data[2 * (bins + 1) + i] = nextafterf(edge, INFINITY);
    }
    double *values = doubles_of(&in);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=1000 range=-0.3,1.7", &in, NULL, 0, 1),
                 TS_OK);
    compare(&run, values, ts_image_count(&in), 0, "edges");
    ts_test_run_clear(&run);

    const float closed[] = {0, 1, 2, 2};
    memcpy(in.data, closed, sizeof closed);
    in.axes[1].n = 1;
    in.axes[2].n = 4;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=2", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(count_at(&run, "counts", 0, 0), 1);
    cr_assert_eq(count_at(&run, "counts", 0, 1), 3, "the last bin holds its upper edge");
    ts_test_run_clear(&run);
    free(values);
    free(in.data);
}

TEST_ON_BOTH(histogram, one_value_and_no_value_have_numpys_range)
{
    struct ts_image in = ts_test_image(1, 2, 2, TS_F32, VALUES_CONSTANT, 1);
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=10", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(edge_at(&run, 0, 0), 6.5);
    cr_assert_eq(edge_at(&run, 0, 10), 7.5);
    cr_assert_eq(count_at(&run, "counts", 0, 5), 4);
    ts_test_run_clear(&run);
    for (int i = 0; i < 4; i++)
        ((float *)in.data)[i] = NAN;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=10", &in, NULL, 0, 1), TS_OK);
    cr_assert_eq(edge_at(&run, 0, 0), 0);
    cr_assert_eq(edge_at(&run, 0, 10), 1);
    cr_assert_eq(count_at(&run, "nan", 0, 0), 4);
    ts_test_run_clear(&run);
    free(in.data);
}

/* Spans that grow from block to block, wide and narrow, so that lanes are folded and opened
 * again. */
TEST_ON_BOTH(histogram, long_images_with_changing_spans)
{
    struct ts_image in = ts_test_image(7, 300, 257, TS_U16, VALUES_RANDOM, 1);
    uint16_t *data = in.data;
    const size_t slice = ts_slice_count(&in), n = ts_image_count(&in);
    uint64_t state = 9, *expected = calloc(65536, sizeof *expected);
    for (size_t i = 0; i < n; i++) {
        static const uint32_t spans[] = {3, 4000, 60000, 1, 4096, 65536, 9000};
        data[i] = (uint16_t)(20000 - 2500 * (int)(i / slice) +
                             (int)(ts_random_next(&state) % spans[i / slice]));
        expected[data[i]]++;
    }
    for (int64_t slab = ts_test_few() ? 3 : 0; slab < 4; slab++) {
        struct stage_run run;
        cr_assert_eq(
            ts_test_run(&run, &histogram_stage, "limits=dtype bins=65536", &in, NULL, slab, 2),
            TS_OK);
        cr_assert(!memcmp(expected, ts_test_table(&run, "counts")->data, 65536 * sizeof *expected),
                  "slab %lld", (long long)slab);
        ts_test_run_clear(&run);
    }
    free(expected);
    free(in.data);
}

/* A value of a slice whose spans are narrow, wide, one value, narrow with outliers, and wide with
 * one value in front. */
static uint16_t value_of_kind(int64_t z, uint64_t *state)
{
    static const uint32_t spans[] = {200, 3000, 65536, 1, 1500, 30000, 16000};
    const uint32_t kind = (uint32_t)(z % 7), random = (uint32_t)ts_random_next(state);
    if (kind == 4 && random % 997 == 0)
        return (uint16_t)(random >> 16);
    if (kind == 5 && random % 4)
        return 60000;
    return (uint16_t)(kind == 2 ? random >> 16
                                : (uint32_t)z * 37 % 20000 + (random >> 8) % spans[kind]);
}

/* From the lowest to the highest value, half a value on both sides where there is one. */
static void expect_edges_of_data(const struct stage_run *run, const double *values, size_t n,
                                 int64_t z)
{
    const int64_t bins = ((const struct histogram_params *)run->set.values)->bins;
    double low = values[0], high = values[0];
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    const double beside = low < high ? 0 : 0.5;
    cr_assert_eq(edge_at(run, z, 0), low - beside, "z %lld", (long long)z);
    cr_assert_eq(edge_at(run, z, bins), high + beside, "z %lld", (long long)z);
}

/* So many that each block of a device has slices of its own, counted one after the other. */
TEST_ON_BOTH(histogram, many_slices_side_by_side)
{
    static const char *const bins[] = {"limits=dtype bins=4096 scope=slice",
                                       "range=0,60000 bins=3000 scope=slice",
                                       "limits=dtype bins=100 scope=slice",
                                       "limits=dtype bins=64 scope=volume",
                                       "range=-1.5,65000.25 bins=3 scope=slice",
                                       "range=-20000,20000 bins=250 scope=volume",
                                       "range=100,4196 bins=4096 scope=slice",
                                       "range=-40000,90000 bins=13 scope=slice",
                                       "range=-70000,-50000 bins=100 scope=slice",
                                       "range=50000,3000000000 bins=1000 scope=slice",
                                       "bins=1 scope=slice",
                                       "bins=40 scope=slice",
                                       "bins=5000 scope=slice",
                                       "bins=300 scope=volume"};
    struct ts_image in = ts_test_image(305, 61, 67, TS_U16, VALUES_CONSTANT, 1);
    uint64_t state = 4;
    for (size_t i = 0; i < ts_image_count(&in); i++)
        ((uint16_t *)in.data)[i] = value_of_kind((int64_t)(i / ts_slice_count(&in)), &state);
    for (int dtype = TS_U16; dtype <= TS_I16; dtype++)
        for (size_t i = 0; i < sizeof bins / sizeof *bins; i++) {
            in.dtype = (enum ts_dtype)dtype;
            struct stage_run run;
            double *values = doubles_of(&in);
            cr_assert_eq(ts_test_run(&run, &histogram_stage, bins[i], &in, NULL, 0, 2), TS_OK);
            const bool volume = strstr(bins[i], "volume") != NULL;
            const size_t n = volume ? ts_image_count(&in) : ts_slice_count(&in);
            for (int64_t z = 0; z < (volume ? 1 : in.axes[0].n); z++) {
                compare(&run, values + (size_t)z * n, n, z, bins[i]);
                if (!strstr(bins[i], "range") && !strstr(bins[i], "limits"))
                    expect_edges_of_data(&run, values + (size_t)z * n, n, z);
            }
            ts_test_run_clear(&run);
            free(values);
        }
    free(in.data);
}

static void expect_distances(const struct stage_run *run, int64_t z, double variation,
                             double largest, double area)
{
    const double expected[] = {variation, largest, area};
    const double *shares = (const double *)ts_test_table(run, "distances")->data + 2 * z;
    const double found[] = {shares[0], shares[1], ts_test_table_at(run, "wasserstein", z)};
    for (int i = 0; i < 3; i++)
        cr_assert(fabs(found[i] - expected[i]) <= 1e-12, "distance %d is %g, expected %g", i,
                  found[i], expected[i]);
}

/* Half of the image lies above the range, and counts at its upper end: of the values in range both
 * shares are 1. */
TEST_ON_BOTH(histogram, distances_count_what_is_outside_of_the_range)
{
    struct ts_image in = ts_test_image(1, 1, 4, TS_F32, VALUES_CONSTANT, 1), reference = in;
    float values[4] = {0.5f, 0.5f, 9, 9}, others[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    struct stage_run run;
    free(in.data);
    in.data = values;
    reference.data = others;
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=2 range=0,2", &in, &reference, 0, 1),
                 TS_OK);
    expect_distances(&run, 0, 0.5, 0.5, 0.75);
    ts_test_run_clear(&run);
}

TEST_ON_BOTH(histogram, distances_to_a_reference)
{
    /* A shift by 3 of values that all lie in bins of width 1: earth mover's distance 3, no
     * overlap. */
    for (int dtype = TS_U8; dtype <= TS_F32; dtype += ts_test_few() ? 3 : 1) {
        struct ts_image in = ts_test_image(2, 3, 4, (enum ts_dtype)dtype, VALUES_CONSTANT, 1);
        struct ts_image reference =
            ts_test_image(5, 2, 2, (enum ts_dtype)dtype, VALUES_CONSTANT, 1);
        in.unit = "HU";
        for (size_t i = 0; i < ts_image_count(&reference); i++)
            ts_test_store(reference.data, reference.dtype, i, 4);
        struct stage_run run;
        cr_assert_eq(
            ts_test_run(&run, &histogram_stage, "bins=10 range=0,10", &in, &reference, 1, 1),
            TS_OK);
        cr_assert_eq(count_at(&run, "reference_counts", 0, 4), 20);
        expect_distances(&run, 0, 1, 1, 3);
        cr_assert_str_eq(ts_test_table(&run, "wasserstein")->unit, "HU");
        cr_assert_str_eq(ts_test_table(&run, "edges")->unit, "HU");
        cr_assert_str_eq(ts_test_table(&run, "distances")->unit, "1");
        ts_test_run_clear(&run);
        cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=10 range=0,10 scope=slice", &in,
                                 &reference, 1, 1),
                     TS_OK);
        cr_assert_eq(count_at(&run, "reference_counts", 1, 4), 20);
        expect_distances(&run, 1, 1, 1, 3);
        ts_test_run_clear(&run);
        cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=10", &in, &in, 1, 1), TS_OK);
        expect_distances(&run, 0, 0, 0, 0);
        ts_test_run_clear(&run);
        free(in.data);
        free(reference.data);
    }
}

Test(histogram, refuses_what_cannot_be_counted)
{
    ts_test_refused(&histogram_stage, "range=1,2,3", TS_U8, false, "range-length");
    ts_test_refused(&histogram_stage, "range=2,2", TS_U8, false, "range-order");
    ts_test_refused(&histogram_stage, "range=5,2", TS_F32, false, "range-order");
    ts_test_refused(&histogram_stage, "limits=dtype", TS_F32, false, "limits-of-float");
    ts_test_refused(&histogram_stage, "range=1,1.0000000000000002 bins=65536", TS_F32, false,
                    "range-too-narrow");
    ts_test_refused(&histogram_stage, "scope=slice", TS_U16, true, "reference-needs-range");
    ts_test_refused(&histogram_stage, "method=warp-tagged", TS_U16, false, "choice-device");
    ts_test_refused(&histogram_stage, "merge=fan-in", TS_U16, false, "choice-device");
    ts_test_refused(&histogram_stage, "method=sampled", TS_U8, false, "sampled-type");
}

static void compare_with_numpy(const char *file)
{
    size_t n, n_bins;
    double *values = ts_test_read_hdf5(file, "input", &n),
           *counts = ts_test_read_hdf5(file, "hist/counts", &n_bins);
    cr_assert_eq(n_bins, 256);
    for (int dtype = TS_I16; dtype <= TS_F32; dtype++) {
        struct ts_image in = ts_test_image(1, 152, 152, (enum ts_dtype)dtype, VALUES_CONSTANT, 1);
        cr_assert_eq(ts_image_count(&in), n);
        bool fits = true;
        for (size_t i = 0; i < n; i++) {
            double back;
            ts_test_store(in.data, in.dtype, i, values[i]);
            ts_load_f64(&back, (char *)in.data + i * ts_dtype_bytes(in.dtype), in.dtype, 1);
            fits &= back == values[i];
        }
        if (fits) {
            struct stage_run run;
            cr_assert_eq(
                ts_test_run(&run, &histogram_stage, "bins=256 range=-1024,3072", &in, NULL, 0, 1),
                TS_OK);
            for (int64_t i = 0; i < 256; i++)
                cr_assert_eq((double)count_at(&run, "counts", 0, i), counts[i], "%s bin %lld", file,
                             (long long)i);
            ts_test_run_clear(&run);
        }
        cr_assert(fits || dtype == TS_U32, "%s holds other values than %s can", file,
                  ts_dtype_name(in.dtype));
        free(in.data);
    }
    free(values);
    free(counts);
}

TEST_ON_BOTH(histogram, agrees_with_numpy_on_ct_and_mr)
{
    SKIP_WITHOUT_DATA("histogram/agrees_with_numpy_on_ct_and_mr");
    compare_with_numpy("reference/generated/filters_ct_ge_head.h5");
    compare_with_numpy("reference/generated/filters_mr_sts001.h5");
}
