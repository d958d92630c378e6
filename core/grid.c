/* SPDX-License-Identifier: Apache-2.0
 *
 * Grids are compared at the eight corner voxels: both transforms are affine, so no voxel between
 * the corners differs by more. So rounded directions and spacings are judged by the shift that they
 * cause over the whole volume, which is what matters if two volumes are overlaid; origins, spacings
 * and directions need no tolerances of their own.
 */
#include "core/grid.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/vector3.h"

void ts_affine_apply(const struct ts_affine *affine, const double in[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = affine->m[i][0] * in[0] + affine->m[i][1] * in[1] + affine->m[i][2] * in[2] +
                 affine->m[i][3];
}

struct ts_affine ts_affine_after(const struct ts_affine *second, const struct ts_affine *first)
{
    struct ts_affine both;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            both.m[i][k] = k == 3 ? second->m[i][3] : 0;
            for (int j = 0; j < 3; j++)
                both.m[i][k] += second->m[i][j] * first->m[j][k];
        }
    return both;
}

bool ts_affine_invert(const struct ts_affine *affine, struct ts_affine *inverse)
{
    const double(*m)[4] = affine->m;
    double determinant = 0;
    for (int k = 0; k < 3; k++) {
        const int a = (k + 1) % 3, b = (k + 2) % 3;
        for (int i = 0; i < 3; i++) {
            const int c = (i + 1) % 3, d = (i + 2) % 3;
            inverse->m[k][i] = m[c][a] * m[d][b] - m[c][b] * m[d][a];
        }
        determinant += m[0][k] * inverse->m[k][0];
    }
    if (!(fabs(determinant) > 1e-30) || !isfinite(determinant))
        return false;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            inverse->m[k][i] /= determinant;
        inverse->m[k][3] =
            -(inverse->m[k][0] * m[0][3] + inverse->m[k][1] * m[1][3] + inverse->m[k][2] * m[2][3]);
        if (!isfinite(inverse->m[k][3]))
            return false;
    }
    return true;
}

struct ts_affine ts_grid_to_mm(const struct ts_image *image)
{
    struct ts_affine affine;
    const double *step = image->step_z_mm;
    const bool stepped = step[0] != 0 || step[1] != 0 || step[2] != 0;
    for (int i = 0; i < 3; i++) {
        affine.m[i][0] = image->direction[i] * ts_axis_spacing(&image->axes[2]);
        affine.m[i][1] = image->direction[3 + i] * ts_axis_spacing(&image->axes[1]);
        affine.m[i][2] =
            stepped ? step[i] : image->direction[6 + i] * ts_axis_spacing(&image->axes[0]);
        affine.m[i][3] = image->origin_mm[i];
    }
    return affine;
}

static bool is_placed_volume(const struct ts_image *image)
{
    return image->has_geometry && image->rank == 3 && !ts_image_is_sinogram(image);
}

bool ts_grid_same(const struct ts_image *a, const struct ts_image *b)
{
    if (!is_placed_volume(a) || !is_placed_volume(b))
        return false;
    const struct ts_affine first = ts_grid_to_mm(a), second = ts_grid_to_mm(b);
    double smallest = INFINITY;
    for (int axis = 0; axis < 3; axis++) {
        if (a->axes[axis].n != b->axes[axis].n)
            return false;
        smallest =
            fmin(smallest, fmin(ts_axis_spacing(&a->axes[axis]), ts_axis_spacing(&b->axes[axis])));
    }
    for (int corner = 0; corner < 8; corner++) {
        double index[3], p[3], q[3], square = 0;
        for (int d = 0; d < 3; d++)
            index[d] = corner >> d & 1 ? (double)(a->axes[2 - d].n - 1) : 0;
        ts_affine_apply(&first, index, p);
        ts_affine_apply(&second, index, q);
        for (int d = 0; d < 3; d++)
            square += (p[d] - q[d]) * (p[d] - q[d]);
        if (!(sqrt(square) <= TS_GRID_TOLERANCE * smallest))
            return false;
    }
    return true;
}

void ts_grid_text(const struct ts_image *image, char *out, size_t size)
{
    const struct ts_axis *z = &image->axes[0], *y = &image->axes[1], *x = &image->axes[2];
    const double *o = image->origin_mm;
    double d[6]; /* 0 without a sign */
    for (int i = 0; i < 6; i++)
        d[i] = image->direction[i] + 0.0;
    const int n =
        snprintf(out, size, "%lld x %lld x %lld voxels (x, y, z) of %.6g x %.6g x %.6g %s",
                 (long long)x->n, (long long)y->n, (long long)z->n, ts_axis_spacing(x),
                 ts_axis_spacing(y), ts_axis_spacing(z), x->unit ? x->unit : "");
    if (image->has_geometry && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n,
                 ", the first at (%.6g, %.6g, %.6g) mm, x along (%.4g, %.4g, %.4g), y along (%.4g, "
                 "%.4g, %.4g)",
                 o[0], o[1], o[2], d[0], d[1], d[2], d[3], d[4], d[5]);
}

/* ---- places in the patient ------------------------------------------------------------------- */

/* Turns a unit vector so that its largest component, the first of equal ones, is positive. */
static void turn_to_lps(const double direction[3], double vector[3])
{
    int largest = 0;
    for (int i = 1; i < 3; i++)
        if (fabs(direction[i]) > fabs(direction[largest]))
            largest = i;
    for (int i = 0; i < 3; i++)
        vector[i] = direction[largest] < 0 ? 0 - direction[i] : direction[i];
}

bool ts_grid_place_axis(const struct ts_image *image, int d, double *first, double *step,
                        double vector[3])
{
    const struct ts_axis *axis = &image->axes[d];
    const double *direction = image->direction;
    if (!image->has_geometry || axis->positions || !axis->unit || strcmp(axis->unit, "mm") != 0 ||
        !(axis->spacing > 0 || axis->n == 1))
        return false;
    if (axis->kind == TS_AXIS_Y)
        direction += 3;
    else if (axis->kind == TS_AXIS_Z)
        direction += 6;
    else if (axis->kind != TS_AXIS_X)
        return false;
    turn_to_lps(direction, vector);
    *first = ts_dot(image->origin_mm, vector);
    *step = ts_dot(direction, vector) < 0 ? -axis->spacing : axis->spacing;
    return true;
}

double ts_grid_position(const struct ts_image *image, int d, int64_t i)
{
    double first, step, vector[3];
    if (!ts_grid_place_axis(image, d, &first, &step, vector))
        return ts_axis_position(&image->axes[d], i);
    return first + (double)i * step + 0.0; /* no -0 */
}
