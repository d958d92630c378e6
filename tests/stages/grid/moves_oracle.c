/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/grid/moves_oracle.h"

#include <math.h>

void ts_voxel_mm(const struct ts_image *image, const int64_t at[3], double mm[3])
{
    for (int i = 0; !image->has_geometry && i < 3; i++)
        mm[i] = image->axes[2 - i].first + (double)at[2 - i] * image->axes[2 - i].spacing;
    for (int i = 0; image->has_geometry && i < 3; i++)
        mm[i] = image->origin_mm[i] + (double)at[0] * image->step_z_mm[i] +
                (double)at[1] * image->axes[1].spacing * image->direction[3 + i] +
                (double)at[2] * image->axes[2].spacing * image->direction[i];
}

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Finds the slice by its distance along the normal, and then the pixel within it. */
static double value_at(const struct ts_image *image, const double *values, const double mm[3])
{
    const int64_t first[3] = {0};
    double from[3], found[3];
    int64_t at[3];
    ts_voxel_mm(image, first, found);
    for (int i = 0; i < 3; i++)
        from[i] = mm[i] - found[i];
    const double between = dot(image->step_z_mm, image->direction + 6);
    at[0] = between == 0 ? 0 : llround(dot(from, image->direction + 6) / between);
    for (int i = 0; i < 3; i++)
        from[i] -= (double)at[0] * image->step_z_mm[i];
    at[1] = llround(dot(from, image->direction + 3) / image->axes[1].spacing);
    at[2] = llround(dot(from, image->direction) / image->axes[2].spacing);
    for (int d = 0; d < 3; d++)
        if (at[d] < 0 || at[d] >= image->axes[d].n)
            return NAN;
    ts_voxel_mm(image, at, found);
    for (int i = 0; i < 3; i++)
        if (fabs(found[i] - mm[i]) > 1e-6)
            return NAN;
    return values[(at[0] * image->axes[1].n + at[1]) * image->axes[2].n + at[2]];
}

static void fill(const struct stage_context *context, const double *in, double *out)
{
    const struct ts_axis *axes = context->out.axes;
    int64_t at[3];
    for (at[0] = 0; at[0] < axes[0].n; at[0]++)
        for (at[1] = 0; at[1] < axes[1].n; at[1]++)
            for (at[2] = 0; at[2] < axes[2].n; at[2]++) {
                double mm[3];
                ts_voxel_mm(&context->out, at, mm);
                *out++ = value_at(&context->in, in, mm);
            }
}

void ts_crop_oracle(const struct stage_context *context, const double *in, double *out)
{
    fill(context, in, out);
}

void ts_reorient_oracle(const struct stage_context *context, const double *in, double *out)
{
    fill(context, in, out);
}
