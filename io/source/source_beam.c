/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the parameters of the beam against each other and against the image, and converts angles
 * to our convention: degrees that rise from x towards y.
 */
#include "io/source/source_beam.h"

#include "core/description.h"

#include <math.h>
#include <string.h>

const struct choice ts_angle_sense_choices[] = {
    {"x-to-y", ANGLE_SENSE_X_TO_Y,
     "from x towards y, the convention here, and of scikit-image, TomoPy and ASTRA"},
    {"y-to-x", ANGLE_SENSE_Y_TO_X,
     "from y towards x: a stage that turned the other way, or was seen from below"},
    {0},
};

enum {
    DISTANCES = 1,
    ANGLES = 3,
    NAMES = 5
}; /* the first names of distances and of angles; the number of names */

static const char *const names[NAMES] = {"beam", "source_axis", "source_detector", "angle_sense",
                                         "angle_offset"};

/* Checks that distances are given for a fan, both of them, and only for a fan. */
static enum ts_status check_given(const struct param_set *set, const struct ts_beam *beam,
                                  struct ts_diag *diag)
{
    const bool fan = beam->kind != TS_BEAM_PARALLEL;
    for (int i = DISTANCES; i < ANGLES; i++)
        if (ts_param_given(set, names[i]) != fan)
            return fan ? ts_param_error(set, names[i], "source-missing", diag,
                                        "is not given, and a %s beam needs it",
                                        ts_beam_name(beam->kind))
                       : ts_param_error(
                             set, names[i], "source-parallel", diag,
                             "a parallel beam has no source at a distance, only a fan has");
    return TS_OK;
}

/* Returns the angle, in degrees, of the last detector pixel from the central ray. */
static double last_degree(const struct ts_beam *beam, const struct ts_axis *detector)
{
    const double last = fmax(fabs(detector->first),
                             fabs(detector->first + (double)(detector->n - 1) * detector->spacing));
    return last / beam->source_detector_mm * (180 / M_PI);
}

static enum ts_status check_fan(const struct param_set *set, const struct ts_beam *beam,
                                const struct ts_axis *detector, struct ts_diag *diag)
{
    const double degree = last_degree(beam, detector);
    if (!(ts_axis_mm(detector) > 0))
        return ts_param_error(
            set, "beam", "source-unit", diag,
            "a fan's distances are in mm, and the distance of the detector's pixels is not known");
    if (!(beam->source_detector_mm >= beam->source_axis_mm))
        return ts_param_error(
            set, "source_detector", "detector-inside", diag,
            "%g mm would put the detector before the rotation axis, expected at least %g mm",
            beam->source_detector_mm, beam->source_axis_mm);
    if (beam->kind == TS_BEAM_FAN_ARC && !(degree < 90))
        return ts_param_error(set, "source_detector", "fan-angle", diag,
                              "the last detector pixel would be %g degrees from the central ray, "
                              "expected less than 90",
                              degree);
    return TS_OK;
}

static bool has_angles(const struct ts_axis *views)
{
    return views->unit && !strcmp(views->unit, "degree");
}

void ts_source_beam_resolve(struct param_set *set, const struct source *source)
{
    const struct ts_image *image = &source->image;
    const bool sinogram = ts_image_is_sinogram(image),
               angles = sinogram && has_angles(&image->axes[1]);
    for (int i = sinogram ? ANGLES : 0; i < NAMES && !angles; i++)
        ts_param_idle(set, names[i]);
}

static const void *value_of(const struct param_set *set, const char *name)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, name, &i) ? ts_param_field(set, i) : NULL;
}

/* Applies the chain's sense and offset to the angles. Frames without angles, such as flats, stay
   unchanged. */
static enum ts_status turn_views(const struct param_set *set, struct ts_axis *views,
                                 struct ts_diag *diag)
{
    const double sign =
                     *(const int32_t *)value_of(set, "angle_sense") == ANGLE_SENSE_Y_TO_X ? -1 : 1,
                 offset = *(const double *)value_of(set, "angle_offset");
    double *angles = (double *)views->positions;
    for (int i = ANGLES; i < NAMES && !has_angles(views); i++)
        if (ts_param_given(set, names[i]))
            return ts_param_error(set, names[i], "views-without-angles", diag,
                                  "these frames have no angles to turn");
    if (sign > 0 && offset == 0)
        return TS_OK;
    for (int64_t i = 0; angles && i < views->n; i++)
        angles[i] = sign * angles[i] + offset;
    if (!angles) {
        views->first = sign * views->first + offset;
        views->spacing *= sign;
    }
    return TS_OK;
}

enum ts_status ts_source_beam(const struct param_set *set, struct ts_image *image,
                              struct ts_diag *diag)
{
    const struct ts_beam beam = {(enum ts_beam_kind) * (const int32_t *)value_of(set, "beam"),
                                 *(const double *)value_of(set, "source_axis"),
                                 *(const double *)value_of(set, "source_detector")};
    for (int i = 0; i < NAMES && !ts_image_is_sinogram(image); i++)
        if (ts_param_given(set, names[i]))
            return ts_param_error(set, names[i], "beam-volume", diag,
                                  "a volume has no views, only a sinogram has");
    if (!ts_image_is_sinogram(image))
        return TS_OK;
    enum ts_status status = check_given(set, &beam, diag);
    if (status == TS_OK && beam.kind != TS_BEAM_PARALLEL)
        status = check_fan(set, &beam, &image->axes[2], diag);
    image->beam = beam.kind == TS_BEAM_PARALLEL ? (struct ts_beam){0} : beam;
    return status == TS_OK ? turn_views(set, &image->axes[1], diag) : status;
}
