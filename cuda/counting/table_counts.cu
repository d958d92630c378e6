/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts slots in shared memory, in a table for every block that is added to the partial in the
 * end, or left for table_launch.cu to merge.
 *
 * shared: one table; lane-private: a table for every lane of a warp, at table[slot * 32 + lane], so
 * that a lane only touches its own bank. The image is cut into equal parts, one for each block, and
 * a thread takes two 16-byte vectors of pixels at a time. occupancy: one table, and as many blocks
 * as the device holds at once by their threads, registers and tables. The vectors of a block form
 * rows with one vector for each thread; the next rows are loaded while one is counted.
 *
 * Slots whose table does not fit are counted in passes, each over its share of the slots, and each
 * pass reads the image again. Memory traffic: each pixel is read once for each pass. 512 threads a
 * block, so that several blocks fit on a multiprocessor beside their tables; and 1,024 threads for
 * occupancy, so that half as many tables are added up.
 */
#include "cuda/counting/table_job.cuh"
#include "cuda/device/occupancy.cuh"

enum { THREADS = 512, LEAST_PIXELS = 65536, SLOT_PIXELS = 256, BIN_TABLE = 56 << 10 };
enum { WIDE_THREADS = 1024, WIDE_BLOCKS = 2 }; /* of the method occupancy */

/* n_slots is the number of all slots. */
static __device__ struct block_table open_table(const struct table_job &job, uint32_t n_slots,
                                                uint32_t log2_copies)
{
    extern __shared__ uint32_t counts[];
    const uint32_t first = blockIdx.z * job.pass_slots, left = n_slots - first;
    const struct block_table table = {counts, first, min(left, job.pass_slots), log2_copies};
    clear_counts(table);
    return table;
}

static __device__ void add_table(const struct block_table &table, const struct table_job &job,
                                 int64_t slice)
{
    uint32_t *left = job.tables ? left_table(job, slice, blockIdx.x, gridDim.x) : NULL;
    __syncthreads();
    for (uint32_t at = threadIdx.x; at < table.n; at += blockDim.x) {
        const uint32_t sum = sum_copies(table, at);
        if (left)
            left[table.first + at] = sum;
        else if (sum > 0)
            add_slot(job, slice, table.first + at, sum);
    }
}

/* Counts the bytes of a word by value, in a table of all values, so that the part of the word is
 * the counter's index. */
static __device__ void count_bytes(const struct block_table &table, uint32_t word)
{
    const uint32_t places = 0xFF << 2;
    char *counts = (char *)table.counts;
    atomicAdd((uint32_t *)(counts + (word << 2 & places)), 1u);
    atomicAdd((uint32_t *)(counts + (word >> 6 & places)), 1u);
    atomicAdd((uint32_t *)(counts + (word >> 14 & places)), 1u);
    atomicAdd((uint32_t *)(counts + (word >> 22 & places)), 1u);
}

/* Adds the counts of bytes outside of the window to its ends, after which the table is the window.
 * All threads of the block call it. */
static __device__ void close_window(struct block_table &table, const struct table_job &job)
{
    const uint32_t key = threadIdx.x, nearest = min(max(key, job.first), job.last);
    __syncthreads();
    if (key < VALUE_COUNTS_KEYS_8 && key != nearest)
        atomicAdd(&table.counts[nearest], table.counts[key]);
    table.counts += job.first;
    table.n = job.work.n_keys;
}

template <typename type, bool by_value>
static __device__ void count_pixel(const struct block_table &table, const struct slot_rule &rule,
                                   type pixel)
{
    count_key(
        table,
        sizeof(type) == 1 ? (uint32_t)pixel ^ rule.bias : slot_of<type, by_value>(rule, pixel), 1);
}

template <typename type, bool by_value>
static __device__ void count_word(const struct block_table &table, const struct slot_rule &rule,
                                  uint32_t word)
{
    if (sizeof(type) == 1)
        count_bytes(table, word ^ rule.bias * 0x01010101);
    else
#pragma unroll
        for (uint32_t i = 0; i < sizeof word / sizeof(type); i++)
            count_pixel<type, by_value>(table, rule, pixel_of<type>(word, i));
}

template <typename type, bool by_value>
static __device__ void count_vector(const struct block_table &table, const struct slot_rule &rule,
                                    const uint4 &vector)
{
    count_word<type, by_value>(table, rule, vector.x);
    count_word<type, by_value>(table, rule, vector.y);
    count_word<type, by_value>(table, rule, vector.z);
    count_word<type, by_value>(table, rule, vector.w);
}

/* Opens the table of this pass, and returns false if no slots are left for it. All threads of
 * the block call it. */
template <typename type, bool by_value>
static __device__ bool open_pass(const struct table_job &job, const struct slot_rule &rule,
                                 struct block_table *table)
{
    uint32_t n_slots = VALUE_COUNTS_KEYS_8;
    if (sizeof(type) > 1)
        n_slots = by_value ? job.work.n_keys : (uint32_t)rule.bins->n + BINS_EXTRA_SLOTS;
    if (blockIdx.z * job.pass_slots >= n_slots)
        return false;
    *table = open_table(job, n_slots, job.log2_copies);
    return true;
}

/* Counts the pixels before and after the vectors, and adds the table to the partial. All threads of
 * the block call it. */
template <typename type, bool by_value>
static __device__ void close_pass(const struct table_job &job, const struct slot_rule &rule,
                                  const struct pixel_span<type> &span, struct block_table &table)
{
    if (threadIdx.x < span.n_head)
        count_pixel<type, by_value>(table, rule, span.head[threadIdx.x]);
    if (threadIdx.x < span.n_tail)
        count_pixel<type, by_value>(table, rule, span.tail[threadIdx.x]);
    if (sizeof(type) == 1)
        close_window(table, job);
    add_table(table, job, blockIdx.y);
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(THREADS) count_shared(struct table_job job)
{
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const struct pixel_span<type> span = span_of<type>(job.work, blockIdx.y, blockIdx.x, gridDim.x);
    struct block_table table;
    if (!open_pass<type, by_value>(job, rule, &table))
        return;
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += 2 * THREADS) {
        const bool both = i + THREADS < span.n_vectors;
        const uint4 one = load_vector(span.vectors + i),
                    two = both ? load_vector(span.vectors + i + THREADS) : one;
        count_vector<type, by_value>(table, rule, one);
        if (both)
            count_vector<type, by_value>(table, rule, two);
    }
    close_pass<type, by_value>(job, rule, span, table);
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(WIDE_THREADS, TS_CUDA_BLOCKS(WIDE_THREADS, WIDE_BLOCKS))
    count_occupancy(struct table_job job)
{
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const struct pixel_span<type> span = span_of<type>(job.work, blockIdx.y, blockIdx.x, gridDim.x);
    const int rows = sizeof(type) < sizeof(uint32_t)
                         ? 2
                         : 1; /* two vectors of 32-bit pixels do not fit in the registers */
    struct vector_ring<rows> ring;
    struct block_table table;
    if (!open_pass<type, by_value>(job, rule, &table))
        return;
    fill_ring<rows, WIDE_THREADS>(ring, span);
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += rows * WIDE_THREADS) {
#pragma unroll
        for (uint32_t row = 0; row < rows; row++) {
            const uint32_t now = i + row * WIDE_THREADS, then = now + rows * WIDE_THREADS;
            const uint4 vector = ring.next[row];
            if (then < span.n_vectors)
                ring.next[row] = load_vector(span.vectors + then);
            if (now < span.n_vectors)
                count_vector<type, by_value>(table, rule, vector);
        }
    }
    close_pass<type, by_value>(job, rule, span, table);
}

/* Returns the job with as many passes as its tables need, and sets *bytes to the shared memory that
 * they take. */
static struct table_job in_passes(const struct stage_context *context, enum ts_dtype dtype,
                                  const struct table_job *job, size_t *bytes)
{
    struct table_job passes = *job;
    const uint32_t copies = 1u << job->log2_copies, fit = ts_cuda_most_counters(context);
    const uint32_t wanted = job->most_bytes ? (uint32_t)(job->most_bytes / sizeof(uint32_t)) : fit;
    const uint32_t n_slots = ts_dtype_bytes(dtype) == 1 ? VALUE_COUNTS_KEYS_8 : job->work.n_keys;
    passes.pass_slots = ts_cuda_pass_slots(n_slots, fit < wanted ? fit : wanted, copies);
    *bytes = (size_t)passes.pass_slots * copies * sizeof(uint32_t);
    return passes;
}

enum ts_status ts_cuda_table_counts_shared(const struct stage_context *context, enum ts_dtype dtype,
                                           const struct table_job *job,
                                           const struct cuda_call *call)
{
    size_t bytes;
    void (*kernel)(struct table_job);
    const struct table_job passes = in_passes(context, dtype, job, &bytes);
    /* The grid depends only on the image, not on the device, up to its minimum: one block for each
     * LEAST_PIXELS, as long as a block has SLOT_PIXELS pixels for each slot that it adds up; but at
     * least as many blocks as run at once. */
    const int64_t at_once = ts_cuda_blocks_at_once(context, THREADS);
    const int64_t n_pixels = (int64_t)job->work.slice_pixels * job->work.n_slices;
    const int64_t blocks = ts_cuda_parts(n_pixels, (int64_t)SLOT_PIXELS * job->work.n_keys);
    const dim3 grid =
        ts_cuda_table_grid(&passes, blocks > at_once ? blocks : at_once, LEAST_PIXELS, 1);
#define KERNEL(type, by_value) kernel = count_shared<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_shared", &passes, grid, THREADS, bytes,
                                grid.x, call);
}

enum ts_status ts_cuda_table_counts_occupancy(const struct stage_context *context,
                                              enum ts_dtype dtype, const struct table_job *job,
                                              const struct cuda_call *call)
{
    size_t bytes;
    void (*kernel)(struct table_job);
    const struct table_job passes = in_passes(context, dtype, job, &bytes);
#define KERNEL(type, by_value) kernel = count_occupancy<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    const int64_t at_once = ts_cuda_table_blocks(context, kernel, WIDE_THREADS, bytes);
    const dim3 grid = ts_cuda_table_grid(&passes, at_once, LEAST_PIXELS, 1);
    return ts_cuda_table_launch(context, kernel, "count_occupancy", &passes, grid, WIDE_THREADS,
                                bytes, grid.x, call);
}

/* Only the device knows how many bins there are. So the tables leave shared memory for four blocks
 * on a multiprocessor and take the slots in passes; passes without bins end at once. */
enum ts_status ts_cuda_bin_counts_add(const struct stage_context *context,
                                      const struct ts_image *slices, const void *bins,
                                      size_t bins_stride, size_t most_bins, void *partials,
                                      bool per_slice, size_t stride, const struct cuda_call *call)
{
    struct table_job job = {
        .slice_bins = bins, .bins_stride = per_slice ? bins_stride : 0, .most_bytes = BIN_TABLE};
    job.work.n_keys = (uint32_t)(most_bins + BINS_EXTRA_SLOTS);
    job.work.partials = partials;
    job.work.stride = per_slice ? stride : 0;
    return ts_cuda_table_pieces(context, slices, job, per_slice, INT64_MAX,
                                ts_cuda_table_counts_shared, call);
}
