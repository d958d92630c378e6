/* SPDX-License-Identifier: Apache-2.0
 *
 * The transpose of a reconstruction on a CUDA device (stages/projection/back_transpose.h): (z, y,
 * x) -> (z, view, detector), then the filter and a fan's weights, in place.
 *
 * transpose: one thread sums the pixels of PIXEL_SLICES slices that one detector pixel of one view
 * counts for. It goes along the rows or columns that the ray crosses most often, and on each to the
 * pixels between the rays of the two neighbors; their weights are computed as the backprojection
 * computes them. Lines are summed 32 at a time from line 0, then these sums in rising order.
 * Memory: 4 bytes a pixel on the way and slice, nearly all from the caches, because neighboring
 * threads have neighboring rays; 4 bytes are written a detector pixel. Blocks are 128 threads of
 * one view.
 */
#include "cuda/projection/back_methods.cuh"
#include "cuda/projection/reconstruction.cuh"
#include "cuda/projection/row_filter.cuh"

extern "C" {
#include "stages/projection/back_transpose.h"
}

enum { TRANSPOSE_THREADS = 128, PIXEL_SLICES = 4, LINES = 32 };

/* ---- constants: those of the reconstruction, then the rays of a fan's detector pixels -------- */

/* There is one ray more on both ends. */
static size_t detectors_bytes(const struct stage_context *forth)
{
    return ts_image_is_fan(&forth->in)
               ? (size_t)(forth->in.axes[2].n + 2) * sizeof(struct beam_detector)
               : 0;
}

static size_t back_transpose_constants_bytes(const struct stage_context *context)
{
    const struct stage_context forth = ts_back_transpose_forth(context);
    return ts_cuda_stride(ts_cuda_reconstruction_constants_bytes(&forth)) + detectors_bytes(&forth);
}

static struct beam_detector *detectors_of(const struct stage_context *forth, const void *constants)
{
    return (struct beam_detector *)((char *)constants +
                                    ts_cuda_stride(ts_cuda_reconstruction_constants_bytes(forth)));
}

static void back_transpose_constants(const struct stage_context *context, void *host)
{
    const struct stage_context forth = ts_back_transpose_forth(context);
    const struct beam_scan scan = ts_reconstruction_scan(&forth);
    struct beam_detector *detectors = detectors_of(&forth, host);
    ts_cuda_reconstruction_constants(&forth, host);
    for (int64_t d = -1; ts_image_is_fan(&forth.in) && d <= scan.grid.n_detectors; d++)
        detectors[d + 1] = ts_beam_detector(&scan, d);
}

static size_t back_transpose_scratch(const struct stage_context *context, int64_t n)
{
    const struct stage_context forth = ts_back_transpose_forth(context);
    const struct row_filter filter = ts_reconstruction_filter(&forth);
    (void)n;
    return ts_cuda_row_filter_scratch(&forth, &filter);
}

static int back_transpose_transforms(const struct stage_context *context,
                                     struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct stage_context forth = ts_back_transpose_forth(context);
    return ts_cuda_reconstruction_transforms(&forth, shapes);
}

/* ---- views ----------------------------------------------------------------------------------- */

struct transpose_size {
    int64_t n_slices, n_rows, n_columns, n_views, n_detectors;
};

/* The pixels [first, end) of a line. */
struct transpose_pixels {
    int64_t first, end;
};

/* Returns the pixels between two places on a line of n, and one more on both sides for rounding. */
static __device__ __forceinline__ struct transpose_pixels between(double a, double b, int64_t n)
{
    struct transpose_pixels pixels;
    pixels.first = (int64_t)fmin(fmax(ceil(fmin(a, b)) - 1, 0.0), (double)n);
    pixels.end = (int64_t)fmin(fmax(floor(fmax(a, b)) + 2, 0.0), (double)n);
    return pixels;
}

/* One detector pixel of a parallel beam's view. */
struct parallel_ray {
    struct cuda_back_view view;
    int64_t detector, view_index;
    bool along_rows;

    __device__ __forceinline__ parallel_ray(const struct cuda_back_views *views, int64_t v,
                                            int64_t d)
        : view(views->at[v]), detector(d), view_index(view.view),
          along_rows(llabs(view.per_column) >= llabs(view.per_row))
    {
    }

    __device__ __forceinline__ struct transpose_pixels on_line(int64_t line, int64_t n) const
    {
        const int64_t step = along_rows ? view.per_column : view.per_row;
        const double start =
            (double)(view.base + line * (along_rows ? view.per_row : view.per_column));
        const double one = 4294967296.0;
        return between(((double)(detector - view.reach) * one - start) / (double)step,
                       ((double)(detector + view.reach) * one - start) / (double)step, n);
    }

    __device__ __forceinline__ float weight(int64_t row, int64_t column) const
    {
        const int64_t at = view.base + row * view.per_row + column * view.per_column,
                      k = detector - (at >> 32);
        return k >= 1 - view.reach && k <= view.reach
                   ? ts_cuda_back_weight(&view, fabsf((float)k - ts_cuda_back_past(at)))
                   : 0;
    }
};

struct transpose_fans {
    const struct fan_view *at;
    const struct beam_detector *detectors; /* starts with that of detector pixel -1 */
    struct beam_geometry geometry;
    struct fan_grid grid;
};

/* One detector pixel of a fan's view. */
struct fan_ray {
    struct fan_view view;
    struct fan_grid grid;
    int64_t detector, view_index;
    bool along_rows, turned; /* turned: the neighbors' rays are too far apart to say which pixels
                              * are between them */
    struct beam_ray before, behind;

    __device__ __forceinline__ fan_ray(const struct transpose_fans &fans, int64_t v, int64_t d)
        : view(fans.at[v]), grid(fans.grid), detector(d), view_index(v)
    {
        const struct beam_angle angle = {view.cosine, view.sine};
        const struct beam_detector *own = fans.detectors + d;
        along_rows = ts_beam_ray(&fans.geometry, angle, own[1]).along_rows;
        before = ts_beam_ray_along(&fans.geometry, angle, own[0], along_rows);
        behind = ts_beam_ray_along(&fans.geometry, angle, own[2], along_rows);
        turned = !(across(angle, own[0]) * across(angle, own[1]) > 0 &&
                   across(angle, own[1]) * across(angle, own[2]) > 0);
    }

    /* Returns how fast a ray crosses the lines, with the direction's sign. */
    __device__ __forceinline__ double across(struct beam_angle angle,
                                             struct beam_detector ray) const
    {
        return along_rows ? angle.cosine * ray.cosine - angle.sine * ray.sine
                          : angle.sine * ray.cosine + angle.cosine * ray.sine;
    }

    __device__ __forceinline__ struct transpose_pixels on_line(int64_t line, int64_t n) const
    {
        const struct transpose_pixels all = {0, n};
        return turned ? all
                      : between(before.base + (double)line * before.per_major,
                                behind.base + (double)line * behind.per_major, n);
    }

    __device__ __forceinline__ float weight(int64_t row, int64_t column) const
    {
        const struct fan_place place = ts_fan_place(&grid, &view, (double)row, (double)column);
        const double past = place.at - (double)detector;
        return (float)(place.weight * fmax(1 - fabs(past), 0.0));
    }
};

/* ---- the backprojection's transpose ---------------------------------------------------------- */

/* The grid counts parts of a row of detector pixels, and views of all groups of slices (any
 * number). */
template <class Ray, class Views>
static __global__ void __launch_bounds__(TRANSPOSE_THREADS)
    transpose(const float *volume, float *out, Views views, struct transpose_size size)
{
    const int64_t d = (int64_t)blockIdx.x * TRANSPOSE_THREADS + threadIdx.x,
                  n_groups = ts_cuda_parts(size.n_slices, PIXEL_SLICES),
                  slice = size.n_rows * size.n_columns;
    if (d >= size.n_detectors)
        return;
    for (int64_t i = blockIdx.y; i < n_groups * size.n_views; i += gridDim.y) {
        const Ray ray(views, i % size.n_views, d);
        const int64_t z = i / size.n_views * PIXEL_SLICES,
                      n_lines = ray.along_rows ? size.n_rows : size.n_columns,
                      n = ray.along_rows ? size.n_columns : size.n_rows;
        const int slices = (int)min((int64_t)PIXEL_SLICES, size.n_slices - z);
        float totals[PIXEL_SLICES] = {};
        for (int64_t first = 0; first < n_lines; first += LINES) {
            float sums[PIXEL_SLICES] = {};
            for (int64_t line = first; line < min(first + LINES, n_lines); line++) {
                const struct transpose_pixels pixels = ray.on_line(line, n);
                for (int64_t p = pixels.first; p < pixels.end; p++) {
                    const int64_t row = ray.along_rows ? line : p,
                                  column = ray.along_rows ? p : line;
                    const float weight = ray.weight(row, column);
                    const float *pixel = volume + z * slice + row * size.n_columns + column;
#pragma unroll
                    for (int s = 0; s < PIXEL_SLICES; s++)
                        if (s < slices)
                            sums[s] = __fmaf_rn(weight, __ldg(pixel + s * slice), sums[s]);
                }
            }
#pragma unroll
            for (int s = 0; s < PIXEL_SLICES; s++)
                totals[s] += sums[s];
        }
#pragma unroll
        for (int s = 0; s < PIXEL_SLICES; s++)
            if (s < slices)
                out[((z + s) * size.n_views + ray.view_index) * size.n_detectors + d] = totals[s];
    }
}

template <class Ray, class Views>
static enum ts_status back_transpose_launch(const struct stage_context *context,
                                            const struct ts_image *in, struct ts_image *out,
                                            const Views &views, cudaStream_t stream)
{
    const struct transpose_size size = {in->axes[0].n, in->axes[1].n, in->axes[2].n, out->axes[1].n,
                                        out->axes[2].n};
    const int64_t parts = ts_cuda_parts(size.n_slices, PIXEL_SLICES) * size.n_views;
    const dim3 grid((unsigned)ts_cuda_parts(size.n_detectors, TRANSPOSE_THREADS),
                    (unsigned)(parts < 65535 ? parts : 65535));
    transpose<Ray><<<grid, TRANSPOSE_THREADS, 0, stream>>>((const float *)in->data,
                                                           (float *)out->data, views, size);
    return ts_cuda_launched(context, "transpose");
}

/* ---- all steps ------------------------------------------------------------------------------- */

static enum ts_status back_transpose_map(const struct stage_context *context,
                                         const struct ts_image *in, struct ts_image *out,
                                         const struct cuda_call *call)
{
    const struct stage_context forth = ts_back_transpose_forth(context);
    const struct row_filter filter = ts_reconstruction_filter(&forth);
    const bool is_fan = ts_image_is_fan(&forth.in);
    const void *tables = ts_cuda_reconstruction_tables(&forth, call->constants);
    enum ts_status status;
    if (is_fan) {
        const struct beam_scan scan = ts_reconstruction_scan(&forth);
        const struct transpose_fans fans = {(const struct fan_view *)tables,
                                            detectors_of(&forth, call->constants), scan.grid,
                                            ts_fan_grid(&scan)};
        status = back_transpose_launch<fan_ray>(context, in, out, fans, call->stream);
    } else {
        status = back_transpose_launch<parallel_ray>(
            context, in, out, (const struct cuda_back_views *)tables, call->stream);
    }
    if (status == TS_OK && filter.name != ROW_FILTER_NONE)
        status = ts_cuda_row_filter_run(&forth, &filter, out, (float *)out->data, call->constants,
                                        call->scratch, call);
    return status == TS_OK && is_fan
               ? ts_cuda_fan_weigh(&forth, out, (float *)out->data, tables, call->stream)
               : status;
}

const struct stage_cuda back_transpose_cuda = {
    .constants_bytes = back_transpose_constants_bytes,
    .constants = back_transpose_constants,
    .scratch_bytes = back_transpose_scratch,
    .map = back_transpose_map,
    .transforms = back_transpose_transforms,
};
