/* SPDX-License-Identifier: Apache-2.0
 *
 * clahe on a CUDA device: what both rules share. The CPU's own code finds on the host which tables
 * a row or a column uses, and their weights. They are copied once a run, so both devices use the
 * same floats. The kernels are in clahe_opencv_stream.cu, clahe_opencv.cu and clahe_skimage.cu.
 */
#include "cuda/clahe/clahe.cuh"

#include "core/clamp.h"

enum { MAX_BATCH = 32768 }; /* limit of a grid's dimension, rounded down */
static const size_t batch_bytes = (size_t)128 << 20;

struct clahe_tiles ts_cuda_clahe_tiles(const struct stage_context *context,
                                       const struct cuda_call *call)
{
    const struct clahe_run run = ts_clahe_describe(context);
    const struct neighbor *near = (const struct neighbor *)(call ? call->constants : NULL);
    return {.ny = (int)run.ny,
            .nx = (int)run.nx,
            .tiles_y = (int)run.tiles_y,
            .tiles_x = (int)run.tiles_x,
            .height = (int)run.tile_height,
            .width = (int)run.tile_width,
            .values = (int)run.values,
            .clip = run.clip_count < CLAHE_NO_CLIP ? (int)run.clip_count : CLAHE_NO_CLIP,
            .near_y = near,
            .near_x = near ? near + run.ny : NULL,
            .clip_limit = run.params->clip_limit,
            .valid = NULL,
            .words = (int64_t)(ts_valid_bytes(&context->in) / sizeof(uint64_t))};
}

int64_t ts_cuda_clahe_batch(size_t slice_bytes, int64_t n)
{
    const int64_t fitting = (int64_t)(batch_bytes / (slice_bytes > 0 ? slice_bytes : 1));
    const int64_t most = fitting < MAX_BATCH ? fitting : (int64_t)MAX_BATCH;
    return ts_clamp(most, 1, n);
}

static bool is_opencv(const struct stage_context *context)
{
    return ((const struct clahe_params *)context->params)->method == CLAHE_OPENCV;
}

static size_t constants_bytes(const struct stage_context *context)
{
    return (size_t)(context->in.axes[1].n + context->in.axes[2].n) * sizeof(struct neighbor);
}

static void clahe_constants(const struct stage_context *context, void *host)
{
    const struct clahe_run run = ts_clahe_describe(context);
    struct neighbor *near = (struct neighbor *)host;
    ts_clahe_find_neighbors(is_opencv(context), run.ny, run.tile_height, run.tiles_y, near);
    ts_clahe_find_neighbors(is_opencv(context), run.nx, run.tile_width, run.tiles_x, near + run.ny);
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    return is_opencv(context) ? ts_cuda_clahe_opencv_bytes(context, n)
                              : ts_cuda_clahe_skimage_bytes(context, n);
}

static enum ts_status clahe_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, const struct cuda_call *call)
{
    return is_opencv(context) ? ts_cuda_clahe_opencv(context, in, out, call)
                              : ts_cuda_clahe_skimage(context, in, out, call);
}

const struct stage_cuda clahe_cuda = {
    .constants_bytes = constants_bytes,
    .constants = clahe_constants,
    .scratch_bytes = scratch_bytes,
    .map = clahe_map,
};
