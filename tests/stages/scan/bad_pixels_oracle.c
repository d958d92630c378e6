/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/scan/bad_pixels_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/scan/bad_pixels.h"

enum { TABLES = 6, GOOD = -1, MASKED, NONFINITE, SATURATED, LOW, DEAD, LEFT };

struct oracle {
    const struct stage_context *context;
    const struct bad_pixels_params *params;
    int64_t nz, n_views, n;
    const double *in;
    int *kinds;   /* of each pixel: GOOD, or the number of its table */
    double *rows; /* filled along the detector, where a row has a good pixel */
};

static size_t at(const struct oracle *oracle, int64_t z, int64_t view, int64_t d)
{
    return (size_t)((z * oracle->n_views + view) * oracle->n + d);
}

static int own_kind(const struct oracle *oracle, double value, bool valid)
{
    if (!valid)
        return MASKED;
    if (isnan(value) || isinf(value))
        return NONFINITE;
    if (value >= oracle->params->highest)
        return SATURATED;
    return value < oracle->params->lowest ? LOW : GOOD;
}

/* The good values of a detector pixel: how many there are, whether all are the same, and their
 * mean. */
static int64_t look_at_column(const struct oracle *oracle, int64_t z, int64_t d, double *first,
                              bool *same, double *mean)
{
    int64_t count = 0;
    *same = true;
    *mean = *first = 0;
    for (int64_t view = 0; view < oracle->n_views; view++) {
        const double value = oracle->in[at(oracle, z, view, d)];
        if (oracle->kinds[at(oracle, z, view, d)] != GOOD)
            continue;
        if (count++ == 0)
            *first = value;
        *same = *same && value == *first;
        *mean += value;
    }
    *mean /= (double)count;
    return count;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool stands_out(const struct oracle *oracle, int64_t z, int64_t d, const bool *constant)
{
    double means[10], first, own;
    bool same;
    size_t n = 0;
    if (constant[d] || look_at_column(oracle, z, d, &first, &same, &own) == 0)
        return false;
    for (int64_t i = d - 5; i <= d + 5; i++)
        if (i >= 0 && i < oracle->n && i != d && !constant[i] &&
            look_at_column(oracle, z, i, &first, &same, &means[n]) > 0)
            n++;
    qsort(means, n, sizeof *means, compare);
    return n > 0 && means[n / 2] > 0 &&
           (own >= oracle->params->ratio * means[n / 2] ||
            own * oracle->params->ratio <= means[n / 2]);
}

static void find_dead(const struct oracle *oracle, int64_t z)
{
    const enum ts_quantity quantity = oracle->context->in.quantity;
    const int64_t n = oracle->n;
    bool *constant = calloc((size_t)n, sizeof *constant), *dead = calloc((size_t)n, sizeof *dead),
         same;
    double first, mean;
    int64_t left = n, right = -1, count = 0;
    for (int64_t d = 0; d < n; d++)
        if (look_at_column(oracle, z, d, &first, &same, &mean) > 0 && !same) {
            left = left == n ? d : left;
            right = d;
        }
    for (int64_t d = 0; d < n && right >= 0 && oracle->params->columns == COLUMNS_FIND; d++) {
        const bool zero = look_at_column(oracle, z, d, &first, &same, &mean) >= 8 && same &&
                          first == 0 && (quantity == TS_COUNTS || quantity == TS_TRANSMISSION);
        constant[d] = zero || (d > left && d < right &&
                               look_at_column(oracle, z, d, &first, &same, &mean) >= 8 && same);
        count += constant[d];
    }
    for (int64_t d = 0; d < n && 2 * count > n; d++)
        constant[d] = false;
    for (int64_t d = 0; d < n && oracle->params->columns == COLUMNS_ALL; d++)
        constant[d] = look_at_column(oracle, z, d, &first, &same, &mean) >= 8 && same;
    for (int64_t d = 0; d < n; d++)
        dead[d] =
            constant[d] || (isfinite(oracle->params->ratio) && stands_out(oracle, z, d, constant));
    for (int64_t view = 0; view < oracle->n_views; view++)
        for (int64_t d = 0; d < n; d++)
            if (dead[d] && oracle->kinds[at(oracle, z, view, d)] == GOOD)
                oracle->kinds[at(oracle, z, view, d)] = DEAD;
    free(constant);
    free(dead);
}

/* To the type of the image, which an output of integers holds. */
static double rounded(const struct oracle *oracle, double value)
{
    return oracle->context->in.dtype == TS_F32 ? (double)(float)value : nearbyint(value);
}

static bool has_good(const struct oracle *oracle, int64_t z, int64_t view)
{
    for (int64_t d = 0; d < oracle->n; d++)
        if (oracle->kinds[at(oracle, z, view, d)] == GOOD)
            return true;
    return false;
}

static double weigh(double a, int64_t below, double b, int64_t above)
{
    if (below <= 0 || above <= 0)
        return below > 0 ? a : b;
    return (a * (double)above + b * (double)below) / (double)(above + below);
}

static void fill_along_detector(const struct oracle *oracle, int64_t z, int64_t view)
{
    const double *in = oracle->in + at(oracle, z, view, 0);
    const int *kinds = oracle->kinds + at(oracle, z, view, 0);
    for (int64_t d = 0; d < oracle->n; d++) {
        int64_t left = d, right = d;
        while (left >= 0 && kinds[left] != GOOD)
            left--;
        while (right < oracle->n && kinds[right] != GOOD)
            right++;
        oracle->rows[at(oracle, z, view, d)] =
            left == d ? in[d]
                      : rounded(oracle, weigh(left >= 0 ? in[left] : 0, left >= 0 ? d - left : -1,
                                              right < oracle->n ? in[right] : 0,
                                              right < oracle->n ? right - d : -1));
    }
}

/* A row without a good pixel: from views of its slice, else from slices. Returns false where there
 * are none. */
static bool fill_between_rows(const struct oracle *oracle, int64_t z, int64_t view, double *out)
{
    int64_t below = 1, above = 1, most = oracle->params->rows, dz = 0;
    while (view - below >= 0 && !has_good(oracle, z, view - below))
        below++;
    while (view + above < oracle->n_views && !has_good(oracle, z, view + above))
        above++;
    below = view - below >= 0 ? below : -1;
    above = view + above < oracle->n_views ? above : -1;
    if (below < 0 && above < 0) {
        dz = 1;
        for (below = 1; below <= most && (z - below < 0 || !has_good(oracle, z - below, view));)
            below++;
        for (above = 1;
             above <= most && (z + above >= oracle->nz || !has_good(oracle, z + above, view));)
            above++;
        below = below <= most ? below : -1;
        above = above <= most ? above : -1;
    }
    for (int64_t d = 0; d < oracle->n; d++) {
        const double a =
            below > 0 ? oracle->rows[at(oracle, dz ? z - below : z, dz ? view : view - below, d)]
                      : 0;
        const double b =
            above > 0 ? oracle->rows[at(oracle, dz ? z + above : z, dz ? view : view + above, d)]
                      : 0;
        if (below > 0 || above > 0)
            out[d] = rounded(oracle, weigh(a, below, b, above));
    }
    return below > 0 || above > 0;
}

void ts_bad_pixels_oracle_masked(const struct stage_context *context, const double *in,
                                 const unsigned char *valid, double *out, uint64_t *counts)
{
    struct oracle oracle = {context,
                            context->params,
                            context->in.axes[0].n,
                            context->in.axes[1].n,
                            context->in.axes[2].n,
                            in,
                            NULL,
                            NULL};
    const size_t all = (size_t)(oracle.nz * oracle.n_views * oracle.n);
    oracle.kinds = malloc(all * sizeof *oracle.kinds);
    oracle.rows = malloc(all * sizeof *oracle.rows);
    for (size_t i = 0; i < all; i++)
        oracle.kinds[i] = own_kind(&oracle, in[i], !valid || valid[i]);
    for (int64_t z = 0; z < oracle.nz; z++)
        find_dead(&oracle, z);
    for (int64_t row = 0; row < oracle.nz * oracle.n_views; row++)
        if (has_good(&oracle, row / oracle.n_views, row % oracle.n_views))
            fill_along_detector(&oracle, row / oracle.n_views, row % oracle.n_views);
    for (int64_t row = 0; row < oracle.nz * oracle.n_views; row++) {
        const int64_t z = row / oracle.n_views, view = row % oracle.n_views;
        const size_t first = at(&oracle, z, view, 0), bytes = (size_t)oracle.n * sizeof *out;
        bool left = false;
        if (has_good(&oracle, z, view)) {
            memcpy(out + first, oracle.rows + first, bytes);
        } else if (!fill_between_rows(&oracle, z, view, out + first)) {
            memcpy(out + first, in + first, bytes);
            left = true;
        }
        for (int64_t d = 0; counts && d < oracle.n; d++) {
            if (oracle.kinds[first + (size_t)d] != GOOD)
                counts[z * TABLES + oracle.kinds[first + (size_t)d]]++;
            counts[z * TABLES + LEFT] += left;
        }
    }
    free(oracle.kinds);
    free(oracle.rows);
}

void ts_bad_pixels_oracle(const struct stage_context *context, const double *in, double *out)
{
    ts_bad_pixels_oracle_masked(context, in, NULL, out, NULL);
}

void ts_bad_pixels_oracle_tables(const struct stage_context *context, const double *in,
                                 const double *out, struct bench_tables *tables)
{
    static const char *const names[TABLES] = {"masked", "nonfinite", "saturated",
                                              "low",    "dead",      "left"};
    const int64_t nz = context->in.axes[0].n;
    uint64_t *counts = calloc((size_t)nz * TABLES, sizeof *counts);
    double *again = malloc(ts_image_count(&context->in) * sizeof *again);
    (void)out;
    ts_bad_pixels_oracle_masked(context, in, NULL, again, counts);
    for (int t = 0; t < TABLES; t++) {
        double *values = ts_bench_table(tables, names[t]);
        for (int64_t z = 0; z < nz; z++)
            values[z] = (double)counts[z * TABLES + t];
    }
    free(counts);
    free(again);
}
