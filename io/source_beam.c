/* SPDX-License-Identifier: Apache-2.0 */
#include "io/source_beam.h"

#include <math.h>
#include <string.h>

const struct choice ts_source_beam_choices[] = {
    {"parallel", TS_BEAM_PARALLEL, "one direction a view"},
    {"fan-arc", TS_BEAM_FAN_ARC, "equiangular: detectors evenly along an arc around the source"},
    {"fan-flat", TS_BEAM_FAN_FLAT, "equispaced: detectors evenly along a line at a right angle to the central ray"},
    {0},
};

/* The distances belong to a fan, and a fan needs both. */
static enum ts_status check_given(const struct param_set *set, const struct ts_beam *beam, struct ts_diag *diag)
{
    static const char *const rows[] = {"source_axis", "source_detector"};
    const bool fan = beam->kind != TS_BEAM_PARALLEL;
    for (int i = 0; i < 2; i++)
        if (ts_param_given(set, rows[i]) != fan)
            return fan ? ts_param_error(set, rows[i], "source-missing", diag, "is not given, and a %s beam needs it",
                                        ts_beam_name(beam->kind))
                       : ts_param_error(set, rows[i], "source-parallel", diag,
                                        "a parallel beam has no source at a distance, only a fan has");
    return TS_OK;
}

/* Of the last detector, from the central ray. */
static double last_degree(const struct ts_beam *beam, const struct ts_axis *detector)
{
    const double last =
        fmax(fabs(detector->first), fabs(detector->first + (double)(detector->n - 1) * detector->spacing));
    return last / beam->source_detector_mm * (180 / M_PI);
}

static bool is_in_mm(const struct ts_axis *detector)
{
    return detector->unit && strcmp(detector->unit, "mm") == 0;
}

static enum ts_status check_fan(const struct param_set *set, const struct ts_beam *beam, const struct ts_axis *detector,
                                struct ts_diag *diag)
{
    const double degree = last_degree(beam, detector);
    if (!is_in_mm(detector))
        return ts_param_error(set, "beam", "source-unit", diag,
                              "a fan's distances are in mm, and the distance of the detector's pixels is not known");
    if (!(beam->source_detector_mm >= beam->source_axis_mm))
        return ts_param_error(set, "source_detector", "detector-inside", diag,
                              "%g mm would put the detector before the rotation axis, expected at least %g mm",
                              beam->source_detector_mm, beam->source_axis_mm);
    if (beam->kind == TS_BEAM_FAN_ARC && !(degree < 90))
        return ts_param_error(set, "source_detector", "fan-angle", diag,
                              "the last detector would be %g degrees from the central ray, expected less than 90",
                              degree);
    return TS_OK;
}

const char *ts_source_beam_wrong(const struct ts_beam *beam, const struct ts_axis *detector)
{
    if (!is_in_mm(detector))
        return "its beam is a fan, and the distance of the detector's pixels is not in mm";
    if (!(beam->source_axis_mm > 0 && beam->source_detector_mm >= beam->source_axis_mm))
        return "its source is not before the rotation axis, or its detector is";
    return beam->kind == TS_BEAM_FAN_ARC && !(last_degree(beam, detector) < 90)
               ? "its last detector is 90 degrees or more from the central ray"
               : NULL;
}

static const char *const rows[] = {"beam", "source_axis", "source_detector"};

void ts_source_beam_resolve(struct param_set *set, const struct ts_image *image)
{
    for (int i = 0; i < 3 && !ts_image_is_sinogram(image); i++)
        ts_param_idle(set, rows[i]);
}

enum ts_status ts_source_beam(const struct param_set *set, const struct ts_beam *beam, struct ts_image *image,
                              struct ts_diag *diag)
{
    if (!ts_image_is_sinogram(image)) {
        for (int i = 0; i < 3; i++)
            if (ts_param_given(set, rows[i]))
                return ts_param_error(set, rows[i], "beam-volume", diag, "a volume has no beam, only a sinogram has");
        return TS_OK;
    }
    enum ts_status status = check_given(set, beam, diag);
    if (status == TS_OK && beam->kind != TS_BEAM_PARALLEL)
        status = check_fan(set, beam, &image->axes[2], diag);
    image->beam = beam->kind == TS_BEAM_PARALLEL ? (struct ts_beam){0} : *beam;
    return status;
}
