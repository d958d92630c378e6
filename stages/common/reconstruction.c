/* SPDX-License-Identifier: Apache-2.0
 *
 * From a sinogram's axes to those of a volume, what is refused, and filtering and backprojection one after the other.
 * The volume lies about the rotation axis as the one that `radon` projects does: with rows falling and columns rising
 * along the image's directions, its center in the sinogram's origin.
 */
#include "stages/common/reconstruction.h"

#include <math.h>
#include <stdlib.h>

#include "stages/common/backprojection.h"

enum { STACK_FROM_SLICES = 16 }; /* fewer leave too many lanes of a CUDA device idle */
/* Neighboring views may stand so many times further apart than on the average. */
static const double widest_gap = 4;

const struct choice ts_back_method_choices[] = {
    {"auto", BACK_METHOD_AUTO, "lanes on the CPU; on a CUDA device pixel for fewer than 16 slices, else stack"},
    {"lanes", BACK_METHOD_LANES, "16 slices side by side; a few views at a time stay in the cache", ON_CPU},
    {"pixel", BACK_METHOD_PIXEL, "one thread a pixel of a slice goes through all views", ON_CUDA},
    {"stack", BACK_METHOD_STACK, "128 slices side by side, 4 pixels a thread share their detectors", ON_CUDA},
    {0},
};

const struct choice ts_view_gaps_choices[] = {
    {"refuse", VIEW_GAPS_REFUSE, "an error: no filter makes up for views that are missing"},
    {"accept", VIEW_GAPS_ACCEPT, "the views beside a gap stand for it; expect streaks"},
    {0},
};

double ts_view_degree(const struct ts_axis *axis, int64_t v)
{
    return axis->positions ? axis->positions[v] : axis->first + (double)v * axis->spacing;
}

static double spacing_of(const struct ts_axis *axis)
{
    return axis->spacing > 0 ? axis->spacing : 1;
}

/* ---- resolving --------------------------------------------------------------------------------- */

static enum ts_status refuse_gap(const struct stage_context *context, const double *degrees, const struct view_gap *gap,
                                 double usual)
{
    const int64_t n = context->in.axes[1].n;
    double low = INFINITY, high = -INFINITY;
    for (int64_t v = 0; v < n; v++) {
        low = fmin(low, degrees[v]);
        high = fmax(high, degrees[v]);
    }
    if (n > 8 && high - low > 0.9 * M_PI && high - low < 2.1 * M_PI)
        return ts_param_error(context->set, "gaps", "angles-in-radians", context->diag,
                              "all %lld angles lie between %.6g and %.6g degrees, which looks like half a turn or a "
                              "turn in radians",
                              (long long)n, low, high);
    ts_param_error(context->set, "gaps", "angles-missing", context->diag,
                   "no view lies between view %lld at %.6g and view %lld at %.6g degrees (modulo 180): a gap of %.6g "
                   "degrees, and at most %.6g were expected",
                   (long long)gap->before, degrees[gap->before], (long long)gap->after, degrees[gap->after],
                   gap->degrees, usual);
    ts_diag_hint(context->diag, "gaps=accept reconstructs from what is there");
    return TS_BAD_CHAIN;
}

static enum ts_status check_gaps(const struct stage_context *context)
{
    const struct ts_axis *axis = &context->in.axes[1];
    const size_t bytes = (size_t)axis->n * (sizeof(double) + sizeof(int64_t));
    double *degrees = malloc(bytes);
    if (!degrees)
        return ts_diag_no_memory(context->diag, bytes);
    for (int64_t v = 0; v < axis->n; v++)
        degrees[v] = ts_view_degree(axis, v);
    const struct view_gap gap = ts_view_gap(degrees, axis->n, (int64_t *)(degrees + axis->n));
    const double usual = widest_gap * 180 / (double)gap.directions;
    const enum ts_status status = gap.degrees <= usual ? TS_OK : refuse_gap(context, degrees, &gap, usual);
    free(degrees);
    return status;
}

static enum ts_status check_geometry(const struct stage_context *context, const struct reconstruction_params *params)
{
    const struct ts_axis *detector = &context->in.axes[2];
    const double extent = (double)params->rows * params->row_spacing + (double)params->columns * params->pixel_size;
    if (!(params->center >= 0 && params->center <= (double)(detector->n - 1)))
        return ts_param_error(context->set, "center", "center-outside", context->diag,
                              "%.6g is outside the detector, [0, %lld]", params->center, (long long)detector->n - 1);
    if (!(extent / spacing_of(detector) < 1 << 26))
        return ts_param_error(context->set, "pixel_size", "volume-too-wide", context->diag,
                              "the slices would be %.6g detectors wide, more than %d", extent / spacing_of(detector),
                              1 << 26);
    return TS_OK;
}

/* Where rays are closer than a pixel, as in the adjoint of a projection onto fine detectors, more than two count. */
static bool has_fine_rays(const struct stage_context *context, const struct reconstruction_params *params)
{
    const double width = spacing_of(&context->in.axes[2]), pixel = fmax(params->pixel_size, params->row_spacing);
    return params->model == BACK_JOSEPH && width < pixel * (1 - 1e-9);
}

static enum ts_status choose_method(const struct stage_context *context, struct reconstruction_params *params)
{
    const bool fine = has_fine_rays(context, params);
    if (params->method == BACK_METHOD_AUTO)
        params->method = !context->device                                    ? BACK_METHOD_LANES
                         : fine || context->in.axes[0].n < STACK_FROM_SLICES ? BACK_METHOD_PIXEL
                                                                             : BACK_METHOD_STACK;
    if (params->method == BACK_METHOD_STACK && fine)
        return ts_param_error(context->set, "method", "method-fine", context->diag,
                              "'stack' takes two detectors a pixel, and detectors %.6g mm apart are finer than pixels "
                              "of %.6g mm; 'pixel' takes all",
                              spacing_of(&context->in.axes[2]), fmax(params->pixel_size, params->row_spacing));
    return TS_OK;
}

enum ts_status ts_reconstruction_resolve(const struct stage_context *context, struct reconstruction_params *params)
{
    const struct ts_axis *detector = &context->in.axes[2];
    if (detector->positions)
        return ts_param_error(context->set, "center", "detectors-uneven", context->diag,
                              "the detectors' positions are listed one by one, and must be evenly spaced");
    if (!ts_param_given(context->set, "rows"))
        params->rows = detector->n;
    if (!ts_param_given(context->set, "columns"))
        params->columns = detector->n;
    if (!ts_param_given(context->set, "pixel_size"))
        params->pixel_size = spacing_of(detector);
    if (!ts_param_given(context->set, "row_spacing"))
        params->row_spacing = params->pixel_size;
    if (!ts_param_given(context->set, "center"))
        params->center = -detector->first / spacing_of(detector);
    enum ts_status status = check_geometry(context, params);
    if (status == TS_OK && params->weights == VIEW_WEIGHTS_ANGLES && params->gaps == VIEW_GAPS_REFUSE)
        status = check_gaps(context);
    return status == TS_OK ? choose_method(context, params) : status;
}

void ts_reconstruction_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct reconstruction_params *params = context->params;
    const char *length = context->in.axes[2].unit;
    const double half_y = 0.5 * (double)(params->rows - 1) * params->row_spacing,
                 half_x = 0.5 * (double)(params->columns - 1) * params->pixel_size;
    for (int i = 0; i < 3; i++)
        out->origin_mm[i] -= half_x * out->direction[i] + half_y * out->direction[3 + i];
    out->axes[1] =
        (struct ts_axis){.kind = TS_AXIS_Y, .n = params->rows, .spacing = params->row_spacing, .unit = length};
    out->axes[2] =
        (struct ts_axis){.kind = TS_AXIS_X, .n = params->columns, .spacing = params->pixel_size, .unit = length};
    out->beam = (struct ts_beam){.kind = TS_BEAM_PARALLEL};
    out->dtype = TS_F32;
}

/* ---- geometry ---------------------------------------------------------------------------------- */

struct row_filter ts_reconstruction_filter(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    return (struct row_filter){.name = params->filter,
                               .cutoff = params->cutoff,
                               .spacing = spacing_of(&context->in.axes[2]),
                               .n = context->in.axes[2].n};
}

struct beam_geometry ts_reconstruction_geometry(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    return (struct beam_geometry){.n_rows = params->rows,
                                  .n_columns = params->columns,
                                  .row_spacing = params->row_spacing,
                                  .column_spacing = params->pixel_size,
                                  .n_detectors = context->in.axes[2].n,
                                  .detector_spacing = spacing_of(&context->in.axes[2]),
                                  .center = params->center};
}

void ts_reconstruction_views(const struct stage_context *context, struct back_view *views, void *room)
{
    const struct reconstruction_params *params = context->params;
    const struct beam_geometry geometry = ts_reconstruction_geometry(context);
    const struct ts_axis *axis = &context->in.axes[1];
    double *degrees = room, *weights = degrees + axis->n;
    for (int64_t v = 0; v < axis->n; v++) {
        degrees[v] = ts_view_degree(axis, v);
        views[v] = ts_back_view(&geometry, degrees[v], params->model);
    }
    if (params->weights == VIEW_WEIGHTS_NONE)
        return;
    ts_view_weights(degrees, axis->n, weights, (int64_t *)(weights + axis->n));
    for (int64_t v = 0; v < axis->n; v++)
        views[v].scale *= weights[v];
}

/* ---- on the CPU -------------------------------------------------------------------------------- */

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static bool filters(const struct stage_context *context)
{
    return ((const struct reconstruction_params *)context->params)->filter != ROW_FILTER_NONE;
}

int ts_reconstruction_transforms(const struct stage_context *context, struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    if (context->device || !filters(context))
        return 0;
    shapes[0] = ts_row_filter_shape(&filter);
    return 1;
}

static size_t views_bytes(const struct stage_context *context)
{
    return rounded((size_t)context->in.axes[1].n * sizeof(struct back_view));
}

static size_t filtered_bytes(const struct stage_context *context, int64_t n)
{
    return filters(context) ? rounded((size_t)n * ts_slice_count(&context->in) * sizeof(float)) : 0;
}

/* The views; the filtered slices; then what one step after the other needs. */
size_t ts_reconstruction_scratch(const struct stage_context *context, int64_t n)
{
    const struct reconstruction_params *params = context->params;
    const struct row_filter filter = ts_reconstruction_filter(context);
    const size_t needs[] = {(size_t)context->in.axes[1].n * VIEW_ROOM_BYTES,
                            ts_row_filter_scratch(&filter, context->threads),
                            ts_backprojection_scratch(filter.n, params->columns, context->threads)};
    size_t largest = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        largest = needs[i] > largest ? needs[i] : largest;
    return views_bytes(context) + filtered_bytes(context, n) + largest;
}

enum ts_status ts_reconstruction_cpu(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *scratch)
{
    const struct reconstruction_params *params = context->params;
    const struct row_filter filter = ts_reconstruction_filter(context);
    struct back_view *views = scratch;
    unsigned char *filtered = (unsigned char *)scratch + views_bytes(context);
    void *room = filtered + filtered_bytes(context, in->axes[0].n);
    struct backprojection work = {.sinogram = *in,
                                  .views = views,
                                  .n_rows = params->rows,
                                  .n_columns = params->columns,
                                  .out = out->data,
                                  .threads = context->threads};
    ts_reconstruction_views(context, views, room);
    if (filters(context)) {
        ts_row_filter_run(context, &filter, in, (float *)filtered, room);
        work.sinogram.data = filtered;
        work.sinogram.dtype = TS_F32;
    }
    ts_backprojection_run(&work, room);
    return TS_OK;
}
