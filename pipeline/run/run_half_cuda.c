/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs of 32-bit floats that the file holds as halves are rounded on the device that computes
 * them, so that the compressor and the bus move two bytes a value. If outputs are not compressed
 * here, each slab of the ring has halves of its own that wait for their download. Values that no
 * half can hold are noted on the device, and reported at the end of a pass: the writer then refuses
 * the file. Built only with CUDA.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/values/half.h"
#include "pipeline/run/run_cuda.h"

enum ts_status ts_run_cuda_half_create(struct run *run)
{
    struct device *device = run->back;
    const size_t bytes = ts_plan_largest_bytes(run->plan);
    if (bytes == 0)
        return TS_OK;
    device->largest = ts_cuda_allocate(device->session, bytes);
    device->found_largest = ts_cuda_allocate_pinned(device->session, bytes);
    bool complete = device->largest && device->found_largest;
    for (int32_t i = 0; complete && i < run->plan->n_nodes; i++) {
        const size_t slab = ts_plan_halves_bytes(run->plan, i);
        complete =
            slab == 0 || (device->halves[i] = ts_cuda_allocate(device->session, PLAN_RING * slab));
    }
    const enum ts_status status =
        complete ? ts_cuda_half_load(ts_cuda_session_device(device->session), run->diag)
                 : TS_RUN_FAILED;
    return status == TS_OK ? ts_cuda_fill(device->session, CUDA_COMPUTE, device->largest, 0, bytes)
                           : status;
}

enum ts_status ts_run_cuda_leave(struct run *run, int32_t i, const struct ts_image *slices,
                                 void *to, size_t *bytes)
{
    const struct device *device = run->back;
    *bytes = ts_image_bytes(slices);
    if (!ts_plan_rounds(run->plan, i))
        return ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_ON_DEVICE, to, slices->data,
                            *bytes);
    *bytes = ts_image_count(slices) * sizeof(uint16_t);
    return ts_cuda_half_round(ts_cuda_session_device(device->session), slices->data,
                              ts_image_count(slices), to, &device->largest[i],
                              ts_cuda_stream(device->session, CUDA_COMPUTE), run->diag);
}

enum ts_status ts_run_cuda_half(struct run *run, int32_t i, struct ts_image *slices)
{
    const struct device *device = run->back;
    if (!ts_plan_leaves_rounded(run->plan, i))
        return TS_OK;
    size_t bytes;
    void *to = device->halves[i] + (size_t)ts_run_cuda_place(run, run->slab_number) *
                                       ts_plan_halves_bytes(run->plan, i);
    const enum ts_status status = ts_run_cuda_leave(run, i, slices, to, &bytes);
    slices->dtype = TS_F16;
    slices->data = to;
    return status;
}

enum ts_status ts_run_cuda_half_report(struct run *run)
{
    const struct device *device = run->back;
    if (!device->largest)
        return TS_OK;
    enum ts_status status =
        ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_TO_HOST, device->found_largest,
                     device->largest, ts_plan_largest_bytes(run->plan));
    if (status == TS_OK)
        status = ts_cuda_wait(device->session, CUDA_COMPUTE);
    for (int32_t i = 0; status == TS_OK && i < run->plan->n_nodes; i++) {
        float largest;
        memcpy(&largest, &device->found_largest[i], sizeof largest);
        run->results[i].largest = fmaxf(run->results[i].largest, largest);
    }
    return status;
}
