/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/distance_oracle.h"

#include <math.h>
#include <stdlib.h>

#include "stages/regions/distance.h"

/* Replaces the squares along one axis, whose neighbors are `step` voxels and mm apart, by the
 * smallest sums of one of them and the square of its distance. */
static void try_all(double *squares, size_t n_all, size_t step, size_t n, double mm)
{
    double *line = malloc(n * sizeof *line);
    for (size_t i = 0; i < n_all; i++) {
        if (i / step % n != 0)
            continue;
        for (size_t k = 0; k < n; k++)
            line[k] = squares[i + k * step];
        for (size_t k = 0; k < n; k++)
            for (size_t other = 0; other < n; other++) {
                const double apart = ((double)k - (double)other) * mm;
                squares[i + k * step] = fmin(squares[i + k * step], line[other] + apart * apart);
            }
    }
    free(line);
}

/* Adds the distances from the voxels of the mask, or of all others, times `sign`. */
static void add(const struct stage_context *context, const unsigned char *voxels, bool of_mask,
                double sign, double *out)
{
    const size_t n = ts_image_count(&context->in), ny = (size_t)context->in.axes[1].n,
                 nx = (size_t)context->in.axes[2].n;
    double *squares = malloc((n + 1) * sizeof *squares);
    for (size_t i = 0; i < n; i++)
        squares[i] = (voxels[i] == VOXEL_IN) == of_mask ? 0 : (double)INFINITY;
    try_all(squares, n, 1, nx, context->in.axes[2].spacing);
    try_all(squares, n, nx, ny, context->in.axes[1].spacing);
    try_all(squares, n, nx * ny, n / (nx * ny), context->in.axes[0].spacing);
    for (size_t i = 0; i < n; i++)
        out[i] += sign * sqrt(squares[i]);
    free(squares);
}

void ts_distance_oracle_voxels(const struct stage_context *context, const unsigned char *voxels,
                               double *out)
{
    const int32_t of = ((const struct distance_params *)context->params)->of;
    for (size_t i = 0; i < ts_image_count(&context->in); i++)
        out[i] = 0;
    if (of != DISTANCE_INSIDE)
        add(context, voxels, true, 1, out);
    if (of != DISTANCE_OUTSIDE)
        add(context, voxels, false, of == DISTANCE_SIGNED ? -1 : 1, out);
}

void ts_distance_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct distance_params *params = context->params;
    unsigned char *voxels = ts_mask_oracle_voxels(context, &params->label, in, NULL);
    ts_distance_oracle_voxels(context, voxels, out);
    free(voxels);
}
