/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the largest magnitude of every slice, for methods that scale the values of a slice
 * into the range of a shorter type. A thread looks at values of a slice that are a whole grid
 * apart; a maximum does not depend on the order. Memory traffic: each value is read once. 256
 * threads a block keep enough loads in flight.
 */
#ifndef CUDA_VALUES_SLICE_MAXIMUM_CUH
#define CUDA_VALUES_SLICE_MAXIMUM_CUH

#include "cuda/values/reductions.cuh"

enum { SLICE_MAXIMUM_THREADS = 256 };

/* A maximum is kept as the bits of a float, which have the order of floats. If it is at least
 * SLICE_MAXIMUM_NOT_FINITE, the slice contains a NaN or an infinity. */
static const uint32_t SLICE_MAXIMUM_NOT_FINITE = 0x7F800000u;

static __global__ void __launch_bounds__(SLICE_MAXIMUM_THREADS)
    set_zero(uint32_t *values, int64_t n)
{
    const int64_t i = (int64_t)blockIdx.x * SLICE_MAXIMUM_THREADS + threadIdx.x;
    if (i < n)
        values[i] = 0;
}

/* The grid counts parts of a slice, and slices. maxima[] must be 0 before. */
template <typename T>
static __global__ void __launch_bounds__(SLICE_MAXIMUM_THREADS)
    find_slice_maxima(const T *in, int64_t pixels, int64_t n_slices, uint32_t *maxima)
{
    for (int64_t slice = blockIdx.y; slice < n_slices; slice += gridDim.y) {
        const T *from = in + slice * pixels;
        uint32_t most = 0;
        for (int64_t i = blockIdx.x * SLICE_MAXIMUM_THREADS + threadIdx.x; i < pixels;
             i += gridDim.x * SLICE_MAXIMUM_THREADS)
            most = max(most, __float_as_uint(fabsf((float)from[i])));
        most = ts_cuda_warp_highest(most);
        if (threadIdx.x % 32 == 0)
            atomicMax(&maxima[slice], most);
    }
}

/* Returns two factors whose product is the power of two that brings this maximum into [2^to, 2^(to
 * + 1)), or, with sign -1, the inverse. There are two because their product may exceed the range of
 * floats. */
static __device__ __forceinline__ float2 ts_cuda_slice_maximum_scale(uint32_t maximum, int to,
                                                                     int sign)
{
    const int exponent = maximum == 0 || maximum >= SLICE_MAXIMUM_NOT_FINITE
                             ? 0
                             : sign * (to + 127 - (int)(maximum >> 23));
    const int half = exponent / 2;
    return make_float2(__uint_as_float((uint32_t)(127 + half) << 23),
                       __uint_as_float((uint32_t)(127 + exponent - half) << 23));
}

/* Enqueues the maxima of all slices of the image. */
static inline enum ts_status ts_cuda_slice_maxima(const struct stage_context *context,
                                                  const struct ts_image *in, uint32_t *maxima,
                                                  cudaStream_t stream)
{
    const int64_t nz = in->axes[0].n, pixels = in->axes[1].n * in->axes[2].n,
                  parts = ts_cuda_parts(pixels, 1 << 14);
    const dim3 grid((unsigned)(parts < 64 ? parts : 64), (unsigned)(nz < 65535 ? nz : 65535));
    set_zero<<<(unsigned)ts_cuda_parts(nz, SLICE_MAXIMUM_THREADS), SLICE_MAXIMUM_THREADS, 0,
               stream>>>(maxima, nz);
    const enum ts_status status = ts_cuda_launched(context, "set_zero");
    if (status != TS_OK)
        return status;
#define LAUNCH(T)                                                                                  \
    find_slice_maxima<T>                                                                           \
        <<<grid, SLICE_MAXIMUM_THREADS, 0, stream>>>((const T *)in->data, pixels, nz, maxima)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "find_slice_maxima");
}

#endif
