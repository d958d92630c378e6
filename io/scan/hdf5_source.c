/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens one dataset of an HDF5 file as a source: a volume (z, y, x) or a sinogram (z, view,
 * detector), with its axes in the file in any order. The unit of the angles and, where the chain
 * does not state it, the spacing are taken from the file; the chain states order and place.
 */
#include "io/scan/hdf5_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/path.h"
#include "io/scan/hdf5_spacing.h"
#include "io/scan/scan_axes.h"
#include "io/scan/scan_field.h"
#include "io/source/source_slices.h"

static const struct choice unit_choices[] =
    ANGLE_UNIT_CHOICES("as the units of the angles say; without units degrees");

static const struct choice quantity_choices[] = {
    {"counts", TS_COUNTS, "detector counts", 0},
    {"transmission", TS_TRANSMISSION, "divided by the flat field", 0},
    {"line_integral", TS_LINE_INTEGRAL, "the negative logarithm of the transmission", 0},
    {"attenuation", TS_ATTENUATION, "linear attenuation in 1/mm", 0},
    {"hu", TS_HU, "Hounsfield units", 0},
    {"intensity", TS_INTENSITY, "anything else", 0},
    {NULL, 0, NULL, 0},
};

static const struct param hdf5_params[] = {
    PARAM(struct hdf5_params, hdf5, .required = true, .unit = "", .doc = "the HDF5 file"),
    PARAM(struct hdf5_params, path, .required = true, .unit = "",
          .doc = "path of the dataset in the file"),
    PARAM(struct hdf5_params, axes, .required = true, .unit = "",
          .doc =
              "names of the dataset's three axes in the order of the file: z, y and x, or z, view "
              "and detector, or, of flats and darks, which have no angles, z, frame and detector"),
    PARAM(struct hdf5_params, spacing, .unit = "mm", .optional = true, .min = 1e-9, .max = 1e6,
          .doc = "distances of neighbors along z, y and x, or along z and detector; what the file "
                 "says where they are not given, else one pixel"),
    PARAM(struct hdf5_params, angles, .unit = "", .init.text = "",
          .doc = "path of the angles of the views"),
    PARAM(struct hdf5_params, angle_unit, .unit = "", .choices = unit_choices,
          .init.choice = ANGLE_UNIT_FILE,
          .doc = "unit of the angles in the file, or of theta_start and theta_stop"),
    THETA_PARAMS(struct hdf5_params, "the file's angles", "in place of angles"),
    PARAM(struct hdf5_params, quantity, .unit = "", .choices = quantity_choices,
          .init.choice = TS_INTENSITY, .doc = "what the stored values are"),
    BEAM_PARAMS(struct hdf5_params),
    SLICES_PARAM(struct hdf5_params),
    DROP_VIEWS_PARAM(struct hdf5_params),
    ALLOW_PARAM(struct hdf5_params),
};

/* Finds where each axis of the image is in the file. */
static enum ts_status find_order(struct projections *projections, const struct param_set *set)
{
    static const char *const kinds[3][3] = {
        {"z", "view", "detector"}, {"z", "y", "x"}, {"z", "frame", "detector"}};
    const struct hdf5_params *params = set->values;
    for (int kind = 0; kind < 3; kind++) {
        int n_found = 0;
        for (int d = 0; d < 3 && params->axes.n == 3; d++)
            for (int i = 0; i < 3; i++)
                if (!strcmp(params->axes.items[i], kinds[kind][d])) {
                    projections->order[d] = i;
                    n_found++;
                    break;
                }
        projections->volume = kind == 1;
        if (n_found == 3)
            return TS_OK;
    }
    return ts_param_error(set, "axes", "axes-names", projections->input.diag,
                          "the axes are neither z, y and x nor z, view and detector nor z, frame "
                          "and detector, each once");
}

static bool has_frames(const struct hdf5_params *params)
{
    bool found = false;
    for (int64_t i = 0; i < params->axes.n; i++)
        found |= !strcmp(params->axes.items[i], "frame");
    return found;
}

static enum ts_status find_angles(struct projections *projections, const struct param_set *set)
{
    const struct hdf5_params *params = set->values;
    struct hdf5_input *input = &projections->input;
    const bool start = ts_param_given(set, "theta_start"), stop = ts_param_given(set, "theta_stop");
    const enum angle_unit unit = (enum angle_unit)params->angle_unit;
    struct hdf5_ref angles;
    projections->angles_hint = "theta_start and theta_stop, in place of `angles`, read the views "
                               "with even angles";
    if (projections->volume || has_frames(params)) {
        if (!start && !stop && !*params->angles)
            return TS_OK;
        return ts_param_error(set, "axes", "angles-missing", input->diag, "%s",
                              projections->volume ? "a volume has no angles"
                                                  : "frames have no angles");
    }
    if (start != stop || start == (*params->angles != 0)) {
        ts_param_error(
            set, "axes", "angles-missing", input->diag,
            "a sinogram needs angles, or both theta_start and theta_stop in their place");
        return ts_diag_hint(input->diag,
                            "flats and darks have no angles: their axes are z, frame and detector");
    }
    if (start)
        return ts_projections_range(projections, params->theta_start, params->theta_stop,
                                    params->endpoint, unit);
    const enum ts_status status = ts_hdf5_input_find_root(input, params->angles, &angles);
    if (status == TS_OK && angles.kind == FINDER_NONE)
        return ts_hdf5_input_refuse(input, "angles-missing",
                                    "there is no %s: the angles are not known", params->angles);
    return status == TS_OK
               ? ts_projections_listed(projections, &angles, params->angles, unit, "view")
               : status;
}

/* Warns of a scale that is beside the dataset, and of axes that the file names in another order,
 * and finds the spacing. */
static enum ts_status read_fields(struct projections *projections, const struct param_set *set)
{
    const struct hdf5_params *params = set->values;
    struct hdf5_input *input = &projections->input;
    const char *path = params->path, *name = ts_base_name(path);
    char folder[HDF5_INPUT_PATH];
    struct hdf5_ref group = {0};
    snprintf(folder, sizeof folder, "/%.*s", (int)(name - path), path);
    enum ts_status status = ts_hdf5_input_find_root(input, folder, &group);
    if (status == TS_OK)
        status = ts_scan_field_warn_beside(input, &group, name);
    if (status == TS_OK)
        status =
            ts_scan_axes_warn(input, &group, &projections->stack.dataset, name, params->axes.items);
    return status == TS_OK ? ts_hdf5_spacing(projections, set, &group) : status;
}

static enum ts_status find_all(struct projections *projections, const struct param_set *set)
{
    const struct hdf5_params *params = set->values;
    struct hdf5_ref dataset = {0};
    enum ts_status status = find_order(projections, set);
    if (status == TS_OK)
        status = ts_hdf5_input_find_root(&projections->input, params->path, &dataset);
    if (status == TS_OK && dataset.kind == FINDER_NONE) {
        status = ts_hdf5_input_refuse(&projections->input, "hdf5-no-dataset", "there is no %s",
                                      params->path);
        ts_diag_hint(projections->input.diag, "`tomostage info FILE` lists what is in the file");
    }
    if (status == TS_OK)
        status =
            ts_hdf5_stack_open(&projections->input, &dataset, params->path, 3, &projections->stack);
    projections->n_views = projections->stack.n[projections->order[1]];
    projections->quantity = params->quantity;
    if (status == TS_OK)
        status = read_fields(projections, set);
    return status == TS_OK ? find_angles(projections, set) : status;
}

static enum ts_status open_hdf5(const struct param_set *set, struct source **source,
                                struct ts_diag *diag)
{
    return ts_projections_source(set, find_all, source, diag);
}

static void hdf5_source_resolve(struct param_set *set, const struct source *source)
{
    static const char *const of_views[] = {"angles", "angle_unit", "endpoint"};
    const bool views = ts_image_is_sinogram(&source->image) && !has_frames(set->values);
    for (int i = 0; !views && i < 3; i++)
        ts_param_idle(set, of_views[i]);
    ts_source_beam_resolve(set, source);
}

const struct source_format hdf5_format = {
    .name = "hdf5",
    .summary = "a dataset with three axes in an HDF5 file, as a volume or a sinogram",
    .params = hdf5_params,
    .n_params = sizeof hdf5_params / sizeof hdf5_params[0],
    .params_bytes = sizeof(struct hdf5_params),
    .open = open_hdf5,
    .resolve = hdf5_source_resolve,
};
