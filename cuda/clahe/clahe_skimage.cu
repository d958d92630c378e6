/* SPDX-License-Identifier: Apache-2.0
 *
 * scikit-image's rule of clahe on a CUDA device, with the values of stages/clahe/clahe.c: every
 * operation is in double or float as it is there.
 *
 * make_tables: a block makes the table of one tile and leaves the bin of every pixel for the next
 * kernel. Counts are in shared memory, or in scratch if there are more than SHARED_BINS bins.
 * interpolate: a thread maps pixels with four lookups each, and the block finds the span of its
 * results. stretch: a thread stretches pixels in place.
 *
 * A masked image is copied with a valid value in place of invalid ones first, so that the slice's
 * range and all bins are those of valid pixels; the three kernels leave invalid pixels out of
 * counts and spans, and tiles that have no valid pixel copy a table between the first two.
 *
 * Memory traffic: a pixel of b bytes moves b to find the slice's range, b + 2 for the bins, 2 + 4
 * for the mixed value and 8 to stretch it (floats 4 more, to find NaN). 256 threads a block, which
 * is the default number of bins.
 */
#include "cuda/clahe/clahe.cuh"
#include "cuda/values/reductions.cuh"
#include "cuda/values/value_range.cuh"

enum {
    THREADS = 256,
    SHARED_BINS = 8192,
    MAX_BLOCKS = 1024,
    ROWS = 16 /* rows that a block maps */
};

/* What the kernels find out about a slice; it starts as zero bytes. */
struct slice_state {
    struct cuda_value_range range;
    uint32_t not_low, high; /* the lowest mixed value, with its bits inverted, and the highest
                             * one */
};

/* The same as struct gray_scale of the CPU. */
struct gray_scale {
    double low, span, factor, level_low, level_span;
};

static __device__ struct gray_scale gray_scale_of(const struct cuda_value_range *found,
                                                  enum ts_dtype dtype)
{
    const struct value_range range = ts_cuda_value_range_collect(found, dtype);
    struct gray_scale scale = {0, 1, dtype == TS_U8 ? 257.0 : 1.0, 0, 0};
    if (dtype == TS_U8 || dtype == TS_U16) {
        scale.level_low = range.low * scale.factor;
        scale.level_span = (range.high - range.low) * scale.factor;
    } else {
        scale.low = range.low;
        scale.span = range.high > range.low ? range.high - range.low : 1;
        scale.factor = 65535;
        scale.level_span = range.high > range.low ? 65535 : 0;
    }
    if (!(scale.level_span > 0))
        scale.level_span = CLAHE_GRAY_LEVELS - 1;
    return scale;
}

/* EXACT is true for u8 and u16, whose levels are whole numbers. */
template <bool EXACT>
static __device__ inline uint32_t bin_of(const struct gray_scale &scale, double value,
                                         uint32_t bin_size)
{
    double level =
        EXACT ? value * scale.factor : rint((value - scale.low) / scale.span * scale.factor);
    level = level > 0 ? level : 0;
    level = level < 65535 ? level : 65535;
    double gray = rint((level - scale.level_low) / scale.level_span * (CLAHE_GRAY_LEVELS - 1));
    gray = gray < CLAHE_GRAY_LEVELS - 1 ? gray : CLAHE_GRAY_LEVELS - 1;
    return (uint32_t)gray / bin_size;
}

/* Distributes the excess in passes: each pass gives one count to every step-th bin below the limit,
 * from bin `first` on, until no bin is below it. The lanes of one warp call it. */
static __device__ void hand_out(uint32_t *counts, int n, uint32_t limit, int64_t excess, int open)
{
    for (int64_t before = excess + 1; excess > 0 && excess != before;) {
        before = excess;
        for (int first = 0; first < n && excess > 0 && open > 0; first++) {
            const int step = open > excess ? (int)(open / (uint32_t)excess) : 1;
            uint32_t given = 0, closed = 0;
            for (int64_t i = first + (int64_t)threadIdx.x * step; i < n;
                 i += (int64_t)CUDA_WARP * step)
                if (counts[i] < limit) {
                    closed += ++counts[i] == limit;
                    given++;
                }
            excess -= warp_sum(given);
            open -= (int)warp_sum(closed);
            __syncwarp();
        }
        if (open == 0)
            return;
    }
}

/* Does what cut_counts() of the CPU does, with one warp. A bin depends on the others only through
 * sums. */
static __device__ void cut_counts(uint32_t *counts, int n, uint32_t limit)
{
    uint32_t cut = 0;
    for (int i = (int)threadIdx.x; i < n; i += CUDA_WARP)
        if (counts[i] > limit) {
            cut += counts[i] - limit;
            counts[i] = limit;
        }
    const int64_t excess = warp_sum(cut), each = excess / n, upper = (int64_t)limit - each;
    uint32_t given = 0, open = 0;
    for (int i = (int)threadIdx.x; i < n; i += CUDA_WARP) {
        const uint32_t before = counts[i];
        int64_t count = before;
        if (count < upper)
            count += each;
        if (count >= upper && count < limit)
            count = limit;
        counts[i] = (uint32_t)count;
        given += (uint32_t)count - before;
        open += count < limit;
    }
    __syncwarp();
    hand_out(counts, n, limit, excess - (int64_t)warp_sum(given), (int)warp_sum(open));
}

static __device__ void write_table(const uint32_t *counts, int n, double scale, uint32_t *sums,
                                   uint16_t *table)
{
    uint32_t below = 0, total;
    for (int first = 0; first < n; first += THREADS) {
        const int i = first + (int)threadIdx.x;
        const uint32_t count = i < n ? counts[i] : 0,
                       sum = below + block_exclusive_sum(count, sums, &total) + count;
        const double mapped = (double)sum * scale;
        if (i < n)
            table[i] = (uint16_t)(mapped < CLAHE_GRAY_LEVELS - 1 ? mapped : CLAHE_GRAY_LEVELS - 1);
        below += total;
    }
}

/* Makes the table of one tile in each block: blockIdx.x is the tile, blockIdx.y the slice. If
 * shared memory does not hold the tiles.values counts of a block, they are in open_counts, which
 * has room for those of every block. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    make_tables(struct clahe_tiles tiles, double table_scale, const T *in, enum ts_dtype dtype,
                const char *states, size_t state_stride, uint32_t *open_counts, uint16_t *bins,
                uint16_t *tables, uint32_t *taken)
{
    extern __shared__ uint32_t shared_counts[];
    __shared__ uint32_t sums[CUDA_BLOCK_WARPS];
    const int tile = (int)blockIdx.x, n_tiles = (int)gridDim.x, n = tiles.values;
    const size_t block = (size_t)blockIdx.y * n_tiles + tile, pixels = (size_t)tiles.ny * tiles.nx;
    const struct slice_state *state =
        (const struct slice_state *)(states + blockIdx.y * state_stride);
    const struct gray_scale scale = gray_scale_of(&state->range, dtype);
    const uint32_t bin_size = 1 + CLAHE_GRAY_LEVELS / (uint32_t)n;
    const bool exact = sizeof(T) <= 2 && (T)-1 > 0;
    const uint64_t *valid = tiles.valid ? tiles.valid + blockIdx.y * tiles.words : NULL;
    uint32_t *counts = n <= SHARED_BINS ? shared_counts : open_counts + block * n;
    uint32_t n_valid = 0;
    int clip = tiles.clip;
    in += blockIdx.y * pixels;
    bins += blockIdx.y * pixels;
    for (int i = (int)threadIdx.x; i < n; i += THREADS)
        counts[i] = 0;
    __syncthreads();
    clahe_visit_tile(tiles, tile, [&](size_t at, bool itself) {
        const uint32_t bin = bin_of<exact>(scale, (double)in[at], bin_size);
        if (!valid || clahe_is_valid(valid, at)) {
            atomicAdd(&counts[bin], 1u);
            n_valid++;
        }
        if (itself)
            bins[at] = (uint16_t)bin;
    });
    __syncthreads();
    if (valid) {
        n_valid = block_sum(n_valid, sums);
        if (threadIdx.x == 0)
            taken[block] = n_valid;
        if (n_valid == 0)
            return;
        clip = clahe_clip(tiles, false, n_valid);
        table_scale = (double)(CLAHE_GRAY_LEVELS - 1) / (double)n_valid;
    }
    if (clip != CLAHE_NO_CLIP && threadIdx.x < CUDA_WARP)
        cut_counts(counts, n, (uint32_t)clip);
    __syncthreads();
    write_table(counts, n, table_scale, sums, tables + block * n);
}

/* The grid counts tiles and slices. */
static __global__ void __launch_bounds__(THREADS)
    fill_tables(struct clahe_tiles tiles, const uint32_t *taken, uint16_t *tables)
{
    const size_t first = blockIdx.y * (size_t)gridDim.x;
    clahe_fill_table(tiles, taken + first, (int)blockIdx.x, tables + first * tiles.values);
}

/* Copies slices, with invalid pixels replaced by the slice's first valid value, or 0 if it has
 * none. The grid counts pixels and slices. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    replace_invalid(const T *in, const uint64_t *valid, int64_t words, size_t pixels, T *out)
{
    __shared__ unsigned long long first;
    valid += blockIdx.y * words;
    in += blockIdx.y * pixels;
    out += blockIdx.y * pixels;
    if (threadIdx.x == 0)
        first = pixels;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < words; i += THREADS)
        if (valid[i]) {
            atomicMin(&first, (unsigned long long)(64 * i + __ffsll((long long)valid[i]) - 1));
            break;
        }
    __syncthreads();
    const T value = first < pixels ? in[first] : (T)0;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < pixels;
         i += (size_t)gridDim.x * THREADS)
        out[i] = clahe_is_valid(valid, i) ? in[i] : value;
}

/* Widens the slice's span by that of a block. */
static __device__ void join_span(uint32_t low, uint32_t high, struct slice_state *state)
{
    __shared__ uint32_t span[2];
    if (threadIdx.x == 0) {
        span[0] = 0xFFFFFFFFu;
        span[1] = 0;
    }
    __syncthreads();
    low = ts_cuda_warp_lowest(low);
    high = ts_cuda_warp_highest(high);
    if (threadIdx.x % CUDA_WARP == 0) {
        atomicMin(&span[0], low);
        atomicMax(&span[1], high);
    }
    __syncthreads();
    if (threadIdx.x == 0 && span[0] <= span[1]) {
        atomicMax(&state->not_low, ~span[0]);
        atomicMax(&state->high, span[1]);
    }
}

/* The grid counts columns, rows and slices. Each of the four products is rounded to float before
 * they are added; the fraction of the sum is dropped. */
static __global__ void __launch_bounds__(THREADS)
    interpolate(struct clahe_tiles tiles, const uint16_t *bins, const uint16_t *tables,
                char *states, size_t state_stride, float *out)
{
    const size_t pixels = (size_t)tiles.ny * tiles.nx;
    const int n = tiles.values;
    const uint16_t *slice_tables = tables + blockIdx.z * (size_t)tiles.tiles_y * tiles.tiles_x * n;
    const uint64_t *valid = tiles.valid ? tiles.valid + blockIdx.z * tiles.words : NULL;
    uint32_t low = 0xFFFFFFFFu, high = 0;
    bins += blockIdx.z * pixels;
    out += blockIdx.z * pixels;
    for (int y = (int)blockIdx.y; y < tiles.ny; y += (int)gridDim.y) {
        const uint16_t *above = slice_tables + (size_t)tiles.near_y[y].first * tiles.tiles_x * n;
        const uint16_t *below = slice_tables + (size_t)tiles.near_y[y].second * tiles.tiles_x * n;
        const double d = tiles.near_y[y].offset, c = 1 - d;
        for (int x = (int)(blockIdx.x * THREADS + threadIdx.x); x < tiles.nx;
             x += (int)gridDim.x * THREADS) {
            const size_t at = (size_t)y * tiles.nx + x;
            const size_t left = (size_t)tiles.near_x[x].first * n + bins[at];
            const size_t right = (size_t)tiles.near_x[x].second * n + bins[at];
            const double b = tiles.near_x[x].offset, a = 1 - b;
            float sum = (float)(above[left] * (a * c));
            sum += (float)(above[right] * (b * c));
            sum += (float)(below[left] * (a * d));
            sum += (float)(below[right] * (b * d));
            const uint32_t mixed = (uint32_t)(int32_t)sum;
            if (!valid || clahe_is_valid(valid, at)) {
                low = min(low, mixed);
                high = max(high, mixed);
            }
            out[at] = (float)mixed;
        }
    }
    join_span(low, high, (struct slice_state *)(states + blockIdx.z * state_stride));
}

/* The grid counts pixels and slices. `in` is NULL if no value can be NaN, `valid` if none is
 * invalid. */
static __global__ void __launch_bounds__(THREADS)
    stretch(const float *in, const uint64_t *valid, int64_t words, const char *states,
            size_t state_stride, size_t pixels, float *out)
{
    const struct slice_state *state =
        (const struct slice_state *)(states + blockIdx.y * state_stride);
    const double low = (double)(float)~state->not_low, high = (double)(float)state->high;
    out += blockIdx.y * pixels;
    for (size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x; i < pixels;
         i += (size_t)gridDim.x * THREADS) {
        const double value = out[i];
        const double stretched = high > low ? (value - low) / (high - low) : value < 1 ? value : 1;
        const bool counts = !valid || clahe_is_valid(valid + blockIdx.y * words, i);
        out[i] = !counts ? 0 : in && isnan(in[blockIdx.y * pixels + i]) ? NAN : (float)stretched;
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

/* The scratch holds, in order: the states of all slices; for a masked image, its slices with values
 * in place of invalid pixels; then the tables, bins, numbers of valid pixels and open counts of a
 * batch. */
struct parts {
    size_t state_stride, copy_bytes, table_bytes, bin_bytes, taken_bytes, open_bytes;
    int64_t batch;
};

static struct parts parts_of(const struct stage_context *context, int64_t n)
{
    const struct clahe_run run = ts_clahe_describe(context);
    const size_t entries = (size_t)(run.tiles_y * run.tiles_x * run.values);
    struct parts parts;
    parts.state_stride = ts_cuda_stride(sizeof(struct slice_state));
    parts.table_bytes = entries * sizeof(uint16_t);
    parts.bin_bytes = (size_t)(run.ny * run.nx) * sizeof(uint16_t);
    parts.open_bytes = run.values > SHARED_BINS ? entries * sizeof(uint32_t) : 0;
    parts.copy_bytes =
        context->in.masked ? ts_cuda_stride(ts_slice_bytes(&context->in) * (size_t)n) : 0;
    parts.taken_bytes =
        context->in.masked ? (size_t)(run.tiles_y * run.tiles_x) * sizeof(uint32_t) : 0;
    parts.batch = ts_cuda_clahe_batch(parts.table_bytes + parts.bin_bytes + parts.open_bytes, n);
    return parts;
}

size_t ts_cuda_clahe_skimage_bytes(const struct stage_context *context, int64_t n)
{
    const struct parts parts = parts_of(context, n);
    return parts.state_stride * (size_t)n + parts.copy_bytes +
           ts_cuda_stride(parts.table_bytes * (size_t)parts.batch) +
           ts_cuda_stride(parts.bin_bytes * (size_t)parts.batch) +
           ts_cuda_stride(parts.taken_bytes * (size_t)parts.batch) +
           parts.open_bytes * (size_t)parts.batch;
}

struct batch {
    struct parts parts;
    struct clahe_tiles tiles;
    const void *in;
    char *states, *buffer;
    float *out;
    int64_t n; /* number of slices */
};

static dim3 pixel_grid(size_t pixels, unsigned slices)
{
    const int64_t across = ts_cuda_parts((int64_t)pixels, THREADS);
    return dim3((unsigned)(across < MAX_BLOCKS ? across : (int64_t)MAX_BLOCKS), slices);
}

/* Copies a masked image without its invalid values, and returns the copy. */
static struct ts_image without_invalid(const struct ts_image *in, int64_t n, void *data,
                                       const struct cuda_call *call)
{
    const int64_t words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid), most = 65535;
    const size_t pixels = ts_slice_count(in), bytes = ts_slice_bytes(in);
    struct ts_image copy = *in;
    copy.data = data;
    for (int64_t z = 0; z < n; z += most) {
        const dim3 grid = pixel_grid(pixels, (unsigned)(n - z < most ? n - z : most));
        const char *from = (const char *)in->data + (size_t)z * bytes;
        char *to = (char *)data + (size_t)z * bytes;
#define REPLACE(type)                                                                              \
    replace_invalid<type><<<grid, THREADS, 0, call->stream>>>(                                     \
        (const type *)from, in->valid + z * words, words, pixels, (type *)to)
        TS_CUDA_BIT_TYPES(in->dtype, REPLACE)
#undef REPLACE
    }
    return copy;
}

/* Launches the kernels for one batch of slices. */
static enum ts_status run_batch(const struct stage_context *context, const struct batch *batch,
                                const struct cuda_call *call)
{
    const struct clahe_tiles tiles = batch->tiles;
    const struct parts parts = batch->parts;
    const unsigned n = (unsigned)batch->n;
    const size_t pixels = (size_t)tiles.ny * tiles.nx, stride = parts.state_stride;
    const size_t shared = tiles.values <= SHARED_BINS ? (size_t)tiles.values * sizeof(uint32_t) : 0;
    const double scale =
        (double)(CLAHE_GRAY_LEVELS - 1) / (double)((int64_t)tiles.height * tiles.width);
    uint16_t *tables = (uint16_t *)batch->buffer;
    uint16_t *bins =
        (uint16_t *)(batch->buffer + ts_cuda_stride(parts.table_bytes * (size_t)parts.batch));
    uint32_t *taken =
        (uint32_t *)((char *)bins + ts_cuda_stride(parts.bin_bytes * (size_t)parts.batch));
    uint32_t *open =
        (uint32_t *)((char *)taken + ts_cuda_stride(parts.taken_bytes * (size_t)parts.batch));
    const dim3 tile_grid((unsigned)(tiles.tiles_y * tiles.tiles_x), n);
#define TABLES(type)                                                                               \
    make_tables<type><<<tile_grid, THREADS, shared, call->stream>>>(                               \
        tiles, scale, (const type *)batch->in, context->in.dtype, batch->states, stride, open,     \
        bins, tables, taken)
    TS_CUDA_DTYPES(context->in.dtype, TABLES)
#undef TABLES
    if (tiles.valid)
        fill_tables<<<tile_grid, THREADS, 0, call->stream>>>(tiles, taken, tables);
    enum ts_status status = ts_cuda_launched(context, "clahe_skimage: tables");
    if (status != TS_OK)
        return status;
    const int64_t most = 65535, wanted = ts_cuda_parts(tiles.ny, ROWS);
    const unsigned rows = (unsigned)(wanted < most ? wanted : most);
    const dim3 grid((unsigned)ts_cuda_parts(tiles.nx, THREADS), rows, n);
    interpolate<<<grid, THREADS, 0, call->stream>>>(tiles, bins, tables, batch->states, stride,
                                                    batch->out);
    status = ts_cuda_launched(context, "clahe_skimage: interpolate");
    if (status != TS_OK)
        return status;
    stretch<<<pixel_grid(pixels, n), THREADS, 0, call->stream>>>(
        context->in.dtype == TS_F32 ? (const float *)batch->in : NULL, tiles.valid, tiles.words,
        batch->states, stride, pixels, batch->out);
    return ts_cuda_launched(context, "clahe_skimage: stretch");
}

enum ts_status ts_cuda_clahe_skimage(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, const struct cuda_call *call)
{
    const int64_t n = out->axes[0].n;
    const size_t in_bytes = ts_slice_bytes(in), pixels = ts_slice_count(out);
    struct batch batch;
    batch.parts = parts_of(context, n);
    batch.tiles = ts_cuda_clahe_tiles(context, call);
    char *states = (char *)call->scratch;
    char *copy = states + batch.parts.state_stride * (size_t)n;
    batch.buffer = copy + batch.parts.copy_bytes;
    cudaMemsetAsync(states, 0, batch.parts.state_stride * (size_t)n, call->stream);
    const struct ts_image slices = context->in.masked ? without_invalid(in, n, copy, call) : *in;
    enum ts_status status = ts_cuda_launched(context, "clahe_skimage: replace");
    if (status == TS_OK)
        status =
            ts_cuda_value_range_add(context, &slices, states, true, batch.parts.state_stride, call);
    for (int64_t z = 0; status == TS_OK && z < n; z += batch.parts.batch) {
        batch.in = (const char *)slices.data + (size_t)z * in_bytes;
        batch.tiles.valid = in->valid ? in->valid + z * batch.tiles.words : NULL;
        batch.out = (float *)out->data + (size_t)z * pixels;
        batch.states = states + (size_t)z * batch.parts.state_stride;
        batch.n = n - z < batch.parts.batch ? n - z : batch.parts.batch;
        status = run_batch(context, &batch, call);
    }
    return status;
}
