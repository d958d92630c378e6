/* SPDX-License-Identifier: Apache-2.0
 *
 * nlm on a CUDA device. The image is first copied into floats with its border filled in, 4 bytes a pixel written and
 * read again, which is little beside the shifts; then nlm_tile.cuh has the kernel. Where a tile does not fit the shared
 * memory of a block, map_pixels takes its place, in which a thread compares the patches of one pixel value by value.
 */
#include "cuda/denoising/nlm_tile.cuh"

#include "cuda/counting/noise_estimate.cuh"
#include "cuda/values/border.cuh"

extern "C" {
#include "stages/values/scope.h"
}

enum { THREADS = 256, MOST_BLOCKS = 65535 };

STAGE_PARAMS_OF(nlm_params)

/* ---- the noise ----------------------------------------------------------------------------------- */

static enum noise_estimate estimate_of(const struct stage_context *context)
{
    return (enum noise_estimate)params_of(context)->estimate;
}

static size_t partial_bytes(const struct stage_context *context, int)
{
    return ts_cuda_noise_bytes(context, estimate_of(context));
}

static size_t reduce_scratch_bytes(const struct stage_context *context, int, int64_t n)
{
    return ts_cuda_noise_scratch_bytes(context, estimate_of(context), n);
}

static enum ts_status reduce(const struct stage_context *context, int, const struct ts_image *slices, void *partials,
                             const struct cuda_call *call)
{
    const struct nlm_result *result = (const struct nlm_result *)call->result;
    return ts_cuda_noise_add(context, estimate_of(context), slices, &result->noise, (const double *)call->constants,
                             (char *)partials, ts_cuda_stride(partial_bytes(context, 0)), call);
}

static void collect(const struct stage_context *context, int, const void *partial, void *total)
{
    ts_cuda_noise_collect(context, estimate_of(context), (const char *)partial, total);
}

static const struct cuda_reduction reduction = {
    .partial_bytes = partial_bytes,
    .scratch_bytes = reduce_scratch_bytes,
    .reduce = reduce,
    .collect = collect,
};

/* The constant is the percentile that the noise estimate asks for. */
static size_t constants_bytes(const struct stage_context *)
{
    return sizeof(double);
}

static void constants(const struct stage_context *, void *host)
{
    *(double *)host = 50;
}

/* ---- the map ------------------------------------------------------------------------------------- */

/* These are the sizes of the tiles and of the bordered image. */
struct nlm_plan {
    int warps; /* of a block; 0: no tile fits */
    size_t shared_bytes;
    unsigned tiles_x, tiles_y;
    int rows, pitch, pad, pad_z;
};

static struct nlm_plan plan_of(const struct stage_context *context)
{
    const struct nlm_params *params = params_of(context);
    const bool volume = params->dimensions == NLM_3D;
    const int64_t d = params->patch_distance, r = params->patch_size / 2, ny = context->in.axes[1].n;
    struct nlm_plan plan = {.pad = (int)(d + r), .pad_z = volume ? (int)(d + r) : 0};
    /* Blocks of half the warps were as fast or faster but for patches of many slices, whose tile few blocks share. */
    plan.warps = volume && r > 1 ? NLM_MOST_WARPS : NLM_MOST_WARPS / 2;
    for (; plan.warps > 0; plan.warps /= 2) {
        plan.shared_bytes =
            (size_t)((2 * plan.pad_z + 1) * (plan.warps * NLM_ROWS + 2 * (d + r)) * (NLM_COLUMNS + 2 * d)) *
            sizeof(float);
        if (plan.shared_bytes <= (size_t)context->device->block_shared_bytes)
            break;
    }
    const int64_t height = NLM_ROWS * (plan.warps > 0 ? plan.warps : 1), width = NLM_COLUMNS - 2 * r;
    plan.tiles_x = (unsigned)ts_cuda_parts(context->in.axes[2].n, width);
    plan.tiles_y = (unsigned)ts_cuda_parts(ny, height);
    plan.rows = (int)(plan.tiles_y * height + 2 * plan.pad);
    plan.pitch = (int)(plan.tiles_x * width + 2 * plan.pad);
    return plan;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct nlm_plan plan = plan_of(context);
    return (size_t)(n + 2 * plan.pad_z) * (size_t)plan.rows * (size_t)plan.pitch * sizeof(float);
}

static __device__ float finite_or_far(float value)
{
    return fabsf(value) < NLM_FAR ? value : NLM_FAR;
}

/* Block (y, z) writes rows y of every so many slices of the bordered image, divided by the unit, in which invalid
 * pixels are far. */
template <typename T>
static __global__ void __launch_bounds__(THREADS)
    fill_borders(struct nlm_job job, const T *in, const uint64_t *valid, int64_t words, float *out, int64_t nz,
                 int border, float constant)
{
    const int ny = job.ny, nx = job.nx, pitch = job.pitch, pad = job.pad;
    const int row = ts_cuda_border_apart((int)blockIdx.x - pad, ny, border);
    for (int64_t z = blockIdx.y; z < nz; z += gridDim.y) {
        const float unit = nlm_unit_of(job, job.pad_z > 0 ? 0 : z);
        for (int x = threadIdx.x; x < pitch; x += THREADS) {
            const int column = ts_cuda_border_rarely(x - pad, nx, border);
            const int64_t at = (int64_t)row * nx + column;
            const bool outside = row < 0 || column < 0,
                       hidden = !outside && valid && !(valid[z * words + at / 64] >> at % 64 & 1);
            const float value = outside ? constant : (float)in[z * ny * nx + at];
            out[(z * gridDim.x + blockIdx.x) * pitch + x] = hidden ? NLM_FAR : finite_or_far(value / unit);
        }
    }
}

/* One thread computes one pixel. */
static __global__ void __launch_bounds__(THREADS) map_pixels(struct nlm_job job)
{
    const int64_t at = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int x = (int)(at % job.nx), y = (int)(at / job.nx % job.ny), r = job.radius, d = job.distance;
    const int64_t z = at / job.nx / job.ny;
    if (z >= job.nz)
        return;
    const struct nlm_weight weight = nlm_weight_of(job, z);
    const float *here = job.image + (z + job.pad_z) * job.plane + (int64_t)(y + job.pad) * job.pitch + x + job.pad;
    const int rz = job.depth > 0 ? r : 0;
    float sum = 0, total = 0;
    for (int dz = -job.depth; dz <= job.depth; dz++)
        for (int dy = -d; dy <= d; dy++)
            for (int dx = -d; dx <= d; dx++) {
                const float *there = here + dz * job.plane + dy * job.pitch + dx;
                float squares = 0;
                for (int k = -rz; k <= rz; k++)
                    for (int j = -r; j <= r; j++)
                        for (int i = -r; i <= r; i++) {
                            const int64_t s = k * job.plane + j * job.pitch + i;
                            const float difference = here[s] - there[s];
                            squares = __fmaf_rn(difference, difference, squares);
                        }
                const float w = nlm_power(__fmaf_rn(-weight.scale, squares, weight.offset));
                sum = __fmaf_rn(w, job.rician ? *there * *there : *there, sum);
                total += w;
            }
    nlm_write(job, weight.bias, z, y, x, *here, sum, total);
}

template <int R, bool VOLUME>
static enum ts_status launch_tiles(const struct stage_context *context, const struct nlm_job &job,
                                   const struct nlm_plan &plan, cudaStream_t stream)
{
    const enum ts_status status = ts_cuda_shared(context, (const void *)nlm_tiles<R, VOLUME>, plan.shared_bytes);
    if (status != TS_OK)
        return status;
    const unsigned blocks = (unsigned)job.nz * plan.tiles_y * plan.tiles_x;
    nlm_tiles<R, VOLUME><<<blocks, (unsigned)(plan.warps * NLM_LANES), plan.shared_bytes, stream>>>(job);
    return ts_cuda_launched(context, "nlm_tiles");
}

static enum ts_status launch(const struct stage_context *context, const struct nlm_job &job,
                             const struct nlm_plan &plan, cudaStream_t stream)
{
    if (plan.warps == 0) {
        const int64_t n = (int64_t)job.nz * job.ny * job.nx;
        map_pixels<<<(unsigned)ts_cuda_parts(n, THREADS), THREADS, 0, stream>>>(job);
        return ts_cuda_launched(context, "nlm map_pixels");
    }
#define CASE(R)                                                                                                        \
    case R:                                                                                                            \
        return job.depth > 0 ? launch_tiles<R, true>(context, job, plan, stream)                                       \
                             : launch_tiles<R, false>(context, job, plan, stream);
    switch (job.radius) {
        CASE(0)
        CASE(1)
        CASE(2)
        CASE(3)
        CASE(4)
    default:
        CASE(5)
    }
#undef CASE
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct nlm_params *params = params_of(context);
    const struct nlm_plan plan = plan_of(context);
    const bool volume = params->dimensions == NLM_3D, estimates = ts_nlm_estimates(context);
    const int64_t padded_nz = in->axes[0].n, words = (int64_t)(ts_valid_bytes(in) / sizeof *in->valid);
    struct nlm_job job = {.image = (const float *)call->scratch, .plane = (int64_t)plan.rows * plan.pitch};
    job.pitch = plan.pitch;
    job.pad = plan.pad;
    job.pad_z = plan.pad_z;
    job.nz = (int)out->axes[0].n;
    job.ny = (int)out->axes[1].n;
    job.nx = (int)out->axes[2].n;
    job.radius = (int)params->patch_size / 2;
    job.distance = (int)params->patch_distance;
    job.depth = volume ? job.distance : 0;
    job.tiles_x = plan.tiles_x;
    job.tiles_y = plan.tiles_y;
    job.rician = params->noise == NLM_RICIAN;
    job.patch = pow((double)params->patch_size, volume ? 3 : 2);
    if (!estimates)
        job.given = ts_nlm_given(params);
    job.numbers = estimates ? (const char *)call->result : NULL;
    job.stride = ts_scope_per_slice(context) ? ts_cuda_stride(nlm_stage.reduction->result_bytes(context)) : 0;
    job.original = ts_slice_data(in, plan.pad_z);
    job.common = !volume || job.stride == 0;
    job.dtype = in->dtype;
    job.out = (float *)out->data;
    const dim3 blocks((unsigned)plan.rows, (unsigned)(padded_nz < MOST_BLOCKS ? padded_nz : MOST_BLOCKS));
#define FILL(T)                                                                                                        \
    fill_borders<<<blocks, THREADS, 0, call->stream>>>(job, (const T *)in->data, in->valid, words,                     \
                                                       (float *)call->scratch, padded_nz, params->border,              \
                                                       (float)params->constant)
    TS_CUDA_DTYPES(in->dtype, FILL)
#undef FILL
    const enum ts_status status = ts_cuda_launched(context, "nlm fill_borders");
    return status == TS_OK ? launch(context, job, plan, call->stream) : status;
}

extern "C" {
const struct stage_cuda nlm_cuda = {
    .constants_bytes = constants_bytes,
    .constants = constants,
    .scratch_bytes = scratch_bytes,
    .map = map,
    .reduction = &reduction,
};
}
