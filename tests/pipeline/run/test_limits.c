/* SPDX-License-Identifier: Apache-2.0
 *
 * One past each limit that 32-bit numbers, textures or short tables would have: 2,048 views, 4,096
 * detectors, and 2^31 bytes and values, of an image that streams through a run and of one that a
 * stage has in its hands at once.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "stages/histogram/histogram.h"
#include "stages/intensity/invert.h"
#include "stages/projection/reconstruction.h"
#include "stages/scan/circle.h"
#include "tests/files/dicom_open.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"

TestSuite(limits, .timeout = 900);

/* 2,049 slices of 1,024 x 1,024 bytes: 2^31 and a slice. */
enum { SLICES = 2049, SIDE = 1024, SLICE = SIDE * SIDE };

/* Zeros take no memory until they are written to. */
static struct ts_image zeros(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype)
{
    struct ts_image image = ts_test_image(1, 1, 1, dtype, VALUES_CONSTANT, 1);
    free(image.data);
    image.axes[0].n = nz;
    image.axes[1].n = ny;
    image.axes[2].n = nx;
    image.data = calloc(ts_image_count(&image), ts_dtype_bytes(dtype));
    cr_assert_not_null(image.data);
    return image;
}

/* These are the places of the 2^31st value, of its neighbors, and of the ends. */
static const int64_t marks[] = {0,
                                77,
                                (INT64_C(1) << 31) - 1,
                                INT64_C(1) << 31,
                                (INT64_C(1) << 31) + 4711,
                                (int64_t)SLICES *SLICE - 1};
enum { MARKS = sizeof marks / sizeof *marks };

static struct ts_image marked_volume(void)
{
    struct ts_image image = zeros(SLICES, SIDE, SIDE, TS_U8);
    for (int i = 0; i < MARKS; i++)
        ((uint8_t *)image.data)[marks[i]] = (uint8_t)(i + 1);
    return image;
}

static void leave_out_where_all_is_slow(const char *name)
{
#ifdef TS_SANITIZED
    const bool slow = true;
#else
    const bool slow = ts_test_few();
#endif
    if (!slow)
        return;
    fprintf(stderr, "SKIPPED limits/%s: too slow for tools that make everything slow\n", name);
    cr_skip_test("too slow here");
}

/* ---- a run ----------------------------------------------------------------------------------- */

static uint8_t value_in(hid_t data, int64_t at)
{
    const hsize_t start[3] = {(hsize_t)(at / SLICE), (hsize_t)(at % SLICE / SIDE),
                              (hsize_t)(at % SIDE)},
                  one[3] = {1, 1, 1};
    const hid_t space = H5Dget_space(data), memory = H5Screate_simple(3, one, NULL);
    uint8_t value = 0;
    cr_assert(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) >= 0 &&
              H5Dread(data, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, &value) >= 0);
    H5Sclose(memory);
    H5Sclose(space);
    return value;
}

/* Slab by slab, in far less memory than the volume, into a file that is read and verified again. */
TEST_ON_BOTH(limits, volume_past_2_to_the_31_bytes_in_a_run)
{
    char folder[256], output[300];
    const struct ts_options options = {.device = ts_test_device ? "cuda" : "cpu",
                                       .threads = 2,
                                       .memory_bytes = (int64_t)1 << 29,
                                       .gpu_memory_bytes = (int64_t)1 << 29,
                                       .force = true};
    struct memory_chain memory;
    leave_out_where_all_is_slow("volume_past_2_to_the_31_bytes_in_a_run");
    struct ts_image image = marked_volume();
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "invert", NULL);
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_assert(plan && plan->slab_slices < SLICES);
    ts_test_plan_run(plan);
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT);
    cr_assert(data >= 0);
    for (int i = 0; i < MARKS; i++) {
        cr_assert_eq(value_in(data, marks[i]), 254 - i);
        cr_assert_eq(value_in(data, marks[i] ? marks[i] - 2 : 2), 255);
    }
    H5Dclose(data);
    H5Fclose(file);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    ts_test_remove_folder(folder);
    free(image.data);
}

/* More views than 2,048 and more detectors than 4,096 on the way from a slice to itself: each ray
 * is seen by reconstruction and projection alike. The slice is small, since there are 250 million
 * rays in 30 iterations. */
TEST_ON_BOTH(limits, views_and_detectors_in_a_run)
{
    enum { N = 16 };
    static const char *const ways[] = {"fbp rows=16 columns=16 pixel_size=1 row_spacing=1",
                                       "fourier rows=16 columns=16 pixel_size=1 row_spacing=1",
                                       "sirt rows=16 columns=16 pixel_size=1 iterations=30"};
    char folder[256], output[300];
    const struct ts_options options = {.device = ts_test_device ? "cuda" : "cpu",
                                       .threads = 2,
                                       .memory_bytes = (int64_t)1 << 31,
                                       .force = true};
    struct ts_image image = ts_test_image(1, N, N, TS_F32, VALUES_CONSTANT, 1);
    leave_out_where_all_is_slow("views_and_detectors_in_a_run");
    image.axes[1].spacing = image.axes[2].spacing = 1;
    for (int i = 0; i < N * N; i++)
        ((float *)image.data)[i] =
            hypot(i / N - 0.5 * (N - 1), i % N - 0.5 * (N - 1)) < 5.5 ? 1 : 0;
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct memory_chain memory;
        double mean = 0;
        size_t n;
        memory_chain_init(&memory, &image, NULL, output);
        memory_chain_add(&memory, "radon views=2049 detectors=4097 detector_spacing=0.02", NULL);
        memory_chain_add(&memory, "center center=2048", NULL);
        memory_chain_add(&memory, ways[i], NULL);
        struct ts_plan *plan = ts_test_plan(&memory, &options);
        cr_assert_not_null(plan, "%s", ways[i]);
        ts_test_plan_run(plan);
        double *slice = ts_test_read_hdf5_at(output, "/entry/data/data", &n);
        cr_assert_eq(n, N * N);
        for (int p = 0; p < 16; p++)
            mean += slice[(N / 2 - 2 + p / 4) * N + N / 2 - 2 + p % 4] / 16;
        cr_assert(fabs(mean - 1) < 0.005, "%s: %g in the middle", ways[i], mean);
        free(slice);
        ts_plan_destroy(plan);
        memory_chain_clear(&memory);
    }
    ts_test_remove_folder(folder);
    free(image.data);
}

/* ---- a stage --------------------------------------------------------------------------------- */

TEST_ON_BOTH(limits, volume_past_2_to_the_31_values_at_once)
{
    struct stage_run run;
    leave_out_where_all_is_slow("volume_past_2_to_the_31_values_at_once");
    struct ts_image image = marked_volume();
    cr_assert_eq(ts_test_run(&run, &invert_stage, "", &image, NULL, 0, 2), TS_OK);
    for (int i = 0; i < MARKS; i++) {
        cr_assert_eq(((uint8_t *)run.out.data)[marks[i]], 254 - i);
        cr_assert_eq(((uint8_t *)run.out.data)[marks[i] ? marks[i] - 2 : 2], 255);
    }
    ts_test_run_clear(&run);
    cr_assert_eq(ts_test_run(&run, &histogram_stage, "bins=256 range=0,256 scope=volume", &image,
                             NULL, 0, 2),
                 TS_OK);
    cr_assert_eq(ts_test_table_at(&run, "counts", 0), (double)((int64_t)SLICES * SLICE - MARKS));
    for (int i = 0; i < MARKS; i++)
        cr_assert_eq(ts_test_table_at(&run, "counts", i + 1), 1);
    ts_test_run_clear(&run);
    free(image.data);
}

/* Every view sees one, so that the integral over all directions is pi in each of 2^29 pixels. */
TEST_ON_BOTH(limits, reconstruction_past_2_to_the_31_bytes_at_once)
{
    enum { NZ = 8, N = 8193, FEW = 4, DETECTORS = 33 };
    struct stage_run run;
    leave_out_where_all_is_slow("reconstruction_past_2_to_the_31_bytes_at_once");
    struct ts_image image = ts_test_image(NZ, FEW, DETECTORS, TS_F32, VALUES_CONSTANT, 1);
    ts_test_sinogram(&image);
    image.axes[2].spacing = 500;
    image.axes[2].first = -500.0 * (DETECTORS / 2);
    for (int64_t i = 0; i < NZ * FEW * DETECTORS; i++)
        ((float *)image.data)[i] = (float)(1 + i / (FEW * DETECTORS));
    cr_assert_eq(ts_test_run(&run, &fbp_stage, "filter=none rows=8193 columns=8193 pixel_size=1",
                             &image, NULL, 0, 2),
                 TS_OK);
    cr_assert_gt(ts_image_bytes(&run.out), (size_t)1 << 31);
    const float *values = run.out.data;
    for (int64_t z = 0; z < NZ; z++)
        for (int64_t i = 0; i < (int64_t)N * N; i += 1009)
            cr_assert(fabs((double)values[z * N * N + i] / (double)(z + 1) - M_PI) < 1e-5,
                      "slice %lld, pixel %lld: %g", (long long)z, (long long)i,
                      (double)values[z * N * N + i]);
    ts_test_run_clear(&run);
    free(image.data);
}

/* 2^62 values that each would be a float. */
Test(limits, an_image_that_cannot_be_addressed_is_refused)
{
    struct ts_image in = ts_test_image(1, 4, 4, TS_U8, VALUES_RANDOM, 1);
    struct param_set set;
    struct stage_context context;
    struct ts_diag *diag = ts_diag_create();
    in.axes[0].n = INT64_C(1) << 42;
    ts_test_params(ts_stage_find("radon"), "views=1024 detectors=1024", &set);
    cr_assert_eq(ts_stage_prepare(ts_stage_find("radon"), &set, &in, NULL, 1, NULL, diag, &context),
                 TS_BAD_CHAIN);
    ts_test_expect(diag, "too-large", "more bytes than a number can count");
    ts_test_params_clear(&set);
    ts_diag_destroy(diag);
    free(in.data);
}
