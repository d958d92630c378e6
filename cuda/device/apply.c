/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs one stage over whole images of the host, slab by slab on a CUDA device, without overlap, for
 * tests and small callers. The output is filled with poison first and has guards around it that
 * must be unchanged in the end.
 */
#include <stdlib.h>

#include "core/memory.h"
#include "cuda/device/driver.h"

enum { GUARD = 4096, GUARD_BYTE = 0xA5, POISON_BYTE = 0xFF };

struct apply {
    struct stage_context *context;
    struct cuda_session *session;
    struct stage_driver *driver;
    const struct ts_image *in;
    const struct ts_image *const *references;
    struct ts_image *out;
    int64_t slab;
    void *inputs[STAGE_INPUTS]; /* on the device: a slab of each input, with its halo for input 0;
                                 * or the whole input for a stage with reads() */
    void *valid[STAGE_INPUTS];  /* on the device: the bits of masked inputs */
    unsigned char *output;      /* on the device: guard, slab, guard */
    void *padded; /* on the device: buffer in which the driver pads a slab when it replaces invalid
                   * pixels */
    struct stage_driver pads; /* on the host: only used to pad a slab with its halo */
};

static const struct ts_image *image_of(const struct apply *apply, int input)
{
    if (input == 0)
        return apply->in;
    return apply->references ? apply->references[input - 1] : NULL;
}

static enum ts_status allocate_memory(struct apply *apply)
{
    const struct stage_reach reach = ts_stage_reach(apply->context);
    const int64_t nz = apply->in->axes[0].n;
    bool complete = true;
    for (int input = 0; input < STAGE_INPUTS; input++) {
        const struct ts_image *image = image_of(apply, input);
        const int64_t slab =
            apply->context->stage->reads && input == 0 && nz > apply->slab ? nz : apply->slab;
        const int64_t slices = slab + (input == 0 ? 2 * reach.halo : 0);
        if (image && complete)
            complete =
                (apply->inputs[input] =
                     ts_cuda_allocate(apply->session, (size_t)slices * ts_slice_bytes(image))) &&
                (apply->valid[input] =
                     ts_cuda_allocate(apply->session, (size_t)slices * ts_valid_bytes(image)));
    }
    if (complete && apply->context->stage->cuda->map)
        complete = (apply->output = ts_cuda_allocate(
                        apply->session,
                        2 * GUARD + (size_t)apply->slab * ts_slice_bytes(apply->out))) != NULL;
    if (!complete)
        return TS_RUN_FAILED;
    const size_t padded = ts_driver_padded_bytes(apply->context, apply->slab);
    apply->padded = ts_cuda_allocate(apply->session, padded);
    if (!apply->padded)
        return TS_RUN_FAILED;
    apply->pads = (struct stage_driver){&ts_driver_host, .context = *apply->context,
                                        .padded = ts_memory_aligned(padded)};
    return apply->pads.padded ? TS_OK : ts_diag_no_memory(apply->context->diag, padded);
}

/* Uploads slices; `slices` then points to the device. */
static enum ts_status upload(struct apply *apply, int input, struct ts_image *slices)
{
    const size_t valid_bytes = (size_t)slices->axes[0].n * ts_valid_bytes(slices);
    enum ts_status status =
        ts_cuda_copy(apply->session, CUDA_COMPUTE, CUDA_TO_DEVICE, apply->inputs[input],
                     slices->data, ts_image_bytes(slices));
    if (status == TS_OK && valid_bytes > 0)
        status = ts_cuda_copy(apply->session, CUDA_COMPUTE, CUDA_TO_DEVICE, apply->valid[input],
                              slices->valid, valid_bytes);
    slices->data = apply->inputs[input];
    slices->valid = valid_bytes > 0 ? apply->valid[input] : NULL;
    return status;
}

/* Uploads slices of an input, and the same slices of the references that stream with it. */
static enum ts_status feed(void *from, int input, int64_t z, int64_t n,
                           struct ts_image slices[STAGE_INPUTS])
{
    struct apply *apply = from;
    enum ts_status status = TS_OK;
    for (int other = input; status == TS_OK && other < STAGE_INPUTS; other++) {
        if (other != input && (input != 0 || !ts_stage_streams(apply->context, other - 1)))
            continue;
        slices[other - input] = ts_image_slices(image_of(apply, other), z, n);
        status = upload(apply, other, &slices[other - input]);
    }
    return status;
}

static enum ts_status apply_fill(struct apply *apply, void *at, int byte, size_t bytes)
{
    return ts_cuda_fill(apply->session, CUDA_COMPUTE, at, byte, bytes);
}

static enum ts_status fetch(struct apply *apply, void *to, const void *from, size_t bytes)
{
    return ts_cuda_copy(apply->session, CUDA_COMPUTE, CUDA_TO_HOST, to, from, bytes);
}

static enum ts_status check_guards(const struct apply *apply, const unsigned char guards[2 * GUARD])
{
    for (size_t i = 0; i < 2 * GUARD; i++)
        if (guards[i] != GUARD_BYTE)
            return ts_diag_error(
                apply->context->diag, TS_RUN_FAILED,
                &(struct diag_site){.code = "cuda-guard", .stage = apply->context->stage->name},
                "its CUDA code wrote outside its output");
    return TS_OK;
}

/* Runs one slab, whose output is between guards. */
static enum ts_status map_slab(struct apply *apply, const struct ts_image *padded,
                               struct ts_image slices[STAGE_INPUTS], struct ts_image *out)
{
    const size_t bytes = ts_image_bytes(out);
    struct ts_image target = *out;
    unsigned char guards[2 * GUARD], *end = apply->output + GUARD + bytes;
    target.data = apply->output + GUARD;
    target.valid = NULL; /* only runs pass on what is valid */
    enum ts_status status = apply_fill(apply, apply->output, GUARD_BYTE, GUARD);
    if (status == TS_OK)
        status = apply_fill(apply, target.data, POISON_BYTE, bytes);
    if (status == TS_OK)
        status = apply_fill(apply, end, GUARD_BYTE, GUARD);
    if (status == TS_OK)
        status = ts_driver_slab(apply->driver, padded, 1, slices, &target);
    if (status == TS_OK)
        status = fetch(apply, out->data, target.data, bytes);
    if (status == TS_OK)
        status = fetch(apply, guards, apply->output, GUARD);
    if (status == TS_OK)
        status = fetch(apply, guards + GUARD, end, GUARD);
    if (status == TS_OK)
        status = ts_cuda_wait(apply->session, CUDA_COMPUTE);
    return status == TS_OK ? check_guards(apply, guards) : status;
}

/* The slab is padded on the host, which has all slices; on the device, the slices without halo are
 * part of it. */
static enum ts_status slab(void *from, int64_t z, int64_t n)
{
    struct apply *apply = from;
    const int64_t halo = ts_stage_reach(apply->context).halo;
    struct ts_image slices[STAGE_INPUTS], padded;
    const struct stage_slices read = ts_stage_reads(apply->context, z, z + n);
    enum ts_status status = apply->context->stage->reads
                                ? feed(apply, 0, read.first, read.end - read.first, slices)
                                : feed(apply, 0, z, n, slices);
    if (status != TS_OK || !apply->context->stage->map)
        return status == TS_OK ? ts_driver_slab(apply->driver, NULL, 0, slices, NULL) : status;
    padded = slices[0];
    if (halo > 0) {
        status = ts_driver_pad(&apply->pads, apply->in, 1, z, n, &padded);
        if (status == TS_OK)
            status = upload(apply, 0, &padded);
        slices[0].data = ts_slice_data(&padded, halo);
        slices[0].valid = ts_slice_valid(&padded, halo);
    }
    struct ts_image out = ts_image_slices(apply->out, z, n);
    return status == TS_OK ? map_slab(apply, &padded, slices, &out) : status;
}

enum ts_status ts_cuda_apply(struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES],
                             int64_t slab_slices, struct stage_reduced **reduced)
{
    const int64_t nz = ts_stage_most_slices(context);
    struct apply apply = {.context = context, .in = in, .references = references, .out = out};
    apply.slab = slab_slices > 0 && slab_slices < nz ? slab_slices : nz;
    /* A reference may have more slices than the input. */
    for (int i = 0; slab_slices <= 0 && references && i < STAGE_REFERENCES; i++)
        if (references[i] && references[i]->axes[0].n > apply.slab)
            apply.slab = references[i]->axes[0].n;
    if (reduced)
        *reduced = NULL;
    enum ts_status status =
        ts_cuda_session_create(context->device, 0, context->diag, &apply.session);
    if (status == TS_OK)
        status = allocate_memory(&apply);
    if (status == TS_OK)
        status =
            ts_cuda_driver_create(apply.session, context, apply.slab, apply.padded, &apply.driver);
    if (status == TS_OK)
        status =
            ts_driver_run(apply.driver, &(struct stage_images){feed, slab, &apply}, context, out);
    if (status == TS_OK)
        status = ts_cuda_wait(apply.session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_driver_copy_tables(apply.driver, CUDA_TO_HOST);
    if (status == TS_OK && reduced)
        *reduced = ts_driver_reduced_take(apply.driver);
    ts_driver_destroy(apply.driver);
    ts_cuda_session_destroy(apply.session);
    free(apply.pads.padded);
    return status;
}
