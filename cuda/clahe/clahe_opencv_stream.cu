/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCV's rule of clahe in one kernel whose tables never leave the multiprocessor, where a slice's values lie below
 * KEYS x TILE_THREADS (4,096 of u16, all of u8) and a tile has fewer than 65,536 pixels.
 *
 * A region lies between four tile centers. A block goes down a slice, or a part of its regions, one row of regions
 * after the other: it makes the tables of the next row of tiles and maps the pixels between these and the tables
 * before. An entry of shared memory holds both tables' levels of one value (the upper tile's in the low half), so that
 * a pixel costs two lookups, left and right. Counts are 32 bits wide, because the hardware joins equal addresses of a
 * warp only in additions of one. TILE_THREADS threads make one table after the other and wait only for each other; each
 * has KEYS neighboring keys, whose counts stay in registers between the cut and the sums. A slice with a higher value
 * is left to the other kernel, and its entry of `wide` is set.
 *
 * Memory traffic: 2 reads a pixel, of which the second-level cache serves one, and a write. One block of 1,024 threads
 * a multiprocessor for 12-bit values in eight tiles across: its tables take 128 KiB, the counts of four tiles 64 KiB.
 */
#include "cuda/clahe/clahe_stream.cuh"

/* Prefetches the lines of the next row of tiles while the last one is mapped. */
template <typename T>
static __device__ void prefetch_tiles(const struct clahe_tiles &tiles, const struct stream_part &part, int tile_row,
                                      const T *slice)
{
    const int width = (part.tile_end - part.tile) * tiles.width * (int)sizeof(T), lines = (width + 127) / 128;
    const char *first = (const char *)(slice + part.tile * tiles.width);
    for (int i = (int)threadIdx.x; tile_row < tiles.tiles_y && i < tiles.height * lines; i += (int)blockDim.x) {
        const int y = tile_row * tiles.height + i / lines;
        const char *line = first + (size_t)y * tiles.nx * sizeof(T) + i % lines * 128;
        if (y < tiles.ny)
            asm volatile("prefetch.global.L2 [%0];" : : "l"(line));
    }
}

/* The weight of a level L as fma() takes it: fma(2^23 + L, weight, shift) is L * weight rounded once. */
struct weight {
    float weight, shift;
};

static __device__ inline struct weight weight_of(float weight)
{
    const struct weight made = {weight, weight * -8388608.0f};
    return made;
}

/* Mixes the levels of one value in the left and the right tables as OpenCV does, from the SELECTed half of an entry. */
template <uint32_t SELECT>
static __device__ inline float mix(uint32_t left, uint32_t right, const struct weight &a, const struct weight &b)
{
    const float left_level = __uint_as_float(__byte_perm(left, two_23, SELECT));
    const float right_level = __uint_as_float(__byte_perm(right, two_23, SELECT));
    return __fmaf_rn(left_level, a.weight, a.shift) + __fmaf_rn(right_level, b.weight, b.shift);
}

template <typename T, int V> static __device__ inline void store_pixels(T *to, const uint32_t levels[V])
{
    if constexpr (V == 1)
        *to = (T)levels[0];
    else if constexpr (sizeof(T) == 2)
        __stcs((uint2 *)to,
               make_uint2(__byte_perm(levels[0], levels[1], 0x5410), __byte_perm(levels[2], levels[3], 0x5410)));
    else
        __stcs((uint32_t *)to, __byte_perm(__byte_perm(levels[0], levels[1], 0x0040),
                                           __byte_perm(levels[2], levels[3], 0x0040), 0x5410));
}

/* Maps V pixels from `y` on down to y_end in steps. ONE: the pixels lie beyond the outer centers, where both levels are
 * those of the last table. No result exceeds the last level by half, because the weights add up to 1 but for a
 * rounding. */
template <typename T, int V, int RANGE, bool ONE>
static __device__ inline void map_columns(const struct stream_job &job, int region, int x, uint32_t left,
                                          uint32_t distance, int y, int y_end, int step, const T *slice, T *out)
{
    const float column = (float)((int)floorf(tile_position(x, job.inverse_x)));
    struct weight a[V], b[V];
#pragma unroll
    for (int i = 0; i < V; i++) {
        const float weight = tile_position(x + i, job.inverse_x) - column;
        a[i] = weight_of(1.0f - weight);
        b[i] = weight_of(weight);
    }
    const uint32_t above_half = ONE ? 0x7432 : 0x7410;
    const int stride = step * job.tiles.nx;
    const float row_before = (float)(region - 1);
    slice += (uint32_t)y * (uint32_t)job.tiles.nx + (uint32_t)x;
    out += (uint32_t)y * (uint32_t)job.tiles.nx + (uint32_t)x;
    for (; y < y_end; y += 2 * step, slice += 2 * stride, out += 2 * stride) {
        struct pixels<T, V> loaded[2];
        loaded[0] = load_pixels<T, V>(slice);
        if (y + step < y_end)
            loaded[1] = load_pixels<T, V>(slice + stride);
#pragma unroll
        for (int row = 0; row < 2; row++) {
            if (y + row * step >= y_end)
                break;
            const float d = tile_position(y + row * step, job.inverse_y) - row_before, c = 1.0f - d;
            uint32_t levels[V];
#pragma unroll
            for (int i = 0; i < V; i++) {
                const uint32_t entry = entry_at<T, V, RANGE>(loaded[row], i, left);
                const uint32_t at_left = load_shared(entry), at_right = load_shared(entry + distance);
                const float above = mix<above_half>(at_left, at_right, a[i], b[i]);
                const float below = ONE ? above : mix<0x7432>(at_left, at_right, a[i], b[i]);
                levels[i] = __float_as_uint(above * c + below * d + 8388608.0f);
            }
            store_pixels<T, V>(out + row * stride, levels);
        }
    }
}

/* Maps the pixels of a row of regions. */
template <typename T, int V, int RANGE>
static __device__ void map_region_row(const struct stream_job &job, const struct stream_part &part, int region,
                                      const T *slice, T *out)
{
    const struct clahe_tiles &tiles = job.tiles;
    const bool one = region == 0 || region == tiles.tiles_y;
    const int y_first = part.row_starts[region], y_end = part.row_starts[region + 1];
    const int units = (part.x_end - part.x) / V, across = threads_across(units, (int)blockDim.x),
              step = (int)blockDim.x / across;
    const int y = y_first + (int)threadIdx.x / across;
    for (int unit = (int)threadIdx.x & (across - 1); unit < units; unit += across) {
        const int x = part.x + unit * V, right_tile = region_of(x, job.inverse_x);
        const int left = max(right_tile - 1, 0) - part.tile, right = min(right_tile, tiles.tiles_x - 1) - part.tile;
        const uint32_t table = part.address + (uint32_t)left * (RANGE * 4),
                       distance = (uint32_t)(right - left) * (RANGE * 4);
        if (one)
            map_columns<T, V, RANGE, true>(job, region, x, table, distance, y, y_end, step, slice, out);
        else
            map_columns<T, V, RANGE, false>(job, region, x, table, distance, y, y_end, step, slice, out);
    }
}

/* Threads that count a tile: more than make its table where that is small. */
static __host__ __device__ constexpr int count_threads(int tile_threads)
{
    return tile_threads < 128 ? 128 : tile_threads;
}

template <typename T, int V, int KEYS, int TILE_THREADS>
static __global__ void __launch_bounds__(MAX_THREADS) stream_slices(struct stream_job job)
{
    enum { RANGE = KEYS * TILE_THREADS, COUNT_THREADS = count_threads(TILE_THREADS) };
    extern __shared__ uint4 shared[];
    __shared__ uint32_t warp_sums[MAX_WARPS];
    __shared__ int row_starts[MOST_TILES + 2];
    const struct clahe_tiles &tiles = job.tiles;
    const int groups = job.row_groups * job.column_groups, group = (int)(blockIdx.x % groups);
    const int z = (int)(blockIdx.x / groups), together = (int)blockDim.x / COUNT_THREADS;
    const int column = group % job.column_groups * job.columns, row = group / job.column_groups * job.rows;
    const int column_end = min(column + job.columns, tiles.tiles_x + 1);
    struct stream_part part;
    part.row = row;
    part.row_end = min(row + job.rows, tiles.tiles_y + 1);
    part.tile = max(column - 1, 0);
    part.tile_end = min(column_end - 1, tiles.tiles_x - 1) + 1;
    part.x = region_start(column, tiles.nx, tiles.width, job.inverse_x);
    part.x_end = column_end > tiles.tiles_x ? tiles.nx : region_start(column_end, tiles.nx, tiles.width, job.inverse_x);
    part.pairs = (uint32_t *)shared;
    part.address = (uint32_t)__cvta_generic_to_shared(shared);
    const int local = (int)threadIdx.x / COUNT_THREADS, thread = (int)threadIdx.x % COUNT_THREADS;
    const uint32_t counts = kept(part.address + (uint32_t)(job.tables + local) * (RANGE * 4));
    part.counts = part.pairs + job.tables * RANGE;
    part.sums = warp_sums;
    part.row_starts = row_starts;
    if (threadIdx.x < tiles.tiles_y + 2)
        row_starts[threadIdx.x] = region_start((int)threadIdx.x, tiles.ny, tiles.height, job.inverse_y);
    const T *slice = (const T *)job.in + (size_t)z * tiles.ny * tiles.nx;
    T *out = (T *)job.out + (size_t)z * tiles.ny * tiles.nx;
    for (int i = (int)threadIdx.x; i < together * RANGE; i += (int)blockDim.x)
        part.counts[i] = 0;
    __syncthreads();
    /* With tiles of any width, groups without a tile come to the barriers of the others, or racecheck miscounts. */
    const int idle = V > 1 ? 0 : local;
    int made = max(part.row - 1, 0) - 1; /* the last row of tiles that has tables */
    for (int region = part.row; region < part.row_end; region++) {
        uint32_t high = 0;
        for (; made < min(region, tiles.tiles_y - 1); made++)
            for (int tile = part.tile + local; tile - idle < part.tile_end; tile += together) {
                const bool makes = V > 1 || tile < part.tile_end;
                if (makes)
                    high |= count_tile<T, V, RANGE, COUNT_THREADS>(tiles, slice, made + 1, tile, counts);
                group_barrier<COUNT_THREADS>();
                if (thread < TILE_THREADS)
                    make_table<KEYS, TILE_THREADS>(job, part, tile, local, thread, makes);
                if (TILE_THREADS < COUNT_THREADS)
                    group_barrier<COUNT_THREADS>();
            }
        if (__syncthreads_or((int)high)) {
            if (threadIdx.x == 0)
                job.wide[z] = 1;
            return;
        }
        prefetch_tiles(tiles, part, made + 1, slice);
        map_region_row<T, V == 1 ? 1 : MAP_PIXELS, RANGE>(job, part, region, slice, out);
        __syncthreads();
    }
}

/* ---- launches ----------------------------------------------------------------------------------- */

/* Returns true where every group of PIXELS lies in one region and one tile, and in the image. */
static bool groups_fit(const struct clahe_tiles &tiles, const struct ts_image *in, const struct ts_image *out)
{
    const float inverse = 1.0f / (float)tiles.width;
    const size_t bytes = PIXELS * ts_dtype_bytes(in->dtype);
    if (tiles.width % PIXELS || tiles.height * tiles.tiles_y != tiles.ny || tiles.width * tiles.tiles_x != tiles.nx ||
        (uintptr_t)in->data % bytes || (uintptr_t)out->data % bytes)
        return false;
    for (int x = 0; x < tiles.nx; x += PIXELS)
        if (floorf((float)x * inverse - 0.5f) != floorf((float)(x + PIXELS - 1) * inverse - 0.5f))
            return false;
    return true;
}

/* Chooses the threads and tables of a block that the device's shared memory allows; false: none. */
static bool choose_block(const struct device_numbers *device, bool bytes, int *threads, int *tables)
{
    const int reserved = 1024 /* static */, table_bytes = bytes ? 1024 : 16384, tile_threads = bytes ? 32 : 256;
    for (*threads = MAX_THREADS; *threads >= 256; *threads /= 2) {
        *tables = (device->block_shared_bytes - reserved) / table_bytes - *threads / count_threads(tile_threads);
        if (*tables >= 9 || (*tables >= 2 && *threads == 256))
            return true;
    }
    return false;
}

/* Makes enough blocks for the device: few slices are cut into parts, whose border tables are made twice. */
static void split_slices(struct stream_job *job, int64_t n, int multiprocessors)
{
    const int rows = job->tiles.tiles_y + 1, columns = job->tiles.tiles_x + 1;
    job->columns = job->tiles.tiles_x <= job->tables ? columns : job->tables - 1;
    job->rows = rows;
    for (;;) {
        job->column_groups = (int)ts_cuda_parts(columns, job->columns);
        job->row_groups = (int)ts_cuda_parts(rows, job->rows);
        const int64_t blocks = n * job->column_groups * job->row_groups;
        if (blocks >= multiprocessors || (job->rows == 1 && job->columns == 1))
            break;
        if (job->rows > 1)
            job->rows = (job->rows + 1) / 2;
        else
            job->columns = (job->columns + 1) / 2;
    }
    const int tables = job->columns == columns ? job->tiles.tiles_x : job->columns + 1;
    job->tables = tables < job->tables ? tables : job->tables;
}

template <typename T, int V, int KEYS, int TILE_THREADS>
static enum ts_status launch(const struct stage_context *context, const struct stream_job &job, int64_t n, int threads,
                             const struct cuda_call *call)
{
    auto *const kernel = stream_slices<T, V, KEYS, TILE_THREADS>;
    const size_t shared =
        (size_t)(job.tables + threads / count_threads(TILE_THREADS)) * (KEYS * TILE_THREADS) * sizeof(uint32_t);
    const enum ts_status status = ts_cuda_shared(context, (const void *)kernel, shared);
    if (status != TS_OK)
        return status;
    kernel<<<(unsigned)(n * job.row_groups * job.column_groups), threads, shared, call->stream>>>(job);
    return ts_cuda_launched(context, "clahe_opencv: stream");
}

bool ts_cuda_clahe_stream_fits(const struct stage_context *context, const struct clahe_tiles *tiles)
{
    int threads, tables;
    return (int64_t)tiles->height * tiles->width < 65536 &&
           choose_block(context->device, context->in.dtype == TS_U8, &threads, &tables);
}

enum ts_status ts_cuda_clahe_stream(const struct stage_context *context, const struct clahe_tiles *tiles,
                                    const struct ts_image *in, struct ts_image *out, uint32_t *wide,
                                    const struct cuda_call *call)
{
    const bool bytes = in->dtype == TS_U8, vectors = groups_fit(*tiles, in, out);
    const int64_t n = out->axes[0].n;
    struct stream_job job = {};
    int threads;
    job.tiles = *tiles;
    job.in = in->data;
    job.out = out->data;
    job.wide = wide;
    job.scale = (float)(tiles->values - 1) / (float)((int64_t)tiles->height * tiles->width);
    job.inverse_y = 1.0f / (float)tiles->height;
    job.inverse_x = 1.0f / (float)tiles->width;
    choose_block(context->device, bytes, &threads, &job.tables);
    split_slices(&job, n, context->device->multiprocessors);
    if (bytes)
        return vectors ? launch<uint8_t, PIXELS, 8, 32>(context, job, n, threads, call)
                       : launch<uint8_t, 1, 8, 32>(context, job, n, threads, call);
    return vectors ? launch<uint16_t, PIXELS, 16, 256>(context, job, n, threads, call)
                   : launch<uint16_t, 1, 16, 256>(context, job, n, threads, call);
}
