/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandboxed child finds the dataset and sends its bytes as they are; this process cuts them into
 * texts.
 */
#include "io/hdf5/hdf5_texts.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_finder.h"
#include "io/hdf5/hdf5_session.h"

enum { TEXTS_BYTES = 32 << 20 };

struct texts_head {
    uint64_t n, width; /* 0, 0: there is no such dataset */
};

/* ---- the child ------------------------------------------------------------------------------- */

static enum ts_status send_texts(const struct hdf5_child *child, hid_t dataset, const char *shown,
                                 FILE *out, struct ts_diag *diag)
{
    const hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
    const hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    const bool fits =
        type >= 0 && n > 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    const struct texts_head head = {fits ? (uint64_t)n : 0, fits ? H5Tget_size(type) : 0};
    enum ts_status status = TS_OK;
    if (!fits || head.width == 0 || head.n > TEXTS_BYTES / head.width)
        status = ts_hdf5_child_refuse(child, diag, "hdf5-no-text",
                                      "%s is no text of at most %d MiB", shown, TEXTS_BYTES >> 20);
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

/* ---- the parent ------------------------------------------------------------------------------ */

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

enum ts_status ts_hdf5_read_texts(const char *path, const char *dataset, struct arena *arena,
                                  const char *const **texts, size_t *n, struct ts_diag *diag)
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
        &(struct hdf5_session_options){.path = path, .address_bytes = (size_t)512 << 20}, &session,
        NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_call(session, texts_task, &request, sizeof request, &answer,
                                      &bytes, diag);
    if (status == TS_OK) {
        memcpy(&head, answer, bytes < sizeof head ? bytes : sizeof head);
        const bool possible = bytes >= sizeof head && (head.width == 0) == (head.n == 0) &&
                              (head.n == 0 || (head.n <= TEXTS_BYTES / head.width &&
                                               bytes - sizeof head == head.n * head.width));
        status = possible ? take_texts((const char *)answer + sizeof head, head, arena, texts, diag)
                          : ts_hdf5_session_wrong_answer(session, diag);
        *n = status == TS_OK ? head.n : 0;
    }
    ts_hdf5_session_end(session);
    free(answer);
    return status;
}
