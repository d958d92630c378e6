/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes out[i] = i * i modulo 2^32. One thread computes one element and writes 4 bytes. Blocks
 * have 256 threads; any multiple of a warp would do for so little work.
 */
#include "cuda/device/launch.cuh"

extern "C" {
#include "cuda/device/selftest.h"
#include "cuda/device/session.h"
}

enum { N = 4096 };

static __global__ void square(unsigned *out)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N)
        out[i] = i * i;
}

static enum ts_status selftest_run(struct cuda_session *session, unsigned *out,
                                   struct ts_diag *diag)
{
    unsigned *d_out = (unsigned *)ts_cuda_allocate(session, N * sizeof *out);
    if (!d_out)
        return TS_RUN_FAILED;
    square<<<N / 256, 256, 0, ts_cuda_stream(session, CUDA_COMPUTE)>>>(d_out);
    enum ts_status status = ts_cuda_fold(diag, NULL, cudaGetLastError(), "a small kernel");
    if (status == TS_OK)
        status = ts_cuda_copy(session, CUDA_COMPUTE, CUDA_TO_HOST, out, d_out, N * sizeof *out);
    return status == TS_OK ? ts_cuda_wait(session, CUDA_COMPUTE) : status;
}

enum ts_status ts_cuda_selftest(int index, struct ts_diag *diag)
{
    unsigned out[N];
    struct cuda_session *session = NULL;
    struct device_numbers device = {};
    memset(out, 0xFF, sizeof out);
    device.index = index;
    snprintf(device.name, sizeof device.name, "CUDA device %d", index);
    enum ts_status status = ts_cuda_session_create(&device, sizeof out, diag, &session);
    if (status == TS_OK)
        status = selftest_run(session, out, diag);
    ts_cuda_session_destroy(session);
    for (unsigned i = 0; status == TS_OK && i < N; i++)
        if (out[i] != i * i) {
            const struct diag_site site = {.code = "cuda-selftest"};
            status = ts_diag_error(diag, TS_RUN_FAILED, &site,
                                   "CUDA device %d computes wrong numbers: %u squared gave %u",
                                   index, i, out[i]);
        }
    return status;
}
