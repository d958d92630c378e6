/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier on the device: the sums of stages/reconstruction/polar_grid.h, for 16 slices at a time as 8 pairs, of which a
 * slice is the real part and its neighbor the imaginary part. (z, view, detector) -> (z, y, x), through these kernels
 * and two transforms of cuFFT:
 *
 *     load_rows   one thread loads a sample of a padded row: the dtype's bytes are read, 8 written a pair of samples
 *     (transform of every row)
 *     make_points one thread takes a frequency of a row's transform and its negative, of a pair, and those where the
 *                 spectrum repeats itself, times response, weight and phase; 16 bytes are read, 16 written, 32 with the
 *                 repetition. Afterwards pairs lie side by side and views are sorted by direction
 *     gather      one thread sums a place of the grid, of all pairs: for each view that passes within the kernel's
 * reach, the few frequencies there. A place near the grid's middle meets all views: there 16 threads share one place,
 * each takes every 16th view, and their sums are added in order. 8 bytes are written a place and pair; points come from
 * the caches, about 6 for each view that passes (transform of the grid) crop        one thread writes a pixel of a
 * pair: 8 bytes are read, 8 written
 *
 * Blocks are 256 threads. Those of gather are 16 x 16 places (4 x 4 in the middle), a warp 8 x 4, which pass nearly the
 * same points. The sum at a place runs over views by rising direction, then frequencies: the same for every slab.
 */
#include "cuda/reconstruction/fourier_gather.cuh"

#include "cuda/values/slice_maximum.cuh"

extern "C" {
#include "core/memory.h"
#include "stages/reconstruction/fourier.h"
#include "stages/values/finite_values.h"
}

enum {
    TILE = 16,      /* a block fills 16 x 16 places of the grid, */
    INNER_TILE = 4, /* but 4 x 4 near the grid's middle, where points are dense */
    PARTS = 16,     /* threads that share a place there */
    MOST_BLOCKS = 1 << 30,
    GRID_BYTES = 1280 << 20 /* memory for grids where several pairs of slices are in work at once */
};

/* ---- tables ---------------------------------------------------------------------------------------------------- */

struct tables {
    struct direction *directions;
    int32_t *below; /* number of directions below each of ANGLES angles (fourier_gather.cuh) */
    float *response, *row_factors, *column_factors;
    struct polar_view *views; /* views and scratch are used on the host alone, to work the others out */
    void *scratch;
};

static struct tables lay_out(const struct polar_grid *grid, struct memory_layout *layout)
{
    struct tables tables;
    tables.directions = (struct direction *)ts_layout_add(layout, (size_t)grid->n_views * sizeof(struct direction));
    tables.response = (float *)ts_layout_add(layout, (size_t)(grid->padded + 2) * sizeof(double));
    tables.row_factors = (float *)ts_layout_add(layout, (size_t)grid->n_rows * sizeof(float));
    tables.column_factors = (float *)ts_layout_add(layout, (size_t)grid->n_columns * sizeof(float));
    tables.below = (int32_t *)ts_layout_add(layout, (ANGLES + 1) * sizeof(int32_t));
    tables.scratch = ts_layout_add(layout, (size_t)grid->n_views * POLAR_VIEW_SCRATCH_BYTES);
    tables.views = (struct polar_view *)ts_layout_add(layout, (size_t)grid->n_views * sizeof(struct polar_view));
    return tables;
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {NULL, CUDA_ALIGNMENT, 0};
    lay_out(&grid, &layout);
    return layout.bytes;
}

static int by_direction(const void *a, const void *b)
{
    const struct direction *left = (const struct direction *)a, *right = (const struct direction *)b;
    if (left->angle != right->angle)
        return left->angle < right->angle ? -1 : 1;
    return left->view < right->view ? -1 : 1;
}

static struct direction direction_of(const struct polar_view *view, int64_t index)
{
    struct direction to;
    memset(&to, 0, sizeof to);
    const double angle = atan2(view->per_row, view->per_column);
    to.column = (float)view->per_column;
    to.column_rest = (float)(view->per_column - to.column);
    to.row = (float)view->per_row;
    to.row_rest = (float)(view->per_row - to.row);
    to.shift = view->shift;
    to.weight = view->weight;
    to.angle = (float)(angle < 0 ? angle + M_PI : angle);
    to.view = (int32_t)index;
    return to;
}

static void count_below(const struct direction *directions, int64_t n, int32_t *below)
{
    int64_t v = 0;
    for (int i = 0; i < ANGLES; i++) {
        while (v < n && directions[v].angle < M_PI * i / ANGLES)
            v++;
        below[i] = (int32_t)v;
    }
    below[ANGLES] = (int32_t)n;
}

static void constants(const struct stage_context *context, void *host)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {host, CUDA_ALIGNMENT, 0};
    const struct tables tables = lay_out(&grid, &layout);
    ts_fourier_views(context, tables.views, tables.scratch);
    for (int64_t v = 0; v < grid.n_views; v++)
        tables.directions[v] = direction_of(&tables.views[v], v);
    qsort(tables.directions, (size_t)grid.n_views, sizeof *tables.directions, by_direction);
    count_below(tables.directions, grid.n_views, tables.below);
    ts_fourier_response(context, (double *)tables.response);
    for (int64_t k = 0; k <= grid.most; k++) { /* in place: index k is read before it is written over */
        double value;
        memcpy(&value, (char *)tables.response + k * (int64_t)sizeof value, sizeof value);
        const float rounded = (float)value;
        memcpy(&tables.response[k], &rounded, sizeof rounded);
    }
    ts_polar_apodization(grid.n_rows, grid.grid_rows, tables.row_factors);
    ts_polar_apodization(grid.n_columns, grid.grid_columns, tables.column_factors);
}

/* ---- rows to points -------------------------------------------------------------------------------------------- */

/* Slices 2 pair and 2 pair + 1 counted from `first`, in the image with its halo; those outside it are 0. */
struct batch {
    int64_t first, n_slices; /* slice of `in` that the first pair starts with, which may be -1; slices of `in` */
    int pairs;
};

/* grid: parts of a row, rows of all pairs (any number). */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    load_rows(const T *in, const uint32_t *maxima, struct polar_grid grid, struct batch batch, float2 *rows)
{
    const int64_t sample = blockIdx.x * (int64_t)THREADS + threadIdx.x, n = batch.pairs * grid.n_views;
    for (int64_t row = blockIdx.y; sample < grid.padded && row < n; row += gridDim.y) {
        const int64_t view = row % grid.n_views, pair = row / grid.n_views;
        float value[2] = {0, 0};
        for (int part = 0; part < 2; part++) {
            const int64_t slice = batch.first + 2 * pair + part;
            if (sample < grid.n_detectors && slice >= 0 && slice < batch.n_slices &&
                maxima[slice] < SLICE_MAXIMUM_NOT_FINITE) {
                const float2 scale = ts_cuda_slice_maximum_scale(maxima[slice], 0, 1);
                value[part] = (float)in[(slice * grid.n_views + view) * grid.n_detectors + sample] * scale.x * scale.y;
            }
        }
        rows[row * grid.padded + sample] = make_float2(value[0], value[1]);
    }
}

/* Returns response times weight and phase of one frequency. */
static __device__ __forceinline__ float2 factor_of(const struct direction *at, const float *response, int64_t k)
{
    const double turns = (double)k * at->shift;
    const float factor = (float)(response[k] * at->weight);
    float2 to;
    sincospif((float)(2 * (turns - floor(turns))), &to.y, &to.x);
    return make_float2(to.x * factor, to.y * factor);
}

static __device__ __forceinline__ float2 times(float2 a, float2 b)
{
    return make_float2(a.x * b.x - a.y * b.y, a.y * b.x + a.x * b.y);
}

static __device__ __forceinline__ float2 times_conjugate(float2 a, float2 b)
{
    return make_float2(a.x * b.x + a.y * b.y, a.y * b.x - a.x * b.y);
}

/* points[direction][k + most][pair]; one thread an index k of a pair, 0 <= k <= padded / 2, and padded - k. A block's
 * first threads work out the factors for all. grid: parts of k, directions (any number). */
template <int PAIRS>
static __global__ void __launch_bounds__(THREADS)
    make_points(const float2 *rows, struct polar_grid grid, const struct direction *directions, const float *response,
                float2 *points)
{
    const int span = THREADS / PAIRS, pair = (int)threadIdx.x % PAIRS, own = (int)threadIdx.x / PAIRS;
    __shared__ float2 factors[2][THREADS / PAIRS];
    const int64_t first = blockIdx.x * (int64_t)span, k = first + own, other = grid.padded - k;
    const bool once = k <= other && k <= grid.most, again = k < other && other <= grid.most;
    for (int64_t d = blockIdx.y; d < grid.n_views; d += gridDim.y) {
        const struct direction *at = &directions[d];
        const float2 *row = rows + (pair * grid.n_views + at->view) * grid.padded;
        float2 *to = points + (d * (2 * grid.most + 1) + grid.most) * PAIRS + pair, up, down;
        if (once || again)
            up = row[k], down = row[k ? other : 0];
        for (int i = (int)threadIdx.x; i < 2 * span; i += THREADS) {
            const int64_t near = first + i % span, frequency = i < span ? near : grid.padded - near;
            if (frequency >= 0 && frequency <= grid.most)
                factors[i / span][i % span] = factor_of(at, response, frequency);
        }
        __syncthreads();
        if (once) {
            to[k * PAIRS] = times(up, factors[0][own]);
            to[-k * PAIRS] = times_conjugate(down, factors[0][own]);
        }
        if (again) {
            to[other * PAIRS] = times(down, factors[1][own]);
            to[-other * PAIRS] = times_conjugate(up, factors[1][own]);
        }
        __syncthreads();
    }
}

/* ---- places to pixels ------------------------------------------------------------------------------------------ */

/* out_first: slice of `out` that the batch's first slice is. */
static __global__ void __launch_bounds__(THREADS)
    crop(const float2 *places, struct polar_grid grid, struct batch batch, const uint32_t *maxima,
         const float *row_factors, const float *column_factors, int64_t out_first, int64_t n_out, float *out)
{
    const int64_t pixels = grid.n_rows * grid.n_columns, n = batch.pairs * pixels;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += gridDim.x * (int64_t)THREADS) {
        const int64_t column = i % grid.n_columns, row = i / grid.n_columns % grid.n_rows, pair = i / pixels;
        const int64_t y = row - grid.n_rows / 2, x = column - grid.n_columns / 2;
        const float2 value = places[(pair * grid.grid_rows + (y < 0 ? y + grid.grid_rows : y)) * grid.grid_columns +
                                    (x < 0 ? x + grid.grid_columns : x)];
        const float factor = row_factors[row] * column_factors[column];
        for (int part = 0; part < 2; part++) {
            const int64_t slice = batch.first + 2 * pair + part, to = out_first + 2 * pair + part;
            if (to < 0 || to >= n_out)
                continue;
            const float2 back = ts_cuda_slice_maximum_scale(maxima[slice], 0, -1);
            const float is = (part ? value.y : value.x) * factor * back.x * back.y;
            out[to * pixels + i % pixels] = maxima[slice] < SLICE_MAXIMUM_NOT_FINITE ? is : NAN;
        }
    }
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

/* Returns the pairs of a batch. The whole volume decides, so that the number does not depend on the slabs. */
static int pairs_of(const struct stage_context *context, const struct polar_grid *grid)
{
    const int64_t pairs = (context->in.axes[0].n + 1) / 2,
                  bytes = grid->grid_rows * grid->grid_columns * (int64_t)sizeof(float2);
    return pairs >= 5 && 8 * bytes <= GRID_BYTES   ? 8
           : pairs >= 3 && 4 * bytes <= GRID_BYTES ? 4
           : pairs >= 2 && 2 * bytes <= GRID_BYTES ? 2
                                                   : 1;
}

static int transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct polar_grid grid = ts_fourier_grid(context);
    const int pairs = pairs_of(context, &grid);
    memset(shapes, 0, 2 * sizeof *shapes);
    shapes[0].rank = 1;
    shapes[0].n[0] = grid.padded;
    shapes[0].batch = pairs * grid.n_views;
    shapes[1].rank = 2;
    shapes[1].n[0] = grid.grid_rows;
    shapes[1].n[1] = grid.grid_columns;
    shapes[1].batch = pairs;
    return 2;
}

struct scratch {
    uint32_t *maxima;
    float2 *points, *rows; /* rows and, after them, the grid's places */
};

static struct scratch lay_out_scratch(const struct stage_context *context, int64_t n, struct memory_layout *layout)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    const int64_t rows = grid.n_views * grid.padded, places = grid.grid_rows * grid.grid_columns,
                  points = grid.n_views * (2 * grid.most + 1);
    const size_t pairs = (size_t)pairs_of(context, &grid) * sizeof(float2);
    struct scratch scratch;
    scratch.maxima = (uint32_t *)ts_layout_add(layout, (size_t)(n + 2) * sizeof(uint32_t));
    scratch.points = (float2 *)ts_layout_add(layout, (size_t)points * pairs);
    scratch.rows = (float2 *)ts_layout_add(layout, (size_t)(rows > places ? rows : places) * pairs);
    return scratch;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {NULL, CUDA_ALIGNMENT, 0};
    lay_out_scratch(context, n, &layout);
    return layout.bytes;
}

static unsigned blocks_for(int64_t n)
{
    const int64_t blocks = ts_cuda_parts(n, THREADS);
    return (unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

static struct gathering gathering_of(const struct stage_context *context, const struct polar_grid *grid)
{
    const struct reconstruction_params *params = (const struct reconstruction_params *)context->params;
    const struct ts_axis *detector = &context->in.axes[2];
    const double spacing = ts_axis_spacing(detector);
    struct gathering size = {(int)grid->grid_rows, (int)grid->grid_columns, (int)grid->most};
    const double reach = (double)grid->most / (double)grid->padded; /* cycles a detector pixel */
    size.most_x = (float)(reach * (double)grid->grid_columns * params->pixel_size / spacing);
    size.most_y = (float)(reach * (double)grid->grid_rows * params->row_spacing / spacing);
    for (int i = 0; i < GRID_TERMS; i++)
        size.kernel.terms[i] = (float)ts_polar_kernel[i];
    return size;
}

template <int PAIRS>
static enum ts_status grid_points(const struct stage_context *context, const struct polar_grid *grid,
                                  const struct tables *tables, const struct scratch *scratch, cudaStream_t stream)
{
    const struct gathering size = gathering_of(context, grid);
    const struct directions directions = {tables->directions, tables->below, (int)grid->n_views};
    const unsigned across = 2 * (unsigned)ts_cuda_parts(size.columns / 2, TILE),
                   down = 2 * (unsigned)ts_cuda_parts(size.rows / 2, TILE);
    const int64_t inner_columns = size.columns / 2 < INNER ? size.columns / 2 : INNER,
                  inner_rows = size.rows / 2 < INNER ? size.rows / 2 : INNER;
    const dim3 rows((unsigned)ts_cuda_parts(grid->padded / 2 + 1, THREADS / PAIRS),
                    (unsigned)(grid->n_views < 65535 ? grid->n_views : 65535));
    const dim3 inner(2 * (unsigned)ts_cuda_parts(inner_columns, INNER_TILE),
                     2 * (unsigned)ts_cuda_parts(inner_rows, INNER_TILE));
    make_points<PAIRS>
        <<<rows, THREADS, 0, stream>>>(scratch->rows, *grid, tables->directions, tables->response, scratch->points);
    enum ts_status status = ts_cuda_launched(context, "make_points");
    if (status != TS_OK)
        return status;
    gather<PAIRS, INNER_TILE, PARTS><<<inner, THREADS, 0, stream>>>(directions, scratch->points, size, scratch->rows);
    status = ts_cuda_launched(context, "gather");
    if (status != TS_OK)
        return status;
    gather<PAIRS, TILE, 1>
        <<<dim3(across, down), THREADS, 0, stream>>>(directions, scratch->points, size, scratch->rows);
    return ts_cuda_launched(context, "gather");
}

static enum ts_status reconstruct(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                  struct batch batch, const struct scratch *scratch, const struct cuda_call *call)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {(void *)call->constants, CUDA_ALIGNMENT, 0};
    const struct tables tables = lay_out(&grid, &layout);
    const int64_t rows = batch.pairs * grid.n_views;
    const dim3 blocks((unsigned)ts_cuda_parts(grid.padded, THREADS), (unsigned)(rows < 65535 ? rows : 65535));
#define LAUNCH(T)                                                                                                      \
    load_rows<T><<<blocks, THREADS, 0, call->stream>>>((const T *)in->data, scratch->maxima, grid, batch, scratch->rows)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    enum ts_status status = ts_cuda_launched(context, "load_rows");
    if (status == TS_OK)
        status = ts_cuda_fft_forward(context, call->transforms[0], (float *)scratch->rows, (float *)scratch->rows);
    if (status == TS_OK)
        status = batch.pairs == 8   ? grid_points<8>(context, &grid, &tables, scratch, call->stream)
                 : batch.pairs == 4 ? grid_points<4>(context, &grid, &tables, scratch, call->stream)
                 : batch.pairs == 2 ? grid_points<2>(context, &grid, &tables, scratch, call->stream)
                                    : grid_points<1>(context, &grid, &tables, scratch, call->stream);
    if (status == TS_OK)
        status = ts_cuda_fft_inverse(context, call->transforms[1], (float *)scratch->rows, (float *)scratch->rows);
    if (status != TS_OK)
        return status;
    crop<<<blocks_for(batch.pairs * grid.n_rows * grid.n_columns), THREADS, 0, call->stream>>>(
        scratch->rows, grid, batch, scratch->maxima, tables.row_factors, tables.column_factors, batch.first - 1,
        out->axes[0].n, (float *)out->data);
    return ts_cuda_launched(context, "crop");
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    const int64_t n = out->axes[0].n;
    struct memory_layout layout = {call->scratch, CUDA_ALIGNMENT, 0};
    const struct scratch scratch = lay_out_scratch(context, n, &layout);
    /* `in` begins one slice before `out`; a pair begins at an even slice of the volume. */
    struct batch batch = {1 - out->z_first % 2, n + 2, pairs_of(context, &grid)};
    enum ts_status status = ts_cuda_slice_maxima(context, in, scratch.maxima, call->stream);
    for (; status == TS_OK && batch.first - 1 < n; batch.first += 2 * batch.pairs)
        status = reconstruct(context, in, out, batch, &scratch, call);
    return status;
}

static int64_t least_slices(const struct stage_context *context)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    return 2 * pairs_of(context, &grid);
}

const struct stage_cuda fourier_cuda = {
    .constants_bytes = constants_bytes,
    .constants = constants,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .reduction = &ts_cuda_finite_reduction,
    .least_slices = least_slices,
    .transforms = transforms,
};
