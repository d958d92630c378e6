/* SPDX-License-Identifier: Apache-2.0
 *
 * This is filtered backprojection of a fan without rebinning: the factors of its rows before the
 * filter, and backprojection with the weights of stages/geometry/fan_view.h; (z, view, detector) ->
 * (z, y, x).
 *
 * weigh: one thread multiplies one sample; its dtype's bytes and 4 of the weight are read, 4
 * written. 256 threads.
 *
 * pixel: one thread goes through all views for one pixel of PIXEL_SLICES slices and computes its
 * place in double once for all of them; the views are summed 32 at a time from view 0, and then
 * these sums in rising order. 8 bytes are read a view and pixel, nearly all from the caches. Blocks
 * are 32 x 8 pixels, because their rays meet neighboring detector pixels.
 *
 * stack: as back_stack.cuh describes, 4 pixels of 128 slices a warp; the places in 32 views are
 * computed at once, a view by each thread. The fan magnifies, so pixels may be more than a detector
 * pixel apart: in such views each pixel of a warp loads its own two samples, 32 bytes a thread,
 * pixel and view from the caches; in others the pixels share samples.
 */
#include "cuda/projection/back_methods.cuh"
#include "cuda/projection/back_stack.cuh"

enum {
    WEIGH_THREADS = 256,
    WEIGH_BLOCKS = 1 << 16,
    PIXEL_COLUMNS = 32,
    PIXEL_ROWS = 8,
    PIXEL_VIEWS = 32,
    PIXEL_SLICES = 4
};

/* ---- constants: the views, then the weights of all samples of a slice ------------------------ */

static size_t views_bytes(const struct stage_context *context)
{
    return ts_cuda_stride((size_t)context->in.axes[1].n * sizeof(struct fan_view));
}

static size_t weights_bytes(const struct stage_context *context)
{
    return ts_cuda_stride(ts_slice_count(&context->in) * sizeof(float));
}

/* The constants are followed, only on the host, by the scratch in which they are computed. */
size_t ts_cuda_fan_constants_bytes(const struct stage_context *context)
{
    const size_t detectors = (size_t)context->in.axes[2].n * sizeof(struct beam_detector),
                 sorted = (size_t)context->in.axes[1].n * VIEW_SCRATCH_BYTES;
    return views_bytes(context) + weights_bytes(context) +
           (detectors > sorted ? detectors : sorted);
}

void ts_cuda_fan_constants(const struct stage_context *context, void *host)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    struct fan_view *views = (struct fan_view *)host;
    float *weights = (float *)((char *)host + views_bytes(context));
    struct beam_detector *detectors =
        (struct beam_detector *)((char *)weights + weights_bytes(context));
    const struct fan_range range = ts_reconstruction_fans(context, views, detectors);
    for (int64_t d = 0; d < scan.grid.n_detectors; d++)
        detectors[d] = ts_beam_detector(&scan, d);
    for (int64_t v = 0; v < scan.n_views; v++)
        ts_fan_row_weights(&scan, &range, detectors, v, weights + v * scan.grid.n_detectors);
}

/* ---- before the filter ----------------------------------------------------------------------- */

template <typename T>
static __global__ void __launch_bounds__(WEIGH_THREADS)
    weigh(const T *in, float *out, const float *weights, int64_t n, int64_t slice)
{
    const int64_t stride = (int64_t)gridDim.x * WEIGH_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * WEIGH_THREADS + threadIdx.x; i < n; i += stride)
        out[i] = (float)in[i] * weights[i % slice];
}

enum ts_status ts_cuda_fan_weigh(const struct stage_context *context, const struct ts_image *in,
                                 float *out, const void *constants, cudaStream_t stream)
{
    const float *weights = (const float *)((const char *)constants + views_bytes(context));
    const int64_t slice = (int64_t)ts_slice_count(in), n = in->axes[0].n * slice,
                  blocks = ts_cuda_parts(n, WEIGH_THREADS);
    const unsigned grid = (unsigned)(blocks < WEIGH_BLOCKS ? blocks : WEIGH_BLOCKS);
#define LAUNCH(T)                                                                                  \
    weigh<T><<<grid, WEIGH_THREADS, 0, stream>>>((const T *)in->data, out, weights, n, slice)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "weigh");
}

/* ---- pixel ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ float sample(const float *row, int64_t at, int64_t n_detectors)
{
    return at >= 0 && at < n_detectors ? __ldg(row + at) : 0;
}

struct pixels_size {
    int64_t n_slices, n_rows, n_columns, n_views, n_detectors;
};

/* Backprojects one pixel of PIXEL_SLICES slices in each thread. Blocks are numbered in x by
 * parts of a row, and in y by rows of all groups of slices. The grid may have fewer blocks in y
 * than there are rows: each thread then goes on with later rows. */
static __global__ void __launch_bounds__(PIXEL_COLUMNS *PIXEL_ROWS)
    fan_pixels(const float *sinogram, float *out, const struct fan_view *views,
               struct fan_grid grid, struct pixels_size size)
{
    const int64_t column = (int64_t)blockIdx.x * PIXEL_COLUMNS + threadIdx.x,
                  step = (int64_t)gridDim.y * PIXEL_ROWS;
    const int64_t slice = size.n_views * size.n_detectors,
                  n_groups = (size.n_slices + PIXEL_SLICES - 1) / PIXEL_SLICES;
    if (column >= size.n_columns)
        return;
    for (int64_t i = (int64_t)blockIdx.y * PIXEL_ROWS + threadIdx.y; i < n_groups * size.n_rows;
         i += step) {
        const int64_t row = i % size.n_rows, z = i / size.n_rows * PIXEL_SLICES;
        const int n = (int)min((int64_t)PIXEL_SLICES, size.n_slices - z);
        float totals[PIXEL_SLICES] = {};
        for (int64_t first = 0; first < size.n_views; first += PIXEL_VIEWS) {
            const int64_t end =
                first + PIXEL_VIEWS < size.n_views ? first + PIXEL_VIEWS : size.n_views;
            float sums[PIXEL_SLICES] = {};
            for (int64_t v = first; v < end; v++) {
                const struct fan_place place =
                    ts_fan_place(&grid, &views[v], (double)row, (double)column);
                const double at = fmin(fmax(place.at, -2.0), (double)size.n_detectors + 1),
                             whole = floor(at);
                const float below = (float)(place.weight * (1 - (at - whole))),
                            above = (float)(place.weight * (at - whole));
                const float *line = sinogram + z * slice + v * size.n_detectors;
#pragma unroll
                for (int s = 0; s < PIXEL_SLICES; s++)
                    if (s < n) {
                        sums[s] = __fmaf_rn(
                            below, sample(line + s * slice, (int64_t)whole, size.n_detectors),
                            sums[s]);
                        sums[s] = __fmaf_rn(
                            above, sample(line + s * slice, (int64_t)whole + 1, size.n_detectors),
                            sums[s]);
                    }
            }
#pragma unroll
            for (int s = 0; s < PIXEL_SLICES; s++)
                totals[s] += sums[s];
        }
#pragma unroll
        for (int s = 0; s < PIXEL_SLICES; s++)
            if (s < n)
                out[((z + s) * size.n_rows + row) * size.n_columns + column] = totals[s];
    }
}

static enum ts_status pixel(const struct stage_context *context, const struct ts_image *sinogram,
                            struct ts_image *out, const struct fan_view *views,
                            const struct fan_grid *fan, cudaStream_t stream)
{
    const struct pixels_size size = {out->axes[0].n, out->axes[1].n, out->axes[2].n,
                                     sinogram->axes[1].n, sinogram->axes[2].n};
    const int64_t parts =
        ts_cuda_parts(ts_cuda_parts(size.n_slices, PIXEL_SLICES) * size.n_rows, PIXEL_ROWS);
    const dim3 grid((unsigned)ts_cuda_parts(size.n_columns, PIXEL_COLUMNS),
                    (unsigned)(parts < 65535 ? parts : 65535));
    const dim3 block(PIXEL_COLUMNS, PIXEL_ROWS);
    fan_pixels<<<grid, block, 0, stream>>>((const float *)sinogram->data, (float *)out->data, views,
                                           *fan, size);
    return ts_cuda_launched(context, "fan_pixels");
}

/* ---- stack ----------------------------------------------------------------------------------- */

struct fan_views {
    const struct fan_view *at;
    int64_t n;
    struct fan_grid grid;
};

/* Finds the places in one view. Returns true if later pixels have lower places. */
static __device__ __forceinline__ bool fan_back_find(const struct fan_views *views, int64_t index,
                                                     int n_detectors, int row, int column,
                                                     struct back_place *place)
{
    const int line = (int)index * (n_detectors + 2 * INTERLEAVE_MARGIN) + INTERLEAVE_MARGIN;
    float below[BACK_PIXELS], above[BACK_PIXELS];
    int at[BACK_PIXELS];
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        const struct fan_place own =
            ts_fan_place(&views->grid, &views->at[index], (double)row, (double)(column + k));
        /* There are only zeros beyond the ends of the detector, so any of their indices will do. */
        const double clamped = fmin(fmax(own.at, -4.0), (double)n_detectors + 3),
                     whole = floor(clamped);
        below[k] = (float)(own.weight * (1 - (clamped - whole)));
        above[k] = (float)(own.weight * (clamped - whole));
        at[k] = line + (int)whole;
    }
    place->below = make_float4(below[0], below[1], below[2], below[3]);
    place->above = make_float4(above[0], above[1], above[2], above[3]);
    place->at = make_int4(at[0], at[1], at[2], at[3]);
    return at[3] < at[0];
}

/* Puts the places into rising order, and writes their pattern if they have one. */
static __device__ __forceinline__ void order(struct back_place *place, bool falling)
{
    const struct back_place old = *place;
    if (falling) {
        place->below = make_float4(old.below.w, old.below.z, old.below.y, old.below.x);
        place->above = make_float4(old.above.w, old.above.z, old.above.y, old.above.x);
        place->at = make_int4(old.at.w, old.at.z, old.at.y, old.at.x);
    }
    const int at[BACK_PIXELS] = {place->at.x, place->at.y, place->at.z, place->at.w};
    const int pattern = back_pattern_of(at);
    if (pattern >= 0)
        place->at.y = ~pattern;
}

template <int V>
static __global__ void __launch_bounds__(BACK_THREADS, BACK_BLOCKS)
    fan_stack(const float *lines, float *out, struct fan_views views, struct back_size size)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32);
    struct back_warp<back_place> warp;
    if (!back_begin<V>(&size, shared, &warp))
        return;
    lines += lane * V;
    for (int64_t first = 0, end = views.n; first < end; first += BACK_CHUNK) {
        const int n = (int)(end - first < BACK_CHUNK ? end - first : BACK_CHUNK);
        struct back_place place;
        const bool falls = fan_back_find(&views, min(first + lane, end - 1), size.n_detectors,
                                         warp.row, warp.column, &place);
        const bool falling = __popc(__ballot_sync(~0u, falls)) > BACK_CHUNK / 2;
        order(&place, falling);
        warp.places[lane] = place;
        __syncwarp();
        back_add_places<V, BACK_EITHER>(lines, &warp, n, falling);
        __syncwarp();
    }
    back_write<V>(&warp, &size, out);
}

enum ts_status ts_cuda_fan_back(const struct stage_context *context,
                                const struct ts_image *sinogram, struct ts_image *out,
                                const void *constants, void *scratch, cudaStream_t stream)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    const struct fan_views views = {(const struct fan_view *)constants, scan.n_views,
                                    ts_fan_grid(&scan)};
    const struct back_kernels<struct fan_views> kernels = {
        {fan_stack<1>, fan_stack<2>, fan_stack<4>}, "fan_stack", views, sizeof(struct back_place)
    };
    return ((const struct reconstruction_params *)context->params)->method == BACK_METHOD_STACK
               ? back_run(context, &kernels, sinogram, out, (float *)scratch, stream)
               : pixel(context, sinogram, out, views.at, &views.grid, stream);
}
