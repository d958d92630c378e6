/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that count by label share two things: the row of a label, and a cache of counts in shared
 * memory. Shared memory cannot hold all pairs of a row and a slot, but neighboring pixels often
 * have the same pair. So a block keeps about 8,192 counters, each for the first pair that was
 * hashed to its place; a pair that finds its place taken is added to global memory at once. Which
 * pairs are cached depends on the order of threads, but the sums do not.
 */
#ifndef CUDA_COUNTING_LABEL_PAIRS_CUH
#define CUDA_COUNTING_LABEL_PAIRS_CUH

#include "cuda/device/launch.cuh"

enum { PAIR_PLACES = 8192 - 64, PAIR_FREE = -1 };
/* Bytes of dynamic shared memory of a block that counts pairs. */
static const size_t pair_cache_bytes = PAIR_PLACES * 2 * sizeof(uint32_t);

struct pair_cache {
    int32_t *pairs;
    uint32_t *counts;
};

/* Returns the row of pixel i: its label, or n_labels if the label is not in [0, n_labels). A
 * negative label becomes a large unsigned number. */
static __device__ inline uint32_t ts_cuda_label_row(const void *labels, enum ts_dtype dtype,
                                                    uint64_t i, uint32_t n_labels)
{
    uint32_t row;
    switch (dtype) {
        TS_CUDA_CASE(TS_U8, row = ((const uint8_t *)labels)[i])
        TS_CUDA_CASE(TS_I8, row = (uint32_t)((const int8_t *)labels)[i])
        TS_CUDA_CASE(TS_U16, row = ((const uint16_t *)labels)[i])
        TS_CUDA_CASE(TS_I16, row = (uint32_t)((const int16_t *)labels)[i])
    default:
        row = ((const uint32_t *)labels)[i];
    }
    return min(row, n_labels);
}

/* Returns an empty cache in this memory. All threads of the block call it. */
static __device__ inline struct pair_cache ts_cuda_pair_cache(uint32_t *memory)
{
    const struct pair_cache cache = {(int32_t *)memory, memory + PAIR_PLACES};
    for (uint32_t place = threadIdx.x; place < PAIR_PLACES; place += blockDim.x) {
        cache.pairs[place] = PAIR_FREE;
        cache.counts[place] = 0;
    }
    __syncthreads();
    return cache;
}

static __device__ inline void ts_cuda_pair_count(const struct pair_cache &cache,
                                                 unsigned long long *counts, uint32_t pair)
{
    const uint32_t place = pair % PAIR_PLACES;
    int32_t holder = *(volatile int32_t *)&cache.pairs[place];
    if (holder == PAIR_FREE)
        holder = atomicCAS(&cache.pairs[place], (int32_t)PAIR_FREE, (int32_t)pair);
    if (holder == PAIR_FREE || holder == (int32_t)pair)
        atomicAdd(&cache.counts[place], 1u);
    else
        atomicAdd(&counts[pair], 1ull);
}

/* Adds what is cached to the counts. All threads of the block call it. */
static __device__ inline void ts_cuda_pair_cache_empty(const struct pair_cache &cache,
                                                       unsigned long long *counts)
{
    __syncthreads();
    for (uint32_t place = threadIdx.x; place < PAIR_PLACES; place += blockDim.x)
        if (cache.counts[place] > 0)
            atomicAdd(&counts[(uint32_t)cache.pairs[place]],
                      (unsigned long long)cache.counts[place]);
}

#endif
