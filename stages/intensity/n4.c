/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of the stage n4, the gathering of samples, and the map on the CPU. n4_fit.c finds the
 * field. The total has a place for every sample of the volume, so that it does not depend on slabs,
 * threads, processes or devices; each fills in the slices that it sees.
 */
#include "stages/intensity/n4.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/description.h"
#include "stages/engine/validity.h"
#include "stages/intensity/n4_fit.h"
#include "stages/values/log_f32.h"

enum { LATTICE_MOST = 1 << 20, CHUNK = 1024 };
static const struct choice convention_choices[] = {
    {"itk", N4_ITK,
     "where ITK, SimpleITK and ANTs take them to be: the first and the last at the ends of the "
     "axis"},
    {"exact", N4_EXACT, "where they were taken"},
    {0},
};
static const double iterations_default[] = {50, 50, 50, 50}, points_default[] = {4, 4, 4};

static const struct param n4_params[] = {
    PARAM(struct n4_params, mask, .optional = true,
          .doc = "an image of the same shape: the field is estimated where it is not 0; absent: "
                 "everywhere"),
    PARAM(struct n4_params, weights, .optional = true,
          .doc = "an image of the same shape: how much a voxel counts for the field, such as the "
                 "probability of white matter; 0 and less: not at all; absent: all count alike"),
    PARAM(struct n4_params, shrink, .unit = "pixel", .min = 1, .max = 64, .init.i = 4,
          .doc = "the field is estimated from every shrink-th voxel along each axis"),
    PARAM(struct n4_params, iterations, .derived = "[50, 50, 50, 50]", .min = 0, .max = 10000,
          .doc = "the most iterations of each level; a level has twice the spline's spans of the "
                 "one before"),
    PARAM(struct n4_params, threshold, .min = 0, .max = 1, .init.r = 0.001,
          .doc =
              "a level ends once an iteration has changed the field by no more, as a coefficient "
              "of variation; 0: after all iterations"),
    PARAM(struct n4_params, control_points, .derived = "4, or from spline_distance", .min = 4,
          .max = 64,
          .doc = "control points of the first level: one number for all axes, or [x, y, z]; 3 more "
                 "than spans"),
    PARAM(struct n4_params, spline_distance, .unit = "mm", .min = 1e-3, .max = 1e6,
          .derived = "none; the spans of `control_points` fill the volume",
          .doc = "length of a span of the first level, instead of `control_points`"),
    PARAM(struct n4_params, bins, .min = 4, .max = N4_BINS_MAX, .init.i = 200,
          .doc = "bins of the histogram that is sharpened"),
    PARAM(struct n4_params, fwhm, .min = 1e-3, .max = 10, .init.r = 0.15,
          .doc = "full width at half maximum of the Gaussian by which the field is taken to blur "
                 "the histogram of the logarithms"),
    PARAM(struct n4_params, noise, .min = 1e-6, .max = 1e3, .init.r = 0.01,
          .doc = "noise of the Wiener filter that takes the blur off"),
    PARAM(struct n4_params, convention, .choices = convention_choices, .init.choice = N4_ITK,
          .doc = "where the samples that `shrink` leaves are in the volume"),
    PARAM(struct n4_params, field, .init.b = false,
          .doc = "keep the field, by which the image is divided, as the table `field`"),
};

STAGE_PARAMS_OF(n4_params)

/* ---- checks ---------------------------------------------------------------------------------- */

static enum ts_status n4_check_list(const struct stage_context *context, const char *name,
                                    const struct ts_numbers *list, const char *hint)
{
    bool whole = list->rows == 1;
    for (int64_t i = 0; i < list->columns; i++)
        whole &= list->values[i] == floor(list->values[i]);
    const bool points = !strcmp(name, "control_points");
    if (whole &&
        (points ? list->columns == 1 || list->columns == 3 : list->columns <= N4_LEVELS_MAX))
        return TS_OK;
    ts_param_error(context->set, name, "n4-list", context->diag,
                   "%" PRId64 " rows of %" PRId64 " numbers%s", list->rows, list->columns,
                   whole ? "" : ", not all of them whole");
    return ts_diag_hint(context->diag, "%s", hint);
}

/* Fills in the defaults of lists, and refuses `spline_distance` without spacing. */
static enum ts_status n4_resolve_lists(const struct stage_context *context,
                                       struct n4_params *params)
{
    const bool distance = ts_param_given(context->set, "spline_distance"),
               points = ts_param_given(context->set, "control_points");
    if (!ts_param_given(context->set, "iterations"))
        params->iterations = (struct ts_numbers){1, 4, iterations_default};
    if (distance && points)
        return ts_param_error(context->set, "control_points", "parameter-unused", context->diag,
                              "is not used with spline_distance");
    for (int d = 0; distance && d < 3; d++) {
        const struct ts_axis *axis = &context->in.axes[d];
        if (axis->n > 1 && !(ts_axis_mm(axis) > 0)) {
            ts_param_error(context->set, "spline_distance", "n4-spacing", context->diag,
                           "the distance of neighbors along %s is not known in mm",
                           ts_axis_name(axis));
            return ts_diag_hint(context->diag, "`control_points` needs none");
        }
    }
    ts_param_idle(context->set, distance ? "control_points" : "spline_distance");
    if (!distance)
        params->spline_distance = 0;
    if (!points)
        params->control_points = (struct ts_numbers){1, 3, points_default};
    const enum ts_status status =
        n4_check_list(context, "iterations", &params->iterations,
                      "one whole number for each level, 8 levels at most: [50, 50, 30, 20]");
    return status == TS_OK ? n4_check_list(context, "control_points", &params->control_points,
                                           "one whole number for all axes, or [x, y, z]")
                           : status;
}

static enum ts_status n4_resolve(const struct stage_context *context, void *values)
{
    struct n4_params *params = values;
    enum ts_status status = n4_resolve_lists(context, params);
    if (status == TS_OK)
        status = ts_stage_check_mask(context);
    if (status == TS_OK && context->references[N4_WEIGHTS])
        status = ts_stage_same_shape(context, N4_WEIGHTS);
    if (status != TS_OK)
        return status;
    const struct n4_grid grid = ts_n4_grid(context);
    double points = 1;
    for (int d = 0; d < 3; d++)
        points *= ldexp((double)grid.axes[d].spans, grid.levels - 1) + N4_TAPS - 1;
    if (points <= LATTICE_MOST)
        return TS_OK;
    ts_param_error(context->set, "iterations", "n4-lattice", context->diag,
                   "the last level would have %.0f control points, and %d are the limit", points,
                   LATTICE_MOST);
    return ts_diag_hint(context->diag,
                        "fewer levels, fewer control_points or a longer spline_distance");
}

static enum ts_status n4_shape(const struct stage_context *context, struct ts_image *out)
{
    (void)context;
    out->dtype = TS_F32;
    return TS_OK;
}

static bool n4_streams(const struct stage_context *context, int reference)
{
    (void)context;
    return reference == N4_MASK || reference == N4_WEIGHTS;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A partial result: which slices of samples it has, their logarithms, and their weights if any are
 * given. */
struct partial {
    unsigned char *has;
    float *logs, *weights;
};

static struct partial n4_partial(const struct stage_context *context, const struct n4_grid *grid,
                                 struct memory_layout *layout)
{
    const size_t bytes = (size_t)ts_n4_samples(grid) * sizeof(float);
    struct partial partial = {0};
    partial.has = ts_layout_add(layout, (size_t)grid->axes[0].samples);
    partial.logs = ts_layout_add(layout, bytes);
    if (context->references[N4_WEIGHTS])
        partial.weights = ts_layout_add(layout, bytes);
    return partial;
}

/* With a device it holds the record that the device leaves, or the samples of several devices that
 * are joined on the host. */
static size_t n4_partial_bytes(const struct stage_context *context, int input)
{
    const struct n4_grid grid = ts_n4_grid(context);
    struct memory_layout layout = {0};
    n4_partial(context, &grid, &layout);
    const size_t record = ts_n4_record_doubles(&grid) * sizeof(double);
    if (input > 0)
        return 0;
    if (context->device && (!context->joined || record > layout.bytes))
        return record;
    return layout.bytes;
}

/* Where a row is taken from, and where its samples go. */
struct row {
    const struct ts_image *slices;
    bool masked; /* slices[1 + N4_MASK] is given */
    int64_t z, y, nx;
    const struct n4_axis *axis;
    float *logs, *weights;
};

/* Loads values [x, x + n) of the row of an image. */
static void n4_load(const struct row *row, int image, int64_t x, int64_t n, float *values)
{
    const struct ts_image *slices = &row->slices[image];
    const char *at = (const char *)ts_slice_data(slices, row->z) +
                     (size_t)(row->y * row->nx + x) * ts_dtype_bytes(slices->dtype);
    ts_load_f32(values, at, slices->dtype, (size_t)n);
}

static bool n4_is_valid(const struct row *row, int image, size_t pixel)
{
    const uint64_t *valid = ts_slice_valid(&row->slices[image], row->z);
    return !valid || ts_valid_at(valid, pixel);
}

/* Takes the samples of voxels [x, x + n) of a row: values, or 0 if they do not count. */
static void n4_take(const struct row *row, int64_t x, int64_t n)
{
    float values[CHUNK], mask[CHUNK], weights[CHUNK];
    const struct n4_axis *axis = row->axis;
    n4_load(row, 0, x, n, values);
    if (row->masked)
        n4_load(row, 1 + N4_MASK, x, n, mask);
    if (row->weights)
        n4_load(row, 1 + N4_WEIGHTS, x, n, weights);
    const int64_t behind = x > axis->first ? x - axis->first + axis->step - 1 : 0;
    for (int64_t i = behind / axis->step; i < axis->samples; i++) {
        const int64_t at = axis->first + i * axis->step - x;
        if (at >= n)
            break;
        const size_t pixel = (size_t)(row->y * row->nx + x + at);
        bool counts = n4_is_valid(row, 0, pixel);
        if (row->masked)
            counts = counts && n4_is_valid(row, 1 + N4_MASK, pixel) && mask[at] != 0 &&
                     mask[at] == mask[at];
        if (row->weights) {
            counts = counts && n4_is_valid(row, 1 + N4_WEIGHTS, pixel) && weights[at] > 0 &&
                     weights[at] <= FLT_MAX;
            row->weights[i] = counts ? weights[at] : 0;
        }
        row->logs[i] = counts ? values[at] : 0;
    }
}

/* Values of 0 and less, NaN and infinite ones do not count. */
TS_VECTORIZED static void n4_logarithms(float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float value = values[i];
        const int32_t counts = (value > 0) & (value <= FLT_MAX);
        const float logarithm = ts_log_f32(counts ? value : 1);
        values[i] = counts ? logarithm : NAN;
    }
}

static void n4_add(const struct stage_context *context, int input, const struct ts_image *slices,
                   void *at)
{
    const struct n4_grid grid = ts_n4_grid(context);
    const struct n4_axis *axes = grid.axes;
    struct memory_layout layout = {.base = at};
    const struct partial partial = n4_partial(context, &grid, &layout);
    (void)input;
#pragma omp parallel for schedule(dynamic, 8) num_threads(context->threads)
    for (int64_t i = 0; i < axes[0].samples * axes[1].samples; i++) {
        const int64_t k = i / axes[1].samples, j = i % axes[1].samples,
                      z = axes[0].first + k * axes[0].step - slices->z_first,
                      to = i * axes[2].samples;
        if (z < 0 || z >= slices->axes[0].n)
            continue;
        if (j == 0)
            partial.has[k] = 1;
        const struct row row = {.slices = slices,
                                .masked = context->references[N4_MASK] != NULL,
                                .z = z,
                                .y = axes[1].first + j * axes[1].step,
                                .nx = axes[2].n,
                                .axis = &axes[2],
                                .logs = partial.logs + to,
                                .weights = partial.weights ? partial.weights + to : NULL};
        for (int64_t x = 0; x < row.nx; x += CHUNK)
            n4_take(&row, x, row.nx - x < CHUNK ? row.nx - x : CHUNK);
        n4_logarithms(row.logs, axes[2].samples);
    }
}

static void n4_merge(const struct stage_context *context, int input, void *into, const void *from)
{
    const struct n4_grid grid = ts_n4_grid(context);
    struct memory_layout layout = {.base = into}, others = {.base = (void *)from};
    const struct partial to = n4_partial(context, &grid, &layout),
                         other = n4_partial(context, &grid, &others);
    const int64_t plane = grid.axes[1].samples * grid.axes[2].samples;
    (void)input;
    for (int64_t k = 0; k < grid.axes[0].samples; k++) {
        if (!other.has[k])
            continue;
        to.has[k] = 1;
        memcpy(to.logs + k * plane, other.logs + k * plane, (size_t)plane * sizeof(float));
        if (to.weights)
            memcpy(to.weights + k * plane, other.weights + k * plane,
                   (size_t)plane * sizeof(float));
    }
}

/* ---- result ---------------------------------------------------------------------------------- */

static size_t n4_result_bytes(const struct stage_context *context)
{
    const struct n4_grid grid = ts_n4_grid(context);
    return context->device ? ts_n4_record_doubles(&grid) * sizeof(double)
                           : ts_n4_fit_bytes(context);
}

static void n4_write_tables(const struct n4_grid *grid, const struct n4_record *record,
                            const struct ts_image *tables)
{
    memcpy(tables[0].data, record->convergence, ts_image_bytes(&tables[0]));
    for (int level = 0; level < grid->levels; level++)
        ((uint32_t *)tables[1].data)[level] = (uint32_t)record->iterations[level];
    memcpy(tables[2].data, record->lattice, ts_image_bytes(&tables[2]));
}

/* A device has found the field itself: its record takes the place of the samples. */
static enum ts_status n4_finish(const struct stage_context *context, const void *const totals[],
                                void *result, const struct ts_image *tables)
{
    const struct n4_grid grid = ts_n4_grid(context);
    if (context->device) {
        memcpy(result, totals[0], ts_n4_record_doubles(&grid) * sizeof(double));
    } else {
        struct memory_layout layout = {.base = (void *)totals[0]};
        const struct partial partial = n4_partial(context, &grid, &layout);
        ts_n4_fit(context, partial.logs, partial.weights, result);
    }
    const struct n4_record record = ts_n4_record(&grid, result);
    if (!(*record.counted > 0) && context->diag) {
        ts_diag_warning(context->diag,
                        &(struct diag_site){.code = "n4-empty",
                                            .span = context->set->span,
                                            .stage = context->set->owner},
                        "no voxel counts for the field, so the image is left as it is");
        ts_diag_hint(context->diag, "it needs voxels above 0 that are valid, where the mask and "
                                    "the weights are not 0");
    }
    n4_write_tables(&grid, &record, tables);
    return TS_OK;
}

static int n4_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    const struct n4_grid grid = ts_n4_grid(context);
    const int last = grid.levels - 1;
    const struct ts_axis level = {
        .kind = TS_AXIS_ITEM, .n = grid.levels, .unit = "", .name = "level"};
    const struct ts_axis iteration = {
        .kind = TS_AXIS_ITEM, .n = grid.most, .unit = "", .name = "iteration"};
    const struct ts_image none = {.quantity = TS_INTENSITY, .unit = "1"};
    for (int i = 0; i < 3; i++)
        tables[i] = (struct stage_table){.image = none};
    tables[0].name = "convergence";
    tables[0].doc = "coefficient of variation by which each iteration has changed the field; NaN: "
                    "it was not carried out";
    tables[0].image.dtype = TS_F64;
    tables[0].image.rank = 2;
    tables[0].image.axes[0] = level;
    tables[0].image.axes[1] = iteration;
    tables[1].name = "iterations";
    tables[1].doc = "iterations that each level has carried out";
    tables[1].image.dtype = TS_U32;
    tables[1].image.rank = 1;
    tables[1].image.axes[0] = level;
    tables[2].name = "control_points";
    tables[2].doc = "control points of the field's logarithm, of the last level";
    tables[2].image.dtype = TS_F64;
    tables[2].image.rank = 3;
    for (int d = 0; d < 3; d++)
        tables[2].image.axes[d] =
            (struct ts_axis){.kind = TS_AXIS_ITEM,
                             .n = ts_n4_points(&grid, last, d),
                             .unit = "",
                             .name = (const char *[]){"point_z", "point_y", "point_x"}[d]};
    return 3;
}

static const struct stage_reduction reduction = {
    .exact = true, /* every sample has a place of its own */
    .feeds_map = true,
    .partial_bytes = n4_partial_bytes,
    .add = n4_add,
    .merge = n4_merge,
    .result_bytes = n4_result_bytes,
    .finish = n4_finish,
    .tables = n4_tables,
};

/* ---- map ------------------------------------------------------------------------------------- */

static int n4_map_tables(const struct stage_context *context,
                         struct stage_table tables[STAGE_TABLES])
{
    if (!params_of(context)->field)
        return 0;
    tables[0] =
        (struct stage_table){.name = "field", .doc = "the field, by which the image is divided"};
    tables[0].image.rank = 3;
    memcpy(tables[0].image.axes, context->in.axes, 3 * sizeof *context->in.axes);
    tables[0].image.dtype = TS_F32;
    tables[0].image.quantity = TS_INTENSITY;
    tables[0].image.unit = "1";
    return 1;
}

/* The taps of all voxels at the last level, and buffers of a thread. */
struct map {
    struct n4_grid grid;
    int64_t points[3];
    struct n4_taps taps[3];
    double *planes;
    float *rows;
    size_t plane, row; /* elements of a thread's part: its rows, and one of the field */
};

static struct map n4_lay_out_map(const struct stage_context *context, struct memory_layout *layout)
{
    struct map map = {.grid = ts_n4_grid(context)};
    for (int d = 0; d < 3; d++) {
        map.points[d] = ts_n4_points(&map.grid, map.grid.levels - 1, d);
        map.taps[d] = ts_n4_taps(layout, map.grid.axes[d].n);
    }
    map.plane = (size_t)(map.points[1] * map.points[2]);
    map.row = (size_t)((map.points[1] + 1) * map.grid.axes[2].n);
    map.planes = ts_layout_add(layout, (size_t)context->threads * map.plane * sizeof(double));
    map.rows = ts_layout_add(layout, (size_t)context->threads * map.row * sizeof(float));
    return map;
}

static size_t n4_scratch_bytes(const struct stage_context *context, int64_t n)
{
    struct memory_layout layout = {0};
    (void)n;
    n4_lay_out_map(context, &layout);
    return layout.bytes;
}

/* Writes the logarithm of the field, from the rows of its span. */
TS_VECTORIZED static void n4_sum_row(const float *restrict rows, int64_t n, const float *restrict b,
                                     float *restrict sums)
{
    for (int64_t x = 0; x < n; x++)
        sums[x] = ts_n4_sum(b, rows[x], rows[n + x], rows[2 * n + x], rows[3 * n + x]);
}

TS_VECTORIZED static void n4_divide_row(const float *restrict sums, int64_t n,
                                        float *restrict values)
{
    for (int64_t x = 0; x < n; x++)
        values[x] *= ts_n4_exp(-sums[x]);
}

TS_VECTORIZED static void n4_field_row(const float *restrict sums, int64_t n, float *restrict field)
{
    for (int64_t x = 0; x < n; x++)
        field[x] = ts_n4_exp(sums[x]);
}

static void n4_map_slice(const struct stage_context *context, const struct map *map,
                         const struct ts_image *in, const struct ts_image *out, int64_t z)
{
    const int64_t ny = map->grid.axes[1].n, nx = map->grid.axes[2].n, at = out->z_first + z;
    const size_t thread = (size_t)omp_get_thread_num();
    const struct n4_record record = ts_n4_record(&map->grid, (double *)context->result);
    float *rows = map->rows + thread * map->row, *sums = rows + map->row - nx,
          *values = ts_slice_data(out, z);
    ts_n4_rows(record.lattice, map->points, map->taps[0].spans[at],
               map->taps[0].field + at * N4_TAPS, &map->taps[2], nx,
               map->planes + thread * map->plane, rows);
    ts_load_f32(values, ts_slice_data(in, z), in->dtype, (size_t)(ny * nx));
    for (int64_t y = 0; y < ny; y++) {
        n4_sum_row(rows + map->taps[1].spans[y] * nx, nx, map->taps[1].field + y * N4_TAPS, sums);
        n4_divide_row(sums, nx, values + y * nx);
        if (params_of(context)->field)
            n4_field_row(sums, nx, (float *)ts_slice_data(&context->tables[0], z) + y * nx);
    }
}

static enum ts_status n4_map(const struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out, void *scratch)
{
    struct memory_layout layout = {.base = scratch};
    const struct map map = n4_lay_out_map(context, &layout);
    for (int d = 0; d < 3; d++)
        ts_n4_taps_fill(&map.grid.axes[d], map.grid.levels - 1, true, &map.taps[d]);
#pragma omp parallel for schedule(dynamic, 1) num_threads(context->threads)
    for (int64_t z = 0; z < out->axes[0].n; z++)
        n4_map_slice(context, &map, in, out, z);
    return TS_OK;
}

static const char no_ct[] = "a CT has no bias field; if the values are of an MR, say "
                            "`quantity: intensity` at the input";

const struct stage n4_stage = {
    .name = "n4",
    .summary = "take the bias field off an MR image (N4ITK)",
    .doc =
        "Coils see the parts of the body near them brighter than others. This estimates that "
        "smooth field and divides by it, by N4 (N. J. Tustison et al., *N4ITK: improved N3 bias "
        "correction*, IEEE Trans. Med. Imaging 29, 2010).\n\n"
        "A field blurs the histogram of the logarithms. Each iteration takes the field so far off, "
        "sharpens the histogram (deconvolution by a Gaussian of width `fwhm`, with a Wiener filter "
        "of `noise`; J. G. Sled et al., 1998), and so knows for each value which one it should "
        "have been; the differences are smoothed by cubic B-splines (S. Lee et al., 1997) and "
        "added to the field's logarithm. Once a level has converged (`threshold`) or done its "
        "`iterations`, the next one has twice the spans along each axis.\n\n"
        "**What counts.** Only voxels above 0 have a logarithm; others, NaN, infinite and invalid "
        "voxels, and those that `mask` and `weights` leave out have no part in the estimate. "
        "Without a mask the air around the body counts too, and its noise spoils the field: give "
        "one, by `threshold: {method: otsu}` or from elsewhere. All voxels are divided, those "
        "outside of the mask too; invalid ones stay invalid. If no voxel counts, the image stays "
        "as it is, with a warning.\n\n"
        "**As ITK and ANTs have it.** `iterations` and `threshold` are ANTs' `-c "
        "[50x50x30x20,0.001]` and ITK's MaximumNumberOfIterations and ConvergenceThreshold; "
        "`shrink` is `-s`, `mask` `-x`, `weights` `-w`; `fwhm`, `noise` and `bins` are `-t "
        "[0.15,0.01,200]`. `control_points` is ITK's NumberOfControlPoints, 3 more than "
        "the elements of ANTs' mesh. `spline_distance` is "
        "`-b [200]`, in mm. With the same mask and samples the result is SimpleITK's; it differs "
        "if ITK counts voxels of 0 and less, which it does without taking their logarithm, and if "
        "it takes other samples: between two voxels that are equally near it chooses by rounding "
        "errors. ITK moves the samples apart to the ends of the axis, by up to shrink - 1 voxels; "
        "`convention: exact` leaves them where they are.\n\n"
        "Nothing fixes the mean of the field: N4 changes the scale of the image, by some percent "
        "or by half. "
        "`rescale` after it makes images comparable.\n\n"
        "**Tables.** `convergence` has the change of the field after each iteration (NaN: there "
        "was none), `iterations` how many each level took, `control_points` those of the field's "
        "logarithm at the last level, and `field`, if it is asked for, the field itself. The "
        "output is f32.\n\n"
        "**Cost.** An iteration takes about 5 ns for each sample on one thread, and 4 bytes of "
        "memory a sample are held, on the CPU once more for each thread.",
    .axes = AXES_VOLUME,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_QUANTITY_BIT(TS_INTENSITY),
    .quantity_hints = {[TS_HU] = no_ct},
    STAGE_PARAMS(n4_params, struct n4_params),
    .traits = TRAIT_ENDS_LABELS,
    .resolve = n4_resolve,
    .shape = n4_shape,
    .streams_with_input = n4_streams,
    .reduction = &reduction,
    .tables = n4_map_tables,
    .scratch_bytes = n4_scratch_bytes,
    .map = n4_map,
    .validity = VALIDITY_SAME,
    .cuda = STAGE_CUDA(n4_cuda),
    .bench = "iterations=50,50,30,20 threshold=0|shrink=1 iterations=10,10,10,10 threshold=0",
    .tolerance = {.relative = 2e-5, .why = "errors of float sums pass from iteration to iteration"},
};
