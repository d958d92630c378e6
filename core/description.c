/* SPDX-License-Identifier: Apache-2.0
 *
 * Directions are made orthonormal when they are read, so they are so except for rounding. The step
 * between slices leans off their normal if the gantry was tilted; its length along the normal is
 * the spacing. Lengths are converted by moving the decimal point of their shortest text, so that
 * 1.3 um is the same number as 0.0013 mm.
 */
#include "core/description.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/params.h"
#include "core/unit.h"
#include "core/vector3.h"

double ts_axis_mm(const struct ts_axis *axis)
{
    return axis->unit && !strcmp(axis->unit, "mm") && !axis->positions ? fabs(axis->spacing) : 0;
}

bool ts_unit_fits(enum ts_quantity quantity, const char *unit)
{
    if (!strcmp(unit, "1")) /* rescaled values keep their quantity */
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
    case TS_LINE_INTEGRAL:
        return *unit && strcmp(unit, "HU") != 0;
    default: /* files state units of their own, and the difference of two CTs is in HU */
        return *unit != '\0';
    }
}

/* ---- geometry -------------------------------------------------------------------------------- */

static const double orthonormal_error = 1e-6, step_error = 1e-5;
static const double most_rounded = 1e-3; /* of a direction or a step with three digits or more */

static bool is_finite(const double *values, int n)
{
    bool finite = true;
    for (int i = 0; i < n; i++)
        finite = finite && isfinite(values[i]);
    return finite;
}

static bool is_orthonormal(const double direction[9], double error)
{
    const double *x = direction, *y = direction + 3, *z = direction + 6;
    double cross[3];
    ts_cross(x, y, cross);
    const double hand =
        ts_dot(cross, z) < 0 ? -1 : 1; /* -1 for the left-handed volumes that `reorient` may make */
    bool sound = true;
    for (int i = 0; i < 3; i++) {
        sound = sound && fabs(ts_length(direction + 3 * i) - 1) <= error;
        sound = sound && fabs(hand * cross[i] - z[i]) <= error; /* z is the normal of x and y */
    }
    return sound && fabs(ts_dot(x, y)) <= error;
}

static const char *own_unit(enum ts_axis_kind kind);

/* Returns true if the axis counts pixels whose distance is not known in mm, although the image has
 * a place in mm. A slice by itself may have no thickness. */
static bool lacks_length(const struct ts_image *image, const struct ts_axis *axis)
{
    const bool counts = own_unit(axis->kind) || axis->kind == TS_AXIS_ITEM ||
                        axis->kind == TS_AXIS_BIN || (axis->kind == TS_AXIS_Z && axis->n == 1);
    return image->has_geometry && !counts && strcmp(axis->unit, "mm") != 0;
}

/* Returns the axis z, which is behind that of several volumes. */
static const struct ts_axis *slices_of(const struct ts_image *image)
{
    return &image->axes[image->rank == TS_MAX_RANK];
}

const char *ts_geometry_wrong(const struct ts_image *image)
{
    const double *step = image->step_z_mm, *normal = image->direction + 6;
    const struct ts_axis *z = slices_of(image);
    if (!is_finite(image->origin_mm, 3) || !is_finite(image->direction, 9) || !is_finite(step, 3))
        return "its geometry has numbers that are not finite";
    if (!is_orthonormal(image->direction, orthonormal_error))
        return "its directions are not unit vectors at right angles";
    for (int d = 0; d < image->rank; d++)
        if (lacks_length(image, &image->axes[d]))
            return "its geometry is in mm, and the distance of its pixels is not known in mm along "
                   "every axis";
    if (z->n == 1) /* a single slice has no step that could be checked */
        return NULL;
    const double along = ts_dot(step, normal);
    if (!(along > 0) || ts_image_lean_degree(image) > TS_MOST_LEAN_DEGREE)
        return "the step between its slices is not along their normal";
    if (!strcmp(z->unit, "mm") && !z->positions && z->spacing > 0 &&
        fabs(along - z->spacing) > step_error * along)
        return "the step between its slices is not as long as their spacing";
    return NULL;
}

static void make_orthonormal(double direction[9])
{
    double *x = direction, *y = direction + 3, *z = direction + 6, cross[3];
    const double width = ts_length(x);
    for (int i = 0; i < 3; i++)
        x[i] /= width;
    const double along = ts_dot(x, y);
    for (int i = 0; i < 3; i++)
        y[i] -= along * x[i];
    const double height = ts_length(y);
    for (int i = 0; i < 3; i++)
        y[i] /= height;
    ts_cross(x, y, cross);
    const double hand = ts_dot(cross, z) < 0 ? -1 : 1;
    for (int i = 0; i < 3; i++)
        z[i] = hand * cross[i];
}

const char *ts_geometry_straighten(struct ts_image *image)
{
    double *step = image->step_z_mm, *normal = image->direction + 6;
    const struct ts_axis *z = slices_of(image);
    if (is_finite(image->direction, 9) && is_orthonormal(image->direction, most_rounded) &&
        !is_orthonormal(image->direction, orthonormal_error))
        make_orthonormal(image->direction);
    const bool known = !strcmp(z->unit, "mm") && !z->positions && z->spacing > 0;
    const double along = ts_dot(step, normal);
    if (step[0] == 0 && step[1] == 0 && step[2] == 0) {
        if (!known && z->n > 1)
            return "its geometry has no step between slices, and their distance is not known in mm";
        for (int i = 0; i < 3; i++)
            step[i] = normal[i] * (known ? z->spacing : 1);
    } else if (known && fabs(along - z->spacing) > step_error * along &&
               fabs(along - z->spacing) <= most_rounded * along)
        for (int i = 0; i < 3; i++)
            step[i] += (z->spacing - along) * normal[i];
    return ts_geometry_wrong(image);
}

const char *ts_beam_wrong(const struct ts_beam *beam, const struct ts_axis *detector)
{
    if (!isfinite(beam->source_axis_mm) || !isfinite(beam->source_detector_mm))
        return "its beam has a distance that is not finite";
    if (!(ts_axis_mm(detector) > 0))
        return "its beam is a fan, and the distance of the detector's pixels is not in mm";
    if (!(beam->source_axis_mm > 0 && beam->source_detector_mm >= beam->source_axis_mm))
        return "its source is not before the rotation axis, or its detector is";
    const double last = fmax(fabs(ts_axis_position(detector, 0)),
                             fabs(ts_axis_position(detector, detector->n - 1)));
    return beam->kind == TS_BEAM_FAN_ARC && !(last / beam->source_detector_mm < M_PI / 2)
               ? "its last detector pixel is 90 degrees or more from the central ray"
               : NULL;
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Returns the unit of an axis of this kind that counts no pixels; NULL: it is a length. */
static const char *own_unit(enum ts_axis_kind kind)
{
    switch (kind) {
    case TS_AXIS_VIEW:
        return "degree";
    case TS_AXIS_TIME:
        return "s";
    case TS_AXIS_ECHO:
        return "ms";
    case TS_AXIS_B:
        return "s/mm2";
    default:
        return NULL;
    }
}

bool ts_axis_keeps_unit(enum ts_axis_kind kind, const char *unit)
{
    const char *own = own_unit(kind);
    if (own)
        return !*unit || !strcmp(unit, own);
    return !strcmp(unit, "mm") || !strcmp(unit, "pixel");
}

static bool convert(double *value, const char *unit, const char *to)
{
    char text[64];
    ts_real_format(*value, text, sizeof text);
    return ts_unit_convert(text, unit, to, value);
}

/* Returns the unit to which lengths or times in this one are converted; NULL: there is none. */
static const char *unit_kept(const struct ts_axis *axis)
{
    static const char *const lengths[] = {"mm", "pixel"};
    double one = 1;
    if (ts_axis_keeps_unit(axis->kind, axis->unit))
        return axis->unit;
    if (axis->kind == TS_AXIS_TIME)
        return convert(&one, axis->unit, "s") ? "s" : NULL;
    if (own_unit(axis->kind))
        return NULL;
    if (!*axis->unit)
        return "pixel";
    for (int i = 0; i < 2; i++)
        if (convert(&one, axis->unit, lengths[i]))
            return lengths[i];
    return NULL;
}

static bool convert_axis(struct ts_axis *axis, double *list)
{
    const char *to = unit_kept(axis), *from = *axis->unit ? axis->unit : to;
    if (!to || (axis->positions && !list && strcmp(from, to) != 0))
        return false;
    bool ok = strcmp(from, to) == 0 ||
              (convert(&axis->spacing, from, to) && convert(&axis->first, from, to));
    for (int64_t i = 0; ok && list && i < axis->n && strcmp(from, to) != 0; i++)
        ok = convert(&list[i], from, to);
    axis->unit = to;
    return ok;
}

/* States even positions that rise as first and spacing. Returns false if they neither rise nor
 * fall. */
static bool join_positions(struct ts_axis *axis)
{
    const double *at = axis->positions;
    const double step = axis->n > 1 ? (at[axis->n - 1] - at[0]) / (double)(axis->n - 1) : 0;
    bool even = step > 0 || axis->n == 1;
    for (int64_t i = 1; i < axis->n; i++) {
        if (!((at[i] - at[i - 1]) * (step < 0 ? -1 : 1) > 0))
            return false;
        even = even && fabs(at[i] - (at[0] + (double)i * step)) <= most_rounded * step;
    }
    if (even) {
        axis->first = at[0];
        axis->spacing = axis->n > 1 ? step : axis->spacing;
        axis->positions = NULL;
    }
    return true;
}

/* States an axis of lengths that has no spacing in pixels. Returns false if that would change what
 * it says. */
static bool count_pixels(struct ts_axis *axis)
{
    const bool stated = axis->first != 0 && !strcmp(axis->unit, "mm");
    if (stated && axis->kind == TS_AXIS_Z && axis->n == 1)
        return true; /* one slice has a position, and no thickness */
    if (stated)
        return false;
    axis->spacing = 1;
    axis->unit = "pixel";
    return true;
}

bool ts_axes_to_mm(struct ts_image *image, double *const lists[TS_MAX_RANK],
                   char wrong[DESCRIPTION_WRONG])
{
    for (int d = 0; d < image->rank; d++) {
        struct ts_axis *axis = &image->axes[d];
        const char *unit = axis->unit, *name = ts_axis_kind_name(axis->kind),
                   *own = own_unit(axis->kind);
        *wrong = '\0';
        if (axis->kind == TS_AXIS_ITEM || axis->kind == TS_AXIS_BIN)
            continue;
        if (!convert_axis(axis, lists[d]))
            snprintf(wrong, DESCRIPTION_WRONG, "axis %s is in '%.40s', and not in %s", name, unit,
                     own ? own : "mm, cm, m, um, nm or pixel");
        else if (!own && axis->positions && !join_positions(axis))
            snprintf(wrong, DESCRIPTION_WRONG, "the positions of axis %s neither rise nor fall",
                     name);
        else if (!own && !axis->positions && axis->spacing == 0 && !count_pixels(axis))
            snprintf(wrong, DESCRIPTION_WRONG,
                     "axis %s has a first position in %.40s, and a spacing of 0", name, unit);
        else if (lacks_length(image, axis))
            snprintf(wrong, DESCRIPTION_WRONG,
                     "its geometry is in mm, and axis %s has no spacing in mm", name);
        if (image->has_geometry && axis->kind == TS_AXIS_Z && !strcmp(axis->unit, "pixel")) {
            axis->unit = "mm"; /* a slice by itself, whose thickness is not known */
            axis->spacing = 0;
        }
        if (*wrong)
            return false;
    }
    return true;
}
