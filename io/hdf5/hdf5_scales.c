/* SPDX-License-Identifier: Apache-2.0
 *
 * Dimension scales, by which netCDF, xarray and h5py know that a dataset has the positions of
 * another one's axis. The datasets are noted as they are written. At the end each dimension gets
 * its scale, and then the attributes are written once: CLASS, NAME and REFERENCE_LIST of a scale
 * (who uses it along which axis), and DIMENSION_LIST of the others (their scales). The lists of a
 * dataset hold references, in a heap that has no checksum; this program's own readers do not use
 * them. Source: HDF5 Dimension Scale Specification.
 */
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_writer.h"

/* ---- which dataset is the scale of an axis --------------------------------------------------- */

static size_t group_length(const char *path)
{
    return (size_t)(strrchr(path, '/') - path) + 1;
}

/* Returns the number of the dataset of this name in the group of `path`; -1 if there is none. */
static int find(const struct hdf5_writer *writer, const char *path, const char *name)
{
    const size_t length = group_length(path);
    for (size_t i = 0; i < writer->n_labeled; i++) {
        const char *other = writer->labeled[i].path;
        if (strncmp(other, path, length) == 0 && strcmp(other + length, name) == 0)
            return (int)i;
    }
    return -1;
}

static bool fits(const struct hdf5_writer *writer, int scale, int64_t n)
{
    return scale >= 0 && writer->labeled[scale].rank == 1 && writer->labeled[scale].axes[0].n == n;
}

bool ts_hdf5_is_index(const char *path)
{
    const char *name = path + group_length(path);
    return strncmp(name, "index_", strlen("index_")) == 0 ||
           (strncmp(path, "/entry/inputs/", strlen("/entry/inputs/")) == 0 &&
            strcmp(name, "slice") == 0);
}

/* Writes a dataset that counts from 0 to n - 1. */
static enum ts_status write_index(struct hdf5_writer *writer, const char *path, const char *name,
                                  int64_t n)
{
    char index[1100], label[1200];
    int32_t *numbers = malloc((size_t)n * sizeof *numbers);
    if (!numbers) {
        ts_hdf5_fail_memory(writer, (size_t)n * sizeof *numbers);
        return ts_hdf5_state(writer);
    }
    for (int64_t i = 0; i < n; i++)
        numbers[i] = (int32_t)i;
    const struct ts_image image = {.rank = 1,
                                   .axes = {{.kind = TS_AXIS_ITEM, .n = n}},
                                   .dtype = TS_I32,
                                   .unit = "",
                                   .data = numbers};
    snprintf(index, sizeof index, "%.*s%s", (int)group_length(path), path, name);
    snprintf(label, sizeof label, "%s@long_name", index);
    enum ts_status status = ts_hdf5_values(writer, index, &image);
    if (status == TS_OK)
        status = ts_hdf5_text(writer, label, "index, from 0");
    free(numbers);
    return status;
}

/* Finds the scale of axis d of dataset i, or writes it. */
static enum ts_status choose_scale(struct hdf5_writer *writer, size_t i, int d)
{
    struct labeled_axis *axis = &writer->labeled[i].axes[d];
    char counted[32];
    const char *path = writer->labeled[i].path, *name = axis->name;
    const bool is_list = writer->labeled[i].rank == 1;
    int scale = find(writer, path, name);
    if (fits(writer, scale, axis->n)) {
        axis->scale = scale;
        return TS_OK;
    }
    if (is_list && (!axis->own || scale >= 0)) {
        axis->scale = (int)i;
        return TS_OK;
    }
    if (!axis->own || scale >= 0) {
        snprintf(counted, sizeof counted, "index_%lld", (long long)axis->n);
        name = counted;
        scale = find(writer, path, name);
    }
    enum ts_status status = TS_OK;
    if (scale < 0) {
        scale = (int)writer->n_labeled; /* the next one that is written */
        status = write_index(writer, path, name, axis->n);
    }
    if (status == TS_OK) /* the list may have moved */
        writer->labeled[i].axes[d].scale = scale;
    return status;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static bool is_scale(const struct hdf5_writer *writer, size_t i)
{
    return writer->labeled[i].rank == 1 && writer->labeled[i].axes[0].scale == (int)i;
}

/* Writes a text as the library itself writes those of scales: of ASCII, and ended by a zero. */
static bool put_scale_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    hid_t attribute = -1;
    bool done = type >= 0 && space >= 0 && H5Tset_size(type, strlen(text) + 1) >= 0;
    if (done)
        attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    done = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
    TS_HDF5_CLOSE(attribute, space, type);
    return done;
}

static bool put_list(hid_t object, const char *name, hid_t stored, hid_t type, size_t n,
                     const void *values)
{
    const hsize_t length = n;
    const hid_t space = H5Screate_simple(1, &length, NULL);
    hid_t attribute = -1;
    if (space >= 0 && type >= 0 && stored >= 0)
        attribute = H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    const bool done = attribute >= 0 && H5Awrite(attribute, type, values) >= 0;
    TS_HDF5_CLOSE(attribute, space);
    return done;
}

static bool refer_to(const struct hdf5_writer *writer, size_t i, hobj_ref_t *reference)
{
    return H5Rcreate(reference, writer->h5, writer->labeled[i].path, H5R_OBJECT, -1) >= 0;
}

/* A use of a scale, in memory and in the file. */
struct use {
    hobj_ref_t dataset;
    int32_t dimension;
};

static hid_t use_type(size_t bytes, size_t at, hid_t integer)
{
    const hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
    if (type >= 0 && H5Tinsert(type, "dataset", 0, H5T_STD_REF_OBJ) >= 0 &&
        H5Tinsert(type, "dimension", at, integer) >= 0)
        return type;
    TS_HDF5_CLOSE(type);
    return -1;
}

/* Writes who uses scale i. */
static bool put_uses(const struct hdf5_writer *writer, size_t i, hid_t object)
{
    const size_t n = (size_t)writer->labeled[i].n_uses;
    struct use *uses = calloc(n + 1, sizeof *uses);
    size_t used = 0;
    bool done = uses;
    for (size_t k = 0; done && k < writer->n_labeled; k++)
        for (int d = 0; done && d < writer->labeled[k].rank; d++)
            if (k != i && writer->labeled[k].axes[d].scale == (int)i) {
                uses[used].dimension = d;
                done = refer_to(writer, k, &uses[used++].dataset);
            }
    if (done && n > 0) {
        const hid_t type =
                        use_type(sizeof *uses, offsetof(struct use, dimension), H5T_NATIVE_INT32),
                    stored = use_type(12, 8, H5T_STD_I32LE);
        done = put_list(object, "REFERENCE_LIST", stored, type, n, uses);
        TS_HDF5_CLOSE(stored, type);
    }
    free(uses);
    return done;
}

/* Writes the scales of dataset i. */
static bool put_scales(const struct hdf5_writer *writer, size_t i, hid_t object)
{
    const struct hdf5_labeled *labeled = &writer->labeled[i];
    hobj_ref_t scales[TS_MAX_RANK];
    hvl_t lists[TS_MAX_RANK];
    bool done = true;
    for (int d = 0; done && d < labeled->rank; d++) {
        done = refer_to(writer, (size_t)labeled->axes[d].scale, &scales[d]);
        lists[d] = (hvl_t){.len = 1, .p = &scales[d]};
    }
    const hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    done = done && put_list(object, "DIMENSION_LIST", type, type, (size_t)labeled->rank, lists);
    TS_HDF5_CLOSE(type);
    return done;
}

static void write_lists(struct hdf5_writer *writer, size_t i)
{
    const char *path = writer->labeled[i].path;
    ts_hdf5_enter();
    const hid_t object = H5Oopen(writer->h5, path, H5P_DEFAULT);
    bool done = object >= 0;
    if (done && is_scale(writer, i))
        done = put_scale_text(object, "CLASS", "DIMENSION_SCALE") &&
               put_scale_text(object, "NAME", path + group_length(path)) &&
               put_uses(writer, i, object);
    else
        done = done && put_scales(writer, i, object);
    if (!done)
        ts_hdf5_fail_library(writer, path, 0);
    TS_HDF5_CLOSE(object);
    ts_hdf5_leave();
}

enum ts_status ts_hdf5_scales(struct hdf5_writer *writer)
{
    enum ts_status status = ts_hdf5_settle(writer);
    for (size_t i = 0; i < writer->n_labeled; i++) /* grows, by lists that are their own scales */
        for (int d = 0; status == TS_OK && d < writer->labeled[i].rank; d++)
            status = choose_scale(writer, i, d);
    if (status != TS_OK)
        return status;
    for (size_t i = 0; i < writer->n_labeled; i++)
        for (int d = 0; d < writer->labeled[i].rank; d++)
            if (writer->labeled[i].axes[d].scale != (int)i)
                writer->labeled[writer->labeled[i].axes[d].scale].n_uses++;
    for (size_t i = 0; i < writer->n_labeled; i++)
        write_lists(writer, i);
    return ts_hdf5_state(writer);
}
