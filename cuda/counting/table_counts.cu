/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts slots in shared memory, in a table for every block that is added to the partial in the end, or left for
 * table_launch.cu to merge.
 *
 * shared: one table; lane-private: a table for every lane of a warp, at table[slot * 32 + lane], so that a lane only
 * touches its own bank. In both a block takes a part of a slice, and a thread the pixels of a 16-byte vector at a time.
 * occupancy: one table, and as many blocks as the device holds at once; a thread counts 8 rows of a column at a time,
 * whose loads are in flight together.
 *
 * Slots whose table does not fit are counted in passes, each over its share of the slots, and each pass reads the image
 * again. Memory traffic: each pixel is read once for each pass. 512 threads a block (256 where a thread holds 8 rows),
 * so that several blocks fit on a multiprocessor beside their tables.
 */
#include "cuda/counting/table_job.cuh"

enum { THREADS = 512, TILE_COLUMNS = 256, TILE_ROWS = 8, LEAST_PIXELS = 65536 };

/* n_slots counts all slots that there can be. */
static __device__ struct block_table open_table(const struct table_job &job, uint32_t n_slots, uint32_t log2_copies)
{
    extern __shared__ uint32_t counts[];
    const uint32_t first = blockIdx.z * job.pass_slots, left = n_slots - first;
    const struct block_table table = {counts, first, min(left, job.pass_slots), log2_copies};
    clear_counts(table);
    return table;
}

static __device__ void add_table(const struct block_table &table, const struct table_job &job, int64_t slice)
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

template <typename type, bool by_value>
static __device__ void count_word(const struct block_table &table, const struct slot_rule &rule, uint32_t word)
{
#pragma unroll
    for (uint32_t first = 0; first < 32; first += 8 * sizeof(type)) {
        const uint32_t bits = word >> first;
        type pixel;
        memcpy(&pixel, &bits, sizeof pixel);
        count_key(table, slot_of<type, by_value>(rule, pixel), 1);
    }
}

template <typename type, bool by_value>
static __device__ void count_vector(const struct block_table &table, const struct slot_rule &rule, const uint4 &vector)
{
    count_word<type, by_value>(table, rule, vector.x);
    count_word<type, by_value>(table, rule, vector.y);
    count_word<type, by_value>(table, rule, vector.z);
    count_word<type, by_value>(table, rule, vector.w);
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(THREADS) count_shared(struct table_job job)
{
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint32_t n_slots = by_value ? job.work.n_keys : (uint32_t)rule.bins->n + BINS_EXTRA_SLOTS;
    if (blockIdx.z * job.pass_slots >= n_slots)
        return;
    const struct block_table table = open_table(job, n_slots, job.log2_copies);
    const struct pixel_span<type> span = span_of<type>(job.work, blockIdx.y, blockIdx.x, gridDim.x);
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += 2 * THREADS) {
        const bool both = i + THREADS < span.n_vectors;
        const uint4 one = load_vector(span.vectors + i), two = both ? load_vector(span.vectors + i + THREADS) : one;
        count_vector<type, by_value>(table, rule, one);
        if (both)
            count_vector<type, by_value>(table, rule, two);
    }
    if (threadIdx.x < span.n_head)
        count_key(table, slot_of<type, by_value>(rule, span.head[threadIdx.x]), 1);
    if (threadIdx.x < span.n_tail)
        count_key(table, slot_of<type, by_value>(rule, span.tail[threadIdx.x]), 1);
    add_table(table, job, blockIdx.y);
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(TILE_COLUMNS) count_occupancy(struct table_job job)
{
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const struct block_table table = open_table(job, job.work.n_keys, 0);
    const type *slice = (const type *)job.work.data + blockIdx.y * job.work.slice_pixels;
    const uint64_t across = (job.columns + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const uint64_t n_tiles = across * ((job.rows + TILE_ROWS - 1) / TILE_ROWS);
    for (uint64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
        const uint64_t first_row = tile / across * TILE_ROWS, column = tile % across * TILE_COLUMNS + threadIdx.x;
        const type *at = slice + first_row * job.columns + column;
        type pixels[TILE_ROWS];
        if (column >= job.columns)
            continue;
#pragma unroll
        for (uint32_t row = 0; row < TILE_ROWS; row++)
            if (first_row + row < job.rows)
                pixels[row] = at[(uint64_t)row * job.columns];
#pragma unroll
        for (uint32_t row = 0; row < TILE_ROWS; row++)
            if (first_row + row < job.rows)
                count_key(table, slot_of<type, by_value>(rule, pixels[row]), 1);
    }
    add_table(table, job, blockIdx.y);
}

enum ts_status ts_cuda_table_counts_shared(const struct stage_context *context, enum ts_dtype dtype,
                                           const struct table_job *job, const struct cuda_call *call)
{
    struct table_job passes = *job;
    void (*kernel)(struct table_job);
    const uint32_t copies = 1u << job->log2_copies, fit = ts_cuda_most_counters(context);
    const uint32_t wanted = job->most_bytes ? (uint32_t)(job->most_bytes / sizeof(uint32_t)) : fit;
    passes.pass_slots = ts_cuda_pass_slots(job->work.n_keys, fit < wanted ? fit : wanted, copies);
    const size_t bytes = (size_t)passes.pass_slots * copies * sizeof(uint32_t);
    /* As many blocks as there are threads for, at most; tables may let fewer in. */
    const dim3 grid = ts_cuda_table_grid(&passes, ts_cuda_blocks_at_once(context, THREADS), LEAST_PIXELS, 1);
#define KERNEL(type, by_value) kernel = count_shared<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_shared", &passes, grid, THREADS, bytes, grid.x, call);
}

enum ts_status ts_cuda_table_counts_occupancy(const struct stage_context *context, enum ts_dtype dtype,
                                              const struct table_job *job, const struct cuda_call *call)
{
    struct table_job passes = *job;
    void (*kernel)(struct table_job);
    passes.pass_slots = ts_cuda_pass_slots(job->work.n_keys, ts_cuda_most_counters(context), 1);
    const size_t bytes = (size_t)passes.pass_slots * sizeof(uint32_t), system_bytes = 1024;
    const int by_threads = context->device->threads / TILE_COLUMNS;
    const int by_tables = (int)((size_t)context->device->shared_bytes / (bytes + system_bytes));
    const int blocks = by_threads < by_tables ? by_threads : by_tables > 0 ? by_tables : 1;
    const dim3 grid =
        ts_cuda_table_grid(&passes, (int64_t)context->device->multiprocessors * blocks, TILE_COLUMNS * TILE_ROWS, 1);
#define KERNEL(type, by_value) kernel = count_occupancy<type, by_value>
    TS_CUDA_TABLE_TYPES(dtype, KERNEL)
#undef KERNEL
    return ts_cuda_table_launch(context, kernel, "count_occupancy", &passes, grid, TILE_COLUMNS, bytes, grid.x, call);
}
