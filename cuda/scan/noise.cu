/* SPDX-License-Identifier: Apache-2.0
 *
 * noise on a CUDA device: the CPU's function of each pixel, stages/scan/noise.h, so that the bytes
 * are the same. Each value is read once and written once, 8 bytes; the time goes into some 200
 * operations in double, and into waiting for the lane of a warp whose Poisson draws are rejected
 * most often. A thread takes one pixel after the other. A block stays in one slice; each warp adds
 * its starved pixels to memory at its end. Six blocks of 128 threads with 78 registers each fit on
 * a multiprocessor.
 */
#include "cuda/values/reductions.cuh"

extern "C" {
#include "stages/scan/noise.h"
}

enum { THREADS = 128, WAVES = 8 };

static __global__ void __launch_bounds__(THREADS)
    add_noise(const float *in, float *out, int64_t count, uint64_t first, struct noise_rule rule,
              unsigned long long *starved)
{
    const int64_t slice = blockIdx.y * count;
    uint32_t n_starved = 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * THREADS) {
        bool below;
        out[slice + i] = ts_noise(&rule, in[slice + i], first + (uint64_t)(slice + i), &below);
        n_starved += below;
    }
    const uint32_t sum = warp_sum(n_starved);
    if (threadIdx.x % CUDA_WARP == 0 && sum > 0)
        atomicAdd(&starved[blockIdx.y], (unsigned long long)sum);
}

static enum ts_status noise_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    const struct noise_rule rule = ts_noise_rule(context);
    const int64_t count = (int64_t)ts_slice_count(out), nz = out->axes[0].n,
                  work = ts_cuda_parts(count, THREADS);
    const int64_t most = ts_cuda_parts(WAVES * ts_cuda_blocks_at_once(context, THREADS), nz);
    const uint64_t first_pixel = ts_noise_first(context, out);
    unsigned long long *starved = rule.lines ? (unsigned long long *)context->tables[0].data : NULL;
    if (starved)
        cudaMemsetAsync(starved, 0, (size_t)nz * sizeof *starved, call->stream);
    for (int64_t z = 0; z < nz; z += 65535 /* limit of blocks along y of a grid */) {
        const dim3 grid((unsigned)(work < most ? work : most),
                        (unsigned)(nz - z < 65535 ? nz - z : 65535));
        add_noise<<<grid, THREADS, 0, call->stream>>>(
            (const float *)in->data + z * count, (float *)out->data + z * count, count,
            first_pixel + (uint64_t)(z * count), rule, starved ? starved + z : NULL);
    }
    return ts_cuda_launched(context, "add_noise");
}

const struct stage_cuda noise_cuda = {.map = noise_map};
