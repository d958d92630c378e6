/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening foreign files and finding objects in them, one name at a time. A file that an external link leads to must
 * lie, all symbolic links resolved, in the folder of the first file or below it.
 */
#include "io/hdf5_input.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/hdf5_verify.h"

enum ts_status ts_hdf5_input_refuse(const struct hdf5_input *input, const char *code, const char *format, ...)
{
    char message[1500];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const struct diag_site site = {.code = code,
                                   .span = input->set ? input->set->spans[0] : (struct ts_span){0},
                                   .stage = input->set ? input->set->owner : NULL};
    return ts_diag_error(input->diag, TS_BAD_INPUT, &site, "%s: %s", input->path, message);
}

enum ts_status ts_hdf5_input_unreadable(const struct hdf5_input *input, const char *what)
{
    struct hdf5_failure failure;
    char shown[HDF5_INPUT_PATH];
    ts_hdf5_failure(&failure);
    ts_text_escape(shown, sizeof shown, what);
    return ts_hdf5_input_refuse(input, "hdf5-unreadable", "%s cannot be read: %s", shown, failure.text);
}

/* Opens one more file; *id is the one that is already open where it is the same. */
static enum ts_status open_file(struct hdf5_input *input, const char *path, hid_t *id)
{
    struct stat found;
    struct hdf5_failure failure;
    if (stat(path, &found) != 0)
        return ts_hdf5_input_refuse(input, "input-unreadable", "cannot be read: %s", strerror(errno));
    if (!S_ISREG(found.st_mode))
        return ts_hdf5_input_refuse(input, "input-unreadable", "it is not a file");
    for (int i = 0; i < input->n_files; i++)
        if (input->files[i].device == found.st_dev && input->files[i].inode == found.st_ino) {
            *id = input->files[i].id;
            return TS_OK;
        }
    if (input->n_files == HDF5_INPUT_FILES)
        return ts_hdf5_input_refuse(input, "hdf5-links", "its links lead to more than %d files", HDF5_INPUT_FILES);
    *id = ts_hdf5_open_file(path, &failure);
    if (*id < 0)
        return ts_hdf5_input_refuse(
            input, "hdf5-unreadable", "%s: %s",
            input->n_files ? "a file that a link leads to cannot be read" : "the file cannot be read", failure.text);
    input->files[input->n_files++] =
        (struct hdf5_input_file){.id = *id, .device = found.st_dev, .inode = found.st_ino, .bytes = found.st_size};
    return TS_OK;
}

enum ts_status ts_hdf5_input_open(struct hdf5_input *input)
{
    struct hdf5_visit visit;
    hid_t id;
    char real[PATH_MAX];
    if (!realpath(input->path, real))
        return ts_hdf5_input_refuse(input, "input-unreadable", "cannot be read: %s", strerror(errno));
    char *slash = strrchr(real, '/');
    input->folder = ts_arena_text(input->arena, real, slash == real ? 1 : (size_t)(slash - real));
    if (!input->folder)
        return ts_diag_no_memory(input->diag, sizeof real);
    ts_hdf5_enter(&visit);
    const enum ts_status status = open_file(input, input->path, &id);
    ts_hdf5_leave(&visit);
    return status;
}

void ts_hdf5_input_close(struct hdf5_input *input)
{
    struct hdf5_visit visit;
    ts_hdf5_enter(&visit);
    for (int i = 0; i < input->n_files; i++)
        (void)H5Fclose(input->files[i].id); /* read only: nothing can be lost */
    ts_hdf5_leave(&visit);
    input->n_files = 0;
}

bool ts_hdf5_input_holds(const struct hdf5_input *input, dev_t device, ino_t inode)
{
    for (int i = 0; i < input->n_files; i++)
        if (input->files[i].device == device && input->files[i].inode == inode)
            return true;
    return false;
}

/* ---- links ------------------------------------------------------------------------------------- */

static enum ts_status find(struct hdf5_input *input, hid_t from, const char *path, int n_links, hid_t *object);

static enum ts_status follow_external(struct hdf5_input *input, const char *value, size_t bytes, int n_links,
                                      hid_t *object)
{
    const char *name = NULL, *target = NULL;
    char shown[HDF5_INPUT_PATH], joined[PATH_MAX], real[PATH_MAX];
    unsigned flags;
    hid_t file;
    if (H5Lunpack_elink_val(value, bytes, &flags, &name, &target) < 0)
        return ts_hdf5_input_unreadable(input, "an external link");
    ts_text_escape(shown, sizeof shown, name);
    const int length = snprintf(joined, sizeof joined, "%s/%s", input->folder, name);
    if (length >= (int)sizeof joined || *name == '/')
        return ts_hdf5_input_refuse(input, "hdf5-link-outside",
                                    "an external link leads to %s, out of the file's folder", shown);
    if (!realpath(joined, real))
        return ts_hdf5_input_refuse(input, "hdf5-link-broken", "an external link leads to %s: %s", shown,
                                    strerror(errno));
    const size_t prefix = strlen(input->folder);
    if (strncmp(real, input->folder, prefix) != 0 || (prefix > 1 && real[prefix] != '/'))
        return ts_hdf5_input_refuse(input, "hdf5-link-outside",
                                    "an external link leads to %s, out of the file's folder", shown);
    const enum ts_status status = open_file(input, real, &file);
    return status == TS_OK ? find(input, file, target, n_links, object) : status;
}

/* The object that one link of a group leads to. */
static enum ts_status follow(struct hdf5_input *input, hid_t group, const char *name, int n_links, hid_t *object)
{
    H5L_info_t info;
    char value[HDF5_INPUT_PATH + 1] = "";
    if (H5Lexists(group, name, H5P_DEFAULT) <= 0)
        return TS_OK;
    if (H5Lget_info(group, name, &info, H5P_DEFAULT) < 0)
        return ts_hdf5_input_unreadable(input, name);
    if (info.type == H5L_TYPE_HARD) {
        *object = H5Oopen(group, name, H5P_DEFAULT);
        return *object >= 0 ? TS_OK : ts_hdf5_input_unreadable(input, name);
    }
    if (info.type != H5L_TYPE_SOFT && info.type != H5L_TYPE_EXTERNAL)
        return ts_hdf5_input_refuse(input, "hdf5-links", "a link of a kind that only the writing program knows");
    if (n_links >= HDF5_INPUT_LINKS)
        return ts_hdf5_input_refuse(input, "hdf5-links", "more than %d links one after the other", HDF5_INPUT_LINKS);
    if (info.u.val_size >= sizeof value || H5Lget_val(group, name, value, sizeof value - 1, H5P_DEFAULT) < 0)
        return ts_hdf5_input_refuse(input, "hdf5-links", "a link of %zu bytes, at most %d are followed",
                                    info.u.val_size, HDF5_INPUT_PATH);
    return info.type == H5L_TYPE_SOFT ? find(input, group, value, n_links + 1, object)
                                      : follow_external(input, value, info.u.val_size, n_links + 1, object);
}

static enum ts_status find(struct hdf5_input *input, hid_t from, const char *path, int n_links, hid_t *object)
{
    char name[HDF5_INPUT_PATH];
    enum ts_status status = TS_OK;
    hid_t at = H5Oopen(from, *path == '/' ? "/" : ".", H5P_DEFAULT);
    *object = -1;
    if (at < 0)
        return ts_hdf5_input_unreadable(input, "a group");
    while (status == TS_OK && at >= 0) {
        path += strspn(path, "/");
        const size_t length = strcspn(path, "/");
        hid_t next = -1;
        if (length == 0)
            break;
        if (length < sizeof name && H5Iget_type(at) == H5I_GROUP) {
            snprintf(name, sizeof name, "%.*s", (int)length, path);
            status = follow(input, at, name, n_links, &next);
        }
        path += length;
        H5Oclose(at);
        at = next;
    }
    if (status != TS_OK && at >= 0)
        H5Oclose(at);
    *object = status == TS_OK ? at : -1;
    return status;
}

enum ts_status ts_hdf5_input_find(struct hdf5_input *input, hid_t from, const char *path, hid_t *object)
{
    return find(input, from, path, 0, object);
}

/* ---- names and texts --------------------------------------------------------------------------- */

struct names {
    struct arena *arena;
    const char **at;
    size_t n;
    bool no_memory;
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    struct names *names = data;
    (void)group;
    (void)link;
    if (names->n == HDF5_INPUT_NAMES)
        return 1;
    names->at[names->n] = ts_arena_text(names->arena, name, strlen(name));
    names->no_memory = !names->at[names->n];
    names->n++;
    return names->no_memory;
}

enum ts_status ts_hdf5_input_names(struct hdf5_input *input, hid_t group, const char ***list, size_t *n)
{
    struct names names = {.arena = input->arena,
                          .at = ts_arena_alloc(input->arena, HDF5_INPUT_NAMES * sizeof *names.at)};
    *n = 0;
    if (!names.at)
        return ts_diag_no_memory(input->diag, HDF5_INPUT_NAMES * sizeof *names.at);
    if (H5Iget_type(group) != H5I_DATASET && H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, add_name, &names) < 0)
        return ts_hdf5_input_unreadable(input, "a group");
    if (names.no_memory)
        return ts_diag_no_memory(input->diag, HDF5_INPUT_PATH);
    *list = names.at;
    *n = names.n;
    return TS_OK;
}

/* Of a scalar of `type`; false where the library fails. */
static bool read_text(hid_t value, bool attribute, hid_t type, char *out, size_t size)
{
    const size_t bytes = H5Tget_size(type);
    char *text = NULL;
    herr_t done = 0;
    if (H5Tis_variable_str(type) > 0) {
        done = attribute ? H5Aread(value, type, &text) : H5Dread(value, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text);
        if (done >= 0 && text) {
            snprintf(out, size, "%s", text);
            (void)H5free_memory(text);
        }
    } else if (bytes > 0 && bytes < size) {
        done = attribute ? H5Aread(value, type, out) : H5Dread(value, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
        out[done >= 0 ? bytes : 0] = '\0';
    }
    return done >= 0;
}

static enum ts_status text_unreadable(const struct hdf5_input *input, hid_t object, const char *attribute)
{
    struct hdf5_failure failure;
    char path[HDF5_INPUT_PATH] = "", shown[HDF5_INPUT_PATH];
    ts_hdf5_failure(&failure);
    (void)H5Iget_name(object, path, sizeof path);
    ts_text_escape(shown, sizeof shown, path);
    return ts_hdf5_input_refuse(input, "hdf5-text", "the text %s%s%s cannot be read: %s", shown, attribute ? "@" : "",
                                attribute ? attribute : "", failure.text);
}

enum ts_status ts_hdf5_input_text(const struct hdf5_input *input, hid_t object, const char *name, char *out,
                                  size_t size)
{
    const htri_t there = name ? H5Aexists(object, name) : 1;
    out[0] = '\0';
    if (there <= 0)
        return there < 0 ? text_unreadable(input, object, name) : TS_OK;
    const hid_t value = name ? H5Aopen(object, name, H5P_DEFAULT) : object;
    const hid_t type = value < 0 ? -1 : name ? H5Aget_type(value) : H5Dget_type(value);
    const hid_t space = value < 0 ? -1 : name ? H5Aget_space(value) : H5Dget_space(value);
    bool done = type >= 0 && space >= 0;
    if (done && H5Tget_class(type) == H5T_STRING && H5Sget_simple_extent_npoints(space) == 1)
        done = read_text(value, name != NULL, type, out, size);
    const enum ts_status status = done ? TS_OK : text_unreadable(input, object, name);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    if (name && value >= 0)
        H5Aclose(value);
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
    return status;
}

bool ts_hdf5_input_is_class(const struct hdf5_input *input, hid_t object, const char *nx_class, enum ts_status *status)
{
    char text[64];
    if (*status != TS_OK || object < 0 || H5Iget_type(object) != H5I_GROUP)
        return false;
    *status = ts_hdf5_input_text(input, object, "NX_class", text, sizeof text);
    return *status == TS_OK && !strcmp(text, nx_class);
}
