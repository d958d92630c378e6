/* SPDX-License-Identifier: Apache-2.0
 *
 * This backprojects stacks of sinograms (z, view, detector) to volumes (z, y, x) of f32 on the CPU,
 * as stages/geometry/beam.h and, for fans, fan_view.h define it.
 *
 * Up to 16 slices are computed together with their samples side by side, so that one place and one
 * pair of weights serve 16 vectorized sums. A block of a few views stays in the second cache while
 * the pixels of some rows use it. The order of sums depends only on the number of detector pixels:
 * the views of a block in their order, then the sums of the blocks in rising order.
 */
#ifndef STAGES_PROJECTION_BACKPROJECTION_H
#define STAGES_PROJECTION_BACKPROJECTION_H

#include "stages/geometry/beam.h"
#include "stages/geometry/fan_view.h"
#include "stages/projection/slice_block.h"

struct backprojection {
    struct ts_image sinogram;      /* slices with data, any dtype */
    const struct back_view *views; /* n_views views of a parallel beam */
    const struct fan_view
        *fans; /* n_views views of a fan, whose grid follows; NULL: the beam is parallel */
    struct fan_grid fan_grid;
    int64_t n_rows, n_columns;
    float *out; /* (z, y, x) */
    int threads;
};

/* Returns the bytes of the scratch, which must be on a 64-byte boundary. */
size_t ts_backprojection_scratch(int64_t n_detectors, int64_t n_columns, int threads);
void ts_backprojection_run(const struct backprojection *work, void *scratch);

#endif
