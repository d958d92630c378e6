/* SPDX-License-Identifier: Apache-2.0
 *
 * ring on a CUDA device, method fourier-wavelet (stages/scan/ring_wavelet.h), with sums in the
 * order of the CPU code. A thread makes one value: of a filter along the views or along the
 * detector, of a Fourier coefficient along the views (a wave), or of a part that is restored from
 * its waves. Neighboring threads take neighboring detector pixels, so the loads of a warp are side
 * by side, or in every second place.
 *
 * Over all levels about 13 bytes a value are moved on the way down, and as many on the way up (8 of
 * them at the finest level); the taps of a filter overlap and come from the caches. A block is 256
 * threads, 64 along the detector, because neighbors in view share their taps.
 */
#include "cuda/scan/ring_wavelet.cuh"
#include "cuda/values/border.cuh"

extern "C" {
#include "core/memory.h"
#include "stages/scan/ring_wavelet.h"
}

enum { COLUMNS = 64, ROWS = 4, AT_ONCE = 16 };

/* The buffers of one slice; those of the next slice begin `floats` floats further. */
struct wavelet_buffers {
    float *image, *half, *odd, *even, *parts, *waves;
    int64_t floats;
};

static float *add_floats(struct memory_layout *layout, int64_t n)
{
    return (float *)ts_layout_add(layout, (size_t)n * sizeof(float));
}

static struct wavelet_buffers lay_out(const struct stage_context *context,
                                      const struct ring_levels *levels, void *base)
{
    const struct ring_level *first = &levels->at[0], *second = &levels->at[levels->n > 1 ? 1 : 0];
    struct memory_layout layout = {base, CUDA_ALIGNMENT, 0};
    struct wavelet_buffers buffers;
    int64_t waves = 0;
    for (int i = 0; i < levels->n; i++) {
        const int64_t of_level = 2 * levels->at[i].waves * levels->at[i].half_detectors;
        waves = of_level > waves ? of_level : waves;
    }
    buffers.image =
        add_floats(&layout, context->in.dtype == TS_F32 ? 0 : first->views * first->detectors);
    buffers.half = add_floats(&layout, first->half_views * first->detectors);
    buffers.odd = add_floats(&layout, first->half_views * first->half_detectors);
    buffers.even = add_floats(&layout, second->half_views * second->half_detectors);
    buffers.parts = add_floats(&layout, levels->parts);
    buffers.waves = add_floats(&layout, waves);
    buffers.floats = (int64_t)(layout.bytes / sizeof(float));
    return buffers;
}

static int64_t slices_at_once(int64_t n)
{
    return n < AT_ONCE ? n : AT_ONCE;
}

size_t ts_cuda_ring_wavelet_scratch(const struct stage_context *context, int64_t n)
{
    struct ring_levels levels;
    ts_ring_levels(context, &levels);
    return (size_t)(lay_out(context, &levels, NULL).floats * slices_at_once(n)) * sizeof(float);
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* A thread's row and column; its slice is blockIdx.z. */
struct cell {
    int64_t row, column;
};

static __device__ struct cell cell_of_thread(void)
{
    const struct cell cell = {(int64_t)blockIdx.y * ROWS + threadIdx.y,
                              (int64_t)blockIdx.x * COLUMNS + threadIdx.x};
    return cell;
}

template <typename T>
static __global__ void __launch_bounds__(COLUMNS *ROWS)
    convert(const T *in, float *out, int64_t rows, int64_t columns, int64_t stride)
{
    const struct cell cell = cell_of_thread();
    if (cell.row < rows && cell.column < columns)
        out[blockIdx.z * stride + cell.row * columns + cell.column] =
            (float)in[(blockIdx.z * rows + cell.row) * columns + cell.column];
}

static __global__ void __launch_bounds__(COLUMNS *ROWS)
    views_down(struct ring_level level, const float *low, int length, const float *a,
               int64_t a_stride, float *t, int64_t stride)
{
    const struct cell cell = cell_of_thread();
    if (cell.row >= level.half_views || cell.column >= level.detectors)
        return;
    a += blockIdx.z * a_stride + cell.column;
    const int64_t last = 2 * cell.row + 1;
    float sum = 0;
    if (last < level.views && last >= length - 1) {
        const float *tap = a + last * level.detectors;
#pragma unroll 2
        for (int j = 0; j < length; j++, tap -= level.detectors)
            sum += low[j] * *tap;
    } else {
        for (int j = 0; j < length; j++)
            sum += low[j] *
                   a[ts_cuda_border_index(last - j, level.views, BORDER_REFLECT) * level.detectors];
    }
    t[blockIdx.z * stride + cell.row * level.detectors + cell.column] = sum;
}

static __global__ void __launch_bounds__(COLUMNS *ROWS)
    detectors_down(struct ring_level level, const float *filters, int length, const float *t,
                   float *a, float *v, int64_t stride)
{
    const struct cell cell = cell_of_thread();
    if (cell.row >= level.half_views || cell.column >= level.half_detectors)
        return;
    t += blockIdx.z * stride + cell.row * level.detectors;
    const int64_t last = 2 * cell.column + 1;
    const bool inside = last < level.detectors && last >= length - 1;
    float low = 0, high = 0;
#pragma unroll 2
    for (int j = 0; j < length; j++) {
        const float value =
            t[inside ? last - j : ts_cuda_border_index(last - j, level.detectors, BORDER_REFLECT)];
        low += filters[j] * value;
        high += filters[length + j] * value;
    }
    const int64_t at = blockIdx.z * stride + cell.row * level.half_detectors + cell.column;
    a[at] = low;
    v[at] = high;
}

/* `cosines` is the level's table, which continues with sines and weights. A block does ROWS
 * waves. */
static __global__ void __launch_bounds__(COLUMNS *ROWS)
    find_waves(struct ring_level level, const float *cosines, const float *v, float *waves,
               int64_t stride)
{
    const struct cell cell = cell_of_thread();
    const int64_t n = level.half_views, columns = level.half_detectors;
    if (cell.row >= level.waves || cell.column >= columns)
        return;
    v += blockIdx.z * stride + cell.column;
    float cosine = 0, sine = 0;
#pragma unroll 4
    for (int64_t view = 0, at = 0; view < n; view++) {
        const float value = v[view * columns];
        cosine += cosines[at] * value;
        sine += cosines[n + at] * value;
        at = at + cell.row < n ? at + cell.row : at + cell.row - n;
    }
    waves += blockIdx.z * stride + 2 * cell.row * columns + cell.column;
    waves[0] = cosine;
    waves[columns] = sine;
}

static __global__ void __launch_bounds__(COLUMNS *ROWS)
    sum_waves(struct ring_level level, const float *cosines, const float *waves, float *v,
              int64_t stride)
{
    const struct cell cell = cell_of_thread();
    const int64_t n = level.half_views, columns = level.half_detectors;
    if (cell.row >= n || cell.column >= columns)
        return;
    waves += blockIdx.z * stride + cell.column;
    float sum = 0;
    for (int64_t k = 0, at = 0; k < level.waves; k++) {
        const float weight = cosines[2 * n + k];
        sum += weight * cosines[at] * waves[2 * k * columns] +
               weight * cosines[n + at] * waves[(2 * k + 1) * columns];
        at = at + cell.row < n ? at + cell.row : at + cell.row - n;
    }
    v[blockIdx.z * stride + cell.row * columns + cell.column] = sum;
}

/* `c` is NULL if there is none. */
static __global__ void __launch_bounds__(COLUMNS *ROWS)
    detectors_up(struct ring_level level, const float *filters, int length, const float *c,
                 const float *v, float *t, int64_t stride)
{
    const struct cell cell = cell_of_thread();
    if (cell.row >= level.half_views || cell.column >= level.detectors)
        return;
    const int64_t at = blockIdx.z * stride + cell.row * level.half_detectors + cell.column / 2;
    const int first = 1 - (int)(cell.column % 2);
    float sum = 0;
    for (int q = 0; c && q < length / 2; q++)
        sum += filters[first + 2 * q] * c[at + q];
    for (int q = 0; q < length / 2; q++)
        sum += filters[length + first + 2 * q] * v[at + q];
    t[blockIdx.z * stride + cell.row * level.detectors + cell.column] = sum;
}

/* Writes image - c, or c itself if image is NULL. */
static __global__ void __launch_bounds__(COLUMNS *ROWS)
    views_up(struct ring_level level, const float *low, int length, const float *t, int64_t stride,
             const float *image, int64_t image_stride, float *out, int64_t out_stride)
{
    const struct cell cell = cell_of_thread();
    if (cell.row >= level.views || cell.column >= level.detectors)
        return;
    const int64_t at = cell.row * level.detectors + cell.column;
    const int first = 1 - (int)(cell.row % 2);
    t += blockIdx.z * stride + cell.row / 2 * level.detectors + cell.column;
    float sum = 0;
    for (int q = 0; q < length / 2; q++)
        sum += low[first + 2 * q] * t[q * level.detectors];
    out[blockIdx.z * out_stride + at] = image ? image[blockIdx.z * image_stride + at] - sum : sum;
}

/* ---- launch ---------------------------------------------------------------------------------- */

static dim3 blocks_of(int64_t rows, int64_t columns, int64_t n)
{
    return dim3((unsigned)ts_cuda_parts(columns, COLUMNS), (unsigned)ts_cuda_parts(rows, ROWS),
                (unsigned)n);
}

struct wavelet_job {
    const struct stage_context *context;
    const struct ring_levels *levels;
    struct wavelet_buffers buffers;
    const float *tables, *image; /* image: the input as floats */
    int64_t image_stride, n;
    cudaStream_t stream;
};

static enum ts_status go_down(const struct wavelet_job *job)
{
    const struct wavelet_buffers *buffers = &job->buffers;
    const dim3 threads(COLUMNS, ROWS);
    const float *a = job->image;
    int64_t a_stride = job->image_stride;
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < job->levels->n; i++) {
        const struct ring_level level = job->levels->at[i];
        const float *cosines = job->tables + level.table;
        float *next = i % 2 ? buffers->even : buffers->odd, *v = buffers->parts + level.part;
        const int length = job->levels->length;
        views_down<<<blocks_of(level.half_views, level.detectors, job->n), threads, 0,
                     job->stream>>>(level, job->tables, length, a, a_stride, buffers->half,
                                    buffers->floats);
        detectors_down<<<blocks_of(level.half_views, level.half_detectors, job->n), threads, 0,
                         job->stream>>>(level, job->tables, length, buffers->half, next, v,
                                        buffers->floats);
        find_waves<<<blocks_of(level.waves, level.half_detectors, job->n), threads, 0,
                     job->stream>>>(level, cosines, v, buffers->waves, buffers->floats);
        sum_waves<<<blocks_of(level.half_views, level.half_detectors, job->n), threads, 0,
                    job->stream>>>(level, cosines, buffers->waves, v, buffers->floats);
        status =
            ts_cuda_launched(job->context, "views_down, detectors_down, find_waves, sum_waves");
        a = next;
        a_stride = buffers->floats;
    }
    return status;
}

static enum ts_status go_up(const struct wavelet_job *job, float *out)
{
    const struct wavelet_buffers *buffers = &job->buffers;
    const dim3 threads(COLUMNS, ROWS);
    const float *c = NULL;
    enum ts_status status = TS_OK;
    for (int i = job->levels->n - 1; status == TS_OK && i >= 0; i--) {
        const struct ring_level level = job->levels->at[i];
        const int length = job->levels->length;
        float *next = i == 0 ? out : i % 2 ? buffers->odd : buffers->even;
        detectors_up<<<blocks_of(level.half_views, level.detectors, job->n), threads, 0,
                       job->stream>>>(level, job->tables, length, c, buffers->parts + level.part,
                                      buffers->half, buffers->floats);
        views_up<<<blocks_of(level.views, level.detectors, job->n), threads, 0, job->stream>>>(
            level, job->tables, length, buffers->half, buffers->floats, i == 0 ? job->image : NULL,
            job->image_stride, next, i == 0 ? level.views * level.detectors : buffers->floats);
        status = ts_cuda_launched(job->context, "detectors_up, views_up");
        c = next;
    }
    return status;
}

enum ts_status ts_cuda_ring_wavelet(const struct stage_context *context, const struct ts_image *in,
                                    struct ts_image *out, const struct cuda_call *call)
{
    struct ring_levels levels;
    const int64_t n = out->axes[0].n, views = in->axes[1].n, detectors = in->axes[2].n;
    const bool converted = in->dtype != TS_F32;
    enum ts_status status = TS_OK;
    ts_ring_levels(context, &levels);
    struct wavelet_job job = {.context = context,
                              .levels = &levels,
                              .tables = (const float *)call->constants,
                              .stream = call->stream};
    job.buffers = lay_out(context, &levels, call->scratch);
    job.image_stride = converted ? job.buffers.floats : views * detectors;
    for (int64_t z = 0; status == TS_OK && z < n; z += AT_ONCE) {
        job.n = n - z < AT_ONCE ? n - z : AT_ONCE;
        const void *from = (const char *)in->data + (size_t)z * ts_slice_bytes(in);
        job.image = converted ? job.buffers.image : (const float *)from;
        if (converted) {
#define CONVERT(T)                                                                                 \
    convert<T><<<blocks_of(views, detectors, job.n), dim3(COLUMNS, ROWS), 0, call->stream>>>(      \
        (const T *)from, job.buffers.image, views, detectors, job.buffers.floats)
            TS_CUDA_DTYPES(in->dtype, CONVERT)
#undef CONVERT
            status = ts_cuda_launched(context, "convert");
        }
        if (status == TS_OK)
            status = go_down(&job);
        if (status == TS_OK)
            status = go_up(&job, (float *)out->data + z * views * detectors);
    }
    return status;
}
