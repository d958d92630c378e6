/* SPDX-License-Identifier: Apache-2.0
 *
 * out[i] = i * i modulo 2^32. One thread computes one element; 4 bytes written an element. 256 threads a block: any
 * multiple of a warp does, the work is nothing.
 */
#include "cuda/selftest.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { N = 4096 };

static __global__ void square(unsigned *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i] = i * i;
}

static cudaError_t run(int index, unsigned *out)
{
    unsigned *d_out = NULL;
    cudaError_t error = cudaSetDevice(index);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&d_out, N * sizeof *out);
    if (error == cudaSuccess) {
        square<<<N / 256, 256>>>(d_out);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaMemcpy(out, d_out, N * sizeof *out, cudaMemcpyDeviceToHost);
    cudaFree(d_out);
    return error;
}

extern "C" int ts_cuda_selftest(int index, char *message, size_t message_bytes)
{
    unsigned out[N];
    memset(out, 0xFF, sizeof out);
    const cudaError_t error = run(index, out);
    if (error != cudaSuccess) {
        snprintf(message, message_bytes, "CUDA device %d cannot run this build's code: %s (%d)", index,
                 cudaGetErrorString(error), (int)error);
        return 1;
    }
    for (unsigned i = 0; i < N; i++)
        if (out[i] != i * i) {
            snprintf(message, message_bytes, "CUDA device %d computes wrong numbers: %u squared gave %u", index, i,
                     out[i]);
            return 1;
        }
    return 0;
}
