/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCV's rule of clahe on a CUDA device, any number of tiles and values: stages/common/clahe_opencv.c with its bytes.
 *
 * tables: a block makes the table of one tile, in windows of WINDOW keys whose counts lie in shared memory; a slice
 * that spans no more than a window (12-bit values do) is counted once, others once a window for what is cut off and
 * once for the sums. 512 threads, four blocks an SM: counting waits for memory, and the sums for barriers. interpolate:
 * one thread maps four neighboring pixels with four lookups each, which the caches serve. Memory: an 8-bit pixel moves
 * 3 bytes (twice read, once written), a 16-bit one 8 (its slice's range as well), and 2 bytes for each value of a tile
 * that lies in the slice's range.
 */
#include "cuda/common/block_scan.cuh"
#include "cuda/common/clahe.cuh"
#include "cuda/common/resident.cuh"
#include "cuda/common/value_range.cuh"

enum { WINDOW = 8192, TABLE_THREADS = 512, MAP_THREADS = 256, MAP_PIXELS = 4, WARP_KEYS = 128 };

/* What is cut off goes to all bins evenly (each), the rest of the division to bins 0, step, 2 step, ... */
struct excess {
    uint32_t each, rest, step;
};

template <typename T>
static __device__ void count_window(const struct clahe_tiles &tiles, int tile, const T *slice, uint32_t first,
                                    uint32_t *counts)
{
    for (int i = (int)threadIdx.x; i < WINDOW; i += TABLE_THREADS)
        counts[i] = 0;
    __syncthreads();
    clahe_visit_tile(tiles, tile, [&](size_t at, bool) {
        const uint32_t key = slice[at] - first;
        if (key < WINDOW)
            atomicAdd(&counts[key], 1u);
    });
    __syncthreads();
}

/* Cuts the counts of a window; returns this thread's share of what was cut off. */
static __device__ uint32_t cut_window(uint32_t *counts, uint32_t clip)
{
    uint32_t cut = 0;
    for (int i = (int)threadIdx.x; i < WINDOW; i += TABLE_THREADS)
        if (counts[i] > clip) {
            cut += counts[i] - clip;
            counts[i] = clip;
        }
    return cut;
}

/* A warp sums WINDOW / warps neighboring keys, a lane four at a time. */
template <typename T>
static __device__ void sum_window(const uint32_t *counts, uint32_t first, uint32_t *before, const struct excess &excess,
                                  float scale, uint32_t values, uint32_t *warp_sums, T *table)
{
    enum { KEYS = WINDOW / (TABLE_THREADS / 32) };
    const uint32_t lane = threadIdx.x % 32, start = threadIdx.x / 32 * KEYS + lane * 4;
    uint4 four[KEYS / WARP_KEYS];
    uint32_t sum = 0, total;
    for (uint32_t i = 0; i < KEYS / WARP_KEYS; i++) {
        four[i] = *(const uint4 *)(counts + start + i * WARP_KEYS);
        sum += four[i].x + four[i].y + four[i].z + four[i].w;
    }
    const uint32_t earlier = block_exclusive_sum(sum, warp_sums, &total);
    uint32_t running = *before + __shfl_sync(0xFFFFFFFFu, earlier, 0);
    for (uint32_t i = 0; i < KEYS / WARP_KEYS; i++) {
        const uint32_t mine = four[i].x + four[i].y + four[i].z + four[i].w, up_to = warp_inclusive_sum(mine);
        uint32_t below = running + up_to - mine;
        running += __shfl_sync(0xFFFFFFFFu, up_to, 31);
        for (uint32_t j = 0; j < 4; j++) {
            const uint32_t v = first + start + i * WARP_KEYS + j;
            below += j == 0 ? four[i].x : j == 1 ? four[i].y : j == 2 ? four[i].z : four[i].w;
            if (v >= values)
                continue;
            const uint32_t singles = excess.rest ? min(excess.rest, v / excess.step + 1) : 0;
            const uint32_t level = below + excess.each * (v + 1) + singles;
            const int mapped = __float2int_rn((float)level * scale);
            table[v] = (T)min(mapped, (int)values - 1);
        }
    }
    *before += total;
}

/* Block (tile, slice). ranges: of the slices, or NULL where all values may occur. */
template <typename T>
static __global__ void __launch_bounds__(TABLE_THREADS, TS_CUDA_BLOCKS(TABLE_THREADS, 4))
    make_tables(struct clahe_tiles tiles, float scale, const T *in, const struct cuda_value_range *ranges,
                size_t range_stride, T *tables)
{
    __shared__ __align__(16) uint32_t counts[WINDOW];
    __shared__ uint32_t warp_sums[CUDA_BLOCK_WARPS];
    const int tile = (int)blockIdx.x, n_tiles = (int)gridDim.x;
    const T *slice = in + (size_t)blockIdx.y * (size_t)tiles.ny * tiles.nx;
    T *table = tables + ((size_t)blockIdx.y * n_tiles + tile) * (size_t)tiles.values;
    const struct cuda_value_range *range =
        (const struct cuda_value_range *)((const char *)ranges + blockIdx.y * range_stride);
    const uint32_t low = ranges ? ~range->not_low : 0, high = ranges ? range->high : (uint32_t)tiles.values - 1;
    const uint32_t begin = low / WARP_KEYS * WARP_KEYS; /* the first window starts here */
    const bool one = high - begin < WINDOW;
    uint32_t cut = 0, before = 0;
    for (uint32_t first = begin; first <= high; first += WINDOW) {
        count_window(tiles, tile, slice, first, counts);
        cut += cut_window(counts, (uint32_t)tiles.clip);
    }
    cut = block_sum(cut, warp_sums);
    struct excess excess = {cut / (uint32_t)tiles.values, cut % (uint32_t)tiles.values, 1};
    excess.step = excess.rest ? (uint32_t)tiles.values / excess.rest : 1;
    for (uint32_t first = begin; first <= high; first += WINDOW) {
        if (!one) {
            count_window(tiles, tile, slice, first, counts);
            cut_window(counts, (uint32_t)tiles.clip);
            __syncthreads();
        }
        sum_window(counts, first, &before, excess, scale, (uint32_t)tiles.values, warp_sums, table);
        __syncthreads();
    }
}

/* Block (pixels along x, row, slice); grid.y may be less than the rows. */
template <typename T>
static __global__ void __launch_bounds__(MAP_THREADS)
    interpolate(struct clahe_tiles tiles, const T *in, const T *tables, T *out)
{
    const size_t pixels = (size_t)tiles.ny * tiles.nx;
    const T *slice_tables = tables + blockIdx.z * (size_t)tiles.tiles_y * tiles.tiles_x * tiles.values;
    in += blockIdx.z * pixels;
    out += blockIdx.z * pixels;
    const int x_first = (int)(blockIdx.x * MAP_THREADS + threadIdx.x);
    const float last = (float)(tiles.values - 1);
    for (int y = (int)blockIdx.y; y < tiles.ny; y += (int)gridDim.y) {
        const struct neighbor row = tiles.near_y[y];
        const T *above = slice_tables + (size_t)row.first * tiles.tiles_x * tiles.values;
        const T *below = slice_tables + (size_t)row.second * tiles.tiles_x * tiles.values;
        for (int i = 0, x = x_first; i < MAP_PIXELS && x < tiles.nx; i++, x += (int)(gridDim.x * MAP_THREADS)) {
            const struct neighbor near = tiles.near_x[x];
            const size_t at = (size_t)y * tiles.nx + x, value = in[at];
            const size_t left = (size_t)near.first * tiles.values + value;
            const size_t right = (size_t)near.second * tiles.values + value;
            const float a = near.first_weight, b = near.second_weight;
            const float mapped = ((float)above[left] * a + (float)above[right] * b) * row.first_weight +
                                 ((float)below[left] * a + (float)below[right] * b) * row.second_weight;
            out[at] = (T)fminf(rintf(mapped), last);
        }
    }
}

/* ---- launches ----------------------------------------------------------------------------------- */

static size_t table_bytes(const struct stage_context *context)
{
    const struct clahe_run run = ts_clahe_describe(context);
    return ts_cuda_stride((size_t)(run.tiles_y * run.tiles_x * run.values) * ts_dtype_bytes(context->in.dtype));
}

static size_t range_stride(void)
{
    return ts_cuda_stride(sizeof(struct cuda_value_range));
}

size_t ts_cuda_clahe_opencv_bytes(const struct stage_context *context, int64_t n)
{
    return table_bytes(context) * (size_t)ts_cuda_clahe_batch(context, table_bytes(context), n) +
           range_stride() * (size_t)n;
}

template <typename T>
static enum ts_status run_batch(const struct stage_context *context, const struct clahe_tiles &tiles, const T *in,
                                T *out, int64_t n, const struct cuda_value_range *ranges, T *tables,
                                const struct cuda_call *call)
{
    const float scale = (float)(tiles.values - 1) / (float)((int64_t)tiles.height * tiles.width);
    make_tables<T><<<dim3((unsigned)(tiles.tiles_y * tiles.tiles_x), (unsigned)n), TABLE_THREADS, 0, call->stream>>>(
        tiles, scale, in, ranges, range_stride(), tables);
    const enum ts_status status = ts_cuda_launched(context, "clahe_opencv: tables");
    if (status != TS_OK)
        return status;
    const unsigned across = (unsigned)ts_cuda_parts(tiles.nx, MAP_THREADS * MAP_PIXELS);
    const unsigned rows = (unsigned)(tiles.ny < 65535 ? tiles.ny : 65535);
    interpolate<T><<<dim3(across, rows, (unsigned)n), MAP_THREADS, 0, call->stream>>>(tiles, in, tables, out);
    return ts_cuda_launched(context, "clahe_opencv: interpolate");
}

template <typename T>
static enum ts_status run_slices(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                 const struct cuda_call *call)
{
    const struct clahe_tiles tiles = ts_cuda_clahe_tiles(context, call);
    const int64_t n = out->axes[0].n, batch = ts_cuda_clahe_batch(context, table_bytes(context), n);
    const size_t pixels = ts_slice_count(out);
    char *ranges = (char *)call->scratch + table_bytes(context) * (size_t)batch;
    const bool wide = sizeof(T) == 2;
    enum ts_status status = TS_OK;
    if (wide) {
        cudaMemsetAsync(ranges, 0, range_stride() * (size_t)n, call->stream);
        status = ts_cuda_value_range_add(context, in, ranges, true, range_stride(), call);
    }
    for (int64_t z = 0; status == TS_OK && z < n; z += batch)
        status = run_batch<T>(context, tiles, (const T *)in->data + (size_t)z * pixels,
                              (T *)out->data + (size_t)z * pixels, n - z < batch ? n - z : batch,
                              wide ? (const struct cuda_value_range *)(ranges + (size_t)z * range_stride()) : NULL,
                              (T *)call->scratch, call);
    return status;
}

enum ts_status ts_cuda_clahe_opencv(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    return context->in.dtype == TS_U8 ? run_slices<uint8_t>(context, in, out, call)
                                      : run_slices<uint16_t>(context, in, out, call);
}
