/* SPDX-License-Identifier: Apache-2.0
 *
 * Filtered backprojection of a fan, directly: what comes before the filter, and backprojection with the weights of
 * stages/common/fan_view.h; (z, view, detector) -> (z, y, x).
 *
 * weigh: one thread one sample; its dtype's bytes and 4 of the weight read, 4 written. 256 threads.
 *
 * pixel: one thread goes through all views for one pixel of one slice, working out its place in double; 32 views from 0
 * are summed and then these sums in rising order. 8 bytes a view and pixel, nearly all from the caches. Blocks of 32 x
 * 8 pixels: the detectors that they see lie close together.
 *
 * stack: as told in back_stack.cuh, 4 pixels of 128 slices a warp; the places of 32 views are worked out at once,
 * a view by each lane. Pixels may be more than a detector apart where the fan magnifies, so that each loads its own two
 * samples: 32 bytes a thread, pixel and view from the caches.
 */
#include "cuda/common/back_stack.cuh"
#include "cuda/common/reconstruction.cuh"

enum { WEIGH_THREADS = 256, WEIGH_BLOCKS = 1 << 16, PIXEL_COLUMNS = 32, PIXEL_ROWS = 8, PIXEL_VIEWS = 32 };

struct fan_size {
    struct beam_geometry grid;
    struct ts_beam beam;
    int64_t n_views;
};

/* ---- constants: the views, then the weights of all samples of a slice -------------------------- */

static size_t views_bytes(const struct stage_context *context)
{
    return ts_cuda_stride((size_t)context->in.axes[1].n * sizeof(struct fan_view));
}

static size_t weights_bytes(const struct stage_context *context)
{
    return ts_cuda_stride(ts_slice_count(&context->in) * sizeof(float));
}

/* Behind them, on the host alone, what they are worked out in. */
size_t ts_cuda_fan_constants_bytes(const struct stage_context *context)
{
    const size_t detectors = (size_t)context->in.axes[2].n * sizeof(struct beam_detector),
                 sorted = (size_t)context->in.axes[1].n * VIEW_ROOM_BYTES;
    return views_bytes(context) + weights_bytes(context) + (detectors > sorted ? detectors : sorted);
}

void ts_cuda_fan_constants(const struct stage_context *context, void *host)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    struct fan_view *views = (struct fan_view *)host;
    float *weights = (float *)((char *)host + views_bytes(context));
    struct beam_detector *detectors = (struct beam_detector *)((char *)weights + weights_bytes(context));
    const struct fan_range range = ts_reconstruction_fans(context, views, detectors);
    for (int64_t d = 0; d < scan.grid.n_detectors; d++)
        detectors[d] = ts_beam_detector(&scan, d);
    for (int64_t v = 0; v < scan.n_views; v++)
        ts_fan_row_weights(&scan, &range, detectors, v, weights + v * scan.grid.n_detectors);
}

/* ---- before the filter ------------------------------------------------------------------------- */

template <typename T>
static __global__ void __launch_bounds__(WEIGH_THREADS)
    weigh(const T *in, float *out, const float *weights, int64_t n, int64_t slice)
{
    const int64_t stride = (int64_t)gridDim.x * WEIGH_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * WEIGH_THREADS + threadIdx.x; i < n; i += stride)
        out[i] = (float)in[i] * weights[i % slice];
}

enum ts_status ts_cuda_fan_weigh(const struct stage_context *context, const struct ts_image *in, float *out,
                                 const void *constants, cudaStream_t stream)
{
    const float *weights = (const float *)((const char *)constants + views_bytes(context));
    const int64_t slice = (int64_t)ts_slice_count(in), n = in->axes[0].n * slice,
                  blocks = ts_cuda_parts(n, WEIGH_THREADS);
    const unsigned grid = (unsigned)(blocks < WEIGH_BLOCKS ? blocks : WEIGH_BLOCKS);
#define LAUNCH(T) weigh<T><<<grid, WEIGH_THREADS, 0, stream>>>((const T *)in->data, out, weights, n, slice)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "weigh");
}

/* ---- pixel ------------------------------------------------------------------------------------- */

static __device__ __forceinline__ float sample(const float *row, int64_t at, int64_t n_detectors)
{
    return at >= 0 && at < n_detectors ? __ldg(row + at) : 0;
}

/* grid: parts of a row; parts of the rows of all slices (any number). */
static __global__ void __launch_bounds__(PIXEL_COLUMNS *PIXEL_ROWS)
    fan_pixels(const float *sinogram, float *out, const struct fan_view *views, int64_t nz, struct fan_size size)
{
    const int64_t column = (int64_t)blockIdx.x * PIXEL_COLUMNS + threadIdx.x, step = (int64_t)gridDim.y * PIXEL_ROWS;
    const int64_t n_rows = size.grid.n_rows, n_detectors = size.grid.n_detectors;
    if (column >= size.grid.n_columns)
        return;
    for (int64_t i = (int64_t)blockIdx.y * PIXEL_ROWS + threadIdx.y; i < nz * n_rows; i += step) {
        const int64_t row = i % n_rows;
        const float *slice = sinogram + i / n_rows * size.n_views * n_detectors;
        float total = 0;
        for (int64_t first = 0; first < size.n_views; first += PIXEL_VIEWS) {
            const int64_t end = first + PIXEL_VIEWS < size.n_views ? first + PIXEL_VIEWS : size.n_views;
            float sum = 0;
            for (int64_t v = first; v < end; v++) {
                const struct fan_place place =
                    ts_fan_place(&size.grid, size.beam, &views[v], (double)row, (double)column);
                const double at = fmin(fmax(place.at, -2.0), (double)n_detectors + 1), below = floor(at);
                const float *line = slice + v * n_detectors;
                sum = __fmaf_rn((float)(place.weight * (1 - (at - below))), sample(line, (int64_t)below, n_detectors),
                                sum);
                sum =
                    __fmaf_rn((float)(place.weight * (at - below)), sample(line, (int64_t)below + 1, n_detectors), sum);
            }
            total += sum;
        }
        out[i * size.grid.n_columns + column] = total;
    }
}

static enum ts_status pixel(const struct stage_context *context, const struct ts_image *sinogram, struct ts_image *out,
                            const struct fan_view *views, struct fan_size size, cudaStream_t stream)
{
    const int64_t nz = out->axes[0].n, parts = ts_cuda_parts(nz * size.grid.n_rows, PIXEL_ROWS);
    const dim3 grid((unsigned)ts_cuda_parts(size.grid.n_columns, PIXEL_COLUMNS),
                    (unsigned)(parts < 65535 ? parts : 65535));
    const dim3 block(PIXEL_COLUMNS, PIXEL_ROWS);
    fan_pixels<<<grid, block, 0, stream>>>((const float *)sinogram->data, (float *)out->data, views, nz, size);
    return ts_cuda_launched(context, "fan_pixels");
}

/* ---- stack ------------------------------------------------------------------------------------- */

static __device__ __forceinline__ void find(const struct fan_size *size, const struct fan_view *view, int64_t index,
                                            int row, int column, struct back_place *place)
{
    const int n_detectors = (int)size->grid.n_detectors;
    const int line = (int)index * (n_detectors + 2 * INTERLEAVE_MARGIN) + INTERLEAVE_MARGIN;
    float below[BACK_PIXELS], above[BACK_PIXELS];
    int at[BACK_PIXELS];
#pragma unroll
    for (int k = 0; k < BACK_PIXELS; k++) {
        const struct fan_place own = ts_fan_place(&size->grid, size->beam, view, (double)row, (double)(column + k));
        /* Past the detectors are zeros: any of them will do. */
        const double clamped = fmin(fmax(own.at, -4.0), (double)n_detectors + 3), whole = floor(clamped);
        below[k] = (float)(own.weight * (1 - (clamped - whole)));
        above[k] = (float)(own.weight * (clamped - whole));
        at[k] = line + (int)whole;
    }
    place->below = make_float4(below[0], below[1], below[2], below[3]);
    place->above = make_float4(above[0], above[1], above[2], above[3]);
    place->at = make_int4(at[0], at[1], at[2], at[3]);
}

struct fan_views {
    const struct fan_view *at;
    struct fan_size size;
};

template <int V>
static __global__ void __launch_bounds__(BACK_THREADS, BACK_BLOCKS)
    fan_stack(const float *lines, float *out, struct fan_views views, struct back_size size)
{
    extern __shared__ float4 shared[];
    const int lane = (int)(threadIdx.x % 32);
    struct back_warp warp;
    if (!back_begin<V>(&size, shared, &warp))
        return;
    lines += lane * V;
    for (int64_t first = 0, end = views.size.n_views; first < end; first += BACK_CHUNK) {
        const int n = (int)(end - first < BACK_CHUNK ? end - first : BACK_CHUNK);
        __syncwarp();
        if (lane < n)
            find(&views.size, &views.at[first + lane], first + lane, warp.row, warp.column, &warp.places[lane]);
        __syncwarp();
        back_add_places<V, true>(lines, &warp, n, false);
    }
    back_write<V>(&warp, &size, out);
}

enum ts_status ts_cuda_fan_back(const struct stage_context *context, const struct ts_image *sinogram,
                                struct ts_image *out, const void *constants, void *scratch, cudaStream_t stream)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    const struct fan_size size = {scan.grid, scan.beam, scan.n_views};
    const struct fan_view *views = (const struct fan_view *)constants;
    const struct back_kernels<struct fan_views> kernels = {
        {fan_stack<1>, fan_stack<2>, fan_stack<4>}, "fan_stack",
        {
            views, size
        }
    };
    return ((const struct reconstruction_params *)context->params)->method == BACK_METHOD_STACK
               ? back_run(context, &kernels, sinogram, out, (float *)scratch, stream)
               : pixel(context, sinogram, out, views, size, stream);
}
