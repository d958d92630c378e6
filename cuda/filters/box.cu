/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA side of the stage box. Each method has a launcher in a file of its own, where its kernels, their threads and
 * their memory traffic are described; this one describes the image to them and chooses. Methods that work axis by axis
 * hold the sums between two passes in scratch: 4 or 8 bytes a pixel, in 3D twice.
 */
#include "cuda/filters/box.cuh"
#include "cuda/filters/masked_windows.cuh"

static struct box_launch describe(const struct stage_context *context, int64_t n)
{
    const struct box_params *params = (const struct box_params *)context->params;
    const bool volume = params->dimensions == BOX_3D;
    const double window = 2.0 * (double)params->radius + 1, count = window * window * (volume ? window : 1);
    struct box_launch launch = {context};
    launch.sizes = {n,
                    context->in.axes[1].n,
                    context->in.axes[2].n,
                    (int)params->radius,
                    volume ? (int)params->radius : 0,
                    params->border};
    launch.mean = box_mean_of(count);
    launch.wide = context->in.dtype != TS_F32 && ts_box_between_bytes(context->in.dtype, count) == 8;
    return launch;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    const struct box_params *params = (const struct box_params *)context->params;
    const struct box_launch launch = describe(context, n);
    const size_t bytes = ts_cuda_stride(box_between_bytes(&launch));
    if (context->in.masked)
        return ts_cuda_masked_means_bytes(context, n);
    if (params->method == BOX_SEPARABLE || params->method == BOX_RUNNING_SUM || params->method == BOX_TEXTURE)
        return params->dimensions == BOX_3D ? 2 * bytes : bytes;
    return 0;
}

struct box_launch ts_cuda_box_launch(const struct stage_context *context, const struct ts_image *in,
                                     const struct ts_image *out, const struct cuda_call *call)
{
    struct box_launch launch = describe(context, out->axes[0].n);
    launch.in = in->data;
    launch.out = out->data;
    launch.z_first = out->z_first;
    launch.scratch = (char *)call->scratch;
    launch.stream = call->stream;
    launch.textures = call->textures;
    launch.n_textures = call->n_textures;
    return launch;
}

static enum ts_status map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                          const struct cuda_call *call)
{
    const struct box_params *params = (const struct box_params *)context->params;
    const struct box_launch launch = ts_cuda_box_launch(context, in, out, call);
    if (context->in.masked) {
        const struct masked_window window = ts_box_masked_window(context);
        return ts_cuda_masked_means(context, &window, in, out, call);
    }
    switch (params->method) {
    case BOX_DIRECT:
        return ts_cuda_box_direct(&launch);
    case BOX_UNROLLED:
        return ts_cuda_box_unrolled(&launch);
    case BOX_SEPARABLE:
        return ts_cuda_box_separable(&launch);
    case BOX_TILE:
        return ts_cuda_box_tile(&launch);
    case BOX_FUSED:
        return ts_cuda_box_fused(&launch);
    case BOX_TEXTURE:
        return ts_cuda_box_texture(&launch);
    default:
        return ts_cuda_box_running(&launch);
    }
}

static bool textures(const struct stage_context *context)
{
    return ((const struct box_params *)context->params)->method == BOX_TEXTURE && !context->in.masked;
}

extern "C" {
const struct stage_cuda box_cuda = {.scratch_bytes = scratch_bytes, .map = map, .textures = textures};
}
