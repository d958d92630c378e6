/* SPDX-License-Identifier: Apache-2.0
 *
 * A sandboxed child finds the dataset and sends its values in the type of the machine; this process
 * checks how many there are.
 */
#include "io/hdf5/hdf5_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_finder.h"
#include "io/hdf5/hdf5_session.h"

struct values_request {
    struct find_request way;
    uint64_t bytes;
    int32_t dtype;
};

/* ---- the child ------------------------------------------------------------------------------- */

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

/* ---- the parent ------------------------------------------------------------------------------ */

enum ts_status ts_hdf5_read_values(const char *path, const char *dataset,
                                   const struct ts_image *image, struct ts_diag *diag)
{
    struct hdf5_session *session;
    struct values_request request = {.dtype = (int32_t)image->dtype,
                                     .bytes = ts_image_bytes(image)};
    if (request.bytes > HDF5_BYTES_MOST)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-values"},
                             "%s: %s has more than %d MiB", path, dataset, HDF5_BYTES_MOST >> 20);
    snprintf(request.way.path, sizeof request.way.path, "%s", dataset);
    enum ts_status status = ts_hdf5_session_open(
        &(struct hdf5_session_options){.path = path, .address_bytes = (size_t)512 << 20}, &session,
        NULL, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_ask(session, values_task, &request, sizeof request, image->data,
                                     request.bytes, diag);
    ts_hdf5_session_end(session);
    return status;
}
