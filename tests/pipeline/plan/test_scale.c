/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions for several ranks, and for machines that are not here, equal what a hand works out.
 * The volume has 4,096 bytes in 8 slices, and the rates are those of tests/support/rates_file.c.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/scale.h"
#include "tests/support/plan_run.h"
#include "tests/support/rates_file.h"
#include "tests/support/stage_check.h"

static struct ts_image image;
static struct memory_chain memory;
static struct rates rates;
static struct ts_plan *plan;
static struct ts_diag *diag;

static void make(void)
{
    const struct ts_options options = {.device = "cpu", .threads = 2};
    image = ts_test_image(8, 16, 16, TS_U16, VALUES_RANDOM, 1);
    memory_chain_init(&memory, &image, NULL, "out.h5");
    memory_chain_add(&memory, "box radius=1", NULL);
    rates = ts_test_rates();
    diag = ts_diag_create();
    plan = ts_test_plan(&memory, &options);
    cr_assert_not_null(plan);
}

static void clear(void)
{
    ts_plan_destroy(plan);
    memory_chain_clear(&memory);
    ts_diag_destroy(diag);
    free(image.data);
}

TestSuite(scale, .init = make, .fini = clear);

static void expect(const struct prediction *prediction, enum predict_part part, double seconds)
{
    const double found = prediction->parts[part].seconds;
    cr_assert_float_eq(found, seconds, 1e-12, "%s: %g, not %g", ts_predict_part_name(part), found,
                       seconds);
}

/* Each of two ranks has one thread and two slabs of two slices. Rank 0 writes all with both
 * threads. */
static struct prediction predict_two(struct predict_links links)
{
    struct prediction prediction;
    plan->n_ranks = 2;
    plan->threads = 1;
    plan->writer_threads = 2;
    plan->slab_slices = 2;
    cr_assert_eq(ts_predict(plan, &rates, &links, &prediction, diag), TS_OK);
    return prediction;
}

Test(scale, ranks_share_the_stages_and_rank_0_writes)
{
    char bound[160];
    const struct prediction two = predict_two((struct predict_links){2, 1, .75, 8192, 1024, 1});
    expect(&two, PREDICT_START, .25 + .75);
    expect(&two, PREDICT_FETCH, .5);    /* 4,096 / 8,192, for both */
    expect(&two, PREDICT_READ, 1);      /* 2,048 / 2,048 */
    expect(&two, PREDICT_STAGES, 1.25); /* half of 8,192 / 4,096, and two calls */
    expect(&two, PREDICT_DIGEST,
           .5 + .7); /* 2,048 of the input; 4,096 and 1,638.4 / 2 of the output; / 4,096 */
    expect(&two, PREDICT_COMPRESS, 2);
    expect(&two, PREDICT_GATHER, 2); /* 2,048 / 1,024 */
    expect(&two, PREDICT_WRITE, 1.6);
    cr_assert_float_eq(two.seconds, 1 + 6.05 + (.5 + 2 + 1.6) / 2 + 1.6, 1e-12);
    ts_predict_bound_text(plan, &two, bound, sizeof bound);
    cr_assert_str_eq(
        bound, "bound by the processors of rank 0's node (6.05 s, of which compress take 2.00 s)");
}

Test(scale, slices_of_other_nodes_come_through_the_network)
{
    const struct prediction two = predict_two((struct predict_links){1, 1, 0, INFINITY, 1, 128});
    expect(&two, PREDICT_FETCH, 0);
    expect(&two, PREDICT_GATHER, 16); /* 2,048 / 128 */
    cr_assert_eq(two.bound, LANE_GATHER);
}

/* Two threads share a processor, and what rank 0 writes has all of them in any case. */
Test(scale, ranks_that_share_processors_take_longer)
{
    const struct prediction two =
        predict_two((struct predict_links){2, 2, 0, INFINITY, INFINITY, INFINITY});
    expect(&two, PREDICT_READ, 2);
    expect(&two, PREDICT_STAGES, 2.5);
    expect(&two, PREDICT_DIGEST, 1 + .7);
    expect(&two, PREDICT_COMPRESS, 2);
}

/* Each slice of the output, of which half have these bytes, is a chunk: rank 1 compresses those of
 * its slab itself, with one thread, and they travel compressed. */
static void expect_whole_chunks(double half, double ratio)
{
    const struct ts_options options = {.device = "cpu", .threads = 2};
    ts_plan_destroy(plan);
    plan = ts_test_plan(&memory, &options);
    cr_assert_not_null(plan);
    const struct prediction two = predict_two((struct predict_links){2, 1, 0, INFINITY, 1024, 1});
    cr_assert_float_eq(two.parts[PREDICT_COMPRESS].seconds, half / 1024 + half / 2048, 1e-6);
    cr_assert_float_eq(two.parts[PREDICT_GATHER].seconds, ratio * half / 1024, 1e-6);
    cr_assert_float_eq(two.ratio, ratio, 1e-12);
}

static void take_image(int64_t slices, enum ts_dtype dtype)
{
    memory_chain_clear(&memory);
    free(image.data);
    image = ts_test_image(slices, 1536, 1536, dtype, VALUES_RANDOM, 1);
    memory_chain_init(&memory, &image, NULL, "out.h5");
    memory_chain_add(&memory, "box radius=1", NULL);
}

Test(scale, ranks_compress_whole_chunks)
{
    const double slice = 1536 * 1536 * 2;
    take_image(4, TS_U16);
    expect_whole_chunks(2 * slice, .4);
    int64_t radii[] = {1, 0};
    memory.chain.sweep = (struct chain_sweep){.n = 2, .values = radii};
    expect_whole_chunks(4 * slice, .4);
    take_image(8, TS_U16);
    memory.n_volumes = 2;
    expect_whole_chunks(4 * slice, .4);
    memory.n_volumes = 0;
    take_image(4, TS_F32);
    memory.chain.output.dtype = CHAIN_F16;
    expect_whole_chunks(2 * slice, .75);
}

static struct machine machine_of(int64_t nodes, int64_t cores, int64_t ranks, int64_t gpus)
{
    return (struct machine){.nodes = nodes,
                            .cores = cores,
                            .ranks = ranks,
                            .gpus = gpus,
                            .memory = 1,
                            .gpu_memory = 1,
                            .pcie = 1024e-9,
                            .pcie_node = 1536e-9,
                            .disk_read = INFINITY,
                            .disk_write = 1024e-9,
                            .network = 512e-9,
                            .exchange = 1024e-9,
                            .launch = .5};
}

static struct scale_row row_of(struct machine machine, int64_t ranks)
{
    struct scale_row row;
    cr_assert_eq(ts_scale_predict(plan, &machine, &rates, ranks, &row, diag), TS_OK);
    return row;
}

/* A machine of one rank with the processors of the rates is this machine. */
Test(scale, one_rank_is_the_plan_s_own_prediction)
{
    struct prediction here;
    cr_assert_eq(ts_predict(plan, &rates, NULL, &here, diag), TS_OK);
    const struct scale_row row = row_of(machine_of(1, 2, 4, 0), 1);
    cr_assert_null(row.refusal);
    cr_assert_float_eq(row.prediction.seconds, here.seconds, 1e-12);
    cr_assert_eq(row.node_bytes, plan->memory_bytes);
}

Test(scale, ranks_fill_a_node_before_the_next)
{
    const struct machine machine = machine_of(3, 2, 2, 0);
    cr_assert_eq(ts_scale_most(&machine), 6);
    const struct scale_row two = row_of(machine, 2), four = row_of(machine, 4);
    cr_assert(two.nodes == 1 && two.on_node == 2 && four.nodes == 2 && four.on_node == 2);
    expect(&two.prediction, PREDICT_GATHER, 2); /* 2,048 / 1,024 */
    expect(&four.prediction, PREDICT_GATHER,
           1 + 2048. / 512); /* 1,024 of the node, and 2,048 of the other one */
    cr_assert_eq(four.node_bytes, 2 * plan->memory_bytes);
    cr_assert_eq(plan->threads, 1);
}

/* Those beyond the slices have no slab, and take no time to count. */
Test(scale, ranks_without_a_slab_are_not_walked_over, .timeout = 60)
{
    struct machine machine = machine_of(1000000, 2, 1024, 0);
    machine.memory = 1e6;
    const struct scale_row most = row_of(machine, ts_scale_most(&machine));
    cr_assert_eq(most.ranks, 1024000000);
    cr_assert_gt(most.prediction.parts[PREDICT_READ].seconds, 0);
    expect(&most.prediction, PREDICT_READ,
           row_of(machine, 1024).prediction.parts[PREDICT_READ].seconds);
}

Test(scale, a_node_that_is_too_small_refuses)
{
    struct machine machine = machine_of(1, 2, 2, 0);
    machine.memory = 1e-3;
    const struct scale_row row = row_of(machine, 2);
    cr_assert(row.refusal && strstr(row.refusal, "of memory"), "%s", row.refusal);
}

/* Each GPU copies its half. Two of them have three quarters of their buses, since the node has no
 * more. */
Test(scale, gpus_share_the_bus_of_their_node)
{
    const struct machine machine = machine_of(1, 2, 1, 2);
    const struct scale_row one = row_of(machine, 1), two = row_of(machine, 2);
    cr_assert(plan->cuda && !strcmp(plan->cuda->name, "test device 0"));
    expect(&one.prediction, PREDICT_UPLOAD, 4); /* 4,096 / 1,024 */
    expect(&two.prediction, PREDICT_UPLOAD, 2048. / 768);
    expect(&two.prediction, PREDICT_COMPRESS, 2048. / 32768); /* each its own */
    expect(&two.prediction, PREDICT_GATHER, 0);               /* they serve one process */
    expect(&two.prediction, PREDICT_START, one.prediction.parts[PREDICT_START].seconds);
    expect(&two.prediction, PREDICT_PROVE, .5); /* by the threads of the process */
}
