/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier: direct Fourier reconstruction of every slice.
 */
#ifndef STAGES_RECONSTRUCTION_FOURIER_H
#define STAGES_RECONSTRUCTION_FOURIER_H

#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/polar_grid.h"

/* What the spectrum of a filtered row, which repeats itself, is multiplied with at u cycles a detector. */
enum fourier_interpolation {
    FOURIER_LINEAR, /* sinc(u)^2 up to u = 1 */
    FOURIER_SINC    /* 1 up to u = 0.5 */
};

/* What the resolved parameters make of the input: the grid, without its views. */
struct polar_grid ts_fourier_grid(const struct stage_context *context);
/* Views in the input's order, their samples' weights included; room for POLAR_VIEW_ROOM_BYTES of each view. */
enum { POLAR_VIEW_ROOM_BYTES = sizeof(struct back_view) + VIEW_ROOM_BYTES };
void ts_fourier_views(const struct stage_context *context, struct polar_view *views, void *room);
/* What the spectrum of a row is multiplied with at the frequencies 0 .. grid.most, 1 / padded included; room for
 * padded + 2. */
void ts_fourier_response(const struct stage_context *context, double *response);

#endif
