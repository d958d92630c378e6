/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the detector cuts off the object, the two halves of a full turn differ beyond the ends of what both see, and
 * that draws the minimum of the sinogram's measure away by some detectors. A correlation of opposite views looks at
 * what both see alone: of random discs 1.3 to 4 times as wide as the detector it was off by 0.06 detectors at the
 * median, and the measure by 0.6; of strips of a tooth by 0.3 at most, and the measure by 2.3.
 */
#include "stages/scan/center_slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/scan/center_overlap.h"
#include "stages/scan/center_tables.h"
#include "stages/scan/center_truncation.h"

/* What is known of a slice. */
struct look {
    struct center_truncation truncation;
    bool cut_off;
    struct center_found taken;
    double by_sinogram, by_opposite; /* centers; NAN: not searched */
    double confidence;
    bool outermost; /* the trial taken */
    double rival;   /* the center of another minimum that noise may set apart; NAN: there is none */
};

static const struct center_params *params_of(const struct center_slice *slice)
{
    return slice->context->params;
}

double ts_center_slice_step(const struct center_params *params)
{
    return params->method == CENTER_SINOGRAM ? 1 : 0.5;
}

static struct center_search search_of(const struct center_slice *slice)
{
    const struct stage_context *context = slice->context;
    return (struct center_search){slice->sinogram, context->in.axes[1].n, context->in.axes[2].n,
                                  params_of(slice)->search, context->threads};
}

static enum ts_status refuse(const struct center_slice *slice, const char *code, const char *what)
{
    const struct stage_context *context = slice->context;
    return ts_diag_error(context->diag, TS_BAD_INPUT,
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
        if (!isfinite(p[i]))
            return refuse(slice, "center-nonfinite", "it holds NaN or infinite values");
        same = same && p[i] == p[0];
    }
    return same ? refuse(slice, "center-constant", "all its values are the same") : TS_OK;
}

static bool views_are_alike(const struct center_search *search)
{
    const int64_t n = search->n_detectors;
    for (int64_t view = 1; view < search->n_views; view++)
        if (memcmp(search->p, search->p + view * n, (size_t)n * sizeof *search->p) != 0)
            return false;
    return true;
}

/* ---- warnings ---------------------------------------------------------------------------------- */

static void hint(const struct center_slice *slice)
{
    ts_diag_hint(slice->context->diag, "look at it with strip: true, search another slice, or give the center");
}

static struct diag_site site_of(const struct center_slice *slice, const char *code)
{
    return (struct diag_site){.code = code, .span = slice->context->set->span, .stage = slice->context->stage->name};
}

static void warn_of_truncation(const struct center_slice *slice, const struct look *look)
{
    const struct diag_site site = site_of(slice, "center-truncated");
    char what[160];
    if (look->taken.center == look->by_opposite && !isnan(look->by_sinogram))
        snprintf(what, sizeof what,
                 "the center is that of opposite views, %.2f, as such a slice draws that of the "
                 "sinogram, %.2f, away",
                 look->by_opposite, look->by_sinogram);
    else if (!isnan(look->by_sinogram) && !isnan(look->by_opposite))
        snprintf(what, sizeof what,
                 "the center found, %.2f, may be off by some detectors, and opposite views have it "
                 "at %.2f",
                 look->by_sinogram, look->by_opposite);
    else
        snprintf(what, sizeof what, "the center found, %.2f, may be off by %s", look->taken.center,
                 isnan(look->by_sinogram) ? "a detector or more" : "some detectors");
    ts_diag_warning(slice->context->diag, &site,
                    "the detector cuts off the object in slice %lld: its first end sees %.0f %% and its last %.0f %% "
                    "of the most that is seen; %s",
                    (long long)params_of(slice)->slice, 100 * look->truncation.first, 100 * look->truncation.last,
                    what);
    ts_diag_hint(slice->context->diag,
                 "look at it with strip: true, or give the center; what the rows lack shows in a reconstruction as "
                 "well, less so with `pad: {}` before it; in a whole turn with the axis near an end of the detector "
                 "`method: overlap` "
                 "finds it");
}

static void warn_if_doubtful(const struct center_slice *slice, const struct look *look)
{
    const struct center_search search = search_of(slice);
    struct ts_diag *diag = slice->context->diag;
    const long long z = (long long)params_of(slice)->slice;
    const struct diag_site alike = site_of(slice, "center-alike"), uncertain = site_of(slice, "center-uncertain"),
                           ambiguous = site_of(slice, "center-ambiguous");
    const bool same = views_are_alike(&search), is_uncertain = !same && !(look->confidence > look->taken.noise);
    if (same)
        ts_diag_warning(diag, &alike,
                        "all views of slice %lld are the same, so that the center found, %.2f, is the middle of an "
                        "object that looks alike from all sides, or of no object at all",
                        z, look->taken.center);
    else if (is_uncertain)
        ts_diag_warning(diag, &uncertain,
                        "the center found in slice %lld, %.2f, has a confidence of %.3g, and noise without an object "
                        "may have %.3g",
                        z, look->taken.center, look->confidence, look->taken.noise);
    else if (!isnan(look->rival))
        ts_diag_warning(diag, &ambiguous,
                        "the center found in slice %lld, %.2f, is hardly better than another, about %.6g: noise alone "
                        "may make the difference",
                        z, look->taken.center, look->rival);
    if (same || is_uncertain || !isnan(look->rival))
        hint(slice);
    if (look->cut_off && !same && !is_uncertain)
        warn_of_truncation(slice, look);
}

/* Near an end of the detector is where the other methods do not look. */
static void hint_of_edge(const struct center_slice *slice)
{
    const struct stage_context *context = slice->context;
    const bool turn = ts_center_overlap_lacks(slice->angles, context->in.axes[1].n) == 0;
    ts_diag_hint(context->diag, "search further, try another slice%s, or give the center",
                 params_of(slice)->method == CENTER_OVERLAP ? " or method"
                 : turn ? ", or `method: overlap` for this scan of 360 degrees, whose axis may be near an end of the "
                          "detector"
                        : " or method");
}

/* ---- search ------------------------------------------------------------------------------------ */

static double center_of_trial(const struct center_slice *slice, int64_t trial, int64_t n_trials, double step)
{
    const int64_t half = n_trials / 2;
    return 0.5 * (double)(slice->context->in.axes[2].n - 1) + (double)(trial - half) * step;
}

static void take(struct look *look, const struct center_found *found, double confidence, int64_t n_trials)
{
    look->taken = *found;
    look->confidence = confidence;
    look->outermost = found->best == 0 || found->best == n_trials - 1;
}

static void search_sinogram(const struct center_slice *slice, double *measure, double *sorted, struct look *look)
{
    const struct center_search search = search_of(slice);
    const int64_t n = ts_center_trials(search.search, 1);
    const struct center_found found =
        ts_center_by_sinogram(&search, slice->half_turn, slice->fft, slice->room, measure);
    const double middle = ts_center_median(measure, n, sorted);
    const int64_t rival = ts_center_rival(measure, n, found.best, measure[found.best] + found.noise * middle);
    take(look, &found, 1 - measure[found.best] / middle, n);
    look->by_sinogram = found.center;
    look->rival = rival < 0 ? NAN : center_of_trial(slice, rival, n, 1);
}

static void search_opposite(const struct center_slice *slice, double *measure, bool takes, struct look *look)
{
    const struct center_search search = search_of(slice);
    int64_t pairs[CENTER_PAIRS][2];
    memcpy(pairs, slice->pairs, sizeof pairs);
    const struct center_found found = ts_center_by_opposite(&search, slice->angles, pairs, slice->n_pairs, measure);
    look->by_opposite = found.center;
    if (takes) {
        take(look, &found, measure[found.best], ts_center_trials(search.search, 0.5));
        look->rival = NAN;
    }
}

/* An object that is cut off is what this is for. */
static void search_overlap(const struct center_slice *slice, double *measure, struct look *look)
{
    const struct center_search search = search_of(slice);
    const int64_t n = search.n_views;
    int64_t pairs[OVERLAP_PAIRS][2];
    const int n_pairs = ts_center_overlap_pairs(slice->angles, n, pairs);
    const struct center_found found = ts_center_by_overlap(&search, pairs, n_pairs, measure);
    take(look, &found, measure[found.best], ts_center_trials(search.search, 0.5));
    look->cut_off = false;
}

static void write_tables(const struct center_slice *slice, const struct look *look, const struct ts_image *tables)
{
    const double step = ts_center_slice_step(params_of(slice));
    const int64_t n = ts_center_trials(params_of(slice)->search, step);
    double *trials = tables[TABLE_TRIALS].data, *ends = tables[TABLE_TRUNCATION].data,
           *centers = tables[TABLE_CENTERS].data;
    for (int64_t i = 0; i < n; i++)
        trials[i] = center_of_trial(slice, i, n, step);
    *(double *)tables[TABLE_CENTER].data = look->taken.center;
    *(double *)tables[TABLE_CONFIDENCE].data = look->confidence;
    *(double *)tables[TABLE_NOISE].data = look->taken.noise;
    ends[0] = look->truncation.first;
    ends[1] = look->truncation.last;
    centers[0] = look->by_sinogram;
    centers[1] = look->by_opposite;
}

enum ts_status ts_center_slice_search(const struct center_slice *slice, const struct ts_image *tables, double *center)
{
    const struct center_search search = search_of(slice);
    struct look look = {.by_sinogram = NAN, .by_opposite = NAN, .rival = NAN};
    look.truncation = ts_center_truncation(search.p, search.n_views, search.n_detectors, slice->context->in.quantity);
    look.cut_off = ts_center_is_cut_off(&look.truncation);
    if (params_of(slice)->method == CENTER_OPPOSITE)
        search_opposite(slice, tables[TABLE_MEASURE].data, true, &look);
    else if (params_of(slice)->method == CENTER_OVERLAP)
        search_overlap(slice, tables[TABLE_MEASURE].data, &look);
    else
        search_sinogram(slice, tables[TABLE_MEASURE].data, tables[TABLE_TRIALS].data, &look);
    /* The room of the transform, twice as many rows as half a turn has, is free by now: 2 n doubles at the least, and
     * trials are less than that. */
    if (params_of(slice)->method == CENTER_SINOGRAM && look.cut_off && slice->n_pairs > 0)
        search_opposite(slice, slice->room, params_of(slice)->truncated == TRUNCATED_OPPOSITE, &look);
    write_tables(slice, &look, tables);
    *center = look.taken.center;
    if (look.outermost) {
        refuse(slice, "center-edge", "the best trial is the outermost");
        hint_of_edge(slice);
        return TS_BAD_INPUT;
    }
    warn_if_doubtful(slice, &look);
    return TS_OK;
}
