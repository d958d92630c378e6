/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators on a CUDA device. All is allocated and every kernel loaded when an operator is made, so
 * that a call only enqueues kernels and copies on the caller's stream. Built only with CUDA.
 */
#include <stdlib.h>

#include "core/arena.h"
#include "cuda/device/driver.h"
#include "cuda/device/gather.h"
#include "cuda/device/session.h"
#include "pipeline/operator/operator.h"

struct on_device {
    struct cuda_session *session;
    struct cuda_memory *memory; /* outlives the session */
    int before;                 /* the thread's device before a call */
};

static struct on_device *device_of(const struct ts_operator *op)
{
    return op->on_device;
}

static struct CUstream_st *stream_of(const struct ts_operator *op)
{
    return ts_cuda_stream(device_of(op)->session, CUDA_COMPUTE);
}

/* ---- creating -------------------------------------------------------------------------------- */

static enum ts_status create_driver(struct cuda_session *session, struct operator_side *side)
{
    if (!side->context.stage)
        return TS_OK;
    const int64_t slices = ts_stage_most_slices(&side->context);
    void *padded = ts_cuda_allocate(session, ts_driver_padded_bytes(&side->context, slices));
    return padded ? ts_cuda_driver_create(session, &side->context, slices, padded, &side->driver)
                  : TS_RUN_FAILED;
}

static enum ts_status allocate_zeros(struct cuda_session *session, const struct ts_image *image,
                                     float **at)
{
    const size_t bytes = ts_image_bytes(image);
    *at = ts_cuda_allocate(session, bytes);
    return *at ? ts_cuda_fill(session, CUDA_COMPUTE, *at, 0, bytes) : TS_RUN_FAILED;
}

/* Copies a list to the device, to which *list then points. */
static enum ts_status send(struct cuda_session *session, const void **list, size_t bytes)
{
    void *to = ts_cuda_allocate(session, bytes);
    const enum ts_status status =
        to ? ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_DEVICE, to, *list, bytes) : TS_RUN_FAILED;
    *list = to;
    return status;
}

static enum ts_status send_gather(struct cuda_session *session, struct stage_gather *gather)
{
    enum ts_status status = TS_OK;
    for (int d = 0; status == TS_OK && d < 3; d++) {
        const void *start = gather->start[d], *index = gather->index[d],
                   *weight = gather->weight[d];
        const size_t n = (size_t)gather->start[d][gather->n_out[d]];
        status = send(session, &start, (size_t)(gather->n_out[d] + 1) * sizeof(int64_t));
        if (status == TS_OK)
            status = send(session, &index, n * sizeof(int64_t));
        if (status == TS_OK)
            status = send(session, &weight, n * sizeof(float));
        gather->start[d] = start;
        gather->index[d] = index;
        gather->weight[d] = weight;
    }
    return status;
}

static enum ts_status operator_cuda_allocate(struct ts_operator *op, struct cuda_session *session)
{
    struct operator_side *back = &op->back;
    enum ts_status status = create_driver(session, &op->forth);
    if (status == TS_OK)
        status = create_driver(session, back);
    if (status == TS_OK)
        status = allocate_zeros(session, &op->forth.out, &op->middle);
    if (status == TS_OK && back->gather.n_in[0] > 0)
        status = send_gather(session, &back->gather);
    if (status == TS_OK && back->driver && back->gather.n_in[0] > 0) {
        status = allocate_zeros(session, &back->context.in, &back->wide_in);
        if (status == TS_OK)
            status = allocate_zeros(session, &back->context.out, &back->wide_out);
    }
    return status == TS_OK ? ts_cuda_wait(session, CUDA_COMPUTE) : status;
}

/* Creates a session whose memory is from the caller's allocator, if there is one. */
static enum ts_status create_session(const struct ts_operator *op, struct on_device *made,
                                     struct ts_diag *diag)
{
    enum ts_status status = ts_cuda_session_create(op->device, 0, diag, &made->session);
    if (status != TS_OK || !op->allocator.allocate)
        return status;
    made->memory = ts_cuda_memory_create(op->device, &op->allocator);
    return made->memory ? ts_cuda_session_memory(made->session, made->memory)
                        : ts_diag_no_memory(diag, 0);
}

static void destroy_session(struct on_device *made)
{
    ts_cuda_session_destroy(made->session);
    ts_cuda_memory_destroy(made->memory);
}

/* Computes both sides once, of zeros, since CUDA loads a kernel when it is first launched, which
 * takes long and may not be captured in a graph. */
static enum ts_status load_kernels(struct ts_operator *op, struct ts_diag *diag)
{
    struct on_device apart = {.session = NULL};
    float *image = NULL;
    enum ts_status status = create_session(op, &apart, diag);
    if (status == TS_OK)
        status = allocate_zeros(apart.session, &op->forth.in, &image);
    if (status == TS_OK)
        status = ts_cuda_wait(apart.session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_operator_side_run(op, &op->forth, image, op->middle);
    if (status == TS_OK)
        status = ts_operator_side_run(op, &op->back, op->middle, image);
    if (status == TS_OK)
        status = ts_cuda_wait(device_of(op)->session, CUDA_COMPUTE);
    destroy_session(&apart);
    return status;
}

static enum ts_status create(struct ts_operator *op, struct ts_diag *diag)
{
    const int before = ts_cuda_current();
    struct on_device *on_device = ts_arena_alloc(op->arena, sizeof *on_device);
    op->on_device = on_device;
    enum ts_status status = on_device ? create_session(op, on_device, diag)
                                      : ts_diag_no_memory(diag, sizeof *on_device);
    if (status == TS_OK)
        status = operator_cuda_allocate(op, on_device->session);
    if (status == TS_OK)
        status = load_kernels(op, diag);
    ts_cuda_make_current(before);
    return status;
}

static void destroy(struct ts_operator *op)
{
    const int before = ts_cuda_current();
    if (!op->on_device)
        return;
    ts_cuda_make_current(op->device->index);
    ts_driver_destroy(op->forth.driver);
    ts_driver_destroy(op->back.driver);
    destroy_session(op->on_device);
    ts_cuda_make_current(before);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum ts_status operator_cuda_begin(struct ts_operator *op, void *stream,
                                          struct ts_diag *diag)
{
    struct on_device *on_device = device_of(op);
    on_device->before = ts_cuda_current();
    if (on_device->before != op->device->index)
        ts_cuda_make_current(op->device->index);
    ts_cuda_lend(on_device->session, stream, diag);
    enum ts_status status = ts_cuda_driver_follow(op->forth.driver);
    if (status == TS_OK && op->back.driver)
        status = ts_cuda_driver_follow(op->back.driver);
    return status;
}

static void end(struct ts_operator *op)
{
    struct on_device *on_device = device_of(op);
    ts_cuda_lend_end(on_device->session);
    if (on_device->before != op->device->index)
        ts_cuda_make_current(on_device->before);
}

static enum ts_status embed(struct ts_operator *op, struct operator_side *side, const float *in)
{
    int64_t n[3], wide[3];
    for (int d = 0; d < 3; d++) {
        n[d] = side->in.axes[d].n;
        wide[d] = side->context.in.axes[d].n;
    }
    return ts_cuda_embed(&op->forth.context, n, wide, in, side->wide_in, stream_of(op));
}

static enum ts_status gather(struct ts_operator *op, struct operator_side *side, const float *in,
                             float *out)
{
    return ts_cuda_gather(&op->forth.context, &side->gather, in, out, stream_of(op));
}

const struct operator_device ts_operator_cuda = {.create = create,
                                                 .destroy = destroy,
                                                 .begin = operator_cuda_begin,
                                                 .end = end,
                                                 .embed = embed,
                                                 .gather = gather};
