/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier on the device: the sums of stages/reconstruction/fourier.h, for 16 slices at a time as 8
 * pairs, of which a slice is the real part and its neighbor the imaginary part. (z, view, detector)
 * -> (z, y, x), through these kernels and two transforms of cuFFT:
 *
 *     load_rows   one thread loads a sample of a padded row: the dtype's bytes are read, 8 written
 *                 a pair of samples
 *     (transform of every row)
 *     make_points one thread takes a frequency of a row's transform and its negative, of a pair,
 *                 and those where the spectrum repeats itself, times response, weight and phase; 16
 *                 bytes are read, 16 written, 32 with the repetition. Afterwards pairs lie side by
 *                 side and views are sorted by direction
 *     gather      one thread sums a place of the grid, of all pairs: for each view that passes
 *                 within the kernel's reach, the few frequencies there. A place near the grid's
 *                 middle meets all views: there 16 threads share one place, each takes every 16th
 *                 view, and their sums are added in order. 8 bytes are written a place and pair;
 *                 points come from the caches, about 6 for each view that passes
 *     (transform of the grid)
 *     crop        one thread writes a pixel of a pair: 8 bytes are read, 8 written
 *
 * Blocks are 256 threads. Those of gather are 16 x 16 places (4 x 4 in the middle), a warp 8 x 4,
 * which pass nearly the same points. The sum at a place runs over views by rising direction, then
 * frequencies: the same for every slab.
 */
#include "cuda/device/launch.cuh"
#include "cuda/values/slice_maximum.cuh"

extern "C" {
#include "core/memory.h"
#include "stages/reconstruction/fourier.h"
#include "stages/values/finite_values.h"
}

/* ---- fourier gather ----------------------------------------------------------------------------
 *
 * This is the kernel of fourier that adds the points of a polar grid to the places of a rectangular
 * one around them (stages/reconstruction/fourier.h): each place gathers the points that reach it,
 * views by rising direction, then frequencies. What one thread computes, its traffic and its block:
 * cuda/reconstruction/fourier.cu. */

enum {
    THREADS = 256,
    INNER = 64,    /* places closer to the middle than this are shared by several threads */
    ANGLES = 4096, /* half a turn has this many parts; for each, the number of directions below it
                    * is known */
    WARP_SIDE = 8  /* a warp takes this many places along x if its tile is at least as wide */
};

/* One view, as a direction on the grid with an angle in [0, pi). A step is the sum of two floats,
 * so that its product with a frequency is exact enough even at the grid's end. */
struct __align__(16) direction
{
    float column, column_rest, row,
        row_rest; /* step in places of the grid from one frequency to the next */
    double shift, weight;
    float angle;
    int32_t view;
};

/* below[i] is how many of the n directions have an angle under pi i / ANGLES, for i = 0 ..
 * ANGLES. */
struct directions {
    const struct direction *at;
    const int32_t *below;
    int n;
};

/* Returns the first direction whose angle is at least `angle`, which is not negative. */
static __device__ __forceinline__ int first_from(const struct directions *directions, float angle)
{
    const int part = min((int)(angle * (ANGLES / 3.14159265f)), ANGLES - 1);
    int low = directions->below[max(part - 1, 0)], high = directions->below[min(part + 2, ANGLES)];
    while (low < high) {
        const int middle = (low + high) / 2;
        if (directions->at[middle].angle < angle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the directions [first[i], end[i]), i = 0, 1, that may come within `reach` of the square of
 * places from (x, y) to (x + side - 1, y + side - 1). */
static __device__ __forceinline__ void passing(const struct directions *directions, float x,
                                               float y, int side, int first[2], int end[2])
{
    const float pi = 3.14159265f, reach = 0.5f * GRID_TAPS + 0.5f * (float)(side - 1) + 0.01f;
    const float center_x = x + 0.5f * (float)(side - 1), center_y = y + 0.5f * (float)(side - 1);
    first[0] = 0, end[0] = directions->n, first[1] = end[1] = 0;
    if (fabsf(center_x) <= reach && fabsf(center_y) <= reach)
        return; /* the middle is inside: all directions pass */
    /* Seen from the middle, the square is within the circle around it. */
    const float distance = sqrtf(center_x * center_x + center_y * center_y),
                radius = reach * 1.41421357f;
    if (distance <= radius)
        return;
    const float width = asinf(radius / distance) + 1e-4f, angle = atan2f(center_y, center_x);
    float low = angle - width, high = angle + width;
    if (high - low >= pi)
        return;
    low += low < 0 ? pi : low >= pi ? -pi : 0;
    low += low < 0 ? pi : 0;
    high = low + 2 * width;
    first[0] = first_from(directions, low);
    end[0] = first_from(directions, high);
    if (high >= pi)
        end[1] = first_from(directions, high - pi);
}

static const float MARGIN = 0.5f * GRID_TAPS + 0.1f; /* reach of the kernel and a little more */

struct kernel {
    float terms[GRID_TERMS];
};

static __device__ __forceinline__ float kernel_at(const struct kernel *kernel, float u)
{
    float value = kernel->terms[GRID_TERMS - 1];
#pragma unroll
    for (int i = GRID_TERMS - 2; i >= 0; i--)
        value = __fmaf_rn(value, u, kernel->terms[i]);
    return value;
}

/* Adds the points of one view that reach the place (x, y). */
template <int PAIRS>
static __device__ __forceinline__ void add_view(const struct direction *at, const float2 *points,
                                                int most, float x, float y,
                                                const struct kernel *kernel, float2 sums[PAIRS])
{
    const float4 step = *(const float4 *)at; /* column, its rest, row, its rest */
    const float reach = 0.5f * GRID_TAPS, square = 4.0f / (GRID_TAPS * GRID_TAPS);
    if (fabsf(x * step.z - y * step.x) > 1.001f * reach * (fabsf(step.x) + fabsf(step.z)))
        return;
    const bool along = fabsf(step.x) >= fabsf(step.z);
    const float major = along ? step.x : step.z, place = along ? x : y;
    const float inverse = 1 / major, a = (place - reach) * inverse, b = (place + reach) * inverse;
    /* Points just outside have weight 0, see below. */
    const int low = max(-most, (int)fmaxf(ceilf(fminf(a, b) - 0.01f), (float)-most));
    const int high = min(most, (int)fminf(floorf(fmaxf(a, b) + 0.01f), (float)most));
    for (int k = low; k <= high; k++) {
        const float minus = (float)-k;
        const float dx = __fmaf_rn(minus, step.y, __fmaf_rn(minus, step.x, x));
        const float dy = __fmaf_rn(minus, step.w, __fmaf_rn(minus, step.z, y));
        const float u = __fmaf_rn(-square * dx, dx, 1), v = __fmaf_rn(-square * dy, dy, 1);
        if (u <= 0 || v <= 0)
            continue;
        const float weight = kernel_at(kernel, u) * kernel_at(kernel, v);
        const float2 *point = points + (most + k) * (int64_t)PAIRS;
        enum { STEP = PAIRS > 1 ? 2 : 1 };
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair += STEP) {
            if (PAIRS > 1) {
                const float4 two = __ldg((const float4 *)(point + pair));
                sums[pair].x = __fmaf_rn(weight, two.x, sums[pair].x);
                sums[pair].y = __fmaf_rn(weight, two.y, sums[pair].y);
                sums[pair + (PAIRS > 1)].x = __fmaf_rn(weight, two.z, sums[pair + (PAIRS > 1)].x);
                sums[pair + (PAIRS > 1)].y = __fmaf_rn(weight, two.w, sums[pair + (PAIRS > 1)].y);
            } else {
                const float2 one = __ldg(point);
                sums[0].x = __fmaf_rn(weight, one.x, sums[0].x);
                sums[0].y = __fmaf_rn(weight, one.y, sums[0].y);
            }
        }
    }
}

/* The grid's sides, the distance of its farthest points, and the kernel. */
struct gathering {
    int rows, columns, most;
    float most_x, most_y; /* half axes of the ellipse on which the farthest points are */
    struct kernel kernel;
};

/* Returns true if no point reaches the square of places from (x, y) to (x + side - 1, y + side -
 * 1). */
static __device__ __forceinline__ bool is_beyond(const struct gathering *size, float x, float y,
                                                 int side)
{
    const float half = 0.5f * (float)(side - 1), reach = half + MARGIN;
    const float near_x = fmaxf(fabsf(x + half) - reach, 0) / size->most_x,
                near_y = fmaxf(fabsf(y + half) - reach, 0) / size->most_y;
    return near_x * near_x + near_y * near_y > 1.001f;
}

/* Returns the start of tile i along one side: 0, -SIDE, SIDE, -2 SIDE, ... */
static __device__ __forceinline__ int tile_start(int i, int side)
{
    return i % 2 ? -(i + 1) / 2 * side : i / 2 * side;
}

/* The grid counts tiles along columns and along rows, starting in the middle. SHARE threads share a
 * place; with SHARE 1 the middle is left out. */
template <int PAIRS, int SIDE, int SHARE>
static __global__ void __launch_bounds__(THREADS)
    gather(struct directions directions, const float2 *points, struct gathering size,
           float2 *places)
{
    __shared__ float2 partial[SHARE > 1 ? PAIRS * THREADS : 1];
    const int x_first = tile_start((int)blockIdx.x, SIDE),
              y_first = tile_start((int)blockIdx.y, SIDE);
    const int own = (int)threadIdx.x % (SIDE * SIDE), share = (int)threadIdx.x / (SIDE * SIDE);
    /* A warp's places are about as many along x as along y, so that most views, whatever their
     * direction, pass near all or none of them. */
    const int wide = SIDE < WARP_SIDE ? SIDE : WARP_SIDE, strip = own / (wide * SIDE),
              rest = own % (wide * SIDE);
    const int x = x_first + strip * wide + rest % wide, y = y_first + rest / wide;
    if (SHARE == 1 && x_first >= -INNER && x_first < INNER && y_first >= -INNER && y_first < INNER)
        return;
    const int last_x = x_first + SIDE - 1, last_y = y_first + SIDE - 1;
    float2 sums[PAIRS] = {};
    /* The grid is periodic: points may reach past its sides. */
    const float far_x = size.most_x + MARGIN, far_y = size.most_y + MARGIN;
    const int left = (int)ceilf((-far_x - (float)last_x) / (float)size.columns),
              right = (int)floorf((far_x - (float)x_first) / (float)size.columns);
    const int above = (int)ceilf((-far_y - (float)last_y) / (float)size.rows),
              below = (int)floorf((far_y - (float)y_first) / (float)size.rows);
    for (int i = above; i <= below; i++)
        for (int j = left; j <= right; j++) {
            const float shift_x = (float)(j * size.columns), shift_y = (float)(i * size.rows);
            int first[2], end[2];
            if (is_beyond(&size, (float)x_first + shift_x, (float)y_first + shift_y, SIDE))
                continue;
            passing(&directions, (float)x_first + shift_x, (float)y_first + shift_y, SIDE, first,
                    end);
            for (int range = 0; range < 2; range++)
                for (int d = first[range] + share; d < end[range]; d += SHARE)
                    add_view<PAIRS>(&directions.at[d],
                                    points + (int64_t)d * (2 * size.most + 1) * PAIRS, size.most,
                                    (float)x + shift_x, (float)y + shift_y, &size.kernel, sums);
        }
    if (SHARE > 1) {
#pragma unroll
        for (int pair = 0; pair < PAIRS; pair++)
            partial[pair * THREADS + threadIdx.x] = sums[pair];
        __syncthreads();
        for (int pair = 0; share == 0 && pair < PAIRS; pair++)
            for (int other = 1; other < SHARE; other++) {
                const float2 more = partial[pair * THREADS + other * SIDE * SIDE + own];
                sums[pair].x += more.x;
                sums[pair].y += more.y;
            }
    }
    if (share > 0 || x < -size.columns / 2 || x >= size.columns / 2 || y < -size.rows / 2 ||
        y >= size.rows / 2)
        return;
    const int64_t place =
        (int64_t)(y < 0 ? y + size.rows : y) * size.columns + (x < 0 ? x + size.columns : x);
#pragma unroll
    for (int pair = 0; pair < PAIRS; pair++)
        places[pair * (int64_t)size.rows * size.columns + place] = sums[pair];
}

enum {
    TILE = 16,      /* a block does 16 x 16 places of the grid */
    INNER_TILE = 4, /* but 4 x 4 near the grid's middle, where points are dense */
    PARTS = 16,     /* threads that share a place there */
    MOST_BLOCKS = 1 << 30,
    GRID_BYTES = 1280 << 20 /* memory of the grids if several pairs of slices are in work at once */
};

/* ---- tables ---------------------------------------------------------------------------------- */

struct tables {
    struct direction *directions;
    int32_t *below; /* number of directions below each of ANGLES angles */
    float *response, *row_factors, *column_factors;
    struct polar_view
        *views; /* views and scratch are used only on the host, to compute the others */
    void *scratch;
};

static struct tables lay_out(const struct polar_grid *grid, struct memory_layout *layout)
{
    struct tables tables;
    tables.directions =
        (struct direction *)ts_layout_add(layout, (size_t)grid->n_views * sizeof(struct direction));
    tables.response = (float *)ts_layout_add(layout, (size_t)(grid->padded + 2) * sizeof(double));
    tables.row_factors = (float *)ts_layout_add(layout, (size_t)grid->n_rows * sizeof(float));
    tables.column_factors = (float *)ts_layout_add(layout, (size_t)grid->n_columns * sizeof(float));
    tables.below = (int32_t *)ts_layout_add(layout, (ANGLES + 1) * sizeof(int32_t));
    tables.scratch = ts_layout_add(layout, (size_t)grid->n_views * POLAR_VIEW_SCRATCH_BYTES);
    tables.views = (struct polar_view *)ts_layout_add(layout, (size_t)grid->n_views *
                                                                  sizeof(struct polar_view));
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
    const struct direction *left = (const struct direction *)a,
                           *right = (const struct direction *)b;
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

static void fourier_constants(const struct stage_context *context, void *host)
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
    for (int64_t k = 0; k <= grid.most;
         k++) { /* works in place: index k is read before it is overwritten */
        double value;
        memcpy(&value, (char *)tables.response + k * (int64_t)sizeof value, sizeof value);
        const float rounded = (float)value;
        memcpy(&tables.response[k], &rounded, sizeof rounded);
    }
    ts_polar_apodization(grid.n_rows, grid.grid_rows, tables.row_factors);
    ts_polar_apodization(grid.n_columns, grid.grid_columns, tables.column_factors);
}

/* ---- rows to points -------------------------------------------------------------------------- */

/* Pair p consists of slices 2 p and 2 p + 1, counted from `first`, in the image with its halo;
 * slices outside of it are 0. */
struct batch {
    int64_t first, n_slices; /* slice of `in` with which the first pair starts, which may be -1;
                              * number of slices of `in` */
    int pairs;
};

/* The grid counts parts of a row, and rows of all pairs (any number). */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    load_rows(const T *in, const uint32_t *maxima, struct polar_grid grid, struct batch batch,
              float2 *rows)
{
    const int64_t sample = blockIdx.x * (int64_t)THREADS + threadIdx.x,
                  n = batch.pairs * grid.n_views;
    for (int64_t row = blockIdx.y; sample < grid.padded && row < n; row += gridDim.y) {
        const int64_t view = row % grid.n_views, pair = row / grid.n_views;
        float value[2] = {0, 0};
        for (int part = 0; part < 2; part++) {
            const int64_t slice = batch.first + 2 * pair + part;
            if (sample < grid.n_detectors && slice >= 0 && slice < batch.n_slices &&
                maxima[slice] < SLICE_MAXIMUM_NOT_FINITE) {
                const float2 scale = ts_cuda_slice_maximum_scale(maxima[slice], 0, 1);
                value[part] = (float)in[(slice * grid.n_views + view) * grid.n_detectors + sample] *
                              scale.x * scale.y;
            }
        }
        rows[row * grid.padded + sample] = make_float2(value[0], value[1]);
    }
}

/* Returns the product of response, weight and phase of one frequency. */
static __device__ __forceinline__ float2 factor_of(const struct direction *at,
                                                   const float *response, int64_t k)
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

/* Writes points[direction][k + most][pair]. One thread does index k of a pair, 0 <= k <= padded /
 * 2, and padded - k. A block's first threads compute the factors for all. The grid counts parts of
 * k, and directions (any number). */
template <int PAIRS>
static __global__ void __launch_bounds__(THREADS)
    make_points(const float2 *rows, struct polar_grid grid, const struct direction *directions,
                const float *response, float2 *points)
{
    const int span = THREADS / PAIRS, pair = (int)threadIdx.x % PAIRS,
              own = (int)threadIdx.x / PAIRS;
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

/* ---- places to pixels ------------------------------------------------------------------------ */

/* out_first: the slice of `out` that is the batch's first slice. */
static __global__ void __launch_bounds__(THREADS)
    crop(const float2 *places, struct polar_grid grid, struct batch batch, const uint32_t *maxima,
         const float *row_factors, const float *column_factors, int64_t out_first, int64_t n_out,
         float *out)
{
    const int64_t pixels = grid.n_rows * grid.n_columns, n = batch.pairs * pixels;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n;
         i += gridDim.x * (int64_t)THREADS) {
        const int64_t column = i % grid.n_columns, row = i / grid.n_columns % grid.n_rows,
                      pair = i / pixels;
        const int64_t y = row - grid.n_rows / 2, x = column - grid.n_columns / 2;
        const float2 value =
            places[(pair * grid.grid_rows + (y < 0 ? y + grid.grid_rows : y)) * grid.grid_columns +
                   (x < 0 ? x + grid.grid_columns : x)];
        const float factor = row_factors[row] * column_factors[column];
        for (int part = 0; part < 2; part++) {
            const int64_t slice = batch.first + 2 * pair + part, to = out_first + 2 * pair + part;
            if (to < 0 || to >= n_out)
                continue;
            const float2 scale = ts_cuda_slice_maximum_scale(maxima[slice], 0, -1);
            const float pixel = (part ? value.y : value.x) * factor * scale.x * scale.y;
            out[to * pixels + i % pixels] = maxima[slice] < SLICE_MAXIMUM_NOT_FINITE ? pixel : NAN;
        }
    }
}

/* ---- launching ------------------------------------------------------------------------------- */

/* Returns the pairs of a batch. It depends only on the whole volume, not on the slabs. */
static int pairs_of(const struct stage_context *context, const struct polar_grid *grid)
{
    const int64_t pairs = (context->in.axes[0].n + 1) / 2,
                  bytes = grid->grid_rows * grid->grid_columns * (int64_t)sizeof(float2);
    if (pairs >= 5 && 8 * bytes <= GRID_BYTES)
        return 8;
    if (pairs >= 3 && 4 * bytes <= GRID_BYTES)
        return 4;
    return pairs >= 2 && 2 * bytes <= GRID_BYTES ? 2 : 1;
}

static int transforms(const struct stage_context *context,
                      struct fft_shape shapes[STAGE_TRANSFORMS])
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
    float2 *points, *rows; /* rows; afterwards they hold the grid's places */
};

static struct scratch lay_out_scratch(const struct stage_context *context, int64_t n,
                                      struct memory_layout *layout)
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

static struct gathering gathering_of(const struct stage_context *context,
                                     const struct polar_grid *grid)
{
    const struct reconstruction_params *params =
        (const struct reconstruction_params *)context->params;
    const struct ts_axis *detector = &context->in.axes[2];
    const double spacing = ts_axis_spacing(detector);
    struct gathering size = {(int)grid->grid_rows, (int)grid->grid_columns, (int)grid->most};
    const double reach = (double)grid->most / (double)grid->padded; /* in cycles per detector
                                                                     * pixel */
    size.most_x = (float)(reach * (double)grid->grid_columns * params->pixel_size / spacing);
    size.most_y = (float)(reach * (double)grid->grid_rows * params->row_spacing / spacing);
    for (int i = 0; i < GRID_TERMS; i++)
        size.kernel.terms[i] = (float)ts_polar_kernel[i];
    return size;
}

template <int PAIRS>
static enum ts_status grid_points(const struct stage_context *context,
                                  const struct polar_grid *grid, const struct tables *tables,
                                  const struct scratch *scratch, cudaStream_t stream)
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
    make_points<PAIRS><<<rows, THREADS, 0, stream>>>(scratch->rows, *grid, tables->directions,
                                                     tables->response, scratch->points);
    enum ts_status status = ts_cuda_launched(context, "make_points");
    if (status != TS_OK)
        return status;
    gather<PAIRS, INNER_TILE, PARTS>
        <<<inner, THREADS, 0, stream>>>(directions, scratch->points, size, scratch->rows);
    status = ts_cuda_launched(context, "gather");
    if (status != TS_OK)
        return status;
    gather<PAIRS, TILE, 1><<<dim3(across, down), THREADS, 0, stream>>>(directions, scratch->points,
                                                                       size, scratch->rows);
    return ts_cuda_launched(context, "gather");
}

/* Enqueues the reconstruction of one batch: rows, points, grid, and pixels. */
static enum ts_status reconstruct(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, struct batch batch,
                                  const struct scratch *scratch, const struct cuda_call *call)
{
    const struct polar_grid grid = ts_fourier_grid(context);
    struct memory_layout layout = {(void *)call->constants, CUDA_ALIGNMENT, 0};
    const struct tables tables = lay_out(&grid, &layout);
    const int64_t rows = batch.pairs * grid.n_views;
    const dim3 blocks((unsigned)ts_cuda_parts(grid.padded, THREADS),
                      (unsigned)(rows < 65535 ? rows : 65535));
#define LAUNCH(T)                                                                                  \
    load_rows<T><<<blocks, THREADS, 0, call->stream>>>((const T *)in->data, scratch->maxima, grid, \
                                                       batch, scratch->rows)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    enum ts_status status = ts_cuda_launched(context, "load_rows");
    if (status == TS_OK)
        status = ts_cuda_fft_forward(context, call->transforms[0], (float *)scratch->rows,
                                     (float *)scratch->rows);
    if (status == TS_OK) {
        if (batch.pairs == 8)
            status = grid_points<8>(context, &grid, &tables, scratch, call->stream);
        else if (batch.pairs == 4)
            status = grid_points<4>(context, &grid, &tables, scratch, call->stream);
        else if (batch.pairs == 2)
            status = grid_points<2>(context, &grid, &tables, scratch, call->stream);
        else
            status = grid_points<1>(context, &grid, &tables, scratch, call->stream);
    }
    if (status == TS_OK)
        status = ts_cuda_fft_inverse(context, call->transforms[1], (float *)scratch->rows,
                                     (float *)scratch->rows);
    if (status != TS_OK)
        return status;
    crop<<<blocks_for(batch.pairs * grid.n_rows * grid.n_columns), THREADS, 0, call->stream>>>(
        scratch->rows, grid, batch, scratch->maxima, tables.row_factors, tables.column_factors,
        batch.first - 1, out->axes[0].n, (float *)out->data);
    return ts_cuda_launched(context, "crop");
}

static enum ts_status fourier_map(const struct stage_context *context, const struct ts_image *in,
                                  struct ts_image *out, const struct cuda_call *call)
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
    .constants = fourier_constants,
    .scratch_bytes = scratch_bytes,
    .map = fourier_map,
    .reduction = &ts_cuda_finite_reduction,
    .least_slices = least_slices,
    .transforms = transforms,
};
