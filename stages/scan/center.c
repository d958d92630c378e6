/* SPDX-License-Identifier: Apache-2.0
 *
 * center: the rotation axis on the detector, as an index c from 0 with pixel centers at whole
 * numbers. The image passes on unchanged; its detector axis begins at -c * spacing, so that the
 * rotation axis is at position 0 for all later stages.
 *
 * One slice is computed before all others. finish() searches it (stages/scan/center_slice.h) and
 * draws trial centers, in host memory on every device: that takes a few transforms, once a run.
 */
#include "stages/scan/center.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clamp.h"
#include "core/memory.h"
#include "core/search.h"
#include "stages/engine/distances.h"
#include "stages/engine/stage.h"
#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"
#include "stages/scan/center_strip.h"

/* Method sinogram completes half a turn with its own mirror image, so that it needs half a turn of
 * views; if they are not in even steps it interpolates between neighbors, which must not be far
 * apart. Method opposite needs one pair of views half a turn apart, and overlap needs an opposite
 * for every view. An error names the method that could search these views instead, if there is
 * one. */

enum { LEAST_HALF = 4 }; /* least views of half a turn */

static const char by_mass[] =
    "`method: mass` finds it if the detector sees the whole object in all views; else center: "
    "NUMBER gives it, and strip: true with it draws slices for centers around it";

/* Returns how many pairs of opposite views there are, as ts_center_pairs() counts them. */
static int center_views_opposites(const struct stage_context *context)
{
    struct center_pairs pairs;
    return ts_center_pairs(&context->in.axes[1], &pairs);
}

/* Refuses half a turn of views with a gap that is too wide. */
static enum ts_status check_gap(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    const size_t bytes = (size_t)views->n * sizeof(struct view_place);
    struct view_place *places = malloc(bytes);
    double most;
    if (!places)
        return ts_diag_no_memory(context->diag, bytes);
    const double gap = ts_center_gap(views, places, &most);
    free(places);
    if (gap <= most)
        return TS_OK;
    ts_param_error(
        context->set, "method", "views-uneven", context->diag,
        "'sinogram' needs views at most %.4g degrees apart here, and two neighbors are %.4g apart",
        most, gap);
    return ts_diag_hint(context->diag, "%s",
                        center_views_opposites(context) > 0 ? "use method: opposite" : by_mass);
}

/* Checks the arc that the views cover, which includes the step from each direction to the next.
 * Views may be repeated. */
static enum ts_status center_views_check_arc(const struct stage_context *context)
{
    const struct ts_axis *views = &context->in.axes[1];
    const int64_t half_turn = ts_center_half_turn(views);
    const size_t bytes = (size_t)views->n * sizeof(struct view_place);
    struct view_place *places = malloc(bytes);
    if (!places)
        return ts_diag_no_memory(context->diag, bytes);
    const int64_t directions = ts_view_directions(views, places);
    free(places);
    const double length = ts_view_arc(views).length;
    const int64_t steps = (length < 180 ? directions : views->n) - 1;
    const double step = length / (double)(steps > 1 ? steps : 1), arc = length + step;
    if (directions >= LEAST_HALF && half_turn <= views->n && half_turn >= LEAST_HALF &&
        3 * half_turn * step >= 180)
        return TS_OK;
    if (directions < LEAST_HALF && length >= 90)
        ts_param_error(context->set, "method", "views-arc", context->diag,
                       "'sinogram' needs views in %d directions over 180 degrees at least, and "
                       "these %lld look in %lld only (modulo 180)",
                       LEAST_HALF, (long long)views->n, (long long)directions);
    else
        ts_param_error(context->set, "method", "views-arc", context->diag,
                       "'sinogram' needs views over 180 degrees, and these cover %g", arc);
    return ts_diag_hint(context->diag, "%s", by_mass);
}

/* Check the views for the methods sinogram (errors views-uneven, views-arc), opposite
 * (views-opposite) and overlap (views-turn). For resolve(). */
static enum ts_status center_views_check_half_turn(const struct stage_context *context)
{
    const enum ts_status status = center_views_check_arc(context);
    if (status != TS_OK || ts_center_views_are_even(&context->in.axes[1]))
        return status;
    return check_gap(context);
}

static enum ts_status center_views_check_opposite(const struct stage_context *context)
{
    if (center_views_opposites(context) > 0)
        return TS_OK;
    ts_param_error(context->set, "method", "views-opposite", context->diag,
                   "'opposite' needs two views half a turn apart, within a step of the views, and "
                   "there are none");
    return ts_diag_hint(context->diag, "%s", by_mass);
}

static enum ts_status center_views_check_overlap(const struct stage_context *context)
{
    const int64_t n = context->in.axes[1].n,
                  lacking = ts_center_overlap_lacks(&context->in.axes[1]);
    if (lacking * 10 <= n) /* only a few views are lost */
        return TS_OK;
    ts_param_error(context->set, "method", "views-turn", context->diag,
                   "'overlap' needs a whole turn, and %lld of %lld views have no opposite",
                   (long long)lacking, (long long)n);
    return ts_diag_hint(
        context->diag,
        "if the detector sees the whole object, method: sinogram or opposite; else center: NUMBER");
}

enum { LEAST_VIEWS = 8, LEAST_DETECTORS = 8, STRIP_SIZE = 256 };

static const struct choice method_choices[] = {
    {"auto", CENTER_AUTO, "given where `center` is, else sinogram"},
    {"sinogram", CENTER_SINOGRAM,
     "half a turn is completed with its own mirror image; the right center leaves the least "
     "outside of the double wedge of the Fourier transform (N. T. Vo and others, 2014)"},
    {"opposite", CENTER_OPPOSITE,
     "correlates views that are half a turn apart, one of them mirrored"},
    {"overlap", CENTER_OVERLAP,
     "of a whole turn whose axis may be near an end of the detector (half acquisition): all views, "
     "and how well what they and their opposites both see agrees"},
    {"mass", CENTER_MASS,
     "fits a sine to the centers of mass of the views, at any angles; the detector has to see the "
     "whole object"},
    {"given", CENTER_GIVEN, "the value of `center`"},
    {NULL, 0, NULL},
};

static const struct choice truncated_choices[] = {
    {"auto", TRUNCATED_AUTO,
     "keep, unless `method` is auto and there are 8 pairs of opposite views, or fewer that deviate "
     "less than the two centers differ and less than that of sinogram may be off; of half "
     "acquisition, that of overlap"},
    {"opposite", TRUNCATED_OPPOSITE,
     "the center that `method: opposite` finds takes the place of that of sinogram"},
    {"keep", TRUNCATED_KEEP, "the center stays the one that `method` finds"},
    {NULL, 0, NULL},
};

static const struct choice convention_choices[] = {
    {"pixel", CENTER_OF_PIXEL,
     "an index, pixel centers are whole numbers: TomoPy, HTTomo, LEAP, scikit-image (whose axis is "
     "n // 2)"},
    {"tomopy", CENTER_OF_PIXEL, "= pixel", .alias = true},
    {"httomo", CENTER_OF_PIXEL, "= pixel", .alias = true},
    {"leap", CENTER_OF_PIXEL, "= pixel", .alias = true},
    {"skimage", CENTER_OF_PIXEL, "= pixel", .alias = true},
    {"edge", CENTER_OF_EDGE,
     "edges of pixels are whole numbers, the index is half less: UFO and tofu"},
    {"ufo", CENTER_OF_EDGE, "= edge", .alias = true},
    {"tofu", CENTER_OF_EDGE, "= edge", .alias = true},
    {"offset", CENTER_OF_MIDDLE,
     "detector pixels from the middle of the row to the axis: the index is (n - 1) / 2 more"},
    {"shift", CENTER_OF_SHIFT,
     "detector pixels by which the detector is moved, as in ASTRA's geom_postalignment: minus "
     "`offset`"},
    {"astra", CENTER_OF_SHIFT, "= shift", .alias = true},
    {NULL, 0, NULL},
};

static const struct param center_params[] = {
    PARAM(struct center_params, method, .choices = method_choices, .init.choice = CENTER_AUTO,
          .doc = "where the center comes from"),
    PARAM(struct center_params, center, .rotation_axis = true, .unit = "detector", .min = -1e6,
          .max = 1e6, .derived = "found while the chain runs: see the tables",
          .doc = "index of the detector pixel, from 0, that sees the rotation axis; pixel centers "
                 "are whole numbers"),
    PARAM(struct center_params, convention, .choices = convention_choices,
          .init.choice = CENTER_OF_PIXEL,
          .doc = "whose number `center` is; the result's record holds the index of the pixel in "
                 "its place"),
    PARAM(struct center_params, slice, .unit = "", .min = 0, .max = 1e9,
          .derived = "the middle: (nz - 1) / 2",
          .doc = "the slice (detector row) that is searched, from 0"),
    PARAM(struct center_params, search, .unit = "detector", .min = 1, .max = 1e6,
          .derived = "a quarter of the detector pixels; of overlap nearly half of them",
          .doc = "how far from the middle of the detector row, (n - 1) / 2, on both sides"),
    PARAM(struct center_params, truncated, .choices = truncated_choices,
          .init.choice = TRUNCATED_AUTO,
          .doc = "what method sinogram does about a slice whose object the detector cuts off; with "
                 "auto, opposite views of a whole turn always take part"),
    PARAM(struct center_params, strip, .init.b = false,
          .doc = "whether a picture of the slice, reconstructed about trial centers side by side, "
                 "is saved: a table"),
    PARAM(struct center_params, strip_sides, .unit = "", .min = 1, .max = STRIP_MOST_SIDES,
          .init.i = 3, .doc = "trial centers in the strip on each side of the center"),
    PARAM(struct center_params, strip_step, .unit = "detector", .min = 0.01, .max = 1000,
          .init.r = 1, .doc = "between neighboring trial centers in the strip"),
    PARAM(struct center_params, strip_size, .unit = "pixel", .min = STRIP_LEAST_SIZE,
          .max = STRIP_MOST_SIZE, .derived = "the number of detector pixels, from 64 to 256",
          .doc = "side of a tile of the strip, about the rotation axis; a pixel is as wide as a "
                 "detector pixel"),
};

STAGE_PARAMS_OF(center_params)

/* Returns true if the center is searched. */
static bool finds(const struct stage_context *context)
{
    return params_of(context)->method != CENTER_GIVEN;
}

/* Returns true if the slice is needed for the search or for the picture. */
static bool looks(const struct stage_context *context)
{
    return finds(context) || params_of(context)->strip;
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* If half a turn has views at odd steps, no two of them may be close enough to opposite. */
static enum ts_status resolve_sinogram(const struct stage_context *context,
                                       struct center_params *params, bool automatic)
{
    const enum ts_status status = center_views_check_half_turn(context);
    if (status != TS_OK || params->truncated == TRUNCATED_KEEP)
        return status;
    if (params->truncated == TRUNCATED_OPPOSITE)
        return center_views_check_opposite(context);
    const bool asked =
        automatic || ts_param_given(context->set, "truncated"); /* the chain of a result has both */
    if (!asked || center_views_opposites(context) == 0)
        params->truncated = TRUNCATED_KEEP;
    return TS_OK;
}

static enum ts_status resolve_search(const struct stage_context *context,
                                     struct center_params *params, bool automatic)
{
    const int64_t n = context->in.axes[2].n;
    if (ts_views_need_angles(context) != TS_OK)
        return TS_BAD_CHAIN;
    if (context->in.axes[1].n < LEAST_VIEWS || n < LEAST_DETECTORS)
        return ts_param_error(context->set, "method", "center-small", context->diag,
                              "a center is searched in at least %d views of %d detector pixels, "
                              "and these are %lld of %lld",
                              LEAST_VIEWS, LEAST_DETECTORS, (long long)context->in.axes[1].n,
                              (long long)n);
    if (params->method == CENTER_MASS)
        return TS_OK;
    if (!ts_param_given(context->set, "search"))
        params->search =
            params->method == CENTER_OVERLAP ? ts_center_overlap_search(n) : ts_center_quarter(n);
    if (params->search > 0.5 * (double)n - 2)
        return ts_param_error(
            context->set, "search", "search-outside", context->diag,
            "%g detector pixels from the middle leave less than two that overlap; %g is the most",
            params->search, 0.5 * (double)n - 2);
    if (params->method == CENTER_OVERLAP)
        return center_views_check_overlap(context);
    return params->method == CENTER_SINOGRAM ? resolve_sinogram(context, params, automatic)
                                             : center_views_check_opposite(context);
}

/* Converts the user's convention to an index, which is what is recorded. */
static enum ts_status resolve_given(const struct stage_context *context,
                                    struct center_params *params)
{
    const int64_t n = context->in.axes[2].n;
    const double given = params->center, middle = 0.5 * (double)(n - 1);
    const int32_t convention = params->convention;
    if (!ts_param_given(context->set, "center"))
        return ts_param_error(context->set, "center", "center-missing", context->diag,
                              "is needed with method: given");
    params->convention = CENTER_OF_PIXEL;
    if (convention == CENTER_OF_EDGE)
        params->center = given - 0.5;
    else if (convention == CENTER_OF_MIDDLE)
        params->center = middle + given;
    else if (convention == CENTER_OF_SHIFT)
        params->center = middle - given;
    else
        params->center = given;
    if (params->center < 0 || params->center > (double)(n - 1))
        return ts_param_error(
            context->set, "center", "center-outside", context->diag,
            "%g%s%s is not on the detector, which has pixels 0 to %lld", given,
            convention == CENTER_OF_PIXEL ? "" : ", convention ",
            convention == CENTER_OF_PIXEL ? "" : ts_choice_name(convention_choices, convention),
            (long long)(n - 1));
    return TS_OK;
}

static enum ts_status refuse_unused(const struct stage_context *context, const char *name)
{
    const struct center_params *params = context->params;
    if (ts_param_given(context->set, name))
        return ts_param_error(context->set, name, "parameter-unused", context->diag,
                              "plays no part with method: %s",
                              ts_choice_name(method_choices, params->method));
    ts_param_idle(context->set, name);
    return TS_OK;
}

/* Resolves the slice and the strip. */
static enum ts_status resolve_slice(const struct stage_context *context,
                                    struct center_params *params)
{
    static const char *const strip_params[] = {"strip_sides", "strip_step", "strip_size"};
    const int64_t nz = context->in.axes[0].n, n = context->in.axes[2].n;
    if (params->strip && !ts_param_given(context->set, "strip_size"))
        params->strip_size = ts_clamp(n, STRIP_LEAST_SIZE, STRIP_SIZE);
    for (size_t i = 0; i < sizeof strip_params / sizeof *strip_params && !params->strip; i++) {
        if (ts_param_given(context->set, strip_params[i]))
            return ts_param_error(context->set, strip_params[i], "parameter-unused", context->diag,
                                  "plays no part without strip: true");
        ts_param_idle(context->set, strip_params[i]);
    }
    if (!looks(context))
        return refuse_unused(context, "slice");
    if (!ts_param_given(context->set, "slice"))
        params->slice = (nz - 1) / 2;
    return params->slice < nz
               ? TS_OK
               : ts_param_error(context->set, "slice", "slice-outside", context->diag,
                                "%lld is not a slice of the image, which has %lld",
                                (long long)params->slice, (long long)nz);
}

/* In a fan, views half a turn apart do not mirror each other. */
static enum ts_status refuse_fan(const struct stage_context *context,
                                 const struct center_params *params)
{
    ts_param_error(context->set, params->strip ? "strip" : "method", "center-beam", context->diag,
                   "a center is %s in parallel beams alone, and the beam is %s",
                   params->strip ? "shown" : "searched", ts_beam_name(context->in.beam.kind));
    return ts_diag_hint(context->diag, "give where the axis stands, such as center: {center: %g}",
                        0.5 * (double)(context->in.axes[2].n - 1));
}

static enum ts_status center_resolve(const struct stage_context *context, void *values)
{
    struct center_params *params = values;
    const bool automatic = params->method == CENTER_AUTO;
    if (automatic)
        params->method = ts_param_given(context->set, "center") ? CENTER_GIVEN : CENTER_SINOGRAM;
    if (ts_stage_needs_even(context) != TS_OK)
        return TS_BAD_CHAIN;
    if (context->in.beam.kind != TS_BEAM_PARALLEL && (finds(context) || params->strip))
        return refuse_fan(context, params);
    enum ts_status status = refuse_unused(context, finds(context) ? "center" : "search");
    if (status == TS_OK && finds(context))
        status = refuse_unused(context, "convention");
    if (status == TS_OK && params->method == CENTER_MASS)
        status = refuse_unused(context, "search");
    if (status == TS_OK && params->method != CENTER_SINOGRAM)
        status = refuse_unused(context, "truncated");
    if (status == TS_OK)
        status = resolve_slice(context, params);
    if (status != TS_OK)
        return status;
    return finds(context) ? resolve_search(context, params, automatic)
                          : resolve_given(context, params);
}

/* ---- reduction ------------------------------------------------------------------------------- */

struct center_result {
    double center;
    double padding[7];
}; /* the scratch of the search and the strip follows */

static size_t partial_bytes(const struct stage_context *context, int input)
{
    return input == 0 && looks(context)
               ? sizeof(struct center_sinogram) + ts_slice_count(&context->in) * sizeof(float)
               : 0;
}

static bool looks_at(const struct stage_context *context, int64_t *first, int64_t *end)
{
    *first = params_of(context)->slice;
    *end = *first + 1;
    return true;
}

static void center_reduce(const struct stage_context *context, int input,
                          const struct ts_image *slices, void *partial)
{
    const int64_t slice = params_of(context)->slice - slices->z_first;
    struct center_sinogram *sinogram = partial;
    (void)input;
    sinogram->there = slice >= 0 && slice < slices->axes[0].n;
    if (sinogram->there)
        ts_load_f32((float *)(sinogram + 1), ts_slice_data(slices, slice), slices->dtype,
                    ts_slice_count(slices));
}

static void center_merge(const struct stage_context *context, int input, void *into,
                         const void *from)
{
    if (((const struct center_sinogram *)from)->there)
        memcpy(into, from, partial_bytes(context, input));
}

static struct center_strip strip_of(const struct stage_context *context)
{
    const struct center_params *params = params_of(context);
    return (struct center_strip){.views = &context->in.axes[1],
                                 .n_detectors = context->in.axes[2].n,
                                 .sides = params->strip_sides,
                                 .size = params->strip_size,
                                 .step = params->strip_step,
                                 .threads = context->threads};
}

enum { TRANSFORM_SEARCH, TRANSFORM_STRIP }; /* without a search, that of the strip is the first */

static int transforms(const struct stage_context *context,
                      struct fft_shape shapes[STAGE_TRANSFORMS])
{
    int n = 0;
    if (params_of(context)->method == CENTER_SINOGRAM)
        shapes[n++] =
            ts_center_transform(ts_center_half_turn(&context->in.axes[1]), context->in.axes[2].n);
    if (params_of(context)->strip) {
        const struct center_strip strip = strip_of(context);
        shapes[n++] = ts_center_strip_transform(&strip);
    }
    return n;
}

/* Search and strip use the same scratch, one after the other. */
static size_t result_bytes(const struct stage_context *context)
{
    const struct center_strip strip = strip_of(context);
    const size_t search = finds(context) ? ts_center_slice_scratch_bytes(context) : 0;
    const size_t drawing = params_of(context)->strip ? ts_center_strip_scratch_bytes(&strip) : 0;
    return sizeof(struct center_result) + (search > drawing ? search : drawing);
}

/* Without a search, the strip's two tables are the first. */
static int center_tables(const struct stage_context *context,
                         struct stage_table tables[STAGE_TABLES])
{
    int n = 0;
    if (finds(context)) {
        ts_center_slice_tables(params_of(context), tables);
        n += SEARCH_TABLES;
    }
    if (params_of(context)->strip) {
        const struct center_strip strip = strip_of(context);
        ts_center_strip_tables(&strip, tables + n);
        n += STRIP_TABLES;
    }
    return n;
}

static enum ts_status center_finish(const struct stage_context *context, const void *const totals[],
                                    void *result, const struct ts_image *tables)
{
    const struct center_params *params = params_of(context);
    struct center_result *found = result;
    const bool transformed = params->method == CENTER_SINOGRAM;
    const struct center_slice slice = {
        .context = context,
        .sinogram = (const float *)((const struct center_sinogram *)totals[0] + 1),
        .fft = transformed ? context->transforms[TRANSFORM_SEARCH] : NULL,
        .scratch = found + 1};
    enum ts_status status = ts_center_slice_check(&slice);
    found->center = params->center;
    if (status == TS_OK && finds(context))
        status = ts_center_slice_search(&slice, tables, &found->center);
    if (status == TS_OK && params->strip) {
        const struct center_strip strip = strip_of(context);
        const struct ts_image *own = tables + (finds(context) ? SEARCH_TABLES : 0);
        ts_center_strip_draw(&strip, slice.sinogram, found->center,
                             context->transforms[transformed ? TRANSFORM_STRIP : 0], slice.scratch,
                             own[TABLE_STRIP].data, own[TABLE_STRIP_CENTERS].data);
    }
    return status;
}

static void recall(const struct stage_context *context, const struct stage_table *tables,
                   void *result)
{
    struct center_result *found = result;
    found->center = finds(context) ? *(const double *)tables[TABLE_CENTER].image.data
                                   : params_of(context)->center;
}

static enum ts_status center_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct center_result *found = context->result;
    if (!finds(context) || found)
        out->axes[2].first =
            -(found ? found->center : params_of(context)->center) * out->axes[2].spacing;
    return TS_OK;
}

static const struct stage_reduction reduction = {
    .exact = true,
    .finds_axes = true,
    .recall = recall,
    .partial_bytes = partial_bytes,
    .looks_at = looks_at,
    .reduce = center_reduce,
    .merge = center_merge,
    .result_bytes = result_bytes,
    .finish = center_finish,
    .tables = center_tables,
};

const struct stage center_stage = {
    .name = "center",
    .summary = "find the rotation axis on the detector, or set it; the image passes on",
    .doc =
        "The center c is the index of the detector pixel, from 0 and between pixels too, that the "
        "rotation axis is projected to: `p(theta + 180, d) = p(theta, 2 c - d)`. The sinogram "
        "passes on unchanged but for its detector axis, which begins at `-c * spacing`; every "
        "later stage takes the rotation axis from there. Without this stage it is the middle of "
        "the row, (n - 1) / 2. Of a fan the center can be given, not searched.\n\n"
        "`sinogram` completes half a turn with its own mirror image about every trial center and "
        "measures what the Fourier transform holds outside of the double wedge, where that of an "
        "object is almost empty (N. T. Vo, M. Drakopoulos, R. C. Atwood, C. Reinhard, 2014). "
        "Around the best trial the most likely center is fitted to the same values, with the "
        "variance of each range of frequencies as unknown. Angles may be as recorded: views that "
        "are not in even steps are interpolated between their neighbors, over 3.5 steps or 5 "
        "degrees at most, in any order, and may go on from 359 to 0. `opposite` correlates up to "
        "16 pairs of views that are "
        "half a turn apart, one of them mirrored, in half pixels and a parabola; then up to 256 "
        "pairs are fitted. An opposite between two views, as of a whole turn of an odd number of "
        "views, is interpolated: it is on the same side of all of them, which would move the "
        "center. If the nearest pairs are not quite half a turn apart, by a step of the views at "
        "most, such as the first and last view of 180 degrees without the end point, the motion "
        "between neighbors makes up for the rest. `mass` fits `c + a cos(theta) + b sin(theta)` to "
        "the centers of mass of the views: for any angles, also of less than half a turn, if the "
        "detector sees the whole object in all views.\n\n"
        "With `method: auto` opposite views are compared beside the sinogram if there are 8 pairs, "
        "as in a whole turn. All views take part in them, and of noise less is left. Their center "
        "is taken if it is less uncertain, or if the two differ by more than 3 times what both may "
        "be off: then a warning names the other one, unless the center of mass agrees.\n\n"
        "Stripes and dead columns are taken out of what is searched, not of the image: they mirror "
        "themselves about the middle of the detector. Only the measure of `overlap` takes the "
        "slice as it is.\n\n"
        "The table `error` says in detector pixels how far the center may be off: nine of ten axes "
        "are within it, the noise of few flats included, which is the same in all views. In "
        "simulated scans with up to 10 % noise and stripes, centers are off by "
        "0.01 to 0.05 detector pixels at the median and 0.8 at most if the detector sees the whole "
        "object, and by 0.11 and 12.9 if it cuts a quarter off (docs/notes/center.md).\n\n"
        "`overlap` is for half acquisition, where `sinogram` fails: a whole turn with the axis "
        "anywhere on the detector. Of each trial center, in half pixels over nearly the whole "
        "detector and a parabola, it takes what up to 256 views and their opposites, mirrored, "
        "both see, and how well they agree in value: L. I. Lin's concordance (1989) of all these "
        "samples together. Overlaps on both sides are compared so by N. T. Vo, R. C. Atwood, M. "
        "Drakopoulos and T. Connolley (2021). Then `stitch` joins the views. `auto` searches so if "
        "the object leaves the detector at one end of a whole turn twice as far as at the other, "
        "and `search` is not below its default; if that finds nothing, a warning says which end, "
        "without a center.\n\n"
        "One slice is searched: choose one with an object that has edges, away from its top and "
        "bottom. Counts, transmissions and line integrals will do; line integrals do best. The "
        "tables give the center, its error, a confidence, the confidence that pure noise may "
        "reach, and the measure of every trial center. A confidence that is not above that of "
        "noise is warned of, and so are views that are all the same, and a center with a rival: "
        "another minimum that is within noise of the best, 3 detector pixels or more away. The "
        "measure of `sinogram` is the same for c and c + n / 2, for n detector pixels. If the "
        "detector sees the whole object the center of mass tells which is right; then the center "
        "may be outside of a `search` that was not given, and of one that was given a warning "
        "names both. A slice of one value, with NaN or infinite values, or whose best trial is the "
        "outermost ends the run. If five slices of line integrals see the axis elsewhere, a run "
        "says that it leans (`center-leans`), with a reconstruction behind it or without.\n\n"
        "If the detector cuts off the object, as in scans of a region of interest, the two halves "
        "of a turn see different parts of it. A warning says so if an end of the row sees more "
        "than a tenth of the most that is seen anywhere, and more than noise (of counts and "
        "intensities, whose value in "
        "air is not known: if it changes with the views by more than a tenth of the largest such "
        "change, which does not show in a round object). Then `sinogram` fits within a window "
        "about the center, without what is the same in all views, and opposite views are compared "
        "too. With `method: auto` the center is that of opposite views if there are 8 pairs, as in "
        "a whole turn. Fewer pairs overrule only if their spread is below the difference and their "
        "error below that of `sinogram`, or if `sinogram` finds none; `truncated` chooses "
        "otherwise. The warning names both centers. Tables have the shares of both ends, and the "
        "centers that the methods find. Of strips of 120 to 220 of 640 detector pixels of a tooth "
        "whose axis is at 295.9 the centers are off by 0.3 to 0.4.\n\n"
        "`strip: true` adds a picture to the tables: the slice reconstructed about 2 strip_sides + "
        "1 trial centers around the one found or given, side by side, each under its center. With "
        "a wrong center edges are doubled and points become arcs. It is an image of its own in the "
        "file, `/entry/process_<k>_center/tables/strip`, and `tomostage preview FILE.h5 --dataset "
        "PATH -o centers.png` makes a PNG of it. To look around a guess: `center: {center: 512, "
        "strip: true, strip_step: 4}`.\n\n"
        "Cost: that slice is computed before all others, and one search, which runs on the CPU "
        "whatever the device.",
    STAGE_TAKES_SINOGRAMS(TS_QUANTITY_BIT(TS_COUNTS) | TS_QUANTITY_BIT(TS_TRANSMISSION) |
                              TS_QUANTITY_BIT(TS_LINE_INTEGRAL) | TS_QUANTITY_BIT(TS_INTENSITY),
                          TS_ANY_BEAM),
    STAGE_PARAMS(center_params, struct center_params),
    .resolve = center_resolve,
    .shape = center_shape,
    .reduction = &reduction,
    .transforms = transforms,
    .cuda = STAGE_CUDA(center_cuda),
    .tolerance = {.why = "the search is the same code on all devices"},
    .bench = "method=sinogram|method=opposite|method=mass|method=overlap "
             "scan=half-acquisition|method=given center=7",
};
