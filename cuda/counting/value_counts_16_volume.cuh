/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 over all pixels of a 16-bit volume. Each multiprocessor has one block of 1,024 threads
 * and 136 KiB (value_counts_16.cuh describes how a thread counts), with an equal share of the pixels. Memory traffic: 2
 * bytes read a pixel.
 *
 * Counts of a window are few, and are added to the volume's at once. Tables of all keys are not: 132 of them would
 * be 8.6 million additions. Blocks leave them in scratch, packed, wait for one another, and each sums a strip of all
 * tables: 128 KiB written and read a block. A cooperative launch sees to it that all blocks are there.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_16_VOLUME_CUH
#define CUDA_COUNTING_VALUE_COUNTS_16_VOLUME_CUH

#include "cuda/counting/value_counts_16.cuh"

enum { STRIP_VECTORS = 64, STRIP_GROUPS = WIDE_THREADS / STRIP_VECTORS };

/* The gate stands behind the volume's counts; it is zero before a launch and after. */
struct volume_gate {
    uint32_t arrived, left;
};

/* This is a block's table in scratch. */
struct left_table {
    uint32_t words[PACKED_WORDS];
};

struct volume_job {
    struct count_job counts;
    struct volume_gate *gate;
    struct left_table *tables; /* scratch: one a block */
    uint32_t *packed;          /* scratch: whether each block left its table */
};

/* Reports that this block's counts are where they belong. All threads of the block call it. */
static __device__ void arrive(const struct volume_job &job)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(&job.gate->arrived, 1u);
}

static __device__ void wait_for_all(const struct volume_job &job)
{
    if (threadIdx.x == 0)
        while (*(volatile uint32_t *)&job.gate->arrived < gridDim.x)
            __nanosleep(100);
    __syncthreads();
    __threadfence();
}

/* The last to leave closes the gate for the next launch. */
static __device__ void leave(const struct volume_job &job)
{
    if (threadIdx.x == 0 && atomicAdd(&job.gate->left, 1u) == gridDim.x - 1) {
        job.gate->arrived = 0;
        job.gate->left = 0;
    }
}

static __device__ void leave_table(const struct words_counter &counter, const struct volume_job &job)
{
    const uint4 *vectors = (const uint4 *)counter.table;
    uint4 *to = (uint4 *)job.tables[blockIdx.x].words;
    for (uint32_t i = threadIdx.x; i < PACKED_WORDS / 4; i += blockDim.x)
        __stcg(to + i, vectors[i]);
}

/* Lists the blocks that left tables. Returns their number, and this block's place among them. */
static __device__ uint32_t list_tables(const struct volume_job &job, uint16_t *blocks, uint32_t *place)
{
    uint32_t n = 0;
    for (uint32_t first = 0; first < gridDim.x; first += 32) {
        const uint32_t block = first + threadIdx.x % 32;
        const bool packed = block < gridDim.x && __ldcg(&job.packed[block]);
        const uint32_t all = __ballot_sync(~0u, packed),
                       at = n + (uint32_t)__popc(all & ((1u << threadIdx.x % 32) - 1));
        if (packed && threadIdx.x < 32)
            blocks[at] = (uint16_t)block;
        if (blockIdx.x - first < 32)
            *place = n + (uint32_t)__popc(all & ((1u << (blockIdx.x - first)) - 1));
        n += (uint32_t)__popc(all);
    }
    __syncthreads();
    return n;
}

/* Sums four neighboring words of every STRIP_GROUPS-th table, then the groups' sums. `sums`: the block's own table,
 * which it has left. */
static __device__ void sum_strip(const struct volume_job &job, const uint16_t *blocks, uint32_t n, uint32_t first,
                                 uint32_t *sums)
{
    const uint32_t at = threadIdx.x % STRIP_VECTORS, group = threadIdx.x / STRIP_VECTORS;
    uint32_t lower[4] = {}, upper[4] = {};
#pragma unroll 4
    for (uint32_t i = group; i < n; i += STRIP_GROUPS) {
        const uint4 words = __ldcg((const uint4 *)job.tables[blocks[i]].words + first + at);
        const uint32_t pairs[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
        for (int i = 0; i < 4; i++) {
            lower[i] += pairs[i] & 0xFFFF;
            upper[i] += pairs[i] >> 16;
        }
    }
    uint4 *of_group = (uint4 *)sums + group * 2 * STRIP_VECTORS;
    of_group[at] = make_uint4(lower[0], lower[1], lower[2], lower[3]);
    of_group[STRIP_VECTORS + at] = make_uint4(upper[0], upper[1], upper[2], upper[3]);
    __syncthreads();
    if (threadIdx.x < 8 * STRIP_VECTORS) {
        const uint32_t half = threadIdx.x / (4 * STRIP_VECTORS), word = first * 4 + threadIdx.x % (4 * STRIP_VECTORS);
        uint32_t sum = 0;
#pragma unroll
        for (uint32_t i = 0; i < STRIP_GROUPS; i++)
            sum += sums[i * 8 * STRIP_VECTORS + threadIdx.x];
        if (sum > 0 && word + half * PACKED_WORDS < job.counts.n_keys)
            add_count(job.counts, 0, word + half * PACKED_WORDS, sum);
    }
    __syncthreads();
}

static __device__ void sum_tables(const struct words_counter &counter, const struct volume_job &job)
{
    uint16_t *blocks = (uint16_t *)counter.shared->notes; /* no longer needed */
    uint32_t place = 0;
    const uint32_t n = list_tables(job, blocks, &place);
    for (uint32_t strip = place; strip < PACKED_WORDS / 4 / STRIP_VECTORS; strip += n)
        sum_strip(job, blocks, n, strip * STRIP_VECTORS, counter.table);
}

static __global__ void __launch_bounds__(WIDE_THREADS, 1) count_16_volume(struct volume_job job)
{
    struct words_counter counter = open_counter(job.counts, 0, LOG2_PACKED);
    count_share(counter);
    const bool packed = is_packed(counter);
    if (packed)
        leave_table(counter, job);
    else
        add_table(counter);
    if (threadIdx.x == 0)
        job.packed[blockIdx.x] = packed;
    arrive(job);
    if (packed) {
        wait_for_all(job);
        sum_tables(counter, job);
    }
    leave(job);
}

#endif
