/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 over the pixels of 16-bit images, where a block cannot have the shared memory that
 * value_counts_16.cuh wants (compute capabilities 7.5, 8.6 and 8.9: 64 or 99 KiB).
 *
 * A block first finds the lowest and the highest key of its part of a slice. Then it counts those keys in passes, each
 * over as many neighboring keys as its table holds: one where the values use up to 12 bits or so, as CT does, at most 5
 * with 64 KiB and values of all 16 bits. Where the keys need half the table or less it holds copies, for different
 * lanes, so that fewer of them meet in a counter.
 *
 * A thread adds the 8 pixels of a vector at a time, in one add where all are the same. Memory traffic: 2 bytes read for
 * each pixel and pass, the first time from memory, then mostly from cache. A block has 1,024 threads and all the shared
 * memory that it may have, because a larger table takes fewer passes.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_PASSES_CUH
#define CUDA_COUNTING_VALUE_COUNTS_PASSES_CUH

#include "cuda/counting/count_job.cuh"
#include "cuda/values/reductions.cuh"

/* PASS_RESERVED bytes of shared memory are not the table's. */
enum { PASS_THREADS = 1024, PASS_RESERVED = 256, PASS_MOST_LOG2_COPIES = 5 };

static __device__ void widen_pass(uint32_t *low, uint32_t *high, const struct count_job &job, uint32_t word)
{
    const uint32_t keys = keys_of(job, word), a = keys & 0xFFFF, b = keys >> 16;
    *low = min(*low, min(a, b));
    *high = max(*high, max(a, b));
}

/* Finds the lowest and the highest key of the span; low > high where it is empty. All threads of the block call it. */
static __device__ void find_pass_range(const struct count_job &job, const struct pixel_span<uint16_t> &span,
                                       uint32_t range[2])
{
    uint32_t low = VALUE_COUNTS_KEYS_16, high = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        range[0] = low;
        range[1] = high;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += PASS_THREADS) {
        const uint4 vector = load_vector(span.vectors + i);
        const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
        for (int k = 0; k < 4; k++)
            widen_pass(&low, &high, job, words[k]);
    }
    if (threadIdx.x < span.n_head)
        widen_pass(&low, &high, job, load_pixel(span.head + threadIdx.x) * 0x10001u);
    if (threadIdx.x < span.n_tail)
        widen_pass(&low, &high, job, load_pixel(span.tail + threadIdx.x) * 0x10001u);
    low = ts_cuda_warp_lowest(low);
    high = ts_cuda_warp_highest(high);
    if (threadIdx.x % 32 == 0 && low <= high) {
        atomicMin(&range[0], low);
        atomicMax(&range[1], high);
    }
    __syncthreads();
}

static __device__ void count_pass_vector(const struct block_table &table, const struct count_job &job,
                                         const uint4 &vector)
{
    const uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
    if (((words[0] ^ words[1]) | (words[0] ^ words[2]) | (words[0] ^ words[3]) |
         (words[0] ^ __byte_perm(words[0], 0, 0x1032))) == 0) {
        count_key(table, keys_of(job, words[0]) & 0xFFFF, 8);
        return;
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t keys = keys_of(job, words[i]);
        count_key(table, keys & 0xFFFF, 1);
        count_key(table, keys >> 16, 1);
    }
}

/* Counts the keys of one pass and adds them to the slice's partial. All threads of the block call it. */
static __device__ void count_pass(const struct count_job &job, int64_t slice, const struct pixel_span<uint16_t> &span,
                                  const struct block_table &table)
{
    clear_counts(table);
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += 2 * PASS_THREADS) {
        const bool both = i + PASS_THREADS < span.n_vectors;
        const uint4 one = load_vector(span.vectors + i),
                    two = both ? load_vector(span.vectors + i + PASS_THREADS) : one;
        count_pass_vector(table, job, one);
        if (both)
            count_pass_vector(table, job, two);
    }
    if (threadIdx.x < span.n_head)
        count_key(table, key_of(job, load_pixel(span.head + threadIdx.x)), 1);
    if (threadIdx.x < span.n_tail)
        count_key(table, key_of(job, load_pixel(span.tail + threadIdx.x)), 1);
    __syncthreads();
    for (uint32_t key = threadIdx.x; key < table.n; key += PASS_THREADS) {
        const uint32_t sum = sum_copies(table, key);
        if (sum > 0)
            add_count(job, slice, table.first + key, sum);
    }
    __syncthreads();
}

/* gridDim.x blocks share a slice of less than 2^32 pixels a block, and add to its cleared partial. */
static __global__ void __launch_bounds__(PASS_THREADS) count_16_passes(struct count_job job, uint32_t n_counters)
{
    extern __shared__ __align__(16) char memory[];
    __shared__ uint32_t range[2];
    for (int64_t slice = blockIdx.y; slice < job.n_slices; slice += gridDim.y) {
        const struct pixel_span<uint16_t> span = span_of<uint16_t>(job, slice, blockIdx.x, gridDim.x);
        struct block_table table = {(uint32_t *)memory};
        find_pass_range(job, span, range);
        const uint32_t low = range[0], high = range[1];
        for (table.first = low; table.first <= high; table.first += table.n) {
            table.n = min(high - table.first + 1, n_counters);
            for (table.log2_copies = 0; table.log2_copies < PASS_MOST_LOG2_COPIES; table.log2_copies++)
                if (table.n << (table.log2_copies + 1) > n_counters)
                    break;
            count_pass(job, slice, span, table);
        }
    }
}

#endif
