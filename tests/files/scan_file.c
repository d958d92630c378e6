/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/files/scan_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/folders.h"

struct scan_place ts_scan_file;

void ts_scan_file_begin(void)
{
    ts_test_folder(ts_scan_file.folder, sizeof ts_scan_file.folder);
    snprintf(ts_scan_file.path, sizeof ts_scan_file.path, "%s/scan.h5", ts_scan_file.folder);
    ts_scan_file.diag = ts_diag_create();
}

void ts_scan_file_end(void)
{
    ts_diag_destroy(ts_scan_file.diag);
    ts_test_remove_folder(ts_scan_file.folder);
}

void ts_scan_file_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

hid_t ts_scan_file_group(hid_t parent, const char *name, const char *nx_class)
{
    const hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(group >= 0);
    if (nx_class)
        ts_scan_file_text(group, "NX_class", nx_class);
    return group;
}

void ts_scan_file_numbers(hid_t group, const char *name, int n, const double *values,
                          const char *units)
{
    const hsize_t size = (hsize_t)n;
    const hid_t space = n > 0 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
    const hid_t dataset =
        H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (units)
        ts_scan_file_text(dataset, "units", units);
    H5Dclose(dataset);
    H5Sclose(space);
}

void ts_scan_file_word(hid_t group, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    const hid_t dataset =
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

void ts_scan_file_integers(hid_t file, const char *path, hid_t type, int n, const void *values)
{
    const hsize_t size = (hsize_t)n;
    const hid_t space = H5Screate_simple(1, &size, NULL);
    cr_assert(H5Ldelete(file, path, H5P_DEFAULT) >= 0);
    const hid_t dataset =
        H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t memory = H5Tget_sign(type) == H5T_SGN_2 ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64;
    cr_assert(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
}

void ts_scan_file_reshape(const char *path, int rank, const hsize_t *shape, const hsize_t *chunk)
{
    const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT),
                list = H5Pcreate(H5P_DATASET_CREATE), old = H5Dopen2(file, path, H5P_DEFAULT);
    const bool units = H5Aexists(old, "units") > 0;
    const hsize_t most[3] = {H5S_UNLIMITED, H5S_UNLIMITED, H5S_UNLIMITED};
    const hid_t space = H5Screate_simple(rank, shape, chunk[0] ? most : NULL);
    double values[SCAN_FRAMES];
    cr_assert(H5Dread(old, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(old);
    cr_assert(H5Ldelete(file, path, H5P_DEFAULT) >= 0);
    if (chunk[0])
        H5Pset_chunk(list, rank, chunk);
    const hid_t dataset =
        H5Dcreate2(file, path, H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (units)
        ts_scan_file_text(dataset, "units", "degree");
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
    cr_assert(H5Fclose(file) >= 0);
}

/* Selects the frames before one, or those behind it, in place of what is selected or beside it. */
static void select_frames(hid_t space, hsize_t frames, hsize_t unwritten, bool behind,
                          H5S_seloper_t how)
{
    const hsize_t first[3] = {behind ? unwritten + 1 : 0},
                  n[3] = {behind ? frames - unwritten - 1 : unwritten, SCAN_ROWS, SCAN_COLUMNS};
    cr_assert(H5Sselect_hyperslab(space, how, first, NULL, n, NULL) >= 0);
}

/* Makes a dataset virtual that has the frames of a plain one, but for one that is not written. */
static void map_frames(hid_t group, hid_t list, hsize_t frames, hsize_t unwritten)
{
    const hsize_t n[3] = {frames, SCAN_ROWS, SCAN_COLUMNS};
    const hid_t space = H5Screate_simple(3, n, NULL), root = H5Gopen2(group, "/", H5P_DEFAULT);
    ts_scan_file_frames(root, "frames", frames, NULL);
    for (int behind = 0; behind < 2; behind++) {
        select_frames(space, frames, unwritten, behind, H5S_SELECT_SET);
        cr_assert(H5Pset_virtual(list, space, ".", "/frames", space) >= 0);
    }
    H5Gclose(root);
    H5Sclose(space);
}

void ts_scan_file_frames(hid_t group, const char *name, hsize_t frames,
                         const struct scan_storage *storage)
{
    const hsize_t n[3] = {frames, SCAN_ROWS, SCAN_COLUMNS};
    double values[SCAN_FRAMES * SCAN_ROWS * SCAN_COLUMNS];
    const hid_t space = H5Screate_simple(3, n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t i = 0; i < frames * SCAN_ROWS * SCAN_COLUMNS; i++)
        values[i] = (double)(100 * (i / (SCAN_ROWS * SCAN_COLUMNS)) +
                             10 * (i / SCAN_COLUMNS % SCAN_ROWS) + i % SCAN_COLUMNS);
    if (storage && storage->chunk[0]) {
        H5Pset_chunk(list, 3, storage->chunk);
        if (storage->fletcher32_first)
            H5Pset_fletcher32(list);
        if (storage->shuffle)
            H5Pset_shuffle(list);
        if (storage->deflate)
            H5Pset_deflate(list, 4);
        if (storage->fletcher32)
            H5Pset_fletcher32(list);
    }
    if (storage && storage->elsewhere) {
        map_frames(group, list, frames, storage->unwritten);
    } else if (storage && storage->unwritten > 0) {
        select_frames(space, frames, storage->unwritten, false, H5S_SELECT_SET);
        select_frames(space, frames, storage->unwritten, true, H5S_SELECT_OR);
    }
    const hid_t dataset = H5Dcreate2(group, name, storage ? storage->type : H5T_STD_U16LE, space,
                                     H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(dataset >= 0);
    if (!storage || !storage->elsewhere)
        cr_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, space, space, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
}

hid_t ts_scan_file_exchange(const struct scan_storage *storage, int n_theta, const double *theta)
{
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = ts_scan_file_group(file, "exchange", NULL);
    ts_scan_file_frames(group, "data", SCAN_FRAMES, storage);
    ts_scan_file_frames(group, "data_white", 2, storage);
    if (n_theta)
        ts_scan_file_numbers(group, "theta", n_theta, theta, NULL);
    H5Gclose(group);
    return file;
}

void ts_scan_file_give(struct param_set *set, const char *name)
{
    size_t i;
    if (name && ts_param_find(set->params, set->n_params, name, &i))
        set->given |= UINT32_C(1) << i;
}

struct param_set ts_scan_file_hdf5(struct hdf5_params *values, const char *const axes[3],
                                   double stop)
{
    struct param_set set = {.params = hdf5_format.params,
                            .n_params = hdf5_format.n_params,
                            .values = values,
                            .owner = "input"};
    bool is_volume = true;
    *values = (struct hdf5_params){0};
    ts_params_init(&set);
    values->hdf5 = ts_scan_file.path;
    values->path = "/exchange/data";
    values->axes = (struct ts_texts){3, axes};
    values->theta_stop = stop;
    for (int i = 0; i < 3; i++)
        is_volume = is_volume && strcmp(axes[i], "view");
    if (!is_volume) {
        ts_scan_file_give(&set, "theta_start");
        ts_scan_file_give(&set, "theta_stop");
    }
    return set;
}

void ts_scan_file_check(struct source *source, const int *frames, int64_t n_rows)
{
    const struct ts_image *image = &source->image;
    const size_t count = ts_image_count(image);
    unsigned char *data = malloc(ts_image_bytes(image));
    double *values = malloc(count * sizeof *values);
    for (int64_t z = 0; z < source->n_slices; z += n_rows) {
        const int64_t n = source->n_slices - z < n_rows ? source->n_slices - z : n_rows;
        cr_assert_eq(source->ops->read(source, z, n, data + (size_t)z * ts_slice_bytes(image),
                                       ts_scan_file.diag),
                     TS_OK);
    }
    ts_load_f64(values, data, image->dtype, count);
    for (int64_t z = 0; z < SCAN_ROWS; z++)
        for (int64_t v = 0; v < image->axes[1].n; v++)
            for (int64_t c = 0; c < SCAN_COLUMNS; c++)
                cr_assert_eq(values[(z * image->axes[1].n + v) * SCAN_COLUMNS + c],
                             (double)(100 * frames[v] + 10 * z + c), "row %d, view %d, column %d",
                             (int)z, (int)v, (int)c);
    free(values);
    free(data);
}
