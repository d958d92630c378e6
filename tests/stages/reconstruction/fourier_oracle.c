/* SPDX-License-Identifier: Apache-2.0
 *
 * f(x, y) = sum over views of weight / P * sum over k = -P .. P of G(k / P) H[k] Z[k] exp(2 pi i k
 * (s / d + center) / P), summed as written: Z a row's discrete Fourier transform and H that of the
 * ramp's samples times the window, which both repeat themselves after P, and G what `interpolation`
 * says. A slice with a value that is no number is none itself. (z, view, detector) -> (z, y, x).
 */
#include "tests/stages/reconstruction/fourier_oracle.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "stages/reconstruction/fourier.h"
#include "tests/stages/projection/backproject_oracle.h"

static double window(int name, double u)
{
    switch (name) {
    case ROW_FILTER_SHEPP_LOGAN:
        return u > 0 ? sin(M_PI / 2 * u) / (M_PI / 2 * u) : 1;
    case ROW_FILTER_COSINE:
        return cos(M_PI / 2 * u);
    case ROW_FILTER_HAMMING:
        return 0.54 + 0.46 * cos(M_PI * u);
    case ROW_FILTER_HANN:
        return 0.5 * (1 + cos(M_PI * u));
    case ROW_FILTER_PARZEN:
        return u <= 0.5 ? 1 - 6 * u * u * (1 - u) : 2 * pow(1 - u, 3);
    default:
        return 1;
    }
}

static double response(const struct reconstruction_params *params, double spacing, int64_t k,
                       int64_t padded)
{
    if (params->filter == ROW_FILTER_NONE)
        return 1;
    double sum = 0.25 / spacing;
    for (int64_t i = 1; i < padded; i++) {
        const int64_t n = i < padded - i ? i : padded - i;
        if (n % 2)
            sum -= cos(2 * M_PI * (double)(k * i % padded) / (double)padded) /
                   (M_PI * M_PI * (double)(n * n) * spacing);
    }
    const double u = 2 * (double)k / (double)padded / params->cutoff;
    return u <= 1 ? sum * window(params->filter, u) : 0;
}

static double interpolation(int name, double u)
{
    if (name == FOURIER_SINC)
        return u < 0.5 ? 1 : u > 0.5 ? 0 : 0.5;
    return u > 0 ? pow(sin(M_PI * u) / (M_PI * u), 2) : 1;
}

/* Terms k = 0 .. padded of one row, both signs of k in one. */
static void make_terms(const double *row, int64_t n, int64_t padded, const double *responses,
                       double complex *terms)
{
    for (int64_t k = 0; k <= padded; k++) {
        terms[k] = 0;
        for (int64_t i = 0; i < n; i++)
            terms[k] += row[i] * cexp(-2 * M_PI * I * (double)(k * i % padded) / (double)padded);
        terms[k] *= responses[k] / (double)padded * (k == 0 ? 1 : 2);
    }
}

static double at(const double complex *terms, int64_t padded, double t)
{
    const double complex step = cexp(2 * M_PI * I * t / (double)padded);
    double complex turn = 1;
    double sum = 0;
    for (int64_t k = 0; k <= padded; k++, turn *= step)
        sum += creal(terms[k] * turn);
    return sum;
}

void ts_fourier_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct reconstruction_params *params = context->params;
    const struct ts_axis *views = &context->in.axes[1], *detectors = &context->in.axes[2];
    const double spacing = detectors->spacing > 0 ? detectors->spacing : 1;
    const int64_t n = detectors->n, pixels = params->rows * params->columns;
    int64_t padded = 2;
    while (padded < 2 * n - 1)
        padded *= 2;
    double *responses = malloc((size_t)(padded + 1) * sizeof *responses);
    double complex *terms = malloc((size_t)(padded + 1) * sizeof *terms);
    for (int64_t k = 0; k <= padded; k++)
        responses[k] = response(params, spacing, k <= padded / 2 ? k : padded - k, padded) *
                       interpolation(params->interpolation, (double)k / (double)padded);
    for (int64_t z = 0; z < context->in.axes[0].n; z++, out += pixels) {
        double check = 0;
        for (int64_t i = 0; i < views->n * n; i++)
            check += 0 * in[z * views->n * n + i];
        for (int64_t i = 0; i < pixels; i++)
            out[i] = check;
        for (int64_t v = 0; v < views->n; v++) {
            const double angle = ts_view_degree_oracle(views, v) * M_PI / 180,
                         weight = ts_view_weight_oracle(views, v);
            make_terms(in + (z * views->n + v) * n, n, padded, responses, terms);
            for (int64_t i = 0; i < pixels; i++) {
                const int64_t row = i / params->columns;
                const double y = ((double)(params->rows - 1) / 2 - (double)row) *
                                 params->row_spacing,
                             x = ((double)(i % params->columns) -
                                  (double)(params->columns - 1) / 2) *
                                 params->pixel_size;
                out[i] += weight * at(terms, padded,
                                      (x * cos(angle) + y * sin(angle)) / spacing + params->center);
            }
        }
    }
    free(responses);
    free(terms);
}
