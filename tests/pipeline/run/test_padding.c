/* SPDX-License-Identifier: Apache-2.0
 *
 * A mask in whole runs: it follows its image through stages, keeps and slabs, the file holds it
 * where a pixel is invalid, and what takes padding for values is named.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/output_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum { NZ = 11, NY = 13, NX = 17, INVALID = -2000 };
static char folder[64], output[96];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(padding, .init = begin, .fini = end);

/* A CT whose pixels at every seventh place, and all of slice 4, are padding, where `any` is set. */
static struct ts_image make_image(bool any)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 3);
    const size_t slice = ts_slice_count(&image);
    for (size_t i = 0; any && i < ts_image_count(&image); i++)
        if (i % 7 == 0 || i / slice == 4)
            ((int16_t *)image.data)[i] = INVALID;
    image.masked = true;
    image.quantity = TS_HU;
    image.unit = "HU";
    return image;
}

static void begin_chain(struct memory_chain *memory, const struct ts_image *image,
                        const struct ts_image *atlas)
{
    memory_chain_init(memory, image, atlas, output);
    memory->invalid = (struct invalid_range){INVALID, INVALID};
}

static struct ts_plan *make_plan(const struct memory_chain *memory, int64_t budget, int threads)
{
    const struct ts_options options = {.device = ts_test_device ? "cuda" : "cpu",
                                       .memory_bytes = ts_test_device ? 0 : budget,
                                       .gpu_memory_bytes = ts_test_device ? budget : 0,
                                       .threads = threads,
                                       .force = true};
    return ts_test_plan(memory, &options);
}

/* Reads a dataset of numbers; NULL where there is none. */
static double *read_values(const char *path, size_t *n)
{
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT);
    double *values = NULL;
    cr_assert(file >= 0);
    if (H5Lexists(file, path, H5P_DEFAULT) > 0) {
        const hid_t data = H5Dopen2(file, path, H5P_DEFAULT), space = H5Dget_space(data);
        *n = (size_t)H5Sget_simple_extent_npoints(space);
        values = malloc(*n * sizeof *values + 1);
        cr_assert(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        H5Sclose(space);
        H5Dclose(data);
    }
    H5Fclose(file);
    return values;
}

static void expect_mask(const char *path, const struct ts_image *image)
{
    size_t n = 0;
    double *mask = read_values(path, &n);
    cr_assert(mask, "the file has no %s", path);
    cr_assert_eq(n, ts_image_count(image));
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(mask[i], ((const int16_t *)image->data)[i] == INVALID, "pixel %zu of %s", i,
                     path);
    free(mask);
}

static void expect_absent(const char *path)
{
    size_t n = 0;
    cr_assert_null(read_values(path, &n), "the file has %s", path);
}

/* Reductions that feed maps, a halo that wraps, a kept image, an output of its own, and a
 * projection at the end. */
static void add_stages(struct memory_chain *memory)
{
    memory_chain_add(memory, "statistics scope=slice", NULL);
    memory_chain_add(memory, "rescale", NULL);
    memory_chain_add(memory, "equalize", NULL);
    memory_chain_add(memory, "save", "equalized");
    memory_chain_add(memory, "rescale method=percentiles scope=slice", NULL);
    memory_chain_add(memory, "invert limits=data", NULL);
}

TEST_ON_BOTH(padding, the_mask_of_an_output_is_that_of_its_input)
{
    struct ts_image image = make_image(true);
    struct memory_chain memory;
    unsigned char *first = NULL;
    size_t first_size = 0;
    begin_chain(&memory, &image, NULL);
    add_stages(&memory);
    struct ts_plan *plan = make_plan(&memory, 0, 2);
    const int64_t least = ts_test_plan_least(plan);
    ts_plan_destroy(plan);
    for (int run = 0; run < 3; run++) {
        plan = make_plan(&memory, run == 1 ? least : 0, run == 2 ? 1 : 2);
        cr_assert(plan);
        ts_test_plan_run(plan);
        if (run != 1 || !ts_test_device)
            ts_test_same_file(output, &first, &first_size, "slabs and threads");
        expect_mask("/entry/equalized/pixel_mask", &image);
        expect_mask("/entry/data/pixel_mask", &image);
        ts_plan_destroy(plan);
    }
    free(first);
    memory_chain_clear(&memory);
    free(image.data);
}

/* A crop moves the validity of pixels with their values, whatever slabs are. */
TEST_ON_BOTH(padding, a_crop_takes_the_mask_along)
{
    enum { Z = 3, Y = 2, X = 5, CZ = 6, CY = 9, CX = 11 };
    struct ts_image image = make_image(true),
                    cropped = ts_test_image(CZ, CY, CX, TS_I16, VALUES_CONSTANT, 1);
    struct memory_chain memory;
    for (size_t i = 0; i < ts_image_count(&cropped); i++) {
        const size_t z = Z + i / (CY * CX), y = Y + i / CX % CY, x = X + i % CX;
        ((int16_t *)cropped.data)[i] = ((const int16_t *)image.data)[(z * NY + y) * NX + x];
    }
    begin_chain(&memory, &image, NULL);
    memory_chain_add(&memory, "crop z=3,9 y=2,11 x=5,16", NULL);
    memory_chain_add(&memory, "statistics", NULL);
    for (int run = 0; run < 2; run++) {
        struct ts_plan *plan = make_plan(&memory, 0, 2);
        if (run)
            cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
        ts_test_plan_run(plan);
        expect_mask("/entry/data/pixel_mask", &cropped);
        ts_plan_destroy(plan);
    }
    memory_chain_clear(&memory);
    free(image.data);
    free(cropped.data);
}

/* A voxel of another grid is as valid as the sample nearest to it: of twice as many, two have one
 * sample. */
TEST_ON_BOTH(padding, another_grid_takes_the_mask_of_the_nearest_sample)
{
    static const char *const stages[] = {"resample shape=34,26,11",
                                         "resample shape=34,26,11 interpolation=cubic",
                                         "resample shape=34,26,11 interpolation=nearest"};
    struct ts_image image = make_image(true),
                    expected = ts_test_image(NZ, 2 * NY, 2 * NX, TS_I16, VALUES_CONSTANT, 1);
    for (size_t i = 0; i < ts_image_count(&expected); i++) {
        const size_t z = i / (4 * NY * NX), y = i / (2 * NX) % (2 * NY), x = i % (2 * NX);
        ((int16_t *)expected.data)[i] =
            ((const int16_t *)image.data)[(z * NY + y / 2) * NX + x / 2];
    }
    for (int s = 0; s < 3; s++) {
        struct memory_chain memory;
        begin_chain(&memory, &image, NULL);
        memory_chain_add(&memory, stages[s], NULL);
        for (int run = 0; run < 2; run++) {
            struct ts_plan *plan = make_plan(&memory, 0, 2);
            if (run)
                cr_assert(ts_test_plan_fits(plan, ts_test_plan_least(plan)));
            ts_test_plan_run(plan);
            expect_mask("/entry/data/pixel_mask", &expected);
            ts_plan_destroy(plan);
        }
        memory_chain_clear(&memory);
    }
    free(image.data);
    free(expected.data);
}

/* Beyond the edges of a masked image nothing was measured; there stands air. */
TEST_ON_BOTH(padding, what_lies_outside_is_invalid)
{
    enum { OUT_X = NX + 10 };
    struct ts_image image = make_image(true),
                    like = ts_test_image(NZ, NY, OUT_X, TS_U8, VALUES_CONSTANT, 1);
    struct memory_chain memory;
    size_t n = 0;
    for (int d = 0; d < 3; d++)
        like.origin_mm[d] -= 5 * like.direction[d] * like.axes[2].spacing;
    begin_chain(&memory, &image, &like);
    memory_chain_add(&memory, "resample like=atlas", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 2);
    ts_test_plan_run(plan);
    double *mask = read_values("/entry/data/pixel_mask", &n),
           *values = read_values("/entry/data/data", &n);
    cr_assert_eq(n, NZ * NY * OUT_X);
    for (size_t i = 0; i < n; i++) {
        const size_t x = i % OUT_X;
        const bool outside = x < 5 || x >= NX + 5;
        const int16_t from =
            outside ? -1000 : ((const int16_t *)image.data)[i / OUT_X * NX + x - 5];
        cr_assert(values[i] == from && mask[i] == (outside || from == INVALID), "pixel %zu", i);
    }
    free(mask);
    free(values);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    free(like.data);
}

/* A chain that is cut in two, with a result between the parts, gives the bytes of the whole
 * chain. */
TEST_ON_BOTH(padding, a_chain_cut_in_two_gives_the_same_bytes)
{
    struct ts_image image = make_image(true);
    double *values[2], *masks[2], *means[2];
    size_t n = 0;
    for (int cut = 0; cut < 2; cut++) {
        struct memory_chain memory;
        char text[400];
        begin_chain(&memory, &image, NULL);
        memory_chain_add(&memory, "box radius=2", NULL);
        if (!cut)
            memory_chain_add(&memory, "gaussian sigma=0.8 dimensions=3d", NULL);
        if (!cut)
            memory_chain_add(&memory, "statistics", NULL);
        struct ts_plan *plan = make_plan(&memory, 0, 2);
        ts_test_plan_run(plan);
        ts_plan_destroy(plan);
        snprintf(text, sizeof text,
                 "tomostage: 2\ninput: {result: %s}\nstages: [{gaussian: {sigma: 0.8, dimensions: "
                 "3d}}, statistics]\n"
                 "output: {hdf5: %s/cut.h5}\n",
                 output, folder);
        if (cut)
            ts_test_chain_runs(text, folder);
        snprintf(output, sizeof output, "%s/%s.h5", folder, cut ? "cut" : "out");
        values[cut] = read_values("/entry/data/data", &n);
        masks[cut] = read_values("/entry/data/pixel_mask", &n);
        means[cut] = read_values(cut ? "/entry/process_2_statistics/tables/mean"
                                     : "/entry/process_3_statistics/tables/mean",
                                 &n);
        memory_chain_clear(&memory);
    }
    n = ts_image_count(&image);
    cr_assert(masks[0] && masks[1] && !memcmp(masks[0], masks[1], n * sizeof **masks));
    cr_assert(!memcmp(values[0], values[1], n * sizeof **values));
    cr_assert(*means[0] == *means[1]);
    for (int cut = 0; cut < 2; cut++) {
        free(values[cut]);
        free(masks[cut]);
        free(means[cut]);
    }
    free(image.data);
}

/* Reads the image of a file that the folder holds back into a result of its own. */
static void read_back(const char *input, const char *name)
{
    char text[300];
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {%s}\nstages: [statistics]\noutput: {hdf5: %s.h5}\n", input,
             name);
    ts_test_chain_runs(text, folder);
    snprintf(output, sizeof output, "%s/%s.h5", folder, name);
}

/* DICOM names a stored value that stands for invalid pixels, and NIfTI has a mask beside it: read
 * again, the same pixels are invalid and the others have their values, also where they were stored
 * with a slope. */
static void check_round_trip(const char *stage, double step)
{
    struct ts_image image = make_image(true);
    struct memory_chain memory;
    char text[400];
    size_t n = 0;
    snprintf(output, sizeof output, "%s/first.h5", folder);
    begin_chain(&memory, &image, NULL);
    memory_chain_add(&memory, stage, NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 2);
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    double *values = read_values("/entry/data/data", &n),
           *mask = read_values("/entry/data/pixel_mask", &n);
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {result: first.h5}\nstages: [statistics]\n"
             "output: {dicom: ./derived, nifti: r.nii.gz, png: ./pictures, tiff: r.tif}\n");
    ts_test_chain_runs(text, folder);
    read_back("dicom: ./derived", "back");
    double *again = read_values("/entry/data/data", &n),
           *mask_again = read_values("/entry/data/pixel_mask", &n);
    cr_assert(mask && mask_again, "%s: a mask is lost", stage);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(mask_again[i], mask[i], "%s: pixel %zu", stage, i);
        cr_assert(mask[i] != 0 || fabs(again[i] - values[i]) <= step, "%s: pixel %zu is %g, not %g",
                  stage, i, again[i], values[i]);
    }
    read_back("nifti: r_mask.nii.gz", "valid");
    double *valid = read_values("/entry/data/data", &n);
    for (size_t i = 0; i < n; i++)
        cr_assert_eq(valid[i], mask[i] == 0, "%s: pixel %zu of the NIfTI mask", stage, i);
    free(values);
    free(mask);
    free(again);
    free(mask_again);
    free(valid);
    free(image.data);
}

Test(padding, other_formats_keep_the_mask)
{
    check_round_trip("statistics", 0);
    check_round_trip("convolve kernel=gaussian-3x3", 0.1);
    check_round_trip("to_attenuation water=0.0206", 1e-6);
}

/* Volumes of a series have their masks one behind the other, as they have their images. */
TEST_ON_BOTH(padding, every_volume_has_its_mask)
{
    enum { VOLUMES = 11 };
    struct ts_image image = make_image(true);
    struct memory_chain memory;
    begin_chain(&memory, &image, NULL);
    memory.n_volumes = VOLUMES;
    memory_chain_add(&memory, "rescale", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 2);
    ts_test_plan_run(plan);
    expect_mask("/entry/data/pixel_mask", &image);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

/* Runs the chain and clears it. Returns the values of its image, beside which there is no mask. */
static double *run_without_mask(struct memory_chain *memory, size_t *n)
{
    struct ts_plan *plan = make_plan(memory, 0, 2);
    ts_test_plan_run(plan);
    expect_absent("/entry/data/pixel_mask");
    double *values = read_values("/entry/data/data", n);
    ts_plan_destroy(plan);
    memory_chain_clear(memory);
    return values;
}

/* Without invalid pixels there is no mask, and the values are those of an image that is not
 * masked. */
TEST_ON_BOTH(padding, without_invalid_pixels_nothing_changes)
{
    struct ts_image image = make_image(false);
    double *values[2];
    size_t n = 0;
    for (int masked = 0; masked < 2; masked++) {
        struct memory_chain memory;
        image.masked = masked;
        begin_chain(&memory, &image, NULL);
        add_stages(&memory);
        values[masked] = run_without_mask(&memory, &n);
    }
    cr_assert(!memcmp(values[0], values[1], n * sizeof **values));
    free(values[0]);
    free(values[1]);
    free(image.data);
}

/* Rays meet air where nothing was measured. */
TEST_ON_BOTH(padding, projections_take_padding_for_air)
{
    struct ts_image image = make_image(true), air = make_image(true);
    double *values[2];
    size_t n = 0;
    for (size_t i = 0; i < ts_image_count(&air); i++)
        if (((const int16_t *)air.data)[i] == INVALID)
            ((int16_t *)air.data)[i] = -1000;
    air.masked = false;
    for (int k = 0; k < 2; k++) {
        struct memory_chain memory;
        begin_chain(&memory, k ? &air : &image, NULL);
        memory_chain_add(&memory, "radon views=9", NULL);
        values[k] = run_without_mask(&memory, &n);
    }
    cr_assert(!memcmp(values[0], values[1], n * sizeof **values));
    free(values[0]);
    free(values[1]);
    free(image.data);
    free(air.data);
}

/* A mask from the chain leaves out its zeros, beside what is invalid. */
TEST_ON_BOTH(padding, a_mask_of_the_chain_joins_that_of_the_image)
{
    struct ts_image image = make_image(true),
                    mask = ts_test_image(NZ, NY, NX, TS_U8, VALUES_RANDOM, 4);
    struct memory_chain memory;
    size_t n = 0, expected = 0;
    for (size_t i = 0; i < ts_image_count(&mask); i++) {
        ((uint8_t *)mask.data)[i] &= 1;
        expected += ((const uint8_t *)mask.data)[i] && ((const int16_t *)image.data)[i] != INVALID;
    }
    begin_chain(&memory, &image, &mask);
    memory_chain_add(&memory, "statistics mask=atlas", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 2);
    ts_test_plan_run(plan);
    double *count = read_values("/entry/process_1_statistics/tables/count", &n);
    cr_assert(count && count[0] == (double)expected, "%g values were counted, expected %zu",
              count[0], expected);
    free(count);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    free(mask.data);
}

Test(padding, stages_that_take_padding_for_values_are_named)
{
    struct ts_image image = make_image(true);
    struct memory_chain memory;
    struct ts_diag *diag = ts_diag_create();
    struct ts_plan *plan = NULL;
    const struct ts_options options = {.device = "cpu", .threads = 1};
    size_t warnings = 0;
    image.axes[1].kind = TS_AXIS_VIEW;
    image.axes[2].kind = TS_AXIS_DETECTOR;
    image.quantity = TS_COUNTS;
    image.unit = "1";
    begin_chain(&memory, &image, NULL);
    memory_chain_add(&memory, "window center=0 width=100", NULL);
    memory_chain_add(&memory, "outliers threshold=10", NULL);
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_OK);
    for (size_t i = 0; i < ts_diag_count(diag); i++)
        if (!strcmp(ts_diag_get(diag, i)->code, "padding-as-values")) {
            cr_expect_str_eq(ts_diag_get(diag, i)->stage, "outliers");
            warnings++;
        }
    cr_assert_eq(warnings, 1);
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    free(image.data);
}

/* A CT of which a fifth is padding: its mean is that of the measured pixels, whether the file holds
 * its pixels as they are or as JPEG 2000, which workers decode. */
Test(padding, a_real_ct)
{
    char text[512];
    static const char *const files[] = {"CT1_UNC", "CT1_JPH"};
    size_t n = 0;
    SKIP_WITHOUT_DATA("padding");
    for (int f = 0; f < 2; f++) {
        struct ts_diag *diag = ts_diag_create();
        snprintf(text, sizeof text,
                 "tomostage: 1\ninput: {dicom: %s/syntax/htj2k/%s, padding: exclude}\nstages: "
                 "[statistics]\n"
                 "output: {hdf5: %s}\n",
                 ts_test_data(), files[f], output);
        cr_assert_eq(ts_test_chain(text, folder, diag), TS_OK);
        const struct ts_diag_record *record = ts_test_record(diag, "padding-excluded");
        cr_assert(record && strstr(record->message, "55772") && strstr(record->message, "21.3 %"));
        double *mean = read_values("/entry/process_1_statistics/tables/mean", &n);
        cr_assert_float_eq(mean[0], -289.537898, 1e-5);
        double *mask = read_values("/entry/data/pixel_mask", &n), sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += mask[i];
        cr_assert_eq(sum, 55772);
        free(mean);
        free(mask);
        ts_diag_destroy(diag);
        cr_assert_eq(remove(output), 0);
    }
}
