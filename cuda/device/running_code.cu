/* SPDX-License-Identifier: Apache-2.0
 *
 * This kernel does nothing and is never launched: its attributes tell which of this build's code
 * the device in use runs, and whether that code can be loaded at all.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/device/device.h"
}

static __global__ void nothing()
{
}

int ts_cuda_running_code(int *code)
{
    cudaFuncAttributes attributes;
    const cudaError_t error = cudaFuncGetAttributes(&attributes, nothing);
    *code = error == cudaSuccess ? attributes.ptxVersion : 0;
    return error;
}
