/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/geometry/view_blocks.h"

#include <math.h>
#include <stdlib.h>

#include "core/search.h"

enum { GROUPS = 16, LEAST_OF_GROUP = 3, STRIPS = 64, LEAST_STRIP = 2 };

struct view_groups ts_view_groups(const double *values, int64_t n_views)
{
    const int64_t groups = n_views / LEAST_OF_GROUP < GROUPS ? n_views / LEAST_OF_GROUP : GROUPS;
    double means[GROUPS], squares = 0, changes = 0;
    for (int64_t group = 0; group < groups; group++) {
        const int64_t first = group * n_views / groups, end = (group + 1) * n_views / groups;
        means[group] = 0;
        for (int64_t v = first; v < end; v++)
            means[group] += values[v] / (double)(end - first);
        squares += means[group] * means[group] / (double)groups;
    }
    for (int64_t v = 1; v < n_views; v++)
        changes += (values[v] - values[v - 1]) * (values[v] - values[v - 1]);
    qsort(means, (size_t)groups, sizeof *means, ts_compare_doubles);
    const double noise = changes / (double)(2 * n_views) * (double)groups / (double)n_views;
    return (struct view_groups){.least = means[0],
                                .low = means[1],
                                .high = means[groups - 2],
                                .most = means[groups - 1],
                                .deviation = sqrt(squares),
                                .noise = sqrt(noise)};
}

struct view_blocks ts_view_blocks(const float *p, int64_t n_views, int64_t n, int64_t least_values)
{
    struct view_blocks blocks = {.p = p, .n_views = n_views, .n = n};
    blocks.strip = n / STRIPS > LEAST_STRIP ? n / STRIPS : LEAST_STRIP;
    const int64_t least_views = least_values > blocks.strip
                                    ? (least_values + blocks.strip - 1) / blocks.strip
                                    : 1,
                  most = n_views / least_views < GROUPS ? n_views / least_views : GROUPS;
    blocks.groups = most > 1 ? most : 1;
    return blocks;
}

double ts_view_block_mean(const struct view_blocks *blocks, int64_t group, int64_t first)
{
    const int64_t view = group * blocks->n_views / blocks->groups,
                  end = (group + 1) * blocks->n_views / blocks->groups;
    double sum = 0;
    for (int64_t v = view; v < end; v++)
        for (int64_t d = first; d < first + blocks->strip; d++)
            sum += (double)blocks->p[v * blocks->n + d];
    return sum / (double)((end - view) * blocks->strip);
}

void ts_view_blocks_range(const struct view_blocks *blocks, int64_t first, double *least,
                          double *most)
{
    *least = INFINITY;
    *most = -INFINITY;
    for (int64_t group = 0; group < blocks->groups; group++) {
        const double mean = ts_view_block_mean(blocks, group, first);
        *least = fmin(*least, mean);
        *most = fmax(*most, mean);
    }
}

bool ts_view_end_is_cut_off(double share)
{
    return share > 0.1;
}

/* Returns the mean of a detector pixel over all views. */
static double column_mean(const struct view_blocks *blocks, int64_t d)
{
    double sum = 0;
    for (int64_t v = 0; v < blocks->n_views; v++)
        sum += (double)blocks->p[v * blocks->n + d];
    return sum / (double)blocks->n_views;
}

/* Returns the deviation by noise of a block: of its values, and of its columns' means. */
static double block_noise(const struct view_blocks *blocks)
{
    static const double of_absolute = 0.5117; /* sqrt(pi / 2 / 6): of second differences */
    const int64_t n = blocks->n;
    double values = 0, columns = 0, left = column_mean(blocks, 0), at = column_mean(blocks, 1);
    for (int64_t d = 1; d + 1 < n; d++) {
        const double right = column_mean(blocks, d + 1);
        columns += fabs(left - 2 * at + right) / (double)(n - 2);
        left = at;
        at = right;
    }
    for (int64_t v = 0; v < blocks->n_views; v++) {
        const float *row = blocks->p + v * n;
        for (int64_t d = 1; d + 1 < n; d++)
            values += fabs((double)row[d - 1] - 2 * (double)row[d] + (double)row[d + 1]) /
                      (double)((n - 2) * blocks->n_views);
    }
    const double strip = (double)blocks->strip,
                 views = (double)blocks->n_views / (double)blocks->groups;
    return of_absolute * sqrt((values * values / views + columns * columns) / strip);
}

double ts_view_blocks_contrast(const struct view_blocks *light)
{
    enum { DEVIATIONS = 8 };
    double darkest = INFINITY, brightest = -INFINITY, least, most;
    if (light->n < 4 * light->strip)
        return 0;
    for (int64_t first = 0; first + light->strip <= light->n; first += light->strip) {
        ts_view_blocks_range(light, first, &least, &most);
        darkest = fmin(darkest, least);
        brightest = fmax(brightest, most);
    }
    return brightest - darkest > DEVIATIONS * block_noise(light) && brightest > 0
               ? (brightest - darkest) / brightest
               : 0;
}

/* Fits a line to the columns of an end, from the outermost one inward, as line integrals. Returns
 * whether they fall outward by more than columns deviate, and than a 20th of them over half the
 * row. */
static bool end_rises(const struct view_blocks *light, bool last)
{
    enum { PARTS = 16, LEAST = 8, DEVIATIONS = 6 };
    const int64_t n = light->n, width = n / PARTS > LEAST ? n / PARTS : LEAST;
    double sum = 0, moment = 0, squares = 0, of_places = 0;
    for (int64_t i = 0; i < width; i++) {
        const double at = -log(fmax(1e-30, column_mean(light, last ? n - 1 - i : i))),
                     place = (double)i - 0.5 * (double)(width - 1);
        sum += at;
        moment += at * place;
        squares += at * at;
        of_places += place * place;
    }
    const double slope = moment / of_places, mean = sum / (double)width,
                 rest = fmax(0, squares - sum * mean - slope * moment) / (double)(width - 2);
    return slope > DEVIATIONS * sqrt(rest / of_places) && slope * 0.5 * (double)n > 0.05 * mean;
}

bool ts_view_ends_rise(const struct view_blocks *light)
{
    return light->n >= 64 && end_rises(light, false) && end_rises(light, true);
}

/* Returns what a strip of the detector sees: its largest mean or, if the value of air is not known,
 * the largest minus the smallest. */
static double seen_by(const struct view_blocks *blocks, enum ts_quantity quantity, int64_t first)
{
    double least, most;
    ts_view_blocks_range(blocks, first, &least, &most);
    if (quantity == TS_LINE_INTEGRAL)
        return most;
    return quantity == TS_TRANSMISSION ? 1 - least : most - least;
}

struct view_ends ts_view_ends(const float *p, int64_t n_views, int64_t n, enum ts_quantity quantity)
{
    enum { DEVIATIONS = 6 };
    const struct view_blocks blocks = ts_view_blocks(p, n_views, n, 1);
    double most = 0;
    for (int64_t first = 0; first + blocks.strip <= blocks.n; first += blocks.strip)
        most = fmax(most, seen_by(&blocks, quantity, first));
    const double left = seen_by(&blocks, quantity, 0),
                 right = seen_by(&blocks, quantity, blocks.n - blocks.strip);
    const double noise = DEVIATIONS * block_noise(&blocks);
    if (!(most > 0))
        return (struct view_ends){0, 0};
    return (struct view_ends){left > noise ? fmin(1, left / most) : 0,
                              right > noise ? fmin(1, right / most) : 0};
}
