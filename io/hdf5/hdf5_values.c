/* SPDX-License-Identifier: Apache-2.0
 *
 * This makes the types, spaces and attributes of a result, and writes its small values. Datasets of up to 32 KiB lie in
 * the object header (compact), where the metadata checksum covers them; larger ones are chunked like images. Text has a
 * fixed length, in UTF-8: variable-length text would lie in a heap without any checksum.
 */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_writer.h"

enum { COMPACT_BYTES = 32 << 10, ATTRIBUTE_BYTES = 60 << 10 };

hid_t ts_hdf5_type(enum ts_dtype dtype)
{
    const hid_t types[] = {[TS_U8] = H5T_STD_U8LE,    [TS_I8] = H5T_STD_I8LE,   [TS_U16] = H5T_STD_U16LE,
                           [TS_I16] = H5T_STD_I16LE,  [TS_U32] = H5T_STD_U32LE, [TS_I32] = H5T_STD_I32LE,
                           [TS_F32] = H5T_IEEE_F32LE, [TS_U64] = H5T_STD_U64LE, [TS_F64] = H5T_IEEE_F64LE};
    return types[dtype];
}

hid_t ts_hdf5_create_properties(hid_t class_id)
{
    enum { MANY = 65535 }; /* the format's limit */
    hid_t list = H5Pcreate(class_id);
    bool done = list >= 0 && H5Pset_obj_track_times(list, false) >= 0 && H5Pset_attr_phase_change(list, MANY, 0) >= 0;
    if (done && class_id != H5P_DATASET_CREATE)
        done = H5Pset_link_phase_change(list, MANY, 0) >= 0;
    if (done)
        return list;
    TS_HDF5_CLOSE(list);
    return -1;
}

/* Returns the type of a text of so many bytes, padded with zeros. The caller closes it. */
static hid_t text_type(size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, bytes) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        TS_HDF5_CLOSE(type);
        return -1;
    }
    return type;
}

hid_t ts_hdf5_value_space(const struct hdf5_value *value)
{
    hsize_t n[TS_MAX_RANK];
    for (int d = 0; d < value->rank; d++)
        n[d] = (hsize_t)value->n[d];
    return value->rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(value->rank, n, NULL);
}

static bool put_attribute(hid_t object, const char *name, const struct hdf5_value *value)
{
    hid_t space = ts_hdf5_value_space(value), attribute = -1;
    if (space >= 0)
        attribute = H5Acreate2(object, name, value->type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && (value->bytes == 0 || H5Awrite(attribute, value->type, value->data) >= 0);
    if (attribute >= 0)
        done = H5Aclose(attribute) >= 0 && done;
    TS_HDF5_CLOSE(space);
    return done;
}

bool ts_hdf5_put_digest(hid_t dataset, const char *text)
{
    struct hdf5_value value = {.type = text_type(64), .element_bytes = 64, .bytes = 64, .data = text};
    bool done = value.type >= 0 && put_attribute(dataset, "sha256_tree", &value);
    TS_HDF5_CLOSE(value.type);
    return done;
}

/* Writes the value into the object header where it fits. A long scalar lies beside it, guarded by its digest alone. */
static bool put_compact(struct hdf5_writer *writer, const char *path, const struct hdf5_value *value)
{
    char digest[DIGEST_TEXT_BYTES];
    hid_t list = ts_hdf5_create_properties(H5P_DATASET_CREATE), space = ts_hdf5_value_space(value), dataset = -1;
    bool done = list >= 0 && space >= 0 && ts_digest_tree_of(value->data, value->bytes, digest);
    if (value->bytes > 0 && value->bytes <= COMPACT_BYTES)
        done = done && H5Pset_layout(list, H5D_COMPACT) >= 0;
    if (done)
        dataset = H5Dcreate2(writer->h5, path, value->type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    done = dataset >= 0 &&
           (value->bytes == 0 || H5Dwrite(dataset, value->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value->data) >= 0) &&
           ts_hdf5_put_digest(dataset, digest);
    if (dataset >= 0)
        done = H5Dclose(dataset) >= 0 && done;
    TS_HDF5_CLOSE(space, list);
    return done;
}

/* "object@name" is an attribute. */
static bool put_on_object(struct hdf5_writer *writer, const char *path, const char *at, const struct hdf5_value *value)
{
    char object_path[1024];
    snprintf(object_path, sizeof object_path, "%.*s", (int)(at - path), path);
    hid_t object = H5Oopen(writer->h5, object_path, H5P_DEFAULT);
    bool done = object >= 0 && put_attribute(object, at + 1, value);
    if (object >= 0)
        done = H5Oclose(object) >= 0 && done;
    return done;
}

static enum ts_status put_value(struct hdf5_writer *writer, const char *path, const struct hdf5_value *value)
{
    const char *at = strrchr(path, '@');
    int id;
    if (ts_hdf5_settle(writer) != TS_OK)
        return TS_RUN_FAILED;
    if (at && (value->bytes > ATTRIBUTE_BYTES || at - path > 1000)) {
        ts_hdf5_fail(writer, "output-attribute", "the attribute %s has %zu bytes, %d are possible", path, value->bytes,
                     ATTRIBUTE_BYTES);
    } else if (!at && value->rank > 0 && value->bytes > COMPACT_BYTES) {
        if (ts_hdf5_dataset_create(writer, path, value, &id) == TS_OK)
            (void)ts_hdf5_dataset_write(writer, id, writer->datasets[id]->n_slices, value->data, false);
        return ts_hdf5_settle(writer);
    } else {
        ts_hdf5_enter();
        if (!(at ? put_on_object(writer, path, at, value) : put_compact(writer, path, value)))
            ts_hdf5_fail_library(writer, path, (int64_t)value->bytes);
        ts_hdf5_leave();
    }
    return ts_hdf5_state(writer);
}

static enum ts_status put_text(struct hdf5_writer *writer, const char *path, struct hdf5_value *value)
{
    ts_hdf5_enter();
    value->type = text_type(value->element_bytes);
    if (value->type < 0)
        ts_hdf5_fail_library(writer, path, 0);
    ts_hdf5_leave();
    const enum ts_status status = put_value(writer, path, value);
    ts_hdf5_enter();
    TS_HDF5_CLOSE(value->type);
    ts_hdf5_leave();
    return status;
}

enum ts_status ts_hdf5_text(struct hdf5_writer *writer, const char *path, const char *text)
{
    const size_t bytes = *text ? strlen(text) : 1; /* HDF5 has no text of length 0: one zero byte */
    struct hdf5_value value = {.element_bytes = bytes, .bytes = bytes, .data = text};
    return put_text(writer, path, &value);
}

enum ts_status ts_hdf5_texts(struct hdf5_writer *writer, const char *path, const char *const *texts, size_t n)
{
    struct hdf5_value value = {.element_bytes = 1, .rank = 1, .n = {(int64_t)n}};
    for (size_t i = 0; i < n; i++)
        if (strlen(texts[i]) > value.element_bytes)
            value.element_bytes = strlen(texts[i]);
    char *cells = NULL;
    if (!ts_mul_size(n, value.element_bytes, &value.bytes) || !(cells = calloc(1, value.bytes + 1))) {
        ts_hdf5_fail_memory(writer, value.bytes);
        return ts_hdf5_state(writer);
    }
    for (size_t i = 0; i < n; i++)
        memcpy(cells + i * value.element_bytes, texts[i], strlen(texts[i]));
    value.data = cells;
    const enum ts_status status = put_text(writer, path, &value);
    free(cells);
    return status;
}

enum ts_status ts_hdf5_values(struct hdf5_writer *writer, const char *path, const struct ts_image *image)
{
    struct hdf5_value value = {.type = ts_hdf5_type(image->dtype),
                               .element_bytes = ts_dtype_bytes(image->dtype),
                               .rank = image->rank,
                               .bytes = image->rank == 0 ? ts_dtype_bytes(image->dtype) : ts_image_bytes(image),
                               .data = image->data};
    for (int d = 0; d < image->rank; d++)
        value.n[d] = image->axes[d].n;
    const enum ts_status status = put_value(writer, path, &value);
    if (status != TS_OK || !image->unit || !*image->unit || strchr(path, '@'))
        return status;
    char attribute[1100];
    snprintf(attribute, sizeof attribute, "%.1000s@units", path);
    return ts_hdf5_text(writer, attribute, image->unit);
}
