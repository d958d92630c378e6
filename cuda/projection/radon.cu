/* SPDX-License-Identifier: Apache-2.0
 *
 * radon on the device: the table of views, the choice of method, and the method `ray`.
 *
 * ray (P. M. Joseph, IEEE Trans. Med. Imaging 1, 1982; output-organized): one thread computes one sample of the
 * sinogram: it walks along its ray, one linear interpolation in every line of the major axis, and writes the sum once.
 * (z, y, x) -> (z, view, detector).
 * Views along columns read a copy of the slices with rows and columns exchanged, so that neighboring rays always read
 * neighboring pixels.
 * Memory: every pixel is read about twice for each view from the caches, and from device memory about once for as many
 * views as run at once; the copy reads and writes each pixel once; 4 bytes written a ray. A block is 128 neighboring
 * rays of one view: neighbors read the same cache lines, and more would leave lanes idle where a scan has few
 * detectors.
 */
#include "cuda/projection/radon_methods.cuh"

#include "cuda/projection/joseph.cuh"
#include "cuda/projection/radon_ray.cuh"
#include "cuda/values/transpose.cuh"

static bool is_fan(const struct stage_context *context)
{
    return context->out.beam.kind != TS_BEAM_PARALLEL;
}

static size_t constants_bytes(const struct stage_context *context)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    return is_fan(context) ? ts_cuda_joseph_constants_bytes(&scan) : ts_cuda_beams_bytes(scan.n_views);
}

static void constants(const struct stage_context *context, void *host)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    const int64_t n_views = scan.n_views;
    struct cuda_beams *table = (struct cuda_beams *)host;
    if (is_fan(context)) {
        ts_cuda_joseph_constants(&scan, host);
        return;
    }
    for (int64_t v = 0; v < n_views; v++) {
        const struct beam_view view = ts_beam_view(&scan.grid, ts_beam_scan_angle(&scan, v));
        table->beams[v] = ts_cuda_beam(&view, v);
    }
    ts_cuda_beams_sort(table, n_views);
}

template <typename T>
static __global__ void __launch_bounds__(RAY_THREADS)
    rays(const T *in, const T *turned, float *out, const struct cuda_beams *table, int64_t nz, int ny, int nx,
         int n_detectors, const int32_t *halt)
{
    if (halt && *halt)
        return;
    const int64_t parts = ts_cuda_parts(n_detectors, RAY_THREADS), n_views = table->n;
    for (int64_t task = blockIdx.x; task < nz * n_views * parts; task += gridDim.x) {
        const struct cuda_beam beam = table->beams[task / parts % n_views];
        const int64_t z = task / parts / n_views, detector = task % parts * RAY_THREADS + threadIdx.x;
        const int n_major = beam.along_rows ? ny : nx, n_minor = beam.along_rows ? nx : ny;
        if (detector >= n_detectors)
            continue;
        const T *slice = (beam.along_rows ? in : turned) + z * ny * nx;
        const float sum = ts_cuda_along_ray(slice, beam.base + (double)detector * beam.per_detector, beam.per_major,
                                            n_major, n_minor);
        out[(z * n_views + beam.view) * n_detectors + detector] = sum * beam.length_mm;
    }
}

static enum ts_status ray(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct cuda_beams *table = (const struct cuda_beams *)call->constants;
    const int64_t nz = out->axes[0].n, n_views = out->axes[1].n, n_detectors = out->axes[2].n;
    const int64_t tasks = nz * n_views * ts_cuda_parts(n_detectors, RAY_THREADS);
    const unsigned blocks = (unsigned)(tasks < RAY_BLOCKS ? tasks : RAY_BLOCKS);
    const int ny = (int)in->axes[1].n, nx = (int)in->axes[2].n;
    const enum ts_status status = ts_cuda_transpose(context, in, call->scratch, call->stream);
    if (status != TS_OK)
        return status;
#define LAUNCH(T)                                                                                                      \
    rays<T><<<blocks, RAY_THREADS, 0, call->stream>>>((const T *)in->data, (const T *)call->scratch,                   \
                                                      (float *)out->data, table, nz, ny, nx, (int)n_detectors,         \
                                                      context->halt)
    TS_CUDA_DTYPES(in->dtype, LAUNCH);
#undef LAUNCH
    return ts_cuda_launched(context, "rays");
}

static int32_t method_of(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    if (is_fan(context))
        return ts_cuda_radon_fan_scratch(context, n);
    switch (method_of(context)) {
    case RADON_ROW_FAN_IN:
        return ts_cuda_radon_rows_scratch(context, n);
    case RADON_STACK:
        return ts_cuda_radon_stack_scratch(context, n);
    case RADON_TENSOR:
    case RADON_TENSOR_SPLIT:
        return ts_cuda_radon_tensor_scratch(context, n);
    default:
        return (size_t)n * ts_slice_bytes(&context->in);
    }
}

/* Fewer leave lanes of methods with slices side by side idle; more would make them faster still, but the slabs large.
 */
static int64_t least_slices(const struct stage_context *context)
{
    const int32_t method = method_of(context);
    return method == RADON_STACK ? 32 : method == RADON_TENSOR || method == RADON_TENSOR_SPLIT ? 64 : 1;
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    if (is_fan(context))
        return ts_cuda_radon_fan(context, in, out, call);
    switch (method_of(context)) {
    case RADON_ROW_FAN_IN:
        return ts_cuda_radon_rows(context, in, out, call);
    case RADON_STACK:
        return ts_cuda_radon_stack(context, in, out, call);
    case RADON_TENSOR:
    case RADON_TENSOR_SPLIT:
        return ts_cuda_radon_tensor(context, in, out, call);
    default:
        return ray(context, in, out, call);
    }
}

const struct stage_cuda radon_cuda = {
    .constants_bytes = constants_bytes,
    .constants = constants,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .least_slices = least_slices,
};
