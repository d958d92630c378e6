/* SPDX-License-Identifier: Apache-2.0
 *
 * One stage over whole images in memory, slab by slab.
 */
#include "stages/engine/execute.h"

#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* The same slices of an image and, for input 0, of the references that stream with the input. */
static void cut_slices(const struct stage_context *context, int input, const struct ts_image *image,
                       const struct ts_image *const references[STAGE_REFERENCES], int64_t z, int64_t n,
                       struct ts_image slices[STAGE_INPUTS])
{
    slices[0] = ts_image_slices(image, z, n);
    for (int i = 0; input == 0 && references && i < STAGE_REFERENCES; i++)
        if (ts_stage_travels(context, i))
            slices[1 + i] = ts_image_slices(references[i], z, n);
}

static enum ts_status reduce_volumes(const struct stage_context *context, struct stage_reduced *reduced,
                                     const struct ts_image *in,
                                     const struct ts_image *const references[STAGE_REFERENCES], int64_t slab)
{
    const int rounds = ts_stage_rounds(context);
    bool any = false;
    for (int input = 0; input < STAGE_INPUTS; input++)
        any |= ts_stage_reduces_volume(context, input);
    for (int round = 0; any && round < rounds; round++) {
        for (int input = 0; input < STAGE_INPUTS; input++) {
            const struct ts_image *image = input == 0 ? in : references ? references[input - 1] : NULL;
            if (!image || !ts_stage_reduces_volume(context, input))
                continue;
            for (int64_t z = 0; z < image->axes[0].n; z += slab) {
                const int64_t left = image->axes[0].n - z;
                struct ts_image slices[STAGE_INPUTS];
                cut_slices(context, input, image, references, z, left < slab ? left : slab, slices);
                ts_stage_reduced_add(reduced, input, slices);
            }
        }
        const enum ts_status status = ts_stage_reduced_finish(reduced);
        if (status != TS_OK)
            return status;
    }
    return TS_OK;
}

static enum ts_status map_slab(struct stage_context *context, struct stage_reduced *reduced, const struct ts_image *in,
                               struct ts_image *out, const struct ts_image *const references[STAGE_REFERENCES],
                               int64_t z, int64_t n, void *room, void *scratch)
{
    const struct stage_reach reach = ts_stage_reach(context);
    struct ts_image slices[STAGE_INPUTS];
    cut_slices(context, 0, in, references, z, n, slices);
    if (reduced && ts_stage_reduces_slices(context)) {
        const enum ts_status status = ts_stage_reduced_slab(reduced, slices);
        if (status != TS_OK)
            return status;
    }
    if (!context->stage->map)
        return TS_OK;
    struct ts_image rows[STAGE_TABLES], target = ts_image_slices(out, z, n);
    ts_stage_pad(&reach, &context->in, in, 1, z, n, room, &slices[0]);
    ts_stage_reduced_lend(reduced, &target, rows, context);
    return context->stage->map(context, slices, &target, scratch);
}

void ts_stage_inputs_alike(const struct stage_context *context, const struct ts_image *in,
                           struct ts_image images[STAGE_INPUTS])
{
    images[0] = *in;
    for (int i = 0; i < STAGE_REFERENCES; i++) {
        images[1 + i] = context->references[i] ? *context->references[i] : (struct ts_image){0};
        images[1 + i].data = context->references[i] ? in->data : NULL;
    }
}

enum ts_status ts_stage_apply(struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                              const struct ts_image *const references[STAGE_REFERENCES], int64_t slab,
                              struct stage_reduced **kept)
{
    const int64_t nz = in->axes[0].n;
    const struct stage_reach reach = ts_stage_reach(context);
    struct stage_reduced *reduced = NULL;
    void *room = NULL, *scratch = NULL;
    enum ts_status status;
    slab = slab > 0 && slab < nz ? slab : nz;
    if (kept)
        *kept = NULL;
    status = ts_stage_transforms_create(context);
    if (status == TS_OK && ts_stage_has_state(context)) {
        status = ts_stage_reduced_create(context, slab, &reduced);
        if (status == TS_OK)
            status = reduce_volumes(context, reduced, in, references, slab);
        if (status == TS_OK && ts_stage_finds_axes(context)) {
            status = ts_stage_find_axes(context, ts_stage_reduced_result(reduced));
            memcpy(out->axes, context->out.axes, sizeof out->axes);
        }
    }
    if (status == TS_OK && context->stage->map) {
        const size_t scratch_bytes = context->stage->scratch_bytes ? context->stage->scratch_bytes(context, slab) : 0;
        room = ts_memory_aligned((size_t)(slab + 2 * reach.halo) * ts_slice_bytes(in));
        scratch = ts_memory_aligned(scratch_bytes);
        if (!room || !scratch)
            status = ts_diag_no_memory(context->diag, scratch_bytes);
    }
    for (int64_t z = 0; status == TS_OK && z < nz; z += slab)
        status = map_slab(context, reduced, in, out, references, z, nz - z < slab ? nz - z : slab, room, scratch);
    free(room);
    free(scratch);
    ts_stage_transforms_destroy(context);
    if (kept && status == TS_OK)
        *kept = reduced;
    else
        ts_stage_reduced_destroy(reduced);
    return status;
}
