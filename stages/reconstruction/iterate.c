/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterative reconstructions share these stop rules, norms and groups of slices. By the discrepancy
 * principle (V. A. Morozov, 1966) a slice is done once ||b - A x|| is as small as noise makes it,
 * noise * sqrt(number of rays): a better fit of b would fit the noise. Norms are summed in double,
 * in an order that depends only on the sizes.
 */
#include "stages/reconstruction/iterate.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "stages/engine/stage.h"
#include "stages/geometry/view_angles.h"
#include "stages/projection/tensor_method.h"

enum { CHUNK = 512 };

const struct choice ts_iterate_stops[] = {
    {"never", STOP_NEVER, "after all iterations"},
    {"residual", STOP_RESIDUAL, "once the relative residual is at most `tolerance`"},
    {"discrepancy", STOP_DISCREPANCY,
     "once the residual is what the noise makes: at most `noise` times the root of the number of "
     "rays (Morozov)"},
    {0},
};

const struct stage_method_tolerance ts_iterate_method_tolerances[] = {
    {"tensor",
     {.relative = 1.5e-3,
      .why = "what is projected is rounded to 11 bits, and what is backprojected; errors pass from "
             "iteration to iteration"}},
    {0},
};

/* The projector has its own limits, beside those of the backprojection. If the method was chosen
 * here (`is_auto`), it becomes `stack` instead of an error. */
static enum ts_status check_tensor(const struct stage_context *context,
                                   struct reconstruction_params *volume, bool is_auto)
{
    const struct tensor_grid grid = {volume->rows, volume->columns, volume->row_spacing,
                                     volume->pixel_size};
    const double spacing = fabs(context->in.axes[2].spacing);
    const bool split = volume->method == BACK_METHOD_TENSOR_SPLIT;
    if (!(volume->method == BACK_METHOD_TENSOR || split) || !context->device)
        return TS_OK;
    if (!is_auto)
        return ts_tensor_check_rays(context, &grid, spacing, split);
    if (!ts_tensor_takes_rays(context, &grid, spacing, split))
        volume->method = BACK_METHOD_STACK;
    return TS_OK;
}

enum ts_status ts_iterate_resolve(const struct stage_context *context, void *values)
{
    struct iterate_params *params = values;
    const struct ts_image *in = &context->in;
    if (ts_views_need_angles(context) != TS_OK)
        return TS_BAD_CHAIN;
    if (params->stop != STOP_RESIDUAL)
        ts_param_idle(context->set, "tolerance");
    if (params->stop != STOP_DISCREPANCY)
        ts_param_idle(context->set, "noise");
    else if (!ts_param_given(context->set, "noise"))
        return ts_param_error(context->set, "noise", "noise-missing", context->diag,
                              "is not given, and stop: discrepancy needs it");
    params->volume.filter = ROW_FILTER_NONE;
    params->volume.cutoff = 1;
    params->volume.model = BACK_JOSEPH;
    params->volume.weights = VIEW_WEIGHTS_NONE;
    params->volume.gaps = VIEW_GAPS_ACCEPT;
    ts_unit_per_length(in->unit, in->axes[2].unit, params->volume.unit);
    const bool is_auto = params->volume.method == BACK_METHOD_AUTO;
    enum ts_status status = ts_view_angles_check_directions(context, false);
    if (status == TS_OK)
        status = ts_view_angles_check_unit(context);
    if (status == TS_OK)
        status = ts_reconstruction_resolve(context, &params->volume);
    return status == TS_OK ? check_tensor(context, &params->volume, is_auto) : status;
}

enum ts_status ts_iterate_shape(const struct stage_context *context, struct ts_image *out)
{
    const struct iterate_params *params = context->params;
    ts_reconstruction_shape(context, out);
    out->unit = params->volume.unit;
    out->quantity = ts_unit_quantity(out->unit);
    return TS_OK;
}

/* Returns true if a slice is done whose residual and sinogram have these squared norms. */
static bool is_done(const struct iterate_params *params, double residual_square,
                    double sinogram_square, double n_rays)
{
    switch (params->stop) {
    case STOP_RESIDUAL:
        return residual_square <= params->tolerance * params->tolerance * sinogram_square;
    case STOP_DISCREPANCY:
        return residual_square <= params->noise * params->noise * n_rays;
    default:
        return false;
    }
}

TS_VECTORIZED static double product_of(const float *a, const float *b, int64_t n)
{
    double sums[8] = {0}, total = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            sums[k] += (double)a[i + k] * (double)b[i + k];
    for (int k = 0; k < 8; k++)
        total += sums[k];
    for (; i < n; i++)
        total += (double)a[i] * (double)b[i];
    return total;
}

void ts_iterate_products(struct iterate_group *group, const float *a, const float *b, int64_t count,
                         int64_t row)
{
    const int64_t rows = count / row;
#pragma omp parallel for schedule(static) num_threads(group->threads)
    for (int64_t i = 0; i < group->n * rows; i++)
        group->partial[i] = product_of(a + i * row, b + i * row, row);
    for (int64_t slice = 0; slice < group->n; slice++) {
        group->square[slice] = 0;
        for (int64_t i = 0; i < rows; i++)
            group->square[slice] += group->partial[slice * rows + i];
    }
}

/* Reports how far the group is. Groups follow one another, each with the same most iterations.
 * Returns false if they may end. */
static bool iterate_report(const struct iterate_group *group, int64_t i, double residual)
{
    const int64_t most = group->params->iterations;
    const double slices_done = (double)group->z + (double)group->n * ((double)i / (double)most);
    return ts_stage_iterated(
        group->context,
        (struct stage_iteration){i, most, residual, slices_done / (double)group->in->axes[0].n});
}

bool ts_iterate_goes_on(struct iterate_group *group, int64_t i, const float *residual)
{
    bool going = false;
    double largest = 0;
    const int64_t iterations = group->params->iterations, numbers = iterations + 1;
    double *residuals = (double *)group->tables[ITERATE_RESIDUAL].data + group->z * numbers;
    uint32_t *counts = (uint32_t *)group->tables[ITERATE_COUNT].data + group->z;
    ts_iterate_products(group, residual, residual, group->n_rays, group->scan.grid.n_detectors);
    for (int64_t k = 0; k < group->n; k++) {
        if (i == 0) {
            group->sinogram_square[k] = group->square[k];
            group->done[k] = false;
            counts[k] = 0;
            for (int64_t j = 0; j < numbers; j++)
                residuals[k * numbers + j] = NAN;
        }
        if (group->done[k])
            continue;
        residuals[k * numbers + i] = group->sinogram_square[k] > 0
                                         ? sqrt(group->square[k] / group->sinogram_square[k])
                                         : group->square[k];
        largest = fmax(largest, residuals[k * numbers + i]);
        group->done[k] = is_done(group->params, group->square[k], group->sinogram_square[k],
                                 (double)group->n_rays);
        counts[k] += i < iterations && !group->done[k];
        going |= i < iterations && !group->done[k];
    }
    return iterate_report(group, i, largest) && going;
}

static void subtract_row(const void *sinogram, enum ts_dtype dtype, int64_t n, float *values)
{
    float chunk[CHUNK];
    const size_t element = ts_dtype_bytes(dtype);
    for (int64_t first = 0; first < n; first += CHUNK) {
        const int64_t left = n - first < CHUNK ? n - first : CHUNK;
        ts_load_f32(chunk, (const char *)sinogram + (size_t)first * element, dtype, (size_t)left);
        for (int64_t i = 0; i < left; i++)
            values[first + i] = chunk[i] - values[first + i];
    }
}

void ts_iterate_subtract(const struct iterate_group *group, float *residual)
{
    const struct ts_image *sinogram = group->in;
    const int64_t row = sinogram->axes[2].n, rows = sinogram->axes[1].n;
    const size_t bytes = (size_t)row * ts_dtype_bytes(sinogram->dtype);
#pragma omp parallel for schedule(static) num_threads(group->threads)
    for (int64_t i = 0; i < group->n * rows; i++)
        subtract_row((const char *)sinogram->data + (size_t)(group->z * rows + i) * bytes,
                     sinogram->dtype, row, residual + i * row);
}

/* ---- A and A' -------------------------------------------------------------------------------- */

/* These describe the group's arrays as images. */
static struct ts_image as_sinogram(const struct iterate_group *group, float *values, int64_t n)
{
    const struct beam_scan *scan = &group->scan;
    return (struct ts_image){
        .rank = 3,
        .axes = {{.n = n}, {.n = scan->n_views}, {.n = scan->grid.n_detectors}},
        .dtype = TS_F32,
        .data = values};
}

static struct ts_image as_volume(const struct iterate_group *group, float *values, int64_t n)
{
    const struct beam_geometry *grid = &group->scan.grid;
    return (struct ts_image){.rank = 3,
                             .axes = {{.n = n}, {.n = grid->n_rows}, {.n = grid->n_columns}},
                             .dtype = TS_F32,
                             .data = values};
}

void ts_iterate_project(const struct iterate_group *group, float *volume, float *sinogram,
                        int64_t n)
{
    const struct ts_image in = as_volume(group, volume, n);
    struct ts_image out = as_sinogram(group, sinogram, n);
    ts_joseph_project(&group->scan, &in, &out, group->threads, group->projecting);
}

void ts_iterate_backproject(const struct iterate_group *group, float *sinogram, float *volume,
                            int64_t n)
{
    const struct ts_image in = as_sinogram(group, sinogram, n);
    struct ts_image out = as_volume(group, volume, n);
    ts_joseph_backproject(&group->scan, &in, &out, group->threads, group->projecting);
}

/* ---- groups and tables ----------------------------------------------------------------------- */

int ts_iterate_tables(const struct stage_context *context, struct stage_table tables[STAGE_TABLES])
{
    const struct iterate_params *params = context->params;
    const struct ts_axis *z = &context->in.axes[0];
    const struct ts_axis iteration = {
        .kind = TS_AXIS_ITEM, .n = params->iterations + 1, .unit = "", .name = "iteration"};
    tables[ITERATE_RESIDUAL] = (struct stage_table){
        .name = "residual",
        .doc = "||b - A x|| / ||b|| after 0, 1, ... iterations; the first is 1, the last that of "
               "the image, and NaN follows where the slice was done earlier",
        .image = {.rank = 2,
                  .axes = {*z, iteration},
                  .dtype = TS_F64,
                  .quantity = TS_INTENSITY,
                  .unit = "1"}};
    tables[ITERATE_COUNT] = (struct stage_table){
        .name = "iterations",
        .doc = "iterations that were carried out",
        .image = {.rank = 1, .axes = {*z}, .dtype = TS_U32, .quantity = TS_INTENSITY, .unit = ""}};
    return ITERATE_TABLES;
}

/* Returns a group with arrays for n slices. */
static struct iterate_group lay_out(const struct stage_context *context,
                                    const struct iterate_needs *needs, int64_t n,
                                    struct memory_layout *layout)
{
    const struct beam_scan scan = ts_reconstruction_scan(context);
    struct iterate_group group = {.context = context,
                                  .params = context->params,
                                  .scan = scan,
                                  .threads = context->threads,
                                  .n = n,
                                  .n_rays = scan.n_views * scan.grid.n_detectors,
                                  .n_pixels = scan.grid.n_rows * scan.grid.n_columns,
                                  .tables = context->tables};
    const int64_t rows = scan.n_views > scan.grid.n_rows ? scan.n_views : scan.grid.n_rows;
    const size_t rays = (size_t)group.n_rays * sizeof(float),
                 pixels = (size_t)group.n_pixels * sizeof(float),
                 forth = ts_joseph_project_scratch(&scan, context->threads),
                 back = ts_joseph_backproject_scratch(&scan, n, context->threads);
    for (int i = 0; i < needs->volumes; i++)
        group.volumes[i] = ts_layout_add(layout, (size_t)n * pixels);
    for (int i = 0; i < needs->sinograms; i++)
        group.sinograms[i] = ts_layout_add(layout, (size_t)n * rays);
    if (needs->weights) {
        group.ray_weights = ts_layout_add(layout, rays);
        group.pixel_weights = ts_layout_add(layout, pixels);
    }
    group.partial = ts_layout_add(layout, (size_t)(n * rows) * sizeof(double));
    group.projecting = ts_layout_add(layout, forth > back ? forth : back);
    return group;
}

static int64_t group_slices(int64_t left)
{
    return left < ITERATE_GROUP ? left : ITERATE_GROUP;
}

size_t ts_iterate_scratch(const struct stage_context *context, const struct iterate_needs *needs,
                          int64_t n)
{
    struct memory_layout layout = {0};
    lay_out(context, needs, group_slices(n), &layout);
    return layout.bytes;
}

enum ts_status ts_iterate_map(const struct stage_context *context,
                              const struct iterate_needs *needs, iterate_run *begin,
                              iterate_run *run, const struct ts_image *in, struct ts_image *out,
                              void *scratch)
{
    const int64_t nz = out->axes[0].n;
    struct memory_layout layout = {.base = scratch};
    struct iterate_group group = lay_out(context, needs, group_slices(nz), &layout);
    group.in = in;
    if (begin)
        begin(&group);
    for (; group.z < nz; group.z += group.n) {
        group.n = group_slices(nz - group.z);
        group.image = (float *)out->data + group.z * group.n_pixels;
        memset(group.image, 0, (size_t)(group.n * group.n_pixels) * sizeof *group.image);
        run(&group);
    }
    return TS_OK;
}
