/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain may need to know its pixels before it is planned: the box of `crop` is found by a run of
 * the stages before it, becomes part of the chain, and the recorded chain needs no search.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/output_fixture.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

enum { NZ = 9, NY = 13, NX = 17 };
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

TestSuite(search, .init = begin, .fini = end);

static struct ts_options make_options(void)
{
    return (struct ts_options){
        .device = ts_test_device ? "cuda" : "cpu", .threads = 2, .force = true};
}

/* Air with tissue in slices 3 to 5, rows 4 to 8 and columns 6 to 7. */
static struct ts_image make_image(void)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CONSTANT, 3);
    for (size_t i = 0; i < ts_image_count(&image); i++) {
        const size_t z = i / (NY * NX), y = i / NX % NY, x = i % NX;
        const bool inside = z >= 3 && z < 6 && y >= 4 && y < 9 && x >= 6 && x < 8;
        ((int16_t *)image.data)[i] = (int16_t)(inside ? 40 : -1000 + (int)x);
    }
    image.quantity = TS_HU;
    image.unit = "HU";
    return image;
}

static void make_chain(struct memory_chain *memory, const struct ts_image *image, const char *crop)
{
    memory_chain_init(memory, image, NULL, output);
    memory->chain.arena = ts_arena_create();
    if (strstr(crop, "body"))
        memory_chain_add(memory, "threshold above=-500", "body");
    memory_chain_add(memory, "invert range=0,1", NULL);
    memory->stages[memory->chain.n_stages - 1].input_node = 0;
    memory_chain_add(memory, "invert range=0,1", NULL);
    memory_chain_add(memory, crop, NULL);
}

static struct param_set *crop_of(struct memory_chain *memory)
{
    return &memory->stages[memory->chain.n_stages - 1].set;
}

/* The numbers that were found lie in the arena, and are not the test's to free. */
static void clear_chain(struct memory_chain *memory, uint32_t given)
{
    crop_of(memory)->given = given;
    memory_chain_clear(memory);
    ts_arena_destroy(memory->chain.arena);
}

/* Runs the chain, and expects slices [z, z + nz), and so on, of the image. */
static void expect_crop(const char *crop, const int64_t first[3], const int64_t n[3])
{
    struct ts_image image = make_image();
    struct memory_chain memory;
    struct ts_diag *diag = ts_diag_create();
    const struct ts_options options = make_options();
    size_t count;
    make_chain(&memory, &image, crop);
    const uint32_t given = crop_of(&memory)->given;
    if (ts_chain_search(&memory.chain, &options, diag) != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(ts_diag_status(diag), TS_OK, "%s", crop);
    const int64_t read = memory.slices_read;
    cr_assert_eq(ts_chain_search(&memory.chain, &options, diag), TS_OK);
    cr_assert_eq(memory.slices_read, read, "what was found is not searched for again");
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_assert(plan);
    ts_test_plan_run(plan);
    for (int axis = 0; axis < 3; axis++)
        cr_assert_eq(plan->nodes[plan->n_nodes - 1].out.axes[axis].n, n[axis], "%s: axis %d", crop,
                     axis);
    double *values = ts_test_read_hdf5_at(output, "/entry/data/data", &count);
    cr_assert_eq(count, (size_t)(n[0] * n[1] * n[2]));
    for (size_t i = 0; i < count; i++) {
        const size_t z = (size_t)first[0] + i / (size_t)(n[1] * n[2]),
                     y = (size_t)first[1] + i / (size_t)n[2] % (size_t)n[1],
                     x = (size_t)first[2] + i % (size_t)n[2];
        cr_assert_eq(values[i], ((const int16_t *)image.data)[(z * NY + y) * NX + x]);
    }
    free(values);
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    clear_chain(&memory, given);
    free(image.data);
}

TEST_ON_BOTH(search, crop_finds_the_box_of_a_region)
{
    expect_crop("crop above=0", (const int64_t[]){3, 4, 6}, (const int64_t[]){3, 5, 2});
    expect_crop("crop mask=body margin=2", (const int64_t[]){1, 2, 4}, (const int64_t[]){7, 9, 6});
    expect_crop("crop above=0 margin=100", (const int64_t[]){0, 0, 0},
                (const int64_t[]){NZ, NY, NX});
    expect_crop("crop above=0 x=1,4", (const int64_t[]){3, 4, 1}, (const int64_t[]){3, 5, 3});
    /* The spacing is 2, 0.7 and 0.5 mm along z, y and x: 1.4 mm are no slice, two rows and two
     * columns. */
    expect_crop("crop mask=body above=0 margin=1.4 unit=mm", (const int64_t[]){3, 2, 4},
                (const int64_t[]){3, 9, 6});
    /* All that is needed is given, as a recorded chain has it. */
    expect_crop("crop above=0 x=1,4 y=2,3 z=0,4", (const int64_t[]){0, 2, 1},
                (const int64_t[]){4, 1, 3});
}

static void expect_refusal(const char *crop, bool search, const char *code)
{
    struct ts_image image = make_image();
    struct memory_chain memory;
    struct ts_diag *diag = ts_diag_create();
    const struct ts_options options = make_options();
    struct ts_plan *plan = NULL;
    make_chain(&memory, &image, crop);
    const uint32_t given = crop_of(&memory)->given;
    enum ts_status status = search ? ts_chain_search(&memory.chain, &options, diag) : TS_OK;
    if (status == TS_OK)
        status = ts_plan_create(&memory.chain, &options, &plan, diag);
    if (status == TS_OK)
        status = ts_plan_run(plan, diag);
    if (!ts_test_has_code(diag, code))
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_BAD_CHAIN, "%s: status %d", crop, status);
    cr_assert(ts_test_has_code(diag, code), "%s: not %s", crop, code);
    ts_plan_destroy(plan);
    ts_diag_destroy(diag);
    clear_chain(&memory, given);
    free(image.data);
}

TEST_ON_BOTH(search, a_box_that_is_none_is_refused)
{
    expect_refusal("crop above=500", true, "crop-empty");
    expect_refusal("crop above=5 below=5", true, "range-order");
    expect_refusal("crop margin=5", true, "parameter-unused");
    expect_refusal("crop above=0 margin=0.5", true, "crop-range");
}

Test(search, a_plan_without_it_is_noted_and_not_run)
{
    expect_refusal("crop above=0", false, "found-in-pixels");
    expect_refusal("crop above=0", false, "not-searched");
}

/* Says whether the plan and the search both refuse the last stage, and name what has several
 * volumes. */
static void expect_volumes(struct memory_chain *memory, const char *message, const char *hint)
{
    const struct ts_options options = make_options();
    for (int search = 0; search < 2; search++) {
        struct ts_diag *diag = ts_diag_create();
        struct ts_plan *plan = NULL;
        const enum ts_status status = search
                                          ? ts_chain_search(&memory->chain, &options, diag)
                                          : ts_plan_create(&memory->chain, &options, &plan, diag);
        cr_assert_eq(status, TS_BAD_CHAIN);
        const struct ts_diag_record *record = ts_test_record(diag, "volumes-axes");
        cr_assert(record);
        cr_expect_str_eq(record->message, message);
        cr_expect(record->hint && !strncmp(record->hint, hint, strlen(hint)), "%s", record->hint);
        ts_diag_destroy(diag);
    }
}

Test(search, of_several_volumes_the_message_says_whose_they_are)
{
    struct ts_image image = make_image(), one = make_image();
    struct memory_chain memory;
    one.axes[0].n = NZ / 3;
    for (int i = 0; i < 3; i++) { /* the image is the input, the mask, and both */
        memory_chain_init(&memory, &image, &one, output);
        memory.chain.arena = ts_arena_create();
        memory.n_volumes = 3;
        memory_chain_add(&memory, i == 0 ? "crop mask=atlas" : "crop mask=input", NULL);
        memory.stages[0].input_node = i == 1;
        expect_volumes(
            &memory,
            i == 0
                ? "looks for one box, and its image has 3 volumes, each of which may have another"
            : i == 1
                ? "looks for one box, and its mask has 3 volumes, each of which may have another"
                : "looks for one box, and its image and its mask have 3 volumes, each of which may "
                  "have another",
            "beside the path of `input`, take: N reads one volume, 0 to 2");
        clear_chain(&memory, crop_of(&memory)->given);
    }
    free(image.data);
    free(one.data);
}
