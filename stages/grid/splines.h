/* SPDX-License-Identifier: Apache-2.0
 *
 * The coefficients of cubic B-splines, and the smoothing before a coarser grid. Both are products
 * of filters along the axes; each is a symmetric kernel of fixed length here, so that a coefficient
 * depends neither on the slab nor on the threads:
 *
 *     c[i] = sum over k of w[|k|] * s[edge(i + k)],   |k| <= radius
 *
 * The inverse of the B-spline, (4 + z + 1/z)/6, has the kernel sqrt(3) p^|k| with p = sqrt(3) - 2
 * (M. Unser, Splines: a perfect fit for signal and image processing, IEEE Signal Processing
 * Magazine 16, 1999); p^17 is 2e-10, which a float does not see. The Gaussian is that of
 * scipy.ndimage, cut off after 4 sigma. With both, the kernel is their product. Sums are made in
 * float, from the outermost samples inwards, along z, then y, then x, on both devices. Coefficients
 * reach TAPS_PAD beyond the samples, so that no tap is beyond them.
 */
#ifndef STAGES_GRID_SPLINES_H
#define STAGES_GRID_SPLINES_H

#include "stages/grid/samples.h"

struct spline_kernels {
    int64_t radius[3];
    float *weights[3]; /* weights[d][k], 0 <= k <= radius[d] */
};

/* Returns true if the values of this sampling are made from coefficients. */
bool ts_spline_is_needed(const struct sampling *sampling);
/* Returns the radius of the kernel of axis d; 0: its samples are the coefficients. */
int64_t ts_spline_radius(const struct sampling *sampling, int d);
/* Returns how many slices of coefficients n output slices need at most. */
int64_t ts_spline_slices(const struct sampling *sampling, int64_t n);
/* Writes the weights, for which kernels->weights have room. */
void ts_spline_kernels(const struct sampling *sampling, const struct spline_kernels *kernels);
/* Returns the bytes of scratch of each thread of ts_spline_filter. */
size_t ts_spline_scratch(const struct sampling *sampling);
/* Makes slices of coefficients, of which coefficients->z_first is the first, counted from TAPS_PAD
 * before the first sample. `in` has all slices that they reach. */
void ts_spline_filter(const struct sampling *sampling, const struct spline_kernels *kernels,
                      const struct ts_image *in, struct ts_image *coefficients, void *scratch,
                      int threads);

#endif
