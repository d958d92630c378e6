/* SPDX-License-Identifier: Apache-2.0
 *
 * The time of a stage on a CUDA device is what passes in the queue between two events around each of its calls, since
 * the calls themselves only enqueue work. The pairs of events go round: the oldest call is waited for where all pairs
 * are in use, and the queue then holds so many later calls that the device does not idle. Built only with CUDA.
 */
#include "pipeline/run/run_cuda.h"

/* Adds the time of the oldest call to its node, which frees its events. */
static enum ts_status add_oldest(struct run *run)
{
    struct device *device = run->back;
    const struct timed_call *call = &device->calls[device->n_added++ % TIMED_CALLS];
    float ms = 0;
    enum ts_status status = ts_cuda_host_waits(device->session, call->ended);
    if (status == TS_OK)
        status = ts_cuda_elapsed_ms(device->session, call->began, call->ended, &ms);
    run->plan->nodes[call->node].seconds += 1e-3 * (double)ms;
    return status;
}

enum ts_status ts_run_cuda_begin_call(struct run *run, int32_t node)
{
    struct device *device = run->back;
    struct timed_call *call = &device->calls[device->n_calls % TIMED_CALLS];
    const enum ts_status status = device->n_calls - device->n_added == TIMED_CALLS ? add_oldest(run) : TS_OK;
    if (!call->began)
        call->began = ts_cuda_event_create(device->session);
    if (!call->ended)
        call->ended = ts_cuda_event_create(device->session);
    if (status != TS_OK || !call->began || !call->ended)
        return TS_RUN_FAILED;
    call->node = node;
    return ts_cuda_event_record(device->session, call->began, CUDA_COMPUTE);
}

enum ts_status ts_run_cuda_end_call(struct run *run)
{
    struct device *device = run->back;
    return ts_cuda_event_record(device->session, device->calls[device->n_calls++ % TIMED_CALLS].ended, CUDA_COMPUTE);
}

enum ts_status ts_run_cuda_add_times(struct run *run)
{
    const struct device *device = run->back;
    enum ts_status status = TS_OK;
    while (status == TS_OK && device->n_added < device->n_calls)
        status = add_oldest(run);
    return status;
}
