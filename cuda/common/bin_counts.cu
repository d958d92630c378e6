/* SPDX-License-Identifier: Apache-2.0
 *
 * slots[slot of value] += 1. A thread takes every grid-th value of a slice (or of all slices); a block counts in shared
 * memory where the slots fit, and adds what it counted to the partial once; else in the partial. Each value is read
 * once; 512 threads a block and four blocks an SM, whose tables take all of the shared memory of older devices.
 */
#include "cuda/common/bin_counts.cuh"

enum { THREADS = 512, BLOCKS_A_PROCESSOR = 4, SHARED_SLOTS = 4096, VALUES_A_THREAD = 16 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    count_bins(const T *in, size_t count, const char *all_bins, size_t bins_stride, char *partials, size_t stride)
{
    __shared__ uint32_t slots[SHARED_SLOTS];
    const struct bins bins = *(const struct bins *)(all_bins + blockIdx.y * bins_stride);
    unsigned long long *partial = (unsigned long long *)(partials + blockIdx.y * stride);
    const int n_slots = (int)bins.n + BINS_EXTRA_SLOTS;
    const bool shared = n_slots <= SHARED_SLOTS;
    in += blockIdx.y * count;
    for (int i = (int)threadIdx.x; shared && i < n_slots; i += THREADS)
        slots[i] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < count; i += (size_t)gridDim.x * THREADS) {
        const int32_t slot = ts_cuda_bin_slot(bins, (double)in[i]);
        if (shared)
            atomicAdd(&slots[slot], 1u);
        else
            atomicAdd(&partial[slot], 1ull);
    }
    __syncthreads();
    for (int i = (int)threadIdx.x; shared && i < n_slots; i += THREADS)
        if (slots[i])
            atomicAdd(&partial[i], (unsigned long long)slots[i]);
}

enum ts_status ts_cuda_bin_counts_add(const struct stage_context *context, const struct ts_image *slices,
                                      const void *bins, size_t bins_stride, void *partials, bool per_slice,
                                      size_t stride, const struct cuda_call *call)
{
    const int64_t n = per_slice ? slices->axes[0].n : 1, most = 65535; /* of a grid's second dimension */
    const size_t count = per_slice ? ts_slice_count(slices) : ts_image_count(slices);
    const int64_t wanted = ts_cuda_parts((int64_t)count, (int64_t)THREADS * VALUES_A_THREAD);
    const int64_t resident = ts_cuda_parts((int64_t)context->device->multiprocessors * BLOCKS_A_PROCESSOR, n);
    const unsigned blocks = (unsigned)(wanted < resident ? wanted : resident);
    enum ts_status status = TS_OK;
    for (int64_t z = 0; status == TS_OK && z < n; z += most) {
        const dim3 grid(blocks, (unsigned)(n - z < most ? n - z : most));
#define COUNT(type)                                                                                                    \
    count_bins<type><<<grid, THREADS, 0, call->stream>>>(                                                              \
        (const type *)slices->data + (size_t)z * count, count, (const char *)bins + (size_t)z * bins_stride,           \
        per_slice ? bins_stride : 0, (char *)partials + (size_t)z * stride, per_slice ? stride : 0)
        TS_CUDA_DTYPES(slices->dtype, COUNT)
#undef COUNT
        status = ts_cuda_launched(context, "count_bins");
    }
    return status;
}
