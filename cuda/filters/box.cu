/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of the stage box. Each method has a launcher; its kernels say what their threads do
 * and what memory traffic they cause. The method `fused` is in box_fused.cu. Methods that work axis
 * by axis keep sums between two passes in scratch: 4 or 8 bytes a pixel, twice that in 3D.
 */
#include "cuda/filters/box_running.cuh"
#include "cuda/filters/masked_windows.cuh"

/* Defines the launcher `name`, which returns function<T, SUM>(launch) for the image's dtype. */
#define BOX_LAUNCHER(name, function)                                                               \
    enum ts_status name(const struct box_launch *launch)                                           \
    {                                                                                              \
        const bool wide = launch->wide;                                                            \
        switch (launch->context->in.dtype) {                                                       \
        case TS_U8:                                                                                \
            return wide ? function<uint8_t, int64_t>(launch) : function<uint8_t, int32_t>(launch); \
        case TS_I8:                                                                                \
            return wide ? function<int8_t, int64_t>(launch) : function<int8_t, int32_t>(launch);   \
        case TS_U16:                                                                               \
            return wide ? function<uint16_t, int64_t>(launch)                                      \
                        : function<uint16_t, int32_t>(launch);                                     \
        case TS_I16:                                                                               \
            return wide ? function<int16_t, int64_t>(launch) : function<int16_t, int32_t>(launch); \
        case TS_U32:                                                                               \
            return function<uint32_t, int64_t>(launch);                                            \
        case TS_I32:                                                                               \
            return function<int32_t, int64_t>(launch);                                             \
        default:                                                                                   \
            return function<float, double>(launch);                                                \
        }                                                                                          \
    }

/* ---- direct --------------------------------------------------------------------------------
 *
 * This computes box by its definition: one thread adds the whole window of one pixel. Memory
 * traffic: each sample is read (2 radius + 1)^2 times, or ^3, nearly always from a cache; device
 * memory sees one read and one write a pixel while the rows of a window stay in the caches. Blocks
 * of 32 x 8: a warp reads along x, and 8 rows share their windows through the first cache.
 *
 *     direct    any radius
 *     unrolled  radius 1: loops of 3 known when compiling, floats summed as float (6 roundings
 *               at most) */

/* Returns the sum of 2 radius + 1 samples of one row around x. */
template <typename T, typename SUM>
static __device__ SUM row_sum(const T *row, int64_t x, struct box_sizes sizes, T outside)
{
    SUM sum = 0;
    if (x >= sizes.radius && x + sizes.radius < sizes.nx) {
        for (int64_t i = x - sizes.radius; i <= x + sizes.radius; i++)
            sum += (SUM)row[i];
    } else {
        for (int64_t i = x - sizes.radius; i <= x + sizes.radius; i++) {
            const int64_t from = ts_cuda_border_index(i, sizes.nx, sizes.border);
            sum += (SUM)(from < 0 ? outside : row[from]);
        }
    }
    return sum;
}

template <typename T, typename SUM>
static __global__ void __launch_bounds__(BOX_BLOCK_X *BOX_BLOCK_Y)
    direct(const T *in, T *out, struct box_sizes sizes, T outside, struct box_mean mean)
{
    const struct box_pixel at = box_pixel_of_thread(sizes);
    if (!at.inside)
        return;
    SUM sum = 0;
    for (int64_t z = at.z; z <= at.z + 2 * sizes.reach; z++)
        for (int64_t j = at.y - sizes.radius; j <= at.y + sizes.radius; j++) {
            const int64_t y = ts_cuda_border_index(j, sizes.ny, sizes.border);
            sum += y < 0
                       ? (SUM)(2 * sizes.radius + 1) * (SUM)outside
                       : row_sum<T, SUM>(in + (z * sizes.ny + y) * sizes.nx, at.x, sizes, outside);
        }
    box_store(out + (at.z * sizes.ny + at.y) * sizes.nx + at.x, sum, mean);
}

template <typename T>
using unrolled_sum = typename std::conditional<
    std::is_same<T, float>::value, float,
    typename std::conditional<sizeof(T) == 4, int64_t, int32_t>::type>::type;

/* Sums windows of radius 1; REACH is 1 in 3D, else 0. */
template <typename T, int REACH>
static __global__ void __launch_bounds__(BOX_BLOCK_X *BOX_BLOCK_Y)
    unrolled(const T *in, T *out, struct box_sizes sizes, T outside, struct box_mean mean)
{
    typedef unrolled_sum<T> SUM;
    const struct box_pixel at = box_pixel_of_thread(sizes);
    if (!at.inside)
        return;
    int64_t columns[3], rows[3];
    for (int i = 0; i < 3; i++) {
        columns[i] = ts_cuda_border_index(at.x + i - 1, sizes.nx, sizes.border);
        rows[i] = ts_cuda_border_index(at.y + i - 1, sizes.ny, sizes.border);
    }
    SUM sum = 0;
#pragma unroll
    for (int k = 0; k <= 2 * REACH; k++) {
        SUM slice = 0;
#pragma unroll
        for (int j = 0; j < 3; j++) {
            const T *row = in + ((at.z + k) * sizes.ny + (rows[j] < 0 ? 0 : rows[j])) * sizes.nx;
            SUM samples[3];
#pragma unroll
            for (int i = 0; i < 3; i++)
                samples[i] = (SUM)(rows[j] < 0 || columns[i] < 0 ? outside : row[columns[i]]);
            slice += samples[0] + samples[1] + samples[2];
        }
        sum += slice;
    }
    T *to = out + (at.z * sizes.ny + at.y) * sizes.nx + at.x;
    if constexpr (sizeof(SUM) == 4 && sizeof(T) == 4)
        *to = (T)(sum * (SUM)mean.scale);
    else
        box_store(to, sum, mean);
}

template <typename T, typename SUM>
static enum ts_status launch_direct(const struct box_launch *launch)
{
    const struct box_params *params = (const struct box_params *)launch->context->params;
    direct<T, SUM>
        <<<box_blocks(launch->sizes), dim3(BOX_BLOCK_X, BOX_BLOCK_Y), 0, launch->stream>>>(
            (const T *)launch->in, (T *)launch->out, launch->sizes, (T)params->constant,
            launch->mean);
    return ts_cuda_launched(launch->context, "direct");
}
BOX_LAUNCHER(ts_cuda_box_direct, launch_direct)

static enum ts_status launch_box_unrolled(const struct box_launch *launch)
{
    const struct box_params *params = (const struct box_params *)launch->context->params;
#define LAUNCH(T)                                                                                  \
    (launch->sizes.reach ? unrolled<T, 1>                                                          \
                         : unrolled<T, 0>)<<<box_blocks(launch->sizes),                            \
                                             dim3(BOX_BLOCK_X, BOX_BLOCK_Y), 0, launch->stream>>>( \
        (const T *)launch->in, (T *)launch->out, launch->sizes, (T)params->constant, launch->mean)
    TS_CUDA_DTYPES(launch->context->in.dtype, LAUNCH)
#undef LAUNCH
    return ts_cuda_launched(launch->context, "unrolled");
}

/* ---- separable -----------------------------------------------------------------------------
 *
 * This computes box in one pass for each axis, fine-grained: one thread adds the 2 radius + 1
 * samples along one axis for one pixel. The passes (along z in 3D, x, y) meet in scratch. Memory
 * traffic: 2 reads and 2 writes a pixel in 2D, 3 and 3 in 3D, which makes 1 + 4 + 4 + 1 bytes for
 * an 8-bit pixel in 2D; neighboring windows share their samples through the caches.
 *
 * Blocks of 32 x 8: a warp reads along x in every pass, and in the pass along y 8 rows share most
 * of their windows. */

enum axis { ALONG_Z, ALONG_Y, ALONG_X };

template <typename IN, typename SUM, typename OUT, bool LAST>
static __global__ void __launch_bounds__(BOX_BLOCK_X *BOX_BLOCK_Y)
    sum_along(const IN *in, OUT *out, struct box_sizes sizes, enum axis axis, IN outside,
              struct box_mean mean)
{
    const struct box_pixel at = box_pixel_of_thread(sizes);
    if (!at.inside)
        return;
    const int64_t here = (at.z * sizes.ny + at.y) * sizes.nx + at.x;
    /* Along z the input includes the slices outside: the window of slice z starts at input slice
     * z. */
    int64_t stride = 1, position = at.x, n = sizes.nx, first = here - at.x;
    switch (axis) {
    case ALONG_Z:
        stride = sizes.ny * sizes.nx;
        position = sizes.radius;
        n = 2 * sizes.radius + 1;
        first = here;
        break;
    case ALONG_Y:
        stride = sizes.nx;
        position = at.y;
        n = sizes.ny;
        first = here - position * stride;
        break;
    case ALONG_X:
        break;
    }
    const IN *line = in + first;
    SUM sum = 0;
    if (position >= sizes.radius && position + sizes.radius < n) {
        for (int64_t i = position - sizes.radius; i <= position + sizes.radius; i++)
            sum += (SUM)line[i * stride];
    } else {
        for (int64_t i = position - sizes.radius; i <= position + sizes.radius; i++) {
            const int64_t from = ts_cuda_border_index(i, n, sizes.border);
            sum += (SUM)(from < 0 ? outside : line[from * stride]);
        }
    }
    box_finish<LAST>(out + here, sum, mean);
}

template <typename T, typename SUM> static enum ts_status separable(const struct box_launch *launch)
{
    typedef box_between<T, SUM> BETWEEN;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_passes<T, SUM> passes = box_passes_of<T, SUM>(launch);
    const dim3 block(BOX_BLOCK_X, BOX_BLOCK_Y);
    if (sizes.reach) {
        sum_along<T, SUM, BETWEEN, false><<<box_blocks(sizes), block, 0, launch->stream>>>(
            (const T *)launch->in, passes.slices, sizes, ALONG_Z, (T)0, passes.line);
        sum_along<BETWEEN, SUM, BETWEEN, false><<<box_blocks(sizes), block, 0, launch->stream>>>(
            passes.slices, passes.rows, sizes, ALONG_X, passes.outside_rows, passes.line);
    } else {
        sum_along<T, SUM, BETWEEN, false><<<box_blocks(sizes), block, 0, launch->stream>>>(
            (const T *)launch->in, passes.rows, sizes, ALONG_X, (T)params->constant, passes.line);
    }
    sum_along<BETWEEN, SUM, T, true><<<box_blocks(sizes), block, 0, launch->stream>>>(
        passes.rows, (T *)launch->out, sizes, ALONG_Y, passes.outside_columns, passes.last);
    return ts_cuda_launched(launch->context, "sum_along");
}
static BOX_LAUNCHER(launch_box_separable, separable)

    /* ---- tile ----------------------------------------------------------------------------------
     *
     * This computes box in shared memory: a block loads a tile with its halo once, and adds along
     * x, y (and z) there; a thread sums one window at a time. In 2D a tile is 32 columns by 32
     * rows, in 3D by 8 rows and 8 slices. Memory traffic: one write a pixel, and (32 + 2 radius)^2
     * / 32^2 reads in 2D, of which all but one may come from the second cache. 256 threads a block:
     * a warp does rows of 32 columns. The tile with its halo must fit the shared memory of one
     * block, which bounds the radius. */

    enum {
        COLUMNS = BOX_TILE_COLUMNS,
        WARPS = 8
    };

/* Loads the tile and its halo. z needs no border rule, because the input has its halo. */
template <typename T>
static __device__ void load_tile(const T *in, T *samples, struct box_tile tile,
                                 struct box_sizes sizes, struct box_pixel first, T outside)
{
    for (int row = threadIdx.y; row < tile.depth * tile.height; row += WARPS) {
        const int64_t z = first.z + row / tile.height;
        const int64_t y = ts_cuda_border_index(first.y + row % tile.height - sizes.radius, sizes.ny,
                                               sizes.border);
        for (int i = threadIdx.x; i < tile.width; i += COLUMNS) {
            const int64_t x =
                ts_cuda_border_index(first.x + i - sizes.radius, sizes.nx, sizes.border);
            /* Tiles may reach beyond the last slice and row of a slab, but no output needs those
             * samples. */
            const bool there = z < sizes.nz + 2 * sizes.reach && y >= 0 && x >= 0;
            samples[row * tile.width + i] = there ? in[(z * sizes.ny + y) * sizes.nx + x] : outside;
        }
    }
}

/* Sets out[row][lane] to the sums of `window` samples that are `step` apart, for n rows in groups
 * of `group`, which are `distance` apart in `in`. */
template <typename IN, typename SUM, typename OUT>
static __device__ void sum_rows(const IN *in, OUT *out, int n, int group, int distance, int pitch,
                                int step, int window, struct box_mean mean)
{
    for (int row = threadIdx.y; row < n; row += WARPS) {
        const IN *from = in + ((row / group) * distance + row % group) * pitch + threadIdx.x;
        SUM sum = 0;
        for (int k = 0; k < window; k++)
            sum += (SUM)from[k * step];
        box_keep(&out[row * COLUMNS + threadIdx.x], sum, mean);
    }
}

template <typename T, typename SUM>
static __global__ void __launch_bounds__(COLUMNS *WARPS)
    tiled(const T *in, T *out, struct box_tile tile, struct box_sizes sizes, T outside,
          struct box_mean line, struct box_mean last)
{
    typedef box_between<T, SUM> BETWEEN;
    extern __shared__ __align__(16) char shared[];
    T *samples = (T *)shared;
    BETWEEN *along_x = (BETWEEN *)(shared + tile.along_x),
            *along_y = (BETWEEN *)(shared + tile.along_y);
    const int window = 2 * sizes.radius + 1;
    const unsigned columns = (unsigned)ts_cuda_parts(sizes.nx, COLUMNS);
    const unsigned rows = (unsigned)ts_cuda_parts(sizes.ny, tile.ny),
                   row_of_tiles = blockIdx.x / columns;
    const struct box_pixel first = {(int64_t)(row_of_tiles / rows) * tile.nz,
                                    (int64_t)(row_of_tiles % rows) * tile.ny,
                                    (int64_t)(blockIdx.x % columns) * COLUMNS, true};
    load_tile(in, samples, tile, sizes, first, outside);
    __syncthreads();
    sum_rows<T, SUM>(samples, along_x, tile.depth * tile.height, 1, 1, tile.width, 1, window, line);
    __syncthreads();
    const BETWEEN *sums = along_x;
    int step = COLUMNS;
    if (sizes.reach) {
        sum_rows<BETWEEN, SUM>(along_x, along_y, tile.depth * tile.ny, tile.ny, tile.height,
                               COLUMNS, COLUMNS, window, line);
        __syncthreads();
        sums = along_y;
        step = tile.ny * COLUMNS;
    }
    for (int row = threadIdx.y; row < tile.nz * tile.ny; row += WARPS) {
        const int64_t z = first.z + row / tile.ny, y = first.y + row % tile.ny,
                      x = first.x + threadIdx.x;
        SUM sum = 0;
        for (int k = 0; k < window; k++)
            sum += (SUM)sums[row * COLUMNS + k * step + threadIdx.x];
        if (z < sizes.nz && y < sizes.ny && x < sizes.nx)
            box_store(out + (z * sizes.ny + y) * sizes.nx + x, sum, last);
    }
}

template <typename T, typename SUM>
static enum ts_status launch_tiled(const struct box_launch *launch)
{
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_tile tile =
        ts_box_tile(sizes.radius, sizes.reach > 0, sizeof(T), sizeof(box_between<T, SUM>));
    const bool sums = (T)0.5 == 0; /* between two passes: sums of integers, means of floats */
    const struct box_mean line = box_mean_of(2.0 * sizes.radius + 1);
    const unsigned blocks =
        (unsigned)(ts_cuda_parts(sizes.nx, COLUMNS) * ts_cuda_parts(sizes.ny, tile.ny) *
                   ts_cuda_parts(sizes.nz, tile.nz));
    const enum ts_status status =
        ts_cuda_shared(launch->context, (const void *)tiled<T, SUM>, tile.bytes);
    if (status != TS_OK)
        return status;
    tiled<T, SUM><<<blocks, dim3(COLUMNS, WARPS), tile.bytes, launch->stream>>>(
        (const T *)launch->in, (T *)launch->out, tile, sizes, (T)params->constant, line,
        sums ? launch->mean : line);
    return ts_cuda_launched(launch->context, "tiled");
}
static BOX_LAUNCHER(launch_box_tile, launch_tiled)

    /* ---- texture -------------------------------------------------------------------------------
     *
     * This computes box in 2D as running-sum does, by running sums along the rows and then down the
     * columns. But a thread of the first pass reads its own row, through the texture unit. The
     * threads of a warp read addresses a row apart, each one sample further from step to step, so
     * that the sectors that a step brings into the texture cache serve the next ones; only results
     * go through shared memory. The sums are added in the same order, so the bytes equal those of
     * running-sum.
     *
     * Memory traffic: each pass reads a pixel twice and writes it once, whatever the radius. A
     * block is one warp, because warps share nothing; columns have 128 threads a block.  */

    /* Reads sample x of one row of a texture. */
    template <typename T>
    struct texture_row {
    cudaTextureObject_t texture;
    int first;
    __device__ T operator()(int64_t x) const
    {
        return tex1Dfetch<T>(texture, first + (int)x);
    }
};

/* Sums along the rows of one texture; `out` points to its first row in the output. */
template <typename T, typename SUM, typename OUT>
static __global__ void __launch_bounds__(BOX_RUN_TILE)
    run_texture_rows(struct cuda_texture texture, OUT *out, struct box_sizes sizes, T outside,
                     struct box_mean mean)
{
    const int64_t first = (int64_t)blockIdx.x * BOX_RUN_TILE, left = texture.n - first;
    const struct texture_row<T> row = {
        texture.object, (int)(texture.before + (first + threadIdx.x) * sizes.nx)
    };
    box_carry_rows<SUM>(row, out + first * sizes.nx, left < BOX_RUN_TILE ? (int)left : BOX_RUN_TILE,
                        sizes, outside, mean);
}

template <typename T, typename SUM>
static enum ts_status run_textures(const struct box_launch *launch)
{
    typedef box_between<T, SUM> BETWEEN;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_passes<T, SUM> passes = box_passes_of<T, SUM>(launch);
    const unsigned column_blocks = (unsigned)ts_cuda_parts(sizes.nz * sizes.nx, BOX_COLUMN_THREADS);
    for (int i = 0; i < launch->n_textures; i++) {
        const struct cuda_texture texture = launch->textures[i];
        run_texture_rows<T, SUM, BETWEEN>
            <<<(unsigned)ts_cuda_parts(texture.n, BOX_RUN_TILE), BOX_RUN_TILE, 0, launch->stream>>>(
                texture, passes.rows + texture.first * sizes.nx, sizes, (T)params->constant,
                passes.line);
    }
    box_run_columns<BETWEEN, SUM, T, true, false>
        <<<column_blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>(
            passes.rows, (T *)launch->out, sizes, passes.outside_columns, passes.last);
    return ts_cuda_launched(launch->context, "run_texture_rows");
}
static BOX_LAUNCHER(launch_box_texture, run_textures)

    /* ---- running-sum
     * -------------------------------------------------------------------------------
     *
     * This computes box by running sums, coarse-grained: one thread carries the sum of a window
     * along a whole row, then one down a whole column (and in 3D first one along z), adds the
     * entering sample and subtracts the leaving one (McDonnell, 1981). The passes meet in scratch.
     * Memory traffic: each pass reads a pixel twice and writes it once, whatever the radius.
     *
     * A warp does 32 rows: neighboring threads would read addresses a row apart, so entering and
     * leaving samples and the results go through tiles of 32 x 32 in shared memory (33 wide,
     * against bank conflicts), which are read and written along x. A block is one warp, because
     * warps share nothing. Columns need no tile; 128 threads a block.
     *
     * Floats are summed in double. NaN and infinities are counted beside the sum, so that they
     * leave with their window. Along z the first slice of a run depends on the slab, and with it
     * the last bits of a float sum. Floats are therefore cut along z into blocks of a window's
     * length at places fixed by the volume: a window is the end of one block plus the start of the
     * next (M. van Herk, 1992, for maxima). */

    template <typename IN, typename SUM, typename OUT>
    static __global__ void __launch_bounds__(BOX_RUN_TILE)
        run_rows(const IN *in, OUT *out, struct box_sizes sizes, IN outside, struct box_mean mean)
{
    __shared__ IN entering[BOX_RUN_TILE][BOX_RUN_TILE + 1], leaving[BOX_RUN_TILE][BOX_RUN_TILE + 1];
    __shared__ OUT results[BOX_RUN_TILE][BOX_RUN_TILE + 1];
    const int lane = threadIdx.x, radius = sizes.radius, window_size = 2 * radius + 1;
    const int64_t first = (int64_t)blockIdx.x * BOX_RUN_TILE, left = sizes.nz * sizes.ny - first,
                  nx = sizes.nx;
    const int rows = left < BOX_RUN_TILE ? (int)left : BOX_RUN_TILE;
    in += first * nx;
    out += first * nx;
    struct box_running<SUM> window;
    box_start(&window);
    for (int64_t k = -radius; k < nx + radius; k += BOX_RUN_TILE) {
        const int64_t enters =
            k + lane < nx + radius ? ts_cuda_border_index(k + lane, nx, sizes.border) : -1;
        const int64_t gone = k + lane - window_size;
        const int64_t leaves =
            gone >= -radius && gone < nx ? ts_cuda_border_index(gone, nx, sizes.border) : -1;
        for (int i = 0; i < rows; i++) {
            entering[i][lane] = enters < 0 ? outside : in[i * nx + enters];
            leaving[i][lane] = leaves < 0 ? outside : in[i * nx + leaves];
        }
        __syncwarp();
        for (int j = 0; j < BOX_RUN_TILE && lane < rows; j++) {
            box_slide(&window, entering[lane][j], false);
            if (k + j - window_size >= -radius)
                box_slide(&window, leaving[lane][j], true);
            box_finish<false>(&results[lane][j], box_value(window), mean);
        }
        __syncwarp();
        const int64_t x = k - radius + lane;
        for (int i = 0; i < rows && x >= 0 && x < nx; i++)
            out[i * nx + x] = results[i][lane];
        __syncwarp();
    }
}

/* Sums floats along z. For the block of a window's length that ends before slice `cut`, the sums
 * from each slice to the block's end are put into out; then the sums from the start of the next
 * block are added. z_first is the index in the volume of output slice 0. */
static __global__ void __launch_bounds__(BOX_COLUMN_THREADS)
    run_blocks(const float *in, float *out, struct box_sizes sizes, int64_t z_first,
               struct box_mean mean)
{
    const int64_t thread = (int64_t)blockIdx.x * BOX_COLUMN_THREADS + threadIdx.x,
                  slice = sizes.ny * sizes.nx;
    if (thread >= slice)
        return;
    const int64_t window = 2 * sizes.radius + 1;
    in += thread;
    out += thread;
    /* Window k is in[k .. k + window - 1]; cuts are where z_first + k is a multiple of the
     * window. */
    for (int64_t cut = (window - z_first % window) % window; cut - window < sizes.nz;
         cut += window) {
        const int64_t first = cut - window < 0 ? 0 : cut - window;
        double sum = 0;
        for (int64_t k = cut - 1; k >= first; k--) {
            sum += (double)in[k * slice];
            if (k < sizes.nz)
                out[k * slice] = (float)(sum * mean.scale);
        }
        sum = 0;
        for (int64_t k = first; k < cut && k < sizes.nz; k++) {
            const int64_t end = k + window;
            for (int64_t i = k == first ? cut : end - 1; i < end; i++)
                sum += (double)in[i * slice];
            out[k * slice] = (float)((double)out[k * slice] + (sum * mean.scale));
        }
    }
}

template <typename T, typename BETWEEN, typename SUM>
static void run_along_z(const struct box_launch *launch, BETWEEN *slices, struct box_mean line)
{
    const unsigned blocks =
        (unsigned)ts_cuda_parts(launch->sizes.ny * launch->sizes.nx, BOX_COLUMN_THREADS);
    if constexpr (sizeof(BETWEEN) == sizeof(SUM))
        box_run_columns<T, SUM, BETWEEN, false, true>
            <<<blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>((const T *)launch->in, slices,
                                                                launch->sizes, (T)0, line);
    else
        run_blocks<<<blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>(
            (const float *)launch->in, slices, launch->sizes, launch->z_first, line);
}

template <typename T, typename SUM> static enum ts_status run(const struct box_launch *launch)
{
    typedef box_between<T, SUM> BETWEEN;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_passes<T, SUM> passes = box_passes_of<T, SUM>(launch);
    const unsigned row_blocks = (unsigned)ts_cuda_parts(sizes.nz * sizes.ny, BOX_RUN_TILE);
    const unsigned column_blocks = (unsigned)ts_cuda_parts(sizes.nz * sizes.nx, BOX_COLUMN_THREADS);
    if (sizes.reach) {
        run_along_z<T, BETWEEN, SUM>(launch, passes.slices, passes.line);
        run_rows<BETWEEN, SUM, BETWEEN><<<row_blocks, BOX_RUN_TILE, 0, launch->stream>>>(
            passes.slices, passes.rows, sizes, passes.outside_rows, passes.line);
    } else {
        run_rows<T, SUM, BETWEEN><<<row_blocks, BOX_RUN_TILE, 0, launch->stream>>>(
            (const T *)launch->in, passes.rows, sizes, (T)params->constant, passes.line);
    }
    box_run_columns<BETWEEN, SUM, T, true, false>
        <<<column_blocks, BOX_COLUMN_THREADS, 0, launch->stream>>>(
            passes.rows, (T *)launch->out, sizes, passes.outside_columns, passes.last);
    return ts_cuda_launched(launch->context, "box_run_columns");
}
static BOX_LAUNCHER(launch_box_running, run)

    static struct box_launch describe(const struct stage_context *context, int64_t n)
{
    const struct box_params *params = (const struct box_params *)context->params;
    const bool volume = params->dimensions == BOX_3D;
    const double window = 2.0 * (double)params->radius + 1,
                 count = window * window * (volume ? window : 1);
    struct box_launch launch = {context};
    launch.sizes = {n,
                    context->in.axes[1].n,
                    context->in.axes[2].n,
                    (int)params->radius,
                    volume ? (int)params->radius : 0,
                    params->border};
    launch.mean = box_mean_of(count);
    launch.wide =
        context->in.dtype != TS_F32 && ts_box_between_bytes(context->in.dtype, count) == 8;
    return launch;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct box_params *params = (const struct box_params *)context->params;
    const struct box_launch launch = describe(context, n);
    const size_t bytes = ts_cuda_stride(box_between_bytes(&launch));
    if (context->in.masked)
        return ts_cuda_masked_means_bytes(context, n);
    if (params->method == BOX_SEPARABLE || params->method == BOX_RUNNING_SUM ||
        params->method == BOX_TEXTURE)
        return params->dimensions == BOX_3D ? 2 * bytes : bytes;
    return 0;
}

struct box_launch ts_cuda_box_launch(const struct stage_context *context, const struct ts_image *in,
                                     const struct ts_image *out, const struct cuda_call *call)
{
    struct box_launch launch = describe(context, out->axes[0].n);
    launch.in = in->data;
    launch.out = out->data;
    launch.z_first = out->z_first;
    launch.scratch = (char *)call->scratch;
    launch.stream = call->stream;
    launch.textures = call->textures;
    launch.n_textures = call->n_textures;
    return launch;
}

static enum ts_status box_map(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, const struct cuda_call *call)
{
    const struct box_params *params = (const struct box_params *)context->params;
    const struct box_launch launch = ts_cuda_box_launch(context, in, out, call);
    if (context->in.masked) {
        const struct masked_window window = ts_box_masked_window(context);
        return ts_cuda_masked_means(context, &window, in, out, call);
    }
    switch (params->method) {
    case BOX_DIRECT:
        return ts_cuda_box_direct(&launch);
    case BOX_UNROLLED:
        return launch_box_unrolled(&launch);
    case BOX_SEPARABLE:
        return launch_box_separable(&launch);
    case BOX_TILE:
        return launch_box_tile(&launch);
    case BOX_FUSED:
        return ts_cuda_box_fused(&launch);
    case BOX_TEXTURE:
        return launch_box_texture(&launch);
    default:
        return launch_box_running(&launch);
    }
}

static bool textures(const struct stage_context *context)
{
    return ((const struct box_params *)context->params)->method == BOX_TEXTURE &&
           !context->in.masked;
}

extern "C" {
const struct stage_cuda box_cuda = {
    .scratch_bytes = scratch_bytes, .map = box_map, .textures = textures};
}
