/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 over the pixels of 8-bit images.
 *
 * A block keeps one table for every lane of a warp, at table[key * 32 + lane]: lane l only ever touches bank l of
 * shared memory, so that no values, however distributed, make lanes wait for each other. A thread adds the 16 pixels of
 * a vector at a time, with two vectors in flight. Memory traffic: 1 byte read a pixel. 512 threads a block let four
 * blocks (128 KiB of tables) fill a multiprocessor, and while one block sums its tables the others read.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_8_CUH
#define CUDA_COUNTING_VALUE_COUNTS_8_CUH

#include "cuda/counting/count_job.cuh"
#include "cuda/device/occupancy.cuh"

enum { BYTES_THREADS = 512, BYTES_BLOCKS = 4, BYTES_LOADS = 2, BYTES_TABLE = VALUE_COUNTS_KEYS_8 * 32 };

static __device__ void count_byte_word(char *lane_table, uint32_t word)
{
    const uint32_t keys = 0xFF << 7;
    atomicAdd((uint32_t *)(lane_table + (word << 7 & keys)), 1u);
    atomicAdd((uint32_t *)(lane_table + (word >> 1 & keys)), 1u);
    atomicAdd((uint32_t *)(lane_table + (word >> 9 & keys)), 1u);
    atomicAdd((uint32_t *)(lane_table + (word >> 17 & keys)), 1u);
}

static __device__ void count_bytes(const struct pixel_span<uint8_t> &span, struct vector_ring<BYTES_LOADS> &ring,
                                   uint32_t *table, uint32_t bias)
{
    char *lane_table = (char *)(table + threadIdx.x % 32);
    const uint32_t bias4 = bias * 0x01010101;
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += BYTES_LOADS * BYTES_THREADS) {
#pragma unroll
        for (uint32_t load = 0; load < BYTES_LOADS; load++) {
            const uint32_t now = i + load * BYTES_THREADS, then = now + BYTES_LOADS * BYTES_THREADS;
            const uint4 vector = ring.next[load];
            if (then < span.n_vectors)
                ring.next[load] = load_vector(span.vectors + then);
            if (now < span.n_vectors) {
                count_byte_word(lane_table, vector.x ^ bias4);
                count_byte_word(lane_table, vector.y ^ bias4);
                count_byte_word(lane_table, vector.z ^ bias4);
                count_byte_word(lane_table, vector.w ^ bias4);
            }
        }
    }
    if (threadIdx.x < span.n_head)
        atomicAdd((uint32_t *)(lane_table + ((uint32_t)(span.head[threadIdx.x] ^ bias) << 7)), 1u);
    if (threadIdx.x < span.n_tail)
        atomicAdd((uint32_t *)(lane_table + ((uint32_t)(span.tail[threadIdx.x] ^ bias) << 7)), 1u);
}

/* Returns the sum of the lanes' counts of a key, and clears them for the next slice. Threads start at different lanes,
 * so that they meet in no bank. */
static __device__ uint32_t take_lanes(uint32_t *table, uint32_t key)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t *lane = &table[key * 32 + (i + threadIdx.x) % 32];
        sum += *lane;
        *lane = 0;
    }
    return sum;
}

/* With `own` one block counts whole slices and overwrites their partials. Else several blocks share a slice (or the
 * volume, which is one long slice) and add to its cleared partial. */
template <bool own>
static __global__ void __launch_bounds__(BYTES_THREADS, TS_CUDA_BLOCKS(BYTES_THREADS, BYTES_BLOCKS))
    count_8(struct count_job job)
{
    __shared__ uint32_t table[BYTES_TABLE];
    __shared__ uint32_t low, high;
    const uint32_t key = threadIdx.x;
    struct pixel_span<uint8_t> span = span_of<uint8_t>(job, blockIdx.y, blockIdx.x, gridDim.x);
    struct vector_ring<BYTES_LOADS> ring;
    fill_ring<BYTES_LOADS, BYTES_THREADS>(ring, span);
    for (uint32_t i = threadIdx.x; i < BYTES_TABLE; i += BYTES_THREADS)
        table[i] = 0;
    for (int64_t slice = blockIdx.y; slice < job.n_slices; slice += gridDim.y) {
        if (threadIdx.x == 0) {
            low = VALUE_COUNTS_KEYS_8;
            high = 0;
        }
        __syncthreads();
        count_bytes(span, ring, table, job.bias);
        if (slice + gridDim.y < job.n_slices) {
            span = span_of<uint8_t>(job, slice + gridDim.y, blockIdx.x, gridDim.x);
            fill_ring<BYTES_LOADS, BYTES_THREADS>(ring, span);
        }
        __syncthreads();
        const uint32_t n = key < VALUE_COUNTS_KEYS_8 ? take_lanes(table, key) : 0;
        struct cuda_slice_counts *out =
            (struct cuda_slice_counts *)((char *)job.partials + (uint64_t)slice * job.stride);
        if (!own) {
            if (n > 0)
                add_count(job, slice, key, n);
            continue;
        }
        if (key < VALUE_COUNTS_KEYS_8)
            out->counts[key] = n;
        if (n > 0) {
            atomicMin(&low, key);
            atomicMax(&high, key);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            out->low = low;
            out->high = high;
        }
    }
}

#endif
