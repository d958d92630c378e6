/* SPDX-License-Identifier: Apache-2.0
 *
 * This sorts keys by a tree of merges, each of which ranks its keys (J. JaJa, An Introduction to
 * Parallel Algorithms, 1992, 2.4): the place of a key in the merged run is its place in its own
 * run, plus the number of keys of the other run that go before it. One thread finds that number of
 * one key by bisection.
 *
 * The first ten levels of the tree take place in shared memory, 1,024 keys a block, whose threads
 * have one each. Each level above reads and writes every key once, 8 bytes, and bisects: log2 of
 * the length of a run reads, most of them from caches. That makes log2(n)^2 / 2 steps a key, where
 * the radix sort moves a key four times whatever n is.
 */
#include "lab/cuda/merge_sort.cuh"

enum { BLOCK = CUDA_MERGE_LEAST };

/* Returns the place of key i when its run of `width` keys, a power of two, is merged with the run
 * beside it. Of equal keys those of the lower run go first. */
static __device__ int64_t merged_place(const uint32_t *keys, int64_t i, int64_t width)
{
    const uint32_t key = keys[i];
    const bool upper = i & width;
    const int64_t own = i & (width - 1), pair = i & ~(2 * width - 1);
    const uint32_t *other = keys + pair + (upper ? 0 : width);
    int64_t before = 0;
    for (int64_t step = width; step > 0; step /= 2)
        if (before + step <= width &&
            (other[before + step - 1] < key || (upper && other[before + step - 1] == key)))
            before += step;
    return pair + own + before;
}

static __global__ void __launch_bounds__(BLOCK) sort_blocks(const uint32_t *from, uint32_t *to)
{
    __shared__ uint32_t runs[BLOCK];
    const int64_t first = (int64_t)blockIdx.x * BLOCK;
    runs[threadIdx.x] = from[first + threadIdx.x];
    __syncthreads();
    for (int width = 1; width < BLOCK; width *= 2) {
        const uint32_t key = runs[threadIdx.x];
        const int64_t place = merged_place(runs, threadIdx.x, width);
        __syncthreads();
        runs[place] = key;
        __syncthreads();
    }
    to[first + threadIdx.x] = runs[threadIdx.x];
}

static __global__ void __launch_bounds__(BLOCK)
    merge_runs(const uint32_t *from, uint32_t *to, int64_t width)
{
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    to[merged_place(from, i, width)] = from[i];
}

uint32_t *ts_cuda_merge_sort(const uint32_t *keys, uint32_t *scratch, int64_t n,
                             cudaStream_t stream)
{
    const unsigned blocks = (unsigned)(n / BLOCK);
    uint32_t *from = scratch, *to = scratch + n;
    sort_blocks<<<blocks, BLOCK, 0, stream>>>(keys, scratch);
    for (int64_t width = BLOCK; width < n; width *= 2) {
        uint32_t *const merged = to;
        merge_runs<<<blocks, BLOCK, 0, stream>>>(from, to, width);
        to = from;
        from = merged;
    }
    return from;
}
