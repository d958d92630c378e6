/* SPDX-License-Identifier: Apache-2.0
 *
 * stitch: p(theta + 180 degrees, s) = p(theta, -s), so if the axis is at index c of the detector,
 * sample d of a view is also sample 2 c - d of its opposite view, which therefore continues the
 * view beyond its end: (z, view, detector) -> (z, view of half a turn, detector of up to twice the
 * width), f32. Samples of the first half turn are used as they are. Their opposites are
 * interpolated between detector pixels if 2 c is not a whole number. Where both views see the
 * object, one view fades into the other, so that there is no seam.
 */
#include "stages/scan/stitch.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/clamp.h"
#include "core/memory.h"
#include "stages/engine/distances.h"
#include "stages/scan/stitch_views.h"

/* Views are placed by their angles modulo 360 degrees, from the first view on and in the sense in
 * which they turn. The opposite of a view is looked up at theta + 180 degrees among the views of
 * the first turn: it is a view within a tenth of a step, or is interpolated between the two views
 * around that angle. The result keeps the first half turn, unless views are lost in the second:
 * then it keeps half a turn that ends with these, so that each view that is left has an
 * opposite. */

/* Angles that are closer than this fraction of a step are the same. */
static const double same_angle = 0.1;
/* The two views around an opposite are at most this many steps apart. */
static const double widest_step = 2.5;
/* At most this many degrees of views may be lost. */
static const double most_lost = 18;
/* `between: few` allows one view of this many to be interpolated. */
enum { FEW = 10 };

STAGE_PARAMS_OF(stitch_params)

/* Writes the places of the views of the first turn in the order of the scan, in [0, 360) degrees or
 * slightly below 0 by rounding. Returns how many there are. */
static int64_t place_views(const struct stage_context *context, struct view_place *places)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double first = ts_view_degree(axis, 0),
                 way = axis->n > 1 ? ts_view_degree(axis, 1) - first : 0;
    const double sense = remainder(way, 360) < 0 ? -1 : 1,
                 hair = same_angle * fabs(remainder(way, 360));
    for (int64_t v = 0; v < axis->n; v++) {
        double degrees = fmod(sense * (ts_view_degree(axis, v) - first), 360);
        degrees += degrees < 0 ? 360 : 0;
        places[v] = (struct view_place){degrees > 360 - hair ? degrees - 360 : degrees, v};
        if (v > 0 && places[v].degrees < places[v - 1].degrees - 180)
            return v;
    }
    return axis->n;
}

/* Finds the opposite of a view at `degrees`: between the two of `sorted` around it, or the nearer
 * of them if that is within a tenth of a step. Returns how far apart these two are. */
static double find_opposite(const struct view_place *sorted, int64_t n, double degrees, double step,
                            struct stitch_opposite *opposite)
{
    const double at = degrees + 180 < 360 ? degrees + 180 : degrees - 180;
    const int64_t low = ts_view_places_up_to(sorted, n, at); /* the first view past the angle */
    const struct view_place *before = &sorted[low > 0 ? low - 1 : n - 1],
                            *after = &sorted[low < n ? low : 0];
    const double behind = at - before->degrees + (low > 0 ? 0 : 360),
                 ahead = after->degrees - at + (low < n ? 0 : 360);
    *opposite = (struct stitch_opposite){{(int32_t)before->view, (int32_t)after->view}, 0};
    if (ahead < behind && ahead <= same_angle * step)
        opposite->view[0] = (int32_t)after->view;
    else if (behind > same_angle * step)
        opposite->past = (float)(behind / (behind + ahead));
    return behind + ahead;
}

void ts_stitch_opposites(const struct stage_context *context, struct stitch_opposite *opposites,
                         struct view_place *scratch)
{
    const int64_t first = params_of(context)->first, views = params_of(context)->views,
                  n = place_views(context, scratch);
    ts_view_places_sort(scratch, n);
    for (int64_t i = 0; i < n; i++)
        if (scratch[i].view >= first && scratch[i].view < first + views)
            find_opposite(scratch, n, scratch[i].degrees, 180 / (double)views,
                          &opposites[scratch[i].view - first]);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static enum ts_status refuse_order(const struct stage_context *context, int64_t view)
{
    const struct diag_site site = {
        .code = "views-order", .span = context->set->span, .stage = context->stage->name};
    const struct ts_axis *axis = &context->in.axes[1];
    return ts_diag_error(context->diag, TS_BAD_CHAIN, &site,
                         "view %lld, at %.6g degrees, comes after view %lld, at %.6g, and angles "
                         "that go one way were expected",
                         (long long)view, ts_view_degree(axis, view), (long long)view - 1,
                         ts_view_degree(axis, view - 1));
}

static enum ts_status refuse_opposite(const struct stage_context *context, int64_t view,
                                      const struct stitch_opposite *opposite, bool none)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const double degree = ts_view_degree(axis, view);
    const long long before = opposite->view[0], after = opposite->view[1];
    const double low = ts_view_degree(axis, before), high = ts_view_degree(axis, after);
    if (none) {
        const struct diag_site site = {
            .code = "views-opposite", .span = context->set->span, .stage = context->stage->name};
        ts_diag_error(
            context->diag, TS_BAD_CHAIN, &site,
            "view %lld at %.6g degrees has no opposite: the nearest to %.6g degrees are view %lld "
            "at %.6g and view %lld at %.6g (modulo 360), and a whole turn was expected",
            (long long)view, degree, degree + 180, before, low, after, high);
        const double last = (double)(context->in.axes[2].n - 1),
                     off = fabs(params_of(context)->center - 0.5 * last);
        return off <= 0.05 * last
                   ? ts_diag_hint(context->diag, "the axis is near the middle of the detector: fbp "
                                                 "and fourier take half a turn without stitch")
                   : TS_BAD_CHAIN;
    }
    ts_param_error(
        context->set, "between", "views-between", context->diag,
        "the opposite of view %lld at %.6g degrees lies between view %lld at %.6g and view %lld at "
        "%.6g, and one within a tenth of a step, %.6g degrees, was expected",
        (long long)view, degree, before, low, after, high,
        same_angle * 180 / (double)params_of(context)->views);
    return ts_diag_hint(context->diag,
                        "between: interpolate takes it from both, which smooths far from the axis");
}

static void warn_of_lost(const struct stage_context *context, double before, double after)
{
    const struct diag_site site = {
        .code = "views-lost", .span = context->set->span, .stage = context->stage->name};
    ts_diag_warning(context->diag, &site,
                    "no views are between %.6g and %.6g degrees from the first one, and the result "
                    "has none there either",
                    before, after);
}

/* Returns where the half turn of the result begins, in degrees from the first view: at 0 or, if
 * opposites are in the widest gap of the second half turn, so that it ends with that gap. */
static double find_start(const struct stage_context *context, const struct view_place *places,
                         int64_t n)
{
    double before = 0, after = 0;
    for (int64_t v = 1; v <= n; v++) {
        const double end = v < n ? places[v].degrees : 360;
        if (end > 180 && end - places[v - 1].degrees > after - before) {
            before = places[v - 1].degrees;
            after = end;
        }
    }
    if (n < 3 || after - before <= widest_step * 360 / (double)n || after - before > most_lost)
        return 0;
    if (!context->set->resolved) /* reported once, whatever is found about the axes later */
        warn_of_lost(context, before, after);
    return after - 180;
}

/* Checks the opposites of the views of the result. */
static enum ts_status check_opposites(const struct stage_context *context,
                                      const struct stitch_params *params,
                                      const struct view_place *sorted, int64_t n)
{
    const double step = 180 / (double)params->views;
    struct stitch_opposite opposite, between = {{0, 0}, 0};
    int64_t few = 0, of_view = -1;
    for (int64_t i = 0; i < n; i++) {
        if (sorted[i].view < params->first || sorted[i].view >= params->first + params->views)
            continue;
        const double gap = find_opposite(sorted, n, sorted[i].degrees, step, &opposite);
        if (opposite.past > 0 && gap > widest_step * step)
            return refuse_opposite(context, sorted[i].view, &opposite, true);
        if (opposite.past > 0 && few++ == 0) {
            between = opposite;
            of_view = sorted[i].view;
        }
    }
    int64_t most = 0;
    if (params->between == STITCH_INTERPOLATE)
        most = n;
    else if (params->between == STITCH_FEW)
        most = params->views / FEW;
    return few > most ? refuse_opposite(context, of_view, &between, false) : TS_OK;
}

/* Finds the views of half a turn, which the result keeps, and checks their opposites. */
static enum ts_status find_views(const struct stage_context *context, struct stitch_params *params,
                                 struct view_place *places)
{
    const int64_t n = place_views(context, places);
    const double hair = same_angle * (n > 1 ? fabs(places[1].degrees) : 360);
    for (int64_t v = 1; v < n; v++)
        if (!(places[v].degrees > places[v - 1].degrees))
            return refuse_order(context, v);
    const double start = find_start(context, places, n);
    params->first = params->views = 0;
    for (int64_t v = 0; v < n; v++) {
        params->first += places[v].degrees < start - hair;
        params->views +=
            places[v].degrees >= start - hair && places[v].degrees < start + 180 - hair;
    }
    ts_view_places_sort(places, n);
    return check_opposites(context, params, places, n);
}

/* Finds the views of half a turn, which the result keeps, and checks that each has an opposite. For
 * resolve(). Warning: views-lost. Errors: angles-missing, angles-in-radians, one-direction,
 * views-order, views-opposite, views-between. */
static enum ts_status stitch_views(const struct stage_context *context,
                                   struct stitch_params *params)
{
    if (ts_views_need_angles(context) != TS_OK)
        return TS_BAD_CHAIN;
    enum ts_status status = ts_view_angles_check_unit(context);
    if (status == TS_OK)
        status = ts_view_angles_check_directions(context, false);
    if (status != TS_OK)
        return status;
    const size_t bytes = (size_t)context->in.axes[1].n * sizeof(struct view_place);
    struct view_place *places = malloc(bytes);
    if (!places)
        return ts_diag_no_memory(context->diag, bytes);
    status = find_views(context, params, places);
    free(places);
    return status;
}

/* Places that are closer than this fraction of a detector pixel are the same. */
static const double same_place = 1e-6;

static enum ts_status stitch_resolve(const struct stage_context *context, void *values)
{
    struct stitch_params *params = values;
    const struct ts_axis *detector = &context->in.axes[2];
    if (ts_stage_needs_even(context) != TS_OK)
        return TS_BAD_CHAIN;
    if (!ts_param_given(context->set, "center"))
        params->center = ts_stage_axis_pixel(context);
    if (!ts_param_given(context->set, "detectors"))
        params->detectors = 2 * detector->n - 1;
    if (!(params->center >= 0 && params->center <= (double)(detector->n - 1)))
        return ts_param_error(context->set, "center", "center-outside", context->diag,
                              "%.6g is outside the detector, [0, %lld]", params->center,
                              (long long)detector->n - 1);
    if (params->detectors > 2 * detector->n - 1)
        return ts_param_error(context->set, "detectors", "detectors-empty", context->diag,
                              "%lld are more than two views of %lld detector pixels can fill, %lld",
                              (long long)params->detectors, (long long)detector->n,
                              (long long)(2 * detector->n - 1));
    return stitch_views(context, params);
}

static int64_t shift_of(const struct stitch_params *params)
{
    return (int64_t)floor(0.5 * (double)(params->detectors - 1) - params->center + 0.5);
}

static enum ts_status stitch_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct stitch_params *params = params_of(context);
    struct ts_axis *detector = &out->axes[2];
    ts_axis_cut(&out->axes[1], params->first, params->views);
    detector->n = params->detectors;
    detector->first = -(params->center + (double)shift_of(params)) * ts_axis_spacing(detector);
    out->dtype = TS_F32;
    return TS_OK;
}

/* ---- the samples of a row -------------------------------------------------------------------- */

/* The weights of four taps are those of R. G. Keys (1981). */
static void find_taps(struct stitch_grid *grid, double past,
                      enum stitch_interpolation interpolation)
{
    const double t = past, u = 1 - past;
    grid->taps = interpolation == STITCH_FOUR_TAPS ? 4 : 2;
    if (!(past > 0))
        grid->taps = 1;
    if (grid->taps == 4) {
        grid->tap[0] = (float)(-0.5 * t * u * u);
        grid->tap[1] = (float)(1 + t * t * (1.5 * t - 2.5));
        grid->tap[2] = (float)(1 + u * u * (1.5 * u - 2.5));
        grid->tap[3] = (float)(-0.5 * u * t * t);
    } else {
        grid->tap[0] = (float)u;
        grid->tap[1] = (float)t;
    }
}

struct stitch_grid ts_stitch_grid(const struct stage_context *context)
{
    const struct stitch_params *params = params_of(context);
    const double mirror = 2 * params->center, base = floor(mirror + same_place),
                 past = mirror - base > same_place ? mirror - base : 0;
    struct stitch_grid grid = {.n = context->in.axes[2].n,
                               .width = params->detectors,
                               .shift = shift_of(params),
                               .base = (int64_t)base,
                               .air = context->in.quantity == TS_TRANSMISSION ? 1 : 0};
    grid.first = grid.base - (grid.n - 1) + (past > 0);
    grid.end = grid.base + 1;
    find_taps(&grid, past, (enum stitch_interpolation)params->interpolation);
    return grid;
}

/* Returns the weight of a view, which rises from 0 at its end beside the axis to 1 at the end of
 * its opposite. */
static double weight_at(const struct stage_context *context, int64_t d)
{
    const struct stitch_params *params = params_of(context);
    const double last = (double)(context->in.axes[2].n - 1), c = params->center;
    const double from = 2 * c <= last ? (double)d : last - (double)d,
                 overlap = 2 * c <= last ? 2 * c : 2 * (last - c);
    const double way = overlap > 0 ? fmin(from / overlap, 1) : 0.5;
    return params->blend == STITCH_COSINE ? 0.5 - 0.5 * cos(M_PI * way) : way;
}

void ts_stitch_weights(const struct stage_context *context, float *weights)
{
    const struct stitch_grid grid = ts_stitch_grid(context);
    for (int64_t k = 0; k < grid.width; k++) {
        const int64_t d = k - grid.shift;
        const bool own = d >= 0 && d < grid.n, other = d >= grid.first && d < grid.end;
        weights[k] = own ? 1 : 0;
        if (own && other)
            weights[k] = (float)weight_at(context, d);
    }
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

/* Columns [first, end) of the result. */
struct columns {
    int64_t first, end;
};

/* Returns the columns of the result for detector pixels [from, to) of a view. */
static struct columns columns_of(const struct stitch_grid *grid, int64_t from, int64_t to)
{
    const int64_t first = from + grid->shift, end = to + grid->shift;
    struct columns columns = {ts_clamp(first, 0, grid->width),
                              end < grid->width ? end : grid->width};
    if (columns.end < columns.first)
        columns.end = columns.first;
    return columns;
}

/* Writes the samples of the opposite, mirrored. It reads row[-1], row[n] and row[n + 1], too. */
TS_VECTORIZED
static void mirror_row(const struct stitch_grid *grid, struct columns columns, const float *row,
                       float *out)
{
    const int64_t at = grid->base + grid->shift;
    const float *tap = grid->tap;
    if (grid->taps == 1)
        for (int64_t k = columns.first; k < columns.end; k++)
            out[k] = row[at - k];
    else if (grid->taps == 2)
        for (int64_t k = columns.first; k < columns.end; k++)
            out[k] = tap[0] * row[at - k] + tap[1] * row[at - k + 1];
    else
        for (int64_t k = columns.first; k < columns.end; k++)
            out[k] = tap[0] * row[at - k - 1] + tap[1] * row[at - k] + tap[2] * row[at - k + 1] +
                     tap[3] * row[at - k + 2];
}

TS_VECTORIZED
static void blend_row(const float *weights, const float *own, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = (1 - weights[i]) * out[i] + weights[i] * own[i];
}

TS_VECTORIZED
static void mix_rows(float *row, const float *other, float past, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        row[i] = (1 - past) * row[i] + past * other[i];
}

static void load_row(const struct ts_image *in, int64_t z, int64_t view, float *row)
{
    const int64_t n = in->axes[2].n;
    ts_load_f32(row,
                (const char *)ts_slice_data(in, z) + (size_t)(view * n) * ts_dtype_bytes(in->dtype),
                in->dtype, (size_t)n);
}

enum { SIDE = 16 }; /* floats on both sides of a row */

/* Writes a row of the result: the opposite first, then the view, blended where both have samples.
 * `rows` is scratch for two rows with their sides. */
static void join_views(const struct stitch_grid *grid, const struct stitch_opposite *opposite,
                       const float *weights, const struct ts_image *in, int64_t z, int64_t view,
                       float *out, float *rows)
{
    const int64_t n = grid->n;
    float *row = rows + SIDE, *other = row + n + SIDE;
    const struct columns own = columns_of(grid, 0, n),
                         mirrored = columns_of(grid, grid->first, grid->end);
    const struct columns both = {own.first > mirrored.first ? own.first : mirrored.first,
                                 own.end < mirrored.end ? own.end : mirrored.end};
    for (int64_t k = 0; k < grid->width; k++)
        out[k] = grid->air;
    load_row(in, z, opposite->view[0], row);
    if (opposite->past > 0) {
        load_row(in, z, opposite->view[1], other);
        mix_rows(row, other, opposite->past, n);
    }
    row[-1] = row[0];
    row[n] = row[n + 1] = row[n - 1];
    mirror_row(grid, mirrored, row, out);
    load_row(in, z, view, row);
    if (both.first >= both.end) {
        memcpy(out + own.first, row + own.first - grid->shift,
               (size_t)(own.end - own.first) * sizeof *out);
        return;
    }
    memcpy(out + own.first, row + own.first - grid->shift,
           (size_t)(both.first - own.first) * sizeof *out);
    blend_row(weights + both.first, row + both.first - grid->shift, out + both.first,
              both.end - both.first);
    memcpy(out + both.end, row + both.end - grid->shift,
           (size_t)(own.end - both.end) * sizeof *out);
}

struct scratch {
    struct stitch_opposite *opposites;
    float *weights, *rows;     /* rows: two for each thread */
    int64_t own;               /* floats from one thread's rows to the next's */
    struct view_place *places; /* uses the memory of the rows before they do */
};

static struct scratch lay_out(const struct stage_context *context, struct memory_layout *layout)
{
    const struct stitch_params *params = params_of(context);
    struct scratch scratch = {.own = (2 * context->in.axes[2].n + 3 * SIDE + 15) / 16 * 16};
    const size_t rows = (size_t)(context->threads * scratch.own) * sizeof(float),
                 places = (size_t)context->in.axes[1].n * sizeof(struct view_place);
    scratch.opposites = ts_layout_add(layout, (size_t)params->views * sizeof *scratch.opposites);
    scratch.weights = ts_layout_add(layout, (size_t)params->detectors * sizeof *scratch.weights);
    scratch.rows = ts_layout_add(layout, rows > places ? rows : places);
    scratch.places = (struct view_place *)scratch.rows;
    return scratch;
}

static size_t scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    (void)n;
    lay_out(context, &layout);
    return layout.bytes;
}

static enum ts_status stitch_map(const struct stage_context *context, const struct ts_image *in,
                                 struct ts_image *out, void *buffer)
{
    const struct stitch_grid grid = ts_stitch_grid(context);
    const int64_t views = out->axes[1].n, n_rows = out->axes[0].n * views;
    struct memory_layout layout = {.base = buffer};
    const struct scratch scratch = lay_out(context, &layout);
    ts_stitch_opposites(context, scratch.opposites, scratch.places);
    ts_stitch_weights(context, scratch.weights);
#pragma omp parallel for schedule(static) num_threads(context->threads)
    for (int64_t i = 0; i < n_rows; i++)
        join_views(&grid, &scratch.opposites[i % views], scratch.weights, in, i / views,
                   params_of(context)->first + i % views, (float *)out->data + i * grid.width,
                   scratch.rows + omp_get_thread_num() * scratch.own);
    return TS_OK;
}

/* ---- table ----------------------------------------------------------------------------------- */

static const struct choice blends[] = {
    {"linear", STITCH_LINEAR, "by the distance from the end of the view that is near the axis"},
    {"cosine", STITCH_COSINE, "(1 - cos(pi t)) / 2 of that weight t: flat at both ends"},
    {0},
};

static const struct choice interpolations[] = {
    {"linear", STITCH_TWO_TAPS, "between two detector pixels"},
    {"cubic", STITCH_FOUR_TAPS, "of four detector pixels, by R. G. Keys (1981): sharper"},
    {0},
};

static const struct choice betweens[] = {
    {"few", STITCH_FEW,
     "as interpolate if at most one view in 10 needs it, as when views are lost; else an error"},
    {"refuse", STITCH_REFUSE, "an error"},
    {"interpolate", STITCH_INTERPOLATE,
     "linear interpolation of the two views beside it, which smooths far from the axis"},
    {0},
};

static const struct param stitch_params[] = {
    PARAM(struct stitch_params, center, .rotation_axis = true, .unit = "detector", .min = -1e6,
          .max = 2e6, .derived = "where the sinogram's detector axis is 0",
          .doc = "detector index of the rotation axis"),
    PARAM(struct stitch_params, detectors, .unit = "detector", .min = 1, .max = 1 << 21,
          .derived = "2 n - 1 of n detector pixels, which holds all views of an axis anywhere",
          .doc = "detector pixels of the result, the rotation axis within half a detector pixel of "
                 "their middle"),
    PARAM(struct stitch_params, blend, .choices = blends, .init.choice = STITCH_LINEAR,
          .doc = "how the weight of a view rises from 0 to 1 over the detector pixels that its "
                 "opposite sees as well"),
    PARAM(struct stitch_params, interpolation, .choices = interpolations,
          .init.choice = STITCH_TWO_TAPS,
          .doc = "of opposites, whose detector pixels are between those of the views if 2 center "
                 "is no whole number"),
    PARAM(struct stitch_params, between, .choices = betweens, .init.choice = STITCH_FEW,
          .doc = "what is done about a view whose opposite is between two views: lost views, odd "
                 "numbers of views over a turn, angles that are not even"),
};

const struct stage stitch_stage = {
    .name = "stitch",
    .traits = TRAIT_NEW_DETECTOR,
    .summary = "join opposite views of a whole turn whose axis is near the detector's edge: half a "
               "turn, twice as wide",
    .doc = "Half acquisition, also called extended field of view or a 360-degree scan with an "
           "offset axis: over a whole turn a detector beside the rotation axis sees an object "
           "nearly twice as wide as itself. The view at theta + 180 degrees is the view at theta "
           "mirrored about the axis, `p(theta + 180, s) = p(theta, -s)`. Each view of the first "
           "half turn is continued by its opposite beyond the end that is near the axis; views "
           "that both see the object are blended there, so that no seam is left. The result is a "
           "scan of half a turn, of `2 (n - 1 - c) + 1` detector pixels that see something for an "
           "axis at detector pixel c in the first half of n, which every reconstruction takes; "
           "`sino_360_to_180` of TomoPy and `convert_sinogram_360_to_180` of Algotom do the same. "
           "Without it `fbp` and `fourier` are wrong beyond the circle that all views see.\n\n"
           "    stages:\n"
           "      - flat_field: {flats: flats, darks: darks}\n"
           "      - minus_log: {}\n"
           "      - center: {method: overlap}\n"
           "      - stitch: {}\n"
           "      - fbp: {}\n\n"
           "Line integrals are what should be blended: `minus_log` before it. Transmissions are "
           "taken too. The detector pixels of the result have the places of those of the first "
           "half turn, and samples that no opposite sees are theirs, bit for bit. If 2 c is a "
           "whole number, those of opposites are copied as well; else they are interpolated. "
           "Detector pixels beyond what either view sees hold air, 0, or 1 of transmissions; if "
           "the object reaches that far, give `detectors` as many as see something. The axis may "
           "be near either end; in the middle of the detector both views see all and the result is "
           "their weighted mean, no wider.\n\n"
           "Views go one way, rising or falling, from any angle on, over a whole turn at least; "
           "those of the first half turn are kept, with their angles. An opposite is a view within "
           "a tenth of a step of theta + 180 degrees, modulo 360. Of 361 views from 0 to 360 "
           "degrees the first 180 are kept, and the last, as every view that is no opposite, plays "
           "no part. An odd number of views over a turn has its opposites between views: an error, "
           "unless `between` is `interpolate`. The opposites of a few lost views are interpolated. "
           "If more than one in a row are lost in the second half turn, at most 18 degrees, the "
           "result is the half turn that ends with them, which lacks them, and a warning "
           "(`views-lost`) says so.\n\n"
           "A value that is NaN or infinite reaches the samples that are made of it.\n\n"
           "Cost: each view is read once, each sample written once.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_LINE_INTEGRAL) | TS_QUANTITY_BIT(TS_TRANSMISSION),
                          TS_BEAM_BIT(TS_BEAM_PARALLEL)),
    .quantity_hints =
        {[TS_COUNTS] =
             "`flat_field`, or `air` without flats, and then `minus_log` make line integrals",
         [TS_INTENSITY] =
             ("where the values are line integrals, say `quantity: line_integral` at the input")},
    STAGE_PARAMS(stitch_params, struct stitch_params),
    .resolve = stitch_resolve,
    .shape = stitch_shape,
    .scratch_bytes = scratch_bytes,
    .map = stitch_map,
    .cuda = STAGE_CUDA(stitch_cuda),
    .bench = "scan=half-acquisition between=interpolate|scan=half-acquisition between=interpolate "
             "interpolation=cubic",
    .tolerance = {.relative = 2e-6,
                  .why = "weights are rounded to float, and up to 8 products summed in float"},
};
