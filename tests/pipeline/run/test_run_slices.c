/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of chains whose stages make slices of their own (reads() in stages/engine/stage.h): the same
 * bytes for every memory budget and number of threads, and the same values as the stages applied
 * one after the other to whole volumes.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/run/run.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_run.h"

TestSuite(run_slices);

static char folder[256], output[300];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
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

/* This is the image that the chain wrote last, gathered from the slabs on their way to the file. */
struct gathered {
    int32_t node;
    struct ts_image image;
};

static enum ts_status gather(void *user, int32_t node, const struct ts_image *slices)
{
    struct gathered *gathered = user;
    if (node == gathered->node)
        memcpy(ts_slice_data(&gathered->image, slices->z_first), slices->data,
               ts_image_bytes(slices));
    return TS_OK;
}

/* Halos before and after, a reduction that feeds its map, images kept and written on both sides of
 * a change of slices, and slices that run backwards and then across. */
static void add_stages(struct memory_chain *memory)
{
    memory_chain_add(memory, "box radius=1 dimensions=3d border=wrap", NULL);
    memory_chain_add(memory, "save", "smooth");
    memory_chain_add(memory, "reorient to=LPI", NULL);
    memory_chain_add(memory, "box radius=2 dimensions=3d border=wrap", NULL);
    memory_chain_add(memory, "crop z=3,17 x=2,15", NULL);
    memory_chain_add(memory, "save", "cut");
    memory_chain_add(memory, "equalize", NULL);
    memory_chain_add(memory, "reorient to=SAR", NULL);
    memory_chain_add(memory, "box radius=1 dimensions=3d", NULL);
}

/* Applies the stages to whole volumes, one after the other. */
static struct ts_image expected_of(const struct ts_image *image)
{
    static const struct {
        const struct stage *stage;
        const char *assignments;
    } steps[] = {{&box_stage, "radius=1 dimensions=3d border=wrap"},
                 {&reorient_stage, "to=LPI"},
                 {&box_stage, "radius=2 dimensions=3d border=wrap"},
                 {&crop_stage, "z=3,17 x=2,15"},
                 {&equalize_stage, ""},
                 {&reorient_stage, "to=SAR"},
                 {&box_stage, "radius=1 dimensions=3d"}};
    struct ts_image now = *image;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const struct ts_image next = ts_test_output(steps[i].stage, steps[i].assignments, &now);
        if (i > 0)
            free(now.data);
        now = next;
    }
    return now;
}

Test(run_slices, same_bytes_for_every_budget_and_thread_count)
{
    struct ts_image image = ts_test_image(21, 14, 19, TS_I16, VALUES_CT, 5);
    struct memory_chain memory;
    unsigned char *first = NULL;
    size_t first_size = 0;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    add_stages(&memory);
    struct ts_image expected = expected_of(&image);
    struct ts_plan *plan = make_plan(&memory, 0, 1);
    const int64_t most = plan->memory_bytes, least = ts_test_plan_least(plan);
    ts_plan_destroy(plan);
    cr_assert_gt(most, least);
    for (int step = 0; step <= 12; step++) {
        struct gathered gathered = {.image = expected};
        gathered.image.data = calloc(1, ts_image_bytes(&expected));
        plan = step <= 10 ? make_plan(&memory, least + (most - least) * step / 10, 1)
                          : make_plan(&memory, 0, step - 9);
        cr_assert(plan);
        gathered.node = plan->n_nodes - 1;
        struct run_options options = plan->options;
        options.on_slices = gather;
        options.slices_user = &gathered;
        ts_test_plan_run_with(plan, &options);
        cr_assert(!memcmp(gathered.image.data, expected.data, ts_image_bytes(&expected)), "step %d",
                  step);
        ts_test_same_file(output, &first, &first_size, "slabs and threads");
        ts_plan_destroy(plan);
        free(gathered.image.data);
    }
    free(first);
    free(expected.data);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

/* Slices outside the range are not asked of the source. */
Test(run_slices, crop_reads_no_more_than_it_keeps)
{
    struct ts_image image = ts_test_image(40, 5, 6, TS_U8, VALUES_RANDOM, 5);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "crop z=11,14", NULL);
    struct ts_plan *plan = make_plan(&memory, 0, 1);
    ts_test_plan_run(plan);
    cr_expect_eq(memory.slices_read, 3);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}
