/* SPDX-License-Identifier: Apache-2.0
 *
 * This does what stages/values/finite_values.h does, on a CUDA device: it counts the values that
 * are not finite, finds the first of them, and finds the largest magnitude. Threads stride through
 * a slice, each with 8 loads in flight. They add to the slice's partial by integer atomics, but
 * only for a bad value and for the maximum of a warp. Memory traffic: 4 bytes read a pixel. 256
 * threads a block, and as many blocks as the device holds at once, so that there are few atomics.
 */
#include "cuda/values/reductions.cuh"

extern "C" {
#include "stages/values/finite_values.h"
}

enum { THREADS = 256, FLIGHT = 8 };

static size_t partial_bytes(const struct stage_context *context, int input)
{
    (void)context;
    return input == 0 ? sizeof(struct not_finite) : 0;
}

/* Examines n_slices slices of `count` values; their first value is number `offset` of the volume.
 * The grid counts parts of a slice, and slices (any number). */
static __global__ void __launch_bounds__(THREADS)
    look(const uint32_t *in, int64_t count, int64_t n_slices, unsigned long long offset,
         char *partials, size_t stride)
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
                    not_first =
                        ~(offset + (unsigned long long)(slice * count + first + i * THREADS));
            }
        }
        most = ts_cuda_warp_highest(most);
        if (threadIdx.x % 32 == 0)
            atomicMax((unsigned long long *)&partial->largest, (unsigned long long)most);
        if (bad) {
            atomicAdd((unsigned long long *)&partial->n, bad);
            atomicMax((unsigned long long *)&partial->not_first, not_first);
        }
    }
}

static enum ts_status finite_values_reduce(const struct stage_context *context, int input,
                                           const struct ts_image *slices, void *partials,
                                           const struct cuda_call *call)
{
    const int64_t count = (int64_t)ts_slice_count(slices), n = slices->axes[0].n;
    const int64_t work = ts_cuda_parts(count, THREADS * FLIGHT);
    const int64_t most = ts_cuda_parts(ts_cuda_blocks_at_once(context, THREADS), n);
    const dim3 grid((unsigned)(work < most ? work : most), (unsigned)(n < 65535 ? n : 65535));
    look<<<grid, THREADS, 0, call->stream>>>(
        (const uint32_t *)slices->data, count, n, (unsigned long long)(slices->z_first * count),
        (char *)partials, ts_cuda_stride(partial_bytes(context, input)));
    return ts_cuda_launched(context, "look");
}

static void finite_values_collect(const struct stage_context *context, int input,
                                  const void *partial, void *total)
{
    (void)context;
    (void)input;
    memcpy(total, partial, sizeof(struct not_finite));
}

/* Runs as one block. */
static __global__ void __launch_bounds__(THREADS)
    check_slices(const char *partials, size_t stride, char *results, size_t result_stride,
                 int64_t z_first, int n, struct cuda_refused *refused)
{
    __shared__ int first;
    if (threadIdx.x == 0)
        first = n;
    __syncthreads();
    for (int i = (int)threadIdx.x; i < n; i += THREADS) {
        const struct not_finite *partial =
            (const struct not_finite *)(partials + (size_t)i * stride);
        ((struct finite_slice *)(results + (size_t)i * result_stride))->largest = partial->largest;
        if (partial->n > 0)
            atomicMin(&first, i);
    }
    __syncthreads();
    if (threadIdx.x > 0 || first == n || refused->past > 0)
        return;
    *(struct not_finite *)refused->partial =
        *(const struct not_finite *)(partials + (size_t)first * stride);
    refused->past = z_first + first + 1;
}

static enum ts_status finite_values_check(const struct stage_context *context, const void *partials,
                                          void *results, int64_t z_first, int64_t n,
                                          struct cuda_refused *refused,
                                          const struct cuda_call *call)
{
    static_assert(sizeof(struct not_finite) <= sizeof refused->partial,
                  "a refused slice keeps its partial");
    check_slices<<<1, THREADS, 0, call->stream>>>(
        (const char *)partials, ts_cuda_stride(sizeof(struct not_finite)), (char *)results,
        ts_cuda_stride(sizeof(struct finite_slice)), z_first, (int)n, refused);
    return ts_cuda_launched(context, "check_slices");
}

extern const struct cuda_reduction ts_cuda_finite_reduction;
const struct cuda_reduction ts_cuda_finite_reduction = {.partial_bytes = partial_bytes,
                                                        .reduce = finite_values_reduce,
                                                        .collect = finite_values_collect,
                                                        .check = finite_values_check};
