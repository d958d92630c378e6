/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes bins of equal width out of counts of single values on a CUDA device.
 */
#ifndef CUDA_COUNTING_HISTOGRAM_BINS_CUH
#define CUDA_COUNTING_HISTOGRAM_BINS_CUH

#include "cuda/counting/value_counts.cuh"

extern "C" {
#include "stages/counting/bins.h"
}

/* Bins are made from counts of slices as value_counts.cuh has them (of_slices), or from uint64_t
 * counts of n_keys keys that start with `first`. */
struct binning_job {
    const char *counts; /* counts of slices are `stride` bytes apart */
    size_t stride;
    bool of_slices;
    uint32_t first, n_keys, log2_group; /* a key stands for a group of 2^log2_group values */
    double lowest;                      /* the value of key 0 */
    bool known; /* false: make bins.n bins from the lowest to the highest value that occurs */
    struct bins bins;
    char *binned; /* results: struct cuda_value_bins, binned_stride bytes apart */
    size_t binned_stride;
};

struct cuda_value_bins {
    uint32_t low, high; /* keys of the lowest and the highest value if the bins are not known; low >
                         * high: no value */
    uint32_t reserved[2];
    /* behind it follow slots as in stages/counting/bins.h: uint32_t for slices, else uint64_t */
};

/* Enqueues the making of n sets of bins from n sets of counts. */
enum ts_status ts_cuda_histogram_bins(const struct stage_context *context,
                                      const struct binning_job *job, int64_t n,
                                      const struct cuda_call *call);

#endif
