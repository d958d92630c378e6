/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest magnitude of every slice, for methods that share a range among the values of one slice or bring several
 * slices into one. One thread looks at every so many values of a slice; largest values do not depend on their order.
 * Traffic: each value read once. Blocks of 256 threads: enough loads on their way.
 */
#ifndef CUDA_VALUES_SLICE_MAXIMUM_CUH
#define CUDA_VALUES_SLICE_MAXIMUM_CUH

#include "cuda/device/launch.cuh"

enum { LARGEST_THREADS = 256 };

/* The largest magnitude of a slice, as the bits of a float: order of floats is that of their bits. From
 * LARGEST_NO_NUMBER on the slice holds a NaN or an infinity. */
static const uint32_t LARGEST_NO_NUMBER = 0x7F800000u;

static __global__ void __launch_bounds__(LARGEST_THREADS) set_zero(uint32_t *values, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * LARGEST_THREADS + threadIdx.x;
    if (i < n)
        values[i] = 0;
}

/* grid: parts of a slice, slices. largest[] starts as 0. */
template <typename T>
static __global__ void __launch_bounds__(LARGEST_THREADS)
    largest_magnitudes(const T *in, int64_t pixels, int64_t n_slices, uint32_t *largest)
{
    for (int64_t slice = blockIdx.y; slice < n_slices; slice += gridDim.y) {
        const T *from = in + slice * pixels;
        uint32_t most = 0;
        for (int64_t i = blockIdx.x * LARGEST_THREADS + threadIdx.x; i < pixels; i += gridDim.x * LARGEST_THREADS)
            most = max(most, __float_as_uint(fabsf((float)from[i])));
        for (int apart = 16; apart > 0; apart /= 2)
            most = max(most, __shfl_xor_sync(~0u, most, apart));
        if (threadIdx.x % 32 == 0)
            atomicMax(&largest[slice], most);
    }
}

/* Two factors whose product is the power of two that brings this largest magnitude into [2^to, 2^(to + 1));
 * the product alone may leave the range of floats. sign -1: of its inverse. */
static __device__ __forceinline__ float2 ts_cuda_largest_scale(uint32_t largest, int to, int sign)
{
    const int exponent = largest == 0 || largest >= LARGEST_NO_NUMBER ? 0 : sign * (to + 127 - (int)(largest >> 23));
    const int half = exponent / 2;
    return make_float2(__uint_as_float((uint32_t)(127 + half) << 23),
                       __uint_as_float((uint32_t)(127 + exponent - half) << 23));
}

/* Of all slices of the image. */
static inline enum ts_status ts_cuda_largest(const struct stage_context *context, const struct ts_image *in,
                                             uint32_t *largest, cudaStream_t stream)
{
    const int64_t nz = in->axes[0].n, pixels = in->axes[1].n * in->axes[2].n, parts = ts_cuda_parts(pixels, 1 << 14);
    const dim3 grid((unsigned)(parts < 64 ? parts : 64), (unsigned)(nz < 65535 ? nz : 65535));
    set_zero<<<(unsigned)ts_cuda_parts(nz, LARGEST_THREADS), LARGEST_THREADS, 0, stream>>>(largest, nz);
    const enum ts_status status = ts_cuda_launched(context, "set_zero");
    if (status != TS_OK)
        return status;
#define LAUNCH(T) largest_magnitudes<T><<<grid, LARGEST_THREADS, 0, stream>>>((const T *)in->data, pixels, nz, largest)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "largest_magnitudes");
}

#endif
