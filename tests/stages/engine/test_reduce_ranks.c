/* SPDX-License-Identifier: Apache-2.0
 *
 * A volume of which several states reduce a part each, as ranks do: the total has the bytes of one state that reduces
 * it all, also where a sum depends on its order.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "stages/engine/reduce.h"

enum { NZ = 17, STATES = 3, SLAB = 2, THREADS = 2 };

static size_t sum_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(float) : 0;
}

static void sum_reduce(const struct stage_context *context, int input, const struct ts_image *slices, void *partial)
{
    (void)context;
    (void)input;
    cr_assert_eq(slices->axes[0].n, 1, "a partial of a sum that is not exact has one slice");
    *(float *)partial = *(const float *)slices->data;
}

static void sum_merge(const struct stage_context *context, int input, void *into, const void *from)
{
    (void)context;
    (void)input;
    *(float *)into += *(const float *)from;
}

static size_t no_result(const struct stage_context *context)
{
    (void)context;
    return sizeof(float);
}

static const struct stage_reduction sum = {
    .partial_bytes = sum_bytes, .reduce = sum_reduce, .merge = sum_merge, .result_bytes = no_result};
static const struct stage sum_stage = {.name = "sum", .reduction = &sum};

/* No value can be added without a rounding. */
static void fill(float values[NZ])
{
    for (int z = 0; z < NZ; z++)
        values[z] = 1 / (float)(3 + 7 * z);
}

static struct stage_context context_of(void)
{
    struct stage_context context = {.stage = &sum_stage, .threads = THREADS};
    context.in = (struct ts_image){.rank = 3, .dtype = TS_F32, .axes = {{.n = NZ}, {.n = 1}, {.n = 1}}};
    return context;
}

static struct ts_image slab_of(const struct stage_context *context, float *values, int64_t z)
{
    struct ts_image slab = context->in;
    slab.axes[0].n = NZ - z < SLAB ? NZ - z : SLAB;
    slab.z_first = z;
    slab.data = values + z;
    return slab;
}

/* Gives a state the total of the one before it. */
struct hand_over {
    struct stage_reduced *from, *to;
};

static void await(void *user)
{
    const struct hand_over *hand_over = user;
    const void *total = hand_over->from ? ts_stage_reduced_sum(hand_over->from, 0) : NULL;
    ts_stage_reduced_forget(hand_over->to, 0);
    if (total)
        memcpy(ts_stage_reduced_total(hand_over->to, 0), total, ts_stage_reduced_sum_bytes(hand_over->to, 0));
}

Test(reduce_ranks, a_total_that_goes_round_is_that_of_one_state)
{
    float values[NZ];
    struct stage_context context = context_of();
    struct stage_reduced *one, *states[STATES];
    struct hand_over hand_over = {NULL, NULL};
    fill(values);
    cr_assert_eq(ts_stage_reduced_create(&context, SLAB, &one), TS_OK);
    for (int i = 0; i < STATES; i++)
        cr_assert_eq(ts_stage_reduced_create(&context, SLAB, &states[i]), TS_OK);
    for (int64_t z = 0; z < NZ; z += SLAB) {
        const struct ts_image slab = slab_of(&context, values, z);
        ts_stage_reduced_add(one, 0, &slab);
        hand_over.to = states[z / SLAB % STATES];
        ts_stage_reduced_add_after(hand_over.to, 0, &slab, await, &hand_over);
        hand_over.from = hand_over.to;
    }
    const float expected = *(const float *)ts_stage_reduced_sum(one, 0);
    cr_assert_eq(*(const float *)ts_stage_reduced_sum(hand_over.from, 0), expected);
    /* The values tell orders apart: sums of every third slab, which are joined at the end, differ. */
    float parts[STATES] = {0};
    for (int z = 0; z < NZ; z++)
        parts[z / SLAB % STATES] += values[z];
    cr_assert_neq(parts[0] + parts[1] + parts[2], expected);
    ts_stage_reduced_destroy(one);
    for (int i = 0; i < STATES; i++)
        ts_stage_reduced_destroy(states[i]);
}

Test(reduce_ranks, totals_are_joined)
{
    float values[NZ];
    struct stage_context context = context_of();
    struct stage_reduced *first, *second;
    fill(values);
    const struct ts_image slabs[] = {slab_of(&context, values, 0), slab_of(&context, values, SLAB)};
    cr_assert_eq(ts_stage_reduced_create(&context, SLAB, &first), TS_OK);
    cr_assert_eq(ts_stage_reduced_create(&context, SLAB, &second), TS_OK);
    cr_assert_null(ts_stage_reduced_sum(first, 0));
    ts_stage_reduced_add(second, 0, &slabs[1]);
    memcpy(ts_stage_reduced_spare(first), ts_stage_reduced_sum(second, 0), sizeof(float));
    ts_stage_reduced_join(first, 0, ts_stage_reduced_spare(first));
    cr_assert_eq(*(const float *)ts_stage_reduced_sum(first, 0), values[2] + values[3]);
    ts_stage_reduced_forget(first, 0);
    ts_stage_reduced_add(first, 0, &slabs[0]);
    ts_stage_reduced_join(first, 0, ts_stage_reduced_sum(second, 0));
    cr_assert_eq(*(const float *)ts_stage_reduced_sum(first, 0), values[0] + values[1] + (values[2] + values[3]));
    ts_stage_reduced_destroy(first);
    ts_stage_reduced_destroy(second);
}
