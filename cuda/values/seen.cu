/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of cuda/values/seen.h: a thread looks at values of a slice, a whole grid apart, with 8
 * loads in flight, and writes to memory only what it finds, which is rare. Memory traffic: 4 bytes
 * read a value. 256 threads a block, and as many blocks as the device holds at once.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/values/seen.h"
}

enum { THREADS = 256, FLIGHT = 8, MOST_SLICES = 65535 };

static const struct stage seen_stage = {.name = "output"};

/* The grid counts parts of a slice, and slices (any number). */
static __global__ void __launch_bounds__(THREADS)
    look(const uint32_t *in, int64_t count, int64_t n_slices, uint32_t *seen, uint32_t infinite,
         uint32_t nan, uint32_t also)
{
    for (int64_t slice = blockIdx.y; slice < n_slices; slice += gridDim.y) {
        const uint32_t *values = in + slice * count;
        uint32_t found = blockIdx.x == 0 && threadIdx.x == 0 ? also : 0;
        for (int64_t first = blockIdx.x * (int64_t)(THREADS * FLIGHT) + threadIdx.x; first < count;
             first += gridDim.x * (int64_t)(THREADS * FLIGHT)) {
            uint32_t bits[FLIGHT];
#pragma unroll
            for (int i = 0; i < FLIGHT; i++)
                bits[i] =
                    first + i * THREADS < count ? values[first + i * THREADS] & 0x7FFFFFFFu : 0;
#pragma unroll
            for (int i = 0; i < FLIGHT; i++)
                found |= bits[i] < 0x7F800000u ? 0 : bits[i] == 0x7F800000u ? infinite : nan;
        }
        if (found)
            atomicOr(&seen[slice], found);
    }
}

enum ts_status ts_cuda_seen_load(const struct device_numbers *device, struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&seen_stage, device, diag);
    const void *const kernel = (const void *)look;
    return ts_cuda_load(&context, &kernel, 1);
}

enum ts_status ts_cuda_seen_look(const struct device_numbers *device, const struct ts_image *slices,
                                 uint32_t *seen, uint32_t infinite, uint32_t nan, uint32_t also,
                                 struct CUstream_st *stream, struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&seen_stage, device, diag);
    const int64_t count = (int64_t)ts_slice_count(slices), n = slices->axes[0].n;
    if (n == 0 || count == 0)
        return TS_OK;
    const int64_t work = ts_cuda_parts(count, THREADS * FLIGHT);
    const int64_t most = ts_cuda_parts(ts_cuda_blocks_at_once(&context, THREADS), n);
    const dim3 grid((unsigned)(work < most ? work : most),
                    (unsigned)(n < MOST_SLICES ? n : MOST_SLICES));
    look<<<grid, THREADS, 0, stream>>>((const uint32_t *)slices->data, count, n, seen, infinite,
                                       nan, also);
    return ts_cuda_launched(&context, "look");
}
