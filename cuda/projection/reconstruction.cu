/* SPDX-License-Identifier: Apache-2.0
 *
 * This filters and backprojects by the method chosen, and has the method `pixel` for a parallel
 * beam. (z, view, detector) -> (z, y, x).
 *
 * pixel: one thread goes through all views for one pixel of one slice, two loads and two products
 * each (more for rays closer than a pixel). Views are summed 32 at a time from view 0, then these
 * sums in rising order. Memory: 8 bytes a view and pixel, nine of ten from the first cache; 4 bytes
 * are written a pixel. Blocks are 32 x 8 pixels, because their rays meet neighboring detector
 * pixels.
 */
#include "cuda/projection/reconstruction.cuh"

#include "cuda/projection/back_methods.cuh"
#include "cuda/projection/joseph.cuh"
#include "cuda/projection/row_filter.cuh"
#include "cuda/values/slice_maximum.cuh"

enum {
    PIXEL_COLUMNS = 32,
    PIXEL_ROWS = 8,
    PIXEL_VIEWS = 32,
    RARE_PARTS = 256 /* rows are cut into so many parts if few slices have work, because idle blocks
                      * take time */
};

/* ---- constants and scratch ------------------------------------------------------------------- */

STAGE_PARAMS_OF(reconstruction_params)

/* Constants are the response of the filter, then the views; behind them, only on the host, is the
 * scratch in which they are computed. */
static size_t response_bytes(const struct stage_context *context)
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    return ts_cuda_stride(ts_cuda_row_filter_constants_bytes(context, &filter));
}

const void *ts_cuda_reconstruction_tables(const struct stage_context *context,
                                          const void *constants)
{
    return (const char *)constants + response_bytes(context);
}

size_t ts_cuda_reconstruction_constants_bytes(const struct stage_context *context)
{
    const size_t n = (size_t)context->in.axes[1].n;
    if (ts_reconstruction_goes_by_rays(context)) {
        const struct beam_scan scan = ts_reconstruction_scan(context);
        return ts_cuda_joseph_constants_bytes(&scan);
    }
    if (ts_image_is_fan(&context->in))
        return response_bytes(context) + ts_cuda_fan_constants_bytes(context);
    return response_bytes(context) + ts_cuda_stride(ts_cuda_back_views_bytes((int64_t)n)) +
           n * (sizeof(struct back_view) + VIEW_SCRATCH_BYTES);
}

void ts_cuda_reconstruction_constants(const struct stage_context *context, void *host)
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    const int64_t n = context->in.axes[1].n;
    char *table = (char *)host + response_bytes(context);
    if (ts_reconstruction_goes_by_rays(context)) {
        const struct beam_scan scan = ts_reconstruction_scan(context);
        ts_cuda_joseph_constants(&scan, host);
        return;
    }
    struct back_view *views =
        (struct back_view *)(table + ts_cuda_stride(ts_cuda_back_views_bytes(n)));
    ts_cuda_row_filter_constants(context, &filter, host);
    if (ts_image_is_fan(&context->in)) {
        ts_cuda_fan_constants(context, table);
        return;
    }
    ts_reconstruction_views(context, views, views + n);
    ts_cuda_back_views_fill(views, n, (struct cuda_back_views *)table);
}

static bool is_tensor(const struct stage_context *context)
{
    return params_of(context)->method == BACK_METHOD_TENSOR ||
           params_of(context)->method == BACK_METHOD_TENSOR_SPLIT;
}

/* Returns true if Joseph's weights are summed for many slices at once. */
static bool is_side_by_side(const struct stage_context *context)
{
    return params_of(context)->method != BACK_METHOD_PIXEL;
}

/* Returns true if rows are copied: they are if they are filtered or weighed, or if they are not
 * float and the method reads floats. */
static bool makes_rows(const struct stage_context *context)
{
    return params_of(context)->filter != ROW_FILTER_NONE || ts_image_is_fan(&context->in) ||
           (params_of(context)->method == BACK_METHOD_PIXEL && context->in.dtype != TS_F32);
}

static size_t rows_bytes(const struct stage_context *context, int64_t n)
{
    return makes_rows(context)
               ? ts_cuda_stride((size_t)n * ts_slice_count(&context->in) * sizeof(float))
               : 0;
}

/* Scratch is the rows, then what each step needs in turn. */
size_t ts_cuda_reconstruction_scratch(const struct stage_context *context, int64_t n)
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    if (ts_reconstruction_goes_by_rays(context)) {
        const struct beam_scan scan = ts_reconstruction_scan(context);
        return ts_cuda_joseph_back_scratch(&scan, is_side_by_side(context), n);
    }
    const size_t a = ts_cuda_row_filter_scratch(context, &filter),
                 b = is_tensor(context) ? ts_cuda_back_tensor_scratch(context, n)
                     : params_of(context)->method == BACK_METHOD_STACK
                         ? ts_cuda_back_stack_scratch(context, n)
                         : 0;
    return rows_bytes(context, n) + (a > b ? a : b);
}

/* Methods with slices side by side get whole groups of slices: their sums take longer than the
 * transfers that shorter slabs would hide. */
int64_t ts_cuda_reconstruction_least_slices(const struct stage_context *context)
{
    return is_tensor(context) || params_of(context)->method == BACK_METHOD_STACK ? 128 : 1;
}

int ts_cuda_reconstruction_transforms(const struct stage_context *context,
                                      struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    return ts_cuda_row_filter_transforms(context, &filter, shapes);
}

/* ---- pixel ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ float sample(const float *row, int64_t at, int n_detectors)
{
    return at >= 0 && at < n_detectors ? __ldg(row + at) : 0;
}

/* Returns true if any slice has a NaN or an infinity. The whole block calls it. */
static __device__ __forceinline__ bool any_no_number(const uint32_t *maxima, int64_t nz)
{
    int any = 0;
    for (int64_t z = threadIdx.y * PIXEL_COLUMNS + threadIdx.x; z < nz;
         z += PIXEL_COLUMNS * PIXEL_ROWS)
        any |= maxima[z] >= SLICE_MAXIMUM_NOT_FINITE;
    return __syncthreads_or(any);
}

/* The grid counts parts of a row, and parts of the rows of all slices (any number). `maxima` are
 * the largest magnitudes: only slices that have a NaN or an infinity are done; NULL: all are. */
static __global__ void __launch_bounds__(PIXEL_COLUMNS *PIXEL_ROWS)
    pixels(const float *sinogram, float *out, const struct cuda_back_views *table, int64_t nz,
           int n_rows, int n_columns, int n_detectors, const uint32_t *maxima, const int32_t *halt)
{
    const int column = (int)(blockIdx.x * PIXEL_COLUMNS + threadIdx.x);
    const int64_t n_views = table->n, step = (int64_t)gridDim.y * PIXEL_ROWS;
    if (maxima && !any_no_number(maxima, nz))
        return;
    if (column >= n_columns || (halt && *halt))
        return;
    for (int64_t i = (int64_t)blockIdx.y * PIXEL_ROWS + threadIdx.y; i < nz * n_rows; i += step) {
        const int64_t row = i % n_rows;
        if (maxima && maxima[i / n_rows] < SLICE_MAXIMUM_NOT_FINITE)
            continue;
        const float *slice = sinogram + i / n_rows * n_views * n_detectors;
        float total = 0;
        for (int64_t first = 0; first < n_views; first += PIXEL_VIEWS) {
            const int64_t end = first + PIXEL_VIEWS < n_views ? first + PIXEL_VIEWS : n_views;
            float sum = 0;
            for (int64_t v = first; v < end; v++) {
                const struct cuda_back_view view = table->at[v];
                const int64_t at = view.base + row * view.per_row + column * view.per_column,
                              whole = at >> 32;
                const float *line = slice + (int64_t)view.view * n_detectors,
                            past = ts_cuda_back_past(at);
                for (int k = 1 - view.reach; k <= view.reach; k++)
                    sum = __fmaf_rn(ts_cuda_back_weight(&view, fabsf((float)k - past)),
                                    sample(line, whole + k, n_detectors), sum);
            }
            total += sum;
        }
        out[i * n_columns + column] = total;
    }
}

static enum ts_status pixel(const struct stage_context *context, const struct ts_image *sinogram,
                            struct ts_image *out, const struct cuda_back_views *table,
                            const uint32_t *maxima, cudaStream_t stream)
{
    const int64_t nz = out->axes[0].n, ny = out->axes[1].n, nx = out->axes[2].n;
    const int64_t parts = ts_cuda_parts(nz * ny, PIXEL_ROWS), most = maxima ? RARE_PARTS : 65535;
    const dim3 grid((unsigned)ts_cuda_parts(nx, PIXEL_COLUMNS),
                    (unsigned)(parts < most ? parts : most));
    const dim3 block(PIXEL_COLUMNS, PIXEL_ROWS);
    pixels<<<grid, block, 0, stream>>>((const float *)sinogram->data, (float *)out->data, table, nz,
                                       (int)ny, (int)nx, (int)sinogram->axes[2].n, maxima,
                                       context->halt);
    return ts_cuda_launched(context, "pixels");
}

static enum ts_status by_rays(const struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, const struct cuda_call *call)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    return ts_cuda_joseph_back(context, &scan, in, out, is_side_by_side(context), call);
}

/* Reconstructs a fan: weights, filter in place, backprojection. */
static enum ts_status fan(const struct stage_context *context, const struct ts_image *in,
                          struct ts_image *out, const struct row_filter *filter,
                          const struct cuda_call *call)
{
    const void *tables = ts_cuda_reconstruction_tables(context, call->constants);
    char *step = (char *)call->scratch + rows_bytes(context, in->axes[0].n);
    struct ts_image sinogram = *in;
    sinogram.data = call->scratch;
    sinogram.dtype = TS_F32;
    enum ts_status status =
        ts_cuda_fan_weigh(context, in, (float *)call->scratch, tables, call->stream);
    if (status == TS_OK && filter->name != ROW_FILTER_NONE)
        status = ts_cuda_row_filter_run(context, filter, &sinogram, (float *)call->scratch,
                                        call->constants, step, call);
    return status == TS_OK ? ts_cuda_fan_back(context, &sinogram, out, tables, step, call->stream)
                           : status;
}

/* ---- both steps ------------------------------------------------------------------------------ */

enum ts_status ts_cuda_reconstruction_map(const struct stage_context *context,
                                          const struct ts_image *in, struct ts_image *out,
                                          const struct cuda_call *call)
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    const struct cuda_back_views *table =
        (const struct cuda_back_views *)ts_cuda_reconstruction_tables(context, call->constants);
    char *step = (char *)call->scratch + rows_bytes(context, in->axes[0].n);
    struct ts_image sinogram = *in;
    if (ts_reconstruction_goes_by_rays(context))
        return by_rays(context, in, out, call);
    if (ts_image_is_fan(&context->in))
        return fan(context, in, out, &filter, call);
    if (makes_rows(context)) {
        const enum ts_status status = ts_cuda_row_filter_run(
            context, &filter, in, (float *)call->scratch, call->constants, step, call);
        if (status != TS_OK)
            return status;
        sinogram.data = call->scratch;
        sinogram.dtype = TS_F32;
    }
    if (is_tensor(context)) {
        /* If the rows are the stage's input, its reduction has already checked that they are
         * finite, and found their maxima. */
        const void *known = sinogram.data == in->data && in->dtype == TS_F32 ? call->result : NULL;
        const enum ts_status status =
            ts_cuda_back_tensor(context, &sinogram, known, out, table, step, call->stream);
        /* Weights of 0 would spread a NaN over whole windows, so method pixel does the slices that
         * have one. */
        return status == TS_OK && sinogram.dtype == TS_F32 && !known
                   ? pixel(context, &sinogram, out, table, (const uint32_t *)(const void *)step,
                           call->stream)
                   : status;
    }
    return params_of(context)->method == BACK_METHOD_STACK
               ? ts_cuda_back_stack(context, &sinogram, out, table, step, call->stream)
               : pixel(context, &sinogram, out, table, NULL, call->stream);
}
