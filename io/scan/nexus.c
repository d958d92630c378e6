/* SPDX-License-Identifier: Apache-2.0
 *
 * NXtomo: an NXentry or NXsubentry whose definition is NXtomo; in it NXinstrument/NXdetector with
 * data (frame, row, column), image_key (0 projection, 1 flat, 2 dark, 3 invalid), x_pixel_size,
 * y_pixel_size and x_rotation_axis_pixel_position; rotation_angle in NXsample, or in NXdata. What
 * else it may say is in nexus_fields.c. Files of the ESRF have image_key_control beside image_key:
 * the same, but for frames that were taken again to see whether the sample moved, which are -1.
 * Source: NeXus definitions, NXtomo.
 */
#include "io/scan/nexus.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "io/scan/nexus_angles.h"
#include "io/scan/nexus_facts.h"
#include "io/scan/nexus_pixels.h"
#include "io/scan/scan_axes.h"
#include "io/scan/scan_field.h"
#include "io/source/source_slices.h"

enum { KEY_ALIGNMENT = -1, KEY_INVALID = 3, KEYS = 4, FRAMES_MAX = 1 << 20 };

static const struct choice unit_choices[] =
    ANGLE_UNIT_CHOICES("as the units of rotation_angle say; without units the scan is refused");

static const struct param nexus_params[] = {
    PARAM(struct nexus_params, nexus, .required = true, .unit = "", .doc = "the NeXus file (HDF5)"),
    PARAM(struct nexus_params, entry, .unit = "", .init.text = "",
          .doc = "path of the NXtomo entry, where the file has several"),
    PARAM(struct nexus_params, data, .unit = "", .init.text = "",
          .doc =
              "path of the frames (frame, row, column); found in the entry where it is not given"),
    PARAM(struct nexus_params, angles, .unit = "", .init.text = "",
          .doc = "path of the angles, one a frame; found in the entry where it is not given"),
    PARAM(struct nexus_params, image_key, .unit = "", .init.text = "",
          .doc = "path of the keys that tell projections, flats and darks apart; found where it is "
                 "not given"),
    PARAM(struct nexus_params, axes, .optional = true, .unit = "",
          .doc = "names of the frames' three axes in the order of the file: view (or frame), z and "
                 "detector; absent: in this order, as the format says"),
    FRAMES_PARAM(struct nexus_params),
    PARAM(struct nexus_params, angle_unit, .unit = "", .choices = unit_choices,
          .init.choice = ANGLE_UNIT_FILE, .doc = "unit of the angles"),
    THETA_PARAMS(struct nexus_params, "rotation_angle in the file", "for a file without angles"),
    PIXEL_SIZE_PARAM(struct nexus_params, "x_pixel_size and y_pixel_size of the sample in the "
                                          "file, else of the detector, else one pixel"),
    PADDING_PARAM(struct nexus_params, "that pixel_mask of the file calls bad"),
    QUANTITY_PARAM(struct nexus_params),
    BEAM_PARAMS(struct nexus_params),
    SLICES_PARAM(struct nexus_params),
    DROP_VIEWS_PARAM(struct nexus_params),
    ALLOW_PARAM(struct nexus_params),
};

struct nexus {
    struct projections *projections;
    struct hdf5_input *input;
    const struct param_set *set;
    const struct nexus_params *params;
    struct hdf5_ref entry, detector;
    struct hdf5_ref keyed; /* the detector that holds image_key */
    struct hdf5_ref source, diode;
    const char *angles_at; /* path of the angles, below their group */
    struct hdf5_ref angles_in;
    const double *keys; /* image_key of each frame */
    /* If image_key has more values than there are frames, which are projections then: all of it;
       else NULL. */
    const double *all_keys;
    int64_t n_all_keys;
};

/* ---- the entry and what is in it ------------------------------------------------------------- */

static enum ts_status is_tomo(struct nexus *nexus, const struct hdf5_ref *group, bool *found)
{
    char text[64] = "";
    struct hdf5_ref definition;
    *found = false;
    if (!ts_hdf5_input_is_class(group, "NXentry") && !ts_hdf5_input_is_class(group, "NXsubentry"))
        return TS_OK;
    enum ts_status status = ts_hdf5_input_find(nexus->input, group, "definition", &definition);
    if (status == TS_OK && definition.kind == FINDER_DATASET)
        status = ts_hdf5_input_text(nexus->input, &definition, NULL, text, sizeof text);
    ts_hdf5_input_release(nexus->input, &definition);
    *found = !strcmp(text, "NXtomo");
    return status;
}

/* Looks for NXtomo among the members of a group, and one level further in entries. */
static enum ts_status search(struct nexus *nexus, const struct hdf5_ref *group, int level,
                             int *n_found)
{
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = ts_hdf5_input_names(nexus->input, group, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref member;
        bool found = false;
        if (names[i].kind != 'h')
            continue; /* entries are members; the targets of links are found by their own paths */
        status = ts_hdf5_input_find(nexus->input, group, names[i].name, &member);
        if (status == TS_OK)
            status = is_tomo(nexus, &member, &found);
        if (found)
            ++*n_found;
        else if (status == TS_OK && level == 0 && ts_hdf5_input_is_class(&member, "NXentry"))
            status = search(nexus, &member, 1, n_found);
        if (found && nexus->entry.kind == FINDER_NONE)
            nexus->entry = member;
        else
            ts_hdf5_input_release(nexus->input, &member);
    }
    return status;
}

static enum ts_status find_entry(struct nexus *nexus)
{
    const struct nexus_params *params = nexus->params;
    int n_found = 0;
    enum ts_status status;
    if (*params->entry) {
        status = ts_hdf5_input_find_root(nexus->input, params->entry, &nexus->entry);
        if (status == TS_OK && nexus->entry.kind != FINDER_GROUP)
            return ts_hdf5_input_refuse(nexus->input, "nexus-entry", "there is no group %s",
                                        params->entry);
        return status;
    }
    status = search(nexus, &nexus->input->files[0].root, 0, &n_found);
    if (status != TS_OK || n_found == 1 || (n_found == 0 && *params->data))
        return status;
    if (n_found > 1) {
        ts_hdf5_input_refuse(nexus->input, "nexus-entries",
                             "%d entries follow NXtomo, expected one", n_found);
        return ts_diag_hint(
            nexus->input->diag,
            "entry: PATH says which; `tomostage info FILE` lists what is in the file");
    }
    ts_hdf5_input_refuse(nexus->input, "nexus-no-entry", "no entry follows NXtomo (definition)");
    return ts_diag_hint(
        nexus->input->diag,
        "data, angles and image_key name the datasets of a scan that does not say so");
}

/* Returns true if a group has a member of this name, whatever it leads to. */
static enum ts_status has_member(struct nexus *nexus, const struct hdf5_ref *group,
                                 const char *name, bool *found)
{
    struct hdf5_name *names;
    size_t n;
    const enum ts_status status = ts_hdf5_input_names(nexus->input, group, &names, &n);
    for (size_t i = 0; i < n && !*found; i++)
        *found = !strcmp(names[i].name, name);
    return status;
}

/* Finds the first member of class classes[0] that has a member `holding`; or, if classes[1] is not
   NULL, the first such member of a member of class classes[0]. *found must be NONE before. *n_found
   grows by the number of all such members (NULL: not counted). */
static enum ts_status find_class(struct nexus *nexus, const struct hdf5_ref *group,
                                 const char *const *classes, const char *holding,
                                 struct hdf5_ref *found, int *n_found)
{
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = ts_hdf5_input_names(nexus->input, group, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n && (n_found || found->kind == FINDER_NONE); i++) {
        struct hdf5_ref member;
        bool holds = false;
        if (names[i].kind == 'e')
            continue; /* links out of the file are followed only if needed */
        status = ts_hdf5_input_find(nexus->input, group, names[i].name, &member);
        if (status == TS_OK && ts_hdf5_input_is_class(&member, classes[0]))
            status = classes[1] ? find_class(nexus, &member, classes + 1, holding, found, n_found)
                                : has_member(nexus, &member, holding, &holds);
        const bool first = holds && found->kind == FINDER_NONE;
        if (n_found && holds)
            *n_found += first || names[i].kind == 'h'; /* a link may be another name of the first */
        if (first)
            *found = member;
        else
            ts_hdf5_input_release(nexus->input, &member);
    }
    return status;
}

/* Finds the detector of the frames: the one that holds `data`, or else the first that has an
 * image_key. */
static enum ts_status find_detector(struct nexus *nexus)
{
    static const char *const classes[] = {"NXinstrument", "NXdetector", NULL};
    const char *given = nexus->params->data;
    const int length = (int)(ts_base_name(given) - given) - 1;
    struct hdf5_ref own = {0};
    int n = 0;
    bool holds = false;
    enum ts_status status =
        find_class(nexus, &nexus->entry, classes, "image_key", &nexus->keyed, &n);
    nexus->detector = nexus->keyed;
    if (status == TS_OK && length > 0 && nexus->entry.kind != FINDER_NONE) {
        char group[HDF5_INPUT_PATH];
        snprintf(group, sizeof group, "%.*s", length, given);
        status = ts_hdf5_input_find_root(nexus->input, group, &own);
    }
    if (status == TS_OK && ts_hdf5_input_is_class(&own, "NXdetector")) {
        nexus->detector = own;
        status = has_member(nexus, &own, "image_key", &holds);
        nexus->keyed = holds ? own : nexus->keyed;
        return status;
    }
    ts_hdf5_input_release(nexus->input, &own);
    if (status != TS_OK || n < 2 || nexus->params->frames != FRAMES_PROJECTIONS)
        return status;
    ts_diag_warning(nexus->input->diag, &(struct diag_site){.code = "detectors-several"},
                    "%s: the entry has %d detectors with an image_key, and the first is taken",
                    nexus->input->path, n);
    ts_diag_hint(nexus->input->diag, "data: PATH, the frames of another, takes that one");
    return TS_OK;
}

/* Finds the dataset that the chain names, or else the detector's member of this name; NONE if there
   is neither. */
static enum ts_status find_dataset(const struct nexus *nexus, const char *given,
                                   const struct hdf5_ref *detector, const char *name,
                                   struct hdf5_ref *found)
{
    return *given ? ts_hdf5_input_find_root(nexus->input, given, found)
                  : ts_hdf5_input_find(nexus->input, detector, name, found);
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int64_t count_frames(const struct nexus *nexus)
{
    return nexus->projections->stack.n[nexus->projections->order[1]];
}

/* Finds which axis of the file holds rows, frames and columns. */
static enum ts_status find_order(const struct nexus *nexus)
{
    static const char *const names[3] = {"z", "view", "detector"};
    const struct ts_texts *axes = &nexus->params->axes;
    int *order = nexus->projections->order, n_found = 0;
    memcpy(order, (const int[3]){1, 0, 2}, 3 * sizeof *order);
    if (axes->n == 0)
        return TS_OK;
    for (int d = 0; d < 3 && axes->n == 3; d++)
        for (int i = 0; i < 3; i++)
            if (!strcmp(strcmp(axes->items[i], "frame") ? axes->items[i] : "view", names[d])) {
                order[d] = i;
                n_found++;
                break;
            }
    return n_found == 3 ? TS_OK
                        : ts_param_error(nexus->set, "axes", "axes-names", nexus->input->diag,
                                         "the axes are not view (or frame), z and detector, each "
                                         "once");
}

/* Warns of axes that an NXdata of the entry names in another order, if its signal is these
 * frames. */
static enum ts_status warn_of_plotted_axes(struct nexus *nexus, const char *const read[3])
{
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = ts_hdf5_input_names(nexus->input, &nexus->entry, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref member, signal = {0};
        char name[64] = "";
        bool same = false;
        if (names[i].kind != 'h')
            continue;
        status = ts_hdf5_input_find(nexus->input, &nexus->entry, names[i].name, &member);
        if (status == TS_OK && ts_hdf5_input_is_class(&member, "NXdata")) {
            status = ts_hdf5_input_text(nexus->input, &member, "signal", name, sizeof name);
            if (!*name)
                snprintf(name, sizeof name, "data");
            if (status == TS_OK)
                status = ts_hdf5_input_find(nexus->input, &member, name, &signal);
            if (status == TS_OK && signal.kind == FINDER_DATASET)
                status = ts_hdf5_stack_is(nexus->input, &nexus->projections->stack, &signal, &same);
            if (status == TS_OK && same)
                status = ts_scan_axes_warn(nexus->input, &member, &signal, name, read);
        }
        ts_hdf5_input_release(nexus->input, &signal);
        ts_hdf5_input_release(nexus->input, &member);
    }
    return status;
}

/* Warns of axes that the file names in another order than the one in which the format has them. */
static enum ts_status warn_of_axes(struct nexus *nexus)
{
    static const char *const read[3] = {"view", "z", "detector"};
    const char *given = nexus->params->data;
    const size_t before = ts_diag_count(nexus->input->diag);
    if (nexus->params->axes.n > 0)
        return TS_OK;
    const enum ts_status status = ts_scan_axes_warn(
        nexus->input, *given ? &(struct hdf5_ref){0} : &nexus->detector,
        &nexus->projections->stack.dataset, *given ? ts_base_name(given) : "data", read);
    return status == TS_OK && ts_diag_count(nexus->input->diag) == before
               ? warn_of_plotted_axes(nexus, read)
               : status;
}

static enum ts_status open_frames(struct nexus *nexus)
{
    const char *given = nexus->params->data;
    struct hdf5_ref dataset;
    enum ts_status status = find_dataset(nexus, given, &nexus->detector, "data", &dataset);
    if (status == TS_OK && dataset.kind == FINDER_NONE) {
        ts_hdf5_input_refuse(nexus->input, "frames-missing", "there are no frames: %s",
                             *given ? given : "no NXdetector of the entry has data and image_key");
        status = ts_projections_hint_missing(FRAMES_PROJECTIONS, nexus->input->diag);
    }
    if (status == TS_OK)
        status = ts_hdf5_stack_open(nexus->input, &dataset, *given ? given : "data", 3,
                                    &nexus->projections->stack);
    if (status == TS_BAD_INPUT)
        ts_projections_hint_empty(nexus->projections);
    return status == TS_OK ? warn_of_axes(nexus) : status;
}

/* Leaves the values of projections in a list that has one for each value of image_key. */
static void keep_projections(const struct nexus *nexus, double *values)
{
    for (int64_t i = 0, n = 0; i < nexus->n_all_keys; i++)
        if (nexus->all_keys[i] == FRAMES_PROJECTIONS)
            values[n++] = values[i];
}

/* Takes an image_key that has more values than there are frames, as many of projections as frames:
 * flats and darks are elsewhere. Returns false if it is none. */
static bool take_all_keys(struct nexus *nexus, double *keys, int64_t n)
{
    const int64_t n_frames = count_frames(nexus);
    int64_t n_projections = 0;
    for (int64_t i = 0; i < n; i++)
        n_projections += keys[i] == FRAMES_PROJECTIONS;
    double *all = n_projections == n_frames
                      ? ts_arena_copy(nexus->input->arena, keys, (size_t)n, sizeof *keys)
                      : NULL;
    if (!all)
        return false;
    nexus->all_keys = all;
    nexus->n_all_keys = n;
    ts_diag_warning(nexus->input->diag,
                    &(struct diag_site){.code = "image-key",
                                        .span = nexus->set->spans[0],
                                        .stage = nexus->set->owner},
                    "%s: image_key has %" PRId64 " values for %" PRId64 " frames, and %" PRId64
                    " of them are projections: the frames are taken for these",
                    nexus->input->path, n, n_frames, n_projections);
    return true;
}

/* Reads a list with a value for each frame: the dataset that the chain names, or the detector's;
   NULL if there is none. */
static enum ts_status read_keys(struct nexus *nexus, const char *given, const char *name,
                                double **keys)
{
    const int64_t n_frames = count_frames(nexus);
    struct hdf5_ref dataset;
    int64_t n = 0;
    *keys = NULL;
    enum ts_status status = find_dataset(nexus, given, &nexus->keyed, name, &dataset);
    if (status == TS_OK)
        status =
            ts_hdf5_stack_list(nexus->input, &dataset, *given ? given : name, FRAMES_MAX, keys, &n);
    if (status == TS_OK && *keys && n > n_frames &&
        (nexus->all_keys ? n == nexus->n_all_keys : take_all_keys(nexus, *keys, n)))
        keep_projections(nexus, *keys);
    else if (status == TS_OK && *keys && n != n_frames)
        return ts_hdf5_input_refuse(nexus->input, "image-key",
                                    "%s has %" PRId64 " values, expected %" PRId64
                                    ", one for each frame",
                                    name, n, n_frames);
    return status;
}

/* Reads image_key, and image_key_control beside it, which is NULL if there is none. */
static enum ts_status read_all_keys(struct nexus *nexus, double **keys, double **control)
{
    const char *given = nexus->params->image_key;
    char beside[HDF5_INPUT_PATH];
    snprintf(beside, sizeof beside, "%.*simage_key_control", (int)(ts_base_name(given) - given),
             given);
    *control = NULL;
    const enum ts_status status = read_keys(nexus, given, "image_key", keys);
    if (status == TS_OK && *keys)
        return read_keys(nexus, *given ? beside : "", "image_key_control", control);
    if (status != TS_OK)
        return status;
    ts_hdf5_input_refuse(
        nexus->input, "image-key",
        "there is no image_key: projections, flats and darks cannot be told apart");
    return ts_diag_hint(nexus->input->diag,
                        "hdf5: FILE with path and axes reads frames of one kind; of flats and "
                        "darks the axes are z, frame and detector");
}

/* Alignment frames were taken again at earlier angles; only their key tells that they are
   projections. */
static enum ts_status check_key(const struct nexus *nexus, int64_t frame, double key,
                                const double *control, bool *alignment)
{
    *alignment = control && control[frame] == KEY_ALIGNMENT &&
                 (key == FRAMES_PROJECTIONS || key == KEY_INVALID);
    if (!(key >= 0 && key <= KEY_INVALID) || key != floor(key))
        return ts_hdf5_input_refuse(
            nexus->input, "image-key",
            "image_key of frame %" PRId64
            " is %g, expected 0 (projection), 1 (flat), 2 (dark) or 3 (invalid)",
            frame, key);
    if (!control || *alignment || control[frame] == key)
        return TS_OK;
    return ts_hdf5_input_refuse(nexus->input, "image-key",
                                "image_key_control of frame %" PRId64
                                " is %g, and its image_key is %g",
                                frame, control[frame], key);
}

static enum ts_status record_frames(const struct nexus *nexus, const int64_t counts[KEYS],
                                    int64_t n_alignment)
{
    struct projections *projections = nexus->projections;
    enum ts_status status = ts_projections_attribute(
        projections, "frames", "%s", ts_projections_frames_name(nexus->params->frames));
    if (status == TS_OK)
        status =
            n_alignment > 0
                ? ts_projections_attribute(projections, "frames_in_file",
                                           TS_FRAMES_IN_FILE TS_FRAMES_ALIGNMENT, counts[0],
                                           counts[1], counts[2], counts[KEY_INVALID], n_alignment)
                : ts_projections_attribute(projections, "frames_in_file", TS_FRAMES_IN_FILE,
                                           counts[0], counts[1], counts[2], counts[KEY_INVALID]);
    if (n_alignment > 0 && nexus->params->frames == FRAMES_PROJECTIONS)
        ts_diag_note(nexus->input->diag, &(struct diag_site){.code = "frames-alignment"},
                     "%s: %" PRId64
                     " alignment frames (image_key_control -1) are left out, %" PRId64
                     " projections are read",
                     nexus->input->path, n_alignment, counts[0]);
    return status;
}

/* Chooses the frames of the kind that is asked for. */
static enum ts_status choose_frames(struct nexus *nexus)
{
    struct projections *projections = nexus->projections;
    const int64_t n_frames = count_frames(nexus);
    int64_t counts[KEYS] = {0}, n_alignment = 0, n = 0;
    double *keys, *control;
    enum ts_status status = read_all_keys(nexus, &keys, &control);
    if (status != TS_OK)
        return status;
    int64_t *frames = ts_arena_alloc(projections->arena, (size_t)n_frames * sizeof *frames);
    if (!frames)
        return ts_diag_no_memory(nexus->input->diag, (size_t)n_frames * sizeof *frames);
    for (int64_t i = 0; i < n_frames; i++) {
        bool alignment;
        if ((status = check_key(nexus, i, keys[i], control, &alignment)) != TS_OK)
            return status;
        n_alignment += alignment;
        if (alignment)
            continue;
        counts[(int)keys[i]]++;
        if ((int)keys[i] == nexus->params->frames)
            frames[n++] = i;
    }
    if (n == 0) {
        ts_hdf5_input_refuse(nexus->input, "frames-missing",
                             "none of the %" PRId64 " frames is one of the %s (image_key %d)",
                             n_frames, ts_projections_frames_name(nexus->params->frames),
                             (int)nexus->params->frames);
        return ts_projections_hint_missing(nexus->params->frames, nexus->input->diag);
    }
    nexus->keys = keys;
    projections->n_views = n;
    projections->frames = frames;
    return record_frames(nexus, counts, n_alignment);
}

/* ---- angles ---------------------------------------------------------------------------------- */

/* Reads a list and the units beside it. */
static enum ts_status read_list(struct nexus *nexus, const struct hdf5_ref *dataset,
                                const char *name, double **values, int64_t *n, char *units,
                                size_t size)
{
    units[0] = '\0';
    enum ts_status status = ts_hdf5_stack_list(nexus->input, dataset, name, FRAMES_MAX, values, n);
    if (status == TS_OK && *values)
        status = ts_scan_field_warn_of_scale(nexus->input, dataset, name);
    return status == TS_OK && *values ? ts_scan_field_units(nexus->input, dataset, units, size)
                                      : status;
}

static enum ts_status find_angles(struct nexus *nexus, struct hdf5_ref *angles)
{
    static const char *const classes[][2] = {{"NXsample"}, {"NXdata"}};
    enum ts_status status = TS_OK;
    *angles = (struct hdf5_ref){0};
    nexus->angles_at = "rotation_angle";
    if (*nexus->params->angles) {
        nexus->angles_at = nexus->params->angles;
        nexus->angles_in = nexus->input->files[0].root;
        return ts_hdf5_input_find_root(nexus->input, nexus->params->angles, angles);
    }
    for (int i = 0; i < 2 && status == TS_OK && angles->kind == FINDER_NONE; i++) {
        struct hdf5_ref group = {0};
        status = find_class(nexus, &nexus->entry, classes[i], "rotation_angle", &group, NULL);
        if (status == TS_OK)
            status = ts_hdf5_input_find(nexus->input, &group, "rotation_angle", angles);
        nexus->angles_in = group;
        if (status == TS_OK && i == 0 && angles->kind != FINDER_NONE)
            status = ts_scan_field_warn_beside(nexus->input, &group, "rotation_angle");
    }
    return status;
}

/* Leaves the angles of the views. A list has an angle for each frame, or for each value of
 * image_key if that has more, or for each projection only. Returns false if it has another number.
 */
static bool take_angles(struct nexus *nexus, double *angles, int64_t n)
{
    const struct projections *projections = nexus->projections;
    const int64_t n_views = projections->n_views;
    const bool all = nexus->all_keys && n == nexus->n_all_keys;
    if (all)
        keep_projections(nexus, angles);
    if (all || n == count_frames(nexus)) {
        for (int64_t i = 0; i < n_views; i++)
            angles[i] = angles[projections->frames[i]];
        return true;
    }
    if (n == n_views)
        ts_diag_note(nexus->input->diag, &(struct diag_site){.code = "angle-count"},
                     "%s: there are %" PRId64 " angles for %" PRId64
                     " frames, one for each projection: they are taken in the order of these",
                     nexus->input->path, n, count_frames(nexus));
    return n == n_views;
}

/* Takes the even angles that the chain gives, if the file has none that fit. */
static enum ts_status take_range(struct nexus *nexus, bool fits)
{
    const struct nexus_params *params = nexus->params;
    const bool start = ts_param_given(nexus->set, "theta_start"),
               stop = ts_param_given(nexus->set, "theta_stop");
    if (start != stop)
        return ts_param_error(nexus->set, start ? "theta_start" : "theta_stop", "angles-missing",
                              nexus->input->diag,
                              "theta_start and theta_stop belong together, and %s is missing",
                              start ? "theta_stop" : "theta_start");
    if (fits)
        return ts_param_error(nexus->set, "theta_start", "angles-twice", nexus->input->diag,
                              "the file has its own angles; give theta_start and theta_stop only "
                              "for files without them");
    return ts_projections_range(nexus->projections, params->theta_start, params->theta_stop,
                                params->endpoint, (enum angle_unit)params->angle_unit);
}

static enum ts_status read_angles(struct nexus *nexus)
{
    struct projections *projections = nexus->projections;
    const int64_t n_frames = count_frames(nexus);
    const char *given = nexus->params->angles;
    enum angle_unit unit = nexus->params->angle_unit;
    char units[64], shown[256];
    struct hdf5_ref dataset;
    double *angles = NULL;
    int64_t n = 0;
    projections->angles_hint = "angles: PATH takes them from another dataset of the file, such as "
                               "one that h5py adds: one angle for each frame, flats and darks too; "
                               "theta_start and theta_stop in degrees (and endpoint) say what they "
                               "are";
    enum ts_status status = find_angles(nexus, &dataset);
    if (status == TS_OK)
        status = read_list(nexus, &dataset, *given ? given : "rotation_angle", &angles, &n, units,
                           sizeof units);
    if (status != TS_OK)
        return status;
    const bool fits = angles && take_angles(nexus, angles, n);
    if (ts_param_given(nexus->set, "theta_start") || ts_param_given(nexus->set, "theta_stop"))
        return take_range(nexus, fits);
    if (!angles)
        ts_hdf5_input_refuse(nexus->input, "angles-missing",
                             "there is no %s: the angles are not known",
                             *given ? given : "rotation_angle in the entry");
    else if (!fits)
        ts_hdf5_input_refuse(nexus->input, "angle-count",
                             "rotation_angle has %" PRId64 " angles, expected %" PRId64
                             ", one for each frame",
                             n, n_frames);
    if (!fits)
        return ts_projections_hint_count(projections, angles, n, unit, units);
    if (unit == ANGLE_UNIT_FILE)
        unit = ts_angle_unit_of(units);
    if (unit == ANGLE_UNIT_FILE) {
        ts_text_escape(shown, sizeof shown, units);
        ts_hdf5_input_refuse(nexus->input, "angle-unit",
                             "the unit of rotation_angle is %s%s, expected degree or radian",
                             *units ? "" : "not given", shown);
        return ts_diag_hint(nexus->input->diag, "%s",
                            *units ? ANGLE_UNIT_HINT
                                   : "angle_unit: degree or angle_unit: radian says what it is");
    }
    return ts_projections_angles(projections, angles, projections->n_views, unit,
                                 nexus->params->angle_unit != ANGLE_UNIT_FILE);
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* Finds the source of the rays and the diode that looks at the beam. */
static enum ts_status find_source(struct nexus *nexus)
{
    struct hdf5_ref instrument;
    if (nexus->entry.kind == FINDER_NONE)
        return TS_OK;
    enum ts_status status =
        ts_hdf5_input_find_class(nexus->input, &nexus->entry, "NXinstrument", &instrument);
    if (status == TS_OK && instrument.kind != FINDER_NONE)
        status = ts_hdf5_input_find_class(nexus->input, &instrument, "NXsource", &nexus->source);
    if (status == TS_OK && instrument.kind != FINDER_NONE)
        status = ts_hdf5_input_find(nexus->input, &instrument, "diode", &nexus->diode);
    ts_hdf5_input_release(nexus->input, &instrument);
    return status;
}

static enum ts_status read_geometry(struct nexus *nexus, const struct nexus_places *places)
{
    struct projections *projections = nexus->projections;
    double *position = NULL;
    int64_t n;
    enum ts_status status = TS_OK;
    if (ts_param_given(nexus->set, "pixel_size")) {
        projections->spacing_mm[0] = projections->spacing_mm[1] = nexus->params->pixel_size;
    } else {
        status = ts_nexus_pixel_size(places, nexus->params->beam != TS_BEAM_PARALLEL);
    }
    if (status == TS_OK)
        status = ts_hdf5_stack_numbers(nexus->input, &nexus->detector,
                                       "x_rotation_axis_pixel_position", 1, &position, &n);
    if (status == TS_OK && position)
        status = ts_projections_attribute(projections, "x_rotation_axis_pixel_position", "%.17g",
                                          position[0]);
    return status;
}

/* Records the probe of the scan, such as x-rays, if it is one of the words that NeXus has for it.
 */
static enum ts_status read_probe(struct nexus *nexus)
{
    static const char *const classes[] = {"NXinstrument", "NXsource", NULL};
    static const char *const probes[] = {"x-ray", "neutron", "electron"};
    char text[64] = "";
    struct hdf5_ref source = {0}, probe = {0};
    enum ts_status status = find_class(nexus, &nexus->entry, classes, "probe", &source, NULL);
    if (status == TS_OK && source.kind != FINDER_NONE)
        status = ts_hdf5_input_find(nexus->input, &source, "probe", &probe);
    if (status == TS_OK && probe.kind == FINDER_DATASET)
        status = ts_hdf5_input_text(nexus->input, &probe, NULL, text, sizeof text);
    ts_hdf5_input_release(nexus->input, &probe);
    ts_hdf5_input_release(nexus->input, &source);
    for (size_t i = 0; i < sizeof probes / sizeof *probes && status == TS_OK; i++)
        if (!strcasecmp(text, probes[i]))
            status = ts_projections_attribute(nexus->projections, "probe", "%s", probes[i]);
    return status;
}

/* ---- the format ------------------------------------------------------------------------------ */

static enum ts_status find_parts(struct nexus *nexus)
{
    enum ts_status status = find_order(nexus);
    if (status == TS_OK)
        status = find_entry(nexus);
    if (status == TS_OK)
        status = find_detector(nexus);
    if (status == TS_OK)
        status = open_frames(nexus);
    if (status == TS_OK)
        status = choose_frames(nexus);
    if (status == TS_OK && nexus->params->frames == FRAMES_PROJECTIONS)
        status = read_angles(nexus);
    if (status == TS_OK)
        status = read_probe(nexus);
    if (status == TS_OK)
        status = find_source(nexus);
    const struct nexus_places places = {.projections = nexus->projections,
                                        .input = nexus->input,
                                        .entry = &nexus->entry,
                                        .detector = &nexus->detector,
                                        .source = &nexus->source,
                                        .diode = &nexus->diode,
                                        .keys = nexus->keys,
                                        .n_frames = count_frames(nexus),
                                        .angles = nexus->projections->angles,
                                        .angles_in = &nexus->angles_in,
                                        .angles_at = nexus->angles_at,
                                        .projected = nexus->params->frames == FRAMES_PROJECTIONS};
    if (status == TS_OK && places.angles)
        status = ts_nexus_angles_warn(&places);
    if (status == TS_OK)
        status = read_geometry(nexus, &places);
    if (status == TS_OK && places.projected)
        status = ts_nexus_pixel_mask(&places);
    if (status == TS_OK)
        status = ts_nexus_facts(&places);
    return status == TS_OK && places.projected ? ts_nexus_warn(&places) : status;
}

static enum ts_status find_all(struct projections *projections, const struct param_set *set)
{
    struct nexus nexus = {.set = set,
                          .params = set->values,
                          .projections = projections,
                          .input = &projections->input};
    projections->quantity = nexus.params->quantity;
    projections->kind = (enum frames)nexus.params->frames;
    projections->padding = (enum source_padding)nexus.params->padding;
    return find_parts(&nexus);
}

static enum ts_status open_nexus(const struct param_set *set, struct source **source,
                                 struct ts_diag *diag)
{
    return ts_projections_source(set, find_all, source, diag);
}

static void nexus_resolve(struct param_set *set, const struct source *source)
{
    ts_source_beam_resolve(set, source);
    ts_source_resolve_padding(set, source);
}

const struct source_format nexus_format = {
    .name = "nexus",
    .summary = "a scan in a NeXus file (NXtomo): projections, flats or darks as a sinogram",
    .params = nexus_params,
    .n_params = sizeof nexus_params / sizeof nexus_params[0],
    .params_bytes = sizeof(struct nexus_params),
    .open = open_nexus,
    .resolve = nexus_resolve,
};
