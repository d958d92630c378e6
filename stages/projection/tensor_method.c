/* SPDX-License-Identifier: Apache-2.0
 *
 * A line of n samples needs (TENSOR_LEFT + n + TENSOR_RIGHT) / TENSOR_WINDOW blocks, rounded up,
 * and the loads of a window reach into the block behind it. The number of these blocks, times the
 * slices side by side, must be below 2^32. Rays of one view cross a row or a column at most spacing
 * * hypot(dy, dx) / (dy dx) pixels apart.
 */
#include "stages/projection/tensor_method.h"

#include <math.h>
#include <string.h>

/* Returns the slices that cuda/projection/interleave.cuh puts side by side. */
static int64_t slices_side_by_side(int64_t slices)
{
    if (slices > 64)
        return 128;
    return slices > 32 ? 64 : 32;
}

static bool can_be_counted(const struct stage_context *context, int64_t n_major, int64_t n_minor,
                           bool split)
{
    const int64_t places = slices_side_by_side(context->in.axes[0].n) * (split ? 2 : 1),
                  blocks = (TENSOR_LEFT + n_minor + TENSOR_RIGHT - 1) / TENSOR_WINDOW + 1;
    return n_major * blocks + 2 <= UINT32_MAX / places;
}

bool ts_tensor_takes(const struct stage_context *context, int64_t n_major, int64_t n_minor,
                     bool split)
{
    return context->device->code >= CUDA_TENSOR_CODE &&
           can_be_counted(context, n_major, n_minor, split);
}

enum ts_status ts_tensor_check(const struct stage_context *context, int64_t n_major,
                               int64_t n_minor, bool split)
{
    const struct device_numbers *device = context->device;
    const int64_t slices = slices_side_by_side(context->in.axes[0].n);
    if (device->code < CUDA_TENSOR_CODE) {
        ts_param_error(
            context->set, "method", "tensor-capability", context->diag,
            "this build's code for %s is of compute capability %d.%d, and tensor needs that of 8.0",
            device->name, device->code / 10, device->code % 10);
        return ts_diag_hint(context->diag, "method: stack computes the same in single precision");
    }
    if (can_be_counted(context, n_major, n_minor, split))
        return TS_OK;
    ts_param_error(context->set, "method", "tensor-size", context->diag,
                   "%s counts the samples of up to %lld slices side by side in 32 bits, and slices "
                   "of %lld x %lld are too large for that",
                   split ? "tensor-split" : "tensor", (long long)slices, (long long)n_major,
                   (long long)n_minor);
    return ts_diag_hint(context->diag, "method: stack");
}

enum { MOST_APART = 16 }; /* in pixels */

static double rays_apart(const struct tensor_grid *grid, double detector_spacing)
{
    return detector_spacing * hypot(grid->dy, grid->dx) / (grid->dy * grid->dx);
}

bool ts_tensor_takes_rays(const struct stage_context *context, const struct tensor_grid *grid,
                          double detector_spacing, bool split)
{
    return ts_tensor_takes(context, grid->ny, grid->nx, split) &&
           ts_tensor_takes(context, grid->nx, grid->ny, split) &&
           rays_apart(grid, detector_spacing) <= MOST_APART;
}

enum ts_status ts_tensor_check_rays(const struct stage_context *context,
                                    const struct tensor_grid *grid, double detector_spacing,
                                    bool split)
{
    const double apart = rays_apart(grid, detector_spacing);
    enum ts_status status = ts_tensor_check(context, grid->ny, grid->nx, split);
    if (status == TS_OK)
        status = ts_tensor_check(context, grid->nx, grid->ny,
                                 split); /* lines are columns if rays are steep */
    if (status != TS_OK || apart <= MOST_APART)
        return status;
    ts_param_error(
        context->set, "method", "tensor-apart", context->diag,
        "rays cross a row or column up to %.6g pixels apart, and tensor takes at most %d", apart,
        MOST_APART);
    return ts_diag_hint(context->diag, "method: %s, or detector pixels that lie closer",
                        !strcmp(context->stage->name, "radon") ? "ray" : "stack");
}
