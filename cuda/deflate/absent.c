/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands for the compressor in builds without CUDA, where no session exists that could call it.
 */
#include "cuda/deflate/deflate.h"

#include "cuda/device/device.h"

size_t ts_cuda_deflate_bound(const struct cuda_deflate *job)
{
    (void)job;
    return 0;
}

size_t ts_cuda_deflate_scratch_bytes(const struct cuda_deflate *job, const struct device_numbers *device)
{
    (void)job;
    (void)device;
    return 0;
}

enum ts_status ts_cuda_deflate(const struct cuda_deflate *job, const struct device_numbers *device, const void *chunks,
                               void *scratch, void *out, struct cuda_deflate_place *places, struct CUstream_st *stream,
                               struct ts_diag *diag)
{
    (void)job;
    (void)device;
    (void)chunks;
    (void)scratch;
    (void)out;
    (void)places;
    (void)stream;
    return ts_cuda_refuse(diag);
}
