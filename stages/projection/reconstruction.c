/* SPDX-License-Identifier: Apache-2.0
 *
 * This derives the axes of a volume from those of a sinogram, checks the parameters, and, on the
 * CPU, filters and then backprojects. The volume is centered on the rotation axis as the one that
 * `radon` projects: rows fall and columns rise along the image's directions, and its center is the
 * sinogram's origin. So a volume that was projected comes back to its place.
 */
#include "stages/projection/reconstruction.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "core/memory.h"
#include "stages/engine/distances.h"
#include "stages/geometry/view_angles.h"
#include "stages/projection/backprojection.h"
#include "stages/projection/joseph.h"
#include "stages/projection/radon.h"
#include "stages/projection/tensor_method.h"

/* The smallest numbers of slices for which method `stack` is faster on an H200 than `pixel`, for a
 * parallel beam and for a fan. Fewer slices leave most threads of a warp without work. */
enum { STACK_FROM_SLICES = 6, FAN_STACK_FROM_SLICES = 5 };
/* The smallest number of slices for which `tensor-split` was measured as faster than `stack` on an
 * H200: 1.5 to 1.9 times for 32 and 64 slices of 512 squared, 1.4 for 512. Fewer slices were not
 * measured. */
enum { TENSOR_FROM_SLICES = 32 };

const struct choice ts_back_method_choices[] = {
    {"auto", BACK_METHOD_AUTO,
     "lanes on the CPU; on a CUDA device pixel for fewer than 6 slices, 5 of a fan; tensor-split "
     "from 32 slices of a parallel beam on, if the device and the sizes allow it; else stack"},
    {"lanes", BACK_METHOD_LANES, "16 slices side by side; a few views at a time stay in the cache",
     ON_CPU},
    {"pixel", BACK_METHOD_PIXEL, "one thread a pixel of a slice goes through all views", ON_CUDA},
    {"stack", BACK_METHOD_STACK,
     "128 slices side by side, 4 pixels a thread share their detector pixels", ON_CUDA},
    {"tensor", BACK_METHOD_TENSOR,
     "matrix products of weights and of detector pixels in half precision on tensor cores, from "
     "compute capability 8.0 on",
     ON_CUDA},
    {"tensor-split", BACK_METHOD_TENSOR_SPLIT,
     "the same with each operand in two halves, as exact as single precision", ON_CUDA},
    {0},
};

const struct stage_method_tolerance ts_back_method_tolerances[] = {
    {"tensor",
     {.relative = 1.5e-3,
      .why = "detector pixels and positions are rounded to 11 bits; the errors are independent, so "
             "that the relative L2 error of sums of positive values over 256 views and more is "
             "below 5e-5; where noise around 0 is summed, it is that of a detector pixel, 3e-4"}},
    {0},
};

const struct choice ts_view_gaps_choices[] = {
    {"refuse", VIEW_GAPS_REFUSE, "an error: no filter makes up for views that are missing"},
    {"accept", VIEW_GAPS_ACCEPT, "the views beside a gap count for it; expect streaks"},
    {0},
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* A scan of half a turn plus the fan's angle sees every ray, in one direction or the other. */
static enum ts_status check_fan_range(const struct stage_context *context,
                                      const struct reconstruction_params *params)
{
    struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    double *sorted = malloc((size_t)scan.n_views * sizeof *sorted);
    if (!sorted)
        return ts_diag_no_memory(context->diag, (size_t)scan.n_views * sizeof *sorted);
    scan.grid.center = params->center;
    const struct fan_range range = ts_fan_range(&scan, sorted);
    free(sorted);
    if (range.whole || range.degrees >= range.needed - 1e-6)
        return TS_OK;
    ts_param_error(context->set, "gaps", "short-scan", context->diag,
                   "the views cover %.6g degrees, from view %lld to view %lld, and this fan needs "
                   "%.6g or a whole turn",
                   range.degrees, (long long)range.after, (long long)range.before, range.needed);
    return ts_diag_hint(
        context->diag,
        "gaps: accept reconstructs from what is there; sirt and cgls need no whole scan");
}

/* A fan must not have its source among the pixels, and its filtered reconstruction needs all
 * rays. */
static enum ts_status check_fan(const struct stage_context *context,
                                const struct reconstruction_params *params)
{
    const struct beam_geometry grid = {.n_rows = params->rows,
                                       .n_columns = params->columns,
                                       .row_spacing = params->row_spacing,
                                       .column_spacing = params->pixel_size};
    const double least = ts_beam_least_source_axis(&grid), near = context->in.beam.source_axis_mm;
    if (!(near > least))
        return ts_param_error(context->set, "pixel_size", "source-inside", context->diag,
                              "the slices would reach to %g mm from the rotation axis, where the "
                              "source stands at %g mm",
                              least, near);
    return params->weights == VIEW_WEIGHTS_ANGLES && params->gaps == VIEW_GAPS_REFUSE
               ? check_fan_range(context, params)
               : TS_OK;
}

static enum ts_status check_geometry(const struct stage_context *context,
                                     const struct reconstruction_params *params)
{
    const struct ts_axis *detector = &context->in.axes[2];
    const double extent =
        (double)params->rows * params->row_spacing + (double)params->columns * params->pixel_size;
    if (!(params->center >= 0 && params->center <= (double)(detector->n - 1)))
        return ts_param_error(context->set, "center", "center-outside", context->diag,
                              "%.6g is outside the detector, [0, %lld]", params->center,
                              (long long)detector->n - 1);
    if (!(extent / ts_axis_spacing(detector) < 1 << 26))
        return ts_param_error(context->set, "pixel_size", "volume-too-wide", context->diag,
                              "the slices would be %.6g detector pixels wide, more than %d",
                              extent / ts_axis_spacing(detector), 1 << 26);
    return TS_OK;
}

/* Returns true if rays are closer than a pixel, as in the adjoint of a projection onto a fine
 * detector: more than two detector pixels then count for a pixel. */
static bool has_fine_rays(const struct stage_context *context,
                          const struct reconstruction_params *params)
{
    const double width = ts_axis_spacing(&context->in.axes[2]),
                 pixel = fmax(params->pixel_size, params->row_spacing);
    return params->model == BACK_JOSEPH && width < pixel * (1 - 1e-9);
}

/* For a fan, fbp has its own weights, and the adjoint has none. */
static enum ts_status choose_fan_method(const struct stage_context *context,
                                        struct reconstruction_params *params)
{
    const char *beam = ts_beam_name(context->in.beam.kind);
    const bool adjoint = params->model == BACK_JOSEPH;
    if (params->method == BACK_METHOD_AUTO) {
        if (!context->device)
            params->method = BACK_METHOD_LANES;
        else
            params->method = context->in.axes[0].n < FAN_STACK_FROM_SLICES ? BACK_METHOD_PIXEL
                                                                           : BACK_METHOD_STACK;
    }
    if (adjoint && params->weights != VIEW_WEIGHTS_NONE)
        return ts_param_error(context->set, "weights", "weights-beam", context->diag,
                              "the adjoint of a %s beam has no weights of angles; fbp has them",
                              beam);
    if (params->method == BACK_METHOD_TENSOR || params->method == BACK_METHOD_TENSOR_SPLIT) {
        ts_param_error(context->set, "method", "method-beam", context->diag,
                       "tensor cores are used for parallel rays alone, and the beam is %s", beam);
        return ts_diag_hint(context->diag, "leave method out");
    }
    return TS_OK;
}

static enum ts_status check_tensor(const struct stage_context *context,
                                   const struct reconstruction_params *params)
{
    const bool split = params->method == BACK_METHOD_TENSOR_SPLIT;
    return (params->method == BACK_METHOD_TENSOR || split) && context->device
               ? ts_tensor_check(context, context->in.axes[1].n, context->in.axes[2].n, split)
               : TS_OK;
}

/* Returns the fastest method for a parallel beam. `tensor-split` was not measured for rays that are
 * closer than a pixel. */
static enum back_method fastest_method(const struct stage_context *context,
                                       const struct reconstruction_params *params)
{
    const int64_t slices = context->in.axes[0].n;
    const bool fine = has_fine_rays(context, params);
    if (!context->device)
        return BACK_METHOD_LANES;
    if ((fine && params->weights != VIEW_WEIGHTS_NONE) || slices < STACK_FROM_SLICES)
        return BACK_METHOD_PIXEL;
    return slices >= TENSOR_FROM_SLICES && !fine &&
                   ts_tensor_takes(context, context->in.axes[1].n, context->in.axes[2].n, true)
               ? BACK_METHOD_TENSOR_SPLIT
               : BACK_METHOD_STACK;
}

static enum ts_status choose_method(const struct stage_context *context,
                                    struct reconstruction_params *params)
{
    const bool weighs_fine = params->weights != VIEW_WEIGHTS_NONE && has_fine_rays(context, params);
    if (context->in.beam.kind != TS_BEAM_PARALLEL)
        return choose_fan_method(context, params);
    if (params->method == BACK_METHOD_AUTO)
        params->method = fastest_method(context, params);
    if (params->method == BACK_METHOD_STACK && weighs_fine)
        return ts_param_error(context->set, "method", "method-fine", context->diag,
                              "'stack' does not weigh views whose detector pixels, %.6g mm apart, "
                              "are finer than pixels of %.6g mm; 'pixel' does",
                              ts_axis_spacing(&context->in.axes[2]),
                              fmax(params->pixel_size, params->row_spacing));
    return check_tensor(context, params);
}

enum ts_status ts_reconstruction_resolve(const struct stage_context *context,
                                         struct reconstruction_params *params)
{
    const struct ts_axis *detector = &context->in.axes[2];
    if (ts_stage_needs_even(context) != TS_OK)
        return TS_BAD_CHAIN;
    if (!ts_param_given(context->set, "rows"))
        params->rows = detector->n;
    if (!ts_param_given(context->set, "columns"))
        params->columns = detector->n;
    const struct ts_beam *beam = &context->in.beam;
    const bool fan = beam->kind != TS_BEAM_PARALLEL;
    if (!ts_param_given(context->set, "pixel_size"))
        params->pixel_size =
            ts_axis_spacing(detector) * (fan ? beam->source_axis_mm / beam->source_detector_mm : 1);
    if (!ts_param_given(context->set, "row_spacing"))
        params->row_spacing = params->pixel_size;
    if (!ts_param_given(context->set, "center"))
        params->center = ts_stage_axis_pixel(context);
    enum ts_status status = ts_views_need_angles(context);
    if (status == TS_OK)
        status = check_geometry(context, params);
    if (status == TS_OK && params->weights == VIEW_WEIGHTS_ANGLES)
        status = ts_view_angles_check_directions(context, params->gaps == VIEW_GAPS_ACCEPT);
    if (status == TS_OK && fan)
        status = check_fan(context, params);
    else if (status == TS_OK && params->weights == VIEW_WEIGHTS_ANGLES &&
             params->gaps == VIEW_GAPS_REFUSE)
        status = ts_view_angles_check_gaps(context);
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
    out->axes[1] = (struct ts_axis){
        .kind = TS_AXIS_Y, .n = params->rows, .spacing = params->row_spacing, .unit = length};
    out->axes[2] = (struct ts_axis){
        .kind = TS_AXIS_X, .n = params->columns, .spacing = params->pixel_size, .unit = length};
    out->beam = (struct ts_beam){.kind = TS_BEAM_PARALLEL};
    out->dtype = TS_F32;
}

/* ---- geometry -------------------------------------------------------------------------------- */

struct row_filter ts_reconstruction_filter(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    const struct ts_beam *beam = &context->in.beam;
    double unit = 1;
    if (beam->kind == TS_BEAM_FAN_ARC)
        unit = 1 / beam->source_detector_mm;
    else if (beam->kind == TS_BEAM_FAN_FLAT)
        unit = beam->source_axis_mm / beam->source_detector_mm;
    return (struct row_filter){.name = params->filter,
                               .cutoff = params->cutoff,
                               .spacing = ts_axis_spacing(&context->in.axes[2]) * unit,
                               .n = context->in.axes[2].n,
                               .arc = beam->kind == TS_BEAM_FAN_ARC};
}

struct beam_scan ts_reconstruction_scan(const struct stage_context *context)
{
    struct beam_scan scan = ts_beam_scan(&context->out, &context->in);
    scan.grid.center = ((const struct reconstruction_params *)context->params)->center;
    return scan;
}

struct fan_range ts_reconstruction_fans(const struct stage_context *context, struct fan_view *views,
                                        void *scratch)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    struct fan_range range = ts_fan_range(&scan, scratch);
    range.whole |= range.degrees < range.needed - 1e-6; /* gaps: accept. Views get equal weights as
                                                         * in a whole turn */
    ts_fan_views(&scan, &range, views, scratch);
    return range;
}

void ts_reconstruction_views(const struct stage_context *context, struct back_view *views,
                             void *scratch)
{
    const struct reconstruction_params *params = context->params;
    const struct beam_scan scan = ts_reconstruction_scan(context);
    const struct ts_axis *axis = &context->in.axes[1];
    double *weights = scratch;
    for (int64_t v = 0; v < axis->n; v++)
        views[v] = ts_back_view(&scan.grid, ts_view_degree(axis, v), params->model);
    if (params->weights == VIEW_WEIGHTS_NONE)
        return;
    ts_view_weights(axis, weights, (struct view_place *)(weights + axis->n));
    for (int64_t v = 0; v < axis->n; v++)
        views[v].scale *= weights[v];
}

/* ---- on the CPU ------------------------------------------------------------------------------ */

static bool filters(const struct stage_context *context)
{
    return ((const struct reconstruction_params *)context->params)->filter != ROW_FILTER_NONE;
}

int ts_reconstruction_transforms(const struct stage_context *context,
                                 struct fft_shape shapes[STAGE_TRANSFORMS])
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    if (context->device || !filters(context))
        return 0;
    shapes[0] = ts_row_filter_shape(&filter);
    return 1;
}

int32_t ts_reconstruction_forth(int32_t method)
{
    switch (method) {
    case BACK_METHOD_PIXEL:
        return RADON_RAY;
    case BACK_METHOD_STACK:
        return RADON_STACK;
    case BACK_METHOD_TENSOR:
        return RADON_TENSOR;
    case BACK_METHOD_TENSOR_SPLIT:
        return RADON_TENSOR_SPLIT;
    default:
        return RADON_AUTO;
    }
}

bool ts_reconstruction_goes_by_rays(const struct stage_context *context)
{
    const struct reconstruction_params *params = context->params;
    return (ts_image_is_fan(&context->in) && params->model == BACK_JOSEPH) ||
           (params->method == BACK_METHOD_STACK && params->weights == VIEW_WEIGHTS_NONE &&
            has_fine_rays(context, params));
}

/* The scratch of one call for n slices. The steps use `step` one after the other. */
struct scratch {
    void *views; /* struct back_view or struct fan_view */
    float *rows; /* weighted and filtered; NULL: the input's rows are used as they are */
    struct beam_detector *detectors;
    float *weights; /* the weights of a fan's view, a row for each thread */
    void *step;
};

static struct scratch lay_out(const struct stage_context *context, int64_t n,
                              struct memory_layout *layout)
{
    const struct row_filter filter = ts_reconstruction_filter(context);
    const int64_t n_columns = ((const struct reconstruction_params *)context->params)->columns;
    const size_t n_views = (size_t)context->in.axes[1].n, row = (size_t)filter.n,
                 threads = (size_t)context->threads;
    const size_t needs[] = {n_views * VIEW_SCRATCH_BYTES,
                            ts_row_filter_scratch(&filter, context->threads),
                            ts_backprojection_scratch(filter.n, n_columns, context->threads)};
    struct scratch scratch = {0};
    size_t largest = 0;
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        largest = needs[i] > largest ? needs[i] : largest;
    scratch.views =
        ts_layout_add(layout, n_views * (ts_image_is_fan(&context->in) ? sizeof(struct fan_view)
                                                                       : sizeof(struct back_view)));
    if (ts_image_is_fan(&context->in) || filters(context))
        scratch.rows =
            ts_layout_add(layout, (size_t)n * ts_slice_count(&context->in) * sizeof(float));
    if (ts_image_is_fan(&context->in)) {
        scratch.detectors = ts_layout_add(layout, row * sizeof *scratch.detectors);
        scratch.weights = ts_layout_add(layout, threads * row * sizeof(float));
    }
    scratch.step = ts_layout_add(layout, largest);
    return scratch;
}

size_t ts_reconstruction_scratch(const struct stage_context *context, int64_t n)
{
    if (ts_reconstruction_goes_by_rays(context)) {
        const struct beam_scan scan = ts_reconstruction_scan(context);
        return ts_joseph_backproject_scratch(&scan, n, context->threads);
    }
    struct memory_layout layout = {0};
    lay_out(context, n, &layout);
    return layout.bytes;
}

/* Multiplies the rows of a fan by their weights before the filter. */
static void weigh_rows(const struct stage_context *context, const struct fan_range *range,
                       const struct ts_image *in, const struct scratch *scratch)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    const int64_t n = scan.grid.n_detectors, n_views = scan.n_views, nz = in->axes[0].n;
    const size_t bytes = (size_t)n * ts_dtype_bytes(in->dtype);
    for (int64_t d = 0; d < n; d++)
        scratch->detectors[d] = ts_beam_detector(&scan, d);
#pragma omp parallel for num_threads(context->threads)
    for (int64_t v = 0; v < n_views; v++) {
        float *own = scratch->weights + (int64_t)omp_get_thread_num() * n;
        ts_fan_row_weights(&scan, range, scratch->detectors, v, own);
        for (int64_t z = 0; z < nz; z++) {
            float *to = scratch->rows + (z * n_views + v) * n;
            ts_load_f32(to, (const char *)in->data + (size_t)(z * n_views + v) * bytes, in->dtype,
                        (size_t)n);
            for (int64_t d = 0; d < n; d++)
                to[d] *= own[d];
        }
    }
}

enum ts_status ts_reconstruction_map(const struct stage_context *context, const struct ts_image *in,
                                     struct ts_image *out, void *buffer)
{
    const struct reconstruction_params *params = context->params;
    const struct row_filter filter = ts_reconstruction_filter(context);
    const struct beam_scan scan = ts_reconstruction_scan(context);
    if (ts_reconstruction_goes_by_rays(context)) {
        ts_joseph_backproject(&scan, in, out, context->threads, buffer);
        return TS_OK;
    }
    struct memory_layout layout = {.base = buffer};
    const struct scratch scratch = lay_out(context, in->axes[0].n, &layout);
    struct backprojection work = {.sinogram = *in,
                                  .n_rows = params->rows,
                                  .n_columns = params->columns,
                                  .out = out->data,
                                  .threads = context->threads};
    if (ts_image_is_fan(&context->in)) {
        const struct fan_range range = ts_reconstruction_fans(context, scratch.views, scratch.step);
        weigh_rows(context, &range, in, &scratch);
        work.sinogram.data = scratch.rows;
        work.sinogram.dtype = TS_F32;
        work.fans = scratch.views;
        work.fan_grid = ts_fan_grid(&scan);
    } else {
        ts_reconstruction_views(context, scratch.views, scratch.step);
        work.views = scratch.views;
    }
    if (filters(context)) { /* a fan's rows are filtered in place */
        ts_row_filter_run(context, &filter, &work.sinogram, scratch.rows, scratch.step);
        work.sinogram.data = scratch.rows;
        work.sinogram.dtype = TS_F32;
    }
    ts_backprojection_run(&work, scratch.step);
    return TS_OK;
}
