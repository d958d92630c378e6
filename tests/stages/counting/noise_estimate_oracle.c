/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/counting/noise_estimate_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "tests/stages/histogram/statistics_oracle.h"

double ts_immerkaer_oracle(const double *values, int64_t nz, int64_t ny, int64_t nx)
{
    static const double mask[3][3] = {{1, -2, 1}, {-2, 4, -2}, {1, -2, 1}};
    const double pi = 3.14159265358979323846;
    long double sum = 0;
    int64_t count = 0;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 1; y < ny - 1; y++)
            for (int64_t x = 1; x < nx - 1; x++) {
                double response = 0;
                for (int64_t j = 0; j < 3; j++)
                    for (int64_t i = 0; i < 3; i++)
                        response += mask[j][i] * values[(z * ny + y + j - 1) * nx + x + i - 1];
                if (isfinite(response)) {
                    sum += (long double)fabs(response);
                    count++;
                }
            }
    return count > 0 ? sqrt(pi / 2) / 6 * (double)(sum / (long double)count) : (double)NAN;
}

/* Returns the sample that stands for sample i where a line continues mirrored, with its last sample
 * twice. */
static int64_t mirrored(int64_t i, int64_t n)
{
    while (i < 0 || i >= n)
        i = i < 0 ? -1 - i : 2 * n - 1 - i;
    return i;
}

/* Rounding hides a coefficient of 0, which a constant has, so one far below the values counts as
 * 0. */
double ts_wavelet_noise_oracle(const double *values, int64_t nz, int64_t ny, int64_t nx)
{
    const double root = sqrt(3), norm = 4 * sqrt(2);
    const double taps[4] = {-(1 + root) / norm, (3 + root) / norm, -(3 - root) / norm,
                            (1 - root) / norm};
    const int64_t rows = (ny + 3) / 2, columns = (nx + 3) / 2;
    double *sizes = malloc((size_t)(nz * rows * columns) * sizeof *sizes);
    size_t n = 0;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t k = 0; k < rows; k++)
            for (int64_t l = 0; l < columns; l++) {
                double d = 0, largest = 0;
                for (int64_t j = 0; j < 4; j++)
                    for (int64_t i = 0; i < 4; i++) {
                        const double value = values[(z * ny + mirrored(2 * k + 1 - j, ny)) * nx +
                                                    mirrored(2 * l + 1 - i, nx)];
                        d += taps[j] * taps[i] * value;
                        largest = fmax(largest, fabs(value));
                    }
                if (isfinite(d) && fabs(d) > 1e-13 * largest)
                    sizes[n++] = fabs(d);
            }
    const double median = ts_percentile_oracle(sizes, n, 50);
    free(sizes);
    return median / 0.67448975019608171;
}
