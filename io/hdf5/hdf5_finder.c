/* SPDX-License-Identifier: Apache-2.0
 *
 * A link is followed by replacing its name with its target and walking on, as the system does with
 * symbolic links.
 */
#include "io/hdf5/hdf5_finder.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/hdf5/hdf5_list.h"
#include "io/hdf5/hdf5_storage.h"

/* ---- paths ----------------------------------------------------------------------------------- */

/* A walk has an open object, and the names that are still to be followed. */
struct walk {
    const struct hdf5_child *child;
    struct ts_diag *diag;
    hid_t at;
    int n_links;
    char path[FINDER_PATH]; /* the rest */
    struct find_answer *answer;
};

static void move_to(struct walk *walk, hid_t object)
{
    TS_HDF5_CLOSE(walk->at);
    walk->at = object;
}

/* Writes "TARGET/REST" to `path`, with the rest of the walk. */
static enum ts_status prepend(struct walk *walk, char *path, const char *target)
{
    char rest[FINDER_PATH];
    snprintf(rest, sizeof rest, "%s", walk->path);
    const int length = snprintf(path, FINDER_PATH, "%s/%s", target, rest);
    return length < FINDER_PATH
               ? TS_OK
               : ts_hdf5_child_refuse(walk->child, walk->diag, "hdf5-links",
                                      "links that make a path of more than %d bytes", FINDER_PATH);
}

static enum ts_status follow_soft(struct walk *walk, const char *target)
{
    if (*target == '/') {
        const hid_t root = H5Oopen(walk->at, "/", H5P_DEFAULT);
        if (root < 0)
            return ts_hdf5_child_unreadable(walk->child, walk->diag, "a group");
        move_to(walk, root);
    }
    return prepend(walk, walk->path, target);
}

static enum ts_status leave_file(struct walk *walk, const char *value, size_t bytes)
{
    const char *file = NULL, *target = NULL;
    unsigned flags;
    if (H5Lunpack_elink_val(value, bytes, &flags, &file, &target) < 0)
        return ts_hdf5_child_unreadable(walk->child, walk->diag, "an external link");
    snprintf(walk->answer->file, sizeof walk->answer->file, "%s", file);
    walk->answer->n_links = walk->n_links;
    return prepend(walk, walk->answer->path, target);
}

/* Follows one name. Sets walk->answer->file if the name leads to a different file, and walk->at to
   -1 if there is no such name. */
static enum ts_status step(struct walk *walk, const char *name)
{
    H5L_info_t info;
    char value[FINDER_NAME + 1] = "";
    if (H5Lexists(walk->at, name, H5P_DEFAULT) <= 0) {
        move_to(walk, -1);
        return TS_OK;
    }
    if (H5Lget_info(walk->at, name, &info, H5P_DEFAULT) < 0)
        return ts_hdf5_child_unreadable(walk->child, walk->diag, name);
    if (info.type == H5L_TYPE_HARD) {
        const hid_t next = H5Oopen(walk->at, name, H5P_DEFAULT);
        if (next < 0)
            return ts_hdf5_child_unreadable(walk->child, walk->diag, name);
        move_to(walk, next);
        return TS_OK;
    }
    if (info.type != H5L_TYPE_SOFT && info.type != H5L_TYPE_EXTERNAL)
        return ts_hdf5_child_refuse(walk->child, walk->diag, "hdf5-links",
                                    "a link of a kind that only the writing program knows");
    if (walk->n_links++ >= FINDER_LINKS)
        return ts_hdf5_child_refuse(walk->child, walk->diag, "hdf5-links",
                                    "more than %d links one after the other", FINDER_LINKS);
    if (info.u.val_size >= sizeof value ||
        H5Lget_val(walk->at, name, value, sizeof value - 1, H5P_DEFAULT) < 0)
        return ts_hdf5_child_refuse(walk->child, walk->diag, "hdf5-links",
                                    "a link of %zu bytes, at most %d are followed", info.u.val_size,
                                    FINDER_NAME);
    return info.type == H5L_TYPE_SOFT ? follow_soft(walk, value)
                                      : leave_file(walk, value, info.u.val_size);
}

static enum ts_status walk_all(struct walk *walk)
{
    char name[FINDER_NAME];
    enum ts_status status = TS_OK;
    while (status == TS_OK && walk->at >= 0 && !*walk->answer->file) {
        const size_t slashes = strspn(walk->path, "/"), length = strcspn(walk->path + slashes, "/");
        if (length == 0)
            break;
        if (length >= sizeof name || H5Iget_type(walk->at) != H5I_GROUP) {
            move_to(walk, -1);
            break;
        }
        snprintf(name, sizeof name, "%.*s", (int)length, walk->path + slashes);
        memmove(walk->path, walk->path + slashes + length,
                strlen(walk->path + slashes + length) + 1);
        status = step(walk, name);
    }
    return status;
}

/* Reports "WHAT PATH@ATTRIBUTE cannot be read: reason" for an open object; attribute NULL: for the
   object itself. */
static enum ts_status hdf5_finder_unreadable(const struct hdf5_child *child, hid_t object,
                                             const char *code, const char *what,
                                             const char *attribute, struct ts_diag *diag)
{
    struct hdf5_failure failure;
    char path[FINDER_NAME] = "", shown[FINDER_NAME];
    ts_hdf5_failure(&failure);
    (void)H5Iget_name(object, path, sizeof path);
    ts_text_escape(shown, sizeof shown, path);
    return ts_hdf5_child_refuse(child, diag, code, "%s%s%s%s cannot be read: %s", what, shown,
                                attribute ? "@" : "", attribute ? attribute : "", failure.text);
}

struct wanted {
    const char *name;
    char found[FINDER_NAME]; /* "": no attribute has this name */
};

static herr_t compare_name(hid_t object, const char *name, const H5A_info_t *info, void *data)
{
    struct wanted *wanted = data;
    (void)object, (void)info;
    if (strcasecmp(name, wanted->name) != 0)
        return 0;
    snprintf(wanted->found, sizeof wanted->found, "%s", name);
    return 1;
}

/* Finds an attribute of exactly this name, or else one of this name in any case. */
static struct wanted find_attribute(hid_t object, const char *name)
{
    struct wanted wanted = {.name = name};
    if (H5Aexists(object, name) > 0)
        snprintf(wanted.found, sizeof wanted.found, "%s", name);
    else
        (void)H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, NULL, compare_name, &wanted);
    return wanted;
}

/* Returns the text of an attribute, or of a scalar dataset if `name` is NULL, without spaces at its
   end; "" if there is none. */
static enum ts_status read_text(const struct hdf5_child *child, hid_t object, const char *name,
                                int most, char *out, size_t size, struct ts_diag *diag)
{
    const struct wanted wanted =
        name ? find_attribute(object, name) : (struct wanted){.name = NULL};
    if (ts_hdf5_texts_of(object, *wanted.found ? wanted.found : name, most, out, size) < 0)
        return hdf5_finder_unreadable(child, object, "hdf5-text", "the text ", name, diag);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
    return TS_OK;
}

/* Answers what the parent asks about nearly every object. */
static enum ts_status hdf5_finder_describe(struct walk *walk)
{
    struct find_answer *answer = walk->answer;
    const H5I_type_t type = H5Iget_type(walk->at);
    answer->object = walk->at;
    answer->rank = -1;
    if (type == H5I_GROUP)
        answer->kind = FINDER_GROUP;
    else if (type == H5I_DATASET)
        answer->kind = FINDER_DATASET;
    else
        answer->kind = FINDER_OTHER;
    if (type == H5I_GROUP)
        return read_text(walk->child, walk->at, "NX_class", 1, answer->nx_class,
                         sizeof answer->nx_class, walk->diag);
    const hid_t space = type == H5I_DATASET ? H5Dget_space(walk->at) : -1;
    if (space >= 0)
        answer->rank = H5Sget_simple_extent_ndims(space);
    TS_HDF5_CLOSE(space);
    return TS_OK;
}

enum ts_status ts_hdf5_walk_path(const struct hdf5_child *child, const struct find_request *request,
                                 struct find_answer *answer, struct ts_diag *diag)
{
    struct walk walk = {
        .child = child, .diag = diag, .n_links = request->n_links, .answer = answer};
    memset(answer, 0, sizeof *answer);
    snprintf(walk.path, sizeof walk.path, "%s", request->path);
    walk.at = H5Oopen(request->from, *walk.path == '/' ? "/" : ".", H5P_DEFAULT);
    if (walk.at < 0)
        return ts_hdf5_child_unreadable(child, diag, "a group");
    enum ts_status status = walk_all(&walk);
    if (status == TS_OK && walk.at >= 0 && !*answer->file)
        status = hdf5_finder_describe(&walk);
    if (status != TS_OK || *answer->file)
        move_to(&walk, -1);
    return status;
}

enum ts_status ts_hdf5_task_find(struct hdf5_child *child, const void *request, FILE *out,
                                 struct ts_diag *diag)
{
    static struct find_answer answer;
    const enum ts_status status = ts_hdf5_walk_path(child, request, &answer, diag);
    fwrite(&answer, sizeof answer, 1, out);
    return status;
}

enum ts_status ts_hdf5_task_release(struct hdf5_child *child, const void *request, FILE *out,
                                    struct ts_diag *diag)
{
    const struct object_request *of = request;
    (void)child, (void)out, (void)diag;
    H5Oclose(of->object);
    return TS_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct names {
    FILE *out;
    int n;
};

static herr_t put_name(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    struct names *names = data;
    (void)group;
    if (names->n++ == FINDER_NAMES)
        return 1;
    char kind = 'o';
    if (link->type == H5L_TYPE_HARD)
        kind = 'h';
    else if (link->type == H5L_TYPE_SOFT)
        kind = 's';
    else if (link->type == H5L_TYPE_EXTERNAL)
        kind = 'e';
    fputc(kind, names->out);
    fwrite(name, 1, strlen(name) + 1, names->out);
    return 0;
}

enum ts_status ts_hdf5_task_names(struct hdf5_child *child, const void *request, FILE *out,
                                  struct ts_diag *diag)
{
    const struct object_request *of = request;
    struct names names = {.out = out};
    if (H5Iget_type(of->object) == H5I_GROUP &&
        H5Literate(of->object, H5_INDEX_NAME, H5_ITER_INC, NULL, put_name, &names) < 0)
        return ts_hdf5_child_unreadable(child, diag, "a group");
    return TS_OK;
}

/* ---- texts and numbers ----------------------------------------------------------------------- */

enum ts_status ts_hdf5_task_text(struct hdf5_child *child, const void *request, FILE *out,
                                 struct ts_diag *diag)
{
    const struct attribute_request *of = request;
    char text[FINDER_NAME] = "";
    const enum ts_status status = read_text(child, of->object, of->of_dataset ? NULL : of->name,
                                            of->n, text, sizeof text, diag);
    fwrite(text, 1, sizeof text, out);
    return status;
}

/* Reads the numbers of an open attribute; a single one may be written as a text. */
static bool read_numbers(hid_t attribute, hid_t object, const char *name, int32_t n, double *values)
{
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute);
    const H5T_class_t class = type >= 0 ? H5Tget_class(type) : H5T_NO_CLASS;
    char text[FINDER_NAME], *end = text;
    bool read = false;
    if ((class == H5T_FLOAT || class == H5T_INTEGER) && space >= 0 &&
        H5Sget_simple_extent_npoints(space) == n)
        read = H5Aread(attribute, H5T_NATIVE_DOUBLE, values) >= 0;
    else if (class == H5T_STRING && n == 1 &&
             ts_hdf5_text_of(object, name, text, sizeof text) > 0) {
        values[0] = strtod(text, &end);
        read = end > text && end[strspn(end, " \t\r\n")] == '\0';
    }
    TS_HDF5_CLOSE(space, type);
    return read;
}

enum ts_status ts_hdf5_task_numbers(struct hdf5_child *child, const void *request, FILE *out,
                                    struct ts_diag *diag)
{
    const struct attribute_request *of = request;
    const struct wanted wanted = find_attribute(of->object, of->name);
    struct numbers_answer answer = {.there = *wanted.found != '\0'};
    (void)child, (void)diag;
    if (answer.there && of->n <= FINDER_NUMBERS) {
        const hid_t attribute = H5Aopen(of->object, wanted.found, H5P_DEFAULT);
        if (read_numbers(attribute, of->object, wanted.found, of->n, answer.values))
            answer.n = of->n;
        TS_HDF5_CLOSE(attribute);
    }
    fwrite(&answer, sizeof answer, 1, out);
    return TS_OK;
}

/* Writes the path of the first scale of an axis, of those that an open DIMENSION_LIST has. */
static void name_scale(hid_t attribute, hid_t object, int32_t axis, char *path, size_t size)
{
    hvl_t lists[STORAGE_RANK] = {{0}};
    const hid_t type = H5Aget_type(attribute), space = H5Aget_space(attribute),
                element = H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1,
                wanted = H5Tvlen_create(H5T_STD_REF_OBJ);
    const hssize_t n = space >= 0 ? H5Sget_simple_extent_npoints(space) : 0;
    if (element >= 0 && H5Tequal(element, H5T_STD_REF_OBJ) > 0 && axis < n && n <= STORAGE_RANK &&
        H5Aread(attribute, wanted, lists) >= 0) {
        const hid_t scale = lists[axis].len > 0
                                ? H5Rdereference2(object, H5P_DEFAULT, H5R_OBJECT, lists[axis].p)
                                : -1;
        if (scale >= 0)
            (void)H5Iget_name(scale, path, size);
        TS_HDF5_CLOSE(scale);
        H5Dvlen_reclaim(wanted, space, H5P_DEFAULT, lists);
    }
    TS_HDF5_CLOSE(wanted, element, space, type);
}

enum ts_status ts_hdf5_task_scale(struct hdf5_child *child, const void *request, FILE *out,
                                  struct ts_diag *diag)
{
    const struct attribute_request *of = request;
    char path[FINDER_NAME] = "";
    (void)child, (void)diag;
    if (of->n >= 0 && H5Aexists(of->object, "DIMENSION_LIST") > 0) {
        const hid_t attribute = H5Aopen(of->object, "DIMENSION_LIST", H5P_DEFAULT);
        if (attribute >= 0)
            name_scale(attribute, of->object, of->n, path, sizeof path);
        TS_HDF5_CLOSE(attribute);
    }
    fwrite(path, 1, sizeof path, out);
    return TS_OK;
}

/* ---- storage --------------------------------------------------------------------------------- */

enum ts_status ts_hdf5_task_describe(struct hdf5_child *child, const void *request, FILE *out,
                                     struct ts_diag *diag)
{
    const struct object_request *of = request;
    struct hdf5_storage storage = {0};
    return ts_hdf5_storage_find(of->object, &storage) &&
                   ts_hdf5_storage_write(of->object, &storage, out)
               ? TS_OK
               : hdf5_finder_unreadable(child, of->object, "hdf5-unreadable", "", NULL, diag);
}

enum ts_status ts_hdf5_task_table(struct hdf5_child *child, const void *request, FILE *out,
                                  struct ts_diag *diag)
{
    const struct object_request *of = request;
    struct hdf5_storage storage = {0};
    return ts_hdf5_storage_find(of->object, &storage) &&
                   ts_hdf5_storage_write_table(of->object, &storage, out)
               ? TS_OK
               : hdf5_finder_unreadable(child, of->object, "hdf5-unreadable", "", NULL, diag);
}
