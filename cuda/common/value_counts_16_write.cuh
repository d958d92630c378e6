/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared memory of value_counts_16.cuh's kernel, and how the counts in it become a partial result. A thread takes
 * every 1,024th key (packed: four of them); 128 KiB are read and cleared, up to 256 KiB written a slice.
 */
#ifndef CUDA_COMMON_VALUE_COUNTS_16_WRITE_CUH
#define CUDA_COMMON_VALUE_COUNTS_16_WRITE_CUH

#include "cuda/common/value_counts_job.cuh"

enum { WORDS_THREADS = 1024, WORDS_LOADS = 4, WORDS_TABLE = 32768, WORDS_NOTES = 2048 };
/* A slice that one block owns has at most this many pixels: then its carries fit into the list. */
static const uint64_t words_own_pixels = UINT64_C(1) << 26;

/* A note: what happened, and to which key (or, for carries, word of the table). */
enum { NOTE_OUTLIER = 0, NOTE_LOWER_CARRY = 1 << 16, NOTE_UPPER_CARRY = 2 << 16, NOTE_KINDS = 3 << 16 };

struct words_shared {
    uint32_t table[WORDS_TABLE];
    uint32_t notes[WORDS_NOTES], n_notes;
    uint32_t low, high;                 /* of the keys that were written out */
    uint32_t sampled_low, sampled_high; /* of the slice that is to come */
};

/* The form of the table for one slice, the same in all threads. */
struct words_table {
    uint32_t first;     /* key of the window */
    uint32_t log2_keys; /* of the window; 16: packed */
};

struct words_counter {
    struct words_shared *shared;
    struct words_table form;
    struct count_job job;
    int64_t slice;
};

static __device__ uint32_t lowest_of_warp(uint32_t value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = min(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

static __device__ uint32_t highest_of_warp(uint32_t value)
{
    for (int distance = 16; distance > 0; distance /= 2)
        value = max(value, __shfl_xor_sync(~0u, value, distance));
    return value;
}

/* Widens [*low, *high] of the block by what its threads found; all threads of a warp come here. */
static __device__ void widen_range(uint32_t *low, uint32_t *high, uint32_t found_low, uint32_t found_high)
{
    found_low = lowest_of_warp(found_low);
    found_high = highest_of_warp(found_high);
    if (threadIdx.x % 32 == 0) {
        atomicMin(low, found_low);
        atomicMax(high, found_high);
    }
}

/* Sum of the copies of key `at` of the window; they are cleared for the next slice. */
static __device__ uint32_t take_copies(uint32_t *table, uint32_t at, uint32_t log2_copies)
{
    const uint32_t copies = 1u << log2_copies;
    uint32_t sum = 0;
    if (copies < 4) {
        for (uint32_t i = 0; i < copies; i++) {
            sum += table[at * copies + i];
            table[at * copies + i] = 0;
        }
        return sum;
    }
    uint4 *vectors = (uint4 *)(table + at * copies);
    for (uint32_t i = 0; i < copies / 4; i++) { /* from a start that differs in neighboring threads: fewer conflicts */
        uint4 *vector = &vectors[(i + threadIdx.x) % (copies / 4)];
        const uint4 part = *vector;
        sum += part.x + part.y + part.z + part.w;
        *vector = make_uint4(0, 0, 0, 0);
    }
    return sum;
}

static __device__ struct cuda_slice_counts *slice_counts(const struct words_counter &counter)
{
    return (struct cuda_slice_counts *)((char *)counter.job.partials + (uint64_t)counter.slice * counter.job.stride);
}

/* Blocks start at different keys, so that they do not all add to the same. */
static __device__ void add_table(const struct words_counter &counter)
{
    const uint32_t keys = counter.form.log2_keys == 16 ? WORDS_TABLE : 1u << counter.form.log2_keys;
    const uint32_t start = (uint32_t)((uint64_t)blockIdx.x * keys / gridDim.x);
    for (uint32_t i = threadIdx.x; i < keys; i += WORDS_THREADS) {
        const uint32_t at = (i + start) % keys;
        uint32_t *word = &counter.shared->table[at];
        if (counter.form.log2_keys == 16) {
            const uint32_t pair = *word;
            *word = 0;
            if (pair & 0xFFFF)
                add_count(counter.job, counter.slice, at, pair & 0xFFFF);
            if (pair >> 16)
                add_count(counter.job, counter.slice, at + WORDS_TABLE, pair >> 16);
        } else {
            const uint32_t n = take_copies(counter.shared->table, at, 15 - counter.form.log2_keys);
            if (n > 0)
                add_count(counter.job, counter.slice, counter.form.first + at, n);
        }
    }
}

/* Takes what carries left in the upper counts away again. */
static __device__ void mend_carries(const struct words_counter &counter, uint32_t n_notes)
{
    for (uint32_t i = threadIdx.x; i < n_notes; i += WORDS_THREADS) {
        uint32_t *note = &counter.shared->notes[i];
        const uint32_t word = *note % WORDS_TABLE;
        if ((*note & NOTE_KINDS) == NOTE_LOWER_CARRY && atomicSub(&counter.shared->table[word], 65536u) < 65536)
            *note = NOTE_KINDS | word; /* and the upper count had to borrow */
    }
}

static __device__ void write_packed(const struct words_counter &counter)
{
    uint32_t *counts = slice_counts(counter)->counts, low = VALUE_COUNTS_KEYS_16, high = 0;
    for (uint32_t i = threadIdx.x * 4; i < WORDS_TABLE; i += WORDS_THREADS * 4) {
        uint4 *words = (uint4 *)(counter.shared->table + i);
        const uint4 pairs = *words;
        const uint4 lower = make_uint4(pairs.x & 0xFFFF, pairs.y & 0xFFFF, pairs.z & 0xFFFF, pairs.w & 0xFFFF);
        const uint4 upper = make_uint4(pairs.x >> 16, pairs.y >> 16, pairs.z >> 16, pairs.w >> 16);
        *words = make_uint4(0, 0, 0, 0);
        *(uint4 *)(counts + i) = lower;
        *(uint4 *)(counts + WORDS_TABLE + i) = upper;
        const uint32_t all[8] = {lower.x, lower.y, lower.z, lower.w, upper.x, upper.y, upper.z, upper.w};
#pragma unroll
        for (uint32_t at = 0; at < 8; at++)
            if (all[at] > 0) {
                const uint32_t key = i + at % 4 + at / 4 * WORDS_TABLE;
                low = min(low, key);
                high = max(high, key);
            }
    }
    widen_range(&counter.shared->low, &counter.shared->high, low, high);
}

static __device__ void write_window(const struct words_counter &counter)
{
    const uint32_t keys = 1u << counter.form.log2_keys;
    uint32_t *counts = slice_counts(counter)->counts + counter.form.first, low = VALUE_COUNTS_KEYS_16, high = 0;
    for (uint32_t at = threadIdx.x; at < keys; at += WORDS_THREADS) {
        const uint32_t n = take_copies(counter.shared->table, at, 15 - counter.form.log2_keys);
        counts[at] = n;
        if (n > 0) {
            low = min(low, counter.form.first + at);
            high = max(high, counter.form.first + at);
        }
    }
    widen_range(&counter.shared->low, &counter.shared->high, low, high);
}

/* Keys between the outliers and the window have counts, too: none. */
static __device__ void clear_gaps(const struct words_counter &counter, uint32_t n_notes)
{
    struct words_shared *shared = counter.shared;
    uint32_t low = VALUE_COUNTS_KEYS_16, high = 0;
    for (uint32_t i = threadIdx.x; i < n_notes; i += WORDS_THREADS) {
        low = min(low, shared->notes[i]);
        high = max(high, shared->notes[i]);
    }
    widen_range(&shared->low, &shared->high, low, high);
    __syncthreads();
    uint32_t *counts = slice_counts(counter)->counts;
    for (uint32_t key = shared->low + threadIdx.x; key < counter.form.first; key += WORDS_THREADS)
        counts[key] = 0;
    for (uint32_t key = counter.form.first + (1u << counter.form.log2_keys) + threadIdx.x; key <= shared->high;
         key += WORDS_THREADS)
        counts[key] = 0;
    __syncthreads();
}

static __device__ void apply_notes(const struct words_counter &counter, uint32_t n_notes)
{
    struct words_shared *shared = counter.shared;
    uint32_t *counts = slice_counts(counter)->counts, low = VALUE_COUNTS_KEYS_16, high = 0;
    for (uint32_t i = threadIdx.x; i < n_notes; i += WORDS_THREADS) {
        const uint32_t kind = shared->notes[i] & NOTE_KINDS, key = shared->notes[i] & 0xFFFF;
        if (kind == NOTE_UPPER_CARRY)
            atomicAdd(&counts[key + WORDS_TABLE], 65536u);
        else
            atomicAdd(&counts[key], kind == NOTE_OUTLIER ? 1u : 65536u);
        if (kind == NOTE_KINDS)
            atomicSub(&counts[key + WORDS_TABLE], 65536u);
    }
    __syncthreads();
    /* A count whose 16 bits are zero may still be there. */
    for (uint32_t i = threadIdx.x; i < n_notes; i += WORDS_THREADS) {
        const uint32_t word = shared->notes[i] & 0xFFFF;
        const bool outlier = (shared->notes[i] & NOTE_KINDS) == NOTE_OUTLIER;
        for (uint32_t key = word; key < VALUE_COUNTS_KEYS_16; key += outlier ? VALUE_COUNTS_KEYS_16 : WORDS_TABLE)
            if (*(volatile uint32_t *)&counts[key] > 0) {
                low = min(low, key);
                high = max(high, key);
            }
    }
    widen_range(&shared->low, &shared->high, low, high);
}

static __device__ void write_slice(const struct words_counter &counter)
{
    struct words_shared *shared = counter.shared;
    const uint32_t n_notes = shared->n_notes;
    const bool packed = counter.form.log2_keys == 16;
    if (packed && n_notes > 0) {
        mend_carries(counter, n_notes);
        __syncthreads();
    }
    if (packed)
        write_packed(counter);
    else
        write_window(counter);
    __syncthreads();
    if (n_notes > 0) {
        if (!packed)
            clear_gaps(counter, n_notes);
        apply_notes(counter, n_notes);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        slice_counts(counter)->low = shared->low;
        slice_counts(counter)->high = shared->high;
    }
}

#endif
