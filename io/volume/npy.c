/* SPDX-License-Identifier: Apache-2.0
 *
 * A .npy file is eight bytes of signature and version, the length of a text, the text, and the
 * values (NEP 1, "A Simple File Format for NumPy Arrays", 2007). The text is a Python dictionary of
 * three known keys, whose values are looked for here where numpy writes them; Python is not
 * interpreted. Axes are (z, y, x), (y, x) for one slice, or (time, z, y, x), with x fastest, unless
 * the chain names those of a sinogram. The file states no spacing, so lengths are in pixels unless
 * the chain gives it.
 */
#include "io/volume/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/file_bytes.h"
#include "io/source/source_slices.h"
#include "io/volume/volume_source.h"

enum { MOST_HEADER = 64 << 10, PREFIX = 12, LONGEST_TYPE = 100 };

static const struct choice quantity_choices[] = {
    {"counts", TS_COUNTS, "detector counts", 0},
    {"transmission", TS_TRANSMISSION, "divided by the flat field", 0},
    {"line_integral", TS_LINE_INTEGRAL, "the negative logarithm of the transmission", 0},
    {"hu", TS_HU, "Hounsfield units", 0},
    {"attenuation", TS_ATTENUATION, "attenuation in 1/mm", 0},
    {"intensity", TS_INTENSITY, "anything else", 0},
    {NULL, 0, NULL, 0},
};
static const struct choice unit_choices[] = {
    {"file", ANGLE_UNIT_FILE,
     "degrees, unless the range looks like half a turn or a turn in radians, which is refused"},
    {"degree", ANGLE_UNIT_DEGREE, "whatever they look like"},
    {"radian", ANGLE_UNIT_RADIAN, "radians"},
    {NULL, 0, NULL},
};

static const struct param npy_params[] = {
    PARAM(struct npy_params, npy, .required = true, .unit = "",
          .doc = "a .npy file of an array (z, y, x), (y, x) for one slice, or (time, z, y, x)"),
    PARAM(struct npy_params, axes, .optional = true, .unit = "",
          .doc = "names of the array's three axes in its order, where it holds a scan: view, z and "
                 "detector, or z, view and detector, or, of flats and darks, which have no angles, "
                 "frame in place of view; absent: z, y, x"),
    PARAM(
        struct npy_params, spacing, .optional = true, .unit = "mm", .min = 1e-9, .max = 1e6,
        .doc =
            "distances of neighbors along z, y and x, or along z and detector; absent: one pixel"),
    PARAM(struct npy_params, angles, .optional = true, .unit = "degree",
          .doc = "the angle of each view; absent: theta_start and theta_stop"),
    PARAM(struct npy_params, theta_start, .unit = "degree", .in_angle_unit = true, .min = -36000,
          .max = 36000, .derived = "those of angles", .doc = "angle of the first view"),
    PARAM(struct npy_params, theta_stop, .unit = "degree", .in_angle_unit = true, .min = -36000,
          .max = 36000, .derived = "those of angles", .doc = "end of the range of the angles"),
    PARAM(struct npy_params, endpoint, .unit = "", .init.b = false,
          .doc = "whether the last view is at theta_stop, or one step before it"),
    PARAM(struct npy_params, angle_unit, .unit = "", .choices = unit_choices,
          .init.choice = ANGLE_UNIT_FILE, .doc = "unit of theta_start and theta_stop"),
    PARAM(struct npy_params, quantity, .unit = "", .choices = quantity_choices,
          .init.choice = TS_INTENSITY, .doc = "what the values are, which the file does not state"),
    BEAM_PARAMS(struct npy_params),
    TAKE_PARAM(struct npy_params),
    SLICES_PARAM(struct npy_params),
};

/* Reads the header's text, and notes where the values begin. */
static enum ts_status read_text(struct volume_layout *layout, char text[MOST_HEADER + 1],
                                struct ts_diag *diag)
{
    unsigned char prefix[PREFIX] = {0};
    const uint64_t size = (uint64_t)layout->found.st_size;
    if (size < PREFIX || !ts_file_read_at(layout->fd, prefix, PREFIX, 0) ||
        memcmp(prefix, "\x93NUMPY", 6) != 0 || prefix[6] < 1 || prefix[6] > 3)
        return ts_volume_refuse(layout, "npy-header", diag,
                                "does not begin as a .npy file of version 1 to 3");
    const size_t head = prefix[6] == 1 ? 10 : PREFIX;
    size_t length = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (head == PREFIX)
        length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    if (length > MOST_HEADER || head + length > size ||
        !ts_file_read_at(layout->fd, text, length, head))
        return ts_volume_refuse(layout, "npy-header", diag,
                                "has a header that is cut off or longer than %d KiB",
                                MOST_HEADER >> 10);
    text[length] = '\0';
    layout->start = head + length;
    return TS_OK;
}

/* Returns the text behind a key of the dictionary, or NULL if it is not there. */
static const char *value_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    at = at ? at + strlen(key) : NULL;
    return at ? at + strspn(at, ": ") : NULL;
}

/* Hints at what makes numbers of this type of NumPy, or of the first field of a list of them. */
static enum ts_status hint_at_type(const char *type, struct ts_diag *diag)
{
    const char kind = type && *type == '\'' ? type[2] : '\0';
    if (type && *type == '[') {
        const char *name = type + strcspn(type, "'\"") + 1;
        return ts_diag_hint(
            diag,
            "take one of its fields in Python: numpy.save(path, array['%.*s']), for "
            "arrays of numbers",
            (int)strcspn(name, "'\""), name);
    }
    switch (kind) {
    case 'c':
        return ts_diag_hint(diag, "convert it in Python: numpy.save(path, numpy.abs(array)) takes "
                                  "the magnitudes, numpy.save(path, array.real) the real parts");
    case 'O':
        return ts_diag_hint(
            diag, "these are objects of Python, which numpy.load(path, allow_pickle=True) "
                  "reads, from a source that you trust; numpy.save(path, "
                  "numpy.array(array.tolist(), 'float32')) works if all are numbers, or "
                  "arrays of one shape");
    case 'V':
        return ts_diag_hint(diag, "these are bytes without a meaning: if they are numbers, "
                                  "numpy.save(path, array.view('float32')) or another type of as "
                                  "many bytes says which");
    case 'S':
    case 'U':
        return ts_diag_hint(diag,
                            "these are texts: numpy.save(path, array.astype('float32')) works "
                            "if all of them are numbers");
    default:
        return ts_diag_hint(diag,
                            "convert it in Python: numpy.save(path, array.astype('float32'))");
    }
}

static enum ts_status take_type(struct volume_layout *layout, const char *text,
                                struct ts_diag *diag)
{
    static const struct {
        const char *name;
        enum ts_dtype dtype;
    } types[] = {{"b1", TS_U8},  {"u1", TS_U8},  {"i1", TS_I8},  {"u2", TS_U16},
                 {"i2", TS_I16}, {"u4", TS_U32}, {"i4", TS_I32}, {"u8", TS_U64},
                 {"i8", TS_U64}, {"f2", TS_F16}, {"f4", TS_F32}, {"f8", TS_F64}};
    const char *at = value_of(text, "'descr'");
    const bool is_plain = at && *at == '\'' && at[1] && strchr("<>|=", at[1]);
    const char other_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '>' : '<';
    for (size_t i = 0; is_plain && i < sizeof types / sizeof *types; i++)
        if (!strncmp(at + 2, types[i].name, 2) && at[4] == '\'') {
            layout->stored = types[i].dtype;
            layout->is_signed = !strcmp(types[i].name, "i8");
            layout->swapped = at[1] == other_order;
            return TS_OK;
        }
    const int shown = !at ? 7 : *at == '[' ? (int)strcspn(at, "]") + 1 : (int)strcspn(at, ",}");
    ts_volume_refuse(layout, "npy-type", diag,
                     "holds %.*s, not integers or floats of at most 64 bits",
                     shown < LONGEST_TYPE ? shown : LONGEST_TYPE, at ? at : "nothing");
    return hint_at_type(at, diag);
}

/* Reads the axes of a shape such as "(3, 4, 5)". Returns how many there are; 0 if it has none, has
 * more than 4 or does not end. */
static int read_axes(const char *shape, int64_t n[4])
{
    const char *at = shape && *shape == '(' ? shape + 1 : "";
    for (int rank = 0; rank < 4; rank++) {
        char *end;
        n[rank] = strtoll(at, &end, 10);
        if (end == at)
            return 0;
        at = end + strspn(end, ", ");
        if (*at == ')')
            return rank + 1;
    }
    return 0;
}

static enum ts_status take_shape(struct volume_layout *layout, const char *text, int64_t n_names,
                                 struct ts_diag *diag)
{
    const char *order = value_of(text, "'fortran_order'");
    int64_t n[4];
    const int rank = read_axes(value_of(text, "'shape'"), n);
    if (!order || strncmp(order, "False", 5) != 0) {
        ts_volume_refuse(layout, "npy-order", diag, "has its first axis fastest (Fortran order)");
        return ts_diag_hint(diag, "save it as numpy.ascontiguousarray(array)");
    }
    if (rank < 2)
        return ts_volume_refuse(layout, "npy-shape", diag, "has not two to four axes");
    if (layout->sinogram && n_names != rank)
        return ts_volume_refuse(layout, "npy-shape", diag, "has %d axes, and `axes` names %lld",
                                rank, (long long)n_names);
    for (int d = 0; d < rank; d++)
        layout->n[d] = n[rank - 1 - d];
    return TS_OK;
}

/* ---- scans ----------------------------------------------------------------------------------- */

enum kind { KIND_VOLUME, KIND_SCAN, KIND_FRAMES };

static const char *const of_views[] = {"angles", "theta_start", "theta_stop", "endpoint",
                                       "angle_unit"};

/* Finds out what the axes are that the chain names, and checks that their order can be read. */
static enum ts_status find_axes(struct volume_layout *layout, const struct param_set *set,
                                enum kind *kind, struct ts_diag *diag)
{
    static const struct {
        const char *names[3];
        enum kind kind;
        bool views_first;
    } known[] = {{{"z", "y", "x"}, KIND_VOLUME, false},
                 {{"z", "view", "detector"}, KIND_SCAN, false},
                 {{"view", "z", "detector"}, KIND_SCAN, true},
                 {{"z", "frame", "detector"}, KIND_FRAMES, false},
                 {{"frame", "z", "detector"}, KIND_FRAMES, true},
                 {{"view", "detector"}, KIND_SCAN, false},
                 {{"frame", "detector"}, KIND_FRAMES, false}};
    const struct ts_texts *axes = &((const struct npy_params *)set->values)->axes;
    *kind = KIND_VOLUME;
    for (size_t i = 0; i < sizeof known / sizeof *known && axes->n > 0; i++) {
        bool same = axes->n == (known[i].names[2] ? 3 : 2);
        for (int64_t d = 0; d < axes->n && same; d++)
            same = !strcmp(axes->items[d], known[i].names[d]);
        if (!same)
            continue;
        *kind = known[i].kind;
        layout->sinogram = *kind != KIND_VOLUME;
        layout->views_first = known[i].views_first;
        return TS_OK;
    }
    if (axes->n == 0)
        return TS_OK;
    ts_param_error(set, "axes", "axes-names", diag,
                   "the axes are not z, y, x nor view, z, detector nor z, view, detector nor view, "
                   "detector, or with frame for view");
    return ts_diag_hint(diag, "bring the array into such an order in Python: numpy.save(path, "
                              "numpy.ascontiguousarray(array.transpose(...)))");
}

static enum ts_status find_spacing(struct volume_layout *layout, const struct param_set *set,
                                   struct ts_diag *diag)
{
    const struct ts_numbers *spacing = &((const struct npy_params *)set->values)->spacing;
    const int64_t n = spacing->rows * spacing->columns, expected = layout->sinogram ? 2 : 3;
    if (n == 0)
        return TS_OK;
    if (n != expected)
        return ts_param_error(set, "spacing", "spacing-count", diag, "%lld numbers, expected %lld",
                              (long long)n, (long long)expected);
    layout->spacing[0] = spacing->values[expected - 1];
    layout->spacing[1] = spacing->values[layout->sinogram ? 0 : 1];
    layout->spacing[2] = spacing->values[0];
    return TS_OK;
}

/* Makes even angles in degrees. */
static enum ts_status make_range(const struct param_set *set, struct ts_axis *views,
                                 struct ts_diag *diag)
{
    const struct npy_params *params = set->values;
    const int64_t steps = views->n - params->endpoint;
    if (!ts_param_given(set, "theta_start") || !ts_param_given(set, "theta_stop"))
        return ts_param_error(
            set, "theta_start", "angles-missing", diag,
            "a scan needs angles, or both theta_start and theta_stop in their place");
    if (params->theta_start == params->theta_stop || steps < 1)
        return ts_param_error(set, "theta_stop", "angle-range", diag,
                              "%lld views from %g to %g have no step", (long long)views->n,
                              params->theta_start, params->theta_stop);
    const double step = (params->theta_stop - params->theta_start) / (double)steps,
                 to_degrees = params->angle_unit == ANGLE_UNIT_RADIAN ? 180 / M_PI : 1;
    if (params->angle_unit == ANGLE_UNIT_FILE &&
        ts_angles_look_like_radians(fabs(step) * (double)(views->n - 1), views->n)) {
        ts_param_error(
            set, "theta_stop", "angle-unit", diag,
            "%lld views from %g to %g degrees are what half a turn or a turn would be in radians",
            (long long)views->n, params->theta_start, params->theta_stop);
        return ts_diag_hint(diag, "angle_unit: radian, or angle_unit: degree if they are degrees");
    }
    if (params->angle_unit == ANGLE_UNIT_RADIAN)
        ts_angles_warn_of_turns(fabs(step) * (double)(views->n - 1), views->n, diag);
    views->first = params->theta_start * to_degrees;
    views->spacing = step * to_degrees;
    return TS_OK;
}

/* Copies the list of angles into the arena of the layout, since the source changes its own. */
static enum ts_status take_list(const struct param_set *set, const double *copy,
                                struct ts_axis *views, struct ts_diag *diag)
{
    const struct ts_numbers *list = &((const struct npy_params *)set->values)->angles;
    if (list->rows * list->columns != views->n)
        return ts_param_error(set, "angles", "angle-count", diag, "%lld angles for %lld views",
                              (long long)list->rows * list->columns, (long long)views->n);
    views->positions = copy;
    return TS_OK;
}

/* Gives the views of the source their angles, or frames their numbers. `list` is a copy of the
 * chain's own angles. */
static enum ts_status describe_views(const struct param_set *set, enum kind kind,
                                     const double *list, struct source *source,
                                     struct ts_diag *diag)
{
    struct ts_axis *views = &source->image.axes[1];
    const bool scan = kind == KIND_SCAN,
               range = ts_param_given(set, "theta_start") || ts_param_given(set, "theta_stop");
    *views = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = views->n, .spacing = scan ? 0 : 1, .unit = scan ? "degree" : ""};
    enum ts_status status = TS_OK;
    if (scan && list && range)
        status = ts_param_error(set, "theta_start", "angles-twice", diag, "angles are given too");
    else if (scan && list)
        status = take_list(set, list, views, diag);
    else if (scan)
        status = make_range(set, views, diag);
    return status == TS_OK ? ts_source_beam(set, &source->image, diag) : status;
}

/* Refuses parameters of views if there are no views. */
static enum ts_status check_views(const struct param_set *set, enum kind kind, struct ts_diag *diag)
{
    for (size_t i = 0; i < sizeof of_views / sizeof *of_views && kind != KIND_SCAN; i++)
        if (ts_param_given(set, of_views[i])) {
            ts_param_error(set, of_views[i], "angles-idle", diag, "%s no angles",
                           kind == KIND_FRAMES ? "frames have" : "a volume has");
            return ts_diag_hint(diag, "axes: [view, z, detector] says that the array is a scan");
        }
    if (kind == KIND_SCAN && ts_param_given(set, "angles") &&
        (ts_param_given(set, "angle_unit") || ts_param_given(set, "endpoint")))
        return ts_param_error(
            set, "angles", "angle-unit-idle", diag,
            "a list is in degrees; angle_unit and endpoint belong to theta_start and theta_stop");
    return TS_OK;
}

/* Makes the source of the layout, and a scan of its planes if they are one. */
static enum ts_status make_source(struct volume_layout *layout, const struct param_set *set,
                                  enum kind kind, enum ts_status status, struct source **source,
                                  struct ts_diag *diag)
{
    const struct ts_numbers *angles = &((const struct npy_params *)set->values)->angles;
    const size_t n = (size_t)(angles->rows * angles->columns);
    double *list = NULL;
    if (status == TS_OK && n > 0 &&
        !(list = ts_arena_copy(layout->arena, angles->values, n, sizeof *list)))
        status = ts_diag_no_memory(diag, n * sizeof *list);
    status = ts_volume_source_take(layout, status, source, diag);
    if (status != TS_OK)
        return status;
    status = kind == KIND_VOLUME ? ts_source_beam(set, &(*source)->image, diag)
                                 : describe_views(set, kind, list, *source, diag);
    if (status != TS_OK) {
        (*source)->ops->close(*source);
        *source = NULL;
    }
    return status;
}

static void npy_resolve(struct param_set *set, const struct source *source)
{
    const struct ts_axis *views = &source->image.axes[1];
    const bool scan =
        ts_image_is_sinogram(&source->image) && views->unit && !strcmp(views->unit, "degree");
    ts_source_beam_resolve(set, source);
    for (size_t i = 0; i < sizeof of_views / sizeof *of_views; i++)
        if (!scan || (views->positions != NULL) != (i == 0))
            ts_param_idle(set, of_views[i]);
}

static enum ts_status open_npy(const struct param_set *set, struct source **source,
                               struct ts_diag *diag)
{
    const struct npy_params *params = set->values;
    struct volume_layout layout;
    char *text = malloc(MOST_HEADER + 1);
    enum kind kind = KIND_VOLUME;
    *source = NULL;
    if (!text)
        return ts_diag_no_memory(diag, MOST_HEADER + 1);
    enum ts_status status = ts_volume_open(&layout, set, params->npy, diag);
    if (status == TS_OK)
        status = find_axes(&layout, set, &kind, diag);
    if (status == TS_OK)
        status = check_views(set, kind, diag);
    if (status == TS_OK)
        status = find_spacing(&layout, set, diag);
    if (status == TS_OK)
        status = read_text(&layout, text, diag);
    if (status == TS_OK)
        status = take_type(&layout, text, diag);
    if (status == TS_OK)
        status = take_shape(&layout, text, params->axes.n, diag);
    free(text);
    layout.quantity = (enum ts_quantity)params->quantity;
    return make_source(&layout, set, kind, status, source, diag);
}

const struct source_format npy_format = {
    .name = "npy",
    .summary =
        "an array in a .npy file of numpy: a volume, several by time, or a scan as a sinogram",
    .params = npy_params,
    .n_params = sizeof npy_params / sizeof npy_params[0],
    .params_bytes = sizeof(struct npy_params),
    .open = open_npy,
    .resolve = npy_resolve,
};
