/* SPDX-License-Identifier: Apache-2.0
 *
 * Slice by slice, so that a map sees its slices in the same pass.
 */
#include "stages/common/finite_values.h"

#include "stages/common/value_range.h"

static bool per_slice(const struct stage_context *context)
{
    (void)context;
    return true;
}

static int rounds(const struct stage_context *context)
{
    return context->in.dtype == TS_F32;
}

static size_t result_bytes(const struct stage_context *context)
{
    (void)context;
    return sizeof(double); /* nothing is kept, and something must be */
}

static enum ts_status finish(const struct stage_context *context, const void *const totals[], void *result,
                             const struct ts_image *tables)
{
    const struct value_range *range = totals[0];
    const unsigned long long bad = range->n_nan + range->n_infinite;
    (void)result;
    (void)tables;
    if (bad == 0)
        return TS_OK;
    ts_diag_error(context->diag, TS_RUN_FAILED,
                  &(struct diag_site){.code = "not-finite", .span = context->set->span, .stage = context->stage->name},
                  "%llu of %llu values of a slice are not finite numbers, and would spoil all of its result", bad,
                  bad + (unsigned long long)range->n_finite);
    ts_diag_hint(context->diag, "`statistics scope=slice` before it counts them in every slice");
    return TS_RUN_FAILED;
}

const struct stage_reduction ts_finite_reduction = {
    .per_slice = per_slice,
    .exact = true,
    .feeds_map = true,
    .rounds = rounds,
    .partial_bytes = ts_value_range_partial_bytes,
    .reduce = ts_value_range_reduce,
    .merge = ts_value_range_merge_partials,
    .result_bytes = result_bytes,
    .finish = finish,
};
