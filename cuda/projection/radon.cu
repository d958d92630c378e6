/* SPDX-License-Identifier: Apache-2.0
 *
 * radon on the device: the tables of views and rays, the choice of method, and method `ray`, of a parallel beam and of
 * a fan. (z, y, x) -> (z, view, detector).
 *
 * ray (P. M. Joseph, IEEE Trans. Med. Imaging 1, 1982): one thread computes one sample of the sinogram. It walks along
 * its ray, with one linear interpolation in every line of the major axis, and writes the sum once. Rays along columns
 * read a copy of the slices with rows and columns exchanged, so that neighboring rays always read neighboring pixels.
 * In a fan every thread works out its own ray; where neighbors have different major axes, a warp takes both ways in
 * turn.
 *
 * Memory: every pixel is read about twice for each view from the caches, and from device memory about once for as many
 * views as run at once; the copy reads and writes each pixel once; 4 bytes are written a ray. A block is 128
 * neighboring rays of one view: neighbors read the same cache lines, and more would leave threads idle where a scan has
 * few detector pixels.
 */
#include "cuda/projection/radon_methods.cuh"

#include "cuda/projection/joseph.cuh"
#include "cuda/values/transpose.cuh"

enum { RAY_THREADS = 128, RAY_BLOCKS = 1 << 24 };

static size_t constants_bytes(const struct stage_context *context)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    return ts_image_is_fan(&context->out) ? ts_cuda_joseph_constants_bytes(&scan) : ts_cuda_beams_bytes(scan.n_views);
}

static void constants(const struct stage_context *context, void *host)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    const int64_t n_views = scan.n_views;
    struct cuda_beams *table = (struct cuda_beams *)host;
    if (ts_image_is_fan(&context->out)) {
        ts_cuda_joseph_constants(&scan, host);
        return;
    }
    for (int64_t v = 0; v < n_views; v++) {
        const struct beam_view view = ts_beam_view(&scan.grid, ts_beam_scan_angle(&scan, v));
        table->beams[v] = ts_cuda_beam(&view, v);
    }
    ts_cuda_beams_sort(table, n_views);
}

/* ---- ray --------------------------------------------------------------------------------------- */

/* Sums Joseph's samples along a ray that is at `start` on line 0; lines of n_minor pixels follow each other. */
template <typename T>
static __device__ __forceinline__ float along_ray(const T *slice, double start, double per_major, int n_major,
                                                  int n_minor)
{
    int first, end;
    ts_cuda_beam_lines(start, per_major, 0, n_major, n_minor, &first, &end);
    if (first >= end)
        return 0;
    const T *line = slice + (int64_t)first * n_minor;
    const int64_t step = ts_cuda_fixed(per_major);
    int64_t at = ts_cuda_fixed(start + first * per_major) + TS_CUDA_BEAM_HALF;
    float total = 0;
    for (int m = first; m < end;) {
        const int stop = min(end, m / RADON_LINES * RADON_LINES + RADON_LINES);
        float sum = 0;
        for (; m < stop; m++, at += step, line += n_minor) {
            const int i = (int)(at >> 32);
            const float weight = ts_cuda_beam_weight((uint32_t)at);
            const float below = (unsigned)i < (unsigned)n_minor ? (float)line[i] : 0;
            const float above = (unsigned)(i + 1) < (unsigned)n_minor ? (float)line[i + 1] : 0;
            sum = __fmaf_rn(weight - 1, above, __fmaf_rn(2 - weight, below, sum));
        }
        total += sum;
    }
    return total;
}

/* The rays of a parallel beam, whose views are sorted in a table. */
struct parallel_rays {
    typedef struct cuda_beam view;
    const struct cuda_beams *table;
    int64_t n_views;

    __device__ __forceinline__ view view_of(int64_t index) const
    {
        return table->beams[index];
    }
    /* Returns the view with `base` moved to the ray's place on line 0. */
    __device__ __forceinline__ struct cuda_beam ray_of(const view &view, int64_t detector) const
    {
        struct cuda_beam ray = view;
        ray.base += (double)detector * view.per_detector;
        return ray;
    }
};

/* These are the rays of a fan, in the same form. */
struct fan_rays {
    typedef int64_t view;
    struct beam_geometry grid;
    const struct beam_angle *angles;
    const struct beam_detector *detectors;
    int64_t n_views;

    __device__ __forceinline__ view view_of(int64_t index) const
    {
        return index;
    }
    __device__ __forceinline__ struct cuda_beam ray_of(const view &view, int64_t detector) const
    {
        const struct beam_ray ray = ts_beam_ray(&grid, angles[view], detectors[detector]);
        return {ray.base, ray.per_major, 0, (float)ray.length_mm, (int32_t)view, ray.along_rows};
    }
};

/* grid: any number of blocks. */
template <typename T, class Rays>
static __global__ void __launch_bounds__(RAY_THREADS)
    project_rays(const T *in, const T *transposed, float *out, Rays rays, int64_t nz, int ny, int nx, int n_detectors,
                 const int32_t *halt)
{
    if (halt && *halt)
        return;
    const int64_t parts = ts_cuda_parts(n_detectors, RAY_THREADS), n_views = rays.n_views;
    for (int64_t task = blockIdx.x; task < nz * n_views * parts; task += gridDim.x) {
        const typename Rays::view view = rays.view_of(task / parts % n_views);
        const int64_t z = task / parts / n_views, detector = task % parts * RAY_THREADS + threadIdx.x;
        if (detector >= n_detectors)
            continue;
        const struct cuda_beam ray = rays.ray_of(view, detector);
        const T *slice = (ray.along_rows ? in : transposed) + z * ny * nx;
        const float sum = along_ray(slice, ray.base, ray.per_major, ray.along_rows ? ny : nx, ray.along_rows ? nx : ny);
        out[(z * n_views + ray.view) * n_detectors + detector] = sum * ray.length_mm;
    }
}

template <class Rays>
static enum ts_status by_rays(const struct stage_context *context, const Rays &rays, const struct ts_image *in,
                              struct ts_image *out, const struct cuda_call *call)
{
    const int64_t nz = out->axes[0].n, n_detectors = out->axes[2].n;
    const int64_t tasks = nz * out->axes[1].n * ts_cuda_parts(n_detectors, RAY_THREADS);
    const unsigned blocks = (unsigned)(tasks < RAY_BLOCKS ? tasks : RAY_BLOCKS);
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const enum ts_status status = ts_cuda_transpose(context, in, call->scratch, call->stream);
    if (status != TS_OK)
        return status;
#define LAUNCH(T)                                                                                                      \
    project_rays<T><<<blocks, RAY_THREADS, 0, call->stream>>>((const T *)in->data, (const T *)call->scratch,           \
                                                              (float *)out->data, rays, nz, ny, nx, (int)n_detectors,  \
                                                              context->halt)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "project_rays");
}

/* ---- methods ----------------------------------------------------------------------------------- */

static int32_t method_of(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    switch (method_of(context)) {
    case RADON_ROW_FAN_IN:
        return ts_cuda_radon_rows_scratch(context, n);
    case RADON_STACK:
        return ts_image_is_fan(&context->out) ? ts_cuda_joseph_project_scratch(&scan, n)
                                              : ts_cuda_radon_stack_scratch(context, n);
    case RADON_TENSOR:
    case RADON_TENSOR_SPLIT:
        return ts_cuda_radon_tensor_scratch(context, n);
    default:
        return (size_t)n * ts_slice_bytes(&context->in);
    }
}

/* The slices of a slab that fill the threads of methods with slices side by side. More would make them faster still,
 * but the slabs large. */
static int64_t least_slices(const struct stage_context *context)
{
    const int32_t method = method_of(context);
    return method == RADON_STACK ? 32 : method == RADON_TENSOR || method == RADON_TENSOR_SPLIT ? 64 : 1;
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    switch (method_of(context)) {
    case RADON_ROW_FAN_IN:
        return ts_cuda_radon_rows(context, in, out, call);
    case RADON_STACK:
        return ts_image_is_fan(&context->out) ? ts_cuda_joseph_project(context, &scan, in, out, call)
                                              : ts_cuda_radon_stack(context, in, out, call);
    case RADON_TENSOR:
    case RADON_TENSOR_SPLIT:
        return ts_cuda_radon_tensor(context, in, out, call);
    default:
        break;
    }
    if (ts_image_is_fan(&context->out)) {
        const struct cuda_joseph tables = ts_cuda_joseph_tables(&scan, call->constants);
        const struct fan_rays rays = {scan.grid, tables.angles, tables.detectors, scan.n_views};
        return by_rays(context, rays, in, out, call);
    }
    const struct parallel_rays rays = {(const struct cuda_beams *)call->constants, scan.n_views};
    return by_rays(context, rays, in, out, call);
}

const struct stage_cuda radon_cuda = {
    .constants_bytes = constants_bytes,
    .constants = constants,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .least_slices = least_slices,
};
