/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of the transform are the steps along x, y and z. Rows and columns must be at right angles up to what
 * 32-bit floats and rounded texts leave, and are made exactly so. The step along z may lean off their normal, as behind
 * a tilted gantry: up to TS_UPRIGHT_DEGREE it is laid along the normal, beyond it is kept as DICOM's is
 * (docs/dicom-geometry.md), so that what this program writes of a sheared series is read back as it was.
 */
#include "io/volume/volume_geometry.h"

#include <math.h>
#include <string.h>

#include "core/vector3.h"

enum { X, Y, Z };

static const double RIGHT_ANGLE = 1e-3; /* largest cosine between rows and columns */

/* Makes the directions x, y and their normal of two columns. */
static void find_directions(const double x[3], const double y[3], double u[9])
{
    const double length = ts_length(x);
    for (int i = 0; i < 3; i++)
        u[i] = x[i] / length;
    const double along = ts_dot(y, u);
    for (int i = 0; i < 3; i++)
        u[3 + i] = y[i] - along * u[i];
    const double across = ts_length(u + 3);
    for (int i = 0; i < 3; i++)
        u[3 + i] /= across;
    ts_cross(u, u + 3, u + 6);
}

/* Sets the step along z. Returns what is wrong, or NULL. */
static const char *take_step(const double step[3], struct ts_image *image)
{
    const double *normal = image->direction + 6;
    memcpy(image->step_z_mm, step, sizeof image->step_z_mm);
    const double lean = ts_image_lean_degree(image);
    if (lean > TS_MOST_LEAN_DEGREE)
        return "has slices whose step leans more than 45 degrees off their normal";
    if (lean > TS_UPRIGHT_DEGREE)
        image->axes[0].spacing = ts_dot(step, normal);
    else
        for (int i = 0; i < 3; i++)
            image->step_z_mm[i] = image->axes[0].spacing * normal[i];
    return NULL;
}

const char *ts_volume_geometry(const double transform[3][4], struct ts_image *image, bool *reversed)
{
    double columns[3][3], lengths[3];
    *reversed = false;
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < 3; i++)
            columns[d][i] = transform[i][d];
        lengths[d] = ts_length(columns[d]);
        if (!(lengths[d] > 1e-9 && lengths[d] < 1e9))
            return "has an axis whose spacing is no positive number of mm";
        image->origin_mm[d] = transform[d][3];
        if (!isfinite(image->origin_mm[d]))
            return "has an origin that is not finite";
    }
    if (fabs(ts_dot(columns[X], columns[Y])) > RIGHT_ANGLE * lengths[X] * lengths[Y])
        return "has rows and columns that are not at right angles";
    image->has_geometry = true;
    find_directions(columns[X], columns[Y], image->direction);
    if (!(ts_dot(columns[Z], image->direction + 6) > 0)) {
        *reversed = true;
        for (int i = 0; i < 3; i++) {
            image->origin_mm[i] += (double)(image->axes[1].n - 1) * columns[Y][i];
            columns[Y][i] = -columns[Y][i];
        }
        find_directions(columns[X], columns[Y], image->direction);
    }
    return take_step(columns[Z], image);
}
