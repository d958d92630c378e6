/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the gridding was fitted once; its transform, which is divided out of the slice, is integrated by
 * Simpson's rule for each sample. All numbers are double, so that the tables are exact to float.
 */
#include "stages/reconstruction/polar_grid.h"

#include <math.h>

#include "core/fft.h"

enum { LEAST_SIDE = 16, QUADRATURE = 512 };

int64_t ts_polar_side(int64_t n)
{
    return ts_fft_length(2 * n > LEAST_SIDE ? 2 * n : LEAST_SIDE);
}

/* A least squares fit, weighted again and again until the largest error was smallest. */
const double ts_polar_kernel[GRID_TERMS] = {0.00012556867133, 0.00541794053438, -0.00691846970785, 0.364481508058,
                                            -0.741417109196,  1.98318064652,    -1.53321939741,    0.928349312529};

/* The integral of K(d) cos(2 pi d x / side) over the kernel, by Simpson's rule: K is a polynomial between its ends. */
void ts_polar_apodization(int64_t n, int64_t side, float *factors)
{
    double kernel[QUADRATURE + 1];
    const double half = 0.5 * GRID_TAPS, step = half / QUADRATURE;
    for (int i = 0; i <= QUADRATURE; i++) {
        const double t = (double)i / QUADRATURE, u = 1 - t * t;
        kernel[i] = 0;
        for (int power = GRID_TERMS - 1; power >= 0; power--)
            kernel[i] = kernel[i] * u + ts_polar_kernel[power];
        kernel[i] *= i == 0 || i == QUADRATURE ? 1 : i % 2 ? 4 : 2;
    }
    for (int64_t sample = 0; sample < n; sample++) {
        const int64_t offset = sample - n / 2;
        const double frequency = (double)offset / (double)side, c = 2 * cos(2 * M_PI * frequency * step);
        double before = c / 2, now = 1, sum = 0; /* cos(-1), cos(0): the next is c now - before */
        for (int i = 0; i <= QUADRATURE; i++) {
            sum += kernel[i] * now;
            const double next = c * now - before;
            before = now, now = next;
        }
        factors[sample] = (float)(1 / (sum * 2 * step / 3));
    }
}
