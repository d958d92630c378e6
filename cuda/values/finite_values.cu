/* SPDX-License-Identifier: Apache-2.0
 *
 * stages/values/finite_values.h on a CUDA device: each value is read once, 8 of a thread in flight; what is not finite
 * is counted and the first one's index kept by integer atomics, of which there are none where all is well; the largest
 * magnitude takes one a warp. 256 threads a block, as many blocks as the device holds at once.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/values/finite_values.h"
}

enum { THREADS = 256, FLIGHT = 8 };

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct not_finite) : 0;
}

/* Slices of `count` values, of which the first one of all is value `offset` of the volume; grid: parts of slices,
 * slices (any number). */
static __global__ void __launch_bounds__(THREADS)
    look(const uint32_t *in, int64_t count, int64_t n_slices, unsigned long long offset, char *partials, size_t stride)
{
    for (int64_t slice = blockIdx.y; slice < n_slices; slice += gridDim.y) {
        const uint32_t *values = in + slice * count;
        struct not_finite *partial = (struct not_finite *)(partials + slice * stride);
        unsigned long long bad = 0, not_first = 0;
        uint32_t most = 0;
        for (int64_t first = blockIdx.x * (int64_t)(THREADS * FLIGHT) + threadIdx.x; first < count;
             first += gridDim.x * (int64_t)(THREADS * FLIGHT)) {
            uint32_t bits[FLIGHT];
#pragma unroll
            for (int i = 0; i < FLIGHT; i++)
                bits[i] = first + i * THREADS < count ? __ldcs(values + first + i * THREADS) : 0;
#pragma unroll
            for (int i = 0; i < FLIGHT; i++) {
                most = max(most, bits[i] & 0x7FFFFFFFu);
                if ((bits[i] & 0x7F800000u) == 0x7F800000u && bad++ == 0)
                    not_first = ~(offset + (unsigned long long)(slice * count + first + i * THREADS));
            }
        }
        for (int apart = 16; apart > 0; apart /= 2)
            most = max(most, __shfl_xor_sync(~0u, most, apart));
        if (threadIdx.x % 32 == 0)
            atomicMax((unsigned long long *)&partial->largest, (unsigned long long)most);
        if (bad) {
            atomicAdd((unsigned long long *)&partial->n, bad);
            atomicMax((unsigned long long *)&partial->not_first, not_first);
        }
    }
}

static enum ts_status reduce(const struct stage_context *context, int input, const struct ts_image *slices,
                             void *partials, const struct cuda_call *call)
{
    const int64_t count = (int64_t)ts_slice_count(slices), n = slices->axes[0].n;
    const int64_t resident = (int64_t)context->device->multiprocessors * (context->device->threads / THREADS);
    const int64_t work = ts_cuda_parts(count, THREADS * FLIGHT), most = ts_cuda_parts(resident, n);
    const dim3 grid((unsigned)(work < most ? work : most), (unsigned)(n < 65535 ? n : 65535));
    look<<<grid, THREADS, 0, call->stream>>>((const uint32_t *)slices->data, count, n,
                                             (unsigned long long)(slices->z_first * count), (char *)partials,
                                             ts_cuda_stride(partial_bytes(context, input)));
    return ts_cuda_launched(context, "look");
}

static void collect(const struct stage_context *context, int input, const void *partial, void *total)
{
    (void)context;
    (void)input;
    memcpy(total, partial, sizeof(struct not_finite));
}

extern const struct cuda_reduction ts_cuda_finite_reduction;
const struct cuda_reduction ts_cuda_finite_reduction = {
    .partial_bytes = partial_bytes, .reduce = reduce, .collect = collect};
