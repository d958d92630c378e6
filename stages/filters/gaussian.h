/* SPDX-License-Identifier: Apache-2.0
 *
 * gaussian: the mean of the neighborhood of each pixel, weighted by a Gaussian that is cut off at
 * `truncate` sigma:
 *
 *     out[z][y][x] = sum over |k|, |j|, |i| <= radius of wz[k] * wy[j] * wx[i] * in[z + k][y + j][x
 *         + i]
 *     w[k]         = exp(-k^2 / (2 sigma^2)) / sum of these over |k| <= radius
 *     radius       = floor(truncate * sigma + 1/2), sigma in pixels of the axis
 *
 * as scipy.ndimage.gaussian_filter. In 2D, slice by slice, z has no part in it.
 */
#ifndef STAGES_FILTERS_GAUSSIAN_H
#define STAGES_FILTERS_GAUSSIAN_H

#include "stages/engine/stage.h"

enum {
    GAUSSIAN_MAX_RADIUS = 1024,
    GAUSSIAN_FUSED_RADIUS = 8,
    GAUSSIAN_FUSED_BYTES =
        84 << 10 /* most bytes of shared memory that a block of the method `fused` takes */
};

enum gaussian_dimensions { GAUSSIAN_2D, GAUSSIAN_3D };
enum gaussian_unit { GAUSSIAN_PIXEL, GAUSSIAN_MM };
enum gaussian_method { GAUSSIAN_AUTO, GAUSSIAN_SEPARABLE, GAUSSIAN_FUSED };

struct gaussian_params {
    struct ts_numbers sigma;
    int32_t unit, dimensions;
    double truncate;
    int32_t border;
    double constant;
    int32_t method;
};

/* The weights along one axis of an image. */
struct gaussian_line {
    double sigma; /* in pixels */
    int64_t radius;
};
/* Returns the line of axis 0 (z), 1 (y) or 2 (x) of the stage's input. It has radius 0 if the stage
 * does not smooth along the axis. */
struct gaussian_line ts_gaussian_line(const struct stage_context *context, int axis);
/* Writes the 2 radius + 1 weights of a line, which sum to 1. */
void ts_gaussian_weights(struct gaussian_line line, float *weights);

#endif
