/* SPDX-License-Identifier: Apache-2.0
 *
 * Moves the totals of reductions over a volume: to another device of this process, and to the host,
 * where the totals of several processes are joined.
 */
#include "cuda/device/driver_state.h"

enum ts_status ts_cuda_driver_copy(struct cuda_driver *driver, enum cuda_direction direction,
                                   void *to, const void *from, size_t bytes)
{
    const enum ts_status status =
        ts_cuda_copy(driver->session, CUDA_COMPUTE, direction, to, from, bytes);
    return status == TS_OK ? ts_cuda_wait(driver->session, CUDA_COMPUTE) : status;
}

enum ts_status ts_cuda_driver_bring_total(struct stage_driver *base,
                                          const struct stage_driver *of_other, int input,
                                          struct cuda_event *reached)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct cuda_driver *other = (const struct cuda_driver *)of_other;
    const size_t bytes = driver->cuda->reduction->partial_bytes(&base->context, input);
    driver->begun[input] = other->begun[input];
    if (bytes == 0 || !other->begun[input])
        return TS_OK;
    enum ts_status status = ts_cuda_event_record(other->session, reached, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_queue_waits(driver->session, CUDA_COMPUTE, reached);
    return status == TS_OK ? ts_cuda_copy(driver->session, CUDA_COMPUTE, CUDA_BETWEEN,
                                          driver->partials[input], other->partials[input], bytes)
                           : status;
}

size_t ts_cuda_driver_counts(const struct stage_driver *base, int input)
{
    const struct cuda_driver *driver = (const struct cuda_driver *)base;
    return driver->finishes ? driver->cuda->reduction->partial_bytes(&base->context, input) : 0;
}

enum ts_status ts_cuda_driver_collect(struct stage_driver *base, int input)
{
    struct cuda_driver *driver = cuda_of(base);
    const struct cuda_reduction *reduction = driver->cuda->reduction;
    const size_t bytes = driver->begun[input] ? reduction->partial_bytes(&base->context, input) : 0;
    driver->begun[input] = false;
    if (bytes == 0)
        return TS_OK;
    void *total = ts_stage_reduced_total(base->reduced, input);
    if (driver->finishes)
        return ts_cuda_driver_copy(driver, CUDA_TO_HOST, total, driver->partials[input], bytes);
    const enum ts_status status =
        ts_cuda_driver_copy(driver, CUDA_TO_HOST, driver->pinned, driver->partials[input], bytes);
    if (status == TS_OK)
        reduction->collect(&base->context, input, driver->pinned, total);
    return status;
}

void ts_cuda_driver_forget(struct stage_driver *base, int input)
{
    cuda_of(base)->begun[input] = false;
}

enum ts_status ts_cuda_driver_return_counts(struct cuda_driver *driver)
{
    const void *total = ts_stage_reduced_sum(driver->base.reduced, 0);
    if (!total)
        return TS_OK;
    ts_stage_reduced_forget(driver->base.reduced, 0);
    return ts_cuda_driver_copy(driver, CUDA_TO_DEVICE, driver->partials[0], total,
                               ts_cuda_driver_counts(&driver->base, 0));
}
