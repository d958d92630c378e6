/* SPDX-License-Identifier: Apache-2.0
 *
 * A sort by a tree of merges: runs of sorted keys are merged two by two until one run is left, as
 * partial results fan in. It is here to be compared with the radix sort that stages use
 * (cuda/values/radix_sort.cuh).
 */
#ifndef LAB_CUDA_MERGE_SORT_CUH
#define LAB_CUDA_MERGE_SORT_CUH

#include "cuda/device/launch.cuh"

/* ts_cuda_merge_sort() sorts so many keys at least. */
enum { CUDA_MERGE_LEAST = 1024 };

/* Enqueues the sort of n keys in rising order; n is a power of two from CUDA_MERGE_LEAST on.
 * `scratch` holds 2 n keys; the sorted ones lie in its first or second half, which is returned.
 * Call ts_cuda_launched() after it. */
uint32_t *ts_cuda_merge_sort(const uint32_t *keys, uint32_t *scratch, int64_t n,
                             cudaStream_t stream);

#endif
