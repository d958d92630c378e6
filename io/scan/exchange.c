/* SPDX-License-Identifier: Apache-2.0
 *
 * Data Exchange: /exchange/data (theta, y, x), data_white, data_dark, and theta, in degrees unless
 * its units are radian. The format has no pixel size, so the chain gives one or lengths are in
 * pixels. Source: De Carlo et al., J. Synchrotron Rad. 21, 2014.
 */
#include "io/scan/exchange.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "io/scan/scan_axes.h"
#include "io/scan/scan_facts.h"
#include "io/scan/scan_field.h"
#include "io/source/source_slices.h"

static const struct choice unit_choices[] =
    ANGLE_UNIT_CHOICES("as the units of theta say; without units degrees, as the format says");

static const struct param exchange_params[] = {
    PARAM(struct exchange_params, exchange, .required = true, .unit = "",
          .doc = "the Data Exchange file (HDF5)"),
    FRAMES_PARAM(struct exchange_params),
    PARAM(struct exchange_params, angle_unit, .unit = "", .choices = unit_choices,
          .init.choice = ANGLE_UNIT_FILE, .doc = "unit of theta, or of theta_start and theta_stop"),
    THETA_PARAMS(struct exchange_params, "theta in the file", "for a file without theta"),
    PIXEL_SIZE_PARAM(struct exchange_params, "one pixel"),
    QUANTITY_PARAM(struct exchange_params),
    BEAM_PARAMS(struct exchange_params),
    SLICES_PARAM(struct exchange_params),
    DROP_VIEWS_PARAM(struct exchange_params),
    ALLOW_PARAM(struct exchange_params),
};

static enum ts_status find_angles(struct projections *projections, const struct param_set *set)
{
    struct hdf5_input *input = &projections->input;
    const struct exchange_params *params = set->values;
    const bool start = ts_param_given(set, "theta_start"), stop = ts_param_given(set, "theta_stop");
    const enum angle_unit unit = (enum angle_unit)params->angle_unit;
    struct hdf5_ref theta;
    int64_t n = 0; /* of the file, beside those of the chain */
    projections->angles_hint = "`hdf5: FILE` with `path: /exchange/data`, `axes: [view, z, "
                               "detector]`, `quantity: counts`, "
                               "theta_start and theta_stop reads the frames with even angles";
    if (start != stop)
        return ts_param_error(set, start ? "theta_start" : "theta_stop", "angles-missing",
                              input->diag,
                              "theta_start and theta_stop belong together, and %s is missing",
                              start ? "theta_stop" : "theta_start");
    const enum ts_status status = ts_hdf5_input_find_root(input, "/exchange/theta", &theta);
    if (status != TS_OK)
        return status;
    if (theta.kind != FINDER_NONE && start) {
        double *angles;
        const enum ts_status read =
            ts_hdf5_stack_list(input, &theta, "/exchange/theta", 1 << 20, &angles, &n);
        if (read != TS_OK)
            return read;
    }
    if (n > 0 && n == projections->n_views)
        return ts_param_error(set, "theta_start", "angles-twice", input->diag,
                              "the file has its own theta; give theta_start and theta_stop only "
                              "for files without it");
    if (start)
        return ts_projections_range(projections, params->theta_start, params->theta_stop,
                                    params->endpoint, unit);
    if (theta.kind != FINDER_NONE)
        return ts_projections_listed(projections, &theta, "/exchange/theta", unit, "projection");
    ts_hdf5_input_refuse(input, "angles-missing",
                         "there is no /exchange/theta: the angles are not known");
    return ts_diag_hint(input->diag,
                        "theta_start and theta_stop in degrees (and endpoint) say what they are");
}

static enum ts_status refuse_axes(const struct projections *projections, const char *says,
                                  const char *axes)
{
    char shown[256], order[64];
    const bool views = projections->kind == FRAMES_PROJECTIONS;
    const char *const read[3] = {views ? "view" : "frame", "z", "detector"};
    ts_text_escape(shown, sizeof shown, axes);
    ts_hdf5_input_refuse(&projections->input, "axes-order",
                         "the axes of %s are %s, expected theta:y:x%s%s", projections->stack.name,
                         shown, *says ? ": so says " : "", says);
    if (ts_scan_axes_order(axes, read, order, sizeof order))
        ts_diag_hint(projections->input.diag,
                     "`hdf5: FILE` with `path: %s`, `axes: %s`, `quantity: counts`%s reads it",
                     projections->stack.name, order, views ? ", `angles: /exchange/theta`" : "");
    return TS_BAD_INPUT;
}

/* A file that names its axes, in any way, must name those of the format. */
static enum ts_status check_axes(struct projections *projections)
{
    static const char *const frames[] = {"frame", "z", "detector"};
    struct hdf5_input *input = &projections->input;
    const struct hdf5_ref *dataset = &projections->stack.dataset;
    const bool single = projections->stack.storage.rank == 2;
    char axes[64];
    struct hdf5_ref group;
    struct scan_axes found;
    enum ts_status status = ts_hdf5_input_text(input, dataset, "axes", axes, sizeof axes);
    if (status != TS_OK)
        return status;
    /* Flats and darks have no theta; writers name their first axis as they like. */
    const size_t length = strlen(axes);
    if (*axes && strcmp(axes, "theta:y:x") != 0 &&
        !(length > 4 && !strcmp(axes + length - 4, ":y:x")) && !(single && !strcmp(axes, "y:x")))
        return refuse_axes(projections, "", axes);
    status = ts_hdf5_input_find_root(input, "/exchange", &group);
    if (status == TS_OK)
        status = ts_scan_axes_find(input, &group, dataset, ts_base_name(projections->stack.name),
                                   single ? frames + 1 : frames, &found);
    ts_hdf5_input_release(input, &group);
    return status == TS_OK && *found.names ? refuse_axes(projections, found.says, found.names)
                                           : status;
}

/* A single flat or dark may be stored as (y, x). It is then read as one frame, whose axis comes
   after these two. */
static int frame_axes(const struct hdf5_ref *dataset, int32_t frames)
{
    return frames != FRAMES_PROJECTIONS && dataset->rank == 2 ? 2 : 3;
}

/* ---- fields that are not used ---------------------------------------------------------------- */

static const struct hdf5_ref *root_of(const struct projections *projections)
{
    return &projections->input.files[0].root;
}

/* Beamlines write the size of a pixel in fields of their own, in micrometers if there is no unit.
   The names do not tell for sure which of them is the size in the sample. */
static enum ts_status warn_of_pixel_size(struct projections *projections)
{
    static const char *const names[] = {
        "/measurement/instrument/detection_system/objective/resolution",
        "/measurement/instrument/detector_motor_stack/setup/pixel_size",
        "/measurement/instrument/detector/actual_pixel_size_x",
        "/measurement/instrument/detector/pixel_size_x",
        "/measurement/instrument/detector/pixel_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct scan_field field;
        const enum ts_status status =
            ts_scan_field_read(&projections->input, root_of(projections), names[i], &field);
        if (status != TS_OK)
            return status;
        const double unit = ts_scan_field_mm(*field.units ? field.units : "um");
        if (field.n != 1 || !(field.values[0] * unit > 0) || !isfinite(field.values[0]))
            continue;
        ts_scan_field_warn(&projections->input, names[i],
                           "is %.9g %s, and is not used: lengths are in pixels", field.values[0],
                           *field.units ? field.units : "without a unit");
        ts_diag_hint(projections->input.diag,
                     "pixel_size: %.9g, in mm, if that is the pixel's size in the sample",
                     field.values[0] * unit);
        return TS_OK;
    }
    return TS_OK;
}

/* Lists with a value for each view, or a single value; if a list is not constant, views are not
   alike. */
static enum ts_status warn_of_lists(struct projections *projections)
{
    static const struct {
        const char *name, *what;
    } lists[] = {{"/exchange/x_shift", "views are not shifted"},
                 {"/exchange/y_shift", "views are not shifted"},
                 {"/exchange/shift_x", "views are not shifted"},
                 {"/exchange/shift_y", "views are not shifted"},
                 {"/exchange/x_translation", "views are not shifted"},
                 {"/exchange/y_translation", "views are not shifted"},
                 {"/exchange/z_translation", "views are not shifted"},
                 {"/measurement/instrument/sample_motor_stack/setup/x", "views are not shifted"},
                 {"/measurement/instrument/sample_motor_stack/setup/y", "views are not shifted"},
                 {"/measurement/instrument/sample_motor_stack/setup/z", "views are not shifted"},
                 {"/measurement/instrument/source/current", "counts are not divided by it"},
                 {"/measurement/instrument/detector/exposure_time", "counts are not divided by it"},
                 {"/exchange/current", "counts are not divided by it"},
                 {"/exchange/i0", "counts are not divided by it"}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct scan_field field;
        const enum ts_status status =
            ts_scan_field_read(&projections->input, root_of(projections), lists[i].name, &field);
        double low = INFINITY, high = -INFINITY;
        if (status != TS_OK)
            return status;
        for (int64_t k = 0; k < field.n; k++) {
            low = fmin(low, field.values[k]);
            high = fmax(high, field.values[k]);
        }
        if (high - low > 1e-3 * fmax(fabs(low), fabs(high)))
            ts_scan_field_warn(&projections->input, lists[i].name,
                               "goes from %.6g to %.6g over the scan, and %s", low, high,
                               lists[i].what);
    }
    return TS_OK;
}

static const char flat_exposure[] = "/process/acquisition/flat_fields/flat_exposure_time",
                  other_exposure[] = "/process/acquisition/flat_fields/different_flat_exposure";

/* Finds whether the flats were exposed for another time than the views. The file may name one that
   was not used. */
static enum ts_status find_other_exposure(struct projections *projections, bool *other)
{
    struct scan_field differ;
    const enum ts_status status =
        ts_scan_field_read(&projections->input, root_of(projections), other_exposure, &differ);
    *other = (differ.n == 1 && differ.values[0] != 0) || !strcasecmp(differ.text, "different") ||
             !strcasecmp(differ.text, "yes");
    return status;
}

/* Flats with another exposure than the views make all transmissions wrong by one factor. */
static enum ts_status warn_of_exposure(struct projections *projections)
{
    struct scan_field flat, view;
    bool other;
    enum ts_status status = find_other_exposure(projections, &other);
    if (status == TS_OK)
        status =
            ts_scan_field_read(&projections->input, root_of(projections), flat_exposure, &flat);
    if (status == TS_OK)
        status = ts_scan_field_read(&projections->input, root_of(projections),
                                    "/measurement/instrument/detector/exposure_time", &view);
    if (status != TS_OK || !other ||
        (flat.n == 1 && view.n == 1 && flat.values[0] == view.values[0]))
        return status;
    if (flat.n == 1 && view.n == 1)
        ts_scan_field_warn(&projections->input, flat_exposure,
                           "is %.6g, and that of the views %.6g: counts are not divided by it",
                           flat.values[0], view.values[0]);
    else
        ts_scan_field_warn(&projections->input, flat_exposure,
                           "differs from that of the views: counts are not divided by it");
    return TS_OK;
}

/* Notes what the frames of other files are compared with. The list of a scan has no values for its
   flats and darks unless there are as many of them. */
static enum ts_status note_facts(struct projections *projections)
{
    static const struct {
        enum source_fact_kind kind;
        const char *name;
    } rows[] = {{SOURCE_EXPOSURE, flat_exposure},
                {SOURCE_EXPOSURE, "/measurement/instrument/detector/exposure_time"},
                {SOURCE_CURRENT, "/measurement/instrument/source/current"},
                {SOURCE_CURRENT, "/exchange/current"},
                {SOURCE_MONITOR, "/exchange/i0"}};
    bool other = false;
    enum ts_status status =
        projections->kind == FRAMES_FLATS ? find_other_exposure(projections, &other) : TS_OK;
    for (size_t i = other ? 0 : 1; status == TS_OK && i < sizeof rows / sizeof *rows; i++)
        status = ts_scan_fact(projections, rows[i].kind, root_of(projections), rows[i].name,
                              rows[i].name);
    return status;
}

/* Returns true if a name in /process is that of a step that changes values or their places. */
static bool is_step(const char *name)
{
    static const char *const words[] = {"flat",   "dark",    "normal", "log",     "flip", "ring",
                                        "stripe", "phase",   "shift",  "crop",    "bin",  "align",
                                        "zinger", "correct", "center", "transpos"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i]))
            return true;
    return false;
}

/* A flag of /process says that a step was done, in a word or a number. */
static enum ts_status warn_of_steps(struct projections *projections)
{
    static const char *const no[] = {"0", "no", "none", "false", "off", "n/a", "queued", "failed"};
    struct hdf5_ref process;
    struct hdf5_name *names;
    size_t n;
    enum ts_status status =
        ts_hdf5_input_find(&projections->input, root_of(projections), "process", &process);
    if (status == TS_OK)
        status = ts_hdf5_input_names(&projections->input, &process, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct scan_field field;
        char name[HDF5_INPUT_PATH + 16];
        bool done;
        if (names[i].kind != 'h' || !is_step(names[i].name))
            continue;
        status = ts_scan_field_read(&projections->input, &process, names[i].name, &field);
        done = field.n == 1 ? field.values[0] != 0 : *field.text != '\0';
        for (size_t k = 0; k < sizeof no / sizeof *no; k++)
            done &= strcasecmp(field.text, no[k]) != 0;
        snprintf(name, sizeof name, "/process/%s", names[i].name);
        if (status == TS_OK && done && field.n == 1)
            ts_scan_field_warn(&projections->input, name,
                               "is %.6g: this may have been done to the views already, and a stage "
                               "would do it again",
                               field.values[0]);
        else if (status == TS_OK && done)
            ts_scan_field_warn(&projections->input, name,
                               "is '%s': this may have been done to the views already, and a stage "
                               "would do it again",
                               field.text);
    }
    ts_hdf5_input_release(&projections->input, &process);
    return status;
}

static enum ts_status warn_of_fields(struct projections *projections, const struct param_set *set)
{
    enum ts_status status =
        ts_param_given(set, "pixel_size") ? TS_OK : warn_of_pixel_size(projections);
    if (status == TS_OK)
        status = warn_of_lists(projections);
    if (status == TS_OK)
        status = warn_of_exposure(projections);
    return status == TS_OK ? warn_of_steps(projections) : status;
}

/* ---- the format ------------------------------------------------------------------------------ */

static enum ts_status find_all(struct projections *projections, const struct param_set *set)
{
    static const char *const names[] = {"/exchange/data", "/exchange/data_white",
                                        "/exchange/data_dark"};
    static const int many_frames[3] = {1, 0, 2}, one_frame[3] = {0, 2, 1};
    const struct exchange_params *params = set->values;
    const char *name = names[params->frames];
    struct hdf5_ref dataset;
    projections->kind = (enum frames)params->frames;
    enum ts_status status = ts_hdf5_input_find_root(&projections->input, name, &dataset);
    if (status == TS_OK && dataset.kind == FINDER_NONE) {
        ts_hdf5_input_refuse(&projections->input, "frames-missing",
                             "there is no %s, which holds the %s", name,
                             ts_projections_frames_name(params->frames));
        status = ts_projections_hint_missing(params->frames, projections->input.diag);
    }
    if (status == TS_OK)
        status = ts_hdf5_stack_open(&projections->input, &dataset, name,
                                    frame_axes(&dataset, params->frames), &projections->stack);
    if (status == TS_BAD_INPUT)
        ts_projections_hint_empty(projections);
    if (status == TS_OK)
        status = check_axes(projections);
    memcpy(projections->order, projections->stack.storage.rank == 2 ? one_frame : many_frames,
           sizeof many_frames);
    projections->n_views = projections->stack.n[projections->order[1]];
    projections->quantity = params->quantity;
    if (ts_param_given(set, "pixel_size"))
        projections->spacing_mm[0] = projections->spacing_mm[1] = params->pixel_size;
    if (status == TS_OK && params->frames == FRAMES_PROJECTIONS)
        status = find_angles(projections, set);
    if (status == TS_OK && params->frames == FRAMES_PROJECTIONS)
        status = warn_of_fields(projections, set);
    if (status == TS_OK)
        status = note_facts(projections);
    if (status == TS_OK)
        status = ts_projections_attribute(projections, "frames", "%s",
                                          ts_projections_frames_name(params->frames));
    return status;
}

static enum ts_status open_exchange(const struct param_set *set, struct source **source,
                                    struct ts_diag *diag)
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
