/* SPDX-License-Identifier: Apache-2.0
 *
 * sharpen_z on a CUDA device. One thread computes one pixel, with the sum in the order of the CPU's
 * and without fused products, so that both give the same bytes.
 */
#include "sharpen_z.h"

template <typename T>
static __global__ void sharpen(const T *in, const uint8_t *mask, float *out, int64_t slice,
                               int64_t n, int64_t radius, float amount)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float x = (float)in[i + radius * slice];
    float sum = 0;
    for (int64_t k = 0; k <= 2 * radius; k++)
        sum = __fadd_rn(sum, (float)in[i + k * slice]);
    const float difference = __fsub_rn(x, __fdiv_rn(sum, (float)(2 * radius + 1)));
    out[i] = mask && !mask[i] ? x : __fadd_rn(x, __fmul_rn(amount, difference));
}

template <typename T> static void launch(const struct ts_call *call, struct ts_image *out)
{
    const struct sharpen_z_params *params = (const struct sharpen_z_params *)call->params;
    const int64_t slice = out->axes[1].n * out->axes[2].n, n = out->axes[0].n * slice;
    sharpen<T><<<(unsigned)((n + 255) / 256), 256, 0, (cudaStream_t)call->cuda_stream>>>(
        (const T *)call->in[0].data, (const uint8_t *)call->in[1].data, (float *)out->data, slice,
        n, params->radius, (float)params->amount);
}

extern "C" enum ts_status sharpen_z_map_cuda(const struct ts_call *call, struct ts_image *out)
{
    switch (call->in[0].dtype) {
    case TS_U8:
        launch<uint8_t>(call, out);
        break;
    case TS_U16:
        launch<uint16_t>(call, out);
        break;
    case TS_I16:
        launch<int16_t>(call, out);
        break;
    default:
        launch<float>(call, out);
    }
    const cudaError_t error = cudaGetLastError();
    return error == cudaSuccess
               ? TS_OK
               : call->refuse(call, TS_RUN_FAILED, "sharpen-cuda", cudaGetErrorString(error), NULL);
}
