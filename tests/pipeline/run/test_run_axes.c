/* SPDX-License-Identifier: Apache-2.0
 *
 * Axes that a stage finds while the chain runs: later stages, the file and its provenance have the
 * numbers found, for every size of slabs; what does not fit the plan ends the run.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/output_fixture.h"
#include "tests/support/local_stages.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/stage_run.h"

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

TestSuite(run_axes, .init = begin, .fini = end);

static struct ts_plan *make_plan(struct memory_chain *memory)
{
    const struct ts_options options = {
        .device = ts_test_device ? "cuda" : "cpu", .threads = 2, .force = true};
    memory->chain.output.path = output;
    struct ts_plan *plan = ts_test_plan(memory, &options);
    cr_assert(plan);
    return plan;
}

/* The position of index 0 in the image's own frame. */
static double own_first(hid_t file, const char *axis)
{
    double first;
    const hid_t attribute = H5Aopen_by_name(file, axis, "first", H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(attribute >= 0 && H5Aread(attribute, H5T_NATIVE_DOUBLE, &first) >= 0, "no %s", axis);
    H5Aclose(attribute);
    return first;
}

/* The first number of a dataset. */
static double first_of(hid_t file, const char *path)
{
    const hid_t data = H5Dopen2(file, path, H5P_DEFAULT),
                space = data < 0 ? -1 : H5Dget_space(data);
    cr_assert(space >= 0, "no %s", path);
    const size_t n = (size_t)H5Sget_simple_extent_npoints(space);
    double *values = malloc(n * sizeof *values);
    cr_assert(H5Dread(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    const double first = values[0];
    free(values);
    H5Sclose(space);
    H5Dclose(data);
    return first;
}

static void expect_values(hid_t file, const char *path, const uint16_t *expected, size_t n)
{
    const hid_t data = H5Dopen2(file, path, H5P_DEFAULT);
    uint16_t *written = malloc(n * sizeof *written);
    cr_assert(H5Dread(data, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) >= 0,
              "no %s", path);
    cr_assert(!memcmp(written, expected, n * sizeof *written), "%s has other values", path);
    H5Dclose(data);
    free(written);
}

static double found_in(const uint16_t *values, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    return 1 + (double)(sum % 97);
}

/* raw | find | save | add_first | find | add_first, worked out here once more. */
static void check_file(const struct ts_image *image)
{
    const size_t n = ts_image_count(image);
    const hid_t file = H5Fopen(output, H5F_ACC_RDONLY, H5P_DEFAULT);
    uint16_t *values = malloc(n * sizeof *values);
    memcpy(values, image->data, n * sizeof *values);
    expect_values(file, "/entry/raw/data", values, n);
    expect_values(file, "/entry/moved/data", values, n);
    cr_assert_eq(own_first(file, "/entry/raw/x"), 0);
    double first = found_in(values, n);
    cr_assert_eq(first_of(file, "/entry/process_2_find/tables/moved"), first);
    cr_assert_eq(own_first(file, "/entry/moved/x"), first);
    cr_assert_eq(first_of(file, "/entry/process_4_add_first/parameters/first"), first);
    for (size_t i = 0; i < n; i++)
        values[i] = (uint16_t)(values[i] + (uint16_t)(10 * first));
    first += 0.5 + found_in(values, n);
    cr_assert_eq(first_of(file, "/entry/process_6_add_first/parameters/first"), first);
    cr_assert_eq(own_first(file, "/entry/data/x"), first + 0.5);
    for (size_t i = 0; i < n; i++)
        values[i] = (uint16_t)(values[i] + (uint16_t)(10 * first));
    expect_values(file, "/entry/data/data", values, n);
    free(values);
    H5Fclose(file);
}

static void add_chain(struct memory_chain *memory, const struct ts_image *image)
{
    memory_chain_init(memory, image, NULL, output);
    memory_chain_add(memory, "save", "raw");
    memory_chain_add_stage(memory, &find_stage, "", NULL);
    memory_chain_add(memory, "save", "moved");
    memory_chain_add_stage(memory, &add_first_stage, "", NULL);
    memory_chain_add_stage(memory, &find_stage, "", NULL);
    memory_chain_add_stage(memory, &add_first_stage, "", NULL);
}

TEST_ON_BOTH(run_axes, two_stages_of_a_chain_find_them)
{
    enum { STEPS = 5 };
    struct ts_image image = ts_test_image(11, 30, 23, TS_U16, VALUES_RANDOM, 21);
    struct memory_chain memory;
    unsigned char *first = NULL;
    size_t first_size = 0;
    add_chain(&memory, &image);
    struct ts_plan *plan = make_plan(&memory);
    const int64_t least = ts_test_plan_least(plan);
    cr_assert(ts_test_plan_fits(plan, (int64_t)1 << 32));
    const int64_t most = plan->cuda ? plan->gpu_bytes : plan->memory_bytes;
    cr_assert_eq(plan->n_passes, 3);
    for (int64_t step = STEPS; step >= 0; step--) {
        cr_assert(ts_test_plan_fits(plan, least + (most - least) * step / STEPS));
        ts_test_plan_run(plan);
        check_file(&image);
        ts_test_same_file(output, &first, &first_size, "slabs");
    }
    cr_assert_leq(plan->slab_slices, 2);
    free(first);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

/* What a run finds is the run's own. */
TEST_ON_BOTH(run_axes, a_run_leaves_the_plan_as_it_is)
{
    struct ts_image image = ts_test_image(11, 30, 23, TS_U16, VALUES_RANDOM, 21);
    struct memory_chain memory;
    unsigned char *first = NULL;
    size_t first_size = 0;
    add_chain(&memory, &image);
    struct ts_plan *plan = make_plan(&memory);
    const struct ts_plan before = *plan;
    const size_t bytes = (size_t)plan->n_nodes * sizeof *plan->nodes;
    struct plan_node *nodes = malloc(bytes);
    cr_assert_not_null(nodes);
    memcpy(nodes, plan->nodes, bytes);
    for (int run = 0; run < 2; run++) {
        ts_test_plan_run(plan);
        check_file(&image);
        ts_test_same_file(output, &first, &first_size, "runs of one plan");
        cr_assert(!memcmp(&before, plan, sizeof before) && !memcmp(nodes, plan->nodes, bytes));
    }
    free(nodes);
    free(first);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

Test(run_axes, the_plan_says_what_is_found_at_run_time)
{
    struct ts_image image = ts_test_image(3, 8, 7, TS_U16, VALUES_RANDOM, 22);
    struct memory_chain memory;
    char *text = NULL;
    size_t length;
    add_chain(&memory, &image);
    struct ts_plan *plan = make_plan(&memory);
    for (int json = 0; json < 2; json++) {
        FILE *stream = open_memstream(&text, &length);
        ts_plan_print(plan, stream, json);
        fclose(stream);
        cr_assert(strstr(text, json ? "\"axes_found_before_pass\": 2"
                                    : " axes found at run time, before pass 2"),
                  "%s", text);
        cr_assert(
            strstr(text,
                   json ? "\"axes_found_before_pass\": 3"
                        : " axes, and what is derived from them, found at run time, before pass 3"),
            "%s", text);
        free(text);
    }
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

TEST_ON_BOTH(run_axes, what_does_not_fit_ends_the_run)
{
    static const struct {
        const char *find, *add, *code;
        enum ts_status status;
    } rows[] = {{"", "most=0.5", "first-too-large", TS_BAD_CHAIN},
                {"fault=true", "", "found-shape", TS_RUN_FAILED},
                {"", "fault=true", "found-sizes", TS_RUN_FAILED}};
    struct ts_image image = ts_test_image(5, 8, 7, TS_U16, VALUES_RANDOM, 23);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct memory_chain memory;
        memory_chain_init(&memory, &image, NULL, output);
        memory_chain_add_stage(&memory, &find_stage, rows[i].find, NULL);
        memory_chain_add_stage(&memory, &add_first_stage, rows[i].add, NULL);
        struct ts_plan *plan = make_plan(&memory);
        cr_assert_eq(ts_plan_run(plan, diag), rows[i].status);
        cr_assert_eq(ts_diag_count(diag), 1);
        cr_assert_str_eq(ts_diag_get(diag, 0)->code, rows[i].code);
        cr_assert_eq(ts_test_count_files(folder, NULL), 0, "a failed run left a file");
        ts_diag_destroy(diag);
        ts_plan_destroy(plan);
        memory_chain_clear(&memory);
    }
    free(image.data);
}

Test(run_axes, what_the_chain_gives_is_known_at_plan_time)
{
    struct ts_image image = ts_test_image(5, 8, 7, TS_U16, VALUES_RANDOM, 24);
    struct memory_chain memory;
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add_stage(&memory, &find_stage, "given=5", NULL);
    memory_chain_add_stage(&memory, &add_first_stage, "", NULL);
    struct ts_plan *plan = make_plan(&memory);
    cr_assert_eq(plan->n_passes, 1);
    cr_assert_eq(plan->nodes[2].out.axes[2].first, 5.5);
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

TEST_ON_BOTH(run_axes, a_stage_alone_finds_them)
{
    struct ts_image image = ts_test_image(5, 8, 7, TS_U16, VALUES_RANDOM, 25);
    for (int64_t slab = 0; slab < 3; slab++) {
        struct stage_run run;
        cr_assert_eq(ts_test_run(&run, &find_stage, "", &image, NULL, slab, 2), TS_OK);
        cr_assert_eq(run.out.axes[2].first, found_in(image.data, ts_image_count(&image)));
        ts_test_run_clear(&run);
    }
    free(image.data);
}
