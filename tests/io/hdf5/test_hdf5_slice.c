/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices of files that another program wrote, and pictures of them.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/png.h"
#include "io/hdf5/hdf5_slice.h"
#include "tests/support/program.h"

enum { NZ = 4, NY = 3, NX = 5 };

static char folder[256], path[300];
static struct ts_diag *diag;

static void make_file(void)
{
    static const hsize_t volume[3] = {NZ, NY, NX};
    int16_t values[NZ * NY * NX];
    for (int i = 0; i < NZ * NY * NX; i++)
        values[i] = (int16_t)(i - 10);
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/made.h5", folder);
    diag = ts_diag_create();
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t spaces[2] = {H5Screate_simple(3, volume, NULL), H5Screate_simple(2, volume, NULL)};
    const hid_t plain =
        H5Dcreate2(file, "plain", H5T_STD_I16BE, spaces[0], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t flat =
        H5Dcreate2(file, "flat", H5T_STD_I16LE, spaces[1], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t text =
        H5Dcreate2(file, "text", H5T_C_S1, spaces[0], H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(plain, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    cr_assert(H5Dwrite(flat, H5T_NATIVE_INT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    cr_assert(H5Lcreate_hard(file, "plain", file, "also", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    cr_assert(H5Lcreate_external("/etc/passwd", "/x", file, "outside", H5P_DEFAULT, H5P_DEFAULT) >=
              0);
    H5Dclose(plain);
    H5Dclose(flat);
    H5Dclose(text);
    H5Sclose(spaces[0]);
    H5Sclose(spaces[1]);
    cr_assert(H5Fclose(file) >= 0);
}

static void remove_file(void)
{
    ts_diag_destroy(diag);
    ts_program_folder_remove(folder);
}

TestSuite(hdf5_slice, .init = make_file, .fini = remove_file);

Test(hdf5_slice, what_is_no_hdf5_file_is_called_so)
{
    const char **datasets;
    size_t n;
    struct hdf5_slice slice;
    struct arena *arena = ts_arena_create();
    FILE *stream = fopen(path, "w");
    cr_assert(stream && fputs("nothing of the kind", stream) >= 0 && fclose(stream) == 0);
    cr_assert_eq(ts_hdf5_list_datasets(path, NULL, arena, &datasets, &n, diag), TS_BAD_INPUT);
    cr_assert_eq(ts_hdf5_read_slice(path, "plain", 0, &slice, diag), TS_BAD_INPUT);
    cr_assert_eq(ts_diag_count(diag), 2);
    for (size_t i = 0; i < 2; i++)
        cr_assert(strstr(ts_diag_get(diag, i)->message, "is not an HDF5 file"), "%s",
                  ts_diag_get(diag, i)->message);
    ts_arena_destroy(arena);
}

Test(hdf5_slice, lists_each_volume_once)
{
    const char **datasets;
    size_t n;
    struct arena *arena = ts_arena_create();
    cr_assert_eq(ts_hdf5_list_datasets(path, NULL, arena, &datasets, &n, diag), TS_OK);
    cr_assert_eq(n, 1);
    cr_assert_str_eq(datasets[0], "/also"); /* the first of its names in their order */
    ts_arena_destroy(arena);
}

Test(hdf5_slice, reads_any_slice_in_any_byte_order)
{
    for (int64_t z = -1; z < NZ; z++) {
        struct hdf5_slice slice;
        cr_assert_eq(ts_hdf5_read_slice(path, "/plain", z, &slice, diag), TS_OK);
        cr_assert(slice.n_slices == NZ && slice.rows == NY && slice.columns == NX);
        for (int64_t i = 0; i < NY * NX; i++)
            cr_assert_eq(slice.values[i], (float)((z < 0 ? (NZ - 1) / 2 : z) * NY * NX + i - 10));
        free(slice.values);
    }
}

Test(hdf5_slice, reads_a_picture_as_one_slice)
{
    for (int64_t z = -1; z < 1; z++) {
        struct hdf5_slice slice;
        cr_assert_eq(ts_hdf5_read_slice(path, "/flat", z, &slice, diag), TS_OK);
        cr_assert(slice.is_picture && slice.n_slices == 1 && slice.rows == NZ &&
                  slice.columns == NY);
        for (int64_t i = 0; i < NZ * NY; i++)
            cr_assert_eq(slice.values[i], (float)(i - 10));
        free(slice.values);
    }
}

Test(hdf5_slice, refuses_what_is_not_there)
{
    static const char *const datasets[] = {"/none", "/flat", "/text", "/", "/outside", "/plain"};
    for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++) {
        struct hdf5_slice slice;
        cr_assert_eq(ts_hdf5_read_slice(path, datasets[i], NZ, &slice, diag), TS_BAD_INPUT, "%s",
                     datasets[i]);
        cr_assert_null(slice.values);
    }
    cr_assert_eq(ts_diag_error_count(diag), sizeof datasets / sizeof *datasets);
    cr_assert(strstr(ts_diag_get(diag, 1)->message, "/flat has 1 slices, there is no slice 4"));
    cr_assert(strstr(ts_diag_get(diag, 5)->message, "/plain has 4 slices, there is no slice 4"));
}

/* The library would open other files, which its process cannot. */
Test(hdf5_slice, values_in_other_files_are_refused)
{
    static const hsize_t n[2] = {4, 6};
    struct hdf5_slice slice;
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
                space = H5Screate_simple(2, n, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(list, "/etc/passwd", 0, 24 * 8);
    H5Dclose(H5Dcreate2(file, "elsewhere", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(list, space, "/etc/passwd", "/data", space);
    H5Dclose(H5Dcreate2(file, "virtual", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
    cr_assert_eq(ts_hdf5_read_slice(path, "/elsewhere", 0, &slice, diag), TS_BAD_INPUT);
    cr_assert_eq(ts_hdf5_read_slice(path, "/virtual", 0, &slice, diag), TS_BAD_INPUT);
    cr_assert_eq(ts_diag_count(diag), 2);
    for (size_t i = 0; i < 2; i++)
        cr_assert_str_eq(ts_diag_get(diag, i)->code, "hdf5-elsewhere");
}

/* Several blocks of rows, of several chunks each. */
Test(hdf5_slice, reads_large_slices_in_blocks)
{
    enum { ROWS = 2500, COLUMNS = 2100 };
    static const hsize_t n[2] = {ROWS, COLUMNS}, chunk[2] = {300, 700};
    int32_t *values = malloc(sizeof *values * ROWS * COLUMNS);
    struct hdf5_slice slice;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        values[i] = i;
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT),
                space = H5Screate_simple(2, n, NULL);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, 2, chunk);
    H5Pset_deflate(list, 1);
    const hid_t large =
        H5Dcreate2(file, "large", H5T_STD_I32LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(H5Dwrite(large, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(large);
    H5Pclose(list);
    H5Sclose(space);
    H5Fclose(file);
    cr_assert_eq(ts_hdf5_read_slice(path, "/large", 0, &slice, diag), TS_OK);
    cr_assert(slice.rows == ROWS && slice.columns == COLUMNS);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        cr_assert_eq(slice.values[i], (float)i);
    free(slice.values);
    free(values);
}

Test(hdf5_slice, pictures_hold_their_pixels)
{
    uint8_t pixels[NX * NY], found[NX * NY];
    char picture[300];
    png_image image = {.version = PNG_IMAGE_VERSION};
    for (int i = 0; i < NX * NY; i++)
        pixels[i] = (uint8_t)(17 * i);
    snprintf(picture, sizeof picture, "%s/made.png", folder);
    cr_assert_eq(ts_png_write_gray8(picture, NX, NY, pixels, diag), TS_OK);
    cr_assert(png_image_begin_read_from_file(&image, picture));
    cr_assert(image.width == NX && image.height == NY && image.format == PNG_FORMAT_GRAY);
    cr_assert(png_image_finish_read(&image, NULL, found, 0, NULL));
    cr_assert_arr_eq(found, pixels, sizeof pixels);
    snprintf(picture, sizeof picture, "%s/none/made.png", folder);
    cr_assert_eq(ts_png_write_gray8(picture, NX, NY, pixels, diag), TS_RUN_FAILED);
    cr_assert_eq(ts_png_write_gray8(picture, 0, NY, pixels, diag), TS_RUN_FAILED);
    /* A link to a full device stands for a full disk: the device must still be there. */
    snprintf(picture, sizeof picture, "%s/full.png", folder);
    cr_assert_eq(symlink("/dev/full", picture), 0);
    cr_assert_eq(ts_png_write_gray8(picture, NX, NY, pixels, diag), TS_RUN_FAILED);
    cr_assert_eq(access(picture, F_OK), 0);
}
