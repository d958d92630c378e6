/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_wave.h"

#include <math.h>
#include <stdbool.h>

enum { UNKNOWNS = 4 };

/* Sums of products of the unknowns' columns, and with the values and the first unit vector. */
struct equations {
    double at[UNKNOWNS][UNKNOWNS + 2];
};

/* Solves n equations; the solution is in column UNKNOWNS, and column 0 of the inverse in the next.
 * Returns false if there is none. */
static bool solve(struct equations *e, int n)
{
    for (int i = 0; i < n; i++)
        e->at[i][UNKNOWNS + 1] = i == 0;
    for (int i = 0; i < n; i++) { /* the matrix is symmetric and positive */
        const double pivot = e->at[i][i];
        if (!(pivot > 1e-9))
            return false;
        for (int k = 0; k < UNKNOWNS + 2; k++)
            e->at[i][k] /= pivot;
        for (int j = 0; j < n; j++) {
            const double factor = e->at[j][i];
            for (int k = 0; j != i && k < UNKNOWNS + 2; k++)
                e->at[j][k] -= factor * e->at[i][k];
        }
    }
    return true;
}

static void columns_of(const double *degrees, int64_t v, int64_t n, int turns,
                       double columns[UNKNOWNS])
{
    const double theta = (double)turns * degrees[v] * M_PI / 180;
    columns[0] = 1;
    columns[1] = cos(theta);
    columns[2] = sin(theta);
    columns[3] = (double)v / (double)n;
}

static void view_wave_add(struct equations *e, const double *columns, int n, double at)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++)
            e->at[i][k] += columns[i] * columns[k];
        e->at[i][UNKNOWNS] += columns[i] * at;
    }
}

/* Fits the first of the unknowns. */
static double fit(const double *values, const double *degrees, int64_t n, int turns, int unknowns,
                  double *found, double *error)
{
    struct equations e = {0};
    double columns[UNKNOWNS], squares = 0;
    for (int64_t v = 0; v < n; v++) {
        columns_of(degrees, v, n, turns, columns);
        view_wave_add(&e, columns, unknowns, values[v]);
    }
    if (!solve(&e, unknowns))
        return INFINITY;
    for (int64_t v = 0; v < n; v++) {
        columns_of(degrees, v, n, turns, columns);
        double left = values[v];
        for (int i = 0; i < unknowns; i++)
            left -= columns[i] * e.at[i][UNKNOWNS];
        squares += left * left;
    }
    for (int i = 0; i < unknowns; i++)
        found[i] = e.at[i][UNKNOWNS];
    const double deviation = sqrt(squares / (double)(n - unknowns));
    *error = deviation * sqrt(fmax(0, e.at[0][UNKNOWNS + 1]));
    return deviation;
}

double ts_view_wave(const double *values, const double *degrees, int64_t n, int turns,
                    double wave[3], double *error)
{
    return fit(values, degrees, n, turns, 3, wave, error);
}

void ts_view_wave_subtract(double *values, const double *degrees, int64_t n, int turns,
                           double divisor)
{
    double wave[3], error;
    if (!isfinite(ts_view_wave(values, degrees, n, turns, wave, &error)))
        return;
    for (int64_t v = 0; v < n; v++) {
        const double theta = (double)turns * degrees[v] * M_PI / 180;
        values[v] -= wave[0] + wave[1] * cos(theta) + wave[2] * sin(theta);
        values[v] /= divisor;
    }
}

double ts_view_wave_drift(const double *values, const double *degrees, int64_t n)
{
    double found[UNKNOWNS], error;
    const double wave = fit(values, degrees, n, 1, 3, found, &error),
                 drift = fit(values, degrees, n, 1, UNKNOWNS, found, &error);
    return isfinite(drift) ? sqrt(fmax(0, wave * wave - drift * drift)) : 0;
}

double ts_view_wave_step(const double *values, const double *degrees, int64_t n, int64_t *view,
                         double *step)
{
    const int64_t margin = n / 16 + 2;
    struct equations all = {0}, late = {0};
    double least = INFINITY, columns[UNKNOWNS], squares = 0;
    for (int64_t v = 0; v < n; v++) {
        const double at = values[v] - values[0];
        columns_of(degrees, v, n, 1, columns);
        view_wave_add(&all, columns, 3, at);
        squares += at * at;
    }
    for (int64_t v = n - 1; v >= margin; v--) {
        columns_of(degrees, v, n, 1, columns);
        view_wave_add(&late, columns, 3, values[v] - values[0]);
        if (v > n - margin)
            continue;
        struct equations e = all;
        for (int i = 0; i < 3; i++)
            e.at[i][3] = e.at[3][i] = late.at[0][i];
        e.at[3][3] = late.at[0][0];
        e.at[3][UNKNOWNS] = late.at[0][UNKNOWNS];
        double left = squares, right[UNKNOWNS];
        for (int i = 0; i < UNKNOWNS; i++)
            right[i] = e.at[i][UNKNOWNS];
        if (!solve(&e, UNKNOWNS))
            continue;
        for (int i = 0; i < UNKNOWNS; i++)
            left -= right[i] * e.at[i][UNKNOWNS];
        if (left >= least)
            continue;
        least = left;
        *view = v;
        *step = e.at[3][UNKNOWNS];
    }
    return sqrt(fmax(0, least) / (double)(n - UNKNOWNS));
}
