/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of `ring`, and its method fourier-wavelet: B. Muench, P. Trtik, F. Marone, M.
 * Stampanoni, Stripe and ring artifact removal with combined wavelet-Fourier filtering, Optics
 * Express 17 (2009) 8567.
 *
 * A level takes the image a (views by detector pixels) apart by low- and high-pass filters along
 * both axes, each keeping every second value. Stripes are in the part that is low along the views
 * and high along the detector, at the lowest frequencies k along the views; these are damped by 1 -
 * exp(-k^2 / (2 sigma^2)). The transforms are linear and what is not damped comes back as it was,
 * so that it is enough to transform and to subtract what damping takes away:
 *
 *   down  t = low of a along the views,  a' = low of t along the detector,
 *         v = high of t along the detector
 *   damp  v becomes its part sum over k of exp(-k^2 / (2 sigma^2)) times the wave k of v
 *   up    t = from c' and v along the detector,  c = from t along the views;
 *         result = image - c of the finest level
 *
 * Ends are reflected, d c b a | a b c d | d c b a. Waves weaker than 1e-9 are left out.
 */
#ifndef STAGES_SCAN_RING_WAVELET_H
#define STAGES_SCAN_RING_WAVELET_H

#include "stages/engine/stage.h"
#include "stages/scan/wavelets.h"

enum ring_method { RING_SORTING, RING_WAVELET };
enum { RING_LEVELS = 16, RING_WAVES = 200 }; /* limits */

struct ring_params {
    int32_t method; /* enum ring_method */
    int64_t size;
    int32_t wavelet; /* index into ts_wavelets */
    int64_t level;
    double sigma;
};

struct ring_level {
    int64_t views, detectors;           /* size of a */
    int64_t half_views, half_detectors; /* size of a' and v; t is half_views by detectors */
    int64_t part;                       /* offset of v among the parts of all levels, in values */
    int64_t waves;                      /* frequencies 0 to waves - 1 */
    int64_t table; /* offset of the cosines in the tables; sines and weights follow */
};

struct ring_levels {
    int n;
    int length; /* length of the filters */
    struct ring_level at[RING_LEVELS];
    int64_t parts;  /* values of all parts */
    int64_t tables; /* floats of the tables */
};

/* Finds how the levels divide this sinogram. */
void ts_ring_levels(const struct stage_context *context, struct ring_levels *levels);
/* Writes levels.tables floats: the low filter of the analysis, the high one, then for each level
 * the cosines and sines of 2 pi i / half_views and the weights of the waves. */
void ts_ring_tables(const struct stage_context *context, float *tables);

#endif
