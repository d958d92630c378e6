/* SPDX-License-Identifier: Apache-2.0
 *
 * A volume of which several states reduce a part each, as ranks do: their totals are joined to one.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "stages/engine/reduce.h"

enum { NZ = 17, SLAB = 2, THREADS = 2 };

static size_t sum_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(float) : 0;
}

static void sum_reduce(const struct stage_context *context, int input,
                       const struct ts_image *slices, void *partial)
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

static const struct stage_reduction sum = {.partial_bytes = sum_bytes,
                                           .reduce = sum_reduce,
                                           .merge = sum_merge,
                                           .result_bytes = no_result};
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
    context.in =
        (struct ts_image){.rank = 3, .dtype = TS_F32, .axes = {{.n = NZ}, {.n = 1}, {.n = 1}}};
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
    cr_assert_eq(*(const float *)ts_stage_reduced_sum(first, 0),
                 values[0] + values[1] + (values[2] + values[3]));
    ts_stage_reduced_destroy(first);
    ts_stage_reduced_destroy(second);
}

/* Ranks and CUDA devices join totals of every n-th slab. A reduction that is not exact would have
 * other bytes there. */
Test(reduce_ranks, reductions_of_all_stages_may_be_joined_in_any_grouping)
{
    int n = 0;
    for (const struct stage *const *stage = ts_stages; *stage; stage++) {
        n += (*stage)->reduction != NULL;
        cr_expect(!(*stage)->reduction || (*stage)->reduction->exact, "%s", (*stage)->name);
    }
    cr_assert_gt(n, 5);
}
