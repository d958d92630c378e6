/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the table of 16-bit counting in shared memory (value_counts_16.cuh states why) and how pixels are added to
 * it.
 *
 * window: 32-bit counts of the keys [first, first + 2^log2_keys), each in 2^log2_copies copies that the lanes of a warp
 *         share out. Keys outside are outliers.
 * packed: 16-bit counts of all keys, key k in the lower and key k + 32,768 in the upper half of a word. A carry out of
 *         the lower half adds one to the upper; one out of the upper is lost. A sum over the table shows whether either
 *         happened: every carry makes it smaller. Adds of more than one, and all adds where carries must not go
 *         unnoticed, look at the value that they found and note carries.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_16_TABLE_CUH
#define CUDA_COUNTING_VALUE_COUNTS_16_TABLE_CUH

#include "cuda/counting/count_job.cuh"

enum { WORDS_NOTES = 2048, PACKED_WORDS = 32768, LOG2_PACKED = 15 };

/* A note states what happened, and to which key (for carries: to which word of the table). */
enum { NOTE_OUTLIER = 0, NOTE_LOWER_CARRY = 1 << 16, NOTE_UPPER_CARRY = 2 << 16, NOTE_BORROW = 3 << 16 };
enum { NOTE_KINDS = 3 << 16 };

/* The start of dynamic shared memory; the table follows. */
struct words_shared {
    uint32_t notes[WORDS_NOTES];
    uint32_t n_notes, sum;
    uint32_t low, high;                 /* keys that were written out */
    uint32_t sampled_low, sampled_high; /* keys of the sample of the next slice */
    uint32_t reserved[2];
};

/* Outliers and carries go to the list of the block, or to the partial at once. */
enum note_place { TO_LIST, TO_PARTIAL };

struct words_counter {
    struct words_shared *shared;
    uint32_t *table;
    uint32_t log2_table;
    uint32_t first, log2_keys, log2_copies; /* of the window; log2_keys 16: packed */
    struct count_job job;
    int64_t slice;
};

static __device__ bool is_packed(const struct words_counter &counter)
{
    return counter.log2_keys == 16;
}

template <enum note_place place>
static __device__ void add_note(const struct words_counter &counter, uint32_t kind, uint32_t key)
{
    if (place == TO_LIST) {
        const uint32_t i = atomicAdd(&counter.shared->n_notes, 1u);
        if (i < WORDS_NOTES)
            counter.shared->notes[i] = kind | key;
    } else if (kind == NOTE_OUTLIER) {
        add_count(counter.job, counter.slice, key, 1);
    } else if (kind == NOTE_LOWER_CARRY) { /* the upper count has it */
        add_count(counter.job, counter.slice, key, 65536);
        if (key + PACKED_WORDS < counter.job.n_keys)
            add_count(counter.job, counter.slice, key + PACKED_WORDS, -1);
    } else {
        add_count(counter.job, counter.slice, key + PACKED_WORDS, 65536);
    }
}

/* Lanes that add the same to the same place would wait for each other, so one of them adds for all. Returns what this
 * lane must add; any set of lanes may call it together. */
static __device__ uint32_t add_for_all(uint32_t pair, uint32_t n)
{
    const unsigned lanes = __activemask();
    const int leader = __ffs((int)lanes) - 1;
    if (!__all_sync(lanes, __shfl_sync(lanes, pair, leader) == pair))
        return n;
    return (int)(threadIdx.x % 32) == leader ? n * (uint32_t)__popc(lanes) : 0;
}

/* ---- window ------------------------------------------------------------------------------------ */

template <enum note_place place>
static __device__ void count_windowed(const struct words_counter &counter, uint32_t key)
{
    const uint32_t at = key - counter.first, lane = threadIdx.x & ((1u << counter.log2_copies) - 1);
    if (at >> counter.log2_keys == 0)
        atomicAdd(&counter.table[at << counter.log2_copies | lane], 1u);
    else
        add_note<place>(counter, NOTE_OUTLIER, key);
}

/* These are the same for all pixels of a window, and computed once. */
struct window_lanes {
    char *table;
    uint32_t shift, mask; /* turn a key in the lower half of a word into bytes of the table */
    uint32_t offset;      /* bytes to the lane's own copy */
    uint32_t outside2;    /* bits that no key of the window has, in both halves */
    uint32_t first2;
};

static __device__ struct window_lanes lanes_of(const struct words_counter &counter)
{
    const uint32_t keys = (1u << counter.log2_keys) - 1;
    struct window_lanes lanes;
    lanes.table = (char *)counter.table;
    lanes.shift = counter.log2_copies + 2;
    lanes.mask = keys << lanes.shift;
    lanes.offset = (threadIdx.x & ((1u << counter.log2_copies) - 1)) * 4;
    lanes.outside2 = ~(keys * 0x10001);
    lanes.first2 = counter.first * 0x10001;
    return lanes;
}

/* The hardware joins additions of one to the same place; so values that many lanes have cost no more than others. */
static __device__ void count_pair(const struct window_lanes &lanes, uint32_t pair)
{
    atomicAdd((uint32_t *)(lanes.table + ((pair << lanes.shift & lanes.mask) | lanes.offset)), 1u);
    atomicAdd((uint32_t *)(lanes.table + ((pair >> (16 - lanes.shift) & lanes.mask) | lanes.offset)), 1u);
}

template <enum note_place place>
static __device__ void count_outlying(const struct words_counter &counter, uint32_t word)
{
    const uint32_t keys = keys_of(counter.job, word);
    count_windowed<place>(counter, keys & 0xFFFF);
    count_windowed<place>(counter, keys >> 16);
}

/* Adds to a window that holds all keys. */
static __device__ void count_whole_vector(const struct words_counter &counter, const struct window_lanes &lanes,
                                          const uint4 &vector)
{
    count_pair(lanes, keys_of(counter.job, vector.x));
    count_pair(lanes, keys_of(counter.job, vector.y));
    count_pair(lanes, keys_of(counter.job, vector.z));
    count_pair(lanes, keys_of(counter.job, vector.w));
}

/* A borrow from the upper half only happens where the lower one is outside of the window, which shows. */
template <enum note_place place>
static __device__ void count_window_vector(const struct words_counter &counter, const struct window_lanes &lanes,
                                           const uint4 &vector)
{
    const uint4 keys = vector_keys_of(counter.job, vector);
    const uint32_t x = keys.x - lanes.first2, y = keys.y - lanes.first2;
    const uint32_t z = keys.z - lanes.first2, w = keys.w - lanes.first2;
    if (((x | y | z | w) & lanes.outside2) != 0) {
        count_outlying<place>(counter, vector.x);
        count_outlying<place>(counter, vector.y);
        count_outlying<place>(counter, vector.z);
        count_outlying<place>(counter, vector.w);
    } else {
        count_pair(lanes, x);
        count_pair(lanes, y);
        count_pair(lanes, z);
        count_pair(lanes, w);
    }
}

/* ---- packed ------------------------------------------------------------------------------------ */

/* Adds to one half of a word and notes what carried. */
template <enum note_place place>
static __device__ void count_noting(const struct words_counter &counter, uint32_t key, uint32_t n)
{
    const uint32_t word = key % PACKED_WORDS, add = key < PACKED_WORDS ? n : n << 16;
    const uint32_t old = atomicAdd(&counter.table[word], add);
    if (key < PACKED_WORDS && (old & 0xFFFF) + n > 0xFFFF)
        add_note<place>(counter, NOTE_LOWER_CARRY, word);
    if (old + add < old)
        add_note<place>(counter, NOTE_UPPER_CARRY, word);
}

static __device__ void count_blindly(char *table, uint32_t pair)
{
    const uint32_t mask = (PACKED_WORDS - 1) << 2;
    atomicAdd((uint32_t *)(table + (pair << 2 & mask)), pair & 0x8000 ? 0x10000u : 1u);
    atomicAdd((uint32_t *)(table + (pair >> 14 & mask)), (int32_t)pair < 0 ? 0x10000u : 1u);
}

template <enum note_place place>
static __device__ void count_pair_noting(const struct words_counter &counter, uint32_t pair, uint32_t n)
{
    count_noting<place>(counter, pair & 0xFFFF, n);
    count_noting<place>(counter, pair >> 16, n);
}

template <enum note_place place, bool blindly>
static __device__ void count_packed_vector(const struct words_counter &counter, const uint4 &vector)
{
    const uint4 keys = vector_keys_of(counter.job, vector);
    if (keys.x == keys.y && keys.z == keys.w && keys.x == keys.z) {
        const uint32_t n = add_for_all(keys.x, 4);
        if (n > 0)
            count_pair_noting<place>(counter, keys.x, n);
    } else if (blindly) {
        char *table = (char *)counter.table;
        count_blindly(table, keys.x);
        count_blindly(table, keys.y);
        count_blindly(table, keys.z);
        count_blindly(table, keys.w);
    } else {
        count_pair_noting<place>(counter, keys.x, 1);
        count_pair_noting<place>(counter, keys.y, 1);
        count_pair_noting<place>(counter, keys.z, 1);
        count_pair_noting<place>(counter, keys.w, 1);
    }
}

#endif
