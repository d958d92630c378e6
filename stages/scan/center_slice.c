/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice is searched by the method of the parameters; then the result is judged: by the confidence
 * that noise alone reaches, by a second minimum that is as good, by the center of mass, and by how
 * much of the object the detector cuts off.
 *
 * The measure of the sinogram cannot tell c from c + n / 2, for n detector pixels. The center of
 * mass can, if the detector sees the whole object.
 *
 * If the detector cuts the object off, the two halves of a full turn differ beyond the ends of what
 * both see, so the fit only uses what both see (ts_center_refine). Opposite views are compared,
 * too. Their center is taken if there are many pairs, as in a whole turn; this is more exact even
 * for a whole object, because all views take part. Few pairs are only taken if their deviation is
 * less than the difference of the two centers and less than the error of the fit, or if the
 * sinogram shows no center.
 *
 * A whole turn that is cut off at one end more than at the other has its axis off the middle, maybe
 * near that end (half acquisition), out of reach of both. Then the overlaps of opposite views are
 * compared over nearly the whole detector.
 */
#include "stages/scan/center_slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/search.h"
#include "stages/geometry/view_angles.h"
#include "stages/geometry/view_blocks.h"
#include "stages/scan/center_search.h"

/* This finds the center of opposite views to a fraction of a pixel, and its error. The best shift
 * between one view of a pair and the mirrored other one is sum(slope * difference) / sum(slope of
 * one * slope of the other): the noise of two views is independent, so the divisor is only that of
 * the object.
 *
 * Each of PIECES pieces of the detector, of each pair, has a shift of its own. The deviation of
 * their mean is that of the center.
 *
 * An opposite between two views is interpolated: a point of the object is then at two places whose
 * mean, weighted, is right, at any radius. Views that are not quite opposite, at the ends of half a
 * turn, show the object turned by the missing angle: what is far from the axis moves by more than
 * the mean, for which the center is corrected. This makes the center uncertain by the movement at
 * uncertain_radius, less with many pairs. */

enum { PIECES = 8, STEPS = 4 };

static const double uncertain_radius = 0.14; /* as a fraction of the detector */

/* Returns the value of view q at position d, which may be between detector pixels. */
static double between(const float *q, double d)
{
    const int64_t at = (int64_t)floor(d);
    const double share = d - (double)at;
    return (1 - share) * (double)q[at] + share * (double)q[at + 1];
}

struct piece {
    double slopes, product;
};

/* Compares p[d] with q mirrored, at `sum` - d, for d in [first, end). */
static struct piece piece_of(const float *p, const float *q, double sum, int64_t first, int64_t end)
{
    struct piece piece = {0, 0};
    for (int64_t d = first; d < end; d++) {
        const double at = sum - (double)d;
        const double slope = 0.5 * ((double)p[d + 1] - (double)p[d - 1]),
                     other = 0.5 * (between(q, at - 1) - between(q, at + 1));
        piece.slopes += slope * other;
        piece.product += 0.5 * (slope + other) * (between(q, at) - (double)p[d]);
    }
    return piece;
}

/* Returns the mean missing angle in radian. */
static double lacking(const struct center_pairs *pairs)
{
    double sum = 0;
    for (int pair = 0; pair < pairs->n; pair++)
        sum += fabs(pairs->at[pair].missing);
    return sum / pairs->n * M_PI / 180;
}

/* Returns the mean shift of the center for mirrored views that are at `sum` - d, and its
 * deviation. */
static struct center_fit shift_of(const struct center_search *search,
                                  const struct center_pairs *pairs, double sum)
{
    const int64_t n = search->n_detectors, first = (int64_t)fmax(2, ceil(sum - (double)n + 4)),
                  end = (int64_t)fmin((double)n - 2, floor(sum - 3));
    struct piece all = {0, 0};
    double squares = 0, shift = 0;
    if (end - first < PIECES)
        return (struct center_fit){.center = NAN, .deviation = NAN};
    for (int pass = 0; pass < 2; pass++) {
        for (int pair = 0; pair < pairs->n; pair++)
            for (int64_t i = 0; i < PIECES; i++) {
                const struct piece piece = piece_of(
                    search->p + pairs->at[pair].view * n, pairs->rows + pair * n, sum,
                    first + i * (end - first) / PIECES, first + (i + 1) * (end - first) / PIECES);
                const double off = piece.product - piece.slopes * shift;
                all.slopes += pass == 0 ? piece.slopes : 0;
                all.product += pass == 0 ? piece.product : 0;
                squares += pass == 1 ? off * off : 0;
            }
        if (!(all.slopes > 0))
            return (struct center_fit){.center = NAN, .deviation = NAN};
        shift = all.product / all.slopes;
    }
    const double pieces = (double)(PIECES * pairs->n);
    return (struct center_fit){0.5 * shift,
                               0.5 * sqrt(squares * pieces / (pieces - 1)) / all.slopes};
}

/* Refines the center that these pairs give. */
static struct center_fit center_refine_opposite(const struct center_search *search,
                                                const struct center_pairs *pairs,
                                                const struct center_found *found)
{
    const double off = lacking(pairs);
    struct center_fit fit = shift_of(search, pairs, 2 * (found->center - found->moved));
    const double uncertain =
        uncertain_radius * (double)search->n_detectors * off / sqrt((double)pairs->n);
    if (off > 0)
        return (struct center_fit){.center = found->center,
                                   .deviation = hypot(fit.deviation, uncertain),
                                   .spread = fit.deviation};
    double center = found->center;
    for (int i = 0; i < STEPS && !isnan(fit.center); i++) {
        fit = shift_of(search, pairs, 2 * center);
        center += fit.center;
    }
    return fabs(center - found->center) <= 1
               ? (struct center_fit){.center = center,
                                     .deviation = fit.deviation,
                                     .spread = fit.deviation}
               : (struct center_fit){.center = found->center, .deviation = NAN};
}

enum { APART = 3 };      /* least number of trials between a minimum and its rival */
enum { MANY_PAIRS = 8 }; /* this many pairs of opposite views are believed */

/* An error is `sigmas` deviations and a least error, which depends on the method. It was found from
 * simulated scans, nine of ten of which have their axis within it (lab/peers/center_study.py). */
static const double sigmas = 2, least_error = 0.06, least_error_within = 0.3,
                    least_error_of_mass = 0.3;
/* The center of mass is trusted up to a deviation of this share of the detector. Of two centers it
 * contradicts one this many times as far from it. */
static const double trusted_share = 1.0 / 48;
enum { CONTRADICTS = 4 };
/* The centers of two methods are different if they are further apart than this many times their
 * errors. */
static const double different = 3;
/* A scan is of half acquisition if it is cut off `lopsided` times as much at one end as at the
 * other, and has at least this concordance or opposite views that show nothing within reach. */
static const double lopsided = 2, convincing = 0.8;

/* What the searches found. */
struct look {
    struct view_ends truncation;
    bool cut_off;
    struct center_found taken;
    double by_sinogram, by_opposite; /* centers; NAN: not searched */
    struct center_fit mass;          /* a deviation of NAN: not to be trusted */
    struct center_shared shared;     /* the deviation by noise that all views share */
    double error, confidence;
    bool outermost; /* the trial that was taken */
    double rival;   /* a second center that may be the right one; NAN: there is none */
    bool may_miss;  /* the axis may be out of reach of the search */
};

/* Parts of the scratch: the cleaned sinogram, half a turn of it in even steps, and the opposites of
 * views. */
struct room {
    float *clean, *half, *opposites;
    struct view_place *places;
    void *work; /* for the cleaning, then for the search */
};

static const struct center_params *params_of(const struct center_slice *slice)
{
    return slice->context->params;
}

/* Returns the number of detector pixels between two trial centers. */
static double step_of(const struct center_params *params)
{
    return params->method == CENTER_SINOGRAM ? 1 : 0.5;
}

static int64_t trials_of(const struct center_params *params)
{
    return params->method == CENTER_MASS ? 1 : ts_center_trials(params->search, step_of(params));
}

static size_t center_clean_bytes(int64_t n_detectors)
{
    return 2 * (size_t)n_detectors * sizeof(double);
}

static struct room lay_out(const struct stage_context *context, struct memory_layout *layout)
{
    const struct center_params *params = context->params;
    const int64_t n = context->in.axes[2].n, n_views = context->in.axes[1].n;
    const int64_t half_turn =
        params->method == CENTER_SINOGRAM ? ts_center_half_turn(&context->in.axes[1]) : 0;
    const size_t cleans = center_clean_bytes(n),
                 searches = half_turn ? ts_center_scratch_bytes(half_turn, n) : 0;
    struct room room;
    room.clean = ts_layout_add(layout, (size_t)(n_views * n) * sizeof *room.clean);
    room.half = ts_layout_add(layout, (size_t)(half_turn * n) * sizeof *room.half);
    room.opposites =
        ts_layout_add(layout, (size_t)(params->method == CENTER_MASS ? 0 : CENTER_PAIRS * n) *
                                  sizeof *room.opposites);
    room.places = ts_layout_add(layout, (size_t)n_views * sizeof *room.places);
    room.work = ts_layout_add(layout, cleans > searches ? cleans : searches);
    return room;
}

size_t ts_center_slice_scratch_bytes(const struct stage_context *context)
{
    struct memory_layout layout = {0};
    lay_out(context, &layout);
    return layout.bytes;
}

/* Returns what is searched: the sinogram without what stays on the detector. */
static struct center_search search_of(const struct center_slice *slice)
{
    const struct stage_context *context = slice->context;
    struct memory_layout layout = {.base = slice->scratch};
    return (struct center_search){lay_out(context, &layout).clean, &context->in.axes[1],
                                  context->in.axes[2].n, params_of(slice)->search,
                                  context->threads};
}

static enum ts_status center_slice_refuse(const struct center_slice *slice, const char *code,
                                          const char *what)
{
    const struct stage_context *context = slice->context;
    return ts_diag_error(
        context->diag, TS_BAD_INPUT,
        &(struct diag_site){.code = code, .span = context->set->span, .stage = context->set->owner},
        "no center can be %s in slice %lld: %s",
        params_of(slice)->method == CENTER_GIVEN ? "shown" : "found",
        (long long)params_of(slice)->slice, what);
}

enum ts_status ts_center_slice_check(const struct center_slice *slice)
{
    const float *p = slice->sinogram;
    bool same = true;
    for (size_t i = 0; i < ts_slice_count(&slice->context->in); i++) {
        if (!isfinite(p[i])) {
            center_slice_refuse(slice, "center-nonfinite", "it holds NaN or infinite values");
            return ts_diag_hint(slice->context->diag,
                                "`bad_pixels` before it fills them from the pixels beside them");
        }
        same = same && p[i] == p[0];
    }
    return same ? center_slice_refuse(slice, "center-constant", "all its values are the same")
                : TS_OK;
}

/* Returns true if a whole turn is cut off much more at one end than at the other. */
static bool is_lopsided(const struct center_search *search, const struct look *look)
{
    const double first = look->truncation.first, last = look->truncation.last;
    return look->cut_off && fmax(first, last) > lopsided * fmin(first, last) &&
           ts_center_overlap_lacks(search->views) * 10 <= search->views->n;
}

static bool views_are_alike(const struct center_search *search)
{
    const int64_t n = search->n_detectors;
    for (int64_t view = 1; view < search->views->n; view++)
        if (memcmp(search->p, search->p + view * n, (size_t)n * sizeof *search->p) != 0)
            return false;
    return true;
}

/* ---- warnings -------------------------------------------------------------------------------- */

static struct diag_site site_of(const struct center_slice *slice, const char *code)
{
    return (struct diag_site){
        .code = code, .span = slice->context->set->span, .stage = slice->context->stage->name};
}

static void warn_of_truncation(const struct center_slice *slice, const struct look *look)
{
    const struct diag_site site = site_of(slice, "center-truncated");
    char what[160];
    if (look->may_miss) {
        ts_diag_warning(slice->context->diag, &site,
                        "the object leaves the detector at its %s end, more than at the other, in "
                        "slice %lld of a whole turn, so that the axis is off the middle, maybe out "
                        "of reach of this search",
                        look->truncation.first > look->truncation.last ? "first" : "last",
                        (long long)params_of(slice)->slice);
        ts_diag_hint(slice->context->diag, "`method: overlap` searches nearly the whole detector");
        return;
    }
    if (isnan(look->by_sinogram) || isnan(look->by_opposite))
        snprintf(what, sizeof what, "the center found, %.2f, may be off by %.2f",
                 look->taken.center, look->error);
    else
        snprintf(what, sizeof what,
                 "the center is that of %s, which may be off by %.2f; the sinogram has it at %.2f "
                 "and opposite views at %.2f",
                 look->taken.center == look->by_opposite ? "opposite views" : "the sinogram",
                 look->error, look->by_sinogram, look->by_opposite);
    ts_diag_warning(slice->context->diag, &site,
                    "the detector cuts off the object in slice %lld, or the flats or the beam "
                    "changed, so that air is not 0 there: the first end sees %.0f %% and the last "
                    "%.0f %% of the most that is seen; %s",
                    (long long)params_of(slice)->slice, 100 * look->truncation.first,
                    100 * look->truncation.last, what);
    ts_diag_hint(
        slice->context->diag,
        "look at it with strip: true, or give the center; what the rows lack shows in a "
        "reconstruction as well, less so with `pad: {}` before it; in a whole turn with the axis "
        "near an end of the detector `method: overlap` finds it; if both ends are air, `air` "
        "before minus_log makes it 0, with as many `detectors` as see no object");
}

static void warn_if_doubtful(const struct center_slice *slice, const struct look *look)
{
    const struct center_search search = search_of(slice);
    struct ts_diag *diag = slice->context->diag;
    const long long z = (long long)params_of(slice)->slice;
    const struct diag_site alike = site_of(slice, "center-alike"),
                           uncertain = site_of(slice, "center-uncertain"),
                           ambiguous = site_of(slice, "center-ambiguous");
    const bool same = views_are_alike(&search),
               is_uncertain = !same && !(look->confidence > look->taken.noise);
    if (same)
        ts_diag_warning(
            diag, &alike,
            "all views of slice %lld are the same, so that the center found, %.2f, is the middle "
            "of an object that looks alike from all sides, or of no object at all",
            z, look->taken.center);
    else if (is_uncertain)
        ts_diag_warning(diag, &uncertain,
                        "the center found in slice %lld, %.2f, has a confidence of %.3g, and noise "
                        "without an object may have %.3g",
                        z, look->taken.center, look->confidence, look->taken.noise);
    else if (!isnan(look->rival))
        ts_diag_warning(
            diag, &ambiguous,
            "the center found in slice %lld, %.2f, may be wrong, and %.2f the right one", z,
            look->taken.center, look->rival);
    if (!same && !is_uncertain && !isnan(look->rival))
        ts_diag_hint(diag,
                     "look at both with strip: true and center: NUMBER, and give the right one");
    else if (same || is_uncertain)
        ts_diag_hint(diag, "look at it with strip: true, search another slice, or give the center");
    if (look->cut_off && !same && !is_uncertain)
        warn_of_truncation(slice, look);
}

/* The axis may be near an end of the detector, where the other methods do not search. */
static void hint_of_edge(const struct center_slice *slice, const struct look *look)
{
    const struct stage_context *context = slice->context;
    const double n = (double)context->in.axes[2].n, apart = fabs(look->mass.center - 0.5 * (n - 1));
    const double further = ceil(apart + 3 * look->mass.deviation + 4);
    if (further > params_of(slice)->search && further <= 0.5 * n - 2) {
        ts_diag_hint(
            context->diag,
            "the center of mass has it near %.2f: `search: %.0f` reaches it, or give the center",
            look->mass.center, further);
        return;
    }
    const bool turn = ts_center_overlap_lacks(&context->in.axes[1]) == 0;
    ts_diag_hint(context->diag, "search further, try another slice%s, or give the center",
                 params_of(slice)->method != CENTER_OVERLAP && turn
                     ? ", or `method: overlap` for this scan of 360 degrees, whose axis may be "
                       "near an end of the detector"
                     : " or method");
}

/* ---- search ---------------------------------------------------------------------------------- */

static double center_of_trial(const struct center_search *search, int64_t trial, int64_t n_trials,
                              double step)
{
    const int64_t from_middle = trial - n_trials / 2;
    return 0.5 * (double)(search->n_detectors - 1) + (double)from_middle * step;
}

/* Makes the finding of one search the result. */
static void center_slice_take(struct look *look, const struct center_found *found,
                              double confidence, int64_t n_trials)
{
    look->taken = *found;
    look->confidence = confidence;
    look->outermost = found->best == 0 || found->best == n_trials - 1;
}

/* Returns the median of n numbers; `sorted` is scratch for n numbers. */
static double median_of(const double *measure, int64_t n, double *sorted)
{
    memcpy(sorted, measure, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ts_compare_doubles);
    return sorted[n / 2];
}

/* Returns the rival of the best trial: the lowest other local minimum that is at least APART trials
 * away and at most `highest`. Returns -1 if there is none. */
static int64_t rival_of(const double *measure, int64_t n_trials, int64_t best, double highest)
{
    int64_t rival = -1;
    for (int64_t i = 0; i < n_trials; i++) {
        const bool lowest = (i == 0 || measure[i] <= measure[i - 1]) &&
                            (i == n_trials - 1 || measure[i] <= measure[i + 1]);
        if (lowest && llabs(i - best) >= APART && measure[i] <= highest &&
            (rival < 0 || measure[i] < measure[rival]))
            rival = i;
    }
    return rival;
}

static double error_of(double deviation, double least, double otherwise)
{
    return isnan(deviation) ? otherwise : hypot(sigmas * deviation, least);
}

/* Returns true if the center of mass says that the axis is at `other` instead of `center`. */
static bool mass_prefers(const struct look *look, double other, double center)
{
    return !isnan(look->mass.deviation) &&
           CONTRADICTS * fabs(look->mass.center - other) < fabs(look->mass.center - center);
}

/* Moves the center by half the detector if the center of mass says so. If the bounds of the search
 * were given, there is only a warning. */
static void judge_alias(const struct center_slice *slice, struct look *look)
{
    const struct stage_context *context = slice->context;
    const double n = (double)context->in.axes[2].n, middle = 0.5 * (n - 1),
                 center = look->taken.center;
    const double other = center < middle ? center + 0.5 * n : center - 0.5 * n;
    if (!isnan(look->rival) && mass_prefers(look, center, look->rival))
        look->rival = NAN;
    if (mass_prefers(look, other, center)) {
        const bool free = !ts_param_given(context->set, "search") ||
                          fabs(other - middle) <= params_of(slice)->search;
        look->rival = free ? NAN : other;
        look->taken.center = free ? other : center;
        look->outermost = look->outermost && !free;
    }
}

static void search_sinogram(const struct center_slice *slice, const struct room *room,
                            double *measure, double *sorted, struct look *look)
{
    const struct center_search search = search_of(slice);
    const int64_t n = ts_center_trials(search.search, 1),
                  half_turn = ts_center_half_turn(search.views);
    const bool even = ts_center_views_are_even(search.views);
    const struct center_half half = {even ? room->clean : room->half, half_turn,
                                     search.n_detectors};
    struct center_buffers buffers = ts_center_buffers(&half, slice->fft, room->work);
    if (!even)
        ts_center_even_views(&search, half_turn, room->places, room->half);
    const struct center_found found = ts_center_by_sinogram(&search, &buffers, measure);
    const double middle = median_of(measure, n, sorted);
    const int64_t rival =
        rival_of(measure, n, found.best, measure[found.best] + found.noise * middle);
    center_slice_take(look, &found, 1 - measure[found.best] / middle, n);
    look->rival = rival < 0 ? NAN : center_of_trial(&search, rival, n, 1);
    judge_alias(slice, look);
    struct center_fit fit = ts_center_refine(&buffers, look->taken.center, look->cut_off);
    if (look->cut_off && !isnan(look->by_opposite) && fabs(fit.center - look->by_opposite) > 1) {
        const struct center_fit other = ts_center_refine(&buffers, look->by_opposite, true);
        fit = other.misfit < fit.misfit ? other : fit;
    }
    look->by_sinogram = look->taken.center = fit.center;
    look->error = error_of(hypot(fit.deviation, look->shared.of_sinogram),
                           look->cut_off ? least_error_within : least_error, search.search);
}

/* The findings from opposite views. */
struct opposite {
    struct center_found found;
    struct center_fit fit;
    double confidence, error;
};

static struct opposite look_opposite(const struct center_slice *slice,
                                     const struct center_pairs *pairs, double *measure,
                                     const struct look *look)
{
    const struct center_search search = search_of(slice);
    struct opposite opposite = {.found = ts_center_by_opposite(&search, pairs, measure)};
    opposite.fit = center_refine_opposite(&search, pairs, &opposite.found);
    opposite.found.center = opposite.fit.center;
    opposite.confidence = measure[opposite.found.best];
    opposite.error = error_of(hypot(opposite.fit.deviation, look->shared.of_opposite), least_error,
                              search.search);
    return opposite;
}

static void take_opposite(const struct center_slice *slice, const struct opposite *opposite,
                          struct look *look)
{
    center_slice_take(look, &opposite->found, opposite->confidence,
                      ts_center_trials(params_of(slice)->search, 0.5));
    look->rival = NAN;
    look->error = opposite->error;
}

/* Judges the many pairs of a whole object. Their center is taken if it agrees with the sinogram and
 * is more exact; it is also taken if it does not agree, with a warning unless the center of mass
 * agrees with it. */
static void judge_many(const struct center_slice *slice, const struct opposite *opposite,
                       struct look *look)
{
    const double apart = fabs(opposite->fit.center - look->by_sinogram);
    const bool agree = apart <= fmax(1, different * (opposite->error + look->error));
    const bool found =
        !isnan(opposite->fit.deviation) && opposite->confidence > opposite->found.noise;
    if (!found || (agree && opposite->error >= look->error))
        return;
    take_opposite(slice, opposite, look);
    if (!agree && !mass_prefers(look, opposite->fit.center, look->by_sinogram))
        look->rival = look->by_sinogram;
}

/* Takes the center of opposite views instead of that of the sinogram if the parameters say so, or
 * if it is better. */
static void judge_opposite(const struct center_slice *slice, const struct opposite *opposite,
                           int n_pairs, struct look *look)
{
    const struct center_params *params = params_of(slice);
    const double apart = fabs(opposite->fit.center - look->by_sinogram);
    const bool found_none =
        look->error >= params->search || !(look->confidence > look->taken.noise);
    bool better = !isnan(opposite->fit.deviation);
    if (n_pairs < MANY_PAIRS)
        better = found_none || (opposite->fit.spread < apart && opposite->error < look->error);
    if (params->truncated == TRUNCATED_AUTO && !look->cut_off)
        judge_many(slice, opposite, look);
    else if (params->truncated == TRUNCATED_OPPOSITE ||
             (params->truncated == TRUNCATED_AUTO && better))
        take_opposite(slice, opposite, look);
}

/* Refining the center needs stripes removed, while the measure of overlaps needs them as they
 * are. */
static void search_overlap(const struct center_slice *slice, double reach,
                           struct center_pairs *pairs, double *measure, struct look *look)
{
    struct center_search search = search_of(slice);
    struct memory_layout layout = {.base = slice->scratch};
    const struct room room = lay_out(slice->context, &layout);
    search.search = reach;
    search.p = slice->sinogram;
    ts_center_mirror(&search, pairs, room.opposites);
    struct center_found found = ts_center_by_overlap(&search, pairs, measure);
    search.p = room.clean;
    ts_center_mirror(&search, pairs, room.opposites);
    const struct center_fit fit = center_refine_opposite(&search, pairs, &found);
    found.center = fit.center;
    center_slice_take(look, &found, measure[found.best], ts_center_trials(reach, 0.5));
    look->cut_off = false; /* this method is made for objects that are cut off */
    look->error = error_of(hypot(fit.deviation, look->shared.of_opposite), least_error, reach);
}

/* Searches a lopsided whole turn for half acquisition, unless the parameters exclude it. `measure`
 * is scratch. */
static void judge_half_acquisition(const struct center_slice *slice,
                                   const struct opposite *opposite, struct center_pairs *pairs,
                                   double *measure, struct look *look)
{
    const struct center_search search = search_of(slice);
    const double reach = ts_center_overlap_search(search.n_detectors);
    const bool seen = !isnan(opposite->fit.deviation) &&
                      opposite->confidence > opposite->found.noise && opposite->found.best > 0 &&
                      opposite->found.best < ts_center_trials(search.search, 0.5) - 1;
    struct look wide = *look;
    if (!look->may_miss)
        return;
    if (params_of(slice)->truncated != TRUNCATED_AUTO ||
        search.search < ts_center_quarter(search.n_detectors))
        return;
    search_overlap(slice, reach, pairs, measure, &wide);
    if (wide.outermost || !(wide.confidence > (seen ? convincing : wide.taken.noise)))
        return;
    if (seen && fabs(wide.taken.center - opposite->fit.center) <= 1) {
        look->may_miss = false;
        return;
    }
    *look = wide;
    look->by_opposite = wide.taken.center;
}

static void search_mass(struct look *look, const struct center_search *search, double *measure)
{
    const double n = (double)search->n_detectors;
    look->taken = (struct center_found){.center = look->mass.center};
    look->confidence = 1 - fmin(1, look->mass.deviation / (trusted_share * n));
    look->error = error_of(look->mass.deviation, least_error_of_mass, n);
    measure[0] = look->mass.deviation;
}

/* Searches by the method that the parameters name. */
static void search_slice(const struct center_slice *slice, const struct ts_image *tables,
                         struct look *look)
{
    const struct center_params *params = params_of(slice);
    const struct center_search search = search_of(slice);
    struct memory_layout layout = {.base = slice->scratch};
    const struct room room = lay_out(slice->context, &layout);
    double *measure = tables[TABLE_MEASURE].data;
    struct center_pairs pairs;
    if (params->method == CENTER_MASS) {
        search_mass(look, &search, measure);
        return;
    }
    ts_center_pairs(search.views, &pairs);
    if (params->method == CENTER_OVERLAP) {
        search_overlap(slice, search.search, &pairs, measure, look);
        return;
    }
    look->may_miss = is_lopsided(&search, look);
    ts_center_mirror(&search, &pairs, room.opposites);
    const bool many = params->truncated == TRUNCATED_AUTO && pairs.n >= MANY_PAIRS,
               both = params->method == CENTER_SINOGRAM && pairs.n > 0 && (look->cut_off || many);
    struct opposite opposite = {0};
    if (params->method == CENTER_OPPOSITE || both) {
        /* The scratch of the transform is not in use yet, and has twice as many rows as half a
         * turn: at least 2 n doubles. There are fewer trials. */
        opposite = look_opposite(slice, &pairs, both ? room.work : measure, look);
        look->by_opposite = opposite.fit.center;
    }
    if (params->method == CENTER_OPPOSITE) {
        take_opposite(slice, &opposite, look);
        return;
    }
    search_sinogram(slice, &room, measure, tables[TABLE_TRIALS].data, look);
    if (both) {
        judge_opposite(slice, &opposite, pairs.n, look);
        judge_half_acquisition(slice, &opposite, &pairs, room.work, look);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

static struct ts_axis items(int64_t n)
{
    return (struct ts_axis){.kind = TS_AXIS_ITEM, .n = n, .unit = ""};
}

void ts_center_slice_tables(const struct center_params *params,
                            struct stage_table tables[SEARCH_TABLES])
{
    const int64_t n_trials = trials_of(params);
    const struct ts_image number = {.dtype = TS_F64, .unit = ""},
                          pair = {.rank = 1, .dtype = TS_F64, .unit = "", .axes = {items(2)}},
                          three = {.rank = 1, .dtype = TS_F64, .unit = "", .axes = {items(3)}};
    tables[TABLE_CENTER] = (struct stage_table){
        "center", "the center found: index of a detector pixel, from 0", number};
    tables[TABLE_ERROR] = (struct stage_table){
        "error", "how far the center may be off: the axis is within it in nine of ten scans",
        number};
    tables[TABLE_CONFIDENCE] = (struct stage_table){
        "confidence",
        "from 0 to 1: of sinogram, 1 - lowest / median of the measure; of opposite and overlap, "
        "the measure at the center; of the one whose center is taken",
        number};
    tables[TABLE_NOISE] = (struct stage_table){
        "noise", "the confidence that noise without an object may reach; less is warned of",
        number};
    tables[TABLE_TRUNCATION] = (struct stage_table){
        "truncation",
        "what the first and the last end of the row see of the object, as a share of the most that "
        "is seen: an object of more than 0.1 is cut off",
        pair};
    tables[TABLE_CENTERS] =
        (struct stage_table){"centers",
                             "the centers of sinogram, of opposite and of mass; NaN if that method "
                             "was not carried out or found none",
                             three};
    tables[TABLE_TRIALS] =
        (struct stage_table){"trial_center", "trial centers, before the last is refined", number};
    tables[TABLE_MEASURE] = (struct stage_table){
        "measure", "of sinogram the lowest is best, of the others the highest", number};
    tables[TABLE_ERROR].image.unit = tables[TABLE_CENTERS].image.unit =
        tables[TABLE_CENTER].image.unit = tables[TABLE_TRIALS].image.unit = "detector";
    for (int i = TABLE_TRIALS; i < SEARCH_TABLES; i++) {
        tables[i].image.rank = 1;
        tables[i].image.axes[0] = items(n_trials);
    }
}

static void write_tables(const struct center_slice *slice, const struct look *look,
                         const struct ts_image *tables)
{
    const struct center_search search = search_of(slice);
    const double step = step_of(params_of(slice));
    const int64_t n = trials_of(params_of(slice));
    double *trials = tables[TABLE_TRIALS].data, *ends = tables[TABLE_TRUNCATION].data,
           *centers = tables[TABLE_CENTERS].data;
    for (int64_t i = 0; i < n; i++)
        trials[i] = center_of_trial(&search, i, n, step);
    *(double *)tables[TABLE_CENTER].data = look->taken.center;
    if (params_of(slice)->method == CENTER_MASS)
        trials[0] = look->taken.center;
    *(double *)tables[TABLE_ERROR].data = look->error;
    *(double *)tables[TABLE_CONFIDENCE].data = look->confidence;
    *(double *)tables[TABLE_NOISE].data = look->taken.noise;
    ends[0] = look->truncation.first;
    ends[1] = look->truncation.last;
    centers[0] = look->by_sinogram;
    centers[1] = look->by_opposite;
    centers[2] = look->mass.center;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns what the ends see of the object: a stripe there is none of it, and nor is what the
 * medians that take stripes away bring to an end from an edge close to it. */
static struct view_ends find_ends(const float *raw, const struct center_search *search,
                                  enum ts_quantity quantity)
{
    const struct view_ends clean = ts_view_ends(search->p, search->views->n, search->n_detectors,
                                                quantity),
                           ends =
                               ts_view_ends(raw, search->views->n, search->n_detectors, quantity);
    return (struct view_ends){fmin(clean.first, ends.first), fmin(clean.last, ends.last)};
}

/* Cleans the sinogram, and finds its center of mass. */
static void center_slice_begin(const struct center_slice *slice, struct look *look)
{
    const struct stage_context *context = slice->context;
    const struct center_search search = search_of(slice);
    struct memory_layout layout = {.base = slice->scratch};
    const struct room room = lay_out(context, &layout);
    ts_center_clean(slice->sinogram, search.views->n, search.n_detectors, room.clean, room.work);
    look->truncation = find_ends(slice->sinogram, &search, context->in.quantity);
    look->cut_off = ts_view_end_is_cut_off(look->truncation.first) ||
                    ts_view_end_is_cut_off(look->truncation.last);
    look->shared = ts_center_shared(&search, slice->sinogram, room.work);
    if (params_of(slice)->method == CENTER_MASS || !look->cut_off)
        look->mass = ts_center_by_mass(
            &search, context->in.quantity,
            context->in.quantity == TS_LINE_INTEGRAL ? look->shared.noise : look->shared.share);
    if (!(look->mass.deviation <= trusted_share * (double)search.n_detectors) &&
        params_of(slice)->method != CENTER_MASS)
        look->mass = (struct center_fit){.center = NAN, .deviation = NAN};
}

enum ts_status ts_center_slice_search(const struct center_slice *slice,
                                      const struct ts_image *tables, double *center)
{
    struct look look = {
        .by_sinogram = NAN, .by_opposite = NAN, .rival = NAN, .mass = {NAN, NAN}, .error = NAN};
    center_slice_begin(slice, &look);
    if (params_of(slice)->method == CENTER_MASS && isnan(look.mass.deviation)) {
        center_slice_refuse(
            slice, "center-mass",
            "its views have no centers of mass that turn about an axis on the detector");
        ts_diag_hint(slice->context->diag,
                     "give the center, and look at slices around it with strip: true");
        return TS_BAD_INPUT;
    }
    search_slice(slice, tables, &look);
    write_tables(slice, &look, tables);
    *center = look.taken.center;
    if (look.outermost) {
        center_slice_refuse(slice, "center-edge", "the best trial is the outermost");
        hint_of_edge(slice, &look);
        return TS_BAD_INPUT;
    }
    look.rival = look.may_miss ? NAN : look.rival; /* it may be as far from the axis */
    warn_if_doubtful(slice, &look);
    return TS_OK;
}
