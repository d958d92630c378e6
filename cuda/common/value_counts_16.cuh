/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 over the pixels of 16-bit images, whose values may use any part of the 65,536 keys.
 *
 * A block of 1,024 threads has one table of 128 KiB in shared memory and gives it one of two forms, after a look at
 * 8,192 pixels spread over its slice:
 *   window: 32-bit counts of the keys [first, first + n), n from 1,024 to 32,768, in 32 to 1 copies that the lanes of a
 *           warp share out, so that few lanes meet in a bank. Other keys are outliers.
 *   packed: 16-bit counts of all keys, key k in the lower and key k + 32,768 in the upper half of a word. A carry out
 *           of either half shows in the value that the atomic add returns, and is noted where it happens.
 * Outliers and carries of a block that owns its slice go to a list; a slice whose list is too small is counted again
 * with all keys. Where blocks share a partial, they go there.
 *
 * A thread adds the 8 pixels of a vector at a time (one add of 4 where the vector holds two values in turns, of 8 where
 * it holds one), four vectors in flight while four are added. 2 bytes read a pixel. One block a multiprocessor, which
 * its table fills; the next slice is on its way while the counts of the last are written.
 */
#ifndef CUDA_COMMON_VALUE_COUNTS_16_CUH
#define CUDA_COMMON_VALUE_COUNTS_16_CUH

#include "cuda/common/value_counts_16_write.cuh"

template <enum count_mode mode>
static __device__ void add_note(const struct words_counter &counter, uint32_t kind, uint32_t key)
{
    if (mode == COUNT_OWN) {
        const uint32_t i = atomicAdd(&counter.shared->n_notes, 1u);
        if (i < WORDS_NOTES)
            counter.shared->notes[i] = kind | key;
    } else if (kind == NOTE_OUTLIER) {
        add_count(counter.job, counter.slice, key, 1);
    } else if (kind == NOTE_LOWER_CARRY) { /* the upper count has it */
        add_count(counter.job, counter.slice, key, 65536);
        add_count(counter.job, counter.slice, key + WORDS_TABLE, -1);
    } else {
        add_count(counter.job, counter.slice, key + WORDS_TABLE, 65536);
    }
}

/* ---- window ------------------------------------------------------------------------------------ */

template <enum count_mode mode>
static __device__ void count_windowed(const struct words_counter &counter, uint32_t key, uint32_t n)
{
    const uint32_t at = key - counter.form.first, log2_copies = 15 - counter.form.log2_keys;
    if (at >> counter.form.log2_keys == 0)
        atomicAdd(&counter.shared->table[(at << log2_copies) + (threadIdx.x & ((1u << log2_copies) - 1))], n);
    else
        for (uint32_t i = 0; i < n; i++)
            add_note<mode>(counter, NOTE_OUTLIER, key);
}

/* Bit offsets within the table: a key's, and the lane's own copy of it. */
struct window_lanes {
    char *table;
    uint32_t shift, mask; /* of a key in the lower half of a word, in bytes of the table */
    uint32_t offset;
    uint32_t outside2; /* bits that no key of the window has, in both halves */
    uint32_t bias2, first2;
};

static __device__ struct window_lanes lanes_of(const struct words_counter &counter)
{
    const uint32_t log2_copies = 15 - counter.form.log2_keys, keys = (1u << counter.form.log2_keys) - 1;
    struct window_lanes lanes;
    lanes.table = (char *)counter.shared->table;
    lanes.shift = log2_copies + 2;
    lanes.mask = keys << lanes.shift;
    lanes.offset = (threadIdx.x & ((1u << log2_copies) - 1)) * 4;
    lanes.outside2 = ~(keys * 0x10001);
    lanes.bias2 = counter.job.bias * 0x10001;
    lanes.first2 = counter.form.first * 0x10001;
    return lanes;
}

/* Lanes that add the same to the same place would wait for each other: one of them adds for all. Returns what this lane
 * is to add; any set of lanes may come here together. */
static __device__ uint32_t add_for_all(uint32_t pair, uint32_t n)
{
    const unsigned lanes = __activemask();
    const int leader = __ffs((int)lanes) - 1;
    if (!__all_sync(lanes, __shfl_sync(lanes, pair, leader) == pair))
        return n;
    return (int)(threadIdx.x % 32) == leader ? n * (uint32_t)__popc(lanes) : 0;
}

static __device__ void count_pair(const struct window_lanes &lanes, uint32_t pair, uint32_t n)
{
    atomicAdd((uint32_t *)(lanes.table + ((pair << lanes.shift & lanes.mask) | lanes.offset)), n);
    atomicAdd((uint32_t *)(lanes.table + ((pair >> (16 - lanes.shift) & lanes.mask) | lanes.offset)), n);
}

template <enum count_mode mode>
static __device__ void count_outlying(const struct words_counter &counter, uint32_t word)
{
    count_windowed<mode>(counter, (word & 0xFFFF) ^ counter.job.bias, 1);
    count_windowed<mode>(counter, word >> 16 ^ counter.job.bias, 1);
}

/* A borrow from the upper half only happens where the lower one is outside of the window, which shows. */
template <enum count_mode mode>
static __device__ void count_window_vector(const struct words_counter &counter, const struct window_lanes &lanes,
                                           const uint4 &vector)
{
    const uint32_t x = (vector.x ^ lanes.bias2) - lanes.first2, y = (vector.y ^ lanes.bias2) - lanes.first2;
    const uint32_t z = (vector.z ^ lanes.bias2) - lanes.first2, w = (vector.w ^ lanes.bias2) - lanes.first2;
    if (((x | y | z | w) & lanes.outside2) != 0) {
        count_outlying<mode>(counter, vector.x);
        count_outlying<mode>(counter, vector.y);
        count_outlying<mode>(counter, vector.z);
        count_outlying<mode>(counter, vector.w);
    } else if (x == y && z == w && x == z) {
        const uint32_t n = add_for_all(x, 4);
        if (n > 0)
            count_pair(lanes, x, n);
    } else {
        count_pair(lanes, x, 1);
        count_pair(lanes, y, 1);
        count_pair(lanes, z, 1);
        count_pair(lanes, w, 1);
    }
}

/* ---- packed ------------------------------------------------------------------------------------ */

/* What happened to a word that held `old` when n was added to one of its halves. */
template <enum count_mode mode>
static __device__ void note_carries(const struct words_counter &counter, uint32_t word, uint32_t old, uint32_t add)
{
    if (add < 65536 && (old & 0xFFFF) + add > 0xFFFF)
        add_note<mode>(counter, NOTE_LOWER_CARRY, word);
    if (old + add < old)
        add_note<mode>(counter, NOTE_UPPER_CARRY, word);
}

template <enum count_mode mode>
static __device__ void count_packed(const struct words_counter &counter, uint32_t key, uint32_t n)
{
    const uint32_t word = key % WORDS_TABLE, add = key < WORDS_TABLE ? n : n << 16;
    note_carries<mode>(counter, word, atomicAdd(&counter.shared->table[word], add), add);
}

/* True where adding n carries: the half that grows is nearly full. The other half needs no look. */
static __device__ bool packed_full(uint32_t old, uint32_t add, uint32_t n)
{
    return add < 65536 ? (old & 0xFFFF) + n > 0xFFFF : (old >> 16) + n > 0xFFFF;
}

/* Adds n to both keys of a biased pair; true where one of them carried. */
template <enum count_mode mode>
static __device__ void count_packed_pair(const struct words_counter &counter, uint32_t pair, uint32_t n)
{
    const uint32_t mask = (WORDS_TABLE - 1) << 2;
    char *table = (char *)counter.shared->table;
    const uint32_t at_lower = pair << 2 & mask, at_upper = pair >> 14 & mask;
    const uint32_t add_lower = pair & 0x8000 ? n << 16 : n, add_upper = (int32_t)pair < 0 ? n << 16 : n;
    const uint32_t old_lower = atomicAdd((uint32_t *)(table + at_lower), add_lower);
    const uint32_t old_upper = atomicAdd((uint32_t *)(table + at_upper), add_upper);
    if (packed_full(old_lower, add_lower, n) || packed_full(old_upper, add_upper, n)) {
        note_carries<mode>(counter, at_lower / 4, old_lower, add_lower);
        note_carries<mode>(counter, at_upper / 4, old_upper, add_upper);
    }
}

template <enum count_mode mode>
static __device__ void count_packed_vector(const struct words_counter &counter, const uint4 &vector)
{
    const uint32_t bias2 = counter.job.bias * 0x10001;
    const uint32_t x = vector.x ^ bias2, y = vector.y ^ bias2, z = vector.z ^ bias2, w = vector.w ^ bias2;
    if (x == y && z == w && x == z) {
        const uint32_t n = add_for_all(x, 4);
        if (n > 0)
            count_packed_pair<mode>(counter, x, n);
    } else {
        count_packed_pair<mode>(counter, x, 1);
        count_packed_pair<mode>(counter, y, 1);
        count_packed_pair<mode>(counter, z, 1);
        count_packed_pair<mode>(counter, w, 1);
    }
}

/* ---- one slice --------------------------------------------------------------------------------- */

/* A vector of the thread's own part of the span; not the same column in every row. */
static __device__ uint4 load_sample(const struct pixel_span<uint16_t> &span)
{
    const uint64_t share = span.n_vectors / WORDS_THREADS, first = threadIdx.x * share;
    const uint32_t jitter = (threadIdx.x * 2654435761u) >> 8;
    uint4 vector = {};
    if (share > 0)
        vector = __ldg(span.vectors + first + jitter % share);
    else if (threadIdx.x < span.n_vectors)
        vector = __ldg(span.vectors + threadIdx.x);
    return vector;
}

static __device__ void sample_range(struct words_shared *shared, const struct pixel_span<uint16_t> &span,
                                    const uint4 &vector, uint32_t bias)
{
    const uint32_t bias2 = bias * 0x10001;
    uint32_t low = VALUE_COUNTS_KEYS_16, high = 0;
    if (span.n_vectors >= WORDS_THREADS || threadIdx.x < span.n_vectors) {
        const uint32_t x = vector.x ^ bias2, y = vector.y ^ bias2, z = vector.z ^ bias2, w = vector.w ^ bias2;
        const uint32_t least = __vminu2(__vminu2(x, y), __vminu2(z, w));
        const uint32_t most = __vmaxu2(__vmaxu2(x, y), __vmaxu2(z, w));
        low = min(least & 0xFFFF, least >> 16);
        high = max(most & 0xFFFF, most >> 16);
    } else if (threadIdx.x == 0 && span.n_head > 0) {
        low = high = span.head[0] ^ bias;
    }
    widen_range(&shared->sampled_low, &shared->sampled_high, low, high);
}

/* The narrowest window that holds the sample, with what room is left on both sides of it. */
static __device__ struct words_table form_of(uint32_t low, uint32_t high)
{
    struct words_table form = {0, 16};
    const uint32_t span = high + 1 - low;
    if (low > high || span > WORDS_TABLE)
        return form;
    for (form.log2_keys = 10; 1u << form.log2_keys < span; form.log2_keys++)
        ;
    const uint32_t keys = 1u << form.log2_keys, before = (keys - span) / 2, last = VALUE_COUNTS_KEYS_16 - keys;
    form.first = low > before ? low - before : 0;
    form.first = form.first < last ? form.first : last;
    return form;
}

/* The next vectors of the stream of slices that a thread counts. */
struct words_stream {
    uint4 next[WORDS_LOADS];
};

static __device__ void load_step(struct words_stream &stream, const uint4 *vectors, uint64_t first, uint64_t n)
{
#pragma unroll
    for (int load = 0; load < WORDS_LOADS; load++)
        if (first + load * WORDS_THREADS < n)
            stream.next[load] = load_vector(vectors + first + load * WORDS_THREADS);
}

template <enum count_mode mode, bool packed>
static __device__ void count_vector(const struct words_counter &counter, const struct window_lanes &lanes,
                                    const uint4 &vector)
{
    if (packed)
        count_packed_vector<mode>(counter, vector);
    else
        count_window_vector<mode>(counter, lanes, vector);
}

template <enum count_mode mode> static __device__ void count_pixel(const struct words_counter &counter, uint32_t key)
{
    if (counter.form.log2_keys == 16)
        count_packed<mode>(counter, key, 1);
    else
        count_windowed<mode>(counter, key, 1);
}

template <enum count_mode mode>
static __device__ void count_ends(const struct words_counter &counter, const struct pixel_span<uint16_t> &span)
{
    if (threadIdx.x < span.n_head)
        count_pixel<mode>(counter, span.head[threadIdx.x] ^ counter.job.bias);
    if (threadIdx.x < span.n_tail)
        count_pixel<mode>(counter, span.tail[threadIdx.x] ^ counter.job.bias);
}

/* Counts the span, whose first vectors are in the stream, and leaves the first of `following` there. */
template <enum count_mode mode, bool packed>
static __device__ void count_span(const struct words_counter &counter, const struct pixel_span<uint16_t> &span,
                                  const struct pixel_span<uint16_t> &following, struct words_stream &stream)
{
    const struct window_lanes lanes = lanes_of(counter);
    const uint64_t step = WORDS_LOADS * WORDS_THREADS;
    for (uint64_t i = threadIdx.x;; i += step) {
        const bool more = i + step < span.n_vectors;
        const struct words_stream now = stream;
        load_step(stream, more ? span.vectors : following.vectors, more ? i + step : threadIdx.x,
                  more ? span.n_vectors : following.n_vectors);
#pragma unroll
        for (int load = 0; load < WORDS_LOADS; load++)
            if (i + load * WORDS_THREADS < span.n_vectors)
                count_vector<mode, packed>(counter, lanes, now.next[load]);
        if (!more)
            break;
    }
    count_ends<mode>(counter, span);
}

/* The slice again, with all keys. */
static __device__ void count_again(struct words_counter &counter, const struct pixel_span<uint16_t> &span)
{
    for (uint32_t i = threadIdx.x; i < WORDS_TABLE; i += WORDS_THREADS)
        counter.shared->table[i] = 0;
    if (threadIdx.x == 0)
        counter.shared->n_notes = 0;
    __syncthreads();
    counter.form.first = 0;
    counter.form.log2_keys = 16;
    for (uint64_t i = threadIdx.x; i < span.n_vectors; i += WORDS_THREADS)
        count_packed_vector<COUNT_OWN>(counter, load_vector(span.vectors + i));
    count_ends<COUNT_OWN>(counter, span);
    __syncthreads();
}

/* ---- the kernel --------------------------------------------------------------------------------- */

static __device__ void reset_ranges(struct words_shared *shared)
{
    if (threadIdx.x == 0) {
        shared->n_notes = 0;
        shared->low = shared->sampled_low = VALUE_COUNTS_KEYS_16;
        shared->high = shared->sampled_high = 0;
    }
}

template <enum count_mode mode>
static __global__ void __launch_bounds__(WORDS_THREADS, 1) count_16(struct count_job job)
{
    extern __shared__ __align__(16) char memory[];
    struct words_shared *shared = (struct words_shared *)memory;
    struct words_counter counter = {shared, {0, 0}, job, blockIdx.y};
    struct pixel_span<uint16_t> span = span_of<uint16_t>(job, counter.slice, blockIdx.x, gridDim.x);
    struct words_stream stream;
    uint4 sample = load_sample(span);
    load_step(stream, span.vectors, threadIdx.x, span.n_vectors);
    for (uint32_t i = threadIdx.x; i < WORDS_TABLE; i += WORDS_THREADS)
        shared->table[i] = 0;
    for (; counter.slice < job.n_slices; counter.slice += gridDim.y) {
        struct pixel_span<uint16_t> following = {
        };
        if (counter.slice + gridDim.y < job.n_slices)
            following = span_of<uint16_t>(job, counter.slice + gridDim.y, blockIdx.x, gridDim.x);
        reset_ranges(shared);
        __syncthreads();
        sample_range(shared, span, sample, job.bias);
        __syncthreads();
        counter.form = form_of(shared->sampled_low, shared->sampled_high);
        sample = load_sample(following);
        if (counter.form.log2_keys == 16)
            count_span<mode, true>(counter, span, following, stream);
        else
            count_span<mode, false>(counter, span, following, stream);
        __syncthreads();
        if (mode == COUNT_ADD) {
            add_table(counter);
        } else {
            const bool again = shared->n_notes > WORDS_NOTES;
            __syncthreads();
            if (again)
                count_again(counter, span);
            write_slice(counter);
        }
        span = following;
        __syncthreads();
    }
}

#endif
