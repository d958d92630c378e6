/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCV's rule of clahe on a CUDA device for any number of tiles and values, with the bytes of
 * stages/clahe/clahe.c. clahe_opencv_stream.cu takes the slices that it can; the kernel of this
 * file does the others, some slices at a time:
 *
 * A block makes the table of one tile, in windows of WINDOW keys whose counts are in shared memory.
 * If the tile's pixels span at most one window they are counted once; else they are counted twice
 * for each window, to cut and to sum. Then, behind a barrier of the grid, a warp maps rows with
 * four lookups a pixel, which the caches serve.
 *
 * Masked images come here too: the valid pixels of each tile are counted before its table is made,
 * and behind one more barrier the tiles that have none copy a table.
 *
 * Memory traffic: each pixel is read twice and written once, and 2 bytes are written for each value
 * of a tile in the range of the pixels around it. 512 threads a block, two blocks a multiprocessor
 * if both fit: counting waits for memory, and summing for barriers.
 */
#include <cooperative_groups.h>

#include "cuda/clahe/clahe.cuh"
#include "cuda/device/occupancy.cuh"
#include "cuda/values/reductions.cuh"

enum { WINDOW = 8192, THREADS = 512, BLOCKS_A_PROCESSOR = 2, WARP_KEYS = 128, MAX_BATCH = 64 };

template <typename T> struct wide_job {
    struct clahe_tiles tiles;
    const T *in;
    T *out, *tables;      /* tables of `batch` slices */
    const uint32_t *wide; /* which slices to take; NULL: all */
    uint32_t *taken;      /* MASKED: the valid pixels of each tile of `batch` slices */
    int64_t n;
    int batch;
    float scale; /* factor from counts to levels, for a tile without invalid pixels */
};

/* How the counts that were cut off are distributed: `each` to all bins, and the rest of the
 * division, `rest`, one by one to bins 0, step, 2 step, ... */
struct excess {
    uint32_t each, rest, step;
};

/* Finds the lowest and the highest value of a tile, and of the pixels that use its table. */
template <typename T>
static __device__ void find_range(const struct clahe_tiles &tiles, int tile, const T *slice,
                                  uint32_t range[2])
{
    uint32_t low = 0xFFFFFFFFu, high = 0;
    if (threadIdx.x == 0) {
        range[0] = low;
        range[1] = high;
    }
    __syncthreads();
    clahe_visit_tile(tiles, tile, [&](size_t at, bool) {
        low = min(low, (uint32_t)slice[at]);
        high = max(high, (uint32_t)slice[at]);
    });
    const int y_center = tile / tiles.tiles_x * tiles.height + tiles.height / 2,
              y_reach = tiles.height + 1;
    const int x_center = tile % tiles.tiles_x * tiles.width + tiles.width / 2,
              x_reach = tiles.width + 1;
    const int y_end = min(y_center + y_reach, tiles.ny), x_end = min(x_center + x_reach, tiles.nx);
    for (int y = max(y_center - y_reach, 0) + (int)threadIdx.x / 32; y < y_end; y += THREADS / 32)
        for (int x = max(x_center - x_reach, 0) + (int)threadIdx.x % 32; x < x_end; x += 32) {
            low = min(low, (uint32_t)slice[(size_t)y * tiles.nx + x]);
            high = max(high, (uint32_t)slice[(size_t)y * tiles.nx + x]);
        }
    atomicMin(&range[0], low);
    atomicMax(&range[1], high);
    __syncthreads();
}

template <typename T, bool MASKED>
static __device__ void count_window(const struct clahe_tiles &tiles, int tile, const T *slice,
                                    const uint64_t *valid, uint32_t first, uint32_t *counts)
{
    for (int i = (int)threadIdx.x; i < WINDOW; i += THREADS)
        counts[i] = 0;
    __syncthreads();
    clahe_visit_tile(tiles, tile, [&](size_t at, bool) {
        const uint32_t key = slice[at] - first;
        if (key < WINDOW && (!MASKED || clahe_is_valid(valid, at)))
            atomicAdd(&counts[key], 1u);
    });
    __syncthreads();
}

/* Cuts the counts of a window, and returns this thread's share of what was cut off. */
static __device__ uint32_t cut_window(uint32_t *counts, uint32_t clip)
{
    uint32_t cut = 0;
    for (int i = (int)threadIdx.x; i < WINDOW; i += THREADS)
        if (counts[i] > clip) {
            cut += counts[i] - clip;
            counts[i] = clip;
        }
    return cut;
}

/* Sums the counts of a window up to each key. A warp does WINDOW / warps neighboring keys, a lane
 * four at a time. */
template <typename T>
static __device__ void sum_window(const uint32_t *counts, uint32_t first, uint32_t *before,
                                  const struct excess &excess, float scale, uint32_t values,
                                  uint32_t *warp_sums, T *table)
{
    enum { KEYS = WINDOW / (THREADS / 32) };
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
        const uint32_t mine = four[i].x + four[i].y + four[i].z + four[i].w,
                       up_to = warp_inclusive_sum(mine);
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

/* Returns how many pixels of a tile are valid. All threads of the block call it. */
static __device__ uint32_t count_valid(const struct clahe_tiles &tiles, int tile,
                                       const uint64_t *valid, uint32_t *warp_sums)
{
    uint32_t n = 0;
    clahe_visit_tile(tiles, tile, [&](size_t at, bool) { n += clahe_is_valid(valid, at); });
    return block_sum(n, warp_sums);
}

/* Makes the table of a tile. For a masked image it has all values, because pixels far away may use
 * it, too. */
template <typename T, bool MASKED>
static __device__ void make_table(const struct wide_job<T> &job, int tile, const T *slice,
                                  const uint64_t *valid, uint32_t *taken, T *table)
{
    __shared__ __align__(16) uint32_t counts[WINDOW];
    __shared__ uint32_t warp_sums[CUDA_BLOCK_WARPS], range[2];
    const struct clahe_tiles &tiles = job.tiles;
    const uint32_t values = (uint32_t)tiles.values;
    uint32_t clip = (uint32_t)tiles.clip;
    float scale = job.scale;
    if (MASKED) {
        const uint32_t n = count_valid(tiles, tile, valid, warp_sums);
        if (threadIdx.x == 0)
            *taken = n;
        if (n == 0)
            return;
        clip = (uint32_t)clahe_clip(tiles, true, n);
        scale = (float)(tiles.values - 1) / (float)n;
    } else {
        find_range(tiles, tile, slice, range);
    }
    const uint32_t begin = MASKED ? 0 : range[0] / WARP_KEYS * WARP_KEYS,
                   high = MASKED ? values - 1 : range[1];
    const bool one = high - begin < WINDOW;
    uint32_t cut = 0, before = 0;
    for (uint32_t first = begin; first <= high; first += WINDOW) {
        count_window<T, MASKED>(tiles, tile, slice, valid, first, counts);
        cut += cut_window(counts, clip);
    }
    cut = block_sum(cut, warp_sums);
    const uint32_t rest = cut % values;
    const struct excess excess = {cut / values, rest, rest ? values / rest : 1};
    for (uint32_t first = begin; first <= high; first += WINDOW) {
        if (!one) {
            count_window<T, MASKED>(tiles, tile, slice, valid, first, counts);
            cut_window(counts, clip);
            __syncthreads();
        }
        sum_window(counts, first, &before, excess, scale, values, warp_sums, table);
        __syncthreads();
    }
}

/* Maps row y of a slice by its tables; `valid` has the slice's bits. The lanes of one warp call
 * it. */
template <typename T, bool MASKED>
static __device__ void map_row(const struct clahe_tiles &tiles, int y, const uint64_t *valid,
                               const T *tables, const T *in, T *out)
{
    const struct neighbor row = tiles.near_y[y];
    const T *above = tables + (size_t)row.first * tiles.tiles_x * tiles.values;
    const T *below = tables + (size_t)row.second * tiles.tiles_x * tiles.values;
    const float last = (float)(tiles.values - 1);
    for (int x = (int)threadIdx.x % 32; x < tiles.nx; x += 32) {
        const struct neighbor near = tiles.near_x[x];
        const size_t value = in[x], left = (size_t)near.first * tiles.values + value;
        const size_t right = (size_t)near.second * tiles.values + value;
        const float a = near.first_weight, b = near.second_weight;
        const float mapped = ((float)above[left] * a + (float)above[right] * b) * row.first_weight +
                             ((float)below[left] * a + (float)below[right] * b) * row.second_weight;
        const bool keeps = !MASKED || clahe_is_valid(valid, (size_t)y * tiles.nx + x);
        out[x] = keeps ? (T)fminf(rintf(mapped), last) : (T)0;
    }
}

/* Lists the next slices to do, starting at *z, and returns how many. */
static __device__ int list_slices(const uint32_t *wide, int64_t n, int batch, int64_t *z,
                                  int64_t *list)
{
    int listed = 0;
    for (; *z < n && listed < batch; ++*z)
        if (!wide || wide[*z]) {
            if (threadIdx.x == 0)
                list[listed] = *z;
            listed++;
        }
    __syncthreads();
    return listed;
}

/* Maps the slices of the job, some at a time: the grid makes their tables, waits, and maps their
 * rows. */
template <typename T, bool MASKED>
static __global__ void __launch_bounds__(THREADS, TS_CUDA_BLOCKS(THREADS, BLOCKS_A_PROCESSOR))
    map_wide_slices(struct wide_job<T> job)
{
    __shared__ int64_t list[MAX_BATCH];
    const struct clahe_tiles &tiles = job.tiles;
    const size_t pixels = (size_t)tiles.ny * tiles.nx;
    const int n_tiles = tiles.tiles_y * tiles.tiles_x, warps = THREADS / 32;
    const size_t slice_entries = (size_t)n_tiles * tiles.values;
    bool any = !job.wide;
    for (int64_t z = threadIdx.x; job.wide && z < job.n; z += THREADS)
        any |= job.wide[z] != 0;
    if (!__syncthreads_or(any))
        return;
    for (int64_t z = 0; z < job.n;) {
        const int64_t listed = list_slices(job.wide, job.n, job.batch, &z, list);
        for (int64_t i = blockIdx.x; i < listed * n_tiles; i += gridDim.x)
            make_table<T, MASKED>(job, (int)(i % n_tiles),
                                  job.in + (size_t)list[i / n_tiles] * pixels,
                                  MASKED ? tiles.valid + list[i / n_tiles] * tiles.words : NULL,
                                  job.taken + i, job.tables + (size_t)i * tiles.values);
        cooperative_groups::this_grid().sync();
        if (MASKED) {
            for (int64_t i = blockIdx.x; i < listed * n_tiles; i += gridDim.x)
                clahe_fill_table(tiles, job.taken + i / n_tiles * n_tiles, (int)(i % n_tiles),
                                 job.tables + (size_t)(i / n_tiles) * slice_entries);
            cooperative_groups::this_grid().sync();
        }
        for (int64_t i = (int64_t)blockIdx.x * warps + threadIdx.x / 32; i < listed * tiles.ny;
             i += (int64_t)gridDim.x * warps) {
            const size_t first =
                (size_t)list[i / tiles.ny] * pixels + (size_t)(i % tiles.ny) * tiles.nx;
            const uint64_t *valid = MASKED ? tiles.valid + list[i / tiles.ny] * tiles.words : NULL;
            map_row<T, MASKED>(tiles, (int)(i % tiles.ny), valid,
                               job.tables + (size_t)(i / tiles.ny) * slice_entries, job.in + first,
                               job.out + first);
        }
        cooperative_groups::this_grid().sync();
    }
}

/* ---- launches -------------------------------------------------------------------------------- */

static size_t table_bytes(const struct clahe_tiles *tiles, enum ts_dtype dtype)
{
    return ts_cuda_stride((size_t)tiles->tiles_y * tiles->tiles_x * tiles->values *
                          ts_dtype_bytes(dtype));
}

static int64_t batch_of(size_t bytes, int64_t n)
{
    const int64_t batch = ts_cuda_clahe_batch(bytes, n);
    return batch < MAX_BATCH ? batch : (int64_t)MAX_BATCH;
}

static bool takes_stream(const struct stage_context *context, const struct clahe_tiles *tiles)
{
    return !context->in.masked && ts_cuda_clahe_stream_fits(context, tiles);
}

/* Behind the tables, the scratch has the entries of `wide`, which mark slices that the other kernel
 * leaves to this one, or, for a masked image, `taken`. */
size_t ts_cuda_clahe_opencv_bytes(const struct stage_context *context, int64_t n)
{
    const struct clahe_tiles tiles = ts_cuda_clahe_tiles(context, NULL);
    const size_t bytes = table_bytes(&tiles, context->in.dtype);
    if (context->in.dtype == TS_U8 && takes_stream(context, &tiles))
        return 0;
    const int64_t batch = batch_of(bytes, n);
    return bytes * (size_t)batch +
           (size_t)(context->in.masked ? batch * tiles.tiles_y * tiles.tiles_x : n) *
               sizeof(uint32_t);
}

template <typename T>
static enum ts_status launch_wide(const struct stage_context *context,
                                  const struct clahe_tiles *tiles, const struct ts_image *in,
                                  struct ts_image *out, const uint32_t *wide,
                                  const struct cuda_call *call)
{
    struct wide_job<T> job {
    };
    job.tiles = *tiles;
    job.in = (const T *)in->data;
    job.out = (T *)out->data;
    job.tables = (T *)call->scratch;
    job.wide = wide;
    job.n = out->axes[0].n;
    job.batch = (int)batch_of(table_bytes(tiles, in->dtype), job.n);
    job.tiles.valid = in->valid;
    job.taken =
        (uint32_t *)((char *)call->scratch + table_bytes(tiles, in->dtype) * (size_t)job.batch);
    job.scale = (float)(tiles->values - 1) / (float)((int64_t)tiles->height * tiles->width);
    void *arguments[] = {&job};
    const void *kernel = context->in.masked ? (const void *)map_wide_slices<T, true>
                                            : (const void *)map_wide_slices<T, false>;
    return ts_cuda_launch_together(context, kernel, "map_wide_slices", THREADS, BLOCKS_A_PROCESSOR,
                                   arguments, call->stream);
}

enum ts_status ts_cuda_clahe_opencv(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    const struct clahe_tiles tiles = ts_cuda_clahe_tiles(context, call);
    const int64_t n = out->axes[0].n;
    const bool bytes = in->dtype == TS_U8, stream = takes_stream(context, &tiles);
    const size_t table = table_bytes(&tiles, in->dtype);
    uint32_t *wide = NULL;
    if (stream && !bytes) {
        wide = (uint32_t *)((char *)call->scratch + table * (size_t)batch_of(table, n));
        cudaMemsetAsync(wide, 0, (size_t)n * sizeof *wide, call->stream);
    }
    if (stream) {
        const enum ts_status status = ts_cuda_clahe_stream(context, &tiles, in, out, wide, call);
        if (status != TS_OK || bytes)
            return status;
    }
    return bytes ? launch_wide<uint8_t>(context, &tiles, in, out, wide, call)
                 : launch_wide<uint16_t>(context, &tiles, in, out, wide, call);
}
