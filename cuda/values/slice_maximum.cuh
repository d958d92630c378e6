/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest magnitude of every slice, for methods that share a range among the values of one slice or bring several
 * slices into one range. One thread takes every so many values of a slice; a maximum does not depend on their order.
 * Each value is read once. Blocks are 256 threads, which keeps enough loads in flight.
 */
#ifndef CUDA_VALUES_SLICE_MAXIMUM_CUH
#define CUDA_VALUES_SLICE_MAXIMUM_CUH

#include "cuda/device/launch.cuh"

enum { MAXIMUM_THREADS = 256 };

/* The largest magnitude of a slice is kept as the bits of a float, which order as the floats do. From
 * MAXIMUM_NO_NUMBER on the slice holds a NaN or an infinity. */
static const uint32_t MAXIMUM_NO_NUMBER = 0x7F800000u;

static __global__ void __launch_bounds__(MAXIMUM_THREADS) set_zero(uint32_t *values, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * MAXIMUM_THREADS + threadIdx.x;
    if (i < n)
        values[i] = 0;
}

/* grid: parts of a slice, slices. maxima[] starts as 0. */
template <typename T>
static __global__ void __launch_bounds__(MAXIMUM_THREADS)
    find_maxima(const T *in, int64_t pixels, int64_t n_slices, uint32_t *maxima)
{
    for (int64_t slice = blockIdx.y; slice < n_slices; slice += gridDim.y) {
        const T *from = in + slice * pixels;
        uint32_t most = 0;
        for (int64_t i = blockIdx.x * MAXIMUM_THREADS + threadIdx.x; i < pixels; i += gridDim.x * MAXIMUM_THREADS)
            most = max(most, __float_as_uint(fabsf((float)from[i])));
        for (int apart = 16; apart > 0; apart /= 2)
            most = max(most, __shfl_xor_sync(~0u, most, apart));
        if (threadIdx.x % 32 == 0)
            atomicMax(&maxima[slice], most);
    }
}

/* Two factors whose product is the power of two that brings this largest magnitude into [2^to, 2^(to + 1));
 * the product alone may leave the range of floats. sign -1: of its inverse. */
static __device__ __forceinline__ float2 ts_cuda_maximum_scale(uint32_t maxima, int to, int sign)
{
    const int exponent = maxima == 0 || maxima >= MAXIMUM_NO_NUMBER ? 0 : sign * (to + 127 - (int)(maxima >> 23));
    const int half = exponent / 2;
    return make_float2(__uint_as_float((uint32_t)(127 + half) << 23),
                       __uint_as_float((uint32_t)(127 + exponent - half) << 23));
}

/* Finds the maxima of all slices of the image. */
static inline enum ts_status ts_cuda_slice_maxima(const struct stage_context *context, const struct ts_image *in,
                                                  uint32_t *maxima, cudaStream_t stream)
{
    const int64_t nz = in->axes[0].n, pixels = in->axes[1].n * in->axes[2].n, parts = ts_cuda_parts(pixels, 1 << 14);
    const dim3 grid((unsigned)(parts < 64 ? parts : 64), (unsigned)(nz < 65535 ? nz : 65535));
    set_zero<<<(unsigned)ts_cuda_parts(nz, MAXIMUM_THREADS), MAXIMUM_THREADS, 0, stream>>>(maxima, nz);
    const enum ts_status status = ts_cuda_launched(context, "set_zero");
    if (status != TS_OK)
        return status;
#define LAUNCH(T) find_maxima<T><<<grid, MAXIMUM_THREADS, 0, stream>>>((const T *)in->data, pixels, nz, maxima)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "find_maxima");
}

#endif
