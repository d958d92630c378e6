/* SPDX-License-Identifier: Apache-2.0
 *
 * median of 5 x 5 and 7 x 7 windows in a slice: a block brings a tile of 128 columns and 16 rows of keys, with the
 * border of its windows, into shared memory; a thread finds the medians of 4 columns and 2 rows at once, whose windows
 * share sorted columns (cuda/filters/median_tile.cuh). Where a key holds two values, the tile covers two stretches of
 * 16 rows, one below the other, in one array of keys.
 *
 * Memory traffic: a value is read once, the border again (40 % of a tile of 7 x 7 windows, mostly from the second
 * cache), and written once. Arithmetic decides the time: a block has 4 warps, and at most 128 registers a thread leave
 * 4 blocks on a multiprocessor, so that one block compares while another one reads.
 */
#include "cuda/filters/median_job.cuh"

enum { WARPS = 4, ROWS = 16, RESIDENT = 4, MARGIN = 4, STRIDE = MARGIN + WARP * GROUP + MARGIN };

/* `keys` has the first column of the block at MARGIN, so that groups of four keys can be moved at once. `rows` and
 * `columns` say where the image has the samples of each line and column of the tile; -1 stands for the constant. */
template <typename T, int SIZE> struct __align__(16) shared_tile
{
    uint32_t keys[ROWS + SIZE - 1][STRIDE];
    int rows[MEDIAN_ROWS_OF_KEY<T>][ROWS + SIZE - 1], columns[STRIDE];
};

template <typename T, int SIZE>
static __device__ void find_borders(int first_x, int first_y, const median_job &job, shared_tile<T, SIZE> *tile)
{
    enum { LINES = ROWS + SIZE - 1, HALVES = MEDIAN_ROWS_OF_KEY<T> };
    const int thread = threadIdx.y * WARP + threadIdx.x;
    for (int i = thread; i < STRIDE; i += WARP * WARPS)
        tile->columns[i] = ts_cuda_border_rarely(first_x - MARGIN + i, (int)job.nx, job.border);
    for (int i = thread; i < HALVES * LINES; i += WARP * WARPS)
        tile->rows[i / LINES][i % LINES] =
            ts_cuda_border_rarely(first_y - SIZE / 2 + i % LINES + i / LINES * ROWS, (int)job.ny, job.border);
}

/* A lane reads four values of a line, and the first lanes one more beside the block; for keys of two values they do
 * this again ROWS lines further down. */
template <typename T> struct tile_part {
    median_words<T> own[MEDIAN_ROWS_OF_KEY<T>];
    uint32_t beside[MEDIAN_ROWS_OF_KEY<T>];
};

/* A warp has all its reads on their way before it waits for the first one. `parts` begins as zeros, or else the
 * compiler keeps what is not read alive, and in registers, from one slice to the next. */
template <typename T, int SIZE>
static __device__ void load_tile(const T *slice, int x, const median_job &job, shared_tile<T, SIZE> *tile)
{
    enum {
        RADIUS = SIZE / 2,
        LINES = ROWS + SIZE - 1,
        HALVES = MEDIAN_ROWS_OF_KEY<T>,
        PARTS = (LINES + WARPS - 1) / WARPS
    };
    const int lane = threadIdx.x, own = MARGIN + lane * GROUP;
    const int beside = MARGIN - RADIUS + lane + (lane < RADIUS ? 0 : WARP * GROUP);
    const bool whole = job.nx % GROUP == 0 && x + GROUP <= job.nx;
    tile_part<T> parts[PARTS] = {};
#pragma unroll
    for (int i = 0; i < PARTS * HALVES; i++) {
        const int half = i % HALVES, line = i / HALVES * WARPS + threadIdx.y;
        if (line >= LINES)
            continue;
        const int row = tile->rows[half][line];
        const T *from = row < 0 ? NULL : slice + row * job.nx;
        parts[i / HALVES].own[half] =
            whole && from ? median_read(from + x, job) : median_gather(from, tile->columns + own, job);
        if (lane < 2 * RADIUS)
            parts[i / HALVES].beside[half] = median_bits_of(from, tile->columns[beside], job);
    }
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
        const int line = i * WARPS + threadIdx.y;
        if (line >= LINES)
            continue;
        median_key<T> keys[GROUP];
#pragma unroll
        for (int c = 0; c < GROUP; c++)
            keys[c] = median_key_at<T, median_key<T>>(parts[i].own[0].at, parts[i].own[HALVES - 1].at, c);
        uint4 words;
        memcpy(&words, keys, sizeof words);
        *(uint4 *)(tile->keys[line] + own) = words;
        if (lane < 2 * RADIUS) {
            const uint32_t *bits = parts[i].beside;
            const median_key<T> key = median_key_at<T, median_key<T>>(&bits[0], &bits[HALVES - 1], 0);
            memcpy(tile->keys[line] + beside, &key, sizeof key);
        }
    }
}

/* Takes the keys of 4 x 2 windows, the first of which has its center in column MARGIN + x of the tile. */
template <typename T, int SIZE, typename K>
static __device__ void take_keys(const shared_tile<T, SIZE> *tile, int row, int x, K keys[][SIZE + GROUP - 1])
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
static __global__ void __launch_bounds__(WARP *WARPS, RESIDENT) map_tile(const T *in, T *out, median_job job)
{
    enum { HALVES = MEDIAN_ROWS_OF_KEY<T> };
    __shared__ shared_tile<T, SIZE> tile;
    const int first_x = (int)(blockIdx.x % job.tiles_x) * WARP * GROUP, x = first_x + (int)threadIdx.x * GROUP;
    const int first_y = (int)(blockIdx.x / job.tiles_x) * ROWS * HALVES;
    const bool whole = job.nx % GROUP == 0;
    find_borders(first_x, first_y, job, &tile);
    __syncthreads();
    for (int64_t z = blockIdx.y; z < job.nz; z += gridDim.y) {
        load_tile(in + z * job.ny * job.nx, x, job, &tile);
        __syncthreads();
        for (int row = threadIdx.y * MEDIAN_DOWN; row < ROWS && x < job.nx; row += WARPS * MEDIAN_DOWN) {
            median_key<T> keys[SIZE + 1][SIZE + GROUP - 1], medians[MEDIAN_DOWN][GROUP];
            take_keys(&tile, row, threadIdx.x * GROUP, keys);
            ts_medians_of_tile<SIZE>(keys, medians);
#pragma unroll
            for (int i = 0; i < MEDIAN_DOWN * HALVES; i++) {
                const int y = first_y + row + i % MEDIAN_DOWN + i / MEDIAN_DOWN * ROWS;
                if (y < job.ny)
                    median_write(out + (z * job.ny + y) * job.nx, x, whole,
                                 median_words_of<T>(medians[i % MEDIAN_DOWN], i / MEDIAN_DOWN), job);
            }
        }
        __syncthreads();
    }
}

template <typename T>
static void launch(const struct ts_image *in, struct ts_image *out, median_job job, cudaStream_t stream)
{
    job.tiles_x = (unsigned)ts_cuda_parts(job.nx, WARP * GROUP);
    const int64_t tiles_y = ts_cuda_parts(job.ny, ROWS * MEDIAN_ROWS_OF_KEY<T>);
    const dim3 threads(WARP, WARPS),
        blocks((unsigned)(job.tiles_x * tiles_y), (unsigned)(job.nz < MOST_BLOCKS_Z ? job.nz : MOST_BLOCKS_Z));
    if (job.radius == 2)
        map_tile<T, 5><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
    else
        map_tile<T, 7><<<blocks, threads, 0, stream>>>((const T *)in->data, (T *)out->data, job);
}

enum ts_status ts_cuda_median_tile(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                   const struct median_job *job, const struct cuda_call *call)
{
#define LAUNCH(T) launch<T>(in, out, *job, call->stream)
    TS_CUDA_BIT_TYPES(in->dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(context, "median map_tile");
}
