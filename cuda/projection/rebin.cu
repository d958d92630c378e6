/* SPDX-License-Identifier: Apache-2.0
 *
 * rebin on a CUDA device: one thread computes one sample of the parallel sinogram in all slices. It
 * reads the taps from the table of stages/projection/rebin.c once, 64 bytes a sample; then for each
 * slice up to 32 bytes are read, seven of eight from the caches, and 4 written. Blocks are 128
 * neighboring detector pixels, whose taps are side by side; a second axis of the grid divides the
 * slices if samples are few.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/projection/rebin.h"
}

enum { REBIN_THREADS = 128, REBIN_SLICES = 8 };

static size_t constants_bytes(const struct stage_context *context)
{
    return ts_rebin_table_bytes(context) + ts_rebin_scratch_bytes(context);
}

static void rebin_constants(const struct stage_context *context, void *host)
{
    ts_rebin_table(context, (struct rebin_sample *)host,
                   (struct view_place *)((char *)host + ts_rebin_table_bytes(context)));
}

template <typename T>
static __global__ void __launch_bounds__(REBIN_THREADS)
    rebin(const T *in, float *out, const struct rebin_sample *table, int64_t n_in, int64_t n_out,
          int64_t nz)
{
    const int64_t i = (int64_t)blockIdx.x * REBIN_THREADS + threadIdx.x;
    if (i >= n_out)
        return;
    const struct rebin_sample sample = table[i];
    for (int64_t z = blockIdx.y; z < nz; z += gridDim.y) {
        const T *slice = in + z * n_in;
        float sum = 0;
#pragma unroll
        for (int tap = 0; tap < REBIN_TAPS; tap++)
            sum = sum + sample.weight[tap] * (float)slice[sample.index[tap]];
        out[z * n_out + i] = sum;
    }
}

static enum ts_status rebin_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    const struct rebin_sample *table = (const struct rebin_sample *)call->constants;
    const int64_t n_in = (int64_t)ts_slice_count(in), n_out = (int64_t)ts_slice_count(out),
                  nz = out->axes[0].n;
    const dim3 grid((unsigned)ts_cuda_parts(n_out, REBIN_THREADS),
                    (unsigned)ts_cuda_parts(nz, REBIN_SLICES));
#define LAUNCH(T)                                                                                  \
    rebin<T><<<grid, REBIN_THREADS, 0, call->stream>>>((const T *)in->data, (float *)out->data,    \
                                                       table, n_in, n_out, nz)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "rebin");
}

const struct stage_cuda rebin_cuda = {
    .constants_bytes = constants_bytes, .constants = rebin_constants, .map = rebin_map};
