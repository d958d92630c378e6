/* SPDX-License-Identifier: Apache-2.0
 *
 * median on a CUDA device: a block brings a tile with the border of its windows into shared memory,
 * as 32-bit keys, and a thread finds the medians of its pixels: by a network in registers for
 * windows of 3 x 3 x 3, or bit by bit for larger ones, counting the smaller keys in shared memory.
 * Windows of 3 x 3, 5 x 5 and 7 x 7 have kernels of their own.
 *
 * Memory traffic: a value is read once, the border again (mostly from the second cache), and
 * written once. Blocks have 32 x 8 threads, of four rows each. For cubes they have 16 x 8 threads
 * of one pixel each: the largest tile, 30 x 22 x 15 keys, then fits into the 48 KiB that every
 * block has.
 */
#include "cuda/filters/median.cuh"

#include "cuda/filters/masked_windows.cuh"
#include "cuda/filters/median_job.cuh"

extern "C" {
#include "stages/filters/median.h"
#include "stages/values/value_keys.h"
}

/* ---- median direct -----------------------------------------------------------------------------
 *
 * median of 3 x 3 windows in a slice: a lane reads 10 rows of 6 columns straight into registers and
 * finds the medians of 8 rows of 4 columns. Floats are compared as floats, which saves turning them
 * into keys and back; a lane that has read a NaN or an infinity takes keys instead, since only keys
 * put a NaN in order.
 *
 * Memory traffic: each value is read once from memory and written once; two rows of ten and two
 * columns of 128 are read again, from the first or second cache. All reads of a lane are on their
 * way at once and warps do not wait for one another, so that 20 warps on a multiprocessor keep the
 * memory busy; more warps would leave too few registers for ten rows. The 4 warps of a block are
 * one below the other. */

enum { WARPS = 4, ROWS = 8, LINES = ROWS + 2, RESIDENT = 5 };

template <typename T> struct direct_row {
    median_words<T> own;
    uint32_t left, right;
};

/* Returns the image row that is used as row y, which may be outside the image, or NULL for the
 * constant. */
template <typename T>
static __device__ const T *find_line(const T *slice, int y, const median_job &job)
{
    const int from = ts_cuda_border_rarely(y, (int)job.ny, job.border);
    return from < 0 ? NULL : slice + from * job.nx;
}

/* Reads LINES rows, starting at row first - 1, with the columns on both sides of the lane's
 * four. */
template <typename T>
static __device__ void read_rows(const T *slice, int x, int first, const median_job &job,
                                 direct_row<T> rows[LINES])
{
    int columns[GROUP + 2];
    columns[0] = ts_cuda_border_rarely(x - 1, (int)job.nx, job.border);
    columns[GROUP + 1] = ts_cuda_border_rarely(x + GROUP, (int)job.nx, job.border);
    if (job.nx % GROUP == 0 && first > 0 && first + ROWS < job.ny && columns[0] >= 0 &&
        columns[GROUP + 1] >= 0) {
        const T *line = slice + (first - 1) * job.nx;
        const T *own = line + x, *left = line + columns[0], *right = line + columns[GROUP + 1];
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            rows[i] = {median_read(own, job), median_bits(*left, job), median_bits(*right, job)};
            own += job.nx;
            left += job.nx;
            right += job.nx;
        }
        return;
    }
    median_columns(x, GROUP, columns + 1, job);
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        const T *line = find_line(slice, first - 1 + i, job);
        rows[i] = {median_gather(line, columns + 1, job), median_bits_of(line, columns[0], job),
                   median_bits_of(line, columns[GROUP + 1], job)};
    }
}

/* A value times zero is zero unless it is a NaN or an infinity. */
static __device__ bool all_finite(const direct_row<float> rows[LINES])
{
    float sum = 0;
#pragma unroll
    for (int i = 0; i < LINES; i++) {
        float of_row =
            __fmaf_rn(__uint_as_float(rows[i].left), 0, __uint_as_float(rows[i].right) * 0.0f);
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            of_row = __fmaf_rn(__uint_as_float(rows[i].own.at[c]), 0, of_row);
        sum += of_row;
    }
    return sum == 0;
}

/* Writes the medians of n_rows rows, starting at to[0]. K is the type of the keys. */
template <typename K, typename T>
static __device__ void map_rows(const direct_row<T> rows[LINES], T *to, int x, int n_rows,
                                bool whole, const median_job &job)
{
    enum { HALVES = MEDIAN_ROWS_OF_KEY<T>, APART = ROWS / HALVES, WIDE = GROUP + 2 };
    K keys[APART + 2][WIDE];
#pragma unroll
    for (int i = 0; i < APART + 2; i++) {
        const direct_row<T> &upper = rows[i], &lower = rows[i + ROWS - APART];
        keys[i][0] = median_key_at<T, K>(&upper.left, &lower.left, 0);
        keys[i][WIDE - 1] = median_key_at<T, K>(&upper.right, &lower.right, 0);
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            keys[i][c + 1] = median_key_at<T, K>(upper.own.at, lower.own.at, c);
    }
#pragma unroll
    for (int row = 0; row < APART; row += MEDIAN_DOWN) {
        K medians[MEDIAN_DOWN][GROUP];
        ts_medians_of_tile<3>(keys + row, medians);
#pragma unroll
        for (int i = 0; i < MEDIAN_DOWN * HALVES; i++) {
            const int y = row + i % MEDIAN_DOWN + i / MEDIAN_DOWN * APART;
            if (y < n_rows)
                median_write(to + y * job.nx, x, whole,
                             median_words_of<T>(medians[i % MEDIAN_DOWN], i / MEDIAN_DOWN), job);
        }
    }
}

template <typename T>
static __global__ void __launch_bounds__(WARP *WARPS, RESIDENT)
    map_direct(const T *in, T *out, median_job job)
{
    const int x = (int)(blockIdx.x % job.tiles_x * WARP + threadIdx.x) * GROUP;
    const int first = (int)(blockIdx.x / job.tiles_x * WARPS + threadIdx.y) * ROWS;
    const bool whole = job.nx % GROUP == 0;
    if (x >= job.nx || first >= job.ny)
        return;
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        direct_row<T> rows[LINES];
        read_rows(in + z * job.ny * job.nx, x, first, job, rows);
        T *to = out + (z * job.ny + first) * job.nx;
        const int n_rows = (int)min((int64_t)ROWS, job.ny - first);
        if constexpr (std::is_same<T, float>::value)
            if (all_finite(rows)) {
                map_rows<float>(rows, to, x, n_rows, whole, job);
                continue;
            }
        map_rows<median_key<T>>(rows, to, x, n_rows, whole, job);
    }
}

template <typename T>
static void launch_direct(const struct ts_image *in, struct ts_image *out, median_job job,
                          cudaStream_t stream)
{
    job.tiles_x = (unsigned)ts_cuda_parts(job.nx, WARP * GROUP);
    const dim3 threads(WARP, WARPS),
        blocks((unsigned)(job.tiles_x * ts_cuda_parts(job.ny, WARPS * ROWS)),
               (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    map_direct<T><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
}

/* Enqueues the medians of 3 x 3 windows in each slice. */
static enum ts_status median_direct(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct median_job *job,
                                    const struct cuda_call *call)
{
#define LAUNCH(T) launch_direct<T>(in, out, *job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median map_direct");
}

/* ---- median tile -------------------------------------------------------------------------------
 *
 * median of 5 x 5 and 7 x 7 windows in a slice: a block brings a tile of 128 columns and 16 rows of
 * keys, with the border of its windows, into shared memory; a thread finds the medians of 4 columns
 * and 2 rows at once, whose windows share sorted columns (cuda/filters/median_tile.cuh). Where a
 * key holds two values, the tile covers two stretches of 16 rows, one below the other, in one array
 * of keys.
 *
 * Memory traffic: a value is read once, the border again (40 % of a tile of 7 x 7 windows, mostly
 * from the second cache), and written once. Arithmetic decides the time: a block has 4 warps, and
 * at most 128 registers a thread leave 4 blocks on a multiprocessor, so that one block compares
 * while another one reads. */

enum {
    TILE_WARPS = 4,
    TILE_ROWS = 16,
    TILE_RESIDENT = 4,
    MARGIN = 4,
    STRIDE = MARGIN + WARP * GROUP + MARGIN
};

/* `keys` has the block's first column at index MARGIN, so that groups of four keys can be moved at
 * once. `rows` and `columns` have the image row and column of each line and column of the tile; -1
 * is the constant. */
template <typename T, int SIZE> struct __align__(16) shared_tile
{
    uint32_t keys[TILE_ROWS + SIZE - 1][STRIDE];
    int rows[MEDIAN_ROWS_OF_KEY<T>][TILE_ROWS + SIZE - 1], columns[STRIDE];
};

template <typename T, int SIZE>
static __device__ void find_borders(int first_x, int first_y, const median_job &job,
                                    shared_tile<T, SIZE> *tile)
{
    enum { LINES = TILE_ROWS + SIZE - 1, HALVES = MEDIAN_ROWS_OF_KEY<T> };
    const int thread = threadIdx.y * WARP + threadIdx.x;
    for (int i = thread; i < STRIDE; i += WARP * TILE_WARPS)
        tile->columns[i] = ts_cuda_border_rarely(first_x - MARGIN + i, (int)job.nx, job.border);
    for (int i = thread; i < HALVES * LINES; i += WARP * TILE_WARPS)
        tile->rows[i / LINES][i % LINES] = ts_cuda_border_rarely(
            first_y - SIZE / 2 + i % LINES + i / LINES * TILE_ROWS, (int)job.ny, job.border);
}

/* What a lane reads of a line: four values, and, in the first lanes, one more beside the block; for
 * keys of two values, the same again TILE_ROWS lines further down. */
template <typename T> struct tile_part {
    median_words<T> own[MEDIAN_ROWS_OF_KEY<T>];
    uint32_t beside[MEDIAN_ROWS_OF_KEY<T>];
};

/* A warp starts all its reads before it waits for the first one. `parts` begins as zeros; otherwise
 * the compiler keeps unread parts alive in registers from one slice to the next. */
template <typename T, int SIZE>
static __device__ void load_tile(const T *slice, int x, const median_job &job,
                                 shared_tile<T, SIZE> *tile)
{
    enum {
        RADIUS = SIZE / 2,
        LINES = TILE_ROWS + SIZE - 1,
        HALVES = MEDIAN_ROWS_OF_KEY<T>,
        PARTS = (LINES + TILE_WARPS - 1) / TILE_WARPS
    };
    const int lane = threadIdx.x, own = MARGIN + lane * GROUP;
    const int beside = MARGIN - RADIUS + lane + (lane < RADIUS ? 0 : WARP * GROUP);
    const bool whole = job.nx % GROUP == 0 && x + GROUP <= job.nx;
    tile_part<T> parts[PARTS] = {};
#pragma unroll
    for (int i = 0; i < PARTS * HALVES; i++) {
        const int half = i % HALVES, line = i / HALVES * TILE_WARPS + threadIdx.y;
        if (line >= LINES)
            continue;
        const int row = tile->rows[half][line];
        const T *from = row < 0 ? NULL : slice + row * job.nx;
        parts[i / HALVES].own[half] = whole && from ? median_read(from + x, job)
                                                    : median_gather(from, tile->columns + own, job);
        if (lane < 2 * RADIUS)
            parts[i / HALVES].beside[half] = median_bits_of(from, tile->columns[beside], job);
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        const int line = i * TILE_WARPS + threadIdx.y;
        if (line >= LINES)
            continue;
        median_key<T> keys[GROUP];
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            keys[c] =
                median_key_at<T, median_key<T>>(parts[i].own[0].at, parts[i].own[HALVES - 1].at, c);
        uint4 words;
        memcpy(&words, keys, sizeof words);
        *(uint4 *)(tile->keys[line] + own) = words;
        if (lane < 2 * RADIUS) {
            const uint32_t *bits = parts[i].beside;
            const median_key<T> key =
                median_key_at<T, median_key<T>>(&bits[0], &bits[HALVES - 1], 0);
            memcpy(tile->keys[line] + beside, &key, sizeof key);
        }
    }
}

/* Takes the keys of 4 x 2 windows, the first of which has its center in column MARGIN + x of the
 * tile. */
template <typename T, int SIZE, typename K>
static __device__ void take_keys(const shared_tile<T, SIZE> *tile, int row, int x,
                                 K keys[][SIZE + GROUP - 1])
{
#pragma unroll
    for (int i = 0; i < SIZE + 1; i++) {
        const uint4 *from = (const uint4 *)(tile->keys[row + i] + x);
        const uint4 words[] = {from[0], from[1], from[2]};
        K line[MARGIN + GROUP + MARGIN];
        memcpy(line, words, sizeof line);
#pragma unroll
        for (int c = 0; c < SIZE + GROUP - 1; c++)
            keys[i][c] = line[MARGIN - SIZE / 2 + c];
    }
}

template <typename T, int SIZE>
static __global__ void __launch_bounds__(WARP *TILE_WARPS, TILE_RESIDENT)
    map_tile(const T *in, T *out, median_job job)
{
    enum { HALVES = MEDIAN_ROWS_OF_KEY<T> };
    __shared__ shared_tile<T, SIZE> tile;
    const int first_x = (int)(blockIdx.x % job.tiles_x) * WARP * GROUP,
              x = first_x + (int)threadIdx.x * GROUP;
    const int first_y = (int)(blockIdx.x / job.tiles_x) * TILE_ROWS * HALVES;
    const bool whole = job.nx % GROUP == 0;
    find_borders(first_x, first_y, job, &tile);
    __syncthreads();
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        load_tile(in + z * job.ny * job.nx, x, job, &tile);
        __syncthreads();
        for (int row = threadIdx.y * MEDIAN_DOWN; row < TILE_ROWS && x < job.nx;
             row += TILE_WARPS * MEDIAN_DOWN) {
            median_key<T> keys[SIZE + 1][SIZE + GROUP - 1], medians[MEDIAN_DOWN][GROUP];
            take_keys(&tile, row, threadIdx.x * GROUP, keys);
            ts_medians_of_tile<SIZE>(keys, medians);
#pragma unroll
            for (int i = 0; i < MEDIAN_DOWN * HALVES; i++) {
                const int y = first_y + row + i % MEDIAN_DOWN + i / MEDIAN_DOWN * TILE_ROWS;
                if (y < job.ny)
                    median_write(out + (z * job.ny + y) * job.nx, x, whole,
                                 median_words_of<T>(medians[i % MEDIAN_DOWN], i / MEDIAN_DOWN),
                                 job);
            }
        }
        __syncthreads();
    }
}

template <typename T>
static void launch_tile(const struct ts_image *in, struct ts_image *out, median_job job,
                        cudaStream_t stream)
{
    job.tiles_x = (unsigned)ts_cuda_parts(job.nx, WARP * GROUP);
    const int64_t tiles_y = ts_cuda_parts(job.ny, TILE_ROWS * MEDIAN_ROWS_OF_KEY<T>);
    const dim3 threads(WARP, TILE_WARPS),
        blocks((unsigned)(job.tiles_x * tiles_y),
               (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    if (job.radius == 2)
        map_tile<T, 5><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
    else
        map_tile<T, 7><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
}

/* Enqueues the medians of 5 x 5 or 7 x 7 windows in each slice. */
static enum ts_status median_tile(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, const struct median_job *job,
                                  const struct cuda_call *call)
{
#define LAUNCH(T) launch_tile<T>(in, out, *job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median map_tile");
}

/* ---- any window ------------------------------------------------------------------------------ */

enum { THREADS_Y = 8, FLAT_X = 32, FLAT_ROWS = 4, CUBE_X = 16 };

/* SIZE is the size of the window, or 0 if job.radius gives it. With CUBE the window spans slices,
 * whose halo is before `in`'s first slice of output and behind its last. */
template <typename T, int SIZE, bool CUBE>
static __global__ void __launch_bounds__(FLAT_X *THREADS_Y)
    map_tiles(const T *in, T *out, struct median_job job)
{
    enum { X = CUBE ? CUBE_X : FLAT_X, ROWS = CUBE ? 1 : FLAT_ROWS, Y = THREADS_Y * ROWS };
    extern __shared__ int32_t tile[];
    const int radius = SIZE ? SIZE / 2 : job.radius, size = 2 * radius + 1, depth = CUBE ? size : 1;
    const int stride = X + 2 * radius, plane = stride * (Y + 2 * radius);
    const int64_t first_x = blockIdx.x % job.tiles_x * X, first_y = blockIdx.x / job.tiles_x * Y;
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        for (int i = threadIdx.y * X + threadIdx.x; i < depth * plane; i += X * THREADS_Y) {
            const int64_t row =
                ts_cuda_border_index(first_y + i % plane / stride - radius, job.ny, job.border);
            const int64_t column =
                ts_cuda_border_index(first_x + i % stride - radius, job.nx, job.border);
            tile[i] = row < 0 || column < 0
                          ? job.constant
                          : ts_cuda_key_of<T>(
                                in[((z + i / plane) * job.ny + row) * job.nx + column], job.flip);
        }
        __syncthreads();
        for (int row = threadIdx.y; row < Y; row += THREADS_Y) {
            const int64_t x = first_x + threadIdx.x, y = first_y + row;
            if (x >= job.nx || y >= job.ny)
                continue;
            const int32_t *window = tile + row * stride + threadIdx.x;
            int32_t median;
            if constexpr (SIZE != 0) {
                enum { N = SIZE * SIZE * (CUBE ? SIZE : 1) };
                int32_t keys[N];
#pragma unroll
                for (int i = 0; i < N; i++)
                    keys[i] =
                        window[i / (SIZE * SIZE) * plane + i / SIZE % SIZE * stride + i % SIZE];
                median = ts_cuda_median<N>(keys);
            } else {
                median = ts_cuda_median_by_bits<8 * sizeof(T)>(window, stride, plane, size, depth);
            }
            out[(z * job.ny + y) * job.nx + x] = ts_cuda_value_of<T>(median, job.flip);
        }
        __syncthreads();
    }
}

template <typename T>
static void median_launch(const struct median_params *params, const struct ts_image *in,
                          struct ts_image *out, struct median_job job, cudaStream_t stream)
{
    const bool cube = params->dimensions == MEDIAN_3D;
    const int x = cube ? CUBE_X : FLAT_X, y = THREADS_Y * (cube ? 1 : FLAT_ROWS),
              size = 2 * job.radius + 1;
    const size_t bytes =
        sizeof(int32_t) * (size_t)((x + 2 * job.radius) * (y + 2 * job.radius) * (cube ? size : 1));
    job.tiles_x = (unsigned)ts_cuda_parts(job.nx, x);
    const dim3 threads((unsigned)x, THREADS_Y),
        blocks((unsigned)(job.tiles_x * ts_cuda_parts(job.ny, y)),
               (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    const T *from = (const T *)in->data;
    T *to = (T *)out->data;
    if (params->method == MEDIAN_HISTOGRAM && cube)
        map_tiles<T, 0, true><<<blocks, threads, bytes, stream>>>(from, to, job);
    else if (params->method == MEDIAN_HISTOGRAM)
        map_tiles<T, 0, false><<<blocks, threads, bytes, stream>>>(from, to, job);
    else
        map_tiles<T, 3, true><<<blocks, threads, bytes, stream>>>(from, to, job);
}

static enum ts_status median_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, const struct cuda_call *call)
{
    const struct median_params *params = (const struct median_params *)context->params;
    struct median_job job = {.nz = out->axes[0].n,
                             .ny = out->axes[1].n,
                             .nx = out->axes[2].n,
                             .radius = (int)params->radius,
                             .border = params->border,
                             .flip = ts_cuda_key_flip(in->dtype)};
    const size_t bytes = ts_dtype_bytes(in->dtype);
    job.word_flip = job.flip * (bytes == 1 ? 0x01010101u : bytes == 2 ? 0x00010001u : 1);
    if (params->border == BORDER_CONSTANT)
        ts_constant_fill(&job.outside, in->dtype, params->constant, 1);
    job.outside ^= job.flip;
    job.constant = in->dtype == TS_F32 ? ts_float_key((int32_t)job.outside) : (int32_t)job.outside;
    if (context->in.masked)
        return ts_cuda_median_masked(context, in, out, &job, call);
    if (params->method == MEDIAN_NETWORK && params->dimensions == MEDIAN_2D)
        return (params->radius == 1 ? median_direct : median_tile)(context, in, out, &job, call);
#define LAUNCH(T) median_launch<T>(params, in, out, job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median map_tiles");
}

const struct stage_cuda median_cuda = {.map = median_map};
