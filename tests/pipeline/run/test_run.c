/* SPDX-License-Identifier: Apache-2.0
 *
 * Plan and run over images in memory: the same bytes for every memory budget and number of threads,
 * the same values as the stages applied one after the other to whole volumes, and nothing left
 * behind by a run that ends early.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/sandbox/sandbox.h"
#include "tests/support/folders.h"
#include "tests/support/local_stages.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"

static char folder[256], output[300];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
}

static int count_files(void)
{
    int n = 0;
    DIR *stream = opendir(folder);
    for (struct dirent *entry; (entry = readdir(stream));)
        n += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(stream);
    return n;
}

static void remove_folder(void)
{
    unlink(output);
    cr_assert_eq(rmdir(folder), 0, "%s holds more than the output", folder);
}

static struct ts_plan *make_plan(const struct memory_chain *memory, int64_t budget, int threads)
{
    const struct ts_options options = {
        .device = "cpu", .memory_bytes = budget, .threads = threads, .force = true};
    return ts_test_plan(memory, &options);
}

/* A chain with all there is: halos that wrap, a pass-through table, reductions that feed their map
 * (over the volume, in rounds, and per slice), a kept image and a change of axes. */
static void add_everything(struct memory_chain *memory)
{
    memory_chain_add(memory, "box radius=2 dimensions=3d border=wrap", NULL);
    memory_chain_add(memory, "statistics", NULL);
    memory_chain_add(memory, "rescale method=z-score", NULL);
    memory_chain_add(memory, "box radius=1 dimensions=3d border=reflect", "smooth");
    memory_chain_add(memory, "equalize", NULL);
    memory_chain_add(memory, "save", "equalized");
    memory_chain_add(memory, "rescale method=percentiles scope=slice", NULL);
    memory_chain_add(memory, "radon views=7", NULL);
}

static int64_t least_budget(const struct memory_chain *memory)
{
    struct ts_plan *plan = make_plan(memory, 0, 1);
    const int64_t least = ts_test_plan_least(plan);
    ts_plan_destroy(plan);
    return least;
}

/* Runs with memory for everything, in one slab, and with the least: the same bytes. */
static void check_least(const struct memory_chain *memory, int64_t slabs_of_least)
{
    const int64_t budgets[] = {0, least_budget(memory)}, slabs[] = {1, slabs_of_least};
    unsigned char *first = NULL;
    size_t first_size = 0;
    for (int i = 0; i < 2; i++) {
        struct ts_plan *plan = make_plan(memory, budgets[i], 1);
        cr_assert_eq(ts_plan_slab_count(plan), slabs[i]);
        ts_test_plan_run(plan);
        ts_test_same_file(output, &first, &first_size, "slabs");
        ts_plan_destroy(plan);
    }
    free(first);
}

Test(run, same_bytes_for_every_budget_and_thread_count)
{
    static const int64_t wanted[] = {1, 2, 7, 21};
    struct ts_image image = ts_test_image(21, 14, 19, TS_I16, VALUES_CT, 5);
    struct memory_chain memory;
    bool seen[4] = {false};
    unsigned char *first = NULL;
    size_t first_size = 0;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    add_everything(&memory);
    const int64_t least = least_budget(&memory);
    struct ts_plan *roomy = make_plan(&memory, 0, 1);
    cr_assert(roomy);
    const int64_t most = roomy->memory_bytes;
    cr_assert_gt(most, least);
    ts_plan_destroy(roomy);
    for (int64_t step = 0; step <= 67; step++) {
        /* The last three with memory enough, on more threads. */
        struct ts_plan *plan = step <= 64
                                   ? make_plan(&memory, least + (most - least) * step / 64, 1)
                                   : make_plan(&memory, 0, (int)step - 63);
        const int64_t slabs = ts_plan_slab_count(plan);
        bool run = step > 64;
        for (int i = 0; i < 4; i++) {
            run |= slabs == wanted[i] && !seen[i];
            seen[i] |= slabs == wanted[i];
        }
        if (run) {
            cr_assert_leq(plan->memory_bytes, plan->budget_bytes);
            ts_test_plan_run(plan);
            ts_test_same_file(output, &first, &first_size, "slabs and threads");
        }
        ts_plan_destroy(plan);
    }
    for (int i = 0; i < 4; i++)
        cr_expect(seen[i], "no budget cut the volume into %lld slabs", (long long)wanted[i]);
    free(first);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

Test(run, a_source_that_fails_leaves_nothing)
{
    struct ts_image image = ts_test_image(9, 8, 7, TS_U16, VALUES_RANDOM, 6);
    make_folder();
    for (int64_t slice = 0; slice < 9; slice += 4) {
        struct memory_chain memory;
        memory_chain_init(&memory, &image, NULL, output);
        memory_chain_add(&memory, "equalize", NULL);
        memory.fail_at = slice;
        struct ts_plan *plan = make_plan(&memory, 0, 2);
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_plan_run(plan, diag), TS_BAD_INPUT);
        cr_assert_eq(ts_diag_error_count(diag), 1);
        cr_assert_eq(count_files(), 0, "a failed run left a file");
        ts_diag_destroy(diag);
        ts_plan_destroy(plan);
        memory_chain_clear(&memory);
    }
    free(image.data);
    remove_folder();
}

Test(run, a_stop_ends_the_run_and_leaves_nothing)
{
    struct ts_image image = ts_test_image(9, 8, 7, TS_U16, VALUES_RANDOM, 7);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "box radius=1", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 1);
    struct ts_diag *diag = ts_diag_create();
    memory.stop_at_plan = plan;
    memory.stop_slice = 4;
    cr_assert_eq(ts_plan_run(plan, diag), TS_STOPPED);
    cr_assert_eq(count_files(), 0, "a stopped run left a file");
    ts_diag_destroy(diag);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

Test(run, an_image_kept_in_memory_is_read_once)
{
    struct ts_image image = ts_test_image(30, 8, 7, TS_U16, VALUES_RANDOM, 8);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "box radius=3 dimensions=3d", NULL);
    memory_chain_add(&memory, "equalize", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 1);
    cr_assert_eq(plan->n_passes, 2);
    ts_test_plan_run(plan);
    cr_assert_eq(memory.slices_read, 30, "%lld slices were read", (long long)memory.slices_read);
    ts_plan_destroy(plan);
    const int64_t least = least_budget(&memory);
    plan = make_plan(&memory, least, 1);
    cr_assert_eq(ts_plan_slab_count(plan), 30);
    memory.slices_read = 0;
    ts_test_plan_run(plan);
    cr_assert_gt(memory.slices_read, 60, "slice by slice, two passes with halos read more");
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

Test(run, references_are_reduced_over_their_own_volume)
{
    struct ts_image image = ts_test_image(11, 8, 7, TS_U16, VALUES_CT, 9),
                    atlas = ts_test_image(5, 12, 6, TS_U16, VALUES_RANDOM, 10);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, &atlas, output);
    memory_chain_add(&memory, "histogram bins=64 reference=atlas", NULL);
    memory_chain_add(&memory, "equalize reference=atlas", NULL);
    check_least(&memory, 11);
    memory_chain_clear(&memory);
    free(image.data);
    free(atlas.data);
    remove_folder();
}

/* A mask from another source is read slab by slab beside the image; where it is moved in z as well,
 * both have halos. */
Test(run, a_mask_from_another_source_streams_with_the_image)
{
    struct ts_image image = ts_test_image(11, 8, 7, TS_U16, VALUES_RANDOM, 11),
                    mask = ts_test_image(11, 8, 7, TS_U8, VALUES_EXTREME, 12);
    make_folder();
    for (int slices = 0; slices < 2; slices++) {
        struct memory_chain memory;
        memory_chain_init(&memory, &image, &mask, output);
        memory_chain_add_stage(&memory, &shift_stage, "by=-2 border=wrap", NULL);
        memory_chain_add_stage(&memory, &masked_stage,
                               slices ? "mask=atlas slices=true" : "mask=atlas", NULL);
        struct ts_plan *plan = make_plan(&memory, 0, 1);
        cr_assert_eq(plan->nodes[1].domain, 0, "the mask is not read beside the image");
        ts_plan_destroy(plan);
        check_least(&memory, 11);
        memory_chain_clear(&memory);
    }
    free(image.data);
    free(mask.data);
    remove_folder();
}

/* The value that the file should hold: counted here once more. */
Test(run, a_mask_counts_where_it_should)
{
    struct ts_image image = ts_test_image(5, 4, 3, TS_U16, VALUES_RANDOM, 13),
                    mask = ts_test_image(5, 4, 3, TS_U8, VALUES_EXTREME, 14);
    struct memory_chain memory;
    uint64_t sum = 0;
    for (size_t i = 0; i < ts_image_count(&image); i++)
        sum += ((uint8_t *)mask.data)[i] ? ((uint16_t *)image.data)[i] : 0;
    make_folder();
    memory_chain_init(&memory, &image, &mask, output);
    memory_chain_add_stage(&memory, &masked_stage, "mask=atlas", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 2);
    ts_test_plan_run(plan);
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/process_1_masked/tables/sum", H5P_DEFAULT);
    uint64_t written = 0;
    cr_assert(H5Dread(data, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &written) >= 0);
    cr_assert_eq(written, sum);
    H5Dclose(data);
    H5Fclose(file);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    free(mask.data);
    remove_folder();
}

/* ---- references that stream with the input --------------------------------------------------- */

static uint16_t added(const struct ts_image *image, const struct ts_image *rows, int64_t z,
                      int64_t z_rows, size_t i)
{
    const int64_t nx = image->axes[2].n;
    const uint16_t *values = ts_slice_data(rows, z_rows);
    uint16_t sum = ((const uint16_t *)ts_slice_data(image, z))[i];
    for (int64_t row = 0; row < rows->axes[1].n; row++)
        sum = (uint16_t)(sum + values[row * nx + (int64_t)i % nx]);
    return sum;
}

/* The map writes these tables for each slice, beside the image. */
static void check_map_tables(const struct ts_image *image, const struct ts_image *rows,
                             const uint16_t *written)
{
    const int64_t nz = image->axes[0].n, nx = image->axes[2].n;
    uint64_t *sums = malloc((size_t)(nz * nx) * sizeof *sums);
    double *first = malloc((size_t)nz * sizeof *first);
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT),
                group = H5Gopen2(file, "/entry/process_2_add_rows/tables", H5P_DEFAULT),
                data = H5Dopen2(group, "sums", H5P_DEFAULT),
                other = H5Dopen2(group, "first", H5P_DEFAULT);
    cr_assert(H5Dread(data, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, sums) >= 0);
    cr_assert(H5Dread(other, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, first) >= 0);
    for (int64_t z = 0; z < nz; z++) {
        const uint16_t *row = ts_slice_data(rows, (z + 1) % nz);
        for (int64_t x = 0; x < nx; x++) {
            uint16_t sum = 0;
            for (int64_t r = 0; r < rows->axes[1].n; r++)
                sum = (uint16_t)(sum + row[r * nx + x]);
            cr_assert_eq(sums[z * nx + x], sum, "sums of slice %lld", (long long)z);
        }
        cr_assert_eq(first[z], written[(size_t)z * ts_slice_count(image)], "first of slice %lld",
                     (long long)z);
    }
    H5Dclose(data);
    H5Dclose(other);
    H5Gclose(group);
    H5Fclose(file);
    free(sums);
    free(first);
}

/* input + rows of the slice 2 before, of rows that were moved by 1 (wrapped). */
static void check_added(const struct ts_image *image, const struct ts_image *rows,
                        int64_t *slices_read)
{
    const int64_t nz = image->axes[0].n;
    uint16_t *written = malloc(ts_image_bytes(image));
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT),
                data = H5Dopen2(file, "/entry/added/data", H5P_DEFAULT);
    cr_assert(H5Dread(data, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0);
    for (int64_t z = 0; z < nz; z++)
        for (size_t i = 0; i < ts_slice_count(image); i++)
            cr_assert_eq(written[(size_t)z * ts_slice_count(image) + i],
                         added(image, rows, z < 2 ? 0 : z - 2, (z + 1) % nz, i), "slice %lld",
                         (long long)z);
    H5Dclose(data);
    H5Fclose(file);
    check_map_tables(image, rows, written);
    free(written);
    *slices_read = 0;
}

Test(run, a_reference_of_another_height_reaches_the_map)
{
    struct ts_image image = ts_test_image(9, 8, 7, TS_U16, VALUES_RANDOM, 15),
                    rows = ts_test_image(9, 3, 7, TS_U16, VALUES_RANDOM, 16);
    struct memory_chain memory;
    unsigned char *first = NULL;
    size_t first_size = 0;
    bool kept = false, again = false;
    make_folder();
    memory_chain_init(&memory, &image, &rows, output);
    memory_chain_add_stage(&memory, &shift_stage, "by=1 border=wrap", "moved");
    memory.stages[0].input_node = 1;
    memory_chain_add_stage(&memory, &add_rows_stage, "rows=moved by=-2", "added");
    memory.stages[1].input_node = 0;
    memory_chain_add(&memory, "save", "added");
    memory_chain_add(&memory, "equalize", NULL);
    const int64_t least = least_budget(&memory);
    struct ts_plan *plan = make_plan(&memory, 0, 1);
    const int64_t most = plan->memory_bytes;
    ts_plan_destroy(plan);
    for (int64_t step = 0; step <= 8; step++) {
        plan = make_plan(&memory, least + (most - least) * step / 8, 1 + (int)step % 3);
        if (!plan)
            continue; /* more threads take more memory */
        for (int32_t i = 0; i < plan->n_nodes; i++)
            kept |= plan->nodes[i].keep;
        cr_assert_eq(plan->nodes[1].domain, 0, "the rows are not read beside the image");
        ts_test_plan_run(plan);
        again |= memory.slices_read > 18;
        check_added(&image, &rows, &memory.slices_read);
        ts_test_same_file(output, &first, &first_size, "slabs");
        ts_plan_destroy(plan);
    }
    cr_assert(kept && again, "kept %d, read again %d", kept, again);
    free(first);
    memory_chain_clear(&memory);
    free(image.data);
    free(rows.data);
    remove_folder();
}

/* The framework asks for as many slices, the stage for what else it needs. */
Test(run, a_reference_that_streams_must_have_the_slices_of_the_image)
{
    static const struct {
        int64_t nz, ny, nx;
        const struct stage *stage;
        const char *parameters, *code;
    } rows[] = {{8, 8, 7, &add_rows_stage, "rows=atlas", "reference-slices"},
                {9, 8, 6, &add_rows_stage, "rows=atlas", "columns"},
                {10, 8, 7, &masked_stage, "mask=atlas", "reference-shape"},
                {9, 4, 7, &masked_stage, "mask=atlas", "reference-shape"}};
    struct ts_image image = ts_test_image(9, 8, 7, TS_U16, VALUES_RANDOM, 17);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_image other =
            ts_test_image(rows[i].nz, rows[i].ny, rows[i].nx, TS_U16, VALUES_RANDOM, 18);
        struct ts_diag *diag = ts_diag_create();
        const struct ts_options options = {.device = "cpu"};
        struct memory_chain memory;
        struct ts_plan *plan;
        memory_chain_init(&memory, &image, &other, "out.h5");
        memory_chain_add_stage(&memory, rows[i].stage, rows[i].parameters, NULL);
        cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_BAD_CHAIN);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, rows[i].code);
        ts_diag_destroy(diag);
        memory_chain_clear(&memory);
        free(other.data);
    }
    free(image.data);
}

/* A plan reports what a run would report about the place of its output; refusing it is left to the
 * run. */
/* In a build without CUDA code the reason stands beside that. */
Test(run, a_stage_of_the_cpu_alone_is_refused_elsewhere_with_its_reason)
{
    struct ts_image image = ts_test_image(2, 3, 4, TS_U16, VALUES_RANDOM, 1);
    struct ts_diag *diag = ts_diag_create();
    struct ts_options options = {.device = "cuda", .threads = 1};
    struct memory_chain memory;
    struct ts_plan *plan;
    memory_chain_init(&memory, &image, NULL, "out.h5");
    memory_chain_add_stage(&memory, &cpu_shift_stage, "by=1", NULL);
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_BAD_CHAIN);
    const struct ts_diag_record *last = ts_diag_get(diag, ts_diag_count(diag) - 1);
    cr_assert_str_eq(last->code, "stage-device");
    cr_assert_str_eq(last->message, "has no CUDA code: its kernel is not written yet");
    cr_assert_str_eq(last->hint, ts_sandbox_began() ? "--device cpu" : "options.device = \"cpu\"");
    ts_diag_clear(diag);
    options.device = "auto";
    cr_assert_eq(ts_plan_create(&memory.chain, &options, &plan, diag), TS_OK);
    cr_assert_str_eq(plan->device, "cpu");
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    ts_diag_destroy(diag);
    free(image.data);
}

Test(run, a_plan_warns_of_too_little_space)
{
    struct ts_image image = ts_test_image(4, 8, 8, TS_U16, VALUES_RANDOM, 6);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "invert", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 1);
    struct ts_diag *diag = ts_diag_create();
    ts_plan_warn_output(plan, diag);
    cr_assert_eq(ts_diag_count(diag), 0);
    plan->output_bytes = (int64_t)1 << 60;
    ts_plan_warn_output(plan, diag);
    cr_assert_eq(ts_diag_count(diag), 1);
    cr_assert_str_eq(ts_diag_get(diag, 0)->code, "output-space");
    cr_assert_eq(ts_diag_status(diag), TS_OK);
    ts_diag_destroy(diag);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}
