/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt: x <- x + relaxation * C A' R (b - A x), from x = 0; (z, view, detector) -> (z, y, x), f32. A is Joseph's
 * projector of stages/projection/joseph.h and A' its exact adjoint; R and C are diagonal, one over the sums of A's rows
 * and columns, and 0 where a sum is 0.
 *
 * Slices go in groups of 16, side by side in A and A'. Every sum of a slice has an order fixed by the sizes alone.
 */
#include "stages/reconstruction/sirt.h"

#include <string.h>

#include "stages/geometry/line_integrals.h"
#include "stages/values/finite_values.h"

/* ---- iterating --------------------------------------------------------------------------------- */

/* A group of slices on its way. */
struct sirt_group {
    struct iterate_group base;
    const struct sirt_params *params;
    float *ray_weights, *pixel_weights; /* R, and relaxation times C */
    float *residual, *change;
};

static void fill(float *values, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = value;
}

static void invert_sums(float *sums, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] = sums[i] > 0 ? factor / sums[i] : 0;
}

static void find_weights(struct sirt_group *group)
{
    const struct iterate_group *base = &group->base;
    fill(group->change, base->n_pixels, 1);
    ts_iterate_project(base, group->change, group->ray_weights, 1);
    invert_sums(group->ray_weights, base->n_rays, 1);
    fill(group->residual, base->n_rays, 1);
    ts_iterate_backproject(base, group->residual, group->pixel_weights, 1);
    invert_sums(group->pixel_weights, base->n_pixels, (float)group->params->relaxation);
}

/* R times the residual. */
static void weigh(const struct sirt_group *group)
{
    const int64_t row = group->base.scan.grid.n_detectors, rows = group->base.scan.n_views;
#pragma omp parallel for schedule(static) num_threads(group->base.threads)
    for (int64_t i = 0; i < group->base.n * rows; i++) {
        float *to = group->residual + i * row;
        const float *weights = group->ray_weights + i % rows * row;
        for (int64_t d = 0; d < row; d++)
            to[d] *= weights[d];
    }
}

/* x + relaxation * C * change where the slice goes on. */
static void add_change(const struct sirt_group *group, float *image)
{
    const int64_t row = group->base.scan.grid.n_columns, rows = group->base.scan.grid.n_rows;
    const bool nonnegative = group->params->nonnegative;
#pragma omp parallel for schedule(static) num_threads(group->base.threads)
    for (int64_t i = 0; i < group->base.n * rows; i++) {
        float *to = image + i * row;
        const float *change = group->change + i * row, *weights = group->pixel_weights + i % rows * row;
        if (group->base.done[i / rows])
            continue;
        for (int64_t x = 0; x < row; x++) {
            const float value = to[x] + weights[x] * change[x];
            to[x] = nonnegative && value < 0 ? 0 : value;
        }
    }
}

/* All iterations of the group's slices. */
static void iterate(struct sirt_group *group, const struct ts_image *in, float *image)
{
    struct iterate_group *base = &group->base;
    memset(image, 0, (size_t)(base->n * base->n_pixels) * sizeof *image);
    for (int64_t i = 0;; i++) {
        if (i == 0)
            memset(group->residual, 0, (size_t)(base->n * base->n_rays) * sizeof *group->residual);
        else
            ts_iterate_project(base, image, group->residual, base->n);
        ts_iterate_subtract(base, in, group->residual);
        if (!ts_iterate_goes_on(base, i, group->residual))
            break;
        weigh(group);
        ts_iterate_backproject(base, group->residual, group->change, base->n);
        add_change(group, image);
    }
}

/* Lays out the arrays for n slices in `room`, which may be NULL; returns the bytes. */
static size_t lay_out(struct sirt_group *group, int64_t n, unsigned char *room)
{
    const size_t rays = (size_t)group->base.n_rays * sizeof(float),
                 pixels = (size_t)group->base.n_pixels * sizeof(float);
    size_t used = 0;
    group->ray_weights = ts_iterate_take(room, &used, rays);
    group->pixel_weights = ts_iterate_take(room, &used, pixels);
    group->residual = ts_iterate_take(room, &used, (size_t)n * rays);
    group->change = ts_iterate_take(room, &used, (size_t)n * pixels);
    ts_iterate_lay_out(&group->base, n, room, &used);
    return used;
}

static struct sirt_group group_of(const struct stage_context *context)
{
    return (struct sirt_group){.base = ts_iterate_group(context), .params = context->params};
}

static size_t sirt_scratch(const struct stage_context *context, int64_t n)
{
    struct sirt_group group = group_of(context);
    return lay_out(&group, n < ITERATE_GROUP ? n : ITERATE_GROUP, NULL);
}

static enum ts_status sirt_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                               void *scratch)
{
    struct sirt_group group = group_of(context);
    const int64_t nz = out->axes[0].n, most = nz < ITERATE_GROUP ? nz : ITERATE_GROUP;
    lay_out(&group, most, scratch);
    find_weights(&group);
    for (int64_t z = 0; z < nz; z += group.base.n) {
        group.base.z = z;
        group.base.n = nz - z < most ? nz - z : most;
        iterate(&group, in, (float *)out->data + z * group.base.n_pixels);
    }
    return TS_OK;
}

/* ---- table ------------------------------------------------------------------------------------- */

static const struct param sirt_rows[] = {
    ITERATE_ROWS(100),
    PARAM(struct sirt_params, relaxation, .unit = "", .init.r = 1, .min = 1e-6, .max = 1.999,
          .doc = "factor of every step; less is slower and steadier, 2 and more does not converge"),
    PARAM(struct sirt_params, nonnegative, .unit = "", .init.b = false,
          .doc = "whether values below 0 become 0 after every iteration"),
    RECONSTRUCTION_ROWS,
};

const struct stage sirt_stage = {
    .name = "sirt",
    .summary = "simultaneous iterative reconstruction: sinogram to volume",
    .doc =
        "Starts with `x = 0` and repeats `x <- x + relaxation * C A' R (b - A x)`, with b the sinogram, A the sums "
        "along its rays (`radon`'s: Joseph's method) and A' their exact adjoint. R and C are one over the sums of A's "
        "rows and columns, 0 where a sum is 0. With `nonnegative` values below 0 become 0 after every step. (P. "
        "Gilbert, J. Theor. Biol. 36, 1972; J. Gregor, T. Benson, IEEE Trans. Med. Imaging 27, 2008.)\n\n"
        "It minimizes the residual in R's norm, whatever the angles and the beam; noise and the finest details come "
        "with the number of iterations, so that stopping early smooths. Each slice stops for itself. Line integrals "
        "over mm give attenuation in 1/mm.\n\n"
        "`method` is that of A' in `backproject`, and A is `radon`'s by the same one (`ray` for `pixel`): both take "
        "the very "
        "same weights. By `tensor` what they are applied to is rounded to 11 bits in each iteration.\n\n"
        "A value that is NaN or infinite would spoil its whole slice, and ends the run. Angles that look like "
        "radians are an error, and so are views that all look in one direction, one alone included.\n\n"
        "The table `residual` has the relative residual after 0, 1, ... iterations, the last of them that of the image "
        "itself, which takes a projection of its own at the end. `tomostage plot` draws the residuals of a file.\n\n"
        "Cost: one projection and one backprojection an iteration, and one projection more.",
    .axes = AXES_SINOGRAM,
    .dtypes = TS_ANY_DTYPE,
    .quantities = TS_QUANTITY_BIT(TS_LINE_INTEGRAL),
    .quantity_hints = LINE_INTEGRAL_HINTS,
    .beams = TS_ANY_BEAM,
    STAGE_PARAMS(sirt_rows, struct sirt_params),
    .resolve = ts_iterate_resolve,
    .shape = ts_iterate_shape,
    .reduction = &ts_finite_reduction,
    .tables = ts_iterate_tables,
    .scratch_bytes = sirt_scratch,
    .map = sirt_map,
    .cuda = STAGE_CUDA(sirt_cuda),
    .bench = "iterations=3",
    .tolerance = {.relative = 1e-4,
                  .why = "errors of float sums of thousands of products pass from iteration to iteration"},
    .method_tolerances = ts_iterate_method_tolerances,
};
