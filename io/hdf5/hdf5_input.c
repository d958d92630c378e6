/* SPDX-License-Identifier: Apache-2.0
 *
 * A file that an external link leads to must lie, all symbolic links resolved, in the folder of the first file or below
 * it, and must have the signature of HDF5. Without that the child, should the first file have taken it over, could ask
 * for any file of the folder.
 */
#include "io/hdf5/hdf5_input.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"

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

/* ---- files ---------------------------------------------------------------------------------------- */

/* Takes the descriptor over and hands the file to the child; *file is its number, that of one which is open already
 * where it is the same. */
static enum ts_status add_file_take(struct hdf5_input *input, int fd, const struct stat *found, int *file)
{
    enum ts_status status = TS_OK;
    for (*file = 0; *file < input->n_files; ++*file)
        if (input->files[*file].device == found->st_dev && input->files[*file].inode == found->st_ino) {
            close(fd);
            return TS_OK;
        }
    struct hdf5_input_file *added = &input->files[*file];
    if (*file == HDF5_INPUT_FILES) {
        status = ts_hdf5_input_refuse(input, "hdf5-links", "its links lead to more than %d files", HDF5_INPUT_FILES);
    } else {
        *added = (struct hdf5_input_file){.fd = fd,
                                          .device = found->st_dev,
                                          .inode = found->st_ino,
                                          .bytes = found->st_size,
                                          .root = {.kind = FINDER_GROUP, .file = *file}};
        status = ts_hdf5_session_add(input->session, fd, &added->root.object, input->diag);
    }
    if (status == TS_OK)
        input->n_files++;
    else
        close(fd);
    return status;
}

enum ts_status ts_hdf5_input_open(struct hdf5_input *input)
{
    struct stat found;
    char real[PATH_MAX], reason[PATH_MAX];
    int file;
    const int fd = ts_regular_file_open(input->path, &found, reason, sizeof reason);
    if (fd < 0)
        return ts_hdf5_input_refuse(input, "input-unreadable", "%s", reason);
    if (!realpath(input->path, real)) {
        close(fd);
        return ts_hdf5_input_refuse(input, "input-unreadable", "cannot be read: %s", strerror(errno));
    }
    char *slash = strrchr(real, '/');
    input->folder = ts_arena_text(input->arena, real, slash == real ? 1 : (size_t)(slash - real));
    const struct hdf5_session_options options = {.path = input->path,
                                                 .span = input->set ? input->set->spans[0] : (struct ts_span){0},
                                                 .owner = input->set ? input->set->owner : NULL,
                                                 .strict = true};
    enum ts_status status = input->folder ? TS_OK : ts_diag_no_memory(input->diag, sizeof real);
    if (status == TS_OK)
        status = ts_hdf5_session_start(&options, &input->session, input->diag);
    if (status == TS_OK)
        return add_file_take(input, fd, &found, &file);
    close(fd);
    return status;
}

void ts_hdf5_input_found(struct hdf5_input *input)
{
    ts_hdf5_session_end(input->session);
    input->session = NULL;
}

void ts_hdf5_input_close(struct hdf5_input *input)
{
    ts_hdf5_input_found(input);
    for (int i = 0; i < input->n_files; i++)
        close(input->files[i].fd);
    input->n_files = 0;
}

bool ts_hdf5_input_holds(const struct hdf5_input *input, const struct file_set *files)
{
    for (int i = 0; i < input->n_files; i++)
        if (ts_file_set_has(files, input->files[i].device, input->files[i].inode))
            return true;
    return false;
}

/* ---- links ---------------------------------------------------------------------------------------- */

static enum ts_status refuse_outside(const struct hdf5_input *input, const char *shown)
{
    return ts_hdf5_input_refuse(input, "hdf5-link-outside", "an external link leads to %s, out of the file's folder",
                                shown);
}

/* Opens the file that an external link names. */
static enum ts_status follow_external(struct hdf5_input *input, const char *name, int *file)
{
    char shown[HDF5_INPUT_PATH], joined[PATH_MAX], real[PATH_MAX], reason[PATH_MAX];
    const size_t prefix = strlen(input->folder);
    struct stat found;
    int fd = -1;
    ts_text_escape(shown, sizeof shown, name);
    if (snprintf(joined, sizeof joined, "%s/%s", input->folder, name) >= (int)sizeof joined || *name == '/')
        return refuse_outside(input, shown);
    if (!realpath(joined, real))
        (void)ts_regular_file_fail(joined, errno, reason, sizeof reason);
    else if (strncmp(real, input->folder, prefix) != 0 || (prefix > 1 && real[prefix] != '/'))
        return refuse_outside(input, shown);
    else if ((fd = ts_regular_file_open(real, &found, reason, sizeof reason)) >= 0 && !ts_hdf5_has_signature(fd)) {
        snprintf(reason, sizeof reason, "%s%s", errno ? "cannot be read: " : "is not an HDF5 file",
                 errno ? strerror(errno) : "");
        close(fd);
        fd = -1;
    }
    return fd >= 0 ? add_file_take(input, fd, &found, file)
                   : ts_hdf5_input_refuse(input, "hdf5-link-broken", "an external link leads to %s, which %s", shown,
                                          reason);
}

static enum ts_status take_found(struct hdf5_input *input, struct find_answer *answer, int file, struct hdf5_ref *found)
{
    if (answer->kind < FINDER_NONE || answer->kind > FINDER_OTHER)
        return ts_hdf5_session_wrong_answer(input->session, input->diag);
    *found = (struct hdf5_ref){
        .kind = (enum finder_kind)answer->kind, .file = file, .rank = answer->rank, .object = answer->object};
    answer->nx_class[sizeof answer->nx_class - 1] = '\0';
    memcpy(found->nx_class, answer->nx_class, sizeof found->nx_class);
    return TS_OK;
}

enum ts_status ts_hdf5_input_find(struct hdf5_input *input, const struct hdf5_ref *from, const char *path,
                                  struct hdf5_ref *found)
{
    struct find_request request = {.from = from->object};
    struct find_answer answer;
    int file = from->file;
    *found = (struct hdf5_ref){0};
    if (from->kind != FINDER_GROUP || strlen(path) >= sizeof request.path)
        return TS_OK; /* nothing has such a name */
    snprintf(request.path, sizeof request.path, "%s", path);
    for (int i = 0; i <= HDF5_INPUT_LINKS; i++) {
        enum ts_status status = ts_hdf5_session_ask(input->session, ts_hdf5_task_find, &request, sizeof request,
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

enum ts_status ts_hdf5_input_find_root(struct hdf5_input *input, const char *path, struct hdf5_ref *found)
{
    return ts_hdf5_input_find(input, &input->files[0].root, path, found);
}

enum ts_status ts_hdf5_input_call(const struct hdf5_input *input, hdf5_task *task, const struct hdf5_ref *object,
                                  void **answer, size_t *bytes)
{
    const struct object_request request = {.object = object->object};
    return ts_hdf5_session_call(input->session, task, &request, sizeof request, answer, bytes, input->diag);
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

/* ---- names, texts, numbers -------------------------------------------------------------------------- */

enum ts_status ts_hdf5_input_names(struct hdf5_input *input, const struct hdf5_ref *group, struct hdf5_name **list,
                                   size_t *n)
{
    void *answer;
    size_t bytes, n_names = 0;
    *n = 0;
    *list = NULL;
    if (group->kind != FINDER_GROUP)
        return TS_OK;
    const enum ts_status status = ts_hdf5_input_call(input, ts_hdf5_task_names, group, &answer, &bytes);
    if (status != TS_OK)
        return status;
    char *text = ts_arena_text(input->arena, answer, bytes);
    free(answer);
    for (size_t i = 0; text && i < bytes; i++)
        n_names += text[i] == '\0';
    struct hdf5_name *names = text ? ts_arena_alloc(input->arena, (n_names + 1) * sizeof *names) : NULL;
    if (!names)
        return ts_diag_no_memory(input->diag, n_names * sizeof *names + bytes);
    for (char *at = text; *n < n_names; at += strlen(at) + 1)
        names[(*n)++] = (struct hdf5_name){.kind = *at, .name = *at ? at + 1 : at};
    *list = names;
    return TS_OK;
}

enum ts_status ts_hdf5_input_text(const struct hdf5_input *input, const struct hdf5_ref *object, const char *attribute,
                                  char *out, size_t size)
{
    struct attribute_request request = {.object = object->object, .of_dataset = attribute == NULL};
    char text[FINDER_NAME];
    out[0] = '\0';
    snprintf(request.name, sizeof request.name, "%s", attribute ? attribute : "");
    const enum ts_status status = ts_hdf5_session_ask(input->session, ts_hdf5_task_text, &request, sizeof request, text,
                                                      sizeof text, input->diag);
    if (status != TS_OK)
        return status;
    text[sizeof text - 1] = '\0';
    snprintf(out, size, "%s", text);
    return TS_OK;
}

enum ts_status ts_hdf5_input_numbers(const struct hdf5_input *input, const struct hdf5_ref *object, const char *name,
                                     int n, double *values, int *found)
{
    struct attribute_request request = {.object = object->object, .n = n};
    struct numbers_answer answer;
    *found = -1;
    snprintf(request.name, sizeof request.name, "%s", name);
    const enum ts_status status = ts_hdf5_session_ask(input->session, ts_hdf5_task_numbers, &request, sizeof request,
                                                      &answer, sizeof answer, input->diag);
    if (status != TS_OK || !answer.there)
        return status;
    *found = answer.n == n ? n : 0;
    for (int i = 0; i < *found; i++)
        if (!isfinite(answer.values[i]))
            *found = 0;
    memcpy(values, answer.values, (size_t)*found * sizeof *values);
    return TS_OK;
}

bool ts_hdf5_input_is_class(const struct hdf5_ref *object, const char *nx_class)
{
    return object->kind == FINDER_GROUP && !strcmp(object->nx_class, nx_class);
}
