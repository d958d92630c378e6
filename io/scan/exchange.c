/* SPDX-License-Identifier: Apache-2.0
 *
 * Data Exchange: /exchange/data (theta, y, x), data_white, data_dark, and theta, in degrees unless its units are
 * radian. The format has no pixel size, so the chain gives one or lengths are in pixels. Source: De Carlo et al., J.
 * Synchrotron Rad. 21, 2014.
 */
#include "io/scan/exchange.h"

#include <string.h>

#include "io/source/source_slices.h"

static const struct choice unit_choices[] =
    ANGLE_UNIT_CHOICES("as the units of theta say; without units degrees, as the format says");

static const struct param exchange_params[] = {
    PARAM(struct exchange_params, exchange, .required = true, .unit = "", .doc = "the Data Exchange file (HDF5)"),
    FRAMES_PARAM(struct exchange_params),
    PARAM(struct exchange_params, angle_unit, .unit = "", .choices = unit_choices, .init.choice = ANGLE_UNIT_FILE,
          .doc = "unit of theta, or of theta_start and theta_stop"),
    THETA_PARAMS(struct exchange_params, "theta in the file", "for a file without theta"),
    PIXEL_SIZE_PARAM(struct exchange_params, "one pixel"),
    QUANTITY_PARAM(struct exchange_params),
    BEAM_PARAMS(struct exchange_params),
    SLICES_PARAM(struct exchange_params),
};

static enum ts_status find_angles(struct projections *projections, const struct param_set *set)
{
    struct hdf5_input *input = &projections->input;
    const struct exchange_params *params = set->values;
    const bool start = ts_param_given(set, "theta_start"), stop = ts_param_given(set, "theta_stop");
    const enum angle_unit unit = (enum angle_unit)params->angle_unit;
    struct hdf5_ref theta;
    if (start != stop)
        return ts_param_error(set, start ? "theta_start" : "theta_stop", "angles-missing", input->diag,
                              "theta_start and theta_stop belong together, and %s is missing",
                              start ? "theta_stop" : "theta_start");
    const enum ts_status status = ts_hdf5_input_find_root(input, "/exchange/theta", &theta);
    if (status != TS_OK)
        return status;
    if (theta.kind != FINDER_NONE && start)
        return ts_param_error(set, "theta_start", "angles-twice", input->diag,
                              "the file has its own theta; give theta_start and theta_stop only for files without it");
    if (start)
        return ts_projections_range(projections, params->theta_start, params->theta_stop, params->endpoint, unit);
    if (theta.kind != FINDER_NONE)
        return ts_projections_listed(projections, &theta, "/exchange/theta", unit, "projection");
    ts_hdf5_input_refuse(input, "angles-missing", "there is no /exchange/theta: the angles are not known");
    return ts_diag_hint(input->diag, "theta_start and theta_stop in degrees (and endpoint) say what they are");
}

/* A file that names its axes must name those of the format. */
static enum ts_status check_axes(const struct projections *projections)
{
    char axes[64], shown[256];
    const enum ts_status status =
        ts_hdf5_input_text(&projections->input, &projections->stack.dataset, "axes", axes, sizeof axes);
    if (status != TS_OK)
        return status;
    if (!*axes || !strcmp(axes, "theta:y:x"))
        return TS_OK;
    /* Flats and darks have no theta; writers name their first axis as they like. */
    const size_t length = strlen(axes);
    if ((length > 4 && !strcmp(axes + length - 4, ":y:x")) ||
        (projections->stack.storage.rank == 2 && !strcmp(axes, "y:x")))
        return TS_OK;
    ts_text_escape(shown, sizeof shown, axes);
    return ts_hdf5_input_refuse(&projections->input, "axes-order", "the axes of %s are %s, expected theta:y:x",
                                projections->stack.name, shown);
}

/* A single flat or dark may be stored as (y, x). It is read as frames of which there is one, along an axis after
 * those. */
static int frame_axes(const struct hdf5_ref *dataset, int32_t frames)
{
    return frames != FRAMES_PROJECTIONS && dataset->rank == 2 ? 2 : 3;
}

static enum ts_status find_all(struct projections *projections, const struct param_set *set)
{
    static const char *const names[] = {"/exchange/data", "/exchange/data_white", "/exchange/data_dark"};
    static const int many_frames[3] = {1, 0, 2}, one_frame[3] = {0, 2, 1};
    const struct exchange_params *params = set->values;
    const char *name = names[params->frames];
    struct hdf5_ref dataset;
    enum ts_status status = ts_hdf5_input_find_root(&projections->input, name, &dataset);
    if (status == TS_OK && dataset.kind == FINDER_NONE)
        status = ts_hdf5_input_refuse(&projections->input, "frames-missing", "there is no %s, which holds the %s", name,
                                      ts_projections_frames_name(params->frames));
    if (status == TS_OK)
        status = ts_hdf5_stack_open(&projections->input, &dataset, name, frame_axes(&dataset, params->frames),
                                    &projections->stack);
    if (status == TS_OK)
        status = check_axes(projections);
    memcpy(projections->order, projections->stack.storage.rank == 2 ? one_frame : many_frames, sizeof many_frames);
    projections->n_views = projections->stack.n[projections->order[1]];
    projections->quantity = params->quantity;
    if (ts_param_given(set, "pixel_size"))
        projections->spacing_mm[0] = projections->spacing_mm[1] = params->pixel_size;
    if (status == TS_OK && params->frames == FRAMES_PROJECTIONS)
        status = find_angles(projections, set);
    if (status == TS_OK)
        status = ts_projections_attribute(projections, "frames", "%s", ts_projections_frames_name(params->frames));
    return status;
}

static enum ts_status open_exchange(const struct param_set *set, struct source **source, struct ts_diag *diag)
{
    return ts_projections_source(set, find_all, source, diag);
}

const struct source_format exchange_format = {
    .name = "exchange",
    .summary = "a scan in a Data Exchange file: projections, flats or darks as a sinogram",
    .params = exchange_params,
    .n_params = sizeof exchange_params / sizeof exchange_params[0],
    .params_bytes = sizeof(struct exchange_params),
    .open = open_exchange,
    .resolve = ts_source_beam_resolve,
};
