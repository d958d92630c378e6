/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops are in one_slice.inc. Their limits are here: the samples of neighboring pixels fit two
 * vectors if a pixel is at most `step_most` detector pixels wide, which is checked once for all
 * views.
 */
#include "stages/projection/one_slice.h"

#include <math.h>

#if TS_VECTOR_LEVELS > 1
static const double low = -BLOCK_MARGIN;

/* A view of a row of pixels. Pixels [plain_first, plain_end) are inside the line of samples, their
 * weights are not negative, and neighbors are closer than two samples, even with rounding. There
 * are none if the view is not so. */
struct row_view {
    const float *samples; /* samples of the view, starting with its margin */
    double start, step;
    float scale, slope;
    int32_t falls; /* -1 if places fall along the row, else 0 */
    int64_t plain_first, plain_end;
};

static struct row_view view_on_row(const struct back_view *view, const struct slice_block *block,
                                   int64_t v, int64_t row)
{
    const double start = view->base + (double)row * view->per_row, step = view->per_column;
    struct row_view on_row = {.samples = block->data + v * block->stride,
                              .start = start,
                              .step = step,
                              .scale = (float)view->scale,
                              .slope = (float)(view->scale * view->width),
                              .falls = step < 0 ? -1 : 0};
    /* Rounding may make a step of 1 wider, and move places near an end beyond it. */
    if (view->scale >= 0 && view->width <= 1 && fabs(step) < 1 - 1e-9 && fabs(step) > 1e-6) {
        const double a = (low - start) / step, b = ((double)block->n_minor - start) / step;
        on_row.plain_first = (int64_t)fmax(ceil(fmin(a, b)), -1) + 1;
        on_row.plain_end = (int64_t)fmin(floor(fmax(a, b)), 1e9);
    }
    return on_row;
}
#endif

#define TS_LOOPS "stages/projection/one_slice.inc"
#include "core/vectors.inc"

one_slice_projector *ts_one_slice_projector(void)
{
    return TS_WIDER(project);
}

one_slice_backprojector *ts_one_slice_backprojector(const struct back_view *views, int64_t n_views)
{
    static const double step_most = 1.9, width_least = 1 - 1e-9;
    for (int64_t v = 0; v < n_views; v++)
        if (!(fabs(views[v].per_column) <= step_most) || views[v].width < width_least)
            return NULL;
    return TS_WIDER(backproject);
}
