/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of the gridding, and what undoes it; all in double.
 */
#include "stages/common/polar_grid.h"

#include <math.h>

#include "stages/common/fft.h"

enum { LEAST_SIDE = 16, QUADRATURE = 512 };

int64_t ts_polar_side(int64_t n)
{
    return ts_fft_length(2 * n > LEAST_SIDE ? 2 * n : LEAST_SIDE);
}

/* Modified Bessel function of order 0 of sqrt(4 x). */
static double bessel(double x)
{
    double term = 1, sum = 1;
    for (int m = 1; term > 1e-17 * sum; m++) {
        term *= x / ((double)m * m);
        sum += term;
    }
    return sum;
}

/* Newton's interpolation at the Chebyshev nodes of [0, 1], then in powers of u. */
void ts_polar_kernel(double terms[GRID_TERMS])
{
    const double taps = GRID_TAPS, b = M_PI * sqrt(taps * taps / 4 * 2.25 - 0.8), quarter = b * b / 4;
    double node[GRID_TERMS], slope[GRID_TERMS];
    for (int i = 0; i < GRID_TERMS; i++) {
        node[i] = 0.5 - 0.5 * cos(M_PI * (i + 0.5) / GRID_TERMS);
        slope[i] = bessel(quarter * node[i]) / bessel(quarter);
    }
    for (int order = 1; order < GRID_TERMS; order++)
        for (int i = GRID_TERMS - 1; i >= order; i--)
            slope[i] = (slope[i] - slope[i - 1]) / (node[i] - node[i - order]);
    for (int i = 0; i < GRID_TERMS; i++)
        terms[i] = 0;
    for (int i = GRID_TERMS - 1; i >= 0; i--) { /* terms = terms * (u - node) + slope */
        for (int power = GRID_TERMS - 1; power > 0; power--)
            terms[power] = terms[power - 1] - node[i] * terms[power];
        terms[0] = slope[i] - node[i] * terms[0];
    }
}

/* The integral of K(d) cos(2 pi d x / side) over the kernel, by Simpson's rule: K is a polynomial between its ends. */
void ts_polar_apodization(const double terms[GRID_TERMS], int64_t n, int64_t side, float *factors)
{
    double kernel[QUADRATURE + 1];
    const double half = 0.5 * GRID_TAPS, step = half / QUADRATURE;
    for (int i = 0; i <= QUADRATURE; i++) {
        const double t = (double)i / QUADRATURE, u = 1 - t * t;
        kernel[i] = 0;
        for (int power = GRID_TERMS - 1; power >= 0; power--)
            kernel[i] = kernel[i] * u + terms[power];
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
