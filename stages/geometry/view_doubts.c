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
 * bad as well. Opposite views that are no mirror images, whatever their light and the stripes that
 * all have, are told. The axis is doubted if that of the centers of mass and opposite views agree
 * on another one.
 */
#include "stages/geometry/view_doubts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/geometry/view_angles.h"
#include "stages/geometry/view_blocks.h"
#include "stages/geometry/view_closure.h"
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
    STRIPS = 16,    /* of a row, one at each end */
    LEAST_PAIRS = 3 /* that tell what all have in common */
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
/* What is seen in a view has a width of so many detector pixels at least, else its sum depends on
 * where it falls between them, as that of a thin plate does that is seen from its edge. */
static const double least_width = 6;
/* Stripes move the axis that centers of mass say by so many detector pixels, and two views differ
 * by so many times their square. */
static const double most_move = 4, times_stripes = 4;
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
    double *sums;  /* n + 1 */
    double *pairs; /* VIEW_PAIRS rows of n */
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

/* ---- sums of rows ---------------------------------------------------------------------------- */

/* Returns how many detector pixels see what is seen in a view: all of it, if it were even. */
static double width_of(const struct rows *rows, int64_t v)
{
    double squares = 0;
    for (int64_t d = rows->first; d < rows->end; d++)
        squares += value(rows, v, d) * value(rows, v, d);
    return rows->mass[v] * rows->mass[v] / squares;
}

/* Finds views whose rows have unequal sums, by more than the ends, which are air, account for. Room
 * for n_views numbers is in `air` and `mass`. */
static bool are_unequal(const struct rows *rows, double *air, double *mass,
                        struct view_doubts *doubts)
{
    const int64_t width = rows->end - rows->first,
                  strip = width / MOST_BINS > 2 ? width / MOST_BINS : 2;
    int64_t n = 0;
    for (int64_t v = 0; v < rows->n_views; v++) {
        if (width_of(rows, v) < least_width)
            continue;
        mass[n] = rows->mass[v];
        air[n] = 0;
        for (int64_t d = 0; d < strip; d++)
            air[n] += 0.5 * (value(rows, v, rows->first + d) + value(rows, v, rows->end - 1 - d)) *
                      (double)width / (double)strip;
        n++;
    }
    if (n < LEAST_VIEWS)
        return false;
    const struct view_groups sums = ts_view_groups(mass, n), ends = ts_view_groups(air, n);
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
    found.mirror = *n_pairs > 0 ? found.mirror : NAN;
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

/* Returns how far the object is from the axis in a view, by the wave of the centers of mass. */
static double place_of(const struct measures *now, double degrees)
{
    const double theta = degrees * M_PI / 180;
    return now->along[0] * cos(theta) + now->along[1] * sin(theta);
}

/* Measures by how much opposite views differ if they are mirrored about `center`, as parts of their
 * squares. What all have in common, as stripes of the detector, does not count if there are enough.
 * Returns the sum. */
static double differ_about(const struct rows *rows, const struct measures *now,
                           const struct view_pair *pairs, int n_pairs, double center, double *apart,
                           double *squares)
{
    const bool enough = n_pairs >= LEAST_PAIRS;
    const int64_t n = rows->end - rows->first;
    double sum = 0, *left = rows->pairs;
    for (int k = 0; k < n_pairs; k++) {
        const double moved = place_of(now, rows->degrees[pairs[k].view] + 180) -
                             place_of(now, rows->degrees[pairs[k].opposite]);
        for (int64_t d = 0; d < n; d++) {
            left[k * n + d] = value(rows, pairs[k].view, rows->first + d);
            rows->sums[d] = value(rows, pairs[k].opposite, rows->first + d);
        }
        squares[k] = ts_view_subtract_mirrored(left + k * n, rows->sums, n,
                                               center - 0.5 * moved - (double)rows->first);
        apart[k] = 0;
    }
    for (int64_t d = 0; d < n; d++) {
        double mean = 0;
        for (int k = 0; k < n_pairs && enough; k++)
            mean += left[k * n + d] / n_pairs;
        for (int k = 0; k < n_pairs; k++)
            apart[k] += (left[k * n + d] - mean) * (left[k * n + d] - mean) *
                        (enough ? (double)n_pairs / (n_pairs - 1) : 1);
    }
    for (int k = 0; k < n_pairs; k++)
        sum += apart[k] /= squares[k];
    return sum;
}

/* Returns the square of what stripes add to a view. */
static double find_stripes(const struct rows *rows)
{
    const int64_t n = rows->end - rows->first;
    double *mean = rows->pairs;
    for (int64_t d = 0; d < n; d++)
        mean[d] = 0;
    for (int64_t v = 0; v < rows->n_views; v++)
        for (int64_t d = 0; d < n; d++)
            mean[d] += value(rows, v, rows->first + d) / (double)rows->n_views;
    return ts_view_stripes(mean, n);
}

/* Returns whether most opposite views differ beyond what stripes explain, about the axis about
 * which they do least, and more than their neighbors do: stripes move the axis of the centers of
 * mass. */
static bool are_beyond_stripes(const struct rows *rows, const struct measures *now,
                               const struct view_pair *pairs, int n_pairs, const double *near,
                               double beside)
{
    const double stripes = n_pairs < LEAST_PAIRS ? times_stripes * find_stripes(rows) : 0;
    double apart[VIEW_PAIRS], squares[VIEW_PAIRS], least = INFINITY, best = now->center;
    int differ = 0;
    for (double move = -most_move; move <= most_move; move += 0.5) {
        const double sum =
            differ_about(rows, now, pairs, n_pairs, now->center + move, apart, squares);
        best = sum < least ? now->center + move : best;
        least = fmin(least, sum);
    }
    differ_about(rows, now, pairs, n_pairs, best, apart, squares);
    for (int k = 0; k < n_pairs; k++)
        differ += apart[k] > bad_difference(rows) && apart[k] * squares[k] > stripes &&
                  apart[k] * rows->energy > unlike_neighbors * fmax(beside, near[k]);
    return 2 * differ > n_pairs;
}

/* Returns whether most opposite views are no mirror images, though neighbors are alike, also those
 * of these views, which may look along an edge. */
static bool are_unlike(const struct rows *rows, const struct measures *now,
                       const struct view_pair *pairs, int n_pairs)
{
    const struct view_groups mass = ts_view_groups(rows->mass, rows->n_views);
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
    if (2 * differ <= whole || mass.most > (1 + most_end) * mass.least)
        return false;
    return are_beyond_stripes(rows, now, pairs, n_pairs, near, beside);
}

static bool improves(double now, double other, double least, double times)
{
    return now > least && times * other < now;
}

static bool worsens(double now, double other, double least, double times)
{
    return other > least && other > times * now;
}

/* Returns whether two measures speak for other angles, one of them much, and none against them. */
static bool fits_better(const struct rows *rows, const struct measures *now,
                        const struct measures *other)
{
    const double bad = bad_moment(rows), small = small_part * bad, differ = bad_difference(rows);
    const bool com = improves(now->com, other->com, small, better);
    const bool var = improves(now->var, other->var, small, better);
    const bool mirror = improves(now->mirror, other->mirror, differ, better_mirror) &&
                        now->mirror > unlike_neighbors * now->smooth;
    const bool smooth = improves(now->smooth, other->smooth, differ, better_smooth);
    const bool speak = com + var + mirror + smooth > 1 &&
                       (mirror || smooth || (com && now->com > bad) || (var && now->var > bad));
    return speak && !worsens(now->com, other->com, bad, worse) &&
           !worsens(now->var, other->var, bad, worse) &&
           !worsens(now->mirror, other->mirror, differ, worse_rows) &&
           !worsens(now->smooth, other->smooth, differ, worse_rows);
}

/* The best angles up to now leave the share `best` of the measures. */
struct angle_trials {
    const struct rows *rows;
    const struct measures *now;
    struct view_doubts *doubts;
    double best;
};

/* Takes rows->trial for a doubt of this kind if it fits better than the angles and than what was
 * found before. */
static void try_angles(struct angle_trials *trials, enum view_doubt kind, double second)
{
    const struct rows *rows = trials->rows;
    const struct measures *now = trials->now;
    struct view_pair pairs[VIEW_PAIRS];
    int n_pairs;
    const struct measures other = view_doubts_measure(rows, rows->trial, pairs, &n_pairs);
    const double mirror =
        isnan(now->mirror) || isnan(other.mirror) ? 1 : other.mirror / fmax(now->mirror, 1e-9);
    const double share = other.com / fmax(now->com, 1e-9) * other.var / fmax(now->var, 1e-9) *
                         other.smooth / fmax(now->smooth, 1e-9) * mirror;
    if (!fits_better(rows, now, &other) || !(share < trials->best))
        return;
    trials->best = share;
    trials->doubts->kind = kind;
    trials->doubts->first = rows->arc;
    trials->doubts->second = second;
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

/* Tries the angles times `times` / `over`. */
static void try_scaled(struct angle_trials *trials, enum view_doubt kind, double times, double over,
                       double second)
{
    const struct rows *rows = trials->rows;
    for (int64_t v = 0; v < rows->n_views; v++)
        rows->trial[v] = rows->degrees[v] * times / over;
    try_angles(trials, kind, second);
}

/* Tries the arcs that scans have, if the declared one could be mistaken for them. */
static void try_arcs(struct angle_trials *trials)
{
    static const double arcs[] = {180, 360, 190, 200, 210, 220, 240, 270};
    const double arc = trials->rows->arc, steps = 2 * arc / (double)trials->rows->n_views;
    if (!(arc > 150 && arc < 400))
        return;
    /* Arcs that differ by less than two steps, or by 4 degrees, are the same. */
    for (size_t i = 0; i < sizeof arcs / sizeof *arcs; i++)
        if (!(fabs(arcs[i] - arc) < fmax(4, steps)))
            try_scaled(trials, VIEWS_OTHER_ARC, arcs[i], arc, arcs[i]);
}

/* Tries the numbers as milliradians, of which pi are 0.18 degrees, if the views then cover about
 * half a turn or a turn. */
static void try_milliradians(struct angle_trials *trials)
{
    const double arc = trials->rows->arc * 0.18 / M_PI;
    if (fabs(arc - 180) < 10 || fabs(arc - 360) < 20)
        try_scaled(trials, VIEWS_MILLIRADIANS, 0.18, M_PI, arc);
}

/* Tries views in other orders. */
static void try_orders(struct angle_trials *trials)
{
    for (int64_t first = 0; first < 2; first++) {
        order_as_texts(trials->rows, first);
        try_angles(trials, VIEWS_AS_TEXTS, 0);
    }
    for (int64_t passes = 2; passes <= 8; passes *= 2) {
        order_in_passes(trials->rows, passes);
        try_angles(trials, VIEWS_IN_PASSES, (double)passes);
    }
}

/* Doubts the angles if others fit better. */
static void doubt_angles(const struct rows *rows, const struct measures *now,
                         struct view_doubts *doubts)
{
    struct angle_trials trials = {rows, now, doubts, INFINITY};
    try_arcs(&trials);
    try_milliradians(&trials);
    try_orders(&trials);
}

/* ---- axis ------------------------------------------------------------------------------------ */

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

/* Corrects the moments for light that changes: takes from each row the constant that leaves all
 * views with the same mass. */
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
    ts_view_wave_subtract(rows->com, rows->degrees, rows->n_views, 1, 1);
    ts_view_wave_subtract(rows->var, rows->degrees, rows->n_views, 2, 2 * rows->radius);
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
    const struct view_groups com = ts_view_groups(rows->com, rows->n_views),
                             var = ts_view_groups(rows->var, rows->n_views),
                             mass = ts_view_groups(rows->mass, rows->n_views);
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
    enum view_closure closure;
    int n_pairs = 0;
    int64_t view = 0;
    double step = 0;
    bool unlike = false;
    if (comparable) {
        now = view_doubts_measure(rows, rows->degrees, pairs, &n_pairs);
        unlike = are_unlike(rows, &now, pairs, n_pairs);
        if (rows->n_views >= LEAST_ANGLES)
            doubt_angles(rows, &now, doubts);
        if (doubts->kind != VIEWS_NOT_DOUBTED)
            return true;
    }
    const struct view_closure_rows ends = {
        rows->p, views, rows->n, axis, comparable ? rows->com : NULL, rows->var};
    if (!ts_view_closure(&ends, &closure, &doubts->first))
        return false;
    if (comparable)
        level_moments(rows);
    const bool moved = comparable && has_moved(rows, &view, &step);
    if (!find_leaps(rows, views, comparable, &leaps))
        return false;
    if (closure != CLOSURE_AS_SAID) {
        doubts->kind = closure == CLOSURE_AT_END ? VIEWS_MEET : VIEWS_APART;
    } else if (leaps.n > 0) {
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
    if (are_unequal(rows, rows->trial, rows->shape, doubts) || !alike)
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
    double *room = malloc((size_t)(n_views * (5 + bins) + (1 + VIEW_PAIRS) * n + 1) * sizeof *room);
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
        rows.pairs = rows.sums + n + 1;
        const bool comparable = take_rows(&rows, views, doubts);
        enough = doubts->kind != VIEWS_NOT_DOUBTED || doubt(&rows, views, axis, comparable, doubts);
    }
    free(room);
    free(places);
    return enough;
}
