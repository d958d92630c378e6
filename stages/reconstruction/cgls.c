/* SPDX-License-Identifier: Apache-2.0
 *
 * cgls: conjugate gradients for the x that makes ||b - A x|| smallest, from x = 0; (z, view,
 * detector) -> (z, y, x), f32. A is Joseph's projector of stages/projection/joseph.h and A' its
 * exact adjoint.
 *
 *     r = b   s = A' r   p = s   gamma = ||s||^2
 *     q = A p   alpha = <p, s> / ||q||^2   x += alpha p   r -= alpha q
 *     s = A' r   beta = ||s||^2 / gamma   gamma = ||s||^2   p = s + beta p     and again
 *
 * In exact numbers <p, s> is gamma. If a slice is solved to rounding, s consists only of rounding
 * errors, and p may cancel to almost nothing: gamma / ||q||^2 then moves x far away, while the step
 * with <p, s> is the best along p, whatever p is.
 *
 * M. R. Hestenes, E. Stiefel, 1952; A. Bjoerck, Numerical Methods for Least Squares Problems, 1996,
 * section 7.4.
 */
#include "stages/reconstruction/iterate.h"

#include <string.h>

/* ---- iterating ------------------------------------------------------------------------------- */

const struct iterate_needs ts_cgls_needs = {.volumes = 2, .sinograms = 2};

/* The names of the group's arrays, as in the formulas above. */
enum { P, S };
enum { R, Q };
struct numbers {
    double gamma[ITERATE_GROUP], along[ITERATE_GROUP]; /* ||s||^2, <p, s> */
};

/* Computes to[i] = a * to[i] + b * from[i] in each slice, for `rows` rows of `row` elements. */
static void combine(const struct iterate_group *group, float *to, const double *a, const double *b,
                    const float *from, int64_t rows, int64_t row)
{
#pragma omp parallel for schedule(static) num_threads(group->threads)
    for (int64_t i = 0; i < group->n * rows; i++) {
        const float left = (float)a[i / rows], right = (float)b[i / rows];
        float *sum = to + i * row;
        const float *other = from + i * row;
        for (int64_t k = 0; k < row; k++)
            sum[k] = left * sum[k] + right * other[k];
    }
}

/* Moves x and r along the direction. */
static void advance(struct iterate_group *group, const struct numbers *numbers)
{
    const struct beam_geometry *grid = &group->scan.grid;
    float *p = group->volumes[P], *r = group->sinograms[R], *q = group->sinograms[Q];
    double one[ITERATE_GROUP], step[ITERATE_GROUP], back[ITERATE_GROUP];
    ts_iterate_project(group, p, q, group->n);
    ts_iterate_products(group, q, q, group->n_rays, grid->n_detectors);
    for (int64_t k = 0; k < group->n; k++) {
        one[k] = 1;
        step[k] =
            group->done[k] || !(group->square[k] > 0) ? 0 : numbers->along[k] / group->square[k];
        back[k] = -step[k];
    }
    combine(group, group->image, one, step, p, grid->n_rows, grid->n_columns);
    combine(group, r, one, back, q, group->scan.n_views, grid->n_detectors);
}

/* Finds s = A' r and the next direction; at the start p = s. */
static void find_direction(struct iterate_group *group, bool first, struct numbers *numbers)
{
    const struct beam_geometry *grid = &group->scan.grid;
    float *p = group->volumes[P], *s = group->volumes[S];
    double one[ITERATE_GROUP], beta[ITERATE_GROUP];
    ts_iterate_backproject(group, group->sinograms[R], s, group->n);
    ts_iterate_products(group, s, s, group->n_pixels, grid->n_columns);
    for (int64_t k = 0; k < group->n; k++) {
        one[k] = 1;
        beta[k] = first || !(numbers->gamma[k] > 0) ? 0 : group->square[k] / numbers->gamma[k];
        numbers->gamma[k] = group->square[k];
    }
    if (first)
        memcpy(p, s, (size_t)(group->n * group->n_pixels) * sizeof *p);
    else
        combine(group, p, beta, one, s, grid->n_rows, grid->n_columns);
    ts_iterate_products(group, p, s, group->n_pixels, grid->n_columns);
    memcpy(numbers->along, group->square, sizeof numbers->along);
}

/* Does all iterations of the group's slices. */
static void iterate(struct iterate_group *group)
{
    float *r = group->sinograms[R];
    struct numbers numbers;
    memset(r, 0, (size_t)(group->n * group->n_rays) * sizeof *r);
    ts_iterate_subtract(group, r);
    for (int64_t i = 0; ts_iterate_goes_on(group, i, r); i++) {
        find_direction(group, i == 0, &numbers);
        advance(group, &numbers);
    }
}

static size_t cgls_scratch(const struct stage_context *context, int64_t n)
{
    return ts_iterate_scratch(context, &ts_cgls_needs, n);
}

static enum ts_status cgls_map(const struct stage_context *context, const struct ts_image *in,
                               struct ts_image *out, void *scratch)
{
    return ts_iterate_map(context, &ts_cgls_needs, NULL, iterate, in, out, scratch);
}

/* ---- table ----------------------------------------------------------------------------------- */

static const struct param cgls_params[] = {
    ITERATE_PARAMS(20),
    RECONSTRUCTION_PARAMS,
};

const struct stage cgls_stage = {
    .name = "cgls",
    .summary = "least-squares reconstruction by conjugate gradients: sinogram to volume",
    .doc =
        "Conjugate gradients on `A' A x = A' b` from `x = 0`, without forming A' A: b is the "
        "sinogram, A the sums along its rays (`radon`'s: Joseph's method) and A' their exact "
        "adjoint, without which the method would not converge (M. R. Hestenes, E. Stiefel, J. Res. "
        "Nat. Bur. Stand. 49, 1952). The residual `||b - A x||` never rises, whatever the number "
        "of iterations. It falls much faster than that of `sirt`, and so does the error until the "
        "noise is fitted as well: the number of iterations, or the stop rule, is what smooths. "
        "Each slice stops for itself. Line integrals over mm give attenuation in "
        "1/mm.\n\n" ITERATE_DOC
        "From about the sixth iteration on, rounding turns the directions (C. C. Paige, Linear "
        "Algebra Appl. 34, 1980): a slice is then up to two iterations behind double precision, "
        "and pixels differ from it by some percent of the largest.\n\n"
        "There is no `nonnegative`, since cutting values off would spoil the directions or the "
        "residual that is written; use `sirt` for it.\n\n"
        "The table `residual` has the relative residual after 0, 1, ... iterations, the last of "
        "them that of the image: all by the recurrence of the residual, which differs from `b - A "
        "x` by rounding. `tomostage plot` draws the residuals of a file.\n\n"
        "Cost: one projection and one backprojection an iteration.",
    ITERATE_STAGE,
    STAGE_PARAMS(cgls_params, struct iterate_params),
    .scratch_bytes = cgls_scratch,
    .map = cgls_map,
    .cuda = STAGE_CUDA(cgls_cuda),
    .tolerance = {.relative = 1e-4,
                  .why = "of up to five iterations: errors of float sums of thousands of products "
                         "pass from iteration to iteration, and each multiplies them; of more, the "
                         "residual is at most that of the reference two iterations earlier"},
};
