/* SPDX-License-Identifier: Apache-2.0
 *
 * The band-limited ramp's samples; its transform over the padded length, one cosine after the
 * other; times the window; back to samples the same way; then the sum over the row's samples, one
 * after the other.
 */
#include "tests/stages/projection/filter_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/projection/filter.h"

static double window(int name, double u)
{
    if (u > 1)
        return 0;
    switch (name) {
    case ROW_FILTER_SHEPP_LOGAN:
        return u > 0 ? sin(M_PI * u / 2) / (M_PI * u / 2) : 1;
    case ROW_FILTER_COSINE:
        return cos(M_PI * u / 2);
    case ROW_FILTER_HAMMING:
        return 0.54 + 0.46 * cos(M_PI * u);
    case ROW_FILTER_HANN:
        return (1 + cos(M_PI * u)) / 2;
    case ROW_FILTER_PARZEN:
        return u <= 0.5 ? 1 - 6 * pow(u, 2) + 6 * pow(u, 3) : 2 * pow(1 - u, 3);
    default:
        return 1;
    }
}

/* kernel[i] for distances 0 .. n - 1, times the spacing. */
static void make_kernel(int name, double cutoff, double spacing, int64_t n, double *kernel)
{
    int64_t padded = 2;
    while (padded < 2 * n - 1)
        padded *= 2;
    double *cosines = malloc((size_t)padded * sizeof *cosines);
    for (int64_t i = 0; i < padded; i++)
        cosines[i] = cos(2 * M_PI * (double)i / (double)padded);
    for (int64_t i = 0; i < n; i++)
        kernel[i] = 0;
    for (int64_t k = 0; k < padded; k++) {
        double response = 1 / (4 * spacing);
        for (int64_t i = 1; i < padded; i += 2) {
            const double away = (double)(i < padded - i ? i : padded - i);
            response -= cosines[i * k % padded] / (M_PI * M_PI * away * away * spacing);
        }
        const double frequency = 2 * (double)(k < padded - k ? k : padded - k) / (double)padded;
        response *= window(name, frequency / cutoff);
        for (int64_t i = 0; i < n; i++)
            kernel[i] += response * cosines[i * k % padded] / (double)padded;
    }
    free(cosines);
}

void ts_filter_rows_oracle(int name, double cutoff, double spacing, const double *in,
                           int64_t n_rows, int64_t n, double *out)
{
    double *kernel = malloc((size_t)n * sizeof *kernel);
    make_kernel(name, cutoff, spacing, n, kernel);
    for (int64_t row = 0; row < n_rows; row++)
        for (int64_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t j = 0; j < n; j++)
                sum += in[row * n + j] * kernel[llabs(i - j)];
            out[row * n + i] = name == ROW_FILTER_NONE ? in[row * n + i] : sum;
        }
    free(kernel);
}

void ts_filter_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct filter_params *params = context->params;
    const double spacing = context->in.axes[2].spacing > 0 ? context->in.axes[2].spacing : 1;
    ts_filter_rows_oracle(params->filter, params->cutoff, spacing, in,
                          context->in.axes[0].n * context->in.axes[1].n, context->in.axes[2].n,
                          out);
}
