/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandboxed child finds the dataset. It sends texts as they are, which this process cuts, and
 * numbers in the type of the machine, of which this process checks how many there are.
 */
#include "io/hdf5/hdf5_texts.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_finder.h"
#include "io/hdf5/hdf5_session.h"

enum { MOST_BYTES = 32 << 20 };

struct values_request {
    struct find_request way;
    uint64_t bytes;
    int32_t dtype;
};

/* ---- numbers: the child ---------------------------------------------------------------------- */

static hid_t type_of(int32_t dtype)
{
    switch ((enum ts_dtype)dtype) {
    case TS_U8:
        return H5T_NATIVE_UINT8;
    case TS_I8:
        return H5T_NATIVE_INT8;
    case TS_U16:
        return H5T_NATIVE_UINT16;
    case TS_I16:
        return H5T_NATIVE_INT16;
    case TS_U32:
        return H5T_NATIVE_UINT32;
    case TS_I32:
        return H5T_NATIVE_INT32;
    case TS_F32:
        return H5T_NATIVE_FLOAT;
    case TS_U64:
        return H5T_NATIVE_UINT64;
    case TS_F64:
        return H5T_NATIVE_DOUBLE;
    case TS_F16:
        break;
    }
    return -1;
}

static enum ts_status send_values(const struct hdf5_child *child,
                                  const struct values_request *request, hid_t dataset,
                                  const char *shown, FILE *out, struct ts_diag *diag)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset),
                wanted = type_of(request->dtype);
    const hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    const bool fits = type >= 0 && wanted >= 0 && n > 0 && H5Tequal(type, wanted) > 0 &&
                      (uint64_t)n * H5Tget_size(type) == request->bytes;
    enum ts_status status =
        fits ? TS_OK
             : ts_hdf5_child_refuse(child, diag, "hdf5-values",
                                    "%s has another type or size than was expected", shown);
    void *bytes = fits ? malloc(request->bytes) : NULL;
    if (fits && !bytes)
        status = ts_diag_no_memory(diag, request->bytes);
    if (status == TS_OK && H5Dread(dataset, wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        status = ts_hdf5_child_unreadable(child, diag, shown);
    if (status == TS_OK)
        fwrite(bytes, 1, request->bytes, out);
    free(bytes);
    TS_HDF5_CLOSE(space, type);
    return status;
}

static enum ts_status values_task(struct hdf5_child *child, const void *data, FILE *out,
                                  struct ts_diag *diag)
{
    static struct values_request request;
    static struct find_answer found;
    char shown[256];
    request = *(const struct values_request *)data;
    request.way.from = child->files[0];
    ts_text_escape(shown, sizeof shown, request.way.path);
    const enum ts_status status = ts_hdf5_walk_path(child, &request.way, &found, diag);
    if (status != TS_OK)
        return status;
    if (found.kind != FINDER_DATASET)
        return ts_hdf5_child_refuse(child, diag, "hdf5-values", "there is no dataset %s", shown);
    return send_values(child, &request, found.object, shown, out, diag);
}

/* ---- numbers: the parent --------------------------------------------------------------------- */

enum ts_status ts_hdf5_read_values(struct sandbox *sandbox, const char *path, const char *dataset,
                                   const struct ts_image *image, struct ts_diag *diag)
{
    struct hdf5_session *session;
    struct values_request request = {.dtype = (int32_t)image->dtype,
                                     .bytes = ts_image_bytes(image)};
    if (request.bytes > MOST_BYTES)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-values"},
                             "%s: %s has more than %d MiB", path, dataset, MOST_BYTES >> 20);
    snprintf(request.way.path, sizeof request.way.path, "%s", dataset);
    enum ts_status status = ts_hdf5_session_open(
        &(struct hdf5_session_options){
            .sandbox = sandbox, .path = path, .address_bytes = (size_t)512 << 20},
        &session, NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_ask(session, values_task, &request, sizeof request, image->data,
                                     request.bytes, diag);
    ts_hdf5_session_end(session);
    return status;
}

struct texts_head {
    uint64_t n, width; /* 0, 0: there is no such dataset */
};

/* ---- texts: the child ------------------------------------------------------------------------ */

static enum ts_status send_texts(const struct hdf5_child *child, hid_t dataset, const char *shown,
                                 FILE *out, struct ts_diag *diag)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    const bool fits =
        type >= 0 && n > 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    const struct texts_head head = {fits ? (uint64_t)n : 0, fits ? H5Tget_size(type) : 0};
    enum ts_status status = TS_OK;
    if (!fits || head.width == 0 || head.n > MOST_BYTES / head.width)
        status = ts_hdf5_child_refuse(child, diag, "hdf5-no-text",
                                      "%s is no text of at most %d MiB", shown, MOST_BYTES >> 20);
    char *bytes = status == TS_OK ? malloc(head.n * head.width) : NULL;
    if (status == TS_OK && !bytes)
        status = ts_diag_no_memory(diag, head.n * head.width);
    if (status == TS_OK && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        status = ts_hdf5_child_unreadable(child, diag, shown);
    if (status == TS_OK) {
        fwrite(&head, sizeof head, 1, out);
        fwrite(bytes, head.width, head.n, out);
    }
    free(bytes);
    TS_HDF5_CLOSE(space, type);
    return status;
}

static enum ts_status texts_task(struct hdf5_child *child, const void *request, FILE *out,
                                 struct ts_diag *diag)
{
    static struct find_request way;
    static struct find_answer found;
    const struct texts_head none = {0, 0};
    char shown[256];
    way = *(const struct find_request *)request;
    way.from = child->files[0];
    ts_text_escape(shown, sizeof shown, way.path);
    const enum ts_status status = ts_hdf5_walk_path(child, &way, &found, diag);
    if (status != TS_OK)
        return status;
    if (found.kind == FINDER_DATASET)
        return send_texts(child, found.object, shown, out, diag);
    fwrite(&none, sizeof none, 1, out);
    return TS_OK;
}

/* ---- texts: the parent ----------------------------------------------------------------------- */

static enum ts_status take_texts(const char *answer, struct texts_head head, struct arena *arena,
                                 const char *const **texts, struct ts_diag *diag)
{
    const char **list = ts_arena_alloc(arena, (head.n + 1) * sizeof *list);
    bool complete = list != NULL;
    for (uint64_t i = 0; complete && i < head.n; i++) {
        const char *text = answer + i * head.width;
        list[i] = ts_arena_text(arena, text, strnlen(text, head.width));
        complete = list[i] != NULL;
    }
    *texts = list;
    return complete ? TS_OK : ts_diag_no_memory(diag, head.n * head.width);
}

enum ts_status ts_hdf5_read_texts(struct sandbox *sandbox, const char *path, const char *dataset,
                                  struct arena *arena, const char *const **texts, size_t *n,
                                  struct ts_diag *diag)
{
    struct hdf5_session *session;
    struct find_request request = {0};
    struct texts_head head = {0};
    void *answer = NULL;
    size_t bytes = 0;
    *n = 0;
    *texts = NULL;
    snprintf(request.path, sizeof request.path, "%s", dataset);
    enum ts_status status = ts_hdf5_session_open(
        &(struct hdf5_session_options){
            .sandbox = sandbox, .path = path, .address_bytes = (size_t)512 << 20},
        &session, NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, texts_task, &request, sizeof request, &answer,
                                      &bytes, diag);
    if (status == TS_OK) {
        memcpy(&head, answer, bytes < sizeof head ? bytes : sizeof head);
        const bool possible = bytes >= sizeof head && (head.width == 0) == (head.n == 0) &&
                              (head.n == 0 || (head.n <= MOST_BYTES / head.width &&
                                               bytes - sizeof head == head.n * head.width));
        status = possible ? take_texts((const char *)answer + sizeof head, head, arena, texts, diag)
                          : ts_hdf5_session_wrong_answer(session, diag);
        *n = status == TS_OK ? head.n : 0;
    }
    ts_hdf5_session_end(session);
    free(answer);
    return status;
}
