/* SPDX-License-Identifier: Apache-2.0
 *
 * radon: line integrals of every slice along the rays of a beam; (z, y, x) -> (z, view, detector),
 * f32. Rays are those of stages/geometry/beam.h, and each integral is the sum of Joseph's samples
 * along the ray times their distance (stages/projection/joseph.h). This file resolves the geometry
 * and refuses impossible ones: a source within the slice, a detector in front of the axis, an arc
 * of half a turn, angles that look like radians.
 */
#include "stages/projection/radon.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "stages/engine/border.h"
#include "stages/engine/distances.h"
#include "stages/engine/scratch.h"
#include "stages/engine/validity.h"
#include "stages/geometry/beam.h"
#include "stages/geometry/view_angles.h"
#include "stages/projection/joseph.h"
#include "stages/projection/reconstruction.h"
#include "stages/projection/tensor_method.h"
#include "stages/values/length_unit.h"

/* Method row-fan-in projects lines of pixels, while all others follow rays. It is here to be
 * compared with them; cuda/projection/radon.cu has it for a CUDA device.
 *
 * A view's image is cut into parts of 32 lines, rows or columns by the view's major axis. Each part
 * is projected pixel by pixel into a vector of all detector pixels, and the vectors are summed by
 * fan-in: the second half of n vectors is added to the first (n / 2 to 0, n / 2 + 1 to 1, ...)
 * until one is left. (z, y, x) -> (z, view, detector).
 *
 * Joseph's sample between pixels i and i + 1 is (1 - w) pixel[i] + w pixel[i + 1]
 * (stages/geometry/beam.h), so that the rays which pixel i reaches on a line are two neighboring
 * runs of detector pixels: those between i - 1 and i, and those between i and i + 1. Threads take
 * views; the order of sums depends only on the image's lines. */

enum { LINES = 32 };

/* One slice as floats, and its transposed copy, in which columns are lines. */
struct lines {
    const float *rows, *columns;
};

static int64_t most_parts(const struct beam_scan *scan)
{
    const int64_t rows = scan->grid.n_rows, columns = scan->grid.n_columns;
    return ((rows > columns ? rows : columns) + LINES - 1) / LINES;
}

/* Divides the scratch: a slice, its transposed copy, and the vectors of each thread. */
static size_t divide(const struct beam_scan *scan, int threads, size_t parts[3])
{
    const int64_t pixels = scan->grid.n_rows * scan->grid.n_columns;
    size_t used = 0;
    parts[0] = ts_scratch_part(&used, pixels, sizeof(float));
    parts[1] = ts_scratch_part(&used, pixels, sizeof(float));
    parts[2] =
        ts_scratch_part(&used, most_parts(scan) * scan->grid.n_detectors * threads, sizeof(float));
    return used;
}

/* Returns the bytes of scratch for this many threads. */
static size_t radon_rows_scratch(const struct beam_scan *scan, int threads)
{
    size_t parts[3];
    return divide(scan, threads, parts);
}

/* Returns the first of n detector pixels whose ray is at or past pixel i; the first one's ray is at
 * `start`. */
static int64_t run_start(double i, double start, double per_sample, int64_t n)
{
    return (int64_t)fmin(fmax(ceil((i - start) * per_sample), 0.0), (double)n);
}

/* Adds a line of n pixels to the vector of n_detectors sums; per_detector is the number of image
 * pixels per detector pixel, and positive. */
static void add_line(const float *line, int64_t n, double start, double per_detector,
                     int64_t n_detectors, float *vector)
{
    const double per_sample = 1 / per_detector;
    int64_t d = run_start(-1, start, per_sample, n_detectors),
            at = run_start(0, start, per_sample, n_detectors);
    for (int64_t i = 0; i < n; i++) {
        const int64_t end = run_start((double)(i + 1), start, per_sample, n_detectors);
        for (; d < at; d++)
            vector[d] += (float)(start + (double)d * per_detector - (double)(i - 1)) * line[i];
        for (; d < end; d++)
            vector[d] += (float)(1 - (start + (double)d * per_detector - (double)i)) * line[i];
        d = at;
        at = end;
    }
}

static void fan_in(float *vectors, int64_t n_vectors, int64_t n)
{
    for (int64_t half; n_vectors > 1; n_vectors = half) {
        half = (n_vectors + 1) / 2;
        for (int64_t i = 0; i < (n_vectors - half) * n; i++)
            vectors[i] += vectors[half * n + i];
    }
}

/* Projects one view. If positions fall as the detector index rises, the vector is filled from its
 * end. */
static void project_view(const struct beam_geometry *grid, const struct beam_view *view,
                         const struct lines *lines, float *vectors, float *out)
{
    const int64_t n_major = view->along_rows ? grid->n_rows : grid->n_columns,
                  n = grid->n_detectors;
    const int64_t n_minor = view->along_rows ? grid->n_columns : grid->n_rows,
                  n_parts = (n_major + LINES - 1) / LINES;
    const float *from = view->along_rows ? lines->rows : lines->columns;
    const bool mirrored = view->per_detector < 0;
    const double origin = view->base + (mirrored ? (double)(n - 1) * view->per_detector : 0);
    memset(vectors, 0, (size_t)(n_parts * n) * sizeof *vectors);
    for (int64_t m = 0; m < n_major; m++)
        add_line(from + m * n_minor, n_minor, origin + (double)m * view->per_major,
                 fabs(view->per_detector), n, vectors + m / LINES * n);
    fan_in(vectors, n_parts, n);
    for (int64_t d = 0; d < n; d++)
        out[d] = vectors[mirrored ? n - 1 - d : d] * (float)view->length_mm;
}

static void transpose(float *to, const float *from, const struct beam_geometry *grid, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t x = 0; x < grid->n_columns; x++)
        for (int64_t y = 0; y < grid->n_rows; y++)
            to[x * grid->n_rows + y] = from[y * grid->n_columns + x];
}

/* Computes sinogram = projections of the volume, for a parallel beam; the volume has any dtype, the
 * sinogram is f32. */
static void radon_rows(const struct beam_scan *scan, const struct ts_image *volume,
                       struct ts_image *sinogram, int threads, void *scratch)
{
    const struct beam_geometry *grid = &scan->grid;
    const int64_t n = grid->n_detectors, pixels = grid->n_rows * grid->n_columns;
    size_t parts[3];
    divide(scan, threads, parts);
    float *rows = (float *)((char *)scratch + parts[0]),
          *columns = (float *)((char *)scratch + parts[1]);
    float *vectors = (float *)((char *)scratch + parts[2]);
    const struct lines lines = {rows, columns};
    for (int64_t z = 0; z < sinogram->axes[0].n; z++) {
        ts_load_f32(rows, (const char *)volume->data + (size_t)z * ts_slice_bytes(volume),
                    volume->dtype, (size_t)pixels);
        transpose(columns, rows, grid, threads);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
        for (int64_t v = 0; v < scan->n_views; v++) {
            const struct beam_view view = ts_beam_view(grid, ts_beam_scan_angle(scan, v));
            project_view(grid, &view, &lines, vectors + omp_get_thread_num() * most_parts(scan) * n,
                         (float *)sinogram->data + (z * scan->n_views + v) * n);
        }
    }
}

/* The smallest number of slices for which method `stack` is faster on an H200 than `ray`. */
enum { STACK_FROM_SLICES = 16 };

static const struct choice method_choices[] = {
    {"auto", RADON_AUTO,
     "joseph on the CPU; on every CUDA device what was fastest on an H200, ray or stack"},
    {"joseph", RADON_JOSEPH,
     "16 slices side by side; rows or columns in blocks that stay in the cache", ON_CPU},
    {"row-fan-in", RADON_ROW_FAN_IN,
     "every 32 rows or columns are projected, pixel by pixel, into a vector of all detector "
     "pixels, and the vectors are summed by halving"},
    {"ray", RADON_RAY, "one thread walks along each ray", ON_CUDA},
    {"stack", RADON_STACK, "128 slices side by side, 4 rays a thread share their pixels", ON_CUDA},
    {"tensor", RADON_TENSOR,
     "matrix products of weights and of pixels in half precision on tensor cores, from compute "
     "capability 8.0 on; rays more than 16 pixels apart are followed as by ray",
     ON_CUDA},
    {"tensor-split", RADON_TENSOR_SPLIT,
     "the same with each operand in two halves, as exact as single precision", ON_CUDA},
    {0},
};

/* ---- parameters ------------------------------------------------------------------------------ */

/* A list of angles over about 3 or 6 degrees looks like radians, as it does to stages that
 * reconstruct. */
static enum ts_status check_unit(const struct stage_context *context,
                                 const struct radon_params *params)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t v = 0; v < params->views; v++) {
        low = fmin(low, params->angles.values[v]);
        high = fmax(high, params->angles.values[v]);
    }
    if (!ts_view_angles_are_radians(low, high, params->views))
        return TS_OK;
    ts_param_error(context->set, "angles", "angles-in-radians", context->diag,
                   "all %lld lie between %.6g and %.6g, and degrees were expected: this looks like "
                   "half a turn or a turn in radians",
                   (long long)params->views, low, high);
    return ts_diag_hint(context->diag, "views, start and arc take as narrow a range");
}

static enum ts_status resolve_views(const struct stage_context *context,
                                    struct radon_params *params)
{
    static const char *const even[] = {"views", "start", "arc"};
    if (!ts_param_given(context->set, "angles")) {
        if (!ts_param_given(context->set, "views"))
            params->views = 180;
        return TS_OK;
    }
    for (size_t i = 0; i < sizeof even / sizeof *even; i++)
        if (ts_param_given(context->set, even[i]))
            return ts_param_error(context->set, even[i], "angles-twice", context->diag,
                                  "the views are already listed by angles; give one of the two");
        else
            ts_param_idle(context->set, even[i]);
    if (params->angles.rows != 1 || params->angles.columns < 1)
        return ts_param_error(context->set, "angles", "angles-shape", context->diag,
                              "%lld rows of %lld numbers, expected one list of at least one angle",
                              (long long)params->angles.rows, (long long)params->angles.columns);
    params->views = params->angles.columns;
    return check_unit(context, params);
}

static enum ts_status resolve_source(const struct stage_context *context,
                                     struct radon_params *params)
{
    static const char *const names[] = {"source_axis", "source_detector"};
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    for (int i = 0; i < 2; i++) {
        const bool given = ts_param_given(context->set, names[i]);
        if (params->beam == TS_BEAM_PARALLEL && given)
            return ts_param_error(context->set, names[i], "source-parallel", context->diag,
                                  "a parallel beam has no source at a distance, only a fan has");
        if (params->beam == TS_BEAM_PARALLEL)
            ts_param_idle(context->set, names[i]);
        else if (!given)
            return ts_param_error(context->set, names[i], "source-missing", context->diag,
                                  "is not given, and a %s beam needs it",
                                  ts_beam_name((enum ts_beam_kind)params->beam));
    }
    if (params->beam == TS_BEAM_PARALLEL) {
        params->source_axis = params->source_detector = 0;
        return TS_OK;
    }
    if (!(ts_axis_mm(x) > 0 && ts_axis_mm(y) > 0)) {
        ts_param_error(context->set, "source_axis", "source-unit", context->diag,
                       "is in mm, and the distance of the image's pixels is not known in mm");
        return ts_diag_hint(context->diag, "leave beam, source_axis and source_detector out: a "
                                           "parallel beam needs no distances in mm");
    }
    const struct beam_geometry grid = {.n_rows = y->n,
                                       .n_columns = x->n,
                                       .row_spacing = ts_axis_spacing(y),
                                       .column_spacing = ts_axis_spacing(x)};
    const double least = ts_beam_least_source_axis(&grid);
    if (!(params->source_axis > least))
        return ts_param_error(context->set, "source_axis", "source-inside", context->diag,
                              "%g mm would put the source into the slice, expected more than %g mm",
                              params->source_axis, least);
    if (!(params->source_detector >= params->source_axis))
        return ts_param_error(
            context->set, "source_detector", "detector-inside", context->diag,
            "%g mm would put the detector before the rotation axis, expected at least %g mm",
            params->source_detector, params->source_axis);
    return TS_OK;
}

/* Returns the length in mm of a detector that sees all of a disc of this diameter around the
 * rotation axis. */
static double covering_mm(const struct radon_params *params, double diameter)
{
    if (params->beam == TS_BEAM_PARALLEL)
        return diameter;
    const double gamma = asin(0.5 * diameter / params->source_axis);
    return 2 * params->source_detector * (params->beam == TS_BEAM_FAN_ARC ? gamma : tan(gamma));
}

/* An arc must end before a quarter of a turn from the central ray, as a flat detector always does;
 * and some methods only know parallel rays. */
static enum ts_status check_fan(const struct stage_context *context,
                                const struct radon_params *params)
{
    const double last = fmax(params->center, (double)(params->detectors - 1) - params->center);
    const double degree = last * params->detector_spacing / params->source_detector * (180 / M_PI);
    if (params->beam == TS_BEAM_FAN_ARC && !(degree < 90))
        return ts_param_error(context->set, "detectors", "fan-angle", context->diag,
                              "the last detector pixel would be %g degrees from the central ray, "
                              "expected less than 90",
                              degree);
    if (params->method == RADON_ROW_FAN_IN || params->method == RADON_TENSOR ||
        params->method == RADON_TENSOR_SPLIT) {
        ts_param_error(context->set, "method", "method-beam", context->diag,
                       "'%s' knows parallel rays alone, and the beam is %s",
                       ts_choice_name(method_choices, params->method),
                       ts_beam_name((enum ts_beam_kind)params->beam));
        return ts_diag_hint(context->diag, "leave method out");
    }
    return TS_OK;
}

static enum ts_status check_tensor(const struct stage_context *context,
                                   const struct radon_params *params)
{
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    const struct tensor_grid grid = {y->n, x->n, ts_axis_spacing(y), ts_axis_spacing(x)};
    const bool split = params->method == RADON_TENSOR_SPLIT;
    return (params->method == RADON_TENSOR || split) && context->device
               ? ts_tensor_check_rays(context, &grid, params->detector_spacing, split)
               : TS_OK;
}

/* Beyond the slice the projection uses 0, which in HU is water: a patient then seems to be in
 * water. The integrals are still right as integrals, so this is not an error. */
static void warn_of_hu(const struct stage_context *context)
{
    const struct diag_site site = {
        .code = "radon-of-hu", .span = context->set->span, .stage = context->stage->name};
    if (context->in.quantity != TS_HU || context->set->resolved) /* resolved: it has been reported
                                                                  * already */
        return;
    ts_diag_warning(
        context->diag, &site,
        "the image is in HU, and what lies outside its slices counts as 0 HU, which is water");
    ts_diag_hint(context->diag,
                 "`to_attenuation: {water: 0.0206}` before it makes line integrals as a scanner "
                 "measures them, with vacuum outside; `to_hu` after a reconstruction leads back");
}

/* Rays pass through invalid pixels, which need a value: that of air, limited to the type. */
static enum ts_status resolve_padding(const struct stage_context *context,
                                      struct radon_params *params)
{
    ts_stage_default_air(context, "padding_value", &params->padding_value);
    if (!context->in.masked)
        ts_param_idle(context->set, "padding_value");
    return ts_constant_check(context, "padding_value", params->padding_value);
}

static double padding_value(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->padding_value;
}

static enum ts_status radon_resolve(const struct stage_context *context, void *values)
{
    struct radon_params *params = values;
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    const double dy = ts_axis_spacing(y), dx = ts_axis_spacing(x);
    enum ts_status status = ts_stage_needs_even(context);
    if (status == TS_OK)
        status = resolve_views(context, params);
    if (status == TS_OK)
        status = resolve_source(context, params);
    if (status == TS_OK)
        status = resolve_padding(context, params);
    if (status != TS_OK)
        return status;
    const bool fan = params->beam != TS_BEAM_PARALLEL;
    if (!ts_param_given(context->set, "arc"))
        params->arc = fan ? 360 : 180;
    if (!ts_param_given(context->set, "detector_spacing"))
        params->detector_spacing =
            (dy < dx ? dy : dx) * (fan ? params->source_detector / params->source_axis : 1);
    if (!ts_param_given(context->set, "detectors")) {
        double n = ceil(covering_mm(params, hypot((double)y->n * dy, (double)x->n * dx)) /
                        params->detector_spacing);
        /* The parity of the number of detector pixels is that of the slice's pixels, so that their
         * centers coincide instead of being half a pixel apart. */
        if (!ts_param_given(context->set, "detector_spacing"))
            n += fmod(n + (double)(dy < dx ? y->n : x->n), 2);
        if (!(n <= 1 << 20))
            return ts_param_error(
                context->set, "detectors", "too-many-detectors", context->diag,
                "covering the slice's diagonal takes %.0f detector pixels, more than 1048576", n);
        params->detectors = (int64_t)n;
    }
    if (!ts_param_given(context->set, "center"))
        params->center = 0.5 * (double)(params->detectors - 1);
    if (params->method == RADON_AUTO) {
        if (!context->device)
            params->method = RADON_JOSEPH;
        else
            params->method = context->in.axes[0].n < STACK_FROM_SLICES ? RADON_RAY : RADON_STACK;
    }
    ts_unit_times_length(context->in.unit, context->in.axes[2].unit, params->unit);
    warn_of_hu(context);
    return fan ? check_fan(context, params) : check_tensor(context, params);
}

static enum ts_status radon_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct radon_params *params = context->params;
    const struct ts_image *in = &context->in;
    const double half_y = 0.5 * (double)(in->axes[1].n - 1) * in->axes[1].spacing,
                 half_x = 0.5 * (double)(in->axes[2].n - 1) * in->axes[2].spacing;
    /* A sinogram's origin is the rotation center of its first slice. */
    for (int i = 0; i < 3; i++)
        out->origin_mm[i] += half_x * in->direction[i] + half_y * in->direction[3 + i];
    out->axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW, .n = params->views, .unit = "degree"};
    if (params->angles.values) {
        out->axes[1].positions = params->angles.values;
    } else {
        out->axes[1].first = params->start;
        out->axes[1].spacing = params->arc / (double)params->views;
    }
    out->axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                    .n = params->detectors,
                                    .spacing = params->detector_spacing,
                                    .first = -params->center * params->detector_spacing,
                                    .unit = in->axes[2].unit};
    out->beam = (struct ts_beam){(enum ts_beam_kind)params->beam, params->source_axis,
                                 params->source_detector};
    out->dtype = TS_F32;
    out->quantity = TS_LINE_INTEGRAL;
    out->unit = params->unit;
    return TS_OK;
}

/* ---- projecting ------------------------------------------------------------------------------ */

static bool by_rows(const struct stage_context *context)
{
    return ((const struct radon_params *)context->params)->method == RADON_ROW_FAN_IN;
}

static size_t radon_scratch(const struct stage_context *context, int64_t n)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    (void)n;
    return by_rows(context) ? radon_rows_scratch(&scan, context->threads)
                            : ts_joseph_project_scratch(&scan, context->threads);
}

static enum ts_status radon_map(const struct stage_context *context, const struct ts_image *in,
                                struct ts_image *out, void *scratch)
{
    const struct beam_scan scan = ts_beam_scan(&context->in, &context->out);
    (by_rows(context) ? radon_rows : ts_joseph_project)(&scan, in, out, context->threads, scratch);
    return TS_OK;
}

/* ---- transpose ------------------------------------------------------------------------------- */

/* Returns the method of backproject that divides the work as this method of radon does. */
static int32_t back_method(int32_t method)
{
    switch (method) {
    case RADON_RAY:
        return BACK_METHOD_PIXEL;
    case RADON_STACK:
        return BACK_METHOD_STACK;
    case RADON_TENSOR:
        return BACK_METHOD_TENSOR;
    case RADON_TENSOR_SPLIT:
        return BACK_METHOD_TENSOR_SPLIT;
    default:
        return BACK_METHOD_AUTO;
    }
}

/* Angles that the chain has given are not doubted again. */
static enum ts_status radon_transpose(const struct stage_context *context, struct param_set *set,
                                      struct stage_gather *gather, struct arena *arena)
{
    static const char *const names[] = {"gaps", "rows", "columns", "pixel_size", "row_spacing"};
    const struct ts_axis *y = &context->in.axes[1], *x = &context->in.axes[2];
    struct reconstruction_params *params = set->values;
    (void)gather;
    (void)arena;
    params->gaps = VIEW_GAPS_ACCEPT;
    params->rows = y->n;
    params->columns = x->n;
    params->pixel_size = ts_axis_spacing(x);
    params->row_spacing = ts_axis_spacing(y);
    params->method = back_method(((const struct radon_params *)context->params)->method);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ts_param_give(set, names[i]);
    return TS_OK;
}

static const struct stage_transpose radon_linear = {.by = "backproject",
                                                    .describe = radon_transpose};

/* ---- table ----------------------------------------------------------------------------------- */

static const struct stage_method_tolerance method_tolerances[] = {
    {"tensor",
     {.relative = 1.5e-3,
      .why = "pixels and positions are rounded to 11 bits; the errors are independent, so that the "
             "relative L2 error of a sinogram of positive values is below 5e-5 for slices from 256 "
             "pixels on; where rays sum noise around 0, it is that of a pixel, 3e-4"}},
    {0},
};

static const struct param radon_params[] = {
    BEAM_DISTANCE_PARAMS(struct radon_params),
    PARAM(struct radon_params, views, .unit = "", .min = 1, .max = 1 << 20,
          .derived = "the number of angles, else 180",
          .doc = "number of projection angles, evenly over the arc"),
    PARAM(struct radon_params, start, .unit = "degree", .init.r = 0, .min = -360, .max = 360,
          .doc = "angle of the first view"),
    PARAM(struct radon_params, arc, .unit = "degree", .derived = "180, or 360 for a fan",
          .min = -3600, .max = 3600,
          .doc = "range of the angles, its end not included: view i is at start + i * arc / views"),
    PARAM(struct radon_params, angles, .unit = "degree", .optional = true, .min = -36000,
          .max = 36000,
          .doc = "the angles one by one, in place of views, start and arc; more than 8 within 2.8 "
                 "to 6.6 degrees are an error, because radians look so"),
    PARAM(struct radon_params, detectors, .unit = "", .min = 1, .max = 1 << 20,
          .derived = "as many as the slice's diagonal takes, as the beam magnifies it; even or odd "
                     "as its pixels are",
          .doc = "number of detector samples"),
    PARAM(struct radon_params, detector_spacing, .unit = "mm", .min = 1e-6, .max = 1e6,
          .derived = "the smaller pixel spacing, times source_detector / source_axis for a fan",
          .doc = "distance of neighboring detector samples, on the detector: along its line, or "
                 "along its arc"),
    PARAM(struct radon_params, center, .rotation_axis = true, .unit = "detector", .min = -1e6,
          .max = 2e6, .derived = "(detectors - 1) / 2",
          .doc = "detector index of the rotation axis, which is also the center of the slice"),
    PARAM(struct radon_params, method, .init.choice = RADON_AUTO, .choices = method_choices,
          .unit = "", .doc = "how the same sums over pixels are worked out"),
    PARAM(struct radon_params, padding_value, .unit = "value", .derived = TS_AIR_WORDS,
          .doc = "the value that invalid pixels, such as a CT's padding, are taken for"),
};

const struct stage radon_stage = {
    .name = "radon",
    .summary = "parallel or fan-beam projections of every slice: volume to sinogram",
    .doc = "Integrates each slice along the rays `x cos(theta) + y sin(theta) = s`, with x along "
           "rising columns, y along falling rows, both in mm from the center of the slice, pixel "
           "`((ny - 1) / 2, (nx - 1) / 2)`. Detector pixel d is at `s = (d - center) * "
           "detector_spacing`. The result is (z, view, detector) in the value's unit times mm: "
           "attenuation in 1/mm gives a plain number, HU give HU mm, with a warning, because "
           "outside the slice is then water: put `to_attenuation` before it. Non-square slices and "
           "pixels are followed in mm.\n\n"
           "In a fan the source is at `source_axis * (-sin(theta), cos(theta))`, so that theta is "
           "the angle of the central ray, through the rotation axis, and detector pixel d is at `u "
           "= (d - center) * detector_spacing` from it, rising as in the parallel beam of the same "
           "theta. Its ray is turned by gamma: `tan(gamma) = u / source_detector` on a flat "
           "detector, `gamma = u / source_detector` (radian) on an arc, whose unit is so mm along "
           "the arc; the ray is the parallel one of angle `theta + gamma` and `s = source_axis * "
           "sin(gamma)` (A. C. Kak, M. Slaney, Principles of Computerized Tomographic Imaging, "
           "1988, section 3.4). A whole turn of the source sees every ray twice; 180 degrees and "
           "the fan's angle suffice.\n\n"
           "Joseph's method (P. M. Joseph, IEEE Trans. Med. Imaging 1, 1982): along a ray closer "
           "to the columns' direction, one sample in every row, interpolated linearly between two "
           "columns; along others one in every column. Outside the slice is 0. The sum is "
           "multiplied by the length of ray between two samples. The same weights, transposed, "
           "make the exact adjoint. Invalid pixels are taken for `padding_value`. A pixel that is "
           "NaN or infinite reaches every ray that it is a neighbor of.\n\n"
           "scikit-image's `radon` has its rotation center at pixel n // 2 in place of (n - 1) / "
           "2, gives sums per pixel length in place of mm, and lays its sinogram out as (detector, "
           "view); its angles turn the same way.\n\n"
           "Cost: one interpolation for each view, detector and row.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities =
        TS_QUANTITY_BIT(TS_ATTENUATION) | TS_QUANTITY_BIT(TS_HU) | TS_QUANTITY_BIT(TS_INTENSITY),
    STAGE_PARAMS(radon_params, struct radon_params),
    .resolve = radon_resolve,
    .shape = radon_shape,
    .scratch_bytes = radon_scratch,
    .map = radon_map,
    .validity = VALIDITY_ENDS,
    .transpose = &radon_linear,
    .invalid_value = padding_value,
    .cuda = STAGE_CUDA(radon_cuda),
    .bench = "views=720 detectors=512|views=720 detectors=512 beam=fan-flat source_axis=1000 "
             "source_detector=1500 detector_spacing=1.7|views=720 detectors=512 beam=fan-arc "
             "source_axis=1000 source_detector=1500 detector_spacing=1.7",
    .tolerance =
        {.relative = 1e-5,
         .why =
             "weights are rounded once to float and up to some thousand products summed in float"},
    .method_tolerances = method_tolerances,
};
