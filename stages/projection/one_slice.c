/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops stand in one_slice.inc. Their limits are here: neighboring pixels lie within two
 * vectors of samples where a pixel is no wider than `step_most` detector pixels, which is asked
 * once for all views.
 */
#include "stages/projection/one_slice.h"

#include <math.h>

#if TS_VECTOR_LEVELS > 1
static const double low = -BLOCK_MARGIN;

/* A view on a row of pixels. Pixels [plain_first, plain_end) lie on the line of samples, their
 * weights are not negative, and neighbors are closer than two samples by more than rounding does.
 * There are none where the view is not so. */
struct row_view {
    const float *samples; /* from the margin on */
    double start, step;
    float scale, slope;
    int32_t falls; /* -1 where places fall along the row, else 0 */
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
    /* A step of 1 may come out wider by rounding, and places close to an end beyond it. */
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
