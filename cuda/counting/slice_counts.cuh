/* SPDX-License-Identifier: Apache-2.0
 *
 * These counts say how often each value occurs in one slice of an 8- or 16-bit image. They are the
 * partial result of a reduction slice by slice.
 */
#ifndef CUDA_COUNTING_SLICE_COUNTS_CUH
#define CUDA_COUNTING_SLICE_COUNTS_CUH

#include "cuda/device/launch.cuh"

struct cuda_slice_counts {
    uint32_t low, high; /* keys of the lowest and the highest value of the slice */
    uint32_t reserved[2];
    uint32_t counts[]; /* n_keys counts, valid only in [low, high] */
};

/* Returns how often the value with this key occurs in the slice. */
static inline __host__ __device__ uint32_t
ts_cuda_slice_count(const struct cuda_slice_counts *slice, uint32_t key)
{
    return key >= slice->low && key <= slice->high ? slice->counts[key] : 0;
}

#endif
