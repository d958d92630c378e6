/* SPDX-License-Identifier: Apache-2.0
 *
 * A slice is searched by the method of the parameters; then the result is judged: by the confidence that noise alone
 * reaches, by another minimum that is as good, and by how much of the object the detector cuts off.
 *
 * Where the detector cuts off the object, the two halves of a full turn differ beyond the ends of what both see, and
 * that draws the minimum of the sinogram's measure away by some detector pixels. A correlation of opposite views
 * compares what both see alone: for random discs 1.3 to 4 times as wide as the detector it was off by 0.06 pixels at
 * the median, and the measure by 0.6; for strips of a tooth by 0.3 at most, and the measure by 2.3. So both are
 * searched there.
 */
#include "stages/scan/center_slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/search.h"

enum { APART = 3 }; /* trials between a minimum and its rival, at least */

/* These are the findings of the searches. */
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

/* Returns the number of detector pixels between two trial centers. */
static double step_of(const struct center_params *params)
{
    return params->method == CENTER_SINOGRAM ? 1 : 0.5;
}

static struct center_search search_of(const struct center_slice *slice)
{
    const struct stage_context *context = slice->context;
    return (struct center_search){slice->sinogram, &context->in.axes[1], context->in.axes[2].n,
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
    for (int64_t view = 1; view < search->views->n; view++)
        if (memcmp(search->p, search->p + view * n, (size_t)n * sizeof *search->p) != 0)
            return false;
    return true;
}

/* ---- warnings ---------------------------------------------------------------------------------- */

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
                 "the center found, %.2f, may be off by some detector pixels, and opposite views have it "
                 "at %.2f",
                 look->by_sinogram, look->by_opposite);
    else
        snprintf(what, sizeof what, "the center found, %.2f, may be off by %s", look->taken.center,
                 isnan(look->by_sinogram) ? "a detector pixel or more" : "some detector pixels");
    ts_diag_warning(slice->context->diag, &site,
                    "the detector cuts off the object in slice %lld: its first end sees %.0f %% and its last %.0f %% "
                    "of the most that is seen; %s",
                    (long long)params_of(slice)->slice, 100 * look->truncation.first, 100 * look->truncation.last,
                    what);
    ts_diag_hint(slice->context->diag,
                 "look at it with strip: true, or give the center; what the rows lack shows in a reconstruction as "
                 "well, less so with `pad: {}` before it; in a whole turn with the axis near an end of the detector "
                 "`method: overlap` finds it");
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
        ts_diag_hint(diag, "look at it with strip: true, search another slice, or give the center");
    if (look->cut_off && !same && !is_uncertain)
        warn_of_truncation(slice, look);
}

/* The axis may be near an end of the detector, where the other methods do not search. */
static void hint_of_edge(const struct center_slice *slice)
{
    const struct stage_context *context = slice->context;
    const bool turn = ts_center_overlap_lacks(&context->in.axes[1]) == 0;
    ts_diag_hint(context->diag, "search further, try another slice%s, or give the center",
                 params_of(slice)->method == CENTER_OVERLAP ? " or method"
                 : turn ? ", or `method: overlap` for this scan of 360 degrees, whose axis may be near an end of the "
                          "detector"
                        : " or method");
}

/* ---- search ------------------------------------------------------------------------------------ */

static double center_of_trial(const struct center_search *search, int64_t trial, int64_t n_trials, double step)
{
    const int64_t from_middle = trial - n_trials / 2;
    return 0.5 * (double)(search->n_detectors - 1) + (double)from_middle * step;
}

/* Makes what one search found the result. */
static void take(struct look *look, const struct center_found *found, double confidence, int64_t n_trials)
{
    look->taken = *found;
    look->confidence = confidence;
    look->outermost = found->best == 0 || found->best == n_trials - 1;
}

/* Returns the median of n numbers; `sorted` is scratch space for as many. */
static double median_of(const double *measure, int64_t n, double *sorted)
{
    memcpy(sorted, measure, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ts_compare_doubles);
    return sorted[n / 2];
}

/* Returns the rival of the best trial: the lowest other local minimum that is APART trials or more away and whose
 * measure is at most `highest`. Returns -1 where there is none. */
static int64_t rival_of(const double *measure, int64_t n_trials, int64_t best, double highest)
{
    int64_t rival = -1;
    for (int64_t i = 0; i < n_trials; i++) {
        const bool lowest =
            (i == 0 || measure[i] <= measure[i - 1]) && (i == n_trials - 1 || measure[i] <= measure[i + 1]);
        if (lowest && llabs(i - best) >= APART && measure[i] <= highest && (rival < 0 || measure[i] < measure[rival]))
            rival = i;
    }
    return rival;
}

static void search_sinogram(const struct center_slice *slice, double *measure, double *sorted, struct look *look)
{
    const struct center_search search = search_of(slice);
    const int64_t n = ts_center_trials(search.search, 1);
    const struct center_found found = ts_center_by_sinogram(&search, slice->fft, slice->scratch, measure);
    const double middle = median_of(measure, n, sorted);
    const int64_t rival = rival_of(measure, n, found.best, measure[found.best] + found.noise * middle);
    take(look, &found, 1 - measure[found.best] / middle, n);
    look->by_sinogram = found.center;
    look->rival = rival < 0 ? NAN : center_of_trial(&search, rival, n, 1);
}

static void search_opposite(const struct center_slice *slice, const struct center_pairs *pairs, double *measure,
                            bool takes, struct look *look)
{
    const struct center_search search = search_of(slice);
    const struct center_found found = ts_center_by_opposite(&search, pairs, measure);
    look->by_opposite = found.center;
    if (takes) {
        take(look, &found, measure[found.best], ts_center_trials(search.search, 0.5));
        look->rival = NAN;
    }
}

static void search_overlap(const struct center_slice *slice, double *measure, struct look *look)
{
    const struct center_search search = search_of(slice);
    const struct center_found found = ts_center_by_overlap(&search, measure);
    take(look, &found, measure[found.best], ts_center_trials(search.search, 0.5));
    look->cut_off = false; /* this method is for objects that are cut off */
}

/* Searches by the method that the parameters name. */
static void search_slice(const struct center_slice *slice, const struct ts_image *tables, struct look *look)
{
    const struct center_params *params = params_of(slice);
    struct center_pairs pairs;
    if (params->method == CENTER_OVERLAP) {
        search_overlap(slice, tables[TABLE_MEASURE].data, look);
        return;
    }
    ts_center_pairs(&slice->context->in.axes[1], &pairs);
    if (params->method == CENTER_OPPOSITE) {
        search_opposite(slice, &pairs, tables[TABLE_MEASURE].data, true, look);
        return;
    }
    search_sinogram(slice, tables[TABLE_MEASURE].data, tables[TABLE_TRIALS].data, look);
    /* The scratch of the transform, which is free by now, has twice as many rows as half a turn: 2 n doubles at the
     * least. There are fewer trials. */
    if (look->cut_off && pairs.n > 0)
        search_opposite(slice, &pairs, slice->scratch, params->truncated == TRUNCATED_OPPOSITE, look);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static struct ts_axis items(int64_t n)
{
    return (struct ts_axis){.kind = TS_AXIS_ITEM, .n = n, .unit = ""};
}

void ts_center_slice_tables(const struct center_params *params, struct stage_table tables[SEARCH_TABLES])
{
    const int64_t n_trials = ts_center_trials(params->search, step_of(params));
    const struct ts_image number = {.dtype = TS_F64, .unit = ""},
                          pair = {.rank = 1, .dtype = TS_F64, .unit = "", .axes = {items(2)}};
    tables[TABLE_CENTER] =
        (struct stage_table){"center", "the center found: index of a detector pixel, from 0", number};
    tables[TABLE_CONFIDENCE] =
        (struct stage_table){"confidence",
                             "from 0 to 1: of sinogram, 1 - lowest / median of the measure; of opposite and "
                             "overlap, the measure at the center; of the one whose center is taken",
                             number};
    tables[TABLE_NOISE] = (struct stage_table){
        "noise", "the confidence that noise without an object may reach; less is warned of", number};
    tables[TABLE_TRUNCATION] = (struct stage_table){
        "truncation",
        "what the first and the last end of the row see of the object, as a share of the most that is seen: an object "
        "of more than 0.1 is cut off",
        pair};
    tables[TABLE_CENTERS] = (struct stage_table){
        "centers", "the centers of sinogram and of opposite; NaN where that method was not carried out", pair};
    tables[TABLE_TRIALS] = (struct stage_table){"trial_center", "trial centers, before the last is refined", number};
    tables[TABLE_MEASURE] =
        (struct stage_table){"measure", "of sinogram the lowest is best, of the others the highest", number};
    tables[TABLE_CENTERS].image.unit = tables[TABLE_CENTER].image.unit = tables[TABLE_TRIALS].image.unit = "detector";
    for (int i = TABLE_TRIALS; i < SEARCH_TABLES; i++) {
        tables[i].image.rank = 1;
        tables[i].image.axes[0] = items(n_trials);
    }
}

static void write_tables(const struct center_slice *slice, const struct look *look, const struct ts_image *tables)
{
    const struct center_search search = search_of(slice);
    const double step = step_of(params_of(slice));
    const int64_t n = ts_center_trials(search.search, step);
    double *trials = tables[TABLE_TRIALS].data, *ends = tables[TABLE_TRUNCATION].data,
           *centers = tables[TABLE_CENTERS].data;
    for (int64_t i = 0; i < n; i++)
        trials[i] = center_of_trial(&search, i, n, step);
    *(double *)tables[TABLE_CENTER].data = look->taken.center;
    *(double *)tables[TABLE_CONFIDENCE].data = look->confidence;
    *(double *)tables[TABLE_NOISE].data = look->taken.noise;
    ends[0] = look->truncation.first;
    ends[1] = look->truncation.last;
    centers[0] = look->by_sinogram;
    centers[1] = look->by_opposite;
}

/* ---- the whole --------------------------------------------------------------------------------- */

enum ts_status ts_center_slice_search(const struct center_slice *slice, const struct ts_image *tables, double *center)
{
    const struct center_search search = search_of(slice);
    struct look look = {.by_sinogram = NAN, .by_opposite = NAN, .rival = NAN};
    look.truncation = ts_center_truncation(&search, slice->context->in.quantity);
    look.cut_off = ts_center_is_cut_off(&look.truncation);
    search_slice(slice, tables, &look);
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
