/* SPDX-License-Identifier: Apache-2.0 */
#include "io/scan/scan_axes.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { AXES = 3, NAME = 64, MOST_AXES = 8 };

/* ---- names ----------------------------------------------------------------------------------- */

/* What axes are called: 'v' views, 'r' rows and 'c' columns of a scan's frames; x, y and z of a
 * volume; 0 if the name says nothing. */
static const struct meaning {
    char scan, volume;
    const char *names[12];
} meanings[] = {
    {'v',
     'v',
     {"view", "views", "theta", "rotation_angle", "angle", "angles", "frame", "frames",
      "projection", "projections", "omega"}},
    {'r', 'z', {"z"}},
    {'r', 'y', {"y"}},
    {'r', 0, {"row", "rows", "slice", "detector_y", "y_pixel_offset", "det_y"}},
    {'c', 'x', {"x"}},
    {'c', 0, {"detector", "column", "columns", "detector_x", "x_pixel_offset", "det_x"}}};

static char axis_meaning(const char *name, bool volume)
{
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        for (int k = 0; k < 12 && meanings[i].names[k]; k++)
            if (!strcasecmp(name, meanings[i].names[k]))
                return volume ? meanings[i].volume : meanings[i].scan;
    return 0;
}

static bool is_volume(const char *const *read, int n)
{
    bool volume = false;
    for (int i = 0; i < n; i++)
        volume |= !strcmp(read[i], "y");
    return volume;
}

/* Cuts "[theta, y, x]" or "theta:y:x" into names. Returns how many there are; at most AXES are
 * kept. A name may be empty. */
static int cut_names(const char *text, char names[AXES][NAME])
{
    const char *between = strpbrk(text, ",:") ? ",:" : " ";
    char cut[256], *rest = cut;
    int n = 0;
    text += *text == '[';
    snprintf(cut, sizeof cut, "%.*s", (int)strcspn(text, "]"), text);
    if (!*cut)
        return 0;
    for (char *name = strsep(&rest, between); name; name = strsep(&rest, between), n++) {
        name += strspn(name, " ");
        if (n < AXES)
            snprintf(names[n], NAME, "%.*s", (int)strcspn(name, " "), name);
    }
    return n;
}

/* Returns true if the file gives a name to one axis only, and the chain gives it to a different
   one. */
static bool axes_contradict(char names[AXES][NAME], const char *const *read, int n)
{
    const bool volume = is_volume(read, n);
    char stated[AXES], expected[AXES];
    for (int i = 0; i < n; i++) {
        stated[i] = axis_meaning(names[i], volume);
        expected[i] = axis_meaning(read[i], volume);
    }
    for (int i = 0; i < n; i++) {
        bool once = stated[i] != 0, other = false;
        for (int k = 0; k < n; k++) {
            once = once && (k == i || stated[k] != stated[i]);
            other = other || (k != i && expected[k] == stated[i]);
        }
        if (once && other && stated[i] != expected[i])
            return true;
    }
    return false;
}

bool ts_scan_axes_order(const char *names, const char *const read[3], char *text, size_t size)
{
    const bool volume = is_volume(read, AXES);
    const char *order[AXES] = {NULL};
    char cut[AXES][NAME];
    int unknown = -1, n_unknown = 0, used = 0;
    if (cut_names(names, cut) != AXES)
        return false;
    for (int i = 0; i < AXES; i++) {
        for (int k = 0; k < AXES; k++)
            if (axis_meaning(cut[i], volume) == axis_meaning(read[k], volume)) {
                order[i] = read[k];
                used |= 1 << k;
            }
        if (!order[i]) {
            n_unknown++;
            unknown = i;
        }
    }
    for (int k = 0; n_unknown == 1 && k < AXES; k++)
        if (!(used & 1 << k))
            order[unknown] = read[k];
    if (n_unknown > 1 || order[0] == order[1] || order[1] == order[2] || order[2] == order[0])
        return false;
    snprintf(text, size, "[%s, %s, %s]", order[0], order[1], order[2]);
    return true;
}

/* ---- statements ------------------------------------------------------------------------------ */

/* What is asked of a dataset. */
struct question {
    struct hdf5_input *input;
    const char *name;
    const char *const *read;
    int n;
    bool volume;
    struct scan_axes *found;
};

static void answer(const struct question *of, char names[AXES][NAME], const char *attribute,
                   const char *name)
{
    struct scan_axes *found = of->found;
    if (!axes_contradict(names, of->read, of->n))
        return;
    size_t used = 0;
    for (int i = 0; i < of->n && used < sizeof found->names; i++)
        used += (size_t)snprintf(found->names + used, sizeof found->names - used, "%s%s%s",
                                 i ? ", " : "[", names[i], i == of->n - 1 ? "]" : "");
    snprintf(found->says, sizeof found->says, "%s of %.80s", attribute, name);
}

/* Asks an attribute that has a name for each axis. */
static enum ts_status ask_names(const struct question *of, const struct hdf5_ref *object,
                                const char *attribute)
{
    char text[256], names[AXES][NAME];
    if (*of->found->names)
        return TS_OK;
    const enum ts_status status =
        ts_hdf5_input_texts(of->input, object, attribute, MOST_AXES, text, sizeof text);
    if (status != TS_OK || cut_names(text, names) != of->n)
        return status;
    answer(of, names, attribute, of->name);
    if (*of->found->names)
        snprintf(of->found->names, sizeof of->found->names, "%s", text);
    return TS_OK;
}

/* Puts a name where an attribute says, counted from `first`, and takes it from where it was. */
static enum ts_status place_name(const struct question *of, const struct hdf5_ref *object,
                                 const char *attribute, int first, const char *name,
                                 char names[AXES][NAME], bool *placed)
{
    double at = 0;
    int n_found = 0;
    const enum ts_status status =
        ts_hdf5_input_numbers(of->input, object, attribute, 1, &at, &n_found);
    if (status != TS_OK || n_found != 1 || !(at >= first && at < first + of->n))
        return status;
    for (int i = 0; i < of->n; i++)
        if (!strcmp(names[i], name))
            snprintf(names[i], NAME, ".");
    snprintf(names[(int)at - first], NAME, "%s", name);
    *placed = true;
    return TS_OK;
}

/* Asks NAME_indices of the group, which go before the order of `axes`. */
static enum ts_status ask_indices(const struct question *of, const struct hdf5_ref *group)
{
    char text[256], names[AXES][NAME];
    bool placed = false;
    if (*of->found->names)
        return TS_OK;
    enum ts_status status =
        ts_hdf5_input_texts(of->input, group, "axes", MOST_AXES, text, sizeof text);
    if (status == TS_OK && cut_names(text, names) != of->n)
        for (int i = 0; i < AXES; i++)
            snprintf(names[i], NAME, ".");
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        for (int k = 0; status == TS_OK && k < 12 && meanings[i].names[k]; k++) {
            char attribute[NAME];
            snprintf(attribute, sizeof attribute, "%s_indices", meanings[i].names[k]);
            status = place_name(of, group, attribute, 0, meanings[i].names[k], names, &placed);
        }
    if (status == TS_OK && placed)
        answer(of, names, "NAME_indices", of->name);
    else if (status == TS_OK)
        status = ask_names(of, group, "axes");
    return status;
}

/* Asks the attribute `axis` of the datasets in the group. */
static enum ts_status ask_members(const struct question *of, const struct hdf5_ref *group)
{
    struct hdf5_name *members;
    char names[AXES][NAME] = {".", ".", "."};
    bool placed = false;
    size_t n;
    if (*of->found->names)
        return TS_OK;
    enum ts_status status = ts_hdf5_input_names(of->input, group, &members, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref member;
        if (members[i].kind == 'e' || !axis_meaning(members[i].name, of->volume))
            continue;
        status = ts_hdf5_input_find(of->input, group, members[i].name, &member);
        if (status == TS_OK && member.kind == FINDER_DATASET)
            status = place_name(of, &member, "axis", 1, members[i].name, names, &placed);
        ts_hdf5_input_release(of->input, &member);
    }
    if (status == TS_OK && placed)
        answer(of, names, "axis of the axes", of->name);
    return status;
}

enum ts_status ts_scan_axes_find(struct hdf5_input *input, const struct hdf5_ref *group,
                                 const struct hdf5_ref *dataset, const char *name,
                                 const char *const *read, struct scan_axes *found)
{
    char signal[64] = "";
    const int n = dataset->rank;
    const struct question of = {input, name, read, n, is_volume(read, n), found};
    *found = (struct scan_axes){0};
    if (n < 2 || n > AXES)
        return TS_OK;
    enum ts_status status = ask_names(&of, dataset, "axes");
    if (status == TS_OK)
        status = ask_names(&of, dataset, "DIMENSION_LABELS");
    if (status == TS_OK && group->kind == FINDER_GROUP)
        status = ts_hdf5_input_text(input, group, "signal", signal, sizeof signal);
    if (status != TS_OK || group->kind != FINDER_GROUP || (*signal && strcmp(signal, name) != 0))
        return status;
    status = ask_indices(&of, group);
    return status == TS_OK ? ask_members(&of, group) : status;
}

enum ts_status ts_scan_axes_warn(struct hdf5_input *input, const struct hdf5_ref *group,
                                 const struct hdf5_ref *dataset, const char *name,
                                 const char *const *read)
{
    struct scan_axes found;
    char shown[512], order[64];
    size_t i;
    const enum ts_status status = ts_scan_axes_find(input, group, dataset, name, read, &found);
    if (status != TS_OK || !*found.names)
        return status;
    ts_text_escape(shown, sizeof shown, found.names);
    const struct diag_site site = {
        .code = "axes-order", .span = input->set->spans[0], .stage = input->set->owner};
    ts_diag_warning(input->diag, &site, "%s: %s says %s, and it is read as %s, %s, %s", input->path,
                    found.says, shown, read[0], read[1], read[2]);
    if (ts_scan_axes_order(found.names, read, order, sizeof order) &&
        ts_param_find(input->set->params, input->set->n_params, "axes", &i))
        ts_diag_hint(input->diag, "axes: %s reads them as the file says", order);
    return TS_OK;
}
