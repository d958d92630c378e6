/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of cuda/values/half.h: a thread rounds every gridDim * blockDim-th value, with 4 loads
 * in flight, by the device's own conversion. NaN is handled separately, because the device's NaN
 * differs from that of core/half.c. Finite values that become infinite make the run fail, so they
 * are rare, and each takes an atomic maximum of its own. Memory traffic: 4 bytes read and 2 written
 * a value, 1 value an access, since slices of halves need not begin on words. 256 threads a block,
 * and as many blocks as the device holds at once.
 */
#include <cuda_fp16.h>

#include "cuda/device/launch.cuh"

extern "C" {
#include "core/half.h"
#include "cuda/values/half.h"
}

enum { THREADS = 256, FLIGHT = 4 };

static const struct stage half_stage = {.name = "output"};

static __device__ uint16_t round_one(float value, uint32_t *largest)
{
    const uint32_t bits = __float_as_uint(value), magnitude = bits & 0x7FFFFFFFu;
    const uint16_t half = __half_as_ushort(__float2half_rn(value));
    if (magnitude > 0x7F800000u)
        return (uint16_t)(TS_HALF_NAN | (bits >> 16 & 0x8000u));
    if ((half & 0x7FFF) == 0x7C00 && magnitude < 0x7F800000u)
        atomicMax(largest, magnitude);
    return half;
}

static __global__ void __launch_bounds__(THREADS)
    round_halves(const float *in, int64_t n, uint16_t *out, uint32_t *largest)
{
    for (int64_t first = blockIdx.x * (int64_t)(THREADS * FLIGHT) + threadIdx.x; first < n;
         first += gridDim.x * (int64_t)(THREADS * FLIGHT)) {
        float values[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            values[i] = first + i * THREADS < n ? __ldcs(in + first + i * THREADS) : 0;
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            if (first + i * THREADS < n)
                out[first + i * THREADS] = round_one(values[i], largest);
    }
}

enum ts_status ts_cuda_half_load(const struct device_numbers *device, struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&half_stage, device, diag);
    const void *const kernel = (const void *)round_halves;
    return ts_cuda_load(&context, &kernel, 1);
}

enum ts_status ts_cuda_half_round(const struct device_numbers *device, const float *floats,
                                  size_t n, uint16_t *halves, uint32_t *largest,
                                  struct CUstream_st *stream, struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&half_stage, device, diag);
    if (n == 0)
        return TS_OK;
    const int64_t blocks = ts_cuda_parts((int64_t)n, THREADS * FLIGHT),
                  most = ts_cuda_blocks_at_once(&context, THREADS);
    round_halves<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, stream>>>(
        floats, (int64_t)n, halves, largest);
    return ts_cuda_launched(&context, "round_halves");
}
