/* SPDX-License-Identifier: Apache-2.0
 *
 * convolve: a weighted sum over the neighborhood of each pixel, slice by slice:
 *
 *     out[z][y][x] = sum over j < rows, i < columns of weights[j][i] * in[z][y + j - rows/2][x + i
 *         - columns/2]
 *
 * with the weights lying on the image as they are written (correlation, as scipy.ndimage.correlate
 * and cv2.filter2D).
 */
#ifndef STAGES_FILTERS_CONVOLVE_H
#define STAGES_FILTERS_CONVOLVE_H

#include "stages/engine/stage.h"

enum { CONVOLVE_MAX_SIDE = 31 };

enum convolve_kernel {
    CONVOLVE_CUSTOM,
    CONVOLVE_LOW_PASS_4,
    CONVOLVE_LOW_PASS_8,
    CONVOLVE_LOW_PASS_5X5,
    CONVOLVE_GAUSSIAN_3X3,
    CONVOLVE_GAUSSIAN_5X5,
    CONVOLVE_HIGH_PASS_4,
    CONVOLVE_HIGH_PASS_8,
    CONVOLVE_HIGH_PASS_5X5,
    CONVOLVE_SHARPEN_4,
    CONVOLVE_SHARPEN_8,
    CONVOLVE_SHARPEN_5X5,
    CONVOLVE_LAPLACIAN_4,
    CONVOLVE_LAPLACIAN_8,
    CONVOLVE_LOG_5X5,
    CONVOLVE_SOBEL_X,
    CONVOLVE_SOBEL_Y,
    CONVOLVE_SOBEL_MAGNITUDE,
    CONVOLVE_SOBEL_X_5X5,
    CONVOLVE_SOBEL_Y_5X5
};

struct convolve_params {
    int32_t kernel;
    struct ts_numbers weights;
    int32_t border;
    double constant;
};

/* A kernel as numbers: rows x columns weights. The weighted sum is divided by `divisor`. */
struct convolve_weights {
    int64_t rows, columns;
    const double *weights;
    double divisor;
};

/* Writes the kernels whose results are combined, and returns how many there are: two of the same
 * size for a magnitude, else one. */
int ts_convolve_kernels(const struct convolve_params *params, struct convolve_weights kernels[2]);

/* Returns true if all partial sums over an image of this type are integers that float holds:
 * sums in float are then exact. */
bool ts_convolve_is_exact(const struct convolve_weights *kernels, int n_kernels,
                          enum ts_dtype dtype);
/* Returns true if weights[j][i] = down[j] * across[i] within a relative error, and writes these
 * factors. A weight of 0 stays 0. */
bool ts_convolve_separate(const struct convolve_weights *kernel, double error, double *across,
                          double *down);

#endif
