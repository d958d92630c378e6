/* SPDX-License-Identifier: Apache-2.0
 *
 * A file to which an external link or a virtual dataset leads must be in the folder of the first
 * file (after resolving all symbolic links), below it, or in the folder that the chain allows, and
 * must have the signature of HDF5. Otherwise a malicious first file that takes over the child could
 * ask for any file.
 */
#include "io/hdf5/hdf5_input.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"

enum ts_status ts_hdf5_input_refuse(const struct hdf5_input *input, const char *code,
                                    const char *format, ...)
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

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes the real paths of an open file and of its folder to the arena. */
static enum ts_status take_path(const struct hdf5_input *input, const char *real,
                                struct hdf5_input_file *file)
{
    const char *slash = strrchr(real, '/');
    file->path = ts_arena_text(input->arena, real, strlen(real));
    file->folder = ts_arena_text(input->arena, real, slash == real ? 1 : (size_t)(slash - real));
    return file->path && file->folder ? TS_OK : ts_diag_no_memory(input->diag, 2 * strlen(real));
}

/* Takes the descriptor and passes the file to the child. *file becomes its number; if the file is
   open already, the number that it has. */
static enum ts_status add_file_take(struct hdf5_input *input, int fd, const struct stat *found,
                                    const char *real, int *file)
{
    enum ts_status status = TS_OK;
    for (*file = 0; *file < input->n_files; ++*file)
        if (input->files[*file].device == found->st_dev &&
            input->files[*file].inode == found->st_ino) {
            close(fd);
            return TS_OK;
        }
    struct hdf5_input_file *added = &input->files[*file];
    if (*file == HDF5_INPUT_FILES) {
        status = ts_hdf5_input_refuse(input, "hdf5-links", "its links lead to more than %d files",
                                      HDF5_INPUT_FILES);
    } else {
        *added = (struct hdf5_input_file){.fd = fd,
                                          .device = found->st_dev,
                                          .inode = found->st_ino,
                                          .bytes = found->st_size,
                                          .found = *found,
                                          .root = {.kind = FINDER_GROUP, .file = *file}};
        status = take_path(input, real, added);
    }
    if (status == TS_OK)
        status = ts_hdf5_session_add(input->session, fd, &added->root.object, input->diag);
    if (status == TS_OK)
        input->n_files++;
    else
        close(fd);
    return status;
}

/* Starts the child and passes the file to it. Takes the descriptor. */
static enum ts_status start_take(struct hdf5_input *input, int fd, const struct stat *found,
                                 const char *real)
{
    int file;
    const struct hdf5_session_options options = {.sandbox = input->sandbox,
                                                 .path = input->depth > 0 ? real : input->path,
                                                 .span = input->set ? input->set->spans[0]
                                                                    : (struct ts_span){0},
                                                 .owner = input->set ? input->set->owner : NULL,
                                                 .strict = true};
    const enum ts_status status = ts_hdf5_session_start(&options, &input->session, input->diag);
    if (status == TS_OK)
        return add_file_take(input, fd, found, real, &file);
    close(fd);
    return status;
}

/* Takes the folder to which the chain allows links to lead. */
static enum ts_status take_allowed(struct hdf5_input *input)
{
    char real[PATH_MAX];
    size_t index;
    const struct param_set *set = input->set;
    if (!set || !ts_param_find(set->params, set->n_params, "allow", &index))
        return TS_OK;
    const char *path = *(const char *const *)ts_param_field(set, index);
    if (!path || !*path)
        return TS_OK;
    if (!realpath(path, real))
        return ts_param_error(set, "allow", "input-unreadable", input->diag, "%s: %s", path,
                              ts_errno_text(errno));
    input->folders[1] = ts_arena_text(input->arena, real, strlen(real));
    return input->folders[1] ? TS_OK : ts_diag_no_memory(input->diag, sizeof real);
}

enum ts_status ts_hdf5_input_open(struct hdf5_input *input)
{
    struct stat found;
    char real[PATH_MAX], reason[PATH_MAX];
    const int fd = ts_regular_file_open(input->path, &found, reason, sizeof reason);
    if (fd < 0)
        return ts_hdf5_input_refuse(input, "input-unreadable", "%s", reason);
    enum ts_status status = TS_OK;
    if (!realpath(input->path, real))
        status =
            ts_hdf5_input_refuse(input, "input-unreadable", "cannot be read: %s", strerror(errno));
    if (status == TS_OK)
        status = take_allowed(input);
    if (status != TS_OK) {
        close(fd);
        return status;
    }
    status = start_take(input, fd, &found, real);
    input->folders[0] = input->files[0].folder;
    return status;
}

void ts_hdf5_input_found(struct hdf5_input *input)
{
    ts_hdf5_session_end(input->session);
    input->session = NULL;
    for (int i = 0; i < input->n_sources; i++)
        ts_hdf5_input_found(input->sources[i]);
}

void ts_hdf5_input_close(struct hdf5_input *input)
{
    ts_hdf5_input_found(input);
    for (int i = 0; i < input->n_files; i++)
        close(input->files[i].fd);
    for (int i = 0; i < input->n_sources; i++)
        ts_hdf5_input_close(input->sources[i]);
    input->n_files = input->n_sources = 0;
}

bool ts_hdf5_input_holds(const struct hdf5_input *input, const struct file_set *files)
{
    for (int i = 0; i < input->n_files; i++)
        if (ts_file_set_has(files, input->files[i].device, input->files[i].inode))
            return true;
    for (int i = 0; i < input->n_sources; i++)
        if (ts_hdf5_input_holds(input->sources[i], files))
            return true;
    return false;
}

int64_t ts_hdf5_input_count(const struct hdf5_input *input)
{
    int64_t n = input->n_files;
    for (int i = 0; i < input->n_sources; i++)
        n += ts_hdf5_input_count(input->sources[i]);
    return n;
}

enum ts_status ts_hdf5_input_check_unchanged(const struct hdf5_input *input, struct ts_diag *diag)
{
    for (int i = 0; i < input->n_files; i++) {
        const struct hdf5_input_file *file = &input->files[i];
        const enum ts_status status = ts_regular_file_recheck(
            i > 0 ? file->path : input->path, file->fd, &file->found, (struct diag_site){0}, diag);
        if (status != TS_OK)
            return status;
    }
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < input->n_sources; i++)
        status = ts_hdf5_input_check_unchanged(input->sources[i], diag);
    return status;
}

/* ---- links ----------------------------------------------------------------------------------- */

static bool is_below(const char *folder, const char *real)
{
    const size_t prefix = folder ? strlen(folder) : 0;
    return prefix > 0 && strncmp(real, folder, prefix) == 0 && (prefix == 1 || real[prefix] == '/');
}

/* Finds the real path of the file that a link in `folder` names. As in libhdf5, a relative name is
   relative to the folder of the file with the link, and if an absolute name does not exist, its
   file is looked for in that folder. Returns false with errno if there is no such file; `real` then
   says where it was looked for. */
static bool find_linked(const char *folder, const char *name, char real[PATH_MAX])
{
    char joined[PATH_MAX];
    const char *slash = strrchr(name, '/');
    if (*name == '/' && realpath(name, real))
        return true;
    const char *relative = *name == '/' ? slash + 1 : name;
    const bool fits =
        snprintf(joined, sizeof joined, "%s/%s", folder, relative) < (int)sizeof joined;
    if (fits && realpath(joined, real))
        return true;
    const int error = fits ? errno : ENAMETOOLONG;
    snprintf(real, PATH_MAX, "%s", joined);
    errno = error;
    return false;
}

/* Opens the file at a real path; *fd becomes -1, with the reason, if it cannot be read. `what` is
   what leads to it. */
static enum ts_status open_linked(const struct hdf5_input *input, const char *what,
                                  const char *name, const char *real, int *fd, struct stat *found,
                                  char *reason, size_t size)
{
    char shown[HDF5_INPUT_PATH];
    *fd = -1;
    if (!is_below(input->folders[0], real) && !is_below(input->folders[1], real)) {
        ts_text_escape(shown, sizeof shown, name);
        ts_hdf5_input_refuse(input, "hdf5-link-outside", "%s leads to %s, out of the file's folder",
                             what, shown);
        ts_text_escape(shown, sizeof shown, real);
        *strrchr(shown, '/') = '\0';
        return ts_diag_hint(input->diag,
                            "`allow: %s` lets it lead to files in that folder and below",
                            *shown ? shown : "/");
    }
    *fd = ts_regular_file_open(real, found, reason, size);
    if (*fd >= 0 && !ts_hdf5_has_signature(*fd)) {
        snprintf(reason, size, "%s%s", errno ? "cannot be read: " : "is not an HDF5 file",
                 errno ? strerror(errno) : "");
        close(*fd);
        *fd = -1;
    }
    return TS_OK;
}

/* Opens the file that an external link in file *file names; *file becomes its number. */
static enum ts_status follow_external(struct hdf5_input *input, const char *name, int *file)
{
    char shown[HDF5_INPUT_PATH], real[PATH_MAX], reason[PATH_MAX];
    struct stat found;
    int fd = -1;
    if (!find_linked(input->files[*file].folder, name, real)) {
        (void)ts_regular_file_fail(real, errno, reason, sizeof reason);
    } else {
        const enum ts_status status =
            open_linked(input, "an external link", name, real, &fd, &found, reason, sizeof reason);
        if (status != TS_OK)
            return status;
    }
    ts_text_escape(shown, sizeof shown, name);
    return fd >= 0 ? add_file_take(input, fd, &found, real, file)
                   : ts_hdf5_input_refuse(input, "hdf5-link-broken",
                                          "an external link leads to %s, which %s", shown, reason);
}

/* Makes an input of an open file. */
static enum ts_status add_source(struct hdf5_input *input, int fd, const struct stat *found,
                                 const char *real, struct hdf5_input **source)
{
    if (!input->sources)
        input->sources = ts_arena_alloc(input->arena, HDF5_INPUT_SOURCES * sizeof *input->sources);
    *source = ts_arena_alloc(input->arena, sizeof **source);
    if (!input->sources || !*source) {
        close(fd);
        return ts_diag_no_memory(input->diag,
                                 HDF5_INPUT_SOURCES * sizeof *input->sources + sizeof **source);
    }
    **source = (struct hdf5_input){.path = input->path,
                                   .set = input->set,
                                   .sandbox = input->sandbox,
                                   .diag = input->diag,
                                   .arena = input->arena,
                                   .folders = {input->folders[0], input->folders[1]},
                                   .depth = input->depth + 1};
    input->sources[input->n_sources++] = *source;
    return start_take(*source, fd, found, real);
}

enum ts_status ts_hdf5_input_source(struct hdf5_input *input, int file, const char *name,
                                    struct hdf5_input **source)
{
    char real[PATH_MAX], reason[PATH_MAX], shown[HDF5_INPUT_PATH];
    struct stat found;
    int fd;
    *source = NULL;
    if (!strcmp(name, "."))
        snprintf(real, sizeof real, "%s", input->files[file].path);
    else if (!find_linked(input->files[file].folder, name, real))
        return errno == ENOENT || errno == ENOTDIR
                   ? TS_OK
                   : ts_hdf5_input_refuse(input, "hdf5-source-missing",
                                          "a virtual dataset takes values from %s: %s", name,
                                          strerror(errno));
    enum ts_status status =
        open_linked(input, "a virtual dataset", name, real, &fd, &found, reason, sizeof reason);
    if (status != TS_OK)
        return status;
    ts_text_escape(shown, sizeof shown, name);
    if (fd < 0)
        return ts_hdf5_input_refuse(input, "hdf5-source-missing",
                                    "a virtual dataset takes values from %s, which %s", shown,
                                    reason);
    for (int i = 0; i < input->n_sources; i++) {
        struct hdf5_input *known = input->sources[i];
        if (known->session && known->files[0].device == found.st_dev &&
            known->files[0].inode == found.st_ino) {
            *source = known;
            close(fd);
            return TS_OK;
        }
    }
    if (input->depth < HDF5_INPUT_DEPTH && input->n_sources < HDF5_INPUT_SOURCES)
        return add_source(input, fd, &found, real, source);
    close(fd);
    return input->depth < HDF5_INPUT_DEPTH
               ? ts_hdf5_input_refuse(input, "hdf5-links",
                                      "its virtual datasets take values from more than %d files",
                                      HDF5_INPUT_SOURCES)
               : ts_hdf5_input_refuse(input, "hdf5-links",
                                      "virtual datasets that are more than %d deep",
                                      HDF5_INPUT_DEPTH);
}

static enum ts_status take_found(struct hdf5_input *input, struct find_answer *answer, int file,
                                 struct hdf5_ref *found)
{
    if (answer->kind < FINDER_NONE || answer->kind > FINDER_OTHER)
        return ts_hdf5_session_wrong_answer(input->session, input->diag);
    *found = (struct hdf5_ref){.kind = (enum finder_kind)answer->kind,
                               .file = file,
                               .rank = answer->rank,
                               .object = answer->object};
    answer->nx_class[sizeof answer->nx_class - 1] = '\0';
    memcpy(found->nx_class, answer->nx_class, sizeof found->nx_class);
    return TS_OK;
}

enum ts_status ts_hdf5_input_find(struct hdf5_input *input, const struct hdf5_ref *from,
                                  const char *path, struct hdf5_ref *found)
{
    struct find_request request = {.from = from->object};
    struct find_answer answer;
    int file = from->file;
    *found = (struct hdf5_ref){0};
    if (from->kind != FINDER_GROUP || strlen(path) >= sizeof request.path)
        return TS_OK; /* there is no object of this name */
    snprintf(request.path, sizeof request.path, "%s", path);
    for (int i = 0; i <= HDF5_INPUT_LINKS; i++) {
        enum ts_status status =
            ts_hdf5_session_ask(input->session, ts_hdf5_task_find, &request, sizeof request,
                                &answer, sizeof answer, input->diag);
        if (status != TS_OK)
            return status;
        if (!*answer.file)
            return take_found(input, &answer, file, found);
        answer.file[sizeof answer.file - 1] = answer.path[sizeof answer.path - 1] = '\0';
        status = follow_external(input, answer.file, &file);
        if (status != TS_OK)
            return status;
        request.from = input->files[file].root.object;
        request.n_links = answer.n_links;
        memcpy(request.path, answer.path, sizeof request.path);
    }
    return ts_hdf5_session_wrong_answer(input->session, input->diag);
}

enum ts_status ts_hdf5_input_find_root(struct hdf5_input *input, const char *path,
                                       struct hdf5_ref *found)
{
    return ts_hdf5_input_find(input, &input->files[0].root, path, found);
}

enum ts_status ts_hdf5_input_call(const struct hdf5_input *input, hdf5_task *task,
                                  const struct hdf5_ref *object, void **answer, size_t *bytes)
{
    const struct object_request request = {.object = object->object};
    return ts_hdf5_session_call(input->session, task, &request, sizeof request, answer, bytes,
                                input->diag);
}

void ts_hdf5_input_release(struct hdf5_input *input, struct hdf5_ref *ref)
{
    void *answer = NULL;
    size_t bytes;
    if (ref->kind != FINDER_NONE)
        (void)ts_hdf5_input_call(input, ts_hdf5_task_release, ref, &answer, &bytes);
    free(answer);
    *ref = (struct hdf5_ref){0};
}

/* ---- names, texts, numbers ------------------------------------------------------------------- */

enum ts_status ts_hdf5_input_names(struct hdf5_input *input, const struct hdf5_ref *group,
                                   struct hdf5_name **list, size_t *n)
{
    void *answer;
    size_t bytes, n_names = 0;
    *n = 0;
    *list = NULL;
    if (group->kind != FINDER_GROUP)
        return TS_OK;
    const enum ts_status status =
        ts_hdf5_input_call(input, ts_hdf5_task_names, group, &answer, &bytes);
    if (status != TS_OK)
        return status;
    char *text = ts_arena_text(input->arena, answer, bytes);
    free(answer);
    for (size_t i = 0; text && i < bytes; i++)
        n_names += text[i] == '\0';
    struct hdf5_name *names =
        text ? ts_arena_alloc(input->arena, (n_names + 1) * sizeof *names) : NULL;
    if (!names)
        return ts_diag_no_memory(input->diag, n_names * sizeof *names + bytes);
    for (char *at = text; *n < n_names; at += strlen(at) + 1)
        names[(*n)++] = (struct hdf5_name){.kind = *at, .name = *at ? at + 1 : at};
    *list = names;
    return TS_OK;
}

enum ts_status ts_hdf5_input_texts(const struct hdf5_input *input, const struct hdf5_ref *object,
                                   const char *attribute, int most, char *out, size_t size)
{
    struct attribute_request request = {
        .object = object->object, .of_dataset = attribute == NULL, .n = most};
    char text[FINDER_NAME];
    out[0] = '\0';
    snprintf(request.name, sizeof request.name, "%s", attribute ? attribute : "");
    const enum ts_status status =
        ts_hdf5_session_ask(input->session, ts_hdf5_task_text, &request, sizeof request, text,
                            sizeof text, input->diag);
    if (status != TS_OK)
        return status;
    text[sizeof text - 1] = '\0';
    snprintf(out, size, "%s", text);
    return TS_OK;
}

enum ts_status ts_hdf5_input_text(const struct hdf5_input *input, const struct hdf5_ref *object,
                                  const char *attribute, char *out, size_t size)
{
    return ts_hdf5_input_texts(input, object, attribute, 1, out, size);
}

enum ts_status ts_hdf5_input_numbers(const struct hdf5_input *input, const struct hdf5_ref *object,
                                     const char *name, int n, double *values, int *found)
{
    struct attribute_request request = {.object = object->object, .n = n};
    struct numbers_answer answer;
    *found = -1;
    snprintf(request.name, sizeof request.name, "%s", name);
    const enum ts_status status =
        ts_hdf5_session_ask(input->session, ts_hdf5_task_numbers, &request, sizeof request, &answer,
                            sizeof answer, input->diag);
    if (status != TS_OK || !answer.there)
        return status;
    *found = answer.n == n ? n : 0;
    for (int i = 0; i < *found; i++)
        if (!isfinite(answer.values[i]))
            *found = 0;
    memcpy(values, answer.values, (size_t)*found * sizeof *values);
    return TS_OK;
}

enum ts_status ts_hdf5_input_scale(const struct hdf5_input *input, const struct hdf5_ref *dataset,
                                   int axis, char path[FINDER_NAME])
{
    const struct attribute_request request = {.object = dataset->object, .n = axis};
    const enum ts_status status =
        ts_hdf5_session_ask(input->session, ts_hdf5_task_scale, &request, sizeof request, path,
                            FINDER_NAME, input->diag);
    path[status == TS_OK ? FINDER_NAME - 1 : 0] = '\0';
    return status;
}

bool ts_hdf5_input_is_class(const struct hdf5_ref *object, const char *nx_class)
{
    return object->kind == FINDER_GROUP && !strcmp(object->nx_class, nx_class);
}

enum ts_status ts_hdf5_input_find_class(struct hdf5_input *input, const struct hdf5_ref *group,
                                        const char *nx_class, struct hdf5_ref *found)
{
    struct hdf5_name *names;
    size_t n;
    *found = (struct hdf5_ref){0};
    enum ts_status status = ts_hdf5_input_names(input, group, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n && found->kind == FINDER_NONE; i++) {
        struct hdf5_ref member;
        if (names[i].kind == 'e')
            continue; /* links out of the file are followed only if needed */
        status = ts_hdf5_input_find(input, group, names[i].name, &member);
        if (status == TS_OK && ts_hdf5_input_is_class(&member, nx_class))
            *found = member;
        else
            ts_hdf5_input_release(input, &member);
    }
    return status;
}
