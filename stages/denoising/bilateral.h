/* SPDX-License-Identifier: Apache-2.0
 *
 * bilateral: a mean weighted by distance in the image and by difference of value (C. Tomasi, R.
 * Manduchi, 1998):
 *
 *     out = sum of w in / sum of w
 *     w = exp(-(dz^2 + dy^2 + dx^2) / (2 sigma_spatial^2) - (in - c)^2 / (2 sigma_color^2))
 *
 * over |dy|, |dx| (and |dz|) <= radius, where c is the value in the middle of the window.
 */
#ifndef STAGES_DENOISING_BILATERAL_H
#define STAGES_DENOISING_BILATERAL_H

#include "stages/engine/stage.h"

enum bilateral_dimensions { BILATERAL_2D, BILATERAL_3D };

struct bilateral_params {
    double sigma_color, sigma_spatial;
    int64_t radius;
    int32_t dimensions, border;
    double constant;
};

/* Exponents have base 2: a weight is 2^-(s + t^2), where s depends on the offset, and t is the
 * difference of values times ts_bilateral_scale(). */
enum { BILATERAL_MOST_RADIUS = 30 };
/* Scaled values of at least this magnitude, and NaN, take no part in the means of others, and keep
 * their value. */
#define BILATERAL_FAR 0x1p40F
float ts_bilateral_scale(const struct bilateral_params *params);
/* Writes s for each sample of a window, with z slowest. */
void ts_bilateral_exponents(const struct bilateral_params *params, float *exponents);

#endif
