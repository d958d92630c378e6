/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes box in one pass for each axis, fine-grained: one thread adds the 2 radius + 1 samples along one axis
 * for one pixel. The passes (along z in 3D, x, y) meet in scratch. Memory traffic: 2 reads and 2 writes a pixel in 2D,
 * 3 and 3 in 3D, which makes 1 + 4 + 4 + 1 bytes for an 8-bit pixel in 2D; neighboring windows share their samples
 * through the caches.
 *
 * Blocks of 32 x 8: a warp reads along x in every pass, and in the pass along y 8 rows share most of their windows.
 */
#include "cuda/filters/box.cuh"

enum axis { ALONG_Z, ALONG_Y, ALONG_X };

template <typename IN, typename SUM, typename OUT, bool LAST>
static __global__ void __launch_bounds__(BOX_BLOCK_X *BOX_BLOCK_Y)
    sum_along(const IN *in, OUT *out, struct box_sizes sizes, enum axis axis, IN outside, struct box_mean mean)
{
    const struct box_pixel at = box_pixel_of_thread(sizes);
    if (!at.inside)
        return;
    const int64_t here = (at.z * sizes.ny + at.y) * sizes.nx + at.x;
    /* Along z the input has the samples outside: the window starts at the slice of the same number. */
    const int64_t stride = axis == ALONG_Z ? sizes.ny * sizes.nx : axis == ALONG_Y ? sizes.nx : 1;
    const int64_t position = axis == ALONG_Z ? sizes.radius : axis == ALONG_Y ? at.y : at.x;
    const int64_t n = axis == ALONG_Z ? 2 * sizes.radius + 1 : axis == ALONG_Y ? sizes.ny : sizes.nx;
    const IN *line = in + here - (axis == ALONG_Z ? 0 : position * stride);
    SUM sum = 0;
    if (position >= sizes.radius && position + sizes.radius < n) {
        for (int64_t i = position - sizes.radius; i <= position + sizes.radius; i++)
            sum += (SUM)line[i * stride];
    } else {
        for (int64_t i = position - sizes.radius; i <= position + sizes.radius; i++) {
            const int64_t from = ts_cuda_border_index(i, n, sizes.border);
            sum += (SUM)(from < 0 ? outside : line[from * stride]);
        }
    }
    box_finish<LAST>(out + here, sum, mean);
}

template <typename T, typename SUM> static enum ts_status separable(const struct box_launch *launch)
{
    typedef box_between<T, SUM> BETWEEN;
    const struct box_params *params = (const struct box_params *)launch->context->params;
    const struct box_sizes sizes = launch->sizes;
    const struct box_passes<T, SUM> passes = box_passes_of<T, SUM>(launch);
    const dim3 block(BOX_BLOCK_X, BOX_BLOCK_Y);
    if (sizes.reach) {
        sum_along<T, SUM, BETWEEN, false><<<box_blocks(sizes), block, 0, launch->stream>>>(
            (const T *)launch->in, passes.slices, sizes, ALONG_Z, (T)0, passes.line);
        sum_along<BETWEEN, SUM, BETWEEN, false><<<box_blocks(sizes), block, 0, launch->stream>>>(
            passes.slices, passes.rows, sizes, ALONG_X, passes.outside_rows, passes.line);
    } else {
        sum_along<T, SUM, BETWEEN, false><<<box_blocks(sizes), block, 0, launch->stream>>>(
            (const T *)launch->in, passes.rows, sizes, ALONG_X, (T)params->constant, passes.line);
    }
    sum_along<BETWEEN, SUM, T, true><<<box_blocks(sizes), block, 0, launch->stream>>>(
        passes.rows, (T *)launch->out, sizes, ALONG_Y, passes.outside_columns, passes.last);
    return ts_cuda_launched(launch->context, "sum_along");
}
BOX_LAUNCHER(ts_cuda_box_separable, separable)
