/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the table of 16-bit counting in shared memory (value_counts_16.cuh states why) and how
 * pixels are added to it.
 *
 * window: 32-bit counts of the keys [first, first + 2^log2_keys), each in 2^log2_copies copies that
 *         the lanes of a warp share out. Keys outside are outliers.
 * packed: 16-bit counts of all keys, key k in the lower and key k + 32,768 in the upper half of a
 *         word. A carry out of the lower half adds one to the upper; one out of the upper is lost.
 *         A sum over the table shows whether either happened: every carry makes it smaller. Adds of
 *         more than one, and all adds where carries must not go unnoticed, look at the value that
 *         they found and note carries.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_16_TABLE_CUH
#define CUDA_COUNTING_VALUE_COUNTS_16_TABLE_CUH

#include "cuda/counting/count_job.cuh"
#include "cuda/values/reductions.cuh"

enum { WORDS_NOTES = 2048, PACKED_WORDS = 32768, LOG2_PACKED = 15 };

/* A note says what happened, and to which key (for carries: in which word of the table). */
enum {
    NOTE_OUTLIER = 0,
    NOTE_LOWER_CARRY = 1 << 16,
    NOTE_UPPER_CARRY = 2 << 16,
    NOTE_BORROW = 3 << 16
};
enum { NOTE_KINDS = 3 << 16 };

/* The start of dynamic shared memory, which the table follows. */
struct words_shared {
    uint32_t notes[WORDS_NOTES];
    uint32_t n_notes, sum;
    uint32_t low, high;                 /* range of keys that were written out */
    uint32_t sampled_low, sampled_high; /* range of keys in the sample of the next slice */
    uint32_t reserved[2];
};

/* Where outliers and carries are noted: in the list of the block, or in the partial at once. */
enum note_place { TO_LIST, TO_PARTIAL };

struct words_counter {
    struct words_shared *shared;
    uint32_t *table;
    uint32_t log2_table;
    uint32_t first, log2_keys, log2_copies; /* keys of the window; log2_keys 16: packed counts of
                                             * all keys */
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
    } else if (kind == NOTE_LOWER_CARRY) { /* the carry is in the upper count */
        add_count(counter.job, counter.slice, key, 65536);
        if (key + PACKED_WORDS < counter.job.n_keys)
            add_count(counter.job, counter.slice, key + PACKED_WORDS, -1);
    } else {
        add_count(counter.job, counter.slice, key + PACKED_WORDS, 65536);
    }
}

/* Lanes that add to the same place would wait for each other, so one of them adds for all. Returns
 * what this lane must add. Any set of lanes may call it together. */
static __device__ uint32_t add_for_all(uint32_t pair, uint32_t n)
{
    const unsigned lanes = __activemask();
    const int leader = __ffs((int)lanes) - 1;
    if (!__all_sync(lanes, __shfl_sync(lanes, pair, leader) == pair))
        return n;
    return (int)(threadIdx.x % 32) == leader ? n * (uint32_t)__popc(lanes) : 0;
}

/* ---- window ---------------------------------------------------------------------------------- */

template <enum note_place place>
static __device__ void count_windowed(const struct words_counter &counter, uint32_t key)
{
    const uint32_t at = key - counter.first, lane = threadIdx.x & ((1u << counter.log2_copies) - 1);
    if (at >> counter.log2_keys == 0)
        atomicAdd(&counter.table[at << counter.log2_copies | lane], 1u);
    else
        add_note<place>(counter, NOTE_OUTLIER, key);
}

/* Values that are the same for all pixels of a window, and computed once. */
struct window_lanes {
    char *table;
    uint32_t shift, mask; /* turn a key in the lower half of a word into its byte offset in the
                           * table */
    uint32_t offset;      /* byte offset of the lane's own copy */
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

/* The hardware joins additions of one to the same place, so values that many lanes have take no
 * longer than others. */
static __device__ void count_pair(const struct window_lanes &lanes, uint32_t pair)
{
    atomicAdd((uint32_t *)(lanes.table + ((pair << lanes.shift & lanes.mask) | lanes.offset)), 1u);
    atomicAdd(
        (uint32_t *)(lanes.table + ((pair >> (16 - lanes.shift) & lanes.mask) | lanes.offset)), 1u);
}

template <enum note_place place>
static __device__ void count_outlying(const struct words_counter &counter, uint32_t word)
{
    const uint32_t keys = keys_of(counter.job, word);
    count_windowed<place>(counter, keys & 0xFFFF);
    count_windowed<place>(counter, keys >> 16);
}

/* Adds a vector to a window that holds all keys. */
static __device__ void count_whole_vector(const struct words_counter &counter,
                                          const struct window_lanes &lanes, const uint4 &vector)
{
    count_pair(lanes, keys_of(counter.job, vector.x));
    count_pair(lanes, keys_of(counter.job, vector.y));
    count_pair(lanes, keys_of(counter.job, vector.z));
    count_pair(lanes, keys_of(counter.job, vector.w));
}

/* The upper half borrows only if the lower one is outside of the window, which is detected. */
template <enum note_place place>
static __device__ void count_window_vector(const struct words_counter &counter,
                                           const struct window_lanes &lanes, const uint4 &vector)
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

/* ---- packed ---------------------------------------------------------------------------------- */

/* Adds to one half of a word, and notes a carry. */
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
static __device__ void count_pair_noting(const struct words_counter &counter, uint32_t pair,
                                         uint32_t n)
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

/* ---- partial results ---------------------------------------------------------------------------
 *
 * This turns the counts of the table into a partial result. A thread handles every blockDim-th key
 * (packed: four neighbors of it); the table is read and cleared, and up to 256 KiB are written a
 * slice. */

/* Widens the block's range [*low, *high] by what its threads found. All threads of a warp call
 * it. */
static __device__ void widen_range(uint32_t *low, uint32_t *high, uint32_t found_low,
                                   uint32_t found_high)
{
    found_low = ts_cuda_warp_lowest(found_low);
    found_high = ts_cuda_warp_highest(found_high);
    if (threadIdx.x % 32 == 0) {
        atomicMin(low, found_low);
        atomicMax(high, found_high);
    }
}

/* Adds what the threads found to the block's sum. */
static __device__ void add_to_sum(struct words_shared *shared, uint32_t found)
{
    for (int distance = 16; distance > 0; distance /= 2)
        found += __shfl_xor_sync(~0u, found, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&shared->sum, found);
}

static __device__ void clear_table(const struct words_counter &counter)
{
    uint4 *vectors = (uint4 *)counter.table;
    for (uint32_t i = threadIdx.x; i < 1u << (counter.log2_table - 2); i += blockDim.x)
        vectors[i] = make_uint4(0, 0, 0, 0);
}

/* Returns the sum of the copies of key `at` of the window, and clears them for the next slice. */
static __device__ uint32_t take_copies(const struct words_counter &counter, uint32_t at)
{
    const uint32_t copies = 1u << counter.log2_copies;
    uint32_t sum = 0, *words = counter.table + at * copies;
    if (copies < 4) {
        for (uint32_t i = 0; i < copies; i++) {
            sum += words[i];
            words[i] = 0;
        }
        return sum;
    }
    uint4 *vectors = (uint4 *)words;
    for (uint32_t i = 0; i < copies / 4;
         i++) { /* neighboring threads start at different copies: fewer bank conflicts */
        uint4 *vector = &vectors[(i + threadIdx.x) % (copies / 4)];
        const uint4 part = *vector;
        sum += part.x + part.y + part.z + part.w;
        *vector = make_uint4(0, 0, 0, 0);
    }
    return sum;
}

static __device__ struct cuda_slice_counts *slice_counts(const struct words_counter &counter)
{
    return (struct cuda_slice_counts *)((char *)counter.job.partials +
                                        (uint64_t)counter.slice * counter.job.stride);
}

/* ---- a partial that blocks share ------------------------------------------------------------- */

/* Adds the table to the shared partial. Blocks start at different keys, so that they do not all add
 * to the same one. */
static __device__ void add_table(const struct words_counter &counter)
{
    const uint32_t keys = is_packed(counter) ? PACKED_WORDS : 1u << counter.log2_keys;
    const uint32_t start = (uint32_t)((uint64_t)blockIdx.x * keys / gridDim.x);
    for (uint32_t i = threadIdx.x; i < keys; i += blockDim.x) {
        const uint32_t at = (i + start) % keys;
        if (is_packed(counter)) {
            const uint32_t pair = counter.table[at];
            counter.table[at] = 0;
            if (pair & 0xFFFF)
                add_count(counter.job, counter.slice, at, pair & 0xFFFF);
            if (pair >> 16 &&
                PACKED_WORDS + at < counter.job.n_keys) /* otherwise the upper count is what the
                                                         * lower one carried */
                add_count(counter.job, counter.slice, at + PACKED_WORDS, pair >> 16);
        } else {
            const uint32_t n = take_copies(counter, at);
            if (n > 0)
                add_count(counter.job, counter.slice, counter.first + at, n);
        }
    }
}

/* Returns true, in all threads, if the packed counts and the notes add up to n pixels. */
static __device__ bool packed_is_whole(const struct words_counter &counter, uint32_t n)
{
    const uint32_t n_notes = counter.shared->n_notes;
    const uint4 *vectors = (const uint4 *)counter.table;
    uint32_t sum = 0;
    if (n_notes > WORDS_NOTES)
        return false;
    for (uint32_t i = threadIdx.x; i < PACKED_WORDS / 4; i += blockDim.x) {
        const uint4 part = vectors[i];
        sum += (part.x & 0xFFFF) + (part.y & 0xFFFF) + (part.z & 0xFFFF) + (part.w & 0xFFFF);
        sum += (part.x >> 16) + (part.y >> 16) + (part.z >> 16) + (part.w >> 16);
    }
    for (uint32_t i = threadIdx.x; i < n_notes; i += blockDim.x)
        sum += (counter.shared->notes[i] & NOTE_KINDS) == NOTE_LOWER_CARRY ? 65535 : 65536;
    add_to_sum(counter.shared, sum);
    __syncthreads();
    return counter.shared->sum == n;
}

static __device__ void add_notes(const struct words_counter &counter)
{
    for (uint32_t i = threadIdx.x; i < counter.shared->n_notes; i += blockDim.x)
        add_note<TO_PARTIAL>(counter, counter.shared->notes[i] & NOTE_KINDS,
                             counter.shared->notes[i] & 0xFFFF);
}

/* ---- a slice of one's own -------------------------------------------------------------------- */

/* Subtracts the carries that got into the upper counts. */
static __device__ void mend_carries(const struct words_counter &counter, uint32_t n_notes)
{
    for (uint32_t i = threadIdx.x; i < n_notes; i += blockDim.x) {
        uint32_t *note = &counter.shared->notes[i];
        const uint32_t word = *note % PACKED_WORDS;
        if ((*note & NOTE_KINDS) == NOTE_LOWER_CARRY &&
            atomicSub(&counter.table[word], 65536u) < 65536)
            *note = NOTE_BORROW | word;
    }
}

static __device__ void write_packed(const struct words_counter &counter)
{
    uint32_t *counts = slice_counts(counter)->counts, low = VALUE_COUNTS_KEYS_16, high = 0, sum = 0;
    for (uint32_t i = threadIdx.x * 4; i < PACKED_WORDS; i += blockDim.x * 4) {
        uint4 *words = (uint4 *)(counter.table + i);
        const uint4 pairs = *words;
        const uint4 lower =
            make_uint4(pairs.x & 0xFFFF, pairs.y & 0xFFFF, pairs.z & 0xFFFF, pairs.w & 0xFFFF);
        const uint4 upper = make_uint4(pairs.x >> 16, pairs.y >> 16, pairs.z >> 16, pairs.w >> 16);
        *words = make_uint4(0, 0, 0, 0);
        if (i < counter.job.n_keys)
            *(uint4 *)(counts + i) = lower;
        if (PACKED_WORDS + i < counter.job.n_keys)
            *(uint4 *)(counts + PACKED_WORDS + i) = upper;
        const uint32_t all[8] = {lower.x, lower.y, lower.z, lower.w,
                                 upper.x, upper.y, upper.z, upper.w};
#pragma unroll
        for (uint32_t at = 0; at < 8; at++) {
            const uint32_t key = i + at % 4 + at / 4 * PACKED_WORDS;
            sum += all[at];
            low = all[at] > 0 ? min(low, key) : low;
            high = all[at] > 0 ? max(high, key) : high;
        }
    }
    widen_range(&counter.shared->low, &counter.shared->high, low, high);
    add_to_sum(counter.shared, sum);
}

/* Writes only the range of keys that occur: until it is known, sums replace the first copies. The
 * table is not used again. */
static __device__ void write_window(const struct words_counter &counter)
{
    const uint32_t keys = 1u << counter.log2_keys;
    uint32_t *counts = slice_counts(counter)->counts, low = VALUE_COUNTS_KEYS_16, high = 0;
    for (uint32_t at = threadIdx.x; at < keys; at += blockDim.x) {
        const uint32_t n = take_copies(counter, at);
        counter.table[at << counter.log2_copies] = n;
        if (n > 0) {
            low = min(low, counter.first + at);
            high = max(high, counter.first + at);
        }
    }
    widen_range(&counter.shared->low, &counter.shared->high, low, high);
    __syncthreads();
    for (uint32_t key = counter.shared->low + threadIdx.x; key <= counter.shared->high;
         key += blockDim.x)
        counts[key] = counter.table[(key - counter.first) << counter.log2_copies];
}

/* Writes 0 for keys between the outliers and the range that was written. */
static __device__ void clear_gaps(const struct words_counter &counter, uint32_t n_notes)
{
    struct words_shared *shared = counter.shared;
    const uint32_t written_low = shared->low, written_high = shared->high;
    uint32_t low = VALUE_COUNTS_KEYS_16, high = 0;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n_notes; i += blockDim.x) {
        low = min(low, shared->notes[i]);
        high = max(high, shared->notes[i]);
    }
    widen_range(&shared->low, &shared->high, low, high);
    __syncthreads();
    uint32_t *counts = slice_counts(counter)->counts;
    for (uint32_t key = shared->low + threadIdx.x; key <= shared->high; key += blockDim.x)
        if (key < written_low || key > written_high)
            counts[key] = 0;
    __syncthreads();
}

/* Adds what the notes of a slice say to its counts, and widens the range of keys accordingly. */
static __device__ void apply_notes(const struct words_counter &counter, uint32_t n_notes)
{
    struct words_shared *shared = counter.shared;
    uint32_t *counts = slice_counts(counter)->counts, low = VALUE_COUNTS_KEYS_16, high = 0, sum = 0;
    for (uint32_t i = threadIdx.x; i < n_notes; i += blockDim.x) {
        const uint32_t kind = shared->notes[i] & NOTE_KINDS, key = shared->notes[i] & 0xFFFF;
        if (kind == NOTE_UPPER_CARRY)
            atomicAdd(&counts[key + PACKED_WORDS], 65536u);
        else
            atomicAdd(&counts[key], kind == NOTE_OUTLIER ? 1u : 65536u);
        if (kind == NOTE_BORROW)
            atomicSub(&counts[key + PACKED_WORDS], 65536u);
        sum += kind == NOTE_BORROW ? 0 : 65536;
    }
    __syncthreads();
    /* A count can be above 0 although its 16 bits are zero. */
    for (uint32_t i = threadIdx.x; i < n_notes; i += blockDim.x) {
        const uint32_t word = shared->notes[i] & 0xFFFF;
        const bool outlier = (shared->notes[i] & NOTE_KINDS) == NOTE_OUTLIER;
        for (uint32_t key = word; key < counter.job.n_keys;
             key += outlier ? VALUE_COUNTS_KEYS_16 : PACKED_WORDS)
            if (*(volatile uint32_t *)&counts[key] > 0) {
                low = min(low, key);
                high = max(high, key);
            }
    }
    widen_range(&shared->low, &shared->high, low, high);
    add_to_sum(shared, sum);
}

/* Writes the slice and clears the table. Returns false, in all threads, if packed counts do not add
 * up to n pixels. */
static __device__ bool write_slice(const struct words_counter &counter, uint32_t n)
{
    struct words_shared *shared = counter.shared;
    const uint32_t n_notes = shared->n_notes;
    if (is_packed(counter) && n_notes > 0) {
        mend_carries(counter, n_notes);
        __syncthreads();
    }
    if (is_packed(counter))
        write_packed(counter);
    else
        write_window(counter);
    __syncthreads();
    if (n_notes > 0) {
        if (!is_packed(counter))
            clear_gaps(counter, n_notes);
        apply_notes(counter, n_notes);
        __syncthreads();
    }
    if (is_packed(counter) && shared->sum != n)
        return false;
    if (threadIdx.x == 0) {
        slice_counts(counter)->low = shared->low;
        slice_counts(counter)->high = shared->high;
    }
    return true;
}

#endif
