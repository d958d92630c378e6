/* SPDX-License-Identifier: Apache-2.0
 *
 * Four measures say how well a row for each view and the angles of the views fit each other.
 * - com: the centers of mass are c + a cos(theta) + b sin(theta), and c is the axis.
 * - var: the variances about them are d + e cos(2 theta) + f sin(2 theta). Both are the first of
 *   the consistency conditions of S. Helgason and D. Ludwig.
 * - mirror: opposite views are mirror images. Rows are compared about their centers of mass.
 * - smooth: neighbors on the circle are alike.
 * The angles are doubted if two of them are bad, and much better with other angles that people take
 * for these: of another range, called degrees in place of milliradians, or of frames in the order
 * of their numbers as texts or taken in passes; and no other measure is worse with those. A single
 * bad measure is not enough, since a sample that drifts, a beam that hardens and stripes make it
 * bad as well. Opposite views that are no mirror images, whatever their light, are told. The axis
 * is doubted if that of the centers of mass and opposite views agree on another one.
 */
#include "stages/geometry/view_doubts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"
#include "stages/geometry/view_angles.h"
#include "stages/geometry/view_blocks.h"
#include "stages/geometry/view_fan.h"
#include "stages/geometry/view_leaps.h"
#include "stages/geometry/view_opposites.h"
#include "stages/geometry/view_wave.h"

enum {
    LEAST_VIEWS = 12,
    LEAST_ANGLES = 24,
    LEAST_DETECTORS = 16,
    MOST_BINS = 128,
    BINS_OF_RADIUS = 6,
    MOST_GROUPS = 16,
    LEAST_OF_GROUP = 3, /* views */
    STRIPS = 16         /* of a row, one at each end */
};

/* Air differs from the line through both ends by this part of the most that is seen, and that line
 * from 0 by the second one; the masses of the views have this deviation. */
static const double most_air = 0.05, most_base = 0.3, most_mass = 0.15;
/* Residuals of centers of mass, and of half the variance over the mean radius, that are bad:
 * detector pixels, or a part of the row. Differences of rows that are bad, as a part of their
 * energy. */
static const double bad_pixels = 0.5, bad_part = 0.003, small_part = 0.2, bad_rows = 0.004,
                    bad_edges = 0.3;
/* Measures are much better if they are so many times less, and worse if they are more so. Squares
 * of rows that differ: opposite views differ more than neighbors do. */
static const double better = 2.5, better_mirror = 4, better_smooth = 9, unlike_neighbors = 9;
static const double worse = 1.5, worse_rows = 2;
/* What is seen at one end and not at the other, as a part of the most, is cut off there, and sums
 * of rows that see all of an object differ by no more. */
static const double most_end = 0.05;
/* The axis is off by this many detector pixels and standard errors, and opposite views fit it this
 * much better. */
static const double least_off = 1, errors_off = 3, better_axis = 2;
/* Sums of rows are unequal if the logarithm of their ratio is more than this and, since beams
 * harden, than this part of the most that is seen. Both these and centers of mass that drift, by so
 * many detector pixels or a part of the row, differ by so many deviations of noise, and sums by so
 * many times what air does. */
static const double most_unequal = 0.25, noises_off = 8, times_air = 3;
static const double noises_drift = 5, least_drift = 0.25, drift_part = 0.002, drift_even = 0.9;

struct measures {
    double com, var, mirror, smooth; /* mirror: NAN without opposite views */
    double center, error, along[2];  /* of the wave of the centers of mass: cos and sin */
};

struct rows {
    const float *p;
    int64_t n_views, n;
    int64_t first, end; /* detector pixels that were not extended */
    double left, slope; /* air: left + slope * d */
    double most;        /* that is seen beside it */
    double *mass, *com, *var;
    double radius; /* of gyration, in the mean */
    double *shape; /* (view, bin): about the centers of mass, of mass 1 */
    int64_t bins;
    double energy;           /* the mean square of a row of these */
    double *degrees, *trial; /* of the views from the first on: as declared, and as tried */
    double arc;              /* of `degrees`, with a step more */
    struct view_place *places;
    double *sums; /* n + 1 */
};

static double value(const struct rows *rows, int64_t v, int64_t d)
{
    return (double)rows->p[v * rows->n + d] - rows->left - rows->slope * (double)d;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns whether column d is that beside it in all views, and no air without noise. */
static bool is_extended(const struct rows *rows, int64_t d, int64_t beside)
{
    bool varies = false;
    for (int64_t v = 0; v < rows->n_views; v++) {
        const float *row = rows->p + v * rows->n;
        if (row[d] != row[beside])
            return false;
        varies |= row[d] != rows->p[d];
    }
    return varies;
}

/* Finds what air is, and returns whether both ends are air. */
static bool find_air(struct rows *rows)
{
    const struct view_blocks blocks = ts_view_blocks(rows->p, rows->n_views, rows->n, 64);
    const int64_t strip = blocks.strip, last = rows->n - strip;
    double left = 0, right = 0, most = 0, ends = 0, low, high;
    for (int64_t group = 0; group < blocks.groups; group++) {
        left += ts_view_block_mean(&blocks, group, 0) / (double)blocks.groups;
        right += ts_view_block_mean(&blocks, group, last) / (double)blocks.groups;
    }
    rows->slope = (right - left) / (double)last;
    rows->left = left - rows->slope * 0.5 * (double)(strip - 1);
    for (int64_t first = 0; first <= last; first += strip) {
        ts_view_blocks_range(&blocks, first, &low, &high);
        most = fmax(most, high - left - rows->slope * (double)first);
    }
    for (int end = 0; end < 2; end++) {
        ts_view_blocks_range(&blocks, end ? last : 0, &low, &high);
        ends = fmax(ends, fmax(high - (end ? right : left), (end ? right : left) - low));
    }
    rows->most = most;
    return ends < most_air * most && fabs(left) < most_base * most &&
           fabs(right) < most_base * most;
}

/* Finds the mass, the center of mass and the variance of all views, and whether they see the same
 * mass. Returns false if a view has none. */
static bool find_moments(struct rows *rows, bool *alike)
{
    const double n_views = (double)rows->n_views;
    double sum = 0, squares = 0, variance = 0;
    for (int64_t v = 0; v < rows->n_views; v++) {
        double mass = 0, first = 0, second = 0;
        for (int64_t d = rows->first; d < rows->end; d++) {
            const double at = value(rows, v, d), x = (double)d;
            mass += at;
            first += at * x;
            second += at * x * x;
        }
        rows->mass[v] = mass;
        rows->com[v] = first / mass;
        rows->var[v] = second / mass - rows->com[v] * rows->com[v];
        sum += mass / n_views;
        squares += mass * mass / n_views;
        variance += rows->var[v] / n_views;
        if (!(mass > 0))
            return false;
    }
    rows->radius = sqrt(fmax(1, variance));
    *alike = squares - sum * sum < most_mass * most_mass * sum * sum;
    return true;
}

/* ---- groups of views ------------------------------------------------------------------------- */

/* What a value of the views has in groups of successive ones: the lowest and the highest mean,
 * those next to them, which a few views do not make, the deviation from 0, and that by noise. */
struct grouped {
    double least, low, high, most, deviation, noise;
};

static struct grouped group_views(const double *values, int64_t n)
{
    const int64_t groups = n / LEAST_OF_GROUP < MOST_GROUPS ? n / LEAST_OF_GROUP : MOST_GROUPS;
    double means[MOST_GROUPS], squares = 0, changes = 0;
    for (int64_t group = 0; group < groups; group++) {
        const int64_t first = group * n / groups, end = (group + 1) * n / groups;
        means[group] = 0;
        for (int64_t v = first; v < end; v++)
            means[group] += values[v] / (double)(end - first);
        squares += means[group] * means[group] / (double)groups;
    }
    for (int64_t v = 1; v < n; v++)
        changes += (values[v] - values[v - 1]) * (values[v] - values[v - 1]);
    qsort(means, (size_t)groups, sizeof *means, ts_compare_doubles);
    return (struct grouped){
        means[0],          means[1],
        means[groups - 2], means[groups - 1],
        sqrt(squares),     sqrt(changes / (double)(2 * n) * (double)groups / (double)n)};
}

/* Finds views whose rows have unequal sums, by more than the ends, which are air, account for. Room
 * for n_views numbers is in `air`. */
static bool are_unequal(const struct rows *rows, double *air, struct view_doubts *doubts)
{
    const int64_t width = rows->end - rows->first,
                  strip = width / MOST_BINS > 2 ? width / MOST_BINS : 2;
    for (int64_t v = 0; v < rows->n_views; v++) {
        air[v] = 0;
        for (int64_t d = 0; d < strip; d++)
            air[v] += 0.5 * (value(rows, v, rows->first + d) + value(rows, v, rows->end - 1 - d)) *
                      (double)width / (double)strip;
    }
    const struct grouped sums = group_views(rows->mass, rows->n_views),
                         ends = group_views(air, rows->n_views);
    const double apart = sums.high - sums.low;
    if (!(sums.low > 0) || log(sums.high / sums.low) <= most_unequal * fmax(1, rows->most) ||
        apart <= noises_off * sums.noise || apart <= times_air * (ends.most - ends.least))
        return false;
    doubts->kind = VIEWS_UNEQUAL;
    doubts->first = sums.low;
    doubts->second = sums.high;
    return true;
}

/* Writes the means of the rows over bins about their centers of mass. */
static void find_shapes(struct rows *rows)
{
    const int64_t n = rows->n, bins = rows->bins;
    const double width = (double)n / (double)bins;
    double *sums = rows->sums;
    rows->energy = 0;
    for (int64_t v = 0; v < rows->n_views; v++) {
        double *shape = rows->shape + v * bins;
        sums[0] = 0;
        for (int64_t d = 0; d < n; d++) {
            const bool inside = d >= rows->first && d < rows->end;
            sums[d + 1] = sums[d] + (inside ? value(rows, v, d) : 0);
        }
        double before = 0;
        for (int64_t bin = 0; bin <= bins; bin++) {
            const double edge = rows->com[v] + 0.5 + ((double)bin - 0.5 * (double)bins) * width;
            const double at = fmin(fmax(edge, 0), (double)n);
            const int64_t whole = (int64_t)fmin(floor(at), (double)(n - 1));
            const double sum = sums[whole] + (at - (double)whole) * (sums[whole + 1] - sums[whole]);
            if (bin > 0)
                shape[bin - 1] = (sum - before) / rows->mass[v];
            before = sum;
        }
        for (int64_t bin = 0; bin < bins; bin++)
            rows->energy += shape[bin] * shape[bin] / (double)rows->n_views;
    }
}

/* Returns the square of the difference of two rows, the second one mirrored or not. */
static double difference(const struct rows *rows, int64_t a, int64_t b, bool mirrored)
{
    const int64_t bins = rows->bins;
    return ts_view_rows_apart(rows->shape + a * bins, rows->shape + b * bins, bins, mirrored) /
           rows->energy;
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* Measures how these angles fit; `pairs` are the opposite views. */
static struct measures view_doubts_measure(const struct rows *rows, const double *degrees,
                                           struct view_pair pairs[VIEW_PAIRS], int *n_pairs)
{
    const int64_t n = rows->n_views;
    struct measures found = {.mirror = 0};
    double low = INFINITY, high = -INFINITY, com[3] = {0}, var[3], error;
    found.com = ts_view_wave(rows->com, degrees, n, 1, com, &found.error);
    found.center = com[0];
    found.along[0] = com[1];
    found.along[1] = com[2];
    found.var = ts_view_wave(rows->var, degrees, n, 2, var, &error) / (2 * rows->radius);
    for (int64_t v = 0; v < n; v++) {
        rows->places[v] = (struct view_place){ts_view_circular(degrees[v]), v};
        low = fmin(low, degrees[v]);
        high = fmax(high, degrees[v]);
    }
    ts_view_places_sort(rows->places, n);
    for (int64_t i = 1; i < n; i++)
        found.smooth += difference(rows, rows->places[i].view, rows->places[i - 1].view, false) /
                        (double)(n - 1);
    *n_pairs = ts_view_pairs(rows->places, n, fmin(high - low, 360) / (double)(n - 1), pairs);
    for (int i = 0; i < *n_pairs; i++)
        found.mirror += difference(rows, pairs[i].view, pairs[i].opposite, true) / *n_pairs;
    if (*n_pairs == 0)
        found.mirror = NAN;
    return found;
}

/* Sharp edges differ by where they are within a detector pixel. */
static double bad_difference(const struct rows *rows)
{
    return bad_rows + bad_edges / (rows->radius * rows->radius);
}

static double bad_moment(const struct rows *rows)
{
    return fmax(bad_pixels, bad_part * (double)rows->n);
}

/* Returns whether an object that goes on beyond one end of a view is seen there. */
static bool is_cut_off(const struct rows *rows, int64_t v)
{
    const int64_t strip = (rows->end - rows->first) / STRIPS;
    double low = INFINITY, high = -INFINITY, ends = 0;
    for (int64_t d = rows->first; d < rows->end; d++) {
        const double at = value(rows, v, d);
        low = fmin(low, at);
        high = fmax(high, at);
        if (d < rows->first + strip)
            ends += at;
        else if (d >= rows->end - strip)
            ends -= at;
    }
    return fabs(ends) > most_end * (high - low) * (double)strip;
}

static double unlike(const struct rows *rows, int64_t a, int64_t b, bool mirrored)
{
    const int64_t bins = rows->bins;
    return ts_view_rows_unlike(rows->shape + a * bins, rows->shape + b * bins, bins, mirrored);
}

/* Returns whether most opposite views are no mirror images, though neighbors are alike, also those
 * of these views, which may look along an edge. */
static bool are_unlike(const struct rows *rows, const struct view_pair *pairs, int n_pairs)
{
    const struct grouped mass = group_views(rows->mass, rows->n_views);
    double beside = 0, near[VIEW_PAIRS] = {0};
    int whole = 0, differ = 0;
    for (int64_t i = 1; i < rows->n_views; i++) {
        const int64_t a = rows->places[i - 1].view, b = rows->places[i].view;
        const double apart = unlike(rows, a, b, false);
        beside += apart / (double)(rows->n_views - 1);
        for (int k = 0; k < n_pairs; k++)
            if (a == pairs[k].view || b == pairs[k].view || a == pairs[k].opposite ||
                b == pairs[k].opposite)
                near[k] = fmax(near[k], apart);
    }
    for (int k = 0; k < n_pairs; k++) {
        const int64_t a = pairs[k].view, b = pairs[k].opposite;
        if (is_cut_off(rows, a) || is_cut_off(rows, b))
            continue;
        const double apart = unlike(rows, a, b, true);
        differ += apart > bad_difference(rows) * rows->energy &&
                  apart > unlike_neighbors * fmax(beside, near[k]);
        whole++;
    }
    return 2 * differ > whole && mass.most <= (1 + most_end) * mass.least;
}

/* Returns whether two measures speak for other angles, one of them much, and none against them. */
static bool fits_better(const struct rows *rows, const struct measures *now,
                        const struct measures *other)
{
    const double bad = bad_moment(rows), small = small_part * bad, differ = bad_difference(rows);
    const bool com = now->com > small && better * other->com<now->com, var = now->var> small &&
                     better * other->var<now->var, mirror = now->mirror> differ &&
                     now->mirror > unlike_neighbors * now->smooth &&
                     better_mirror * other->mirror<now->mirror, smooth = now->smooth> differ &&
                     better_smooth * other->smooth < now->smooth;
    const bool speak = com + var + mirror + smooth > 1 &&
                       (mirror || smooth || (com && now->com > bad) || (var && now->var > bad));
    const bool against = (other->com > bad && other->com > worse * now->com) ||
                         (other->var > bad && other->var > worse * now->var) ||
                         (other->mirror > differ && other->mirror > worse_rows * now->mirror) ||
                         (other->smooth > differ && other->smooth > worse_rows * now->smooth);
    return speak && !against;
}

/* Takes rows->trial for a doubt of this kind if it fits better than the angles and than what was
 * found before. */
static void try_angles(const struct rows *rows, const struct measures *now, enum view_doubt kind,
                       double arc, double *best, struct view_doubts *doubts)
{
    struct view_pair pairs[VIEW_PAIRS];
    int n_pairs;
    const struct measures other = view_doubts_measure(rows, rows->trial, pairs, &n_pairs);
    const double mirror =
        isnan(now->mirror) || isnan(other.mirror) ? 1 : other.mirror / fmax(now->mirror, 1e-9);
    const double share = other.com / fmax(now->com, 1e-9) * other.var / fmax(now->var, 1e-9) *
                         other.smooth / fmax(now->smooth, 1e-9) * mirror;
    if (!fits_better(rows, now, &other) || !(share < *best))
        return;
    *best = share;
    doubts->kind = kind;
    doubts->first = rows->arc;
    doubts->second = arc;
}

/* Tries the numbers from `first` on in their order as texts. */
static void order_as_texts(const struct rows *rows, int64_t first)
{
    const int64_t n = rows->n_views, most = n - 1 + first;
    int64_t at = 1, v = 0;
    if (first == 0)
        rows->trial[v++] = rows->degrees[0];
    for (; v < n; v++) {
        rows->trial[v] = rows->degrees[at - first];
        if (at * 10 <= most) {
            at *= 10;
            continue;
        }
        while (at % 10 == 9 || at >= most)
            at /= 10;
        at++;
    }
}

/* Tries every `passes`-th angle after the other, then those between them. */
static void order_in_passes(const struct rows *rows, int64_t passes)
{
    int64_t v = 0;
    for (int64_t first = 0; first < passes; first++)
        for (int64_t at = first; at < rows->n_views; at += passes)
            rows->trial[v++] = rows->degrees[at];
}

static void doubt_angles(const struct rows *rows, const struct measures *now,
                         struct view_doubts *doubts)
{
    static const double arcs[] = {180, 360, 190, 200, 210, 220, 240, 270};
    const int64_t n = rows->n_views;
    const double milliradians = rows->arc * 0.18 / M_PI;
    double best = INFINITY;
    for (size_t i = 0; rows->arc > 150 && rows->arc < 400 && i < sizeof arcs / sizeof *arcs; i++) {
        if (fabs(arcs[i] - rows->arc) < fmax(4, 2 * rows->arc / (double)n))
            continue;
        for (int64_t v = 0; v < n; v++)
            rows->trial[v] = rows->degrees[v] * arcs[i] / rows->arc;
        try_angles(rows, now, VIEWS_OTHER_ARC, arcs[i], &best, doubts);
    }
    if (fabs(milliradians - 180) < 10 || fabs(milliradians - 360) < 20) {
        for (int64_t v = 0; v < n; v++)
            rows->trial[v] = rows->degrees[v] * 0.18 / M_PI;
        try_angles(rows, now, VIEWS_MILLIRADIANS, milliradians, &best, doubts);
    }
    for (int64_t first = 0; first < 2; first++) {
        order_as_texts(rows, first);
        try_angles(rows, now, VIEWS_AS_TEXTS, 0, &best, doubts);
    }
    for (int64_t passes = 2; passes <= 8; passes *= 2) {
        order_in_passes(rows, passes);
        try_angles(rows, now, VIEWS_IN_PASSES, (double)passes, &best, doubts);
    }
}

/* ---- axis ------------------------------------------------------------------------------------ */

/* Returns how far the object is from the axis in a view, by the wave of the centers of mass. */
static double place_of(const struct measures *now, double degrees)
{
    const double theta = degrees * M_PI / 180;
    return now->along[0] * cos(theta) + now->along[1] * sin(theta);
}

/* Returns the square of the difference of these pairs, mirrored about `center`. What the object
 * moves over the angle that an opposite lacks is made up for. */
static double mirrored(const struct rows *rows, const struct measures *now,
                       const struct view_pair *pairs, int n_pairs, double center)
{
    double sum = 0;
    for (int i = 0; i < n_pairs; i++) {
        const int64_t view = pairs[i].view, other = pairs[i].opposite;
        const double moved =
            place_of(now, rows->degrees[view] + 180) - place_of(now, rows->degrees[other]);
        for (int64_t d = rows->first; d < rows->end; d++) {
            const double at = 2 * center - (double)d - moved;
            const int64_t low = (int64_t)floor(at);
            double opposite = 0;
            if (low >= rows->first && low + 1 < rows->end) {
                const double past = at - (double)low;
                opposite =
                    (1 - past) * value(rows, other, low) + past * value(rows, other, low + 1);
            }
            const double apart = value(rows, view, d) - opposite;
            sum += apart * apart;
        }
    }
    return sum;
}

static void doubt_axis(const struct rows *rows, const struct measures *now, double axis,
                       const struct view_pair *pairs, int n_pairs, struct view_doubts *doubts)
{
    if (n_pairs == 0 || fabs(now->center - axis) <= least_off + errors_off * now->error ||
        !(better_axis * mirrored(rows, now, pairs, n_pairs, now->center) <
          mirrored(rows, now, pairs, n_pairs, axis)))
        return;
    doubts->kind = VIEWS_OFF_AXIS;
    doubts->first = now->center;
    doubts->second = now->error;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* Subtracts a wave from the values. */
static void subtract_wave(double *values, const double *degrees, int64_t n, int turns,
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

/* Makes the moments what they are if light that changes has added the same to all of a row, so that
 * all views have the same mass. */
static void level_moments(struct rows *rows)
{
    const double width = (double)(rows->end - rows->first),
                 middle = 0.5 * (double)(rows->first + rows->end - 1),
                 of_even = (width * width - 1) / 12;
    double mean = 0;
    for (int64_t v = 0; v < rows->n_views; v++)
        mean += rows->mass[v] / (double)rows->n_views;
    for (int64_t v = 0; v < rows->n_views; v++) {
        const double mass = rows->mass[v] / mean, at = rows->com[v] - middle, moved = mass * at;
        rows->com[v] = middle + moved;
        rows->var[v] = mass * (rows->var[v] + at * at) - (mass - 1) * of_even - moved * moved;
    }
}

/* Finds leaps, of rows that can be compared also by their moments, which are then residuals. */
static bool find_leaps(struct rows *rows, const struct ts_axis *views, bool comparable,
                       struct view_leaps *leaps)
{
    const struct view_rows compared = {rows->p,     views,     rows->n,
                                       rows->first, rows->end, !comparable};
    if (!comparable)
        return ts_view_leaps(&compared, NULL, leaps);
    subtract_wave(rows->com, rows->degrees, rows->n_views, 1, 1);
    subtract_wave(rows->var, rows->degrees, rows->n_views, 2, 2 * rows->radius);
    const double half = 0.5 * (double)(rows->end - rows->first);
    const struct view_residuals residuals = {{rows->com, rows->var},
                                             rows->mass,
                                             bad_moment(rows),
                                             {half, half * half / (2 * rows->radius)}};
    return ts_view_leaps(&compared, &residuals, leaps);
}

/* Returns whether centers of mass fit much better if those from a view on are moved. Sets the view
 * that fits best, and by how much they are. */
static bool has_moved(const struct rows *rows, int64_t *view, double *step)
{
    double wave[3], error;
    const double now = ts_view_wave(rows->com, rows->degrees, rows->n_views, 1, wave, &error),
                 moved = ts_view_wave_step(rows->com, rows->degrees, rows->n_views, view, step);
    return rows->n_views >= LEAST_ANGLES && now > bad_moment(rows) && better * moved < now &&
           fabs(*step) > 1;
}

/* Returns whether the residuals of centers of mass are more than noise, and than hardening of the
 * beam explains, which changes sums as well. Angles that are wrong leave residuals of variances.
 * Small residuals count as well if an even drift explains most of them. */
static bool drifts(const struct rows *rows, struct view_doubts *doubts)
{
    const struct grouped com = group_views(rows->com, rows->n_views),
                         var = group_views(rows->var, rows->n_views),
                         mass = group_views(rows->mass, rows->n_views);
    const double reach = 0.5 * (double)(rows->end - rows->first);
    doubts->first = fmax(-com.low, com.high);
    if (com.deviation <= least_drift ||
        (com.deviation <= drift_part * (double)rows->n &&
         ts_view_wave_drift(rows->com, rows->degrees, rows->n_views) <= drift_even * com.deviation))
        return false;
    return com.deviation > noises_drift * com.noise &&
           com.deviation > 2 * fmax(0, mass.high / mass.low - 1) * reach &&
           var.deviation < fmax(0.5 * com.deviation, noises_drift * var.noise);
}

/* Returns whether the rows leap at a view also if they are compared about their centers of mass:
 * then they were not only moved. */
static bool shapes_leap(const struct rows *rows, int64_t view)
{
    enum { TIMES = 4 };
    return difference(rows, view - 1, view, false) >
           TIMES * fmax(difference(rows, view - 2, view - 1, false),
                        difference(rows, view, view + 1, false));
}

/* Doubts the views because they leap. Centers of mass are residuals, and fit best if those from
 * `view` on are moved by `step`. */
static void doubt_leaps(const struct rows *rows, bool comparable, const struct view_leaps *leaps,
                        int64_t view, double step, struct view_doubts *doubts)
{
    const int64_t v = leaps->view;
    *doubts = (struct view_doubts){leaps->strays ? VIEWS_STRAY : VIEWS_LEAP, (double)v,
                                   (double)leaps->n, NAN, NAN};
    if (!comparable || leaps->strays || leaps->n > 1 || v < 2 || v + 1 >= rows->n_views ||
        shapes_leap(rows, v))
        return;
    const double *com = rows->com;
    if (view != v)
        step = 0.5 * (com[v] + com[v + 1] - com[v - 1] - com[v - 2]);
    if (fabs(step) <= bad_moment(rows))
        return;
    doubts->kind = VIEWS_MOVED;
    doubts->second = step;
}

static bool doubt(struct rows *rows, const struct ts_axis *views, double axis, bool comparable,
                  struct view_doubts *doubts)
{
    struct view_pair pairs[VIEW_PAIRS];
    struct measures now = {0};
    struct view_leaps leaps;
    int n_pairs = 0;
    int64_t view = 0;
    double step = 0;
    bool unlike = false;
    if (comparable) {
        now = view_doubts_measure(rows, rows->degrees, pairs, &n_pairs);
        unlike = are_unlike(rows, pairs, n_pairs);
        if (rows->n_views >= LEAST_ANGLES)
            doubt_angles(rows, &now, doubts);
        if (doubts->kind != VIEWS_NOT_DOUBTED)
            return true;
    }
    if (comparable)
        level_moments(rows);
    const bool moved = comparable && has_moved(rows, &view, &step);
    if (!find_leaps(rows, views, comparable, &leaps))
        return false;
    if (leaps.n > 0) {
        doubt_leaps(rows, comparable, &leaps, view, step, doubts);
    } else if (ts_view_alternate(rows->p, rows->degrees, rows->n_views, rows->n)) {
        doubts->kind = VIEWS_ALTERNATE;
    } else if (moved && !unlike) {
        *doubts = (struct view_doubts){VIEWS_MOVED, (double)view, step, NAN, NAN};
    } else if (comparable && !unlike && drifts(rows, doubts)) {
        doubts->kind = VIEWS_DRIFT;
    } else if ((doubts->first =
                    ts_view_fan(rows->p, rows->degrees, rows->n_views, rows->n, axis)) != 0) {
        doubts->kind = VIEWS_FAN;
        return !isnan(doubts->first);
    } else if (unlike) {
        doubts->kind = VIEWS_UNLIKE;
    } else if (comparable) {
        doubts->center = now.center;
        doubts->error = now.error;
        doubt_axis(rows, &now, axis, pairs, n_pairs, doubts);
    }
    return true;
}

/* Returns whether the rows can be compared. */
static bool take_rows(struct rows *rows, const struct ts_axis *views, struct view_doubts *doubts)
{
    const struct view_arc arc = ts_view_arc(views);
    for (int64_t v = 0; v < rows->n_views; v++)
        rows->degrees[v] = ts_view_past(&arc, views, v);
    rows->arc = arc.length * (double)rows->n_views / (double)(rows->n_views - 1);
    rows->end = rows->n;
    while (rows->first + LEAST_DETECTORS < rows->end &&
           is_extended(rows, rows->first, rows->first + 1))
        rows->first++;
    while (rows->first + LEAST_DETECTORS < rows->end &&
           is_extended(rows, rows->end - 1, rows->end - 2))
        rows->end--;
    bool alike;
    if (!find_air(rows) || !find_moments(rows, &alike))
        return false;
    if (are_unequal(rows, rows->trial, doubts) || !alike)
        return false;
    /* noise counts less in wide bins */
    rows->bins =
        (int64_t)fmin((double)rows->bins, ceil((double)rows->n * BINS_OF_RADIUS / rows->radius));
    find_shapes(rows);
    return rows->energy > 0 && isfinite(rows->energy);
}

bool ts_view_doubts(const float *p, const struct ts_axis *views, int64_t n, double axis,
                    struct view_doubts *doubts)
{
    const int64_t n_views = views->n, bins = n < MOST_BINS ? n : MOST_BINS;
    *doubts = (struct view_doubts){.center = NAN, .error = NAN};
    if (n_views < LEAST_VIEWS || n < LEAST_DETECTORS)
        return true;
    double *room = malloc((size_t)(n_views * (5 + bins) + n + 1) * sizeof *room);
    struct view_place *places = malloc((size_t)n_views * sizeof *places);
    struct rows rows = {.p = p, .n_views = n_views, .n = n, .bins = bins, .places = places};
    bool enough = false;
    if (room && places) {
        rows.mass = room;
        rows.com = rows.mass + n_views;
        rows.var = rows.com + n_views;
        rows.degrees = rows.var + n_views;
        rows.trial = rows.degrees + n_views;
        rows.shape = rows.trial + n_views;
        rows.sums = rows.shape + n_views * bins;
        const bool comparable = take_rows(&rows, views, doubts);
        enough = doubts->kind != VIEWS_NOT_DOUBTED || doubt(&rows, views, axis, comparable, doubts);
    }
    free(room);
    free(places);
    return enough;
}
