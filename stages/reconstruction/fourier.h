/* SPDX-License-Identifier: Apache-2.0
 *
 * fourier: f(x, y) = sum over views and frequencies of the filtered spectrum of a sinogram's rows;
 * (z, view, detector) -> (z, y, x), f32. The spectra are spread over a rectangular grid, and one
 * inverse transform gives the slice. That takes fewer operations than a backprojection. Both
 * devices use the grid and the tables of views and frequencies that are declared here.
 */
#ifndef STAGES_RECONSTRUCTION_FOURIER_H
#define STAGES_RECONSTRUCTION_FOURIER_H

#include <stdint.h>

#include "stages/projection/reconstruction.h"

/* ---- polar grid --------------------------------------------------------------------------------
 *
 * This turns frequencies along views, which are points of a polar grid, into a slice: a Fourier
 * transform of unevenly spaced points by gridding (J. D. O'Sullivan, IEEE Trans. Med. Imaging 4,
 * 1985; J. I. Jackson et al., ibid. 10, 1991).
 *
 *     f(row, column) = sum over views v and k = -most .. most of C[v][k] exp(2 pi i phase)
 *     phase = k (per_row[v] row' / n_rows' + per_column[v] column' / n_columns'),
 *     row' = row - n_rows / 2, ...
 *
 * with n' the sides of a grid twice as wide as the slice. Point (v, k) lies at (k per_row, k
 * per_column) of the grid, which repeats itself. It is spread over the GRID_TAPS^2 places around it
 * by a kernel, a product of one factor along rows and one along columns; the grid's inverse
 * transform divided by the kernel's own transform is f. Factor at distance d, |d| < GRID_TAPS / 2:
 *
 *     K(d) = polynomial in u = 1 - (2 d / GRID_TAPS)^2
 *
 * with those coefficients, K(0) being 1, for which the most that the kernel's transform lets
 * through to any pixel from beyond the slice is least: 7.3e-5 of it, and 5.7e-5 as a root of
 * mean squares. The Kaiser-Bessel kernel of P. J. Beatty et al., ibid. 24, 2005 has 1.3e-4 and
 * 6.3e-5. */

enum { GRID_TAPS = 5, GRID_TERMS = 8 };

struct polar_grid {
    int64_t n_rows, n_columns;       /* sides of the slice */
    int64_t grid_rows, grid_columns; /* even, with no prime factor above 5 */
    int64_t padded; /* samples of a row of the sinogram with its zeros, a power of two */
    int64_t most; /* the highest frequency of a row, in 1 / padded cycles a sample: below padded */
    int64_t n_views, n_detectors;
};

struct polar_view {
    double per_row, per_column; /* places of the grid from one k to the next */
    double shift; /* turns of C's phase from one k to the next, for the rotation axis and the middle
                   * of the slice */
    double weight;
};

/* The coefficients of K, beginning with that of u^0. */
extern const double ts_polar_kernel[GRID_TERMS];
/* Writes 1 over the kernel's transform at samples 0 .. n - 1 of a slice's side, for a grid of that
 * side. */
void ts_polar_apodization(int64_t n, int64_t side, float *factors);

/* The spectrum of a filtered row is periodic; at u cycles a detector pixel it gets this factor. */
enum fourier_interpolation {
    FOURIER_LINEAR, /* sinc(u)^2 up to u = 1 */
    FOURIER_SINC    /* 1 up to u = 0.5 */
};

/* Returns the grid that follows from the resolved parameters and the input. */
struct polar_grid ts_fourier_grid(const struct stage_context *context);
/* Writes the views in the input's order, with the weights of the sum over views included. `scratch`
 * has POLAR_VIEW_SCRATCH_BYTES for each view. */
enum { POLAR_VIEW_SCRATCH_BYTES = sizeof(struct back_view) + VIEW_SCRATCH_BYTES };
void ts_fourier_views(const struct stage_context *context, struct polar_view *views, void *scratch);
/* Writes the factors of the spectrum of a row at the frequencies 0 .. grid.most, with 1 / padded
 * included. `response` has room for padded + 2 numbers. */
void ts_fourier_response(const struct stage_context *context, double *response);

#endif
