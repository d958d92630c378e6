/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier reconstructs every slice from the spectra of its sinogram's rows: they are spread over a rectangular grid,
 * and one inverse transform gives the slice. That takes fewer operations than a backprojection. Both devices use the
 * grid and the tables of views and frequencies that are declared here.
 */
#ifndef STAGES_RECONSTRUCTION_FOURIER_H
#define STAGES_RECONSTRUCTION_FOURIER_H

#include "stages/projection/reconstruction.h"
#include "stages/reconstruction/polar_grid.h"

/* The spectrum of a filtered row repeats itself; it gets this factor at u cycles a detector pixel. */
enum fourier_interpolation {
    FOURIER_LINEAR, /* sinc(u)^2 up to u = 1 */
    FOURIER_SINC    /* 1 up to u = 0.5 */
};

/* Returns the grid that the resolved parameters make of the input. */
struct polar_grid ts_fourier_grid(const struct stage_context *context);
/* Writes the views in the input's order, the weights of the sum over views included. `scratch` has
 * POLAR_VIEW_SCRATCH_BYTES for each view. */
enum { POLAR_VIEW_SCRATCH_BYTES = sizeof(struct back_view) + VIEW_SCRATCH_BYTES };
void ts_fourier_views(const struct stage_context *context, struct polar_view *views, void *scratch);
/* Writes the factors of the spectrum of a row at the frequencies 0 .. grid.most, 1 / padded included. `response` holds
 * padded + 2 numbers. */
void ts_fourier_response(const struct stage_context *context, double *response);

#endif
