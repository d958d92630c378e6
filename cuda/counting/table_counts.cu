/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms in shared memory, a table for every block that is added to the partial in the end, or left for
 * table_merge.cu.
 *
 * shared: one table. lane-private: a table for every lane of a warp, at table[slot * 32 + lane], so that a lane only
 * touches its own bank. In both a block takes a part of a slice, and a thread the pixels of a 16-byte vector at a time.
 * occupancy: one table, as many blocks as the device holds at once; a thread counts 8 rows of a column at a time, whose
 * pixels are on their way together.
 *
 * Tables that do not fit are counted in passes, each over its share of the slots, which reads the image as often. Each
 * pixel read once a pass. 512 threads (256 where a thread holds 8 rows): several blocks fit on a multiprocessor beside
 * their tables.
 */
#include "cuda/counting/table_job.cuh"

enum { THREADS = 512, TILE_COLUMNS = 256, TILE_ROWS = 8, LEAST_PIXELS = 65536, SMALL_TABLE = 48 << 10 };

struct block_table {
    uint32_t *counts;
    uint32_t first, n; /* slots of this pass */
    uint32_t log2_copies;
};

/* n_slots: all that there can be. */
static __device__ struct block_table open_table(const struct slots_job &job, uint32_t n_slots, uint32_t log2_copies)
{
    extern __shared__ uint32_t counts[];
    const uint32_t first = blockIdx.z * job.at_a_time, left = n_slots - first;
    const struct block_table table = {counts, first, min(left, job.at_a_time), log2_copies};
    for (uint32_t i = threadIdx.x; i < table.n << log2_copies; i += blockDim.x)
        counts[i] = 0;
    __syncthreads();
    return table;
}

template <typename type, bool by_value>
static __device__ void count_pixel(const struct block_table &table, const struct slot_rule &rule, type pixel)
{
    const uint32_t at = slot_of<type, by_value>(rule, pixel) - table.first;
    if (at < table.n)
        atomicAdd(&table.counts[at << table.log2_copies | (threadIdx.x & ((1u << table.log2_copies) - 1))], 1u);
}

static __device__ void add_table(const struct block_table &table, const struct slots_job &job, int64_t slice)
{
    const uint32_t copies = 1u << table.log2_copies;
    uint32_t *left = job.tables ? left_slots(job, slice, blockIdx.x, gridDim.x) : NULL;
    __syncthreads();
    for (uint32_t at = threadIdx.x; at < table.n; at += blockDim.x) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < copies; i++) /* from a start that differs in neighboring threads: no conflicts */
            sum += table.counts[at << table.log2_copies | ((i + threadIdx.x) & (copies - 1))];
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
        count_pixel<type, by_value>(table, rule, pixel);
    }
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(THREADS) count_shared(struct slots_job job, uint32_t log2_copies)
{
    const struct slot_rule rule = open_rule<by_value>(job, blockIdx.y);
    const uint32_t n_slots = by_value ? job.work.n_keys : (uint32_t)rule.bins->n + BINS_EXTRA_SLOTS;
    if (blockIdx.z * job.at_a_time >= n_slots)
        return;
    const struct block_table table = open_table(job, n_slots, log2_copies);
    const struct pixel_span<type> span = span_of<type>(job.work, blockIdx.y, blockIdx.x, gridDim.x);
    for (uint32_t i = threadIdx.x; i < span.n_vectors; i += 2 * THREADS) {
        const bool both = i + THREADS < span.n_vectors;
        const uint4 one = load_vector(span.vectors + i), two = both ? load_vector(span.vectors + i + THREADS) : one;
        count_word<type, by_value>(table, rule, one.x);
        count_word<type, by_value>(table, rule, one.y);
        count_word<type, by_value>(table, rule, one.z);
        count_word<type, by_value>(table, rule, one.w);
        if (both) {
            count_word<type, by_value>(table, rule, two.x);
            count_word<type, by_value>(table, rule, two.y);
            count_word<type, by_value>(table, rule, two.z);
            count_word<type, by_value>(table, rule, two.w);
        }
    }
    if (threadIdx.x < span.n_head)
        count_pixel<type, by_value>(table, rule, span.head[threadIdx.x]);
    if (threadIdx.x < span.n_tail)
        count_pixel<type, by_value>(table, rule, span.tail[threadIdx.x]);
    add_table(table, job, blockIdx.y);
}

template <typename type, bool by_value>
static __global__ void __launch_bounds__(TILE_COLUMNS) count_occupancy(struct slots_job job)
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
                count_pixel<type, by_value>(table, rule, pixels[row]);
    }
    add_table(table, job, blockIdx.y);
}

/* Slots of a pass: all, if their tables fit into what a block may have; else equal shares. */
static uint32_t slots_at_a_time(uint32_t most_counters, uint32_t n_slots, uint32_t copies)
{
    const uint32_t fit = most_counters / copies;
    const uint32_t passes = (n_slots + fit - 1) / fit;
    return (n_slots + passes - 1) / passes;
}

static enum ts_status room_for(const struct stage_context *context, const void *kernel, size_t bytes)
{
    return bytes > SMALL_TABLE ? ts_cuda_shared(context, kernel, bytes) : TS_OK;
}

/* Blocks of the device for one of n slices, each with at least `least` pixels. */
static unsigned blocks_a_slice(const struct slots_job *job, int64_t resident, uint64_t least)
{
    const int64_t share = ts_cuda_parts(resident, job->work.n_slices);
    const int64_t useful = ts_cuda_parts((int64_t)job->work.slice_pixels, (int64_t)least);
    return (unsigned)(share < useful ? share : useful);
}

enum ts_status ts_cuda_slot_counts_shared(const struct stage_context *context, enum ts_dtype dtype,
                                          const struct slots_job *job, uint32_t copies, size_t most_bytes,
                                          const struct cuda_call *call)
{
    struct slots_job passes = *job;
    const uint32_t log2_copies = copies == 32 ? 5 : 0;
    const uint32_t fit = most_counters(context), wanted = (uint32_t)(most_bytes / sizeof(uint32_t));
    passes.at_a_time = slots_at_a_time(fit < wanted ? fit : wanted, job->work.n_keys, copies);
    const size_t bytes = (size_t)passes.at_a_time * copies * sizeof(uint32_t);
    /* As many blocks as there are threads for, at most; tables may let fewer in. */
    const int64_t resident = (int64_t)context->device->multiprocessors * (context->device->threads / THREADS);
    const dim3 grid(blocks_with_room(job, blocks_a_slice(job, resident, LEAST_PIXELS), 1), (unsigned)job->work.n_slices,
                    (job->work.n_keys + passes.at_a_time - 1) / passes.at_a_time);
    enum ts_status status = TS_OK;
#define LAUNCH(type, by_value)                                                                                         \
    status = room_for(context, (const void *)count_shared<type, by_value>, bytes);                                     \
    if (status == TS_OK)                                                                                               \
    count_shared<type, by_value><<<grid, THREADS, bytes, call->stream>>>(passes, log2_copies)
    TS_CUDA_SLOT_TYPES(dtype, LAUNCH)
#undef LAUNCH
    if (status == TS_OK)
        status = ts_cuda_launched(context, "count_shared");
    return status == TS_OK ? ts_cuda_slot_tables_merge(context, job, grid.x, call) : status;
}

enum ts_status ts_cuda_slot_counts_occupancy(const struct stage_context *context, enum ts_dtype dtype,
                                             const struct slots_job *job, const struct cuda_call *call)
{
    struct slots_job passes = *job;
    passes.at_a_time = slots_at_a_time(most_counters(context), job->work.n_keys, 1);
    const size_t bytes = (size_t)passes.at_a_time * sizeof(uint32_t);
    const int by_threads = context->device->threads / TILE_COLUMNS;
    const int by_tables = (int)((size_t)context->device->shared_bytes / (bytes + 1024)); /* 1 KiB is the system's */
    const int resident = by_threads < by_tables ? by_threads : by_tables > 0 ? by_tables : 1;
    const unsigned blocks =
        blocks_a_slice(job, (int64_t)context->device->multiprocessors * resident, TILE_COLUMNS * TILE_ROWS);
    const dim3 grid(blocks_with_room(job, blocks, 1), (unsigned)job->work.n_slices,
                    (job->work.n_keys + passes.at_a_time - 1) / passes.at_a_time);
    enum ts_status status = TS_OK;
#define LAUNCH(type, by_value)                                                                                         \
    status = room_for(context, (const void *)count_occupancy<type, by_value>, bytes);                                  \
    if (status == TS_OK)                                                                                               \
    count_occupancy<type, by_value><<<grid, TILE_COLUMNS, bytes, call->stream>>>(passes)
    TS_CUDA_SLOT_TYPES(dtype, LAUNCH)
#undef LAUNCH
    if (status == TS_OK)
        status = ts_cuda_launched(context, "count_occupancy");
    return status == TS_OK ? ts_cuda_slot_tables_merge(context, job, grid.x, call) : status;
}
