/* SPDX-License-Identifier: Apache-2.0
 *
 * radon of a fan on the device. (z, y, x) -> (z, view, detector).
 *
 * ray: one thread computes one sample of the sinogram: it works out its own ray and walks along it, as the parallel
 * method does; neighbors may have different major axes, then a warp takes both ways in turn. Memory and block as there.
 *
 * stack: cuda/projection/joseph_stack.cu.
 */
#include "cuda/projection/joseph.cuh"
#include "cuda/projection/radon_ray.cuh"
#include "cuda/values/transpose.cuh"

struct fan_size {
    struct beam_geometry grid;
    int64_t nz, n_views, n_detectors;
};

template <typename T>
static __global__ void __launch_bounds__(RAY_THREADS)
    fan_rays(const T *in, const T *turned, float *out, const struct beam_angle *angles,
             const struct beam_detector *detectors, struct fan_size size, const int32_t *halt)
{
    if (halt && *halt)
        return;
    const int64_t parts = ts_cuda_parts(size.n_detectors, RAY_THREADS);
    const int ny = (int)size.grid.n_rows, nx = (int)size.grid.n_columns;
    for (int64_t task = blockIdx.x; task < size.nz * size.n_views * parts; task += gridDim.x) {
        const int64_t z = task / parts / size.n_views, view = task / parts % size.n_views,
                      detector = task % parts * RAY_THREADS + threadIdx.x;
        if (detector >= size.n_detectors)
            continue;
        const struct beam_ray ray = ts_beam_ray(&size.grid, angles[view], detectors[detector]);
        const float sum = ts_cuda_along_ray((ray.along_rows ? in : turned) + z * ny * nx, ray.base, ray.per_major,
                                            ray.along_rows ? ny : nx, ray.along_rows ? nx : ny);
        out[(z * size.n_views + view) * size.n_detectors + detector] = sum * (float)ray.length_mm;
    }
}

static enum ts_status ray(const struct stage_context *context, const struct beam_scan *scan, const struct ts_image *in,
                          struct ts_image *out, const struct cuda_call *call)
{
    const struct fan_size size = {scan->grid, out->axes[0].n, scan->n_views, scan->grid.n_detectors};
    const int64_t tasks = size.nz * size.n_views * ts_cuda_parts(size.n_detectors, RAY_THREADS);
    const unsigned blocks = (unsigned)(tasks < RAY_BLOCKS ? tasks : RAY_BLOCKS);
    const struct cuda_joseph tables = ts_cuda_joseph_tables(scan, call->constants);
    const enum ts_status status = ts_cuda_transpose(context, in, call->scratch, call->stream);
    if (status != TS_OK)
        return status;
#define LAUNCH(T)                                                                                                      \
    fan_rays<T><<<blocks, RAY_THREADS, 0, call->stream>>>((const T *)in->data, (const T *)call->scratch,               \
                                                          (float *)out->data, tables.angles, tables.detectors, size,   \
                                                          context->halt)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "fan_rays");
}

static bool is_stack(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method == RADON_STACK;
}

size_t ts_cuda_radon_fan_scratch(const struct stage_context *context, int64_t n)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    return is_stack(context) ? ts_cuda_joseph_stack_scratch(&scan, n) : (size_t)n * ts_slice_bytes(&context->in);
}

enum ts_status ts_cuda_radon_fan(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                                 const struct cuda_call *call)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    return is_stack(context) ? ts_cuda_joseph_stack(context, &scan, in, out, call) : ray(context, &scan, in, out, call);
}
