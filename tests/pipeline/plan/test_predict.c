/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions from fixed rates equal what a hand works out. The volume has 4,096 bytes, and the
 * rates are those of tests/support/rates_file.c; the comments have each part's bytes and rate.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/predict.h"
#include "tests/support/plan_run.h"
#include "tests/support/rates_file.h"
#include "tests/support/stage_check.h"

static struct ts_image image;
static struct memory_chain memory;
static struct prediction prediction;
static char bound[160];
static struct ts_diag *diag;

static void make(void)
{
    image = ts_test_image(8, 16, 16, TS_U16, VALUES_RANDOM, 1);
    memory_chain_init(&memory, &image, NULL, "out.h5");
    diag = ts_diag_create();
}

static void clear(void)
{
    memory_chain_clear(&memory);
    ts_diag_destroy(diag);
    free(image.data);
}

TestSuite(predict, .init = make, .fini = clear);

/* Predicts the chain in slabs of so many slices (0: the plan's own). */
static void predict(int threads, int64_t slab, const struct rates *rates)
{
    const struct ts_options options = {.device = "cpu", .threads = threads};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_assert_not_null(plan);
    if (slab > 0)
        plan->slab_slices = slab;
    cr_assert_eq(ts_predict(plan, rates, NULL, &prediction, diag), TS_OK);
    ts_predict_bound_text(plan, &prediction, bound, sizeof bound);
    prediction.stage_seconds = NULL; /* the plan's */
    if (prediction.no_rate_of)
        cr_assert_str_eq(prediction.no_rate_of, "invert");
    ts_plan_destroy(plan);
}

static void expect(enum predict_part part, double seconds)
{
    cr_assert_float_eq(prediction.parts[part].seconds, seconds, 1e-12, "%s: %g, not %g",
                       ts_predict_part_name(part), prediction.parts[part].seconds, seconds);
}

Test(predict, a_stage_in_one_slab)
{
    const struct rates rates = ts_test_rates();
    memory_chain_add(&memory, "box radius=1", NULL);
    predict(2, 0, &rates);
    expect(PREDICT_START, .25);
    expect(PREDICT_READ, 1);          /* 4,096 / 2,048 / 2 threads */
    expect(PREDICT_DIGEST, .5 + .7);  /* 4,096, and 4,096 + 1,638.4 of the output; / 4,096 / 2 */
    expect(PREDICT_STAGES, 1 + .125); /* 8,192 / 8,192, and a call */
    expect(PREDICT_COMPRESS, 2);      /* 4,096 / 1,024 / 2 */
    expect(PREDICT_PROVE, .5);        /* 4,096 / 4,096 / 2 */
    expect(PREDICT_STORE, .1);        /* 40 % of 4,096 / 8,192 / 2 */
    expect(PREDICT_WRITE, 1.6);       /* 40 % of 4,096 / 1,024 */
    expect(PREDICT_SYNC, 1.6);        /* all of it is in the last window */
    expect(PREDICT_UPLOAD, 0);
    expect(PREDICT_DECODE, 0);
    cr_assert_eq(prediction.bound, LANE_THREADS);
    cr_assert_float_eq(prediction.ratio, .4, 1e-12);
    cr_assert_float_eq(prediction.bound_seconds, 1 + 1.2 + 1.125 + 2 + .5 + .1, 1e-12);
    cr_assert_float_eq(prediction.seconds, .25 + 5.925 + 1.6 + 1.6, 1e-12);
    cr_assert_str_eq(bound, "bound by the threads (5.92 s, of which compress take 2.00 s)");
}

/* The volume has four slabs, each a call. Writing overlaps but for the last slab, a fourth of
 * it. */
Test(predict, slabs_overlap)
{
    const struct rates rates = ts_test_rates();
    memory_chain_add(&memory, "box radius=1", NULL);
    predict(2, 2, &rates);
    expect(PREDICT_STAGES, 1 + 4 * .125);
    cr_assert_float_eq(prediction.seconds, .25 + 6.3 + 1.6 / 4 + 1.6, 1e-12);
}

/* One thread of two takes twice as long for what threads do, and the disk as long as before. */
Test(predict, fewer_threads_take_longer)
{
    const struct rates rates = ts_test_rates();
    memory_chain_add(&memory, "box radius=1", NULL);
    predict(1, 0, &rates);
    expect(PREDICT_READ, 2);
    expect(PREDICT_STAGES, 2 + .125);
    expect(PREDICT_WRITE, 1.6);
}

Test(predict, stored_chunks_are_neither_compressed_nor_proved)
{
    const struct rates rates = ts_test_rates();
    memory_chain_add(&memory, "box radius=1", NULL);
    memory.chain.output.compression = CHAIN_STORED;
    predict(2, 0, &rates);
    expect(PREDICT_COMPRESS, .25); /* the checksum: 4,096 / 8,192 / 2 */
    expect(PREDICT_PROVE, 0);
    expect(PREDICT_STORE, .25);
    expect(PREDICT_WRITE, 4);
    cr_assert_eq(prediction.ratio, 1);
}

/* The disk becomes the bound where it is slow. */
Test(predict, the_slowest_resource_is_the_bound)
{
    struct rates rates = ts_test_rates();
    rates.values[RATE_WRITE] = 64;
    memory_chain_add(&memory, "box radius=1", NULL);
    predict(2, 0, &rates);
    cr_assert_eq(prediction.bound, LANE_DISK);
    cr_assert_float_eq(prediction.bound_seconds, 25.6, 1e-12);
    cr_assert_str_eq(bound, "bound by writing (25.60 s)");
    rates.values[RATE_START] = 100;
    predict(2, 0, &rates);
    cr_assert_str_eq(bound, "bound by the start (100.00 s)");
}

/* The first pass reads and reduces, and keeps the input for the second, which maps it. */
Test(predict, a_reduction_of_the_volume_is_a_pass_of_its_own)
{
    struct rates rates = ts_test_rates();
    const struct stage_rate equalize = {"equalize", false, false, 4096, 0};
    cr_assert(ts_rates_add(&rates, &equalize));
    memory_chain_add(&memory, "equalize method=opencv", NULL);
    predict(2, 0, &rates);
    expect(PREDICT_STAGES, 1 + 2); /* 4,096 reduced; 4,096 read and written */
    expect(PREDICT_READ, 1);
    expect(PREDICT_DIGEST, .5 + .7);
    cr_assert_float_eq(prediction.seconds, .25 + (1 + 1 + .5) + (2 + .7 + 2 + .5 + .1) + 1.6 + 1.6,
                       1e-12);
}

Test(predict, a_stage_without_a_rate_is_named)
{
    const struct rates rates = ts_test_rates();
    memory_chain_add(&memory, "invert", NULL);
    predict(2, 0, &rates);
    cr_assert_not_null(prediction.no_rate_of);
    cr_assert_float_eq(prediction.parts[PREDICT_STAGES].seconds,
                       prediction.parts[PREDICT_STAGES].bytes * 1e-9, 1e-15);
}
