/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/stages/regions/morphology_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/regions/morphology.h"

/* Returns true where a voxel that is this far away, in voxels, is in the ball or box. */
static bool is_near(const struct stage_context *context, int64_t z, int64_t y, int64_t x)
{
    const struct morphology_params *params = context->params;
    const double most = params->radius + 1e-7, dz = fabs((double)z) * context->in.axes[0].spacing,
                 dy = fabs((double)y) * context->in.axes[1].spacing,
                 dx = fabs((double)x) * context->in.axes[2].spacing;
    if (params->dimensions == MORPHOLOGY_2D && z != 0)
        return false;
    return params->shape == MORPHOLOGY_BOX ? dz <= most && dy <= most && dx <= most
                                           : sqrt(dz * dz + dy * dy + dx * dx) <= most;
}

/* Returns true where the voxel has one of this kind near it. */
static bool has_near(const struct stage_context *context, const unsigned char *voxels,
                     unsigned char kind, const int64_t at[3])
{
    const struct morphology_params *params = context->params;
    int64_t first[3], end[3];
    for (int axis = 0; axis < 3; axis++) {
        const struct ts_axis *of = &context->in.axes[axis];
        const int64_t reach = (int64_t)(params->radius / of->spacing) + 1;
        first[axis] = at[axis] > reach ? at[axis] - reach : 0;
        end[axis] = at[axis] + reach + 1 < of->n ? at[axis] + reach + 1 : of->n;
    }
    for (int64_t z = first[0]; z < end[0]; z++)
        for (int64_t y = first[1]; y < end[1]; y++)
            for (int64_t x = first[2]; x < end[2]; x++)
                if (voxels[ts_mask_oracle_at(context, z, y, x)] == kind &&
                    is_near(context, z - at[0], y - at[1], x - at[2]))
                    return true;
    return false;
}

/* Dilates the mask, or erodes it. */
static void change(const struct stage_context *context, unsigned char *voxels, bool dilate)
{
    const size_t n = ts_image_count(&context->in);
    const unsigned char kind = dilate ? VOXEL_IN : VOXEL_OUT;
    unsigned char *old = malloc(n + 1);
    memcpy(old, voxels, n);
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        for (int64_t y = 0; y < context->in.axes[1].n; y++)
            for (int64_t x = 0; x < context->in.axes[2].n; x++) {
                unsigned char *voxel = &voxels[ts_mask_oracle_at(context, z, y, x)];
                if (*voxel != VOXEL_INVALID && has_near(context, old, kind, (int64_t[]){z, y, x}))
                    *voxel = kind;
            }
    free(old);
}

/* Returns true where the flood, which is VOXEL_FLOODED, reaches this voxel from beside it. */
enum { VOXEL_FLOODED = 3 };
static bool is_reached(const struct stage_context *context, const unsigned char *voxels, int64_t z,
                       int64_t y, int64_t x, bool across)
{
    static const int steps[6][3] = {{0, -1, 0}, {0, 1, 0},  {0, 0, -1},
                                    {0, 0, 1},  {-1, 0, 0}, {1, 0, 0}};
    const int64_t n[3] = {context->in.axes[0].n, context->in.axes[1].n, context->in.axes[2].n};
    for (int i = 0; i < (across && n[0] > 1 ? 6 : 4); i++) {
        const int64_t at[3] = {z + steps[i][0], y + steps[i][1], x + steps[i][2]};
        bool outside = false;
        for (int axis = 0; axis < 3; axis++)
            outside |= at[axis] < 0 || at[axis] >= n[axis];
        if (outside || voxels[ts_mask_oracle_at(context, at[0], at[1], at[2])] == VOXEL_FLOODED)
            return true;
    }
    return false;
}

static void fill(const struct stage_context *context, unsigned char *voxels)
{
    const struct morphology_params *params = context->params;
    const size_t n = ts_image_count(&context->in);
    unsigned char *flooded = malloc(n + 1);
    memcpy(flooded, voxels, n);
    for (bool more = true; more;) {
        more = false;
        for (int64_t z = 0; z < context->in.axes[0].n; z++)
            for (int64_t y = 0; y < context->in.axes[1].n; y++)
                for (int64_t x = 0; x < context->in.axes[2].n; x++) {
                    unsigned char *voxel = &flooded[ts_mask_oracle_at(context, z, y, x)];
                    if (*voxel == VOXEL_IN || *voxel == VOXEL_FLOODED ||
                        !is_reached(context, flooded, z, y, x, params->dimensions == MORPHOLOGY_3D))
                        continue;
                    *voxel = VOXEL_FLOODED;
                    more = true;
                }
    }
    for (size_t i = 0; i < n; i++)
        if (voxels[i] != VOXEL_INVALID && flooded[i] != VOXEL_FLOODED)
            voxels[i] = VOXEL_IN;
    free(flooded);
}

void ts_morphology_oracle_voxels(const struct stage_context *context, const unsigned char *voxels,
                                 double *out)
{
    const struct morphology_params *params = context->params;
    const size_t n = ts_image_count(&context->in);
    unsigned char *made = malloc(n + 1);
    memcpy(made, voxels, n);
    switch (params->operation) {
    case MORPHOLOGY_ERODE:
    case MORPHOLOGY_DILATE:
        change(context, made, params->operation == MORPHOLOGY_DILATE);
        break;
    case MORPHOLOGY_OPEN:
    case MORPHOLOGY_CLOSE:
        change(context, made, params->operation == MORPHOLOGY_CLOSE);
        change(context, made, params->operation == MORPHOLOGY_OPEN);
        break;
    default:
        fill(context, made);
    }
    for (size_t i = 0; i < n; i++)
        out[i] = made[i] == VOXEL_IN;
    free(made);
}

void ts_morphology_oracle(const struct stage_context *context, const double *in, double *out)
{
    const struct morphology_params *params = context->params;
    unsigned char *voxels = ts_mask_oracle_voxels(context, &params->label, in, NULL);
    ts_morphology_oracle_voxels(context, voxels, out);
    free(voxels);
}
