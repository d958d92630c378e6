/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of convolve as numbers, and two properties by which both devices choose how to sum: whether float holds
 * every partial sum, and whether a kernel is a column times a row, so that n x n taps become 2 n.
 */
#include <math.h>

#include "stages/filters/convolve.h"

enum { NAMED_SIDE = 5 };

/* side x side weights, row after row; the sum is divided by `divisor`. */
struct named_kernel {
    int64_t side;
    double divisor;
    double weights[NAMED_SIDE * NAMED_SIDE];
};

/* clang-format off */
#define CROSS(center, neighbor) {0, neighbor, 0,  neighbor, center, neighbor,  0, neighbor, 0}
#define SQUARE(center, neighbor) \
    {neighbor, neighbor, neighbor,  neighbor, center, neighbor,  neighbor, neighbor, neighbor}
#define SQUARE_5(center, neighbor) \
    {neighbor, neighbor, neighbor, neighbor, neighbor,  neighbor, neighbor, neighbor, neighbor, neighbor, \
     neighbor, neighbor, center, neighbor, neighbor,  neighbor, neighbor, neighbor, neighbor, neighbor, \
     neighbor, neighbor, neighbor, neighbor, neighbor}

static const struct named_kernel named_kernels[] = {
    [CONVOLVE_LOW_PASS_4] = {3, 5, CROSS(1, 1)},
    [CONVOLVE_LOW_PASS_8] = {3, 9, SQUARE(1, 1)},
    [CONVOLVE_LOW_PASS_5X5] = {5, 25, SQUARE_5(1, 1)},
    [CONVOLVE_GAUSSIAN_3X3] = {3, 16, {1, 2, 1,  2, 4, 2,  1, 2, 1}},
    [CONVOLVE_GAUSSIAN_5X5] = {5, 256, {1, 4, 6, 4, 1,  4, 16, 24, 16, 4,  6, 24, 36, 24, 6,  4, 16, 24, 16, 4,
                                        1, 4, 6, 4, 1}},
    [CONVOLVE_HIGH_PASS_4] = {3, 5, CROSS(4, -1)},
    [CONVOLVE_HIGH_PASS_8] = {3, 9, SQUARE(8, -1)},
    [CONVOLVE_HIGH_PASS_5X5] = {5, 25, SQUARE_5(24, -1)},
    [CONVOLVE_SHARPEN_4] = {3, 1, CROSS(5, -1)},
    [CONVOLVE_SHARPEN_8] = {3, 1, SQUARE(9, -1)},
    [CONVOLVE_SHARPEN_5X5] = {5, 256, {-1, -4, -6, -4, -1,  -4, -16, -24, -16, -4,  -6, -24, 476, -24, -6,
                                       -4, -16, -24, -16, -4,  -1, -4, -6, -4, -1}},
    [CONVOLVE_LAPLACIAN_4] = {3, 1, CROSS(-4, 1)},
    [CONVOLVE_LAPLACIAN_8] = {3, 1, SQUARE(-8, 1)},
    [CONVOLVE_LOG_5X5] = {5, 1, {0, 0, 1, 0, 0,  0, 1, 2, 1, 0,  1, 2, -16, 2, 1,  0, 1, 2, 1, 0,  0, 0, 1, 0, 0}},
    [CONVOLVE_SOBEL_X] = {3, 1, {-1, 0, 1,  -2, 0, 2,  -1, 0, 1}},
    [CONVOLVE_SOBEL_Y] = {3, 1, {-1, -2, -1,  0, 0, 0,  1, 2, 1}},
    [CONVOLVE_SOBEL_X_5X5] = {5, 1, {-1, -2, 0, 2, 1,  -4, -8, 0, 8, 4,  -6, -12, 0, 12, 6,  -4, -8, 0, 8, 4,
                                     -1, -2, 0, 2, 1}},
    [CONVOLVE_SOBEL_Y_5X5] = {5, 1, {-1, -4, -6, -4, -1,  -2, -8, -12, -8, -2,  0, 0, 0, 0, 0,  2, 8, 12, 8, 2,
                                     1, 4, 6, 4, 1}},
};
/* clang-format on */

static struct convolve_weights kernel_of(const struct convolve_params *params, enum convolve_kernel name)
{
    if (name == CONVOLVE_CUSTOM)
        return (struct convolve_weights){params->weights.rows, params->weights.columns, params->weights.values, 1};
    const struct named_kernel *named = &named_kernels[name];
    return (struct convolve_weights){named->side, named->side, named->weights, named->divisor};
}

int ts_convolve_kernels(const struct convolve_params *params, struct convolve_weights kernels[2])
{
    const bool magnitude = params->kernel == CONVOLVE_SOBEL_MAGNITUDE;
    kernels[0] = kernel_of(params, magnitude ? CONVOLVE_SOBEL_X : (enum convolve_kernel)params->kernel);
    kernels[1] = kernel_of(params, CONVOLVE_SOBEL_Y);
    return magnitude ? 2 : 1;
}

bool ts_convolve_is_exact(const struct convolve_weights *kernels, int n_kernels, enum ts_dtype dtype)
{
    double low, high;
    if (ts_dtype_bytes(dtype) > 2)
        return false;
    ts_dtype_range(dtype, &low, &high);
    for (int k = 0; k < n_kernels; k++) {
        double sum = 0;
        for (int64_t i = 0; i < kernels[k].rows * kernels[k].columns; i++) {
            const double weight = kernels[k].weights[i];
            if (weight != rint(weight))
                return false;
            sum += fabs(weight);
        }
        if (!(sum * fmax(-low, high) <= 0x1p24))
            return false;
    }
    return true;
}

bool ts_convolve_separate(const struct convolve_weights *kernel, double error, double *across, double *down)
{
    const double *weights = kernel->weights;
    const int64_t n = kernel->rows * kernel->columns;
    int64_t pivot = -1;
    for (int64_t i = 0; i < n; i++)
        if (weights[i] != 0 && (pivot < 0 || fabs(weights[i]) < fabs(weights[pivot])))
            pivot = i;
    if (pivot < 0)
        return false;
    const int64_t row = pivot / kernel->columns, column = pivot % kernel->columns;
    for (int64_t i = 0; i < kernel->columns; i++)
        across[i] = weights[row * kernel->columns + i] + 0.0; /* no -0 */
    for (int64_t j = 0; j < kernel->rows; j++)
        down[j] = weights[j * kernel->columns + column] / weights[pivot] + 0.0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(weights[i] - down[i / kernel->columns] * across[i % kernel->columns]) <= error * fabs(weights[i])))
            return false;
    return true;
}
