/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 over the pixels of 16-bit images, whose values may use any part of
 * the 65,536 keys.
 *
 * Tables of all keys would be too large for shared memory, or too slow, and few of the keys occur.
 * So a block first looks at some thousand pixels spread over its slice. If they are close together
 * its table is a window around them, else 16-bit counts of all keys (value_counts_16_table.cuh).
 * Rare keys outside of the window and rare carries go to a list, or to the shared partial at once.
 * If the guess was wrong the pixels are counted again, with all keys, and every carry is noted.
 *
 * A thread adds the 8 pixels of a vector at a time (one add of 4 or more if the vector holds one
 * value, or two alternating ones), with the next two to four vectors in flight. Memory traffic: 2
 * bytes read a pixel.
 *
 * count_16_windows: one block for each slice, of 512 threads and 40 KiB, so that four fit on a
 * multiprocessor: while one looks, waits or writes the others count. It leaves slices that need
 * more keys to the next kernel.
 *
 * count_16_packed: one block for each slice, of 1,024 threads and 136 KiB, so that one fits on a
 * multiprocessor; the next slice is loaded while the counts of the last are written.
 *
 * count_16_shared: blocks share slices; the kernel of volumes does the same for one long slice.
 * Blocks have 1,024 threads and 136 KiB, because a larger table has more copies for the lanes, and
 * there are fewer tables to add up.
 */
#ifndef CUDA_COUNTING_VALUE_COUNTS_16_CUH
#define CUDA_COUNTING_VALUE_COUNTS_16_CUH

#include "cuda/counting/value_counts_16_table.cuh"
#include "cuda/device/occupancy.cuh"

enum {
    WINDOW_THREADS = 512,
    WINDOW_BLOCKS = 4,
    WINDOW_LOADS = 2,
    LOG2_WINDOW_TABLE = 13,
    LOG2_NARROWEST = 10
};
/* Each sample of a slice is a read of 32 bytes from memory, which are read again when they are
 * counted. */
enum { WINDOW_SAMPLES = 128 };
enum { WIDE_THREADS = 1024, WIDE_LOADS = 4 };
/* Up to FEW_PIXELS pixels use a small table: clearing and summing a large one would take longer
 * than counting them. */
enum { FEW_PIXELS = 16384, LOG2_FEW = 13 };
/* A slice that one block counts alone has at most this many pixels, so that its carries fit into
 * the list. */
static const uint64_t words_own_pixels = UINT64_C(1) << 26;

/* ---- looking --------------------------------------------------------------------------------- */

/* Returns the vector of the span that this thread samples: one in its own part, in different
 * columns for different rows. n_vectors or more: none. */
static __device__ uint32_t sample_at(const struct pixel_span<uint16_t> &span, uint32_t n_samples)
{
    const uint32_t share = span.n_vectors / n_samples, jitter = (threadIdx.x * 2654435761u) >> 8;
    if (threadIdx.x >= n_samples)
        return span.n_vectors;
    return share > 0 ? threadIdx.x * share + jitter % share : threadIdx.x;
}

static __device__ uint4 load_sample(const struct pixel_span<uint16_t> &span, uint32_t n_samples)
{
    const uint32_t at = sample_at(span, n_samples);
    uint4 vector = {};
    if (at < span.n_vectors)
        vector = __ldg(span.vectors + at);
    return vector;
}

/* Widens [*low, *high] by the keys of a vector. */
static __device__ void vector_range(const struct count_job &job, const uint4 &vector, uint32_t *low,
                                    uint32_t *high)
{
    const uint4 keys = vector_keys_of(job, vector);
    const uint32_t least = __vminu2(__vminu2(keys.x, keys.y), __vminu2(keys.z, keys.w));
    const uint32_t most = __vmaxu2(__vmaxu2(keys.x, keys.y), __vmaxu2(keys.z, keys.w));
    *low = min(*low, min(least & 0xFFFF, least >> 16));
    *high = max(*high, max(most & 0xFFFF, most >> 16));
}

static __device__ void sample_range(const struct count_job &job, struct words_shared *shared,
                                    const struct pixel_span<uint16_t> &span, uint32_t n_samples,
                                    const uint4 &vector)
{
    uint32_t low = VALUE_COUNTS_KEYS_16, high = 0;
    if (sample_at(span, n_samples) < span.n_vectors)
        vector_range(job, vector, &low, &high);
    else if (threadIdx.x == 0 && span.n_head > 0)
        low = high = key_of(job, load_pixel(span.head));
    widen_range(&shared->sampled_low, &shared->sampled_high, low, high);
}

/* Chooses the narrowest window that holds the sample, and centers it on the sample. If the sample
 * is empty or too wide for a window, the table takes all keys, packed. */
static __device__ void choose_form(struct words_counter &counter, uint32_t low, uint32_t high)
{
    const uint32_t span = high + 1 - low, n_keys = counter.job.n_keys;
    counter.first = 0;
    counter.log2_keys = 16;
    counter.log2_copies = 0;
    if (low > high || span > 1u << counter.log2_table)
        return;
    for (counter.log2_keys = min((uint32_t)LOG2_NARROWEST, 31 - __clz(n_keys));
         1u << counter.log2_keys < span; counter.log2_keys++)
        ;
    const uint32_t keys = 1u << counter.log2_keys, before = (keys - span) / 2;
    counter.first = min(low > before ? low - before : 0, n_keys - keys);
    counter.log2_copies = min(counter.log2_table - counter.log2_keys, 5u);
}

static __device__ void reset(const struct words_counter &counter)
{
    struct words_shared *shared = counter.shared;
    if (threadIdx.x == 0) {
        shared->n_notes = shared->sum = 0;
        shared->low = shared->sampled_low = VALUE_COUNTS_KEYS_16;
        shared->high = shared->sampled_high = 0;
    }
}

static __device__ struct words_counter open_counter(const struct count_job &job, int64_t slice,
                                                    uint32_t log2_table)
{
    extern __shared__ __align__(16) char memory[];
    struct words_counter counter = {};
    counter.shared = (struct words_shared *)memory;
    counter.table = (uint32_t *)(counter.shared + 1);
    counter.log2_table = log2_table;
    counter.log2_keys = 16;
    counter.job = job;
    counter.slice = slice;
    return counter;
}

/* ---- counting -------------------------------------------------------------------------------- */

static __device__ uint32_t pixels_of(const struct pixel_span<uint16_t> &span)
{
    return span.n_head + span.n_vectors * 8 + span.n_tail;
}

template <enum note_place place>
static __device__ void count_pixel(const struct words_counter &counter, uint32_t key)
{
    if (is_packed(counter))
        count_noting<place>(counter, key, 1);
    else
        count_windowed<place>(counter, key);
}

template <enum note_place place>
static __device__ void count_ends(const struct words_counter &counter,
                                  const struct pixel_span<uint16_t> &span)
{
    if (threadIdx.x < span.n_head)
        count_pixel<place>(counter, key_of(counter.job, load_pixel(span.head + threadIdx.x)));
    if (threadIdx.x < span.n_tail)
        count_pixel<place>(counter, key_of(counter.job, load_pixel(span.tail + threadIdx.x)));
}

/* The table holds a window or packed counts (value_counts_16_table.cuh). FORM_WHOLE is a window of
 * all keys. */
enum table_form { FORM_WINDOW, FORM_WHOLE, FORM_PACKED };

/* Where the vectors come from that are `loads` later, in this span or in the following one. */
struct ring_source {
    const uint4 *from;
    uint32_t next, end;
};

template <int loads, int threads>
static __device__ void reload(struct vector_ring<loads> &ring, const struct ring_source &source,
                              uint32_t load)
{
    if (source.next + load * threads < source.end)
        ring.next[load] = load_vector(source.from + load * threads);
}

/* Counts the span, whose first vectors are in the ring, and leaves the first vectors of `following`
 * there. at_once: all loads of a round come before its adds; else each load comes before its own
 * adds. */
template <enum note_place place, enum table_form form, bool at_once, int loads, int threads>
static __device__ void
count_span(const struct words_counter &counter, const struct pixel_span<uint16_t> &span,
           const struct pixel_span<uint16_t> &following, struct vector_ring<loads> &ring)
{
    const struct window_lanes lanes = lanes_of(counter);
    count_ends<place>(counter, span);
    for (uint32_t i = threadIdx.x;; i += loads * threads) {
        const bool more = i + loads * threads < span.n_vectors;
        const uint32_t next = more ? i + loads * threads : threadIdx.x;
        const struct ring_source source = {(more ? span.vectors : following.vectors) + next, next,
                                           more ? span.n_vectors : following.n_vectors};
        const struct vector_ring<loads> now = ring;
#pragma unroll
        for (uint32_t load = 0; at_once && load < loads; load++)
            reload<loads, threads>(ring, source, load);
#pragma unroll
        for (uint32_t load = 0; load < loads; load++) {
            if (!at_once)
                reload<loads, threads>(ring, source, load);
            if (i + load * threads >= span.n_vectors)
                continue;
            if (form == FORM_PACKED)
                count_packed_vector<place, true>(counter, now.next[load]);
            else if (form == FORM_WHOLE)
                count_whole_vector(counter, lanes, now.next[load]);
            else
                count_window_vector<place>(counter, lanes, now.next[load]);
        }
        if (!more)
            break;
    }
}

/* Counts the span again, with all keys and with every carry noted, into a table that it clears
 * first. */
template <enum note_place place>
static __device__ void count_again(struct words_counter &counter,
                                   const struct pixel_span<uint16_t> &span)
{
    __syncthreads();
    clear_table(counter);
    reset(counter);
    __syncthreads();
    counter.first = 0;
    counter.log2_keys = 16;
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += blockDim.x)
        count_packed_vector<place, false>(counter, load_vector(span.vectors + i));
    count_ends<place>(counter, span);
    __syncthreads();
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Marks the slice by low > high, so that count_16_packed counts it. */
static __device__ void leave_slice(const struct words_counter &counter)
{
    if (threadIdx.x == 0) {
        slice_counts(counter)->low = 1;
        slice_counts(counter)->high = 0;
    }
}

/* With `whole` the table holds all keys, and no slice is left over. */
template <bool whole>
static __global__ void __launch_bounds__(WINDOW_THREADS,
                                         TS_CUDA_BLOCKS(WINDOW_THREADS, WINDOW_BLOCKS))
    count_16_windows(struct count_job job)
{
    struct words_counter counter = open_counter(job, blockIdx.x, LOG2_WINDOW_TABLE);
    const struct pixel_span<uint16_t> span = span_of<uint16_t>(job, counter.slice, 0, 1);
    const struct pixel_span<uint16_t> none {
    };
    struct vector_ring<WINDOW_LOADS> ring;
    fill_ring<WINDOW_LOADS, WINDOW_THREADS>(ring, span);
    clear_table(counter);
    reset(counter);
    if (whole) {
        choose_form(counter, 0, job.n_keys - 1);
    } else {
        const uint4 sample = load_sample(span, WINDOW_SAMPLES);
        __syncthreads();
        sample_range(job, counter.shared, span, WINDOW_SAMPLES, sample);
        __syncthreads();
        choose_form(counter, counter.shared->sampled_low, counter.shared->sampled_high);
        if (is_packed(counter)) {
            leave_slice(counter);
            return;
        }
    }
    __syncthreads();
    count_span<TO_LIST, whole ? FORM_WHOLE : FORM_WINDOW, true, WINDOW_LOADS, WINDOW_THREADS>(
        counter, span, none, ring);
    __syncthreads();
    if (!whole && counter.shared->n_notes > WORDS_NOTES)
        leave_slice(counter);
    else
        write_slice(counter, 0);
}

/* Returns the first slice from `slice` on, among those of this block, that was left over. */
static __device__ int64_t next_left(const struct count_job &job, int64_t slice)
{
    for (; slice < job.n_slices; slice += gridDim.x) {
        const struct cuda_slice_counts *counts =
            (const struct cuda_slice_counts *)((const char *)job.partials +
                                               (uint64_t)slice * job.stride);
        if (counts->low > counts->high)
            break;
    }
    return slice;
}

static __global__ void __launch_bounds__(WIDE_THREADS, 1) count_16_packed(struct count_job job)
{
    struct words_counter counter = open_counter(job, next_left(job, blockIdx.x), LOG2_PACKED);
    struct vector_ring<WIDE_LOADS> ring;
    bool carefully = false;
    if (counter.slice >= job.n_slices)
        return;
    struct pixel_span<uint16_t> span = span_of<uint16_t>(job, counter.slice, 0, 1);
    fill_ring<WIDE_LOADS, WIDE_THREADS>(ring, span);
    clear_table(counter);
    while (counter.slice < job.n_slices) {
        const int64_t next = next_left(job, counter.slice + gridDim.x);
        struct pixel_span<uint16_t> following {
        };
        if (next < job.n_slices)
            following = span_of<uint16_t>(job, next, 0, 1);
        reset(counter);
        __syncthreads();
        if (!carefully) {
            count_span<TO_LIST, FORM_PACKED, false, WIDE_LOADS, WIDE_THREADS>(counter, span,
                                                                              following, ring);
            __syncthreads();
            carefully =
                counter.shared->n_notes > WORDS_NOTES || !write_slice(counter, pixels_of(span));
        }
        if (carefully) {
            count_again<TO_LIST>(counter, span);
            write_slice(counter, pixels_of(span));
        }
        counter.slice = next;
        span = following;
        __syncthreads();
    }
}

/* Counts the block's share of the slice into a cleared table; outliers and carries go to the
 * partial. */
static __device__ void count_share(struct words_counter &counter)
{
    const struct pixel_span<uint16_t> span =
        span_of<uint16_t>(counter.job, counter.slice, blockIdx.x, gridDim.x);
    const struct pixel_span<uint16_t> none {
    };
    const uint4 sample = load_sample(span, WIDE_THREADS);
    struct vector_ring<WIDE_LOADS> ring;
    fill_ring<WIDE_LOADS, WIDE_THREADS>(ring, span);
    counter.log2_table = pixels_of(span) <= FEW_PIXELS ? LOG2_FEW : LOG2_PACKED;
    clear_table(counter);
    reset(counter);
    __syncthreads();
    sample_range(counter.job, counter.shared, span, WIDE_THREADS, sample);
    __syncthreads();
    choose_form(counter, counter.shared->sampled_low, counter.shared->sampled_high);
    if (is_packed(counter) && counter.log2_table < LOG2_PACKED) {
        counter.log2_table = LOG2_PACKED;
        clear_table(counter);
        choose_form(counter, counter.shared->sampled_low, counter.shared->sampled_high);
        __syncthreads();
    }
    if (is_packed(counter)) {
        count_span<TO_LIST, FORM_PACKED, false, WIDE_LOADS, WIDE_THREADS>(counter, span, none,
                                                                          ring);
        __syncthreads();
        if (packed_is_whole(counter, pixels_of(span)))
            add_notes(counter);
        else
            count_again<TO_PARTIAL>(counter, span);
    } else {
        count_span<TO_PARTIAL, FORM_WINDOW, false, WIDE_LOADS, WIDE_THREADS>(counter, span, none,
                                                                             ring);
        __syncthreads();
    }
}

static __global__ void __launch_bounds__(WIDE_THREADS, 1) count_16_shared(struct count_job job)
{
    struct words_counter counter = open_counter(job, blockIdx.y, LOG2_PACKED);
    for (; counter.slice < job.n_slices; counter.slice += gridDim.y) {
        count_share(counter);
        add_table(counter);
        __syncthreads();
    }
}

/* ---- a volume ----------------------------------------------------------------------------------
 *
 * counts[value xor bias] += 1 over all pixels of a 16-bit volume. Each multiprocessor has one block
 * of 1,024 threads and 136 KiB as above, with an equal share of the pixels. Memory traffic: 2 bytes
 * read a pixel.
 *
 * Counts of a window are few, and are added to the volume's at once. Tables of all keys are not:
 * 132 of them would take 8.6 million additions. Blocks leave them in scratch, packed, wait for one
 * another, and each sums a strip of all tables: 128 KiB written and read a block. A cooperative
 * launch makes sure that all blocks run at once. */

enum { STRIP_VECTORS = 64, STRIP_GROUPS = WIDE_THREADS / STRIP_VECTORS };

/* The gate is behind the volume's counts; it is zero before and after a launch. */
struct volume_gate {
    uint32_t arrived, left;
};

/* A block's table in scratch. */
struct left_table {
    uint32_t words[PACKED_WORDS];
};

struct volume_job {
    struct count_job counts;
    struct volume_gate *gate;
    struct left_table *tables; /* in scratch: one for each block */
    uint32_t *packed;          /* in scratch: whether each block left its table */
};

/* Reports that this block's counts are complete in memory. All threads of the block call it. */
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

/* The last block to leave closes the gate for the next launch. */
static __device__ void leave(const struct volume_job &job)
{
    if (threadIdx.x == 0 && atomicAdd(&job.gate->left, 1u) == gridDim.x - 1) {
        job.gate->arrived = 0;
        job.gate->left = 0;
    }
}

static __device__ void leave_table(const struct words_counter &counter,
                                   const struct volume_job &job)
{
    const uint4 *vectors = (const uint4 *)counter.table;
    uint4 *to = (uint4 *)job.tables[blockIdx.x].words;
    for (uint32_t i = threadIdx.x; i < PACKED_WORDS / 4; i += blockDim.x)
        __stcg(to + i, vectors[i]);
}

/* Lists the blocks that left tables. Returns their number, and sets *place to this block's place
 * among them. */
static __device__ uint32_t list_tables(const struct volume_job &job, uint16_t *blocks,
                                       uint32_t *place)
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

/* Sums four neighboring words of every STRIP_GROUPS-th table, then adds up the groups' sums. `sums`
 * is the block's own table, whose contents it has left in scratch. */
static __device__ void sum_strip(const struct volume_job &job, const uint16_t *blocks, uint32_t n,
                                 uint32_t first, uint32_t *sums)
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
        const uint32_t half = threadIdx.x / (4 * STRIP_VECTORS),
                       word = first * 4 + threadIdx.x % (4 * STRIP_VECTORS);
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
    uint16_t *blocks = (uint16_t *)counter.shared->notes; /* their memory is no longer needed for
                                                           * notes */
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
