/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs that the file holds as halves: their bits are those of the 32-bit output, rounded, for
 * every slab, budget, number of threads, compression and device; values past the range of halves
 * leave no file.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/half.h"
#include "tests/files/hdf5_compare.h"
#include "tests/files/output_fixture.h"
#include "tests/support/local_stages.h"
#include "tests/support/plan_run.h"
#include "tests/support/program.h"
#include "tests/support/stage_run.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

enum { NZ = 23, NY = 31, NX = 37, N = NZ * NY * NX };

static char folder[256], whole[300], halves[300], compared[300];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(whole, sizeof whole, "%s/whole.h5", folder);
    snprintf(halves, sizeof halves, "%s/halves.h5", folder);
    snprintf(compared, sizeof compared, "%s/compared.h5", folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(run_half, .init = begin, .fini = end);

/* Values of every magnitude that a half has and of smaller ones, NaN and infinities. The caller
 * frees the data. */
static struct ts_image make_image(void)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_F32, VALUES_RANDOM, 3);
    float *values = image.data;
    uint64_t seed = 5;
    for (size_t i = 0; i < N; i++)
        values[i] =
            (float)ldexp(ts_random_unit(&seed) - 0.5, (int)(ts_random_next(&seed) % 47) - 30);
    values[17] = NAN;
    values[N / 2] = INFINITY;
    values[N - 1] = -INFINITY;
    return image;
}

static struct ts_plan *make_plan(struct memory_chain *memory, int32_t dtype, int32_t compression,
                                 const char *device, const char *output)
{
    const struct ts_options options = {.device = device, .threads = 3, .force = true};
    memory->chain.output.path = output;
    memory->chain.output.dtype = dtype;
    memory->chain.output.compression = compression;
    struct ts_plan *plan = ts_test_plan(memory, &options);
    cr_assert(plan, "no plan for %s", device);
    return plan;
}

/* Reads a dataset of 16-bit floats as their bits, or another as floats. */
static void read_values(const char *file, const char *name, bool bits, void *values)
{
    const hid_t opened = H5Fopen(file, H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(opened, name, H5P_DEFAULT);
    const hid_t type = H5Dget_type(data);
    cr_assert_eq(H5Tget_class(type), H5T_FLOAT);
    cr_assert_eq(H5Tget_size(type), bits ? 2 : 4, "%s:%s", file, name);
    cr_assert(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Tclose(type);
    H5Dclose(data);
    H5Fclose(opened);
}

/* The file of halves against that of 32-bit floats, of the same chain. */
static void expect_rounded(const char *name)
{
    static float values[N], read[N];
    static uint16_t expected[N], found[N];
    read_values(whole, name, false, values);
    read_values(halves, name, true, found);
    cr_assert_eq(ts_half_round(expected, values, N), 0);
    cr_assert_eq(memcmp(found, expected, sizeof found), 0, "%s: other halves", name);
    const hid_t file = H5Fopen(halves, H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, name, H5P_DEFAULT);
    cr_assert(H5Aexists(data, "rounding") > 0);
    cr_assert(H5Dread(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
    for (size_t i = 0; i < N; i++)
        cr_assert(read[i] == ts_half_value(found[i]) || isnan(read[i]), "libhdf5 reads %g",
                  (double)read[i]);
    H5Dclose(data);
    H5Fclose(file);
}

/* Runs with budgets for everything, for a slice and between, pinned pieces whole and slice by
 * slice. Every file must have the same bytes. */
static void run_with_budgets(struct ts_plan *plan)
{
    unsigned char *first = NULL;
    size_t first_size = 0;
    const int64_t most = plan->cuda ? plan->gpu_bytes : plan->memory_bytes,
                  least = ts_test_plan_least(plan);
    for (int64_t step = 3; step >= 0; step--) {
        cr_assert(ts_test_plan_fits(plan, least + (most - least) * step / 3));
        plan->piece_bytes = step % 2 ? 1 : PLAN_PIECE_BYTES;
        ts_test_plan_run(plan);
        ts_test_same_file(halves, &first, &first_size, "slabs");
    }
    free(first);
}

static void add_stages(struct memory_chain *memory, const struct ts_image *image)
{
    memory_chain_init(memory, image, NULL, NULL);
    memory_chain_add_stage(memory, &shift_stage, "by=2 border=wrap", NULL);
    memory_chain_add(memory, "save", "moved");
    memory_chain_add_stage(memory, &shift_stage, "by=-1 border=reflect", NULL);
}

static void write_file(struct memory_chain *memory, int32_t dtype, const char *device,
                       const char *output)
{
    struct ts_plan *plan = make_plan(memory, dtype, CHAIN_DEFLATE, device, output);
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
}

TEST_ON_BOTH(run_half, holds_the_rounded_values)
{
    const char *device = ts_test_device ? "cuda" : "cpu";
    struct ts_image image = make_image();
    struct memory_chain memory;
    add_stages(&memory, &image);
    write_file(&memory, CHAIN_OWN, device, whole);
    write_file(&memory, CHAIN_F16, "cpu", compared);
    for (int32_t compression = CHAIN_DEFLATE; compression <= CHAIN_SMALL; compression++) {
        struct ts_plan *plan = make_plan(&memory, CHAIN_F16, compression, device, halves);
        cr_assert_eq(plan->output_bytes, 2 * 2 * N);
        run_with_budgets(plan);
        ts_plan_destroy(plan);
        expect_rounded("/entry/moved/data");
        expect_rounded("/entry/data/data");
        cr_assert_gt(ts_test_compare_hdf5(compared, halves, 0), 2 * N);
    }
    memory_chain_clear(&memory);
    free(image.data);
}

/* Kept images, which lie on the device once, leave it as halves as well. */
TEST_ON_BOTH(run_half, other_types_and_kept_images)
{
    const char *device = ts_test_device ? "cuda" : "cpu";
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_U16, VALUES_RANDOM, 4);
    struct memory_chain memory;
    memory_chain_init(&memory, &image, NULL, NULL);
    memory_chain_add(&memory, "save", "raw");
    memory_chain_add(&memory, "rescale method=z-score", NULL);
    memory_chain_add(&memory, "save", "scaled");
    memory_chain_add(&memory, "rescale", NULL);
    write_file(&memory, CHAIN_OWN, device, whole);
    write_file(&memory, CHAIN_F16, device, halves);
    expect_rounded("/entry/scaled/data");
    expect_rounded("/entry/data/data");
    const hid_t file = H5Fopen(halves, H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/raw/data", H5P_DEFAULT), type = H5Dget_type(data);
    cr_assert_eq(H5Tget_class(type), H5T_INTEGER);
    cr_assert(H5Aexists(data, "rounding") == 0);
    H5Tclose(type);
    H5Dclose(data);
    H5Fclose(file);
    memory_chain_clear(&memory);
    free(image.data);
}

TEST_ON_BOTH(run_half, values_past_the_range_leave_no_file)
{
    struct ts_image image = make_image();
    struct memory_chain memory;
    ((float *)image.data)[N / 3] = 65520;
    ((float *)image.data)[N / 5] = -1.25e6f;
    add_stages(&memory, &image);
    for (int32_t compression = CHAIN_DEFLATE; compression <= CHAIN_SMALL; compression++) {
        struct ts_plan *plan =
            make_plan(&memory, CHAIN_F16, compression, ts_test_device ? "cuda" : "cpu", halves);
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_plan_run(plan, diag), TS_RUN_FAILED);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_assert(ts_test_has_code(diag, "output-range"));
        cr_assert(ts_test_has_text(diag,
                                   "/entry/moved/data has values of a magnitude up to 1250000, and "
                                   "16-bit floats (dtype: f16) end at 65504; nothing was written"));
        cr_assert_eq(ts_test_count_files(folder, NULL), 0);
        ts_diag_destroy(diag);
        ts_plan_destroy(plan);
    }
    memory_chain_clear(&memory);
    free(image.data);
}
