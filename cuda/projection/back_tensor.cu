/* SPDX-License-Identifier: Apache-2.0
 *
 * This backprojects on tensor cores, by the products that cuda/projection/tensor.cuh describes:
 * rows of a product are 16 pixels, lines are views. (z, view, detector) -> (z, y, x). Weights are
 * those of linear interpolation, or the transpose of Joseph's. In the latter, a detector pixel's
 * weight falls with the distance in pixels of its ray from the pixel, along the ray's minor axis.
 * The distance is rounded as in cuda/projection/radon_tensor.cu: without SPLIT both use the same
 * weights.
 *
 * One warp computes 4 x 4 pixels of 32 QUARTERS slices. In one view they are within 5 to 8 detector
 * pixels, which are one window, if these are as far apart as image pixels; if detector pixels are
 * closer there are several windows. One thread holds 2 pixels of 8 QUARTERS slices. It goes through
 * the views, in the table's order, as cuda/projection/tensor.cuh describes. A line has its view's
 * weight as a fraction of `most`. A slice with a NaN or an infinity is left to the caller.
 *
 * Memory: 2 bytes (split: 4) of a window's sample come from the caches for every 16 pixels, about 1
 * byte (2) an interpolation; 4 bytes are written a pixel. A block is 2 x 2 warps, 8 x 8 pixels,
 * whose rays meet nearly the same detector pixels; blocks run in squares of 8 x 8, so that views
 * stay in the second cache. A multiprocessor holds 12 warps of 168 registers.
 */
#include "cuda/projection/back_methods.cuh"
#include "cuda/projection/tensor.cuh"

extern "C" {
#include "stages/values/finite_values.h"
}

enum {
    SIDE = 4, /* pixels of a warp along a side */
    ACROSS = 2,
    DOWN = 2, /* warps of a block, one below the other */
    BLOCK_THREADS = 32 * ACROSS * DOWN,
    BLOCKS = 3, /* blocks on a multiprocessor */
    PATCH = 8,  /* blocks along a side of the square of blocks that run together */
    EXPONENT =
        12, /* halves are scaled to a largest magnitude of about 2^12; weights are at most pi */
    MOST_BLOCKS = 1 << 30
};

typedef tensor_shape<1, false, BLOCK_THREADS> plain_narrow;
typedef tensor_shape<4, false, BLOCK_THREADS> plain_wide;
typedef tensor_shape<1, true, BLOCK_THREADS> split_narrow;
typedef tensor_shape<2, true, BLOCK_THREADS> split_wide;

struct back_tensor_size {
    int n_slices, n_rows, n_columns, n_detectors, width;
    int64_t first_patch;
    int patches_across;
    float most; /* the largest weight of a view: all are divided by it, and the sums multiplied */
};

/* What a warp keeps of each window: its start, as ts_cuda_tensor_start() counts; the place of the
 * warp's first pixel in it; and the steps to the next pixel of a column and of a row. */
struct __align__(16) window
{
    uint32_t start;
    float x, per_column, per_row;
};

/* A walk in which lines are the views of the table. */
template <bool JOSEPH> struct back_walk : tensor_walk {
    enum {
        SCALED = JOSEPH,
        FOLD_STEPS = JOSEPH ? 64 : 256
    }; /* small for JOSEPH, because A and A' must truncate little to be adjoint */
    const struct cuda_back_view *views;
    int column, row;        /* place of the warp's first pixel */
    struct window *windows; /* windows that are being multiplied */
    float *units;           /* with JOSEPH: pixels from one detector pixel to the next in each
                             * window */
    struct place {
        const struct cuda_back_view *view;
        double at; /* place of the first pixel on the detector */
    };
};

/* Returns the detector pixels from a pixel to the next along the minor axis of Joseph's rays, which
 * is the axis along which they are farther apart. */
static __device__ __forceinline__ double reach_of(const struct cuda_back_view *view)
{
    return (double)max(max(llabs(view->per_row), llabs(view->per_column)), 1ll) *
           (1.0 / 4294967296.0);
}

template <bool JOSEPH>
static __device__ __forceinline__ int windows_of_line(const struct back_walk<JOSEPH> *walk, int v,
                                                      int *pair,
                                                      typename back_walk<JOSEPH>::place *place)
{
    const double unit = 1.0 / 4294967296.0;
    const struct cuda_back_view *view = &walk->views[v];
    const int64_t first = view->base + walk->row * view->per_row + walk->column * view->per_column;
    const int64_t right = (SIDE - 1) * view->per_column, down = (SIDE - 1) * view->per_row;
    const double reach = JOSEPH ? reach_of(view) : 1;
    const double slack = fmax(reach, 1.0) / 1024; /* more than the rounding error of positions */
    const double low = (double)(first + min((int64_t)0, right) + min((int64_t)0, down)) * unit -
                       slack,
                 high = (double)(first + max((int64_t)0, right) + max((int64_t)0, down)) * unit +
                        slack;
    place->view = view;
    place->at = (double)first * unit;
    if (!(high > -reach && low < (JOSEPH ? walk->n_minor - 1 + reach : walk->n_minor)))
        return 0;
    if (!JOSEPH)
        return ts_cuda_tensor_window(max((int)floor(low), -1),
                                     min((int)floor(high) + 1, walk->n_minor), pair);
    const int from = max((int)ceil(low - reach), -1),
              to = min((int)floor(high + reach), walk->n_minor);
    return from <= to ? ts_cuda_tensor_window(from, to, pair) : 0;
}

/* Places are counted from each window in double: those of pixels far from it may be rounded, those
 * in it are exact. */
template <bool JOSEPH>
static __device__ __forceinline__ void write_window(struct back_walk<JOSEPH> *walk, int to,
                                                    uint32_t start, int first,
                                                    const typename back_walk<JOSEPH>::place *place)
{
    const double apart = JOSEPH ? 1 / reach_of(place->view) : 1, unit = apart / 4294967296.0;
    walk->windows[to].start = start;
    walk->windows[to].x = (float)((place->at - first) * apart);
    if (JOSEPH)
        walk->units[to] = (float)apart;
    walk->windows[to].per_column = (float)((double)place->view->per_column * unit);
    walk->windows[to].per_row = (float)((double)place->view->per_row * unit);
}

template <bool JOSEPH>
static __device__ __forceinline__ void write_empty(struct back_walk<JOSEPH> *walk, int to)
{
    const struct window none = {0, -64, 0, 0};
    walk->windows[to] = none;
    if (JOSEPH)
        walk->units[to] = 1;
}

template <bool JOSEPH>
static __device__ __forceinline__ float read_unit(const struct back_walk<JOSEPH> *walk, int from)
{
    return JOSEPH ? walk->units[from] : 1;
}

template <bool JOSEPH>
static __device__ __forceinline__ uint32_t read_start(const struct back_walk<JOSEPH> *walk,
                                                      int from)
{
    return walk->windows[from].start;
}

template <bool JOSEPH>
static __device__ __forceinline__ void read_window(const struct back_walk<JOSEPH> *walk, int from,
                                                   float x[2])
{
    const float4 at = *(const float4 *)&walk->windows[from];
    const float column = (float)(threadIdx.x / 4 % SIDE), row = (float)(threadIdx.x / 16 % 2);
    x[0] = __fmaf_rn(at.z, column, __fmaf_rn(at.w, row, at.y));
    x[1] = __fmaf_rn(at.w, 2, x[0]);
}

template <bool JOSEPH>
static __device__ __forceinline__ void move_window(struct back_walk<JOSEPH> *walk, int from, int to,
                                                   bool has)
{
    struct window window = {};
    float unit = 1;
    if (has) {
        window = walk->windows[from + to];
        unit = read_unit(walk, from + to);
    }
    __syncwarp();
    if (has) {
        walk->windows[to] = window;
        if (JOSEPH)
            walk->units[to] = unit;
    }
}

template <class S, bool JOSEPH>
static __device__ __forceinline__ void write_pixels(const float4 *totals, int column, int row,
                                                    int slice_first, const uint32_t *maxima,
                                                    const struct back_tensor_size *size, float *out)
{
    const int own = (int)(threadIdx.x % 32) / 4;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const int x = column + own % SIDE, y = row + own / SIDE + 2 * half;
        if (x >= size->n_columns || y >= size->n_rows)
            continue;
        for (int tile = 0; tile < S::TILES; tile++)
#pragma unroll
            for (int second = 0; second < 2; second++) {
                const int slice = slice_first + ts_cuda_tensor_slice<S>(tile, second);
                if (slice >= size->n_slices)
                    continue;
                const float2 back = ts_cuda_slice_maximum_scale(maxima[slice], EXPONENT, -1);
                const float total =
                    ts_cuda_tensor_total(totals[tile * S::THREADS + threadIdx.x], half, second);
                out[((int64_t)slice * size->n_rows + y) * size->n_columns + x] =
                    total * back.x * back.y * (JOSEPH ? size->most : 1);
            }
    }
}

/* The grid counts blocks, patch after patch, and parts of the slices. */
template <class S, bool JOSEPH>
static __global__ void __launch_bounds__(S::THREADS, BLOCKS)
    back_tensor(const uint4 *lines, const uint32_t *maxima, float *out,
                const struct cuda_back_views *table, const int32_t *halt,
                struct back_tensor_size size)
{
    extern __shared__ float4 totals[];
    const int warp = (int)(threadIdx.x / 32), in_patch = (int)blockIdx.x % (PATCH * PATCH);
    struct window *windows =
        (struct window *)(totals + S::TILES * S::THREADS) + warp * TENSOR_PLACES;
    const int64_t patch = size.first_patch + blockIdx.x / (PATCH * PATCH);
    const int64_t block_x = patch % size.patches_across * PATCH + in_patch % PATCH,
                  block_y = patch / size.patches_across * PATCH + in_patch / PATCH;
    const int64_t column = (block_x * ACROSS + warp % ACROSS) * SIDE,
                  row = (block_y * DOWN + warp / ACROSS) * SIDE;
    const int slice_first = (int)blockIdx.y * S::QUARTERS * 32;
    if (column >= size.n_columns || row >= size.n_rows || (halt && *halt))
        return;
    struct back_walk<JOSEPH> walk;
    walk.lines = ts_cuda_tensor_part<S>(lines, slice_first);
    walk.apart = size.width * S::PLANES;
    walk.n_minor = size.n_detectors;
    walk.line = 0;
    walk.end = (int)table->n;
    walk.views = table->at;
    walk.column = (int)column;
    walk.row = (int)row;
    walk.windows = windows;
    if (JOSEPH)
        walk.units =
            (float *)(windows + (S::THREADS / 32 - warp) * TENSOR_PLACES) + warp * TENSOR_PLACES;
    ts_cuda_tensor_sum<S>(&walk, totals);
    write_pixels<S, JOSEPH>(totals, (int)column, (int)row, slice_first, maxima, &size, out);
}

/* One thread does one view. */
static __global__ void __launch_bounds__(TENSOR_THREADS)
    make_lines(const struct cuda_back_views *table, float most, struct tensor_line *lines)
{
    const int64_t v = (int64_t)blockIdx.x * TENSOR_THREADS + threadIdx.x;
    if (v < table->n) {
        lines[v].row = table->at[v].view;
        lines[v].factor = table->at[v].scale / most;
    }
}

/* Copies the known maxima; one thread does one slice. `known` are results, `stride` bytes apart. */
static __global__ void __launch_bounds__(TENSOR_THREADS)
    copy_maxima(const char *known, size_t stride, int64_t n, uint32_t *maxima)
{
    const int64_t slice = (int64_t)blockIdx.x * TENSOR_THREADS + threadIdx.x;
    if (slice < n)
        maxima[slice] = (uint32_t)((const struct finite_slice *)(known + slice * stride))->largest;
}

/* ---- launching ------------------------------------------------------------------------------- */

static bool is_split(const struct stage_context *context)
{
    return ((const struct reconstruction_params *)context->params)->method ==
           BACK_METHOD_TENSOR_SPLIT;
}

static size_t lines_bytes(const struct stage_context *context)
{
    return ts_cuda_stride((size_t)context->in.axes[1].n * sizeof(struct tensor_line));
}

/* The scratch holds the largest magnitudes first, then what lines are made of, then the halves. */
size_t ts_cuda_back_tensor_scratch(const struct stage_context *context, int64_t n)
{
    return ts_cuda_stride((size_t)n * sizeof(uint32_t)) + lines_bytes(context) +
           ts_cuda_tensor_bytes(context->in.axes[1].n, context->in.axes[2].n,
                                ts_cuda_group_width(n), is_split(context));
}

template <class S, bool JOSEPH>
static enum ts_status
launch(const struct stage_context *context, const uint4 *halves, const uint32_t *maxima, float *out,
       const struct cuda_back_views *table, struct back_tensor_size size, cudaStream_t stream)
{
    const size_t window = sizeof(struct window) + (JOSEPH ? sizeof(float) : 0),
                 shared = (size_t)S::TILES * S::THREADS * sizeof(float4) +
                          S::THREADS / 32 * TENSOR_PLACES * window;
    const int64_t across = ts_cuda_parts(size.n_columns, SIDE * ACROSS * PATCH),
                  patches = across * ts_cuda_parts(size.n_rows, SIDE * DOWN * PATCH),
                  most = MOST_BLOCKS / (PATCH * PATCH);
    enum ts_status status = ts_cuda_shared(context, (const void *)back_tensor<S, JOSEPH>, shared);
    size.patches_across = (int)across;
    for (; status == TS_OK && size.first_patch < patches; size.first_patch += most) {
        const int64_t left = patches - size.first_patch;
        const dim3 grid((unsigned)((left < most ? left : most) * PATCH * PATCH),
                        (unsigned)ts_cuda_parts(size.width, 32 * S::QUARTERS));
        back_tensor<S, JOSEPH>
            <<<grid, S::THREADS, shared, stream>>>(halves, maxima, out, table, context->halt, size);
        status = ts_cuda_launched(context, "back_tensor");
    }
    return status;
}

/* Backprojects the slices in `halves`. */
template <bool JOSEPH>
static enum ts_status back(const struct stage_context *context, const uint4 *halves,
                           const uint32_t *maxima, float *out, const struct cuda_back_views *table,
                           const struct back_tensor_size *size, cudaStream_t stream)
{
    if (is_split(context))
        return (size->width > 32 ? launch<split_wide, JOSEPH>
                                 : launch<split_narrow, JOSEPH>)(context, halves, maxima, out,
                                                                 table, *size, stream);
    return (size->width > 64
                ? launch<plain_wide, JOSEPH>
                : launch<plain_narrow, JOSEPH>)(context, halves, maxima, out, table, *size, stream);
}

static enum ts_status find_maxima(const struct stage_context *context,
                                  const struct ts_image *sinogram, const void *known,
                                  uint32_t *maxima, cudaStream_t stream)
{
    const int64_t nz = sinogram->axes[0].n;
    if (!known)
        return ts_cuda_slice_maxima(context, sinogram, maxima, stream);
    copy_maxima<<<(unsigned)ts_cuda_parts(nz, TENSOR_THREADS), TENSOR_THREADS, 0, stream>>>(
        (const char *)known, ts_cuda_stride(sizeof(struct finite_slice)), nz, maxima);
    return ts_cuda_launched(context, "copy_maxima");
}

enum ts_status ts_cuda_back_tensor(const struct stage_context *context,
                                   const struct ts_image *sinogram, const void *known,
                                   struct ts_image *out, const struct cuda_back_views *table,
                                   void *scratch, cudaStream_t stream)
{
    const int64_t nz = out->axes[0].n, n_views = sinogram->axes[1].n;
    const struct reconstruction_params *params =
        (const struct reconstruction_params *)context->params;
    const bool joseph = params->model == BACK_JOSEPH;
    /* The length of a ray between two lines is at most this. */
    const float most = joseph ? (float)hypot(params->row_spacing, params->pixel_size) : 1;
    uint32_t *maxima = (uint32_t *)scratch;
    struct tensor_line *made =
        (struct tensor_line *)((char *)scratch + ts_cuda_stride((size_t)nz * sizeof(uint32_t)));
    uint4 *halves = (uint4 *)((char *)made + lines_bytes(context));
    enum ts_status status = find_maxima(context, sinogram, known, maxima, stream);
    if (status != TS_OK)
        return status;
    make_lines<<<(unsigned)ts_cuda_parts(n_views, TENSOR_THREADS), TENSOR_THREADS, 0, stream>>>(
        table, most, made);
    status = ts_cuda_launched(context, "make_lines");
    for (int64_t z = 0, n; status == TS_OK && z < nz; z += n) {
        n = nz - z < 128 ? nz - z : 128;
        const int width = ts_cuda_group_width(n);
        float *to = (float *)ts_slice_data(out, z);
        struct back_tensor_size size = {(int)n, (int)out->axes[1].n, (int)out->axes[2].n,
                                        (int)sinogram->axes[2].n, width};
        size.most = most;
        status = ts_cuda_tensor_halves(context, sinogram, z, n, true, width, is_split(context),
                                       maxima + z, EXPONENT, made, halves, stream);
        if (status == TS_OK)
            status = (joseph ? back<true> : back<false>)(context, halves, maxima + z, to, table,
                                                         &size, stream);
    }
    return status;
}
