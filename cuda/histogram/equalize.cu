/* SPDX-License-Identifier: Apache-2.0
 *
 * This file chooses the kernels that count, make the maps and apply them for equalize on a CUDA device. No kernel
 * stands here.
 *
 * 8- and 16-bit images without a reference stay on the device: value_counts.cuh counts every value, equalize_finish.cu
 * makes the maps, and equalize_values.cu applies them. All others take the counts to the host, whose code makes the
 * maps: images with a reference or with pixels that are left out, and bins, whose edges follow from the range
 * (value_range.cuh, table_job.cuh, equalize_bins.cu).
 */
#include "cuda/counting/table_job.cuh"
#include "cuda/counting/value_counts.cuh"
#include "cuda/histogram/equalize.cuh"
#include "cuda/values/value_range.cuh"

extern "C" {
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"
#include "stages/values/scope.h"
}

static bool by_value(const struct stage_context *context, int input)
{
    return ts_value_counts_fit(ts_stage_input(context, input)->dtype);
}

static bool in_slices(const struct stage_context *context, int input)
{
    return input == 0 && ts_scope_is_slice(context);
}

static bool ranging(const struct stage_context *context)
{
    return context->round + 1 < ts_stage_rounds(context);
}

static bool finishes(const struct stage_context *context)
{
    return by_value(context, 0) && !context->references[0] && !ts_stage_packs(context, 0);
}

static size_t partial_bytes(const struct stage_context *context, int input)
{
    if (input > 1)
        return 0;
    if (ranging(context))
        return by_value(context, input) ? 0 : sizeof(struct cuda_value_range);
    return by_value(context, input)
               ? ts_cuda_value_counts_bytes(ts_stage_input(context, input)->dtype, in_slices(context, input))
               : (ts_equalize_capacity(context, input) + BINS_EXTRA_SLOTS) * sizeof(unsigned long long);
}

static size_t scratch_bytes(const struct stage_context *context, int input, int64_t n)
{
    const struct ts_image *image = input == 0 ? &context->in : context->references[input - 1];
    return by_value(context, input) ? ts_cuda_value_counts_scratch_bytes(context, image, in_slices(context, input), n)
                                    : 0;
}

static bool overwrites(const struct stage_context *context)
{
    return by_value(context, 0);
}

/* struct equalize_result starts with the bins. */
static enum ts_status reduce(const struct stage_context *context, int input, const struct ts_image *slices,
                             void *partials, const struct cuda_call *call)
{
    const bool slice_by_slice = in_slices(context, input);
    const size_t bytes = partial_bytes(context, input), stride = ts_cuda_stride(bytes);
    if (bytes == 0)
        return TS_OK;
    if (by_value(context, input))
        return ts_cuda_value_counts(context, slices, slice_by_slice, partials, call);
    if (ranging(context))
        return ts_cuda_value_range_add(context, slices, partials, slice_by_slice, stride, call);
    const struct equalize_result *result = (const struct equalize_result *)call->result;
    return ts_cuda_bin_counts_add(context, slices, &result->bins[input],
                                  ts_cuda_stride(context->stage->reduction->result_bytes(context)),
                                  ts_equalize_capacity(context, input), partials, slice_by_slice, stride, call);
}

static void collect(const struct stage_context *context, int input, const void *partial, void *total)
{
    if (partial_bytes(context, input) == 0)
        return;
    if (by_value(context, input)) {
        ts_cuda_value_counts_collect(ts_stage_input(context, input)->dtype, in_slices(context, input), partial,
                                     (struct value_counts *)total);
    } else if (ranging(context)) {
        *(struct value_range *)total = ts_cuda_value_range_collect((const struct cuda_value_range *)partial,
                                                                   ts_stage_input(context, input)->dtype);
    } else {
        struct bin_counts *counts = (struct bin_counts *)total;
        ts_bin_counts_init(counts, (int64_t)ts_equalize_capacity(context, input));
        memcpy(counts->slots, partial, counts->n_slots * sizeof *counts->slots);
    }
}

static enum ts_status finish(const struct stage_context *context, const void *partials, void *results, int64_t n,
                             const struct cuda_call *call)
{
    return ts_cuda_equalize_finish(context, partials, in_slices(context, 0), results, n, call);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes,
    .overwrites = overwrites,
    .scratch_bytes = scratch_bytes,
    .reduce = reduce,
    .collect = collect,
    .finishes = finishes,
    .result_bytes = ts_cuda_equalize_map_bytes,
    .finish = finish,
};

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const bool on_device = finishes(context);
    const size_t bytes =
        on_device ? ts_cuda_equalize_map_bytes(context) : context->stage->reduction->result_bytes(context);
    const struct cuda_maps maps = {.results = (const char *)call->result,
                                   .stride = in_slices(context, 0) ? ts_cuda_stride(bytes) : 0,
                                   .made_on_device = on_device};
    return by_value(context, 0) ? ts_cuda_equalize_values(context, in, out, &maps, call)
                                : ts_cuda_equalize_bins(context, in, out, &maps, call);
}

const struct stage_cuda equalize_cuda = {
    .map = map,
    .reduction = &reduction,
};
