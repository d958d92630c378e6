/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of stages/grid/samples.h, which resample and unshear share.
 */
#ifndef CUDA_GRID_SAMPLES_CUH
#define CUDA_GRID_SAMPLES_CUH

#include "cuda/device/launch.cuh"

extern "C" {
#include "stages/grid/samples.h"
}

/* Return the bytes of the constants of a sampling, and of the scratch for n output slices; both may
 * be 0. */
size_t ts_cuda_sampling_constants_bytes(const struct sampling *sampling);
size_t ts_cuda_sampling_scratch(const struct sampling *sampling, int64_t n);
/* Writes the constants. */
void ts_cuda_sampling_constants(const struct sampling *sampling, void *host);
/* Enqueues what ts_sampling_map does, for slabs in device memory. */
enum ts_status ts_cuda_sampling(const struct stage_context *context,
                                const struct sampling *sampling, const struct ts_image *in,
                                const struct ts_image *out, const struct cuda_call *call);

#endif
