/* SPDX-License-Identifier: Apache-2.0
 *
 * One stage over whole images of the host, slab by slab on a CUDA device: for tests and small callers, without overlap.
 * The output starts out poisoned, between guards that must be whole in the end.
 */
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "cuda/device/stage_state.h"

enum { GUARD = 4096, GUARD_BYTE = 0xA5, POISON_BYTE = 0xFF };

struct apply {
    struct stage_context *context;
    struct cuda_session *session;
    struct cuda_stage *stage;
    const struct ts_image *in;
    const struct ts_image *const *references;
    int64_t slab;
    void *inputs[STAGE_INPUTS]; /* on the device: slabs, with halo for input 0 */
    unsigned char *output;      /* on the device: guard, slab, guard */
    void *room;                 /* on the host: a slab with its halo */
};

static enum ts_status take_memory(struct apply *apply, const struct ts_image *out)
{
    const struct stage_reach reach = ts_stage_reach(apply->context);
    bool complete = true;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const struct ts_image *image = input == 0 ? apply->in : apply->references ? apply->references[input - 1] : NULL;
        const int64_t slices = apply->slab + (input == 0 ? 2 * reach.halo : 0);
        if (image && complete)
            complete = (apply->inputs[input] = ts_cuda_take(apply->session, (size_t)slices * ts_slice_bytes(image)));
    }
    if (complete && apply->context->stage->cuda->map)
        complete = (apply->output =
                        ts_cuda_take(apply->session, 2 * GUARD + (size_t)apply->slab * ts_slice_bytes(out))) != NULL;
    if (!complete)
        return TS_RUN_FAILED;
    const size_t room = (size_t)(apply->slab + 2 * reach.halo) * ts_slice_bytes(apply->in);
    apply->room = ts_memory_aligned(room);
    return apply->room ? TS_OK : ts_diag_no_memory(apply->context->diag, room);
}

/* The same slices of an input, and of the references that stream with the input, on the device. */
static enum ts_status upload(struct apply *apply, int input, int64_t z, int64_t n, struct ts_image slices[STAGE_INPUTS])
{
    enum ts_status status = TS_OK;
    for (int other = input; status == TS_OK && other < STAGE_INPUTS; other++) {
        if (other != input && (input != 0 || !ts_stage_travels(apply->context, other - 1)))
            continue;
        const struct ts_image part = ts_image_slices(other == 0 ? apply->in : apply->references[other - 1], z, n);
        slices[other - input] = part;
        slices[other - input].data = apply->inputs[other];
        status = ts_cuda_copy(apply->session, CUDA_COMPUTE, CUDA_TO_DEVICE, apply->inputs[other], part.data,
                              ts_image_bytes(&part));
    }
    return status;
}

static enum ts_status reduce_volumes(struct apply *apply)
{
    enum ts_status status = TS_OK;
    bool any = false;
    for (int input = 0; input < STAGE_INPUTS; input++)
        any |= ts_stage_reduces_volume(apply->context, input);
    for (int round = 0; any && status == TS_OK && round < ts_stage_rounds(apply->context); round++) {
        for (int input = 0; input < STAGE_INPUTS; input++) {
            if (!ts_stage_reduces_volume(apply->context, input))
                continue;
            const struct ts_image *image = input == 0 ? apply->in : apply->references[input - 1];
            for (int64_t z = 0; status == TS_OK && z < image->axes[0].n; z += apply->slab) {
                const int64_t left = image->axes[0].n - z;
                struct ts_image slices[STAGE_INPUTS];
                status = upload(apply, input, z, left < apply->slab ? left : apply->slab, slices);
                if (status == TS_OK)
                    status = ts_cuda_stage_add(apply->stage, input, slices);
            }
        }
        if (status == TS_OK)
            status = ts_cuda_stage_finish(apply->stage);
    }
    return status;
}

static enum ts_status check_guards(struct apply *apply, const unsigned char *before, const unsigned char *after)
{
    for (size_t i = 0; i < GUARD; i++)
        if (before[i] != GUARD_BYTE || after[i] != GUARD_BYTE)
            return ts_diag_error(apply->context->diag, TS_RUN_FAILED,
                                 &(struct diag_site){.code = "cuda-guard", .stage = apply->context->stage->name},
                                 "its CUDA code wrote outside its output");
    return TS_OK;
}

static enum ts_status map_slab(struct apply *apply, struct ts_image *out, int64_t z, int64_t n)
{
    const struct stage_reach reach = ts_stage_reach(apply->context);
    struct cuda_session *session = apply->session;
    struct ts_image slices[STAGE_INPUTS], target = ts_image_slices(out, z, n);
    unsigned char guards[2 * GUARD], *end = apply->output + GUARD + ts_image_bytes(&target);
    enum ts_status status = upload(apply, 0, z, n, slices);
    ts_stage_pad(&reach, &apply->context->in, apply->in, 1, z, n, apply->room, &slices[0]);
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, apply->inputs[0], slices[0].data,
                              ts_image_bytes(&slices[0]));
    slices[0].data = apply->inputs[0];
    target.data = apply->output + GUARD;
    if (status == TS_OK)
        status = ts_cuda_fill(session, CUDA_COMPUTE, apply->output, GUARD_BYTE, GUARD);
    if (status == TS_OK)
        status = ts_cuda_fill(session, CUDA_COMPUTE, target.data, POISON_BYTE, ts_image_bytes(&target));
    if (status == TS_OK)
        status = ts_cuda_fill(session, CUDA_COMPUTE, end, GUARD_BYTE, GUARD);
    if (status == TS_OK)
        status = ts_cuda_stage_map(apply->stage, slices, &target);
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, ts_slice_data(out, z), target.data,
                              ts_image_bytes(&target));
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, guards, apply->output, GUARD);
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, guards + GUARD, end, GUARD);
    if (status == TS_OK)
        status = ts_cuda_wait(session, CUDA_COMPUTE);
    return status == TS_OK ? check_guards(apply, guards, guards + GUARD) : status;
}

static enum ts_status apply_slab(struct apply *apply, struct ts_image *out, int64_t z, int64_t n)
{
    enum ts_status status = TS_OK;
    if (apply->context->stage->reduction && ts_stage_reduces_slices(apply->context)) {
        struct ts_image slices[STAGE_INPUTS];
        status = upload(apply, 0, z, n, slices);
        if (status == TS_OK)
            status = ts_cuda_stage_slab(apply->stage, slices);
    }
    return status == TS_OK && apply->context->stage->cuda->map ? map_slab(apply, out, z, n) : status;
}

enum ts_status ts_cuda_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                             struct stage_reduced **reduced)
{
    const int64_t nz = in->axes[0].n;
    struct apply apply = {.context = context, .in = in, .references = references};
    apply.slab = slab > 0 && slab < nz ? slab : nz;
    /* A reference may have more slices than the input. */
    for (int i = 0; slab <= 0 && references && i < STAGE_REFERENCES; i++)
        if (references[i] && references[i]->axes[0].n > apply.slab)
            apply.slab = references[i]->axes[0].n;
    if (reduced)
        *reduced = NULL;
    enum ts_status status = ts_cuda_session_create(context->device, 0, context->diag, &apply.session);
    if (status == TS_OK)
        status = take_memory(&apply, out);
    if (status == TS_OK)
        status = ts_cuda_stage_create(apply.session, context, apply.slab, &apply.stage);
    if (status == TS_OK && context->stage->reduction)
        status = reduce_volumes(&apply);
    if (status == TS_OK && ts_stage_finds_axes(context)) {
        status = ts_stage_find_axes(context, ts_stage_reduced_result(ts_cuda_stage_reduced(apply.stage)));
        if (status == TS_OK)
            status = ts_cuda_stage_renew(apply.stage, context);
        memcpy(out->axes, context->out.axes, sizeof out->axes);
    }
    for (int64_t z = 0; status == TS_OK && z < nz; z += apply.slab)
        status = apply_slab(&apply, out, z, nz - z < apply.slab ? nz - z : apply.slab);
    if (status == TS_OK)
        status = ts_cuda_wait(apply.session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_stage_fetch_tables(apply.stage);
    if (status == TS_OK && reduced)
        *reduced = ts_cuda_stage_reduced_take(apply.stage);
    ts_cuda_stage_destroy(apply.stage);
    ts_cuda_session_destroy(apply.session);
    free(apply.room);
    return status;
}
