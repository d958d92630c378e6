/* SPDX-License-Identifier: Apache-2.0
 *
 * This does what stages/values/radix_sort.h does, on the device. It sorts the keys of several
 * slices at once, each slice by itself.
 */
#ifndef CUDA_VALUES_RADIX_SORT_CUH
#define CUDA_VALUES_RADIX_SORT_CUH

#include "cuda/device/launch.cuh"

/* The studies call these from outside the library. */
#pragma GCC visibility push(default)
/* Returns the bytes of scratch for sorting n_slices slices of n < 2^32 keys. */
size_t ts_cuda_radix_sort_bytes(int64_t n, int64_t n_slices);
/* Enqueues the sort of n_slices slices of n keys each, in place. */
enum ts_status ts_cuda_radix_sort(const struct stage_context *context, uint32_t *keys,
                                  void *scratch, int64_t n, int64_t n_slices, cudaStream_t stream);
#pragma GCC visibility pop

#endif
