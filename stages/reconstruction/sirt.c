/* SPDX-License-Identifier: Apache-2.0
 *
 * sirt: x <- x + relaxation * C A' R (b - A x), from x = 0; (z, view, detector) -> (z, y, x), f32.
 * A is Joseph's projector of stages/projection/joseph.h and A' its exact adjoint; R and C are
 * diagonal: the inverses of the sums of A's rows and columns, or 0 if a sum is 0 (P. Gilbert, 1972;
 * J. Gregor, T. Benson, 2008). The order of every sum of a slice depends only on the sizes.
 */
#include "stages/reconstruction/sirt.h"

#include <string.h>

/* ---- iterating ------------------------------------------------------------------------------- */

const struct iterate_needs ts_sirt_needs = {.volumes = 1, .sinograms = 1, .weights = true};

static const struct sirt_params *params_of(const struct iterate_group *group)
{
    return (const struct sirt_params *)group->params;
}

static void sirt_fill(float *values, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++)
        values[i] = value;
}

static void invert_sums(float *sums, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; i++)
        sums[i] = sums[i] > 0 ? factor / sums[i] : 0;
}

/* A and A' of ones are the sums of A's rows and columns; they give R, and relaxation times C. */
static void find_weights(struct iterate_group *group)
{
    float *pixels = group->volumes[0], *rays = group->sinograms[0];
    sirt_fill(pixels, group->n_pixels, 1);
    ts_iterate_project(group, pixels, group->ray_weights, 1);
    invert_sums(group->ray_weights, group->n_rays, 1);
    sirt_fill(rays, group->n_rays, 1);
    ts_iterate_backproject(group, rays, group->pixel_weights, 1);
    invert_sums(group->pixel_weights, group->n_pixels, (float)params_of(group)->relaxation);
}

/* Computes residual = R residual. */
static void weigh(const struct iterate_group *group, float *residual)
{
    const int64_t row = group->scan.grid.n_detectors, rows = group->scan.n_views;
#pragma omp parallel for schedule(static) num_threads(group->threads)
    for (int64_t i = 0; i < group->n * rows; i++) {
        float *to = residual + i * row;
        const float *weights = group->ray_weights + i % rows * row;
        for (int64_t d = 0; d < row; d++)
            to[d] *= weights[d];
    }
}

/* Computes x += relaxation * C * change in the slices that are not done. */
static void add_change(const struct iterate_group *group)
{
    const int64_t row = group->scan.grid.n_columns, rows = group->scan.grid.n_rows;
    const bool nonnegative = params_of(group)->nonnegative;
#pragma omp parallel for schedule(static) num_threads(group->threads)
    for (int64_t i = 0; i < group->n * rows; i++) {
        float *to = group->image + i * row;
        const float *change = group->volumes[0] + i * row,
                    *weights = group->pixel_weights + i % rows * row;
        if (group->done[i / rows])
            continue;
        for (int64_t x = 0; x < row; x++) {
            const float value = to[x] + weights[x] * change[x];
            to[x] = nonnegative && value < 0 ? 0 : value;
        }
    }
}

/* Does all iterations of the group's slices. */
static void iterate(struct iterate_group *group)
{
    float *residual = group->sinograms[0];
    for (int64_t i = 0;; i++) {
        if (i == 0)
            memset(residual, 0, (size_t)(group->n * group->n_rays) * sizeof *residual);
        else
            ts_iterate_project(group, group->image, residual, group->n);
        ts_iterate_subtract(group, residual);
        if (!ts_iterate_goes_on(group, i, residual))
            break;
        weigh(group, residual);
        ts_iterate_backproject(group, residual, group->volumes[0], group->n);
        add_change(group);
    }
}

static size_t sirt_scratch(const struct stage_context *context, int64_t n)
{
    return ts_iterate_scratch(context, &ts_sirt_needs, n);
}

static enum ts_status sirt_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    return ts_iterate_map(context, &ts_sirt_needs, find_weights, iterate, in, out, scratch);
}

/* ---- table ----------------------------------------------------------------------------------- */

static const struct param sirt_params[] = {
    ITERATE_PARAMS(100),
    PARAM(struct sirt_params, relaxation, .unit = "", .init.r = 1, .min = 1e-6, .max = 1.999,
          .doc = "factor of every step; less is slower and steadier, 2 and more does not converge"),
    PARAM(struct sirt_params, nonnegative, .unit = "", .init.b = false,
          .doc = "whether values below 0 become 0 after every iteration"),
    RECONSTRUCTION_PARAMS,
};

const struct stage sirt_stage = {
    .name = "sirt",
    .summary = "simultaneous iterative reconstruction: sinogram to volume",
    .doc =
        "Starts with `x = 0` and repeats `x <- x + relaxation * C A' R (b - A x)`, with b the "
        "sinogram, A the sums along its rays (`radon`'s: Joseph's method) and A' their exact "
        "adjoint. R and C are one over the sums of A's rows and columns, 0 if a sum is 0. With "
        "`nonnegative` values below 0 become 0 after every step. (P. Gilbert, J. Theor. Biol. 36, "
        "1972; J. Gregor, T. Benson, IEEE Trans. Med. Imaging 27, 2008.)\n\n"
        "It minimizes the residual in R's norm, whatever the angles and the beam; noise and the "
        "finest details come with the number of iterations, so that stopping early smooths. Each "
        "slice stops for itself. Line integrals over mm give attenuation in 1/mm.\n\n" ITERATE_DOC
        "The table `residual` has the relative residual after 0, 1, ... iterations, the last of "
        "them that of the image itself, which takes a projection of its own at the end. `tomostage "
        "plot` draws the residuals of a file.\n\n"
        "Cost: one projection and one backprojection an iteration, and one projection more.",
    ITERATE_STAGE,
    STAGE_PARAMS(sirt_params, struct sirt_params),
    .scratch_bytes = sirt_scratch,
    .map = sirt_map,
    .cuda = STAGE_CUDA(sirt_cuda),
    .tolerance =
        {.relative = 1e-4,
         .why = "errors of float sums of thousands of products pass from iteration to iteration"},
};
