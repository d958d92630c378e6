/* SPDX-License-Identifier: Apache-2.0
 *
 * Backprojection of stacks of sinograms on the CPU, as stages/geometry/back_view.h and, for fans, fan_view.h define it:
 * (z, view, detector) -> (z, y, x), f32.
 *
 * Up to 16 slices are computed together with their samples side by side, so that one place and one pair of weights
 * serve 16 vectorized sums. A few views at a time stay in the second cache while the pixels of some rows pass over
 * them. Order of sums, fixed by the number of detectors alone: within a few views in their order from 0, then these
 * sums in rising order.
 */
#ifndef STAGES_PROJECTION_BACKPROJECTION_H
#define STAGES_PROJECTION_BACKPROJECTION_H

#include "core/image.h"
#include "stages/geometry/back_view.h"
#include "stages/geometry/fan_view.h"

struct backprojection {
    struct ts_image sinogram;      /* slices with data, any dtype */
    const struct back_view *views; /* of a parallel beam */
    const struct fan_view *fans;   /* of a fan, whose grid follows; NULL: parallel */
    struct fan_grid fan_grid;
    int64_t n_rows, n_columns;
    float *out;
    int threads;
};

/* scratch: 64-byte aligned, as many bytes as this says. */
size_t ts_backprojection_scratch(int64_t n_detectors, int64_t n_columns, int threads);
void ts_backprojection_run(const struct backprojection *work, void *scratch);

#endif
