/* SPDX-License-Identifier: Apache-2.0
 *
 * counts[value xor bias] += 1 for every pixel of 8- and 16-bit images, of all slices or slice by
 * slice. This file chooses the kernel and how blocks share the pixels. The kernels (for 16-bit
 * values in value_counts_16.cuh) say what a thread computes, the memory traffic and the sizes of
 * blocks.
 */
#include "cuda/counting/value_counts.cuh"

#include "cuda/counting/count_job.cuh"
#include "cuda/counting/value_counts_16.cuh"
#include "cuda/device/occupancy.cuh"
#include "cuda/values/reductions.cuh"

/* ---- value counts 8 ----------------------------------------------------------------------------
 *
 * counts[value xor bias] += 1 over the pixels of 8-bit images.
 *
 * A block keeps one table for every lane of a warp, at table[key * 32 + lane]: lane l only ever
 * touches bank l of shared memory, so that no values, however distributed, make lanes wait for each
 * other. A thread adds the 16 pixels of a vector at a time, with two vectors in flight. Memory
 * traffic: 1 byte read a pixel. 512 threads a block let four blocks (128 KiB of tables) fill a
 * multiprocessor, and while one block sums its tables the others read. */

enum {
    BYTES_THREADS = 512,
    BYTES_BLOCKS = 4,
    BYTES_LOADS = 2,
    BYTES_TABLE = VALUE_COUNTS_KEYS_8 * 32
};

static __device__ void count_byte_word(char *lane_table, uint32_t word)
{
    const uint32_t keys = 0xFF << 7;
    atomicAdd((uint32_t *)(lane_table + (word << 7 & keys)), 1u);
    atomicAdd((uint32_t *)(lane_table + (word >> 1 & keys)), 1u);
    atomicAdd((uint32_t *)(lane_table + (word >> 9 & keys)), 1u);
    atomicAdd((uint32_t *)(lane_table + (word >> 17 & keys)), 1u);
}

static __device__ void count_bytes(const struct pixel_span<uint8_t> &span,
                                   struct vector_ring<BYTES_LOADS> &ring, uint32_t *table,
                                   uint32_t bias)
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

/* Returns the sum of the lanes' counts of a key, and clears them for the next slice. Threads start
 * at different lanes, so that they use different banks. */
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

/* If `own`, one block counts whole slices and overwrites their partials. Else several blocks share
 * a slice (or the volume as one long slice) and add to its cleared partial. */
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

/* ---- value counts passes -----------------------------------------------------------------------
 *
 * counts[value xor bias] += 1 over the pixels of 16-bit images, if a block cannot have the
 * shared memory that value_counts_16.cuh wants (compute capabilities 7.5, 8.6 and 8.9: 64 or 99
 * KiB).
 *
 * A block first finds the lowest and the highest key of its part of a slice. Then it counts those
 * keys in passes, each over as many neighboring keys as its table holds: one pass if the values use
 * up to about 12 bits, as CT does, at most 5 with 64 KiB and values of all 16 bits. If the keys
 * need at most half of the table it holds copies for different lanes, so that fewer add to one
 * counter.
 *
 * A thread adds the 8 pixels of a vector at a time, in one add where all are the same. Memory
 * traffic: 2 bytes read for each pixel and pass, the first time from memory, then mostly from
 * cache. A block has 1,024 threads and all the shared memory that it may have, because a larger
 * table takes fewer passes. */

/* PASS_RESERVED bytes of shared memory are not part of the table. */
enum { PASS_THREADS = 1024, PASS_RESERVED = 256, PASS_MOST_LOG2_COPIES = 5 };

static __device__ void widen_pass(uint32_t *low, uint32_t *high, const struct count_job &job,
                                  uint32_t word)
{
    const uint32_t keys = keys_of(job, word), a = keys & 0xFFFF, b = keys >> 16;
    *low = min(*low, min(a, b));
    *high = max(*high, max(a, b));
}

/* Finds the lowest and the highest key of the span; low > high if it is empty. All threads of the
 * block call it. */
static __device__ void find_pass_range(const struct count_job &job,
                                       const struct pixel_span<uint16_t> &span, uint32_t range[2])
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

static __device__ void count_pass_vector(const struct block_table &table,
                                         const struct count_job &job, const uint4 &vector)
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

/* Counts the keys of one pass and adds them to the slice's partial. All threads of the block call
 * it. */
static __device__ void count_pass(const struct count_job &job, int64_t slice,
                                  const struct pixel_span<uint16_t> &span,
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

/* gridDim.x blocks share a slice, of which each block counts fewer than 2^32 pixels, and add to its
 * cleared partial. */
static __global__ void __launch_bounds__(PASS_THREADS)
    count_16_passes(struct count_job job, uint32_t n_counters)
{
    extern __shared__ __align__(16) char memory[];
    __shared__ uint32_t range[2];
    for (int64_t slice = blockIdx.y; slice < job.n_slices; slice += gridDim.y) {
        const struct pixel_span<uint16_t> span =
            span_of<uint16_t>(job, slice, blockIdx.x, gridDim.x);
        struct block_table table = {(uint32_t *)memory};
        find_pass_range(job, span, range);
        const uint32_t low = range[0], high = range[1];
        for (table.first = low; table.first <= high; table.first += table.n) {
            table.n = min(high - table.first + 1, n_counters);
            for (table.log2_copies = 0; table.log2_copies < PASS_MOST_LOG2_COPIES;
                 table.log2_copies++)
                if (table.n << (table.log2_copies + 1) > n_counters)
                    break;
            count_pass(job, slice, span, table);
        }
    }
}

enum { MOST_GRID_SLICES = 65535, LEAST_PIXELS = 8192, LEAST_BYTES = 131072 };

/* Finds the lowest and the highest key with a count, with one block for each slice. A thread looks
 * at 4 keys at a time. */
static __global__ void find_range(void *partials, size_t stride, uint32_t n_keys)
{
    struct cuda_slice_counts *slice =
        (struct cuda_slice_counts *)((char *)partials + blockIdx.x * stride);
    __shared__ uint32_t low, high;
    if (threadIdx.x == 0) {
        low = n_keys;
        high = 0;
    }
    __syncthreads();
    uint32_t found_low = n_keys, found_high = 0;
#pragma unroll 8
    for (uint32_t first = threadIdx.x * 4; first < n_keys; first += blockDim.x * 4) {
        const uint4 n = *(const uint4 *)(slice->counts + first);
        if (n.x | n.y | n.z | n.w) {
            found_low = min(found_low, first + (n.x ? 0 : n.y ? 1 : n.z ? 2 : 3));
            found_high = first + (n.w ? 3 : n.z ? 2 : n.y ? 1 : 0);
        }
    }
    widen_range(&low, &high, found_low, found_high);
    __syncthreads();
    if (threadIdx.x == 0) {
        slice->low = low;
        slice->high = high;
    }
}

size_t ts_cuda_group_counts_bytes(enum ts_dtype dtype, uint32_t log2_group, bool per_slice)
{
    const size_t n_keys = ts_value_counts_keys(dtype) >> log2_group;
    if (per_slice)
        return sizeof(struct cuda_slice_counts) + n_keys * sizeof(uint32_t);
    return n_keys * sizeof(uint64_t) +
           (ts_dtype_bytes(dtype) == 1 ? 0 : sizeof(struct volume_gate));
}

size_t ts_cuda_value_counts_bytes(enum ts_dtype dtype, bool per_slice)
{
    return ts_cuda_group_counts_bytes(dtype, 0, per_slice);
}

/* Returns the scratch of count_16_volume: the tables of the blocks, and a flag for each block that
 * says whether it left one. */
static size_t tables_bytes(const struct stage_context *context)
{
    const size_t blocks = (size_t)context->device->multiprocessors;
    return blocks * (sizeof(struct left_table) + sizeof(uint32_t));
}

static const size_t wide_bytes = sizeof(struct words_shared) + sizeof(uint32_t) * PACKED_WORDS;

/* Returns true if blocks can have the table that 16-bit values take. */
static bool fits_wide(const struct stage_context *context)
{
    return context->device->block_shared_bytes >= (int)wide_bytes;
}

size_t ts_cuda_value_counts_scratch_bytes(const struct stage_context *context,
                                          const struct ts_image *image, bool per_slice, int64_t n)
{
    (void)n;
    return per_slice || ts_dtype_bytes(image->dtype) == 1 || !fits_wide(context)
               ? 0
               : tables_bytes(context);
}

/* ---- launching ------------------------------------------------------------------------------- */

/* Returns how many blocks share one slice: as many as the device holds at once, if each has enough
 * to do. */
static uint32_t parts_of(const struct count_job &job, int64_t at_once, uint64_t least_pixels)
{
    const int64_t free = at_once / job.n_slices,
                  useful = (int64_t)(job.slice_pixels / least_pixels);
    const int64_t parts = free < useful ? free : useful;
    return (uint32_t)(parts > 1 ? parts : 1);
}

static unsigned grid_slices(const struct count_job &job)
{
    return (unsigned)(job.n_slices < MOST_GRID_SLICES ? job.n_slices : (int64_t)MOST_GRID_SLICES);
}

static enum ts_status launch_8(const struct stage_context *context, const struct count_job &job,
                               bool own, cudaStream_t stream)
{
    /* Four times as many blocks as the device holds balance the waiting of some of them. */
    const int64_t wanted = (int64_t)context->device->multiprocessors * BYTES_BLOCKS * 4;
    const dim3 grid(own ? 1 : parts_of(job, wanted, LEAST_BYTES), grid_slices(job));
    if (own)
        count_8<true><<<grid, BYTES_THREADS, 0, stream>>>(job);
    else
        count_8<false><<<grid, BYTES_THREADS, 0, stream>>>(job);
    return ts_cuda_launched(context, "count_8");
}

static enum ts_status share_16(const struct stage_context *context, const struct count_job &job,
                               cudaStream_t stream)
{
    const dim3 grid(parts_of(job, context->device->multiprocessors, LEAST_PIXELS),
                    grid_slices(job));
    const enum ts_status status =
        ts_cuda_shared(context, (const void *)count_16_shared, wide_bytes);
    if (status == TS_OK)
        count_16_shared<<<grid, WIDE_THREADS, wide_bytes, stream>>>(job);
    return status == TS_OK ? ts_cuda_launched(context, "count_16_shared") : status;
}

static enum ts_status launch_16(const struct stage_context *context, const struct count_job &job,
                                cudaStream_t stream)
{
    const int64_t processors = context->device->multiprocessors;
    const size_t window_bytes =
        sizeof(struct words_shared) + (sizeof(uint32_t) << LOG2_WINDOW_TABLE);
    const bool whole = job.n_keys <= 1u << LOG2_WINDOW_TABLE;
    void (*const kernel)(struct count_job) =
        whole ? count_16_windows<true> : count_16_windows<false>;
    enum ts_status status = ts_cuda_shared(context, (const void *)kernel, window_bytes);
    if (status == TS_OK)
        status = ts_cuda_shared(context, (const void *)count_16_packed, wide_bytes);
    if (status != TS_OK)
        return status;
    kernel<<<(unsigned)job.n_slices, WINDOW_THREADS, window_bytes, stream>>>(job);
    status = ts_cuda_launched(context, "count_16_windows");
    if (status == TS_OK && !whole) {
        const unsigned blocks = (unsigned)(job.n_slices < processors ? job.n_slices : processors);
        count_16_packed<<<blocks, WIDE_THREADS, wide_bytes, stream>>>(job);
        status = ts_cuda_launched(context, "count_16_packed");
    }
    return status;
}

/* Counts the volume as one long slice. */
static enum ts_status launch_volume(const struct stage_context *context,
                                    const struct count_job &counts, const struct cuda_call *call)
{
    const uint32_t blocks = parts_of(counts, context->device->multiprocessors, LEAST_PIXELS);
    struct volume_job job = {};
    job.counts = counts;
    job.gate = (struct volume_gate *)((uint64_t *)counts.partials + counts.n_keys);
    job.tables = (struct left_table *)call->scratch;
    job.packed = (uint32_t *)(job.tables + blocks);
    void *arguments[] = {&job};
    enum ts_status status = ts_cuda_shared(context, (const void *)count_16_volume, wide_bytes);
    if (status != TS_OK)
        return status;
    cudaLaunchCooperativeKernel((const void *)count_16_volume, dim3(blocks), dim3(WIDE_THREADS),
                                arguments, wide_bytes, call->stream);
    return ts_cuda_launched(context, "count_16_volume");
}

static enum ts_status launch_passes(const struct stage_context *context,
                                    const struct count_job &job, cudaStream_t stream)
{
    const size_t bytes = (size_t)context->device->block_shared_bytes - PASS_RESERVED;
    const dim3 grid(parts_of(job, context->device->multiprocessors, LEAST_PIXELS),
                    grid_slices(job));
    const enum ts_status status = ts_cuda_shared(context, (const void *)count_16_passes, bytes);
    if (status == TS_OK)
        count_16_passes<<<grid, PASS_THREADS, bytes, stream>>>(
            job, (uint32_t)(bytes / sizeof(uint32_t)));
    return status == TS_OK ? ts_cuda_launched(context, "count_16_passes") : status;
}

static enum ts_status value_counts_launch(const struct stage_context *context,
                                          const struct count_job &job, bool own,
                                          const struct cuda_call *call)
{
    const cudaStream_t stream = call->stream;
    if (job.bytes == 1)
        return launch_8(context, job, own, stream);
    if (!fits_wide(context))
        return launch_passes(context, job, stream);
    if (own)
        return launch_16(context, job, stream);
    return job.stride == 0 ? launch_volume(context, job, call) : share_16(context, job, stream);
}

static enum ts_status count_volume(const struct stage_context *context, const struct count_job &job,
                                   const struct cuda_call *call)
{
    /* The volume is one long slice, cut into pieces so that a block counts far less than 2^32
     * pixels. */
    const uint64_t all = job.slice_pixels * (uint64_t)job.n_slices;
    const uint64_t most = (uint64_t)context->device->multiprocessors << 30;
    enum ts_status status = TS_OK;
    for (uint64_t done = 0; status == TS_OK && done < all; done += most) {
        struct count_job piece = job;
        piece.data = (const char *)job.data + done * job.bytes;
        piece.slice_pixels = all - done < most ? all - done : most;
        piece.n_slices = 1;
        status = value_counts_launch(context, piece, false, call);
    }
    return status;
}

static enum ts_status count_slices(const struct stage_context *context, const struct count_job &job,
                                   const struct cuda_call *call)
{
    const bool bytes = job.bytes == 1;
    const bool enough =
        job.n_slices > context->device->multiprocessors * (bytes ? BYTES_BLOCKS : 1) / 2;
    const bool own =
        enough && (bytes || (fits_wide(context) && job.slice_pixels <= words_own_pixels));
    if (own)
        return value_counts_launch(context, job, true, call);
    if (cudaMemsetAsync(job.partials, 0, (size_t)job.n_slices * job.stride, call->stream) !=
        cudaSuccess)
        return ts_cuda_launched(context, "clearing of counts");
    enum ts_status status = value_counts_launch(context, job, false, call);
    if (status == TS_OK) {
        find_range<<<(unsigned)job.n_slices, 1024, 0, call->stream>>>(job.partials, job.stride,
                                                                      job.n_keys);
        status = ts_cuda_launched(context, "find_range");
    }
    return status;
}

enum ts_status ts_cuda_group_counts(const struct stage_context *context,
                                    const struct ts_image *slices,
                                    const struct value_groups *groups, bool per_slice,
                                    void *partials, const struct cuda_call *call)
{
    const uint32_t log2_group = groups->log2_group;
    struct count_job job = {};
    job.data = slices->data;
    job.slice_pixels = ts_slice_count(slices);
    job.n_slices = slices->axes[0].n;
    job.partials = partials;
    job.stride =
        per_slice ? ts_cuda_stride(ts_cuda_group_counts_bytes(slices->dtype, log2_group, true)) : 0;
    job.bytes = ts_dtype_bytes(slices->dtype);
    job.bias = ts_dtype_sign_bit(slices->dtype);
    job.n_keys = ts_value_counts_keys(slices->dtype) >> log2_group;
    job.shift = log2_group;
    job.kept2 = (0xFFFFu << log2_group & 0xFFFF) * 0x10001;
    job.first2 = groups->first * 0x10001;
    job.last2 = groups->last * 0x10001;
    return per_slice ? count_slices(context, job, call) : count_volume(context, job, call);
}

enum ts_status ts_cuda_value_counts(const struct stage_context *context,
                                    const struct ts_image *slices, bool per_slice, void *partials,
                                    const struct cuda_call *call)
{
    const struct value_groups single = {0, 0, ts_value_counts_keys(slices->dtype) - 1};
    return ts_cuda_group_counts(context, slices, &single, per_slice, partials, call);
}

void ts_cuda_value_counts_place(enum ts_dtype dtype, const uint64_t *keys, uint32_t first,
                                uint32_t n, struct value_counts *counts)
{
    uint32_t low = 0, high = n - 1;
    ts_value_counts_init(counts, dtype);
    while (low < high && keys[low] == 0)
        low++;
    while (high > low && keys[high] == 0)
        high--;
    counts->low = first + low;
    counts->high = first + high;
    for (uint32_t i = low; i <= high; i++) {
        counts->counts[first + i] = keys[i];
        counts->n += keys[i];
    }
}

void ts_cuda_value_counts_collect(enum ts_dtype dtype, bool per_slice, const void *partial,
                                  struct value_counts *counts)
{
    const struct cuda_slice_counts *slice = (const struct cuda_slice_counts *)partial;
    if (!per_slice) {
        ts_cuda_value_counts_place(dtype, (const uint64_t *)partial, 0, ts_value_counts_keys(dtype),
                                   counts);
        return;
    }
    ts_value_counts_init(counts, dtype);
    counts->low = slice->low;
    counts->high = slice->high;
    for (uint32_t key = slice->low; key <= slice->high; key++) {
        counts->counts[key] = slice->counts[key];
        counts->n += slice->counts[key];
    }
}
