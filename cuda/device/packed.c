/* SPDX-License-Identifier: Apache-2.0
 *
 * Every input has its own part of `values`, but inputs that are packed at different times may share
 * the first bytes: an input that streams with input 0 comes behind it, and others are packed alone.
 */
#include "cuda/device/packed.h"

#include "cuda/device/validity.h"
#include "stages/engine/traits.h"
#include "stages/engine/validity.h"

/* Returns true if an input is packed together with input 0. */
static bool joins(const struct stage_context *context, int input)
{
    return input > 0 && ts_stage_streams(context, input - 1) && input - 1 != ts_stage_mask(context);
}

static size_t stride_of(const struct stage_context *context, int input)
{
    return ts_cuda_stride(ts_slice_bytes(ts_stage_input(context, input)));
}

/* Sets where the slices of each input are in `values`. Returns the bytes of all. */
static size_t lay_out(const struct stage_context *context, int64_t n, struct cuda_packed *packed)
{
    size_t together = 0, most = 0;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const bool joined = ts_stage_packs(context, 0) && joins(context, input);
        if (!joined && !ts_stage_packs(context, input))
            continue;
        packed->strides[input] = stride_of(context, input);
        packed->offsets[input] = joined ? together : 0;
        const size_t end = packed->offsets[input] + (size_t)n * packed->strides[input];
        together = input == 0 || joined ? end : together;
        most = end > most ? end : most;
    }
    return most;
}

static size_t chosen_bytes(const struct stage_context *context, int64_t n)
{
    size_t most = 0;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const size_t bytes = ts_stage_packs(context, input)
                                 ? ts_cuda_chosen_bytes(ts_stage_input(context, input), n,
                                                        input == 0 && ts_stage_mask(context) >= 0)
                                 : 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

size_t ts_cuda_packed_bytes(const struct stage_context *context, int64_t slab_slices)
{
    struct cuda_packed packed;
    return ts_cuda_stride(lay_out(context, slab_slices, &packed)) +
           chosen_bytes(context, slab_slices);
}

size_t ts_cuda_packed_pinned_bytes(const struct stage_context *context, int64_t slab_slices)
{
    return chosen_bytes(context, slab_slices) > 0
               ? ts_cuda_stride((size_t)slab_slices * sizeof(uint32_t))
               : 0;
}

enum ts_status ts_cuda_packed_create(struct cuda_session *session,
                                     const struct stage_context *context, int64_t slab_slices,
                                     struct cuda_packed *packed)
{
    packed->values = ts_cuda_allocate(session, lay_out(context, slab_slices, packed));
    packed->chosen = ts_cuda_allocate(session, chosen_bytes(context, slab_slices));
    packed->n = ts_cuda_allocate_pinned(session, ts_cuda_packed_pinned_bytes(context, slab_slices));
    return packed->values && packed->chosen && packed->n ? TS_OK : TS_RUN_FAILED;
}

enum ts_status ts_cuda_packed_bring(struct cuda_session *session,
                                    const struct stage_context *context, int input,
                                    const struct ts_image *slices, struct cuda_packed *packed)
{
    struct CUstream_st *stream = ts_cuda_stream(session, CUDA_COMPUTE);
    const int mask = input == 0 ? ts_stage_mask(context) : -1;
    struct cuda_chosen chosen;
    enum ts_status status = ts_cuda_choose(context, slices, mask < 0 ? NULL : &slices[1 + mask],
                                           packed->chosen, &chosen, stream);
    for (int other = 0; status == TS_OK && other < (input == 0 ? STAGE_INPUTS : 1); other++)
        if (other == 0 || joins(context, other))
            status = ts_cuda_pack(context, &chosen, &slices[other],
                                  (char *)packed->values + packed->offsets[input + other],
                                  packed->strides[input + other], stream);
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, packed->n, chosen.totals,
                              (size_t)chosen.n * sizeof *packed->n);
    return status == TS_OK ? ts_cuda_wait(session, CUDA_COMPUTE) : status;
}

void ts_cuda_packed_slice(const struct cuda_packed *packed, const struct stage_context *context,
                          int input, const struct ts_image *slices, int64_t i,
                          struct ts_image views[STAGE_INPUTS])
{
    for (int other = 0; other < (input == 0 ? STAGE_INPUTS : 1); other++) {
        if (other > 0 && !joins(context, other))
            continue;
        views[other] = slices[other];
        views[other].data = (char *)packed->values + packed->offsets[input + other] +
                            (size_t)i * packed->strides[input + other];
        views[other].axes[0].n = views[other].axes[1].n = 1;
        views[other].axes[2].n = packed->n[i];
        views[other].z_first = slices[0].z_first + i;
        views[other].masked = false;
        views[other].valid = NULL;
    }
}
