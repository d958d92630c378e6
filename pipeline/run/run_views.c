/* SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/run/run_views.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PIXELS = 8, LEAST_DIFFERENT = 2, STRIPS = 16, LEAST_STRIP = 4, LEAST_VIEWS = 4 };

static const double object = 0.2;

static void note(int64_t view, int64_t *count, int64_t *first, int64_t *last)
{
    if (*count == 0)
        *first = view;
    *last = view;
    *count += 1;
}

/* ---- frames that were given again --------------------------------------------------------------- */

static bool is_constant(const float *row, int64_t n)
{
    int64_t d = 1;
    while (d < n && row[d] == row[0])
        d++;
    return d == n;
}

/* Returns whether the views that differ from the one before do so by noise. `changes` holds n numbers. */
static bool is_noisy(const float *counts, int64_t n_views, int64_t n, int32_t *changes)
{
    int64_t different = 0, noisy = 0;
    for (int64_t v = 1; v < n_views; v++) {
        const float *row = counts + v * n, *before = row - n;
        if (memcmp(row, before, (size_t)n * sizeof *row) == 0)
            continue;
        different++;
        for (int64_t d = 0; d < n; d++)
            changes[d] += row[d] != before[d];
    }
    for (int64_t d = 0; d < n; d++)
        noisy += 2 * (int64_t)changes[d] >= different;
    return different >= LEAST_DIFFERENT && 10 * noisy >= 9 * n;
}

int64_t ts_views_find_repeated(const float *counts, int64_t n_views, int64_t n, int64_t *first, int64_t *last)
{
    int64_t count = 0;
    int32_t *changes = n >= LEAST_PIXELS ? calloc((size_t)n, sizeof *changes) : NULL;
    for (int64_t v = 1; changes && v < n_views; v++) {
        const float *row = counts + v * n;
        if (memcmp(row, row - n, (size_t)n * sizeof *row) == 0 && !is_constant(row, n))
            note(v, &count, first, last);
    }
    if (count > 0 && !is_noisy(counts, n_views, n, changes))
        count = 0;
    free(changes);
    return count;
}

/* ---- frames without the object ------------------------------------------------------------------ */

/* Returns the share of the light that the object takes away in a view, 0 where the row is air. */
static double depth_of(const float *row, int64_t n)
{
    const int64_t strip = n / STRIPS > LEAST_STRIP ? n / STRIPS : LEAST_STRIP;
    double least = INFINITY, most = -INFINITY;
    for (int64_t first = 0; first + strip <= n; first += strip) {
        double sum = 0;
        for (int64_t d = first; d < first + strip; d++)
            sum += (double)row[d];
        least = fmin(least, sum / (double)strip);
        most = fmax(most, sum / (double)strip);
    }
    return most > 0 && isfinite(least) ? 1 - least / most : 0;
}

static int compare_depths(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

int64_t ts_views_find_blank(const float *transmission, int64_t n_views, int64_t n, int64_t *first, int64_t *last)
{
    int64_t count = 0;
    double *depths = n_views >= LEAST_VIEWS ? malloc(2 * (size_t)n_views * sizeof *depths) : NULL;
    if (!depths)
        return 0;
    double *sorted = depths + n_views;
    for (int64_t v = 0; v < n_views; v++)
        sorted[v] = depths[v] = depth_of(transmission + v * n, n);
    qsort(sorted, (size_t)n_views, sizeof *sorted, compare_depths);
    const double usual = sorted[n_views / 2];
    for (int64_t v = 0, end; usual > object && v < n_views; v = end) {
        for (end = v; end < n_views && depths[end] < usual / 4; end++)
            continue;
        /* An object that is thin in some directions comes and goes by and by. */
        if (end > v && (v == 0 || depths[v - 1] > usual / 2) && (end == n_views || depths[end] > usual / 2))
            for (int64_t k = v; k < end; k++)
                note(k, &count, first, last);
        end += end == v;
    }
    free(depths);
    return count;
}
