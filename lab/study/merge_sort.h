/* SPDX-License-Identifier: Apache-2.0
 *
 * A sort by a tree of merges on the CPU, to be compared with the radix sort that stages use
 * (stages/values/radix_sort.h). On a CUDA device: lab/cuda/merge_sort.cuh.
 */
#ifndef LAB_STUDY_MERGE_SORT_H
#define LAB_STUDY_MERGE_SORT_H

#include <stdint.h>

/* Sorts n keys in rising order by so many threads. `scratch` holds 2 n keys; the sorted ones lie in
 * its first or second half, which is returned. */
uint32_t *ts_merge_sort(const uint32_t *keys, uint32_t *scratch, int64_t n, int threads);

#endif
