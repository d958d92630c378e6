/* SPDX-License-Identifier: Apache-2.0
 *
 * This finds the ranks of percentiles, as stages/counting/percentile.c defines them, and the keys
 * at ranks, from counts of keys. Each thread of a block of RANK_THREADS takes a run of neighboring
 * keys.
 */
#ifndef CUDA_COUNTING_RANKS_CUH
#define CUDA_COUNTING_RANKS_CUH

#include "cuda/values/reductions.cuh"

enum { RANK_THREADS = 1024 };

/* Returns the rank that belongs to a percentile of n > 0 values, or, if `next`, the rank after
 * it. */
static __device__ inline uint64_t ts_cuda_rank(uint64_t n, double percent, bool next)
{
    const double whole = floor((double)(n - 1) * (percent / 100));
    const uint64_t rank = (uint64_t)whole < n - 1 ? (uint64_t)whole : n - 1;
    return next && rank + 1 < n ? rank + 1 : rank;
}

/* A thread's run of keys, starting at `first`: the number of values with these keys, with smaller
 * keys, and in all. */
struct key_run {
    uint32_t first;
    uint64_t sum, before, total;
};

/* Sums count(key) over the keys below n_keys. All threads of the block call it. */
template <typename COUNT>
static __device__ inline struct key_run ts_cuda_key_run(const COUNT &count, uint32_t n_keys)
{
    __shared__ uint64_t warp_sums[CUDA_BLOCK_WARPS];
    const uint32_t length = (n_keys + RANK_THREADS - 1) / RANK_THREADS;
    struct key_run run = {threadIdx.x * length};
    for (uint32_t key = run.first; key < run.first + length && key < n_keys; key++)
        run.sum += count(key);
    run.before = block_exclusive_sum(run.sum, warp_sums, &run.total);
    return run;
}

/* Returns true if the value at *rank has a key of this run. It then finds the key, and turns
 * *rank into the rank among its values. */
template <typename COUNT>
static __device__ inline bool ts_cuda_key_at(const COUNT &count, const struct key_run &run,
                                             uint64_t *rank, uint32_t *key)
{
    if (*rank < run.before || *rank >= run.before + run.sum)
        return false;
    *key = run.first;
    for (*rank -= run.before; *rank >= count(*key); ++*key)
        *rank -= count(*key);
    return true;
}

#endif
