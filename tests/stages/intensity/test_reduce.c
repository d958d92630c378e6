/* SPDX-License-Identifier: Apache-2.0
 *
 * reduce beside its oracle: along z for every method, type, shape and with invalid pixels, and
 * along the volumes of a series in runs; by hand; and what it says of its result.
 */
#include "stages/intensity/reduce.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/hdf5_data.h"
#include "tests/stages/intensity/reduce_oracle.h"
#include "tests/support/chain_text.h"
#include "tests/support/folders.h"
#include "tests/support/masked.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"

TestSuite(reduce);

static const char *const methods[] = {"mean", "sd", "max", "min", "sum", "median"};
enum { METHODS = sizeof methods / sizeof *methods };
static const double rounding = 1.2e-7;

TEST_ON_BOTH(reduce, agrees_with_the_definition)
{
    static const struct stage_case cases[] = {
        {.assignments = "axis=z method=mean", .values = VALUES_RANDOM},
        {.assignments = "axis=z method=sd", .values = VALUES_EXTREME},
        {.assignments = "axis=z method=sd", .values = VALUES_CONSTANT},
        {.assignments = "axis=z method=sd", .values = VALUES_CT},
        {.assignments = "axis=z method=max", .values = VALUES_EXTREME},
        {.assignments = "axis=z method=max", .values = VALUES_RANDOM},
        {.assignments = "axis=z method=min", .values = VALUES_RANDOM},
        {.assignments = "axis=z method=sum", .values = VALUES_CT},
        {.assignments = "axis=z method=median", .values = VALUES_RANDOM},
        {.assignments = "axis=z method=median", .values = VALUES_EXTREME},
        {.assignments = "axis=z method=median", .nz = 40, .ny = 9, .nx = 71},
        {.assignments = "axis=z method=mean", .nz = 33, .ny = 11, .nx = 130},
    };
    cr_assert_geq(
        ts_stage_check(&reduce_stage, ts_reduce_oracle, cases, sizeof cases / sizeof *cases),
        10 * 8 * 7 + 2 * 7); /* cases of 8 shapes and 7 types, and two of their own shape */
}

/* ---- by hand --------------------------------------------------------------------------------- */

static double by_hand(const char *method, const float *values, int n)
{
    struct ts_image image = ts_test_image(n, 1, 1, TS_F32, VALUES_CONSTANT, 1);
    char assignments[60];
    memcpy(image.data, values, (size_t)n * sizeof *values);
    snprintf(assignments, sizeof assignments, "axis=z method=%s", method);
    struct ts_image out = ts_test_output(&reduce_stage, assignments, &image);
    const double result = (double)*(float *)out.data;
    free(image.data);
    free(out.data);
    return result;
}

TEST_ON_BOTH(reduce, gives_what_is_worked_out_by_hand)
{
    static const float odd[] = {7, -1, 3, 3, 8}, even[] = {4, 1, 9, 2}, one[] = {-2};
    static const double of_odd[] = {4, 3.2249031, 8, -1, 20, 3},
                        of_even[] = {4, 3.0822070, 9, 1, 16, 3}, of_one[] = {-2, 0, -2, -2, -2, -2};
    for (int i = 0; i < METHODS; i++) {
        cr_expect_float_eq(by_hand(methods[i], odd, 5), of_odd[i], 1e-6, "%s", methods[i]);
        cr_expect_float_eq(by_hand(methods[i], even, 4), of_even[i], 1e-6, "%s", methods[i]);
        cr_expect_float_eq(by_hand(methods[i], one, 1), of_one[i], 0, "%s", methods[i]);
    }
}

/* NaN of either sign stays NaN, wherever it comes; infinite values are numbers. */
TEST_ON_BOTH(reduce, keeps_nan)
{
    const float infinite = INFINITY, none = NAN;
    for (int place = 0; place < 4; place++)
        for (int i = 0; i < METHODS; i++) {
            float values[] = {4, 1, 9, 2};
            values[place] = none;
            cr_expect(isnan(by_hand(methods[i], values, 4)), "%s %d", methods[i], place);
            values[place] = -none;
            cr_expect(isnan(by_hand(methods[i], values, 4)), "%s %d", methods[i], place);
        }
    const float values[] = {1, infinite, 2};
    cr_expect_eq(by_hand("median", values, 3), 2);
    cr_expect_eq(by_hand("max", values, 3), (double)infinite);
    cr_expect_eq(by_hand("mean", values, 3), (double)infinite);
    cr_expect(isnan(by_hand("sd", values, 3)));
}

/* ---- invalid pixels -------------------------------------------------------------------------- */

/* Fails unless pixel i of the output is what the valid ones of n values give. */
static void expect_pixel(const char *method, const double *values, size_t n, double is, size_t i)
{
    const double expected = ts_reduce_oracle_of(method, values, n);
    cr_assert(is == expected || (isnan(is) && isnan(expected)) ||
                  fabs(is - expected) <= rounding * fabs(expected),
              "%s: pixel %zu is %.9g, expected %.9g of %zu values", method, i, is, expected, n);
}

static void check_masked(enum ts_dtype dtype, enum masked_pixels which, const char *method)
{
    enum { NZ = 7, PIXELS = 11 * 19 };
    struct ts_image image = ts_test_image(NZ, 11, 19, dtype, VALUES_CT, 3);
    char assignments[60];
    struct stage_run run;
    snprintf(assignments, sizeof assignments, "axis=z method=%s", method);
    ts_test_mask(&image, which, 99, 5);
    cr_assert_eq(ts_test_run(&run, &reduce_stage, assignments, &image, NULL, 0, 2), TS_OK);
    cr_assert(run.out.masked);
    struct ts_image out = run.out;
    if (!ts_test_device) { /* a single stage on a CUDA device has no bits */
        out.valid = malloc(ts_valid_bytes(&out));
        memset(out.valid, 0xAA, ts_valid_bytes(&out));
        cr_assert_eq(
            ts_test_apply(&run.context, &image, &out, (const struct ts_image *[4]){NULL}, 0, NULL),
            TS_OK);
    }
    for (size_t i = 0; i < PIXELS && !ts_test_device; i++) {
        double values[NZ], is;
        size_t n = 0;
        for (int64_t z = 0; z < NZ; z++)
            if (ts_test_is_valid(&image, z, i))
                ts_load_f64(&values[n++],
                            (char *)ts_slice_data(&image, z) + i * ts_dtype_bytes(dtype), dtype, 1);
        ts_load_f64(&is, (char *)out.data + i * ts_dtype_bytes(out.dtype), out.dtype, 1);
        expect_pixel(method, values, n, is, i);
        cr_assert_eq(ts_test_is_valid(&out, 0, i), n > 0);
    }
    free(out.valid);
    ts_test_run_clear(&run);
    free(image.data);
    free(image.valid);
}

Test(reduce, leaves_invalid_pixels_out)
{
    for (int which = MASKED_SOME; which <= MASKED_NONE; which++)
        for (int i = 0; i < METHODS; i++) {
            check_masked(TS_I16, (enum masked_pixels)which, methods[i]);
            check_masked(TS_F32, (enum masked_pixels)which, methods[i]);
        }
}

/* ---- what it says of its result -------------------------------------------------------------- */

Test(reduce, makes_a_slice_in_the_middle_as_thick_as_all)
{
    static const double places[] = {0, 1, 4, 9};
    struct ts_image image = ts_test_image(4, 3, 5, TS_I16, VALUES_CT, 1);
    image.axes[0].first = 10;
    image.has_geometry = true;
    memcpy(image.direction, (double[9]){1, 0, 0, 0, 1, 0, 0, 0, 1}, sizeof image.direction);
    memcpy(image.origin_mm, (double[3]){-5, 6, 7}, sizeof image.origin_mm);
    memcpy(image.step_z_mm, (double[3]){0, 0, 2}, sizeof image.step_z_mm);
    struct ts_image out = ts_test_output(&reduce_stage, "axis=z method=max", &image);
    cr_expect(out.axes[0].n == 1 && out.axes[0].first == 13 && out.axes[0].spacing == 8);
    cr_expect(out.origin_mm[0] == -5 && out.origin_mm[2] == 10 && out.step_z_mm[2] == 8);
    cr_expect_eq(out.dtype, TS_I16);
    free(out.data);
    image.step_z_mm[1] = 0.5;
    ts_test_refuses(&reduce_stage, "axis=z method=max", &image, NULL, "stage-sheared", "unshear");
    image.step_z_mm[1] = 0;
    image.has_geometry = false;
    image.axes[0].positions = places;
    out = ts_test_output(&reduce_stage, "axis=z method=mean", &image);
    cr_expect(!out.axes[0].positions && out.axes[0].first == 4.5 && out.axes[0].spacing == 12);
    cr_expect_eq(out.dtype, TS_F32);
    free(out.data);
    image.axes[0].positions = NULL;
    image.axes[0].spacing = 0;
    out = ts_test_output(&reduce_stage, "axis=z method=median", &image);
    cr_expect_eq(out.axes[0].spacing, 0);
    free(out.data);
    free(image.data);
}

Test(reduce, keeps_units_and_what_is_still_true)
{
    static const enum ts_quantity of_hu[] = {TS_HU, TS_INTENSITY, TS_HU,
                                             TS_HU, TS_INTENSITY, TS_HU};
    struct ts_image image = ts_test_image(3, 3, 5, TS_U8, VALUES_CONSTANT, 1);
    for (int i = 0; i < METHODS; i++) {
        const bool chooses = !strcmp(methods[i], "max") || !strcmp(methods[i], "min");
        char assignments[60];
        snprintf(assignments, sizeof assignments, "axis=z method=%s", methods[i]);
        image.quantity = TS_HU;
        image.unit = "HU";
        image.labels = 0;
        struct ts_image out = ts_test_output(&reduce_stage, assignments, &image);
        cr_expect_eq(out.quantity, of_hu[i], "%s", methods[i]);
        cr_expect_str_eq(out.unit, "HU");
        free(out.data);
        image.quantity = TS_COUNTS;
        image.labels = 1;
        out = ts_test_output(&reduce_stage, assignments, &image);
        cr_expect_eq(out.quantity, TS_COUNTS);
        cr_expect_eq(out.labels, chooses ? 1 : 0, "%s", methods[i]);
        free(out.data);
        image.labels = 2;
        if (chooses) {
            out = ts_test_output(&reduce_stage, assignments, &image);
            cr_expect_eq(out.labels, 2);
            free(out.data);
        } else {
            ts_test_refuses(&reduce_stage, assignments, &image, NULL, "labels-mixed", methods[i]);
        }
    }
    free(image.data);
}

/* ---- the volumes of a series ----------------------------------------------------------------- */

enum { N_VOLUMES = 5, NZ = 4, NY = 9, NX = 21, IN_ALL = NZ * NY * NX, HIDDEN = -77 };

static char folder[256], output[300];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
}

/* A series in which the values of a pixel differ; in every third volume some are hidden. */
static struct ts_image make_series(enum ts_dtype dtype, bool masked)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, dtype, VALUES_CT, 17);
    uint64_t state = 5;
    for (size_t i = 0; i < ts_image_count(&image); i++) {
        const double value = floor(1000 * ts_random_unit(&state)) - 500;
        const bool hidden = masked && i / IN_ALL % 3 == 1 && ts_random_unit(&state) < 0.4;
        ts_test_store(image.data, dtype, i, hidden || (masked && i % 101 == 3) ? HIDDEN : value);
    }
    for (size_t v = 0; masked && v < N_VOLUMES; v++) /* one pixel never has a value */
        ts_test_store(image.data, dtype, v * IN_ALL + 40, HIDDEN);
    image.masked = masked;
    return image;
}

/* Fails unless the file has what the volumes of the series give. */
static void expect_series(const struct ts_image *image, const char *method)
{
    size_t n, n_mask = 0;
    double *is = ts_test_read_hdf5_at(output, "/entry/data/data", &n),
           *mask = image->masked ? ts_test_read_hdf5_at(output, "/entry/data/pixel_mask", &n_mask)
                                 : NULL;
    cr_assert_eq(n, IN_ALL, "one volume of %d has %zu values", (int)N_VOLUMES, n);
    for (size_t i = 0; i < n; i++) {
        double values[N_VOLUMES];
        size_t count = 0;
        for (size_t v = 0; v < N_VOLUMES; v++) {
            ts_load_f64(&values[count],
                        (char *)image->data + (v * IN_ALL + i) * ts_dtype_bytes(image->dtype),
                        image->dtype, 1);
            count += !image->masked || values[count] != HIDDEN;
        }
        expect_pixel(method, values, count, is[i], i);
        cr_assert(!mask || mask[i] == (count == 0));
    }
    free(is);
    free(mask);
}

static void run_chain(const struct memory_chain *memory)
{
    const struct ts_options options = {
        .device = ts_test_device ? "cuda" : "cpu", .threads = 2, .force = true};
    struct ts_plan *plan = ts_test_plan(memory, &options);
    cr_assert(plan);
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
}

TEST_ON_BOTH(reduce, makes_one_volume_of_a_series)
{
    static const enum ts_dtype dtypes[] = {TS_I16, TS_F32};
    make_folder();
    for (int which = 0; which < 4; which++)
        for (int i = 0; i < METHODS; i++) {
            struct ts_image image = make_series(dtypes[which % 2], which > 1);
            struct memory_chain memory;
            char stage[60];
            snprintf(stage, sizeof stage, "reduce axis=%s method=%s", i % 2 ? "time" : "volumes",
                     methods[i]);
            memory_chain_init(&memory, &image, NULL, output);
            memory.n_volumes = N_VOLUMES;
            memory.invalid = (struct invalid_range){HIDDEN, HIDDEN};
            memory_chain_add(&memory, stage, NULL);
            run_chain(&memory);
            expect_series(&image, methods[i]);
            if (!ts_test_device)
                ts_test_same_for_slabs_and_threads(&memory, output);
            memory_chain_clear(&memory);
            free(image.data);
        }
    ts_test_remove_folder(folder);
}

/* The mean of a series is one volume for what comes after it, and is taken off each volume. */
TEST_ON_BOTH(reduce, is_one_volume_for_every_volume)
{
    struct ts_image image = make_series(TS_I16, false);
    struct memory_chain memory;
    size_t n;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_add(&memory, "reduce axis=time method=mean", "mean");
    memory_chain_add(&memory, "combine other=mean op=subtract", NULL);
    memory.stages[1].input_node = 0;
    memory_chain_add(&memory, "save", "apart");
    memory_chain_add(&memory, "reduce axis=time method=sum", NULL);
    memory_chain_add(&memory, "statistics", NULL);
    run_chain(&memory);
    double *apart = ts_test_read_hdf5_at(output, "/entry/apart/data", &n);
    cr_assert_eq(n, N_VOLUMES * IN_ALL);
    for (size_t i = 0; i < IN_ALL; i++) {
        double mean = 0;
        for (size_t v = 0; v < N_VOLUMES; v++)
            mean += (double)((int16_t *)image.data)[v * IN_ALL + i] / N_VOLUMES;
        for (size_t v = 0; v < N_VOLUMES; v++)
            cr_assert_float_eq(apart[v * IN_ALL + i],
                               (double)((int16_t *)image.data)[v * IN_ALL + i] - mean, 1e-4);
    }
    free(apart);
    double *sums = ts_test_read_hdf5_at(output, "/entry/data/data", &n);
    cr_assert_eq(n, IN_ALL);
    for (size_t i = 0; i < n; i++)
        cr_assert_float_eq(sums[i], 0, 1e-3);
    free(sums);
    free(ts_test_read_hdf5_at(output, "/entry/process_5_statistics/tables/mean", &n));
    cr_assert_eq(n, 1);
    if (!ts_test_device)
        ts_test_same_for_slabs_and_threads(&memory, output);
    memory_chain_clear(&memory);
    free(image.data);
    ts_test_remove_folder(folder);
}

/* Along z each volume has a slice of its own. */
TEST_ON_BOTH(reduce, makes_a_slice_of_each_volume)
{
    struct ts_image image = make_series(TS_F32, false);
    struct memory_chain memory;
    size_t n;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_add(&memory, "reduce axis=z method=max", NULL);
    run_chain(&memory);
    double *is = ts_test_read_hdf5_at(output, "/entry/data/data", &n);
    cr_assert_eq(n, N_VOLUMES * NY * NX);
    for (size_t i = 0; i < n; i++) {
        double most = -INFINITY;
        for (size_t z = 0; z < NZ; z++)
            most = fmax(most, (double)((float *)image.data)[i / (NY * NX) * IN_ALL + z * NY * NX +
                                                            i % (NY * NX)]);
        cr_assert_eq(is[i], most);
    }
    free(is);
    if (!ts_test_device)
        ts_test_same_for_slabs_and_threads(&memory, output);
    memory_chain_clear(&memory);
    free(image.data);
    ts_test_remove_folder(folder);
}

Test(reduce, refuses_volumes_that_are_not_there)
{
    static const struct {
        int64_t n_volumes;
        const char *axis;
        bool fits;
    } cases[] = {{1, "time", false}, {1, "volumes", false}, {1, "z", true},      {5, "echo", false},
                 {5, "b", false},    {5, "time", true},     {5, "volumes", true}};
    struct ts_image image = make_series(TS_I16, false);
    make_folder();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct memory_chain memory;
        char stage[60];
        snprintf(stage, sizeof stage, "reduce axis=%s method=max", cases[i].axis);
        memory_chain_init(&memory, &image, NULL, output);
        memory.n_volumes = cases[i].n_volumes;
        memory_chain_add(&memory, stage, NULL);
        const struct ts_options options = {.device = "cpu", .threads = 1};
        struct ts_plan *plan;
        struct ts_diag *diag = ts_diag_create();
        const enum ts_status status = ts_plan_create(&memory.chain, &options, &plan, diag);
        cr_expect_eq(status, cases[i].fits ? TS_OK : TS_BAD_CHAIN, "case %zu", i);
        if (!cases[i].fits)
            cr_expect(ts_test_record(diag, "reduce-volumes") != NULL, "case %zu", i);
        ts_plan_destroy(plan);
        ts_diag_destroy(diag);
        memory_chain_clear(&memory);
    }
    free(image.data);
    ts_test_remove_folder(folder);
}
