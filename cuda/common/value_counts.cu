/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 for every pixel of 8- and 16-bit images, of all slices or slice by slice.
 *
 * A thread takes every grid-th pixel of a slice and adds to a table in global memory. 1 or 2 bytes read a pixel, and
 * an atomic each. 256 threads a block: any multiple of a warp does, the atomics are the limit.
 */
#include "cuda/common/value_counts.cuh"

enum { THREADS = 256, PIXELS_A_THREAD = 64 };

struct count_job {
    const void *data;
    uint64_t slice_pixels;
    void *partials;
    size_t stride; /* of partials; 0: the volume's */
    uint32_t bias, n_keys;
};

template <typename type, typename count_type> static __global__ void count_pixels(struct count_job job)
{
    const type *slice = (const type *)job.data + blockIdx.y * job.slice_pixels;
    char *partial = (char *)job.partials + blockIdx.y * job.stride;
    count_type *counts = (count_type *)(job.stride ? (char *)((struct cuda_slice_counts *)partial)->counts : partial);
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < job.slice_pixels; i += step)
        atomicAdd(&counts[slice[i] ^ job.bias], (count_type)1);
}

/* One block a slice: its lowest and highest key with a count. */
static __global__ void find_range(void *partials, size_t stride, uint32_t n_keys)
{
    struct cuda_slice_counts *slice = (struct cuda_slice_counts *)((char *)partials + blockIdx.x * stride);
    __shared__ uint32_t low, high;
    if (threadIdx.x == 0) {
        low = n_keys;
        high = 0;
    }
    __syncthreads();
    for (uint32_t key = threadIdx.x; key < n_keys; key += blockDim.x)
        if (slice->counts[key]) {
            atomicMin(&low, key);
            atomicMax(&high, key);
        }
    __syncthreads();
    if (threadIdx.x == 0) {
        slice->low = low;
        slice->high = high;
    }
}

static uint32_t bias_of(enum ts_dtype dtype)
{
    return dtype == TS_I8 ? 0x80 : dtype == TS_I16 ? 0x8000 : 0;
}

size_t ts_cuda_value_counts_bytes(enum ts_dtype dtype, bool per_slice)
{
    const size_t n_keys = ts_value_counts_keys(dtype);
    return per_slice ? sizeof(struct cuda_slice_counts) + n_keys * sizeof(uint32_t) : n_keys * sizeof(uint64_t);
}

size_t ts_cuda_value_counts_scratch_bytes(const struct stage_context *context, const struct ts_image *image,
                                          bool per_slice, int64_t n)
{
    (void)context;
    (void)image;
    (void)per_slice;
    (void)n;
    return 0;
}

/* Slices [z, z + n) for the y dimension of a grid. */
static void launch_counts(const struct ts_image *slices, int64_t z, int64_t n, struct count_job job,
                          const struct cuda_call *call)
{
    const bool bytes = job.n_keys == VALUE_COUNTS_KEYS_8;
    const int64_t blocks = ts_cuda_parts((int64_t)job.slice_pixels, THREADS * PIXELS_A_THREAD);
    const dim3 grid((unsigned)(blocks < 4096 ? blocks : 4096), (unsigned)n);
    job.data = (const char *)slices->data + (size_t)z * ts_slice_bytes(slices);
    job.partials = (char *)job.partials + (size_t)z * job.stride;
    if (bytes && job.stride)
        count_pixels<uint8_t, uint32_t><<<grid, THREADS, 0, call->stream>>>(job);
    else if (bytes)
        count_pixels<uint8_t, unsigned long long><<<grid, THREADS, 0, call->stream>>>(job);
    else if (job.stride)
        count_pixels<uint16_t, uint32_t><<<grid, THREADS, 0, call->stream>>>(job);
    else
        count_pixels<uint16_t, unsigned long long><<<grid, THREADS, 0, call->stream>>>(job);
}

enum ts_status ts_cuda_value_counts(const struct stage_context *context, const struct ts_image *slices, bool per_slice,
                                    void *partials, const struct cuda_call *call)
{
    const int64_t n = slices->axes[0].n, most = 65535;
    const size_t stride = per_slice ? ts_cuda_stride(ts_cuda_value_counts_bytes(slices->dtype, true)) : 0;
    const struct count_job job = {.slice_pixels = ts_slice_count(slices),
                                  .partials = partials,
                                  .stride = stride,
                                  .bias = bias_of(slices->dtype),
                                  .n_keys = ts_value_counts_keys(slices->dtype)};
    if (per_slice && job.slice_pixels > UINT32_MAX) {
        const struct diag_site site = {.code = "cuda-slice-size", .stage = context->stage->name};
        return ts_diag_error(context->diag, TS_RUN_FAILED, &site,
                             "a slice of %zu pixels is more than its counts on a CUDA device can hold",
                             (size_t)job.slice_pixels);
    }
    if (per_slice && cudaMemsetAsync(partials, 0, (size_t)n * stride, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "clear_counts");
    for (int64_t z = 0; z < n; z += most)
        launch_counts(slices, z, n - z < most ? n - z : most, job, call);
    enum ts_status status = ts_cuda_launched(context, "count_pixels");
    if (status == TS_OK && per_slice) {
        find_range<<<(unsigned)n, 1024, 0, call->stream>>>(partials, stride, job.n_keys);
        status = ts_cuda_launched(context, "find_range");
    }
    return status;
}

void ts_cuda_value_counts_collect(enum ts_dtype dtype, bool per_slice, const void *partial, struct value_counts *counts)
{
    const struct cuda_slice_counts *slice = (const struct cuda_slice_counts *)partial;
    const uint64_t *volume = (const uint64_t *)partial;
    uint32_t low = 0, high = ts_value_counts_keys(dtype) - 1;
    ts_value_counts_init(counts, dtype);
    if (per_slice) {
        low = slice->low;
        high = slice->high;
    } else {
        while (low < high && volume[low] == 0)
            low++;
        while (high > low && volume[high] == 0)
            high--;
    }
    counts->low = low;
    counts->high = high;
    for (uint32_t key = low; key <= high; key++) {
        counts->counts[key] = per_slice ? slice->counts[key] : volume[key];
        counts->n += counts->counts[key];
    }
}
