/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of a stage on a CUDA device is measured in the queue, between two events around each of
 * its calls, since the calls themselves only enqueue work. The pairs of events are used in turn: if
 * all are in use, the oldest call is waited for; the queue then holds so many later calls that the
 * device does not idle. Built only with CUDA.
 */
#include "pipeline/run/run_cuda.h"

/* ---- the profile ----------------------------------------------------------------------------- */

enum ts_status ts_run_cuda_begin_profile(struct run *run)
{
    struct device *device = run->back;
    if (!run->state->trace)
        return TS_OK;
    device->origin = ts_cuda_event_create(device->session);
    enum ts_status status =
        device->origin ? ts_cuda_event_record(device->session, device->origin, CUDA_COMPUTE)
                       : TS_RUN_FAILED;
    if (status == TS_OK)
        status = ts_cuda_host_waits(device->session, device->origin);
    device->origin_seconds = ts_trace_begin(run->state->trace);
    return status;
}

/* Returns how long a queue took from one event to another, after waiting for that, and adds it to
   the profile. */
static enum ts_status run_times_cuda_measure(struct run *run, struct trace_stretch stretch,
                                             struct cuda_event *from, struct cuda_event *to,
                                             double *seconds)
{
    const struct device *device = run->back;
    float begin_ms = 0, ms = 0;
    enum ts_status status = ts_cuda_host_waits(device->session, to);
    if (status == TS_OK)
        status = ts_cuda_elapsed_ms(device->session, from, to, &ms);
    if (status == TS_OK && run->state->trace)
        status = ts_cuda_elapsed_ms(device->session, device->origin, from, &begin_ms);
    *seconds = 1e-3 * (double)ms;
    stretch.begin = device->origin_seconds + 1e-3 * (double)begin_ms;
    stretch.end = stretch.begin + *seconds;
    ts_trace_put(run->state->trace, stretch);
    return status;
}

enum ts_status ts_run_cuda_trace_piece(struct run *run, enum trace_part part,
                                       struct staging *staging, int place)
{
    const struct trace_stretch stretch = {.part = part, .bytes = staging->bytes[place]};
    double seconds;
    staging->bytes[place] = 0;
    return run->state->trace && stretch.bytes > 0
               ? run_times_cuda_measure(run, stretch, staging->started[place],
                                        staging->copied[place], &seconds)
               : TS_OK;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Adds the oldest call to its node's time and to the profile, which frees its events. */
static enum ts_status add_oldest(struct run *run)
{
    struct device *device = run->back;
    const struct timed_call *call = &device->calls[device->n_added++ % TIMED_CALLS];
    const struct plan_node *node = call->node >= 0 ? &run->plan->nodes[call->node] : NULL;
    const struct trace_stretch stretch = {
        .part = TRACE_COMPUTE, .bytes = call->bytes, .stage = node ? node->label : NULL};
    double seconds;
    const enum ts_status status =
        run_times_cuda_measure(run, stretch, call->began, call->ended, &seconds);
    if (node)
        run->state->seconds[call->node] += seconds;
    return status;
}

enum ts_status ts_run_cuda_begin_call(struct run *run, int32_t node)
{
    struct device *device = run->back;
    if (run->captured) /* there is no time yet */
        return TS_OK;
    struct timed_call *call = &device->calls[device->n_calls % TIMED_CALLS];
    const enum ts_status status =
        device->n_calls - device->n_added == TIMED_CALLS ? add_oldest(run) : TS_OK;
    if (!call->began)
        call->began = ts_cuda_event_create(device->session);
    if (!call->ended)
        call->ended = ts_cuda_event_create(device->session);
    if (status != TS_OK || !call->began || !call->ended)
        return TS_RUN_FAILED;
    call->node = node;
    ts_run_cuda_iterating(run, node, device->n_calls + 1);
    return ts_cuda_event_record(device->session, call->began, CUDA_COMPUTE);
}

enum ts_status ts_run_cuda_end_call(struct run *run, const struct ts_image *made)
{
    struct device *device = run->back;
    if (run->captured)
        return TS_OK;
    struct timed_call *call = &device->calls[device->n_calls++ % TIMED_CALLS];
    call->bytes = made ? ts_image_bytes(made) : 0;
    return ts_cuda_event_record(device->session, call->ended, CUDA_COMPUTE);
}

enum ts_status ts_run_cuda_add_times(struct run *run)
{
    const struct device *device = run->back;
    enum ts_status status = TS_OK;
    while (status == TS_OK && device->n_added < device->n_calls)
        status = add_oldest(run);
    return status;
}
