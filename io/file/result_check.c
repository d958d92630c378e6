/* SPDX-License-Identifier: Apache-2.0
 *
 * Directions are made orthonormal when they are read, so they are so except for rounding. The step
 * between slices leans off their normal if the gantry was tilted; its length along the normal is
 * the spacing.
 */
#include "io/file/result_check.h"

#include <math.h>
#include <string.h>

#include "core/vector3.h"

static const double orthonormal_error = 1e-6, step_error = 1e-5;

static bool is_finite(const double *values, int n)
{
    bool finite = true;
    for (int i = 0; i < n; i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

static bool is_orthonormal(const double direction[9])
{
    const double *x = direction, *y = direction + 3, *z = direction + 6;
    double cross[3];
    ts_cross(x, y, cross);
    const double hand =
        ts_dot(cross, z) < 0 ? -1 : 1; /* -1 for the left-handed volumes that `reorient` may make */
    bool sound = true;
    for (int i = 0; i < 3; i++) {
        sound = sound && fabs(ts_length(direction + 3 * i) - 1) <= orthonormal_error;
        sound = sound && fabs(hand * cross[i] - z[i]) <=
                             orthonormal_error; /* z must be the normal of x and y */
    }
    return sound && fabs(ts_dot(x, y)) <= orthonormal_error;
}

static const char *geometry_wrong(const struct ts_image *image)
{
    const double *step = image->step_z_mm, *normal = image->direction + 6;
    const struct ts_axis *z =
        &image->axes[image->rank == TS_MAX_RANK]; /* the axis after that of several volumes */
    if (!is_finite(image->origin_mm, 3) || !is_finite(image->direction, 9) || !is_finite(step, 3))
        return "its geometry has numbers that are not finite";
    if (!is_orthonormal(image->direction))
        return "its directions are not unit vectors at right angles";
    if (z->n == 1) /* a single slice has no step that could be checked */
        return NULL;
    const double along = ts_dot(step, normal);
    if (!(along > 0) || ts_image_lean_degree(image) > TS_MOST_LEAN_DEGREE)
        return "the step between its slices is not along their normal";
    if (!strcmp(z->unit, "mm") && z->spacing > 0 && fabs(along - z->spacing) > step_error * along)
        return "the step between its slices is not as long as their spacing";
    return NULL;
}

/* Returns true for the units that an axis of each kind may have. */
static bool is_unit_of(enum ts_axis_kind kind, const char *unit)
{
    if (kind == TS_AXIS_VIEW)
        return !strcmp(unit, "degree") || !strcmp(unit, "");
    if (kind >= TS_AXIS_TIME)
        return !*unit || !strcmp(unit, kind == TS_AXIS_TIME   ? "s"
                                       : kind == TS_AXIS_ECHO ? "ms"
                                                              : "s/mm2");
    return !strcmp(unit, "mm") || !strcmp(unit, "pixel");
}

static const char *axes_wrong(const struct ts_image *image, const char **code)
{
    for (int d = 0; d < image->rank; d++) {
        const struct ts_axis *axis = &image->axes[d];
        const bool view = axis->kind == TS_AXIS_VIEW;
        if (axis->kind == TS_AXIS_BIN || axis->kind == TS_AXIS_ITEM)
            continue;
        *code = "result-units";
        if (!is_unit_of(axis->kind, axis->unit))
            return "an axis has a unit that this program does not write";
        *code = "result-spacing";
        if (!isfinite(axis->spacing) || !isfinite(axis->first) || (!view && axis->spacing < 0))
            return "the spacing of an axis is not a positive number";
    }
    return NULL;
}

/* Rescaled values keep their quantity and have the unit 1. */
static bool is_unit_of_values(enum ts_quantity quantity, const char *unit)
{
    if (!strcmp(unit, "1"))
        return true;
    switch (quantity) {
    case TS_COUNTS:
        return !strcmp(unit, "counts");
    case TS_TRANSMISSION:
        return false;
    case TS_ATTENUATION:
        return !strncmp(unit, "1/", 2);
    case TS_HU:
        return !strcmp(unit, "HU");
    case TS_DOSE:
        return !strcmp(unit, "Gy");
    default:
        return strcmp(unit, "HU") && strcmp(unit, ""); /* DICOM files state units of their own */
    }
}

const char *ts_result_wrong(const struct ts_image *image, const char **code)
{
    const char *wrong = axes_wrong(image, code);
    if (wrong)
        return wrong;
    *code = "result-units";
    if (!is_unit_of_values(image->quantity, image->unit))
        return "the unit of its values does not fit their quantity";
    *code = "result-geometry";
    return image->has_geometry ? geometry_wrong(image) : NULL;
}
