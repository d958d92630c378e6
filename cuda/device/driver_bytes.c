/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes how much memory a driver holds on a CUDA device and on the host for it. Plan and driver both ask here,
 * so the memory planned is the memory allocated.
 */
#include "cuda/device/driver_bytes.h"

#include "cuda/device/fft.h"
#include "cuda/device/launch.h"
#include "cuda/device/packed.h"

static size_t largest_partial(const struct stage_context *context, int input)
{
    const struct cuda_reduction *reduction = context->stage->cuda->reduction;
    struct stage_context probe = *context;
    size_t largest = 0;
    if (input > 0 && !context->references[input - 1])
        return 0;
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
        const size_t bytes = reduction->partial_bytes(&probe, input);
        largest = bytes > largest ? bytes : largest;
    }
    return ts_cuda_stride(largest);
}

bool ts_cuda_finishes(const struct stage_context *context)
{
    const struct cuda_reduction *reduction = context->stage->cuda->reduction;
    return reduction->finishes && reduction->finishes(context);
}

bool ts_cuda_checks(const struct stage_context *context)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->reduction && cuda->reduction->check && ts_stage_reduces_slices(context) && !cuda->iterates;
}

size_t ts_cuda_refused_bytes(const struct stage_context *context)
{
    return ts_cuda_checks(context) ? ts_cuda_stride(sizeof(struct cuda_refused)) : 0;
}

size_t ts_cuda_result_stride(const struct stage_context *context)
{
    return ts_cuda_stride(ts_cuda_finishes(context) ? context->stage->cuda->reduction->result_bytes(context)
                                                    : context->stage->reduction->result_bytes(context));
}

/* Returns how many partials or results of an input lie side by side. */
static int64_t partial_count(const struct stage_context *context, int input, int64_t slab_slices)
{
    return input == 0 && ts_stage_reduces_slices(context) ? slab_slices : 1;
}

/* These return the bytes of all partials of an input, and of all results. */
size_t ts_cuda_partials_bytes(const struct stage_context *context, int input, int64_t slab_slices)
{
    return largest_partial(context, input) * (size_t)partial_count(context, input, slab_slices);
}

size_t ts_cuda_results_bytes(const struct stage_context *context, int64_t slab_slices)
{
    return ts_cuda_result_stride(context) * (size_t)partial_count(context, 0, slab_slices);
}

size_t ts_cuda_scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    size_t largest = cuda->map && cuda->scratch_bytes ? cuda->scratch_bytes(context, n) : 0;
    struct stage_context probe = *context;
    for (int input = 0; cuda->reduction && cuda->reduction->scratch_bytes && input < STAGE_INPUTS; input++)
        for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
            const bool reduced =
                (input == 0 || context->references[input - 1]) && cuda->reduction->partial_bytes(&probe, input) > 0;
            const size_t bytes = reduced ? cuda->reduction->scratch_bytes(&probe, input, n) : 0;
            largest = bytes > largest ? bytes : largest;
        }
    return ts_cuda_stride(largest);
}

size_t ts_cuda_constants_bytes(const struct stage_context *context)
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->constants_bytes ? ts_cuda_stride(cuda->constants_bytes(context)) : 0;
}

/* Returns the bytes of a slice of the border's constant. */
size_t ts_cuda_outside_bytes(const struct stage_context *context)
{
    const struct stage_reach reach = ts_stage_reach(context);
    return reach.halo > 0 && reach.border == BORDER_CONSTANT ? ts_slice_bytes(&context->in) : 0;
}

int ts_cuda_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct stage_cuda *cuda = context->stage->cuda;
    return cuda->transforms ? cuda->transforms(context, shapes) : 0;
}

/* All plans of a stage share one work area, since their transforms follow one another. The plans also hold tables of
 * factors, which are counted with it. */
size_t ts_cuda_transforms_bytes(const struct stage_context *context, bool tables)
{
    struct fft_shape shapes[STAGE_TRANSFORMS];
    const int n = ts_cuda_transforms(context, shapes);
    size_t largest = 0, all = 0;
    for (int i = 0; i < n; i++) {
        const size_t work = ts_cuda_fft_work_bytes(&shapes[i]);
        largest = work > largest ? work : largest;
        all += ts_cuda_stride(ts_fft_bytes(&shapes[i]));
    }
    return ts_cuda_stride(largest) + (tables ? all : 0);
}

static size_t tables_bytes(const struct stage_context *context)
{
    struct stage_table tables[STAGE_TABLES];
    const int n = context->stage->tables ? context->stage->tables(context, tables) : 0;
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += ts_cuda_stride(ts_image_bytes(&tables[i].image));
    return bytes;
}

size_t ts_cuda_driver_bytes(const struct stage_context *context, int64_t slab_slices)
{
    size_t bytes = tables_bytes(context) + ts_cuda_scratch_bytes(context, slab_slices) +
                   ts_cuda_constants_bytes(context) + ts_cuda_transforms_bytes(context, true) +
                   ts_cuda_stride(ts_cuda_outside_bytes(context)) + ts_cuda_packed_bytes(context, slab_slices);
    if (!context->stage->reduction)
        return bytes;
    for (int input = 0; input < STAGE_INPUTS; input++)
        bytes += ts_cuda_partials_bytes(context, input, slab_slices);
    return bytes + ts_cuda_results_bytes(context, slab_slices) + ts_cuda_refused_bytes(context);
}

size_t ts_cuda_pinned_bytes(const struct stage_context *context, int64_t slab_slices)
{
    size_t largest = ts_cuda_constants_bytes(context);
    if (!context->stage->reduction || ts_cuda_finishes(context) || ts_cuda_checks(context))
        return largest;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const size_t bytes = ts_cuda_partials_bytes(context, input, slab_slices);
        largest = bytes > largest ? bytes : largest;
    }
    const size_t results = ts_cuda_results_bytes(context, slab_slices);
    return results > largest ? results : largest;
}

size_t ts_cuda_driver_host_bytes(const struct stage_context *context, int64_t slab_slices)
{
    return ts_cuda_pinned_bytes(context, slab_slices) + ts_cuda_refused_bytes(context) +
           ts_cuda_packed_pinned_bytes(context, slab_slices) +
           ts_cuda_outside_bytes(context); /* the slice, while it is copied */
}

size_t ts_cuda_driver_transfers(const struct stage_context *context, int64_t n)
{
    size_t bytes = ts_cuda_constants_bytes(context) + tables_bytes(context);
    struct stage_context probe = *context;
    const bool by_slice = ts_stage_reduces_slices(context);
    if (!context->stage->reduction || ts_cuda_finishes(context) || ts_cuda_checks(context))
        return bytes + ts_cuda_refused_bytes(context);
    for (probe.round = 0; probe.round < ts_stage_rounds(context); probe.round++) {
        bool volume = false;
        for (int input = 0; input < STAGE_INPUTS; input++)
            if (ts_stage_reduces_volume(context, input)) {
                bytes += context->stage->cuda->reduction->partial_bytes(&probe, input);
                volume = true;
            }
        bytes += volume ? ts_cuda_result_stride(context) : 0;
        if (by_slice)
            bytes += (size_t)n * (ts_cuda_stride(context->stage->cuda->reduction->partial_bytes(&probe, 0)) +
                                  ts_cuda_result_stride(context));
    }
    return bytes;
}
