/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops stand in one_slice.inc. Their limits are here: neighboring pixels lie within two vectors of samples where a
 * pixel is no wider than `step_most` detector pixels, which is asked once for all views.
 */
#include "stages/projection/one_slice.h"

#include <math.h>

static const double low = -BLOCK_MARGIN;

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
