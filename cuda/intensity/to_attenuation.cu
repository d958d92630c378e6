/* SPDX-License-Identifier: Apache-2.0
 *
 * to_attenuation on a CUDA device: mu = (HU + 1000) (water / 1000), the CPU's operations in double,
 * with a count of the values of each slice that were below 0. Each value is read once and written
 * once as a float: 6 bytes for a 16-bit one. A block stays in one slice, its threads load FLIGHT
 * values before they use the first, and it adds its count to memory at its end, if it is not 0. 256
 * threads leave the registers for that; a few waves of blocks fill the device.
 */
#include "cuda/values/reductions.cuh"

extern "C" {
#include "stages/intensity/to_attenuation.h"
}

enum { THREADS = 256, FLIGHT = 8, WAVES = 4 };

template <typename T>
static __global__ void __launch_bounds__(THREADS)
    attenuate(const T *in, const uint64_t *valid, float *out, int64_t count,
              struct attenuation_rule rule, unsigned long long *negative)
{
    const int64_t slice = blockIdx.y * count, step = (int64_t)gridDim.x * THREADS * FLIGHT;
    const uint64_t *bits = valid ? valid + blockIdx.y * ((count + 63) / 64) : NULL;
    uint32_t below = 0;
    for (int64_t first = (int64_t)blockIdx.x * THREADS * FLIGHT + threadIdx.x; first < count;
         first += step) {
        T hu[FLIGHT];
#pragma unroll
        for (int i = 0; i < FLIGHT; i++)
            hu[i] = first + i * THREADS < count ? in[slice + first + i * THREADS] : (T)0;
#pragma unroll
        for (int i = 0; i < FLIGHT; i++) {
            const double mu = ((double)hu[i] + 1000) * rule.scale;
            const int64_t at = first + i * THREADS;
            if (at < count) {
                below += mu < rule.lowest && (!bits || bits[at / 64] >> at % 64 & 1);
                out[slice + at] = (float)(mu < rule.lowest ? 0 : mu);
            }
        }
    }
    const uint32_t sum = warp_sum(below);
    if (threadIdx.x % CUDA_WARP == 0 && sum > 0)
        atomicAdd(&negative[blockIdx.y], (unsigned long long)sum);
}

static enum ts_status to_attenuation_map(const struct stage_context *context,
                                         const struct ts_image *in, struct ts_image *out,
                                         const struct cuda_call *call)
{
    const struct to_attenuation_params *params =
        (const struct to_attenuation_params *)context->params;
    const struct attenuation_rule rule = ts_attenuation_rule(params);
    const int64_t count = (int64_t)ts_slice_count(out), nz = out->axes[0].n;
    const int64_t work = ts_cuda_parts(count, (int64_t)THREADS * FLIGHT);
    const int64_t most = ts_cuda_parts(WAVES * ts_cuda_blocks_at_once(context, THREADS), nz);
    unsigned long long *negative =
        params->negative == NEGATIVE_ZERO ? (unsigned long long *)context->tables[0].data : NULL;
    if (negative)
        cudaMemsetAsync(negative, 0, (size_t)nz * sizeof *negative, call->stream);
    for (int64_t first = 0; first < nz; first += 65535 /* limit of blocks along y of a grid */) {
        const dim3 grid((unsigned)(work < most ? work : most),
                        (unsigned)(nz - first < 65535 ? nz - first : 65535));
#define ATTENUATE(type)                                                                            \
    attenuate<type><<<grid, THREADS, 0, call->stream>>>(                                           \
        (const type *)in->data + first * count, ts_slice_valid(in, first),                         \
        (float *)out->data + first * count, count, rule, negative ? negative + first : NULL)
        TS_CUDA_DTYPES(in->dtype, ATTENUATE)
#undef ATTENUATE
    }
    return ts_cuda_launched(context, "attenuate");
}

const struct stage_cuda to_attenuation_cuda = {.map = to_attenuation_map};
