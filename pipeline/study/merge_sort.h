/* SPDX-License-Identifier: Apache-2.0
 *
 * A sort by a tree of merges on the CPU, to be compared with the radix sort that stages use
 * (stages/values/radix_sort.h). On a CUDA device: cuda/study/merge_sort.cuh.
 */
#ifndef PIPELINE_STUDY_MERGE_SORT_H
#define PIPELINE_STUDY_MERGE_SORT_H

#include <stdint.h>

/* Sorts n keys in rising order by so many threads; `scratch` holds n more. Returns where the sorted keys lie: in `keys`
 * or in `scratch`. */
uint32_t *ts_merge_sort(uint32_t *keys, uint32_t *scratch, int64_t n, int threads);

#endif
