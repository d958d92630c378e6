/* SPDX-License-Identifier: Apache-2.0
 *
 * Launchers call these functions to prepare, launch and check their kernels. A CUDA runtime knows
 * only the kernels of the program or library that it is linked into. The programs of lab/ have
 * kernels, and a runtime, of their own: they are linked with this file a second time, so that it
 * asks their runtime.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cuda/device/device.h"
#include "cuda/device/launch.h"
#include "cuda/device/session.h"

/* ---- shared memory -----------------------------------------------------------------------------
 *
 * A kernel keeps the shared memory that it was allowed, in its device's context, for all threads.
 * This table remembers how much each kernel was allowed. So a launch asks the driver only if it
 * needs more, which makes calls shorter, and it never takes back memory that a launch of another
 * thread is about to use. */

enum { GRANTS = 512, PROBES = 16 };

struct grant {
    const void *_Atomic kernel; /* NULL: the place is free */
    struct {
        _Atomic unsigned session; /* how many were begun then */
        _Atomic size_t bytes;
    } of[CUDA_MAX_DEVICES];
};

static struct grant grants[GRANTS];
static pthread_mutex_t granting = PTHREAD_MUTEX_INITIALIZER;

/* Returns the entry of the kernel, which it takes if a free one comes first among its PROBES
 * places; NULL if all of them belong to other kernels. Places follow from the address (Knuth's
 * multiplicative hash; functions begin on 16 bytes). */
static struct grant *grant_of(const void *kernel)
{
    const size_t first = (size_t)((uintptr_t)kernel / 16 * 2654435761u);
    for (size_t i = 0; i < PROBES; i++) {
        struct grant *grant = &grants[(first + i) % GRANTS];
        const void *there = NULL;
        /* A failed exchange sets `there` to the kernel that has the place. */
        if (atomic_compare_exchange_strong(&grant->kernel, &there, kernel) || there == kernel)
            return grant;
    }
    return NULL;
}

static cudaError_t allow(const void *kernel, int device, size_t bytes)
{
    struct grant *grant = grant_of(kernel);
    const unsigned session = ts_cuda_sessions_begun();
    if (!grant)
        return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)bytes);
    if (atomic_load(&grant->of[device].session) == session &&
        atomic_load(&grant->of[device].bytes) >= bytes)
        return cudaSuccess;
    pthread_mutex_lock(&granting);
    const size_t before = atomic_load(&grant->of[device].bytes),
                 most = before > bytes ? before : bytes;
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most);
    if (error == cudaSuccess) {
        atomic_store(&grant->of[device].bytes, most);
        atomic_store(&grant->of[device].session, session);
    }
    pthread_mutex_unlock(&granting);
    return error;
}

enum ts_status ts_cuda_shared(const struct stage_context *context, const void *kernel, size_t bytes)
{
    const struct device_numbers *device = context->device;
    if (bytes > (size_t)device->block_shared_bytes) {
        ts_diag_error(context->diag, TS_RUN_FAILED,
                      &(struct diag_site){.code = "cuda-shared", .stage = context->stage->name},
                      "a block needs %zu bytes of shared memory, and device %d (%s) gives it %d",
                      bytes, device->index, device->name, device->block_shared_bytes);
        return ts_diag_hint(context->diag, "another method, or --device cpu, would do");
    }
    return ts_cuda_fold(context->diag, context->stage->name, allow(kernel, device->index, bytes),
                        "reserving shared memory");
}

/* ---- launches -------------------------------------------------------------------------------- */

enum ts_status ts_cuda_launched(const struct stage_context *context, const char *kernel)
{
    ts_cuda_count_launch(kernel);
    return ts_cuda_fold(context->diag, context->stage->name, cudaGetLastError(), kernel);
}

enum ts_status ts_cuda_load(const struct stage_context *context, const void *const *kernels, int n)
{
    struct cudaFuncAttributes attributes;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < n && error == cudaSuccess; i++)
        error = cudaFuncGetAttributes(&attributes, kernels[i]);
    return ts_cuda_fold(context->diag, context->stage->name, error, "loading kernels");
}

/* Blocks are limited by the actual device, and by the numbers of the context's device, which tests
 * make smaller. */
enum ts_status ts_cuda_launch_together(const struct stage_context *context, const void *kernel,
                                       const char *name, int threads, int most, void **arguments,
                                       struct CUstream_st *stream)
{
    enum { SYSTEM_BYTES = 1024 }; /* the system takes this much of each block's shared memory */
    const struct device_numbers *device = context->device;
    struct cudaFuncAttributes attributes;
    int resident = 0;
    cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
    if (error == cudaSuccess)
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, 0);
    if (error != cudaSuccess)
        return ts_cuda_fold(context->diag, context->stage->name, error, name);
    const int by_memory =
        (int)((size_t)device->shared_bytes / (attributes.sharedSizeBytes + SYSTEM_BYTES));
    const int by_threads = device->threads / threads;
    resident = resident < by_memory ? resident : by_memory;
    resident = resident < by_threads ? resident : by_threads;
    resident = resident < most ? resident : most;
    const dim3 grid = {(unsigned)(device->multiprocessors * resident), 1, 1},
               block = {(unsigned)threads, 1, 1};
    (void)cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 0, stream);
    return ts_cuda_launched(context, name);
}
