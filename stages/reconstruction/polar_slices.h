/* SPDX-License-Identifier: Apache-2.0
 *
 * This reconstructs slices from the rows of a sinogram by gridding (stages/reconstruction/polar_grid.h) on the CPU.
 *
 * Two slices, 2 p and 2 p + 1, are the real and the imaginary part of a pair. Each is first multiplied by a power of
 * two that brings its largest magnitude into [1, 2), so that the rounding of one stays small in the other. Pairs lie
 * side by side where the volume has more than one. At a place of the grid sums run over rising views, then frequencies,
 * whatever the threads, however z is cut and whatever lies beside a pair.
 */
#ifndef STAGES_RECONSTRUCTION_POLAR_SLICES_H
#define STAGES_RECONSTRUCTION_POLAR_SLICES_H

#include "stages/engine/stage.h"
#include "stages/reconstruction/polar_fill.h"

struct polar_scan {
    struct polar_grid grid;
    const struct polar_view *views; /* [n_views] */
    const double *response;         /* of the frequencies 0 .. grid.most, 1 / padded included */
    float kernel[GRID_TERMS];
    const float *row_factors, *column_factors; /* that undo the kernel */
};

/* These are transforms() and scratch_bytes() of the stage on the CPU. */
int ts_polar_slices_transforms(const struct polar_grid *grid, struct fft_shape shapes[STAGE_TRANSFORMS]);
size_t ts_polar_slices_scratch(const struct stage_context *context, const struct polar_grid *grid);
/* Reconstructs the slices of `out` from those of `in`, which has one slice more on both sides. `scratch` is on a
 * 64-byte boundary. */
void ts_polar_slices(const struct stage_context *context, const struct polar_scan *scan, const struct ts_image *in,
                     struct ts_image *out, void *scratch);

#endif
