/* SPDX-License-Identifier: Apache-2.0
 *
 * A sweep gives, for each value, the bytes that the chain gives with that value alone, and the
 * stages before it run once. The bytes depend neither on slabs nor on threads.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/hdf5_data.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"
#include "tests/support/test_device.h"

enum { NZ = 7, NY = 14, NX = 19, VALUES = 3 };

static char folder[256], output[300], single[300];
static int64_t mapped; /* slices that the counted stage has computed */

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    snprintf(single, sizeof single, "%s/single.h5", folder);
}

static void remove_folder(void)
{
    unlink(output);
    unlink(single);
    cr_assert_eq(rmdir(folder), 0, "%s holds more than the outputs", folder);
}

TestSuite(sweep, .init = make_folder, .fini = remove_folder);

/* A chain: the swept stage stands between two others, which may be absent, and is written without
 * its value. */
struct swept_chain {
    const char *before, *stage, *param, *values[VALUES], *after;
};

static const struct swept_chain chains[] = {
    {"median radius=1", "box dimensions=3d border=wrap", "radius", {"1", "3", "2"}, "equalize"},
    {NULL,
     "rescale method=percentiles high_percentile=90",
     "low_percentile",
     {"0", "5", "20.5"},
     "statistics"},
    {"box radius=1", "box radius=1", "border", {"reflect", "wrap", "nearest"}, NULL},
    {"radon views=9",
     "fbp rows=12 columns=12 pixel_size=1.5",
     "filter",
     {"ramp", "hann", "cosine"},
     NULL},
    {"radon views=9", "fbp", "center", {"10", "11.5", "12"}, "box radius=1"},
    {"radon views=9", "sirt", "iterations", {"1", "4", "2"}, NULL},
    {"box radius=1", "radon", "views", {"5", "9", "6"}, "fbp rows=12 columns=12 pixel_size=1.5"},
};
enum { CHAINS = sizeof chains / sizeof *chains };

/* Sinograms of several numbers of views have no place in one array; what is reconstructed from them
 * has. */
static bool is_saved(const struct swept_chain *chain)
{
    return strcmp(chain->param, "views") != 0;
}

/* Adds the stages with one of the values. */
static void add_stages(struct memory_chain *memory, const struct swept_chain *chain, int value)
{
    char text[200];
    if (chain->before)
        memory_chain_add(memory, chain->before, NULL);
    snprintf(text, sizeof text, "%s %s=%s", chain->stage, chain->param, chain->values[value]);
    memory_chain_add(memory, text, NULL);
    if (is_saved(chain))
        memory_chain_add(memory, "save", "swept");
    if (chain->after)
        memory_chain_add(memory, chain->after, NULL);
}

/* Lets the chain, which holds the first value, sweep over all. `fields` has room for the values. */
static void sweep_over(struct memory_chain *memory, const struct swept_chain *chain,
                       unsigned char fields[VALUES * 64])
{
    struct chain_sweep *sweep = &memory->chain.sweep;
    sweep->stage = chain->before != NULL;
    sweep->n = VALUES;
    sweep->values = fields;
    const struct param_set *set = &memory->stages[sweep->stage].set;
    const struct param *param =
        ts_param_find(set->params, set->n_params, chain->param, &sweep->param);
    cr_assert(param && ts_param_bytes(param->kind) <= 64);
    for (int k = 0; k < VALUES; k++) {
        char text[200];
        struct param_set other;
        const size_t length = strcspn(chain->stage, " ");
        snprintf(text, sizeof text, "%s %s=%s", chain->stage + length, chain->param,
                 chain->values[k]);
        ts_test_params(memory->stages[sweep->stage].stage, text, &other);
        memcpy(fields + (size_t)k * ts_param_bytes(param->kind),
               ts_param_field(&other, sweep->param), ts_param_bytes(param->kind));
        ts_test_params_clear(&other);
    }
}

static void run_chain(const struct memory_chain *memory, int threads)
{
    const struct ts_options options = {
        .device = ts_test_device ? "cuda" : "cpu", .threads = threads, .force = true};
    struct ts_plan *plan = ts_test_plan(memory, &options);
    cr_assert(plan);
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
}

/* Compares part k of an image with that of the chain with this value alone. */
static void check_part(const struct swept_chain *chain, const char *dataset, int k)
{
    size_t n_all, n;
    double *all = ts_test_read_hdf5_at(output, dataset, &n_all),
           *one = ts_test_read_hdf5_at(single, dataset, &n);
    cr_assert_eq(n_all, VALUES * n, "%s: %s has %zu elements, one value's has %zu", chain->stage,
                 dataset, n_all, n);
    cr_expect_eq(memcmp(all + (size_t)k * n, one, n * sizeof *one), 0, "%s: %s differs with %s=%s",
                 chain->stage, dataset, chain->param, chain->values[k]);
    free(all);
    free(one);
}

Test(sweep, each_value_is_as_alone)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 5);
    for (int c = 0; c < CHAINS; c++) {
        unsigned char fields[VALUES * 64];
        struct memory_chain memory, alone;
        memory_chain_init(&memory, &image, NULL, output);
        add_stages(&memory, &chains[c], 0);
        sweep_over(&memory, &chains[c], fields);
        run_chain(&memory, 2);
        cr_expect_eq(memory.slices_read, NZ, "%s: %d slices were read", chains[c].stage,
                     (int)memory.slices_read);
        for (int k = 0; k < VALUES; k++) {
            memory_chain_init(&alone, &image, NULL, single);
            add_stages(&alone, &chains[c], k);
            run_chain(&alone, 1);
            check_part(&chains[c], "/entry/data/data", k);
            if (is_saved(&chains[c]))
                check_part(&chains[c], "/entry/swept/data", k);
            memory_chain_clear(&alone);
        }
        memory_chain_clear(&memory);
    }
    free(image.data);
}

static enum ts_status count_slices(const struct stage_context *context, const struct ts_image *in,
                                   struct ts_image *out, void *scratch)
{
    mapped += out->axes[0].n;
    return ts_stage_find("box")->map(context, in, out, scratch);
}

/* The stage before the sweep computes each slice once, however many values there are and passes
 * each needs. */
Test(sweep, stages_before_it_run_once)
{
    static const struct swept_chain chain = {"", "box", "radius", {"1", "3", "2"}, "equalize"};
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 5);
    struct stage counted = *ts_stage_find("box");
    unsigned char fields[VALUES * 64];
    struct memory_chain memory;
    counted.map = count_slices;
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add_stage(&memory, &counted, "radius=1", NULL);
    memory_chain_add(&memory, "box radius=1", NULL);
    memory_chain_add(&memory, "equalize", NULL);
    sweep_over(&memory, &chain, fields);
    const struct ts_options options = {.device = "cpu", .threads = 2, .force = true};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_assert(plan && plan->n_nodes == 2 + 2 * VALUES);
    mapped = 0;
    ts_test_plan_run(plan);
    cr_expect_eq(mapped, NZ, "%d slices of %d were computed", (int)mapped, (int)NZ);
    cr_expect_eq(memory.slices_read, NZ);
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    free(image.data);
}

Test(sweep, same_bytes_for_slabs_and_threads)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 6);
    unsigned char fields[VALUES * 64];
    struct memory_chain memory;
    memory_chain_init(&memory, &image, NULL, output);
    add_stages(&memory, &chains[0], 0);
    sweep_over(&memory, &chains[0], fields);
    ts_test_same_for_slabs_and_threads(&memory, output);
    memory_chain_clear(&memory);
    free(image.data);
}

/* Padding stays padding in each part, and the mask has the axis of the values, too. */
Test(sweep, masks_have_the_axis_too)
{
    static const struct swept_chain chain = {NULL, "box", "radius", {"1", "3", "2"}, NULL};
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 8);
    unsigned char fields[VALUES * 64];
    struct memory_chain memory, alone;
    ((int16_t *)image.data)[5] = ((int16_t *)image.data)[3 * NY * NX + 40] = -2000;
    image.masked = true;
    memory_chain_init(&memory, &image, NULL, output);
    memory.invalid = (struct invalid_range){-2000, -2000};
    add_stages(&memory, &chain, 0);
    sweep_over(&memory, &chain, fields);
    run_chain(&memory, 2);
    for (int k = 0; k < VALUES; k++) {
        memory_chain_init(&alone, &image, NULL, single);
        alone.invalid = memory.invalid;
        add_stages(&alone, &chain, k);
        run_chain(&alone, 1);
        check_part(&chain, "/entry/data/data", k);
        check_part(&chain, "/entry/data/pixel_mask", k);
        memory_chain_clear(&alone);
    }
    memory_chain_clear(&memory);
    free(image.data);
}

/* The axis of the values is named after the parameter and holds them. */
Test(sweep, axis_holds_the_values)
{
    struct ts_image image = ts_test_image(NZ, NY, NX, TS_I16, VALUES_CT, 6);
    unsigned char fields[VALUES * 64];
    struct memory_chain memory;
    size_t n;
    memory_chain_init(&memory, &image, NULL, output);
    add_stages(&memory, &chains[1], 0);
    sweep_over(&memory, &chains[1], fields);
    run_chain(&memory, 2);
    double *values = ts_test_read_hdf5_at(output, "/entry/data/rescale_low_percentile", &n);
    cr_assert_eq(n, VALUES);
    cr_expect(values[0] == 0 && values[1] == 5 && values[2] == 20.5);
    free(values);
    memory_chain_clear(&memory);
    free(image.data);
}
