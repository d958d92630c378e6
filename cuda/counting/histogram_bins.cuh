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

/* Bins are made of counts of slices as value_counts.cuh has them (of_slices), or of uint64_t counts
 * of n_keys keys from `first` on. */
struct binning_job {
    const char *counts; /* `stride` bytes apart */
    size_t stride;
    bool of_slices;
    uint32_t first, n_keys, log2_group; /* keys: of groups of 2^log2_group values */
    double lowest;                      /* value of key 0 */
    bool known; /* false: bins.n bins from the lowest to the highest value that occurs */
    struct bins bins;
    char *binned; /* struct cuda_value_bins, binned_stride bytes apart */
    size_t binned_stride;
};

struct cuda_value_bins {
    uint32_t low, high; /* keys of the lowest and the highest value where the bins are not known;
                           low > high: none */
    uint32_t reserved[2];
    /* slots as stages/counting/bins.h has them follow: uint32_t of slices, else uint64_t */
};

/* Enqueues the bins of n counts. */
enum ts_status ts_cuda_histogram_bins(const struct stage_context *context,
                                      const struct binning_job *job, int64_t n,
                                      const struct cuda_call *call);

#endif
