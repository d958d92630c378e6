/* SPDX-License-Identifier: Apache-2.0
 *
 * outliers on a CUDA device, by the rule and keys of stages/filters/outliers.c. A block brings a tile of 128 columns by
 * up to 32 rows with the border of its windows into shared memory, as 32-bit keys. A thread looks at 4 x 4 values: it
 * finds the extremes of the first half of each window, and takes a median only of what may be an outlier. The median of
 * 5 x 5 comes from a fixed network in registers (ts_cuda_median), that of larger windows is found bit by bit, by
 * counting the smaller keys in shared memory. outliers_march.cu has most windows of 3 x 3 and 5 x 5.
 *
 * Memory traffic: each value is read once, the border again (mostly from the second cache), and written once. 256
 * threads a block, so that some blocks load while others compute.
 */
#include "cuda/filters/outliers.cuh"

enum { TILE_X = WARP * RUN, TILE_Y = WARPS * RUN };

/* ---- medians ----------------------------------------------------------------------------------- */

/* `window` points to its first key; rows lie `stride` apart. */
template <int SIZE> static __device__ int32_t median_of(const int32_t *window, int stride)
{
    int32_t keys[SIZE * SIZE];
#pragma unroll
    for (int i = 0; i < SIZE * SIZE; i++)
        keys[i] = window[i / SIZE * stride + i % SIZE];
    return ts_cuda_median<SIZE * SIZE>(keys);
}

/* ---- a tile ------------------------------------------------------------------------------------ */

/* Keys from row to row of the tile: a multiple of RUN, so that groups are aligned. */
static __host__ __device__ int tile_stride(int size)
{
    return (TILE_X + size - 1 + RUN - 1) / RUN * RUN;
}

/* Loads columns [0, width) of the tile, which are those from `column` of the plane on. */
template <typename T>
static __device__ void load_row(const struct plane_job &job, const T *__restrict__ line, int64_t column, int width,
                                int32_t *keys)
{
    if (column >= 0 && column + width <= job.n) {
#pragma unroll 5
        for (int c = threadIdx.x; c < width; c += WARP)
            keys[c] = ts_cuda_key_of<T>(line[column + c], job.flip);
        return;
    }
    for (int c = threadIdx.x; c < width; c += WARP)
        keys[c] = ts_cuda_key_of<T>(line[ts_cuda_border_index(column + c, job.n, BORDER_REFLECT)], job.flip);
}

template <typename T>
static __device__ void load_tile(const struct plane_job &job, const T *__restrict__ in, int64_t row, int64_t column,
                                 int rows, int32_t *tile)
{
    const int half = job.size / 2, width = TILE_X + 2 * half, stride = tile_stride(job.size);
#pragma unroll 2
    for (int r = threadIdx.y; r < rows + 2 * half; r += WARPS) {
        const int64_t from = job.in_z ? row + r : ts_cuda_border_index(row + r - half, job.n_rows, BORDER_REFLECT);
        load_row<T>(job, in + from * job.row_stride, column - half, width, tile + r * stride);
    }
}

/* Finds the extremes of the windows of RUN neighbors in one row of the tile. */
template <int SIZE>
static __device__ void find_extremes(const int32_t *line, int size, int32_t lows[RUN], int32_t highs[RUN])
{
    if (SIZE) {
        int32_t keys[RUN + SIZE];
#pragma unroll
        for (int i = 0; i < RUN + SIZE - 1; i++)
            keys[i] = line[i];
        /* The keys that all windows have in common come first. */
        int32_t low = keys[RUN - 1], high = low;
#pragma unroll
        for (int i = RUN; i < SIZE; i++) {
            low = min(low, keys[i]);
            high = max(high, keys[i]);
        }
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            lows[k] = highs[k] = keys[k];
            if (SIZE >= RUN) {
                lows[k] = min(low, keys[k]);
                highs[k] = max(high, keys[k]);
            }
#pragma unroll
            for (int i = 1; i < SIZE; i++)
                if (SIZE < RUN || k + i < RUN - 1 || k + i >= SIZE) {
                    lows[k] = min(lows[k], keys[k + i]);
                    highs[k] = max(highs[k], keys[k + i]);
                }
        }
    } else {
        for (int k = 0; k < RUN; k++)
            lows[k] = highs[k] = line[k];
        for (int i = 1; i < size; i++)
            for (int k = 0; k < RUN; k++) {
                lows[k] = min(lows[k], line[k + i]);
                highs[k] = max(highs[k], line[k + i]);
            }
    }
}

/* Returns the key that takes the place of the middle of a window. In larger windows the keys that speak for an outlier
 * are counted first, because a median takes 32 times as long. */
template <typename T, int SIZE>
static __device__ int32_t clean(const int32_t *window, int stride, int32_t key, const struct plane_job &job,
                                int *replaced)
{
    enum { FIXED = SIZE ? SIZE : 5 };
    if (SIZE)
        return outliers_decide<T>(key, median_of<FIXED>(window, stride), job, replaced);
    const int32_t bright = outliers_bright_limit<T>(key, job), dark = outliers_dark_limit<T>(key, job);
    int below = 0, above = 0;
    for (int row = 0; row < job.size; row++)
        for (int column = 0; column < job.size; column++) {
            below += window[row * stride + column] <= bright;
            above += window[row * stride + column] >= dark;
        }
    const int most = max(job.kind & OUTLIERS_BRIGHT ? below : 0, job.kind & OUTLIERS_DARK ? above : 0);
    if (2 * most <= job.size * job.size)
        return key;
    return outliers_decide<T>(key, ts_cuda_median_by_bits<32>(window, stride, 0, job.size, 1), job, replaced);
}

template <typename T, int SIZE>
static __global__ void __launch_bounds__(WARP *WARPS)
    clean_tiles(const T *__restrict__ in, T *__restrict__ out, struct plane_job job)
{
    extern __shared__ __align__(16) int32_t tile[];
    const int size = SIZE ? SIZE : job.size, half = size / 2, stride = tile_stride(size);
    const int64_t tile_x = blockIdx.x % job.tiles_x, tile_y = blockIdx.x / job.tiles_x % job.tiles_y;
    const int64_t plane = blockIdx.x / job.tiles_x / job.tiles_y, first_row = tile_y * TILE_Y;
    const int rows = (int)min((int64_t)TILE_Y, job.n_rows - first_row);
    load_tile(job, in + plane * job.plane_stride, first_row, tile_x * TILE_X, rows, tile);
    __syncthreads();
    const int64_t x = tile_x * TILE_X + threadIdx.x * RUN;
    out += plane * job.plane_stride;
    for (int row = threadIdx.y; row < rows; row += WARPS) {
        const int32_t *window = tile + row * stride + threadIdx.x * RUN;
        int32_t lows[RUN], highs[RUN], keys[RUN];
        int replaced = 0;
        find_extremes<SIZE>(window, size, lows, highs);
#pragma unroll(SIZE ? SIZE / 2 : 1)
        for (int r = 1; r <= half; r++) {
            int32_t low[RUN], high[RUN];
            find_extremes<SIZE>(window + r * stride, size, low, high);
#pragma unroll
            for (int k = 0; k < RUN; k++) {
                lows[k] = min(lows[k], low[k]);
                highs[k] = max(highs[k], high[k]);
            }
        }
#pragma unroll
        for (int k = 0; k < RUN; k++) {
            const int32_t key = window[half * stride + half + k];
            const bool near = outliers_near<T>(key, lows[k], highs[k], job);
            keys[k] = near && x + k < job.n ? clean<T, SIZE>(window + k, stride, key, job, &replaced) : key;
        }
        outliers_count(job, job.in_z ? first_row + row : plane, replaced);
        outliers_store<T>(job, out + (first_row + row) * job.row_stride, x, job.aligned && x + RUN <= job.n, keys);
    }
}

/* ---- launch ------------------------------------------------------------------------------------ */

template <typename T>
static enum ts_status launch(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                             struct plane_job *job, const struct cuda_call *call)
{
    const int rows = (int)(job->n_rows < TILE_Y ? job->n_rows : TILE_Y);
    const size_t shared = (size_t)((rows + job->size - 1) * tile_stride(job->size)) * sizeof(int32_t);
    const unsigned blocks = (unsigned)(job->tiles_x * job->tiles_y * job->n_planes);
    const dim3 threads(WARP, WARPS);
    const T *from = (const T *)in->data;
    T *to = (T *)out->data;
    job->aligned = job->n % RUN == 0 && (uintptr_t)to % (RUN * sizeof(T)) == 0;
    if (job->size == 5)
        clean_tiles<T, 5><<<blocks, threads, shared, call->stream>>>(from, to, *job);
    else
        clean_tiles<T, 0><<<blocks, threads, shared, call->stream>>>(from, to, *job);
    return ts_cuda_launched(context, "clean_tiles");
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct outliers_params *params = (const struct outliers_params *)context->params;
    const bool in_z = params->plane == OUTLIERS_PROJECTION;
    const int64_t slice = out->axes[1].n * out->axes[2].n;
    struct plane_job job = {.n_planes = out->axes[in_z ? 1 : 0].n,
                            .n_rows = out->axes[in_z ? 0 : 1].n,
                            .n = out->axes[2].n,
                            .plane_stride = in_z ? out->axes[2].n : slice,
                            .row_stride = in_z ? slice : out->axes[2].n,
                            .threshold = params->threshold,
                            .real = (float)params->threshold,
                            .whole = params->threshold < 0x1p30 ? (int32_t)params->threshold : 1 << 30,
                            .size = (int)params->size,
                            .kind = params->kind,
                            .in_z = in_z};
    if ((double)job.real > params->threshold)
        job.real = nextafterf(job.real, 0);
    job.tiles_x = ts_cuda_parts(job.n, TILE_X);
    job.tiles_y = ts_cuda_parts(job.n_rows, TILE_Y);
    job.flip = ts_cuda_key_flip(out->dtype);
    job.replaced = (unsigned long long *)context->tables[0].data;
    if (cudaMemsetAsync(job.replaced, 0, (size_t)out->axes[0].n * sizeof *job.replaced, call->stream) != cudaSuccess)
        return ts_cuda_launched(context, "memset");
    if (job.size == 3 || (job.size == 5 && job.threshold > 0))
        return ts_cuda_outliers_march(context, in, out, &job, call);
    enum ts_status status;
#define LAUNCH(T) status = launch<T>(context, in, out, &job, call)
    TS_CUDA_BIT_TYPES(out->dtype, LAUNCH)
#undef LAUNCH
    return status;
}

const struct stage_cuda outliers_cuda = {.map = map};
