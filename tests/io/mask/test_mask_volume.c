/* SPDX-License-Identifier: Apache-2.0
 *
 * Volumes of labels in NRRD, .npy and HDF5 files are read in every order and direction of axes, in
 * every type, on other grids and without any.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/mask_open.h"
#include "tests/files/npy.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/support.h"

enum { NX = FIXTURE_COLUMNS, NY = FIXTURE_ROWS, NZ = FIXTURE_SLICES, N = NX * NY * NZ };

static struct mask_opened opened;
static int32_t labels[N];

static void begin(void)
{
    uint64_t seed = 11;
    ts_mask_begin(&opened, "labels.nrrd");
    for (int i = 0; i < N; i++)
        labels[i] = (int32_t)(ts_random_next(&seed) % 4);
}

static void end(void)
{
    ts_mask_end(&opened);
}

TestSuite(mask_volume, .init = begin, .fini = end);

static const struct {
    const char *name;
    enum ts_dtype stored, read; /* what the file has, and what it is read as */
} types[] = {{"uint8", TS_U8, TS_U8},   {"int16", TS_I16, TS_I16},  {"uint16", TS_U16, TS_U16},
             {"int32", TS_I32, TS_I32}, {"uint32", TS_U32, TS_I32}, {"float", TS_F32, TS_I32}};

/* Writes the labels with axes `order` of the image (0: x) as the file's x, y and z, reversed by the
 * bits of `mirrored`, moved by `shift` mm along x, with `added` to each. */
static void write_labels(const int order[3], int mirrored, size_t type, double shift, double added)
{
    static const double spacing[3] = {0.7, 0.5, 1.3};
    const int n[3] = {NX, NY, NZ};
    const struct ts_image *image = &opened.image->image;
    double origin[3], steps[3][3];
    char *bytes = calloc(1, 4096 + 4 * N);
    for (int d = 0; d < 3; d++) {
        origin[d] = image->origin_mm[d] + shift * image->direction[d];
        for (int k = 0; k < 3; k++) {
            const int a = order[k];
            const double step =
                a == 2 ? image->step_z_mm[d] : image->direction[3 * a + d] * spacing[a];
            steps[k][d] = mirrored >> a & 1 ? -step : step;
            origin[d] += mirrored >> a & 1 ? (n[a] - 1) * step : 0;
        }
    }
    const int head =
        sprintf(bytes,
                "NRRD0004\ntype: %s\ndimension: 3\nsizes: %d %d %d\nendian: little\nencoding: raw\n"
                "space: left-posterior-superior\nspace directions: (%.9g,%.9g,%.9g) "
                "(%.9g,%.9g,%.9g) (%.9g,%.9g,%.9g)\nspace origin: (%.9g,%.9g,%.9g)\n\n",
                types[type].name, n[order[0]], n[order[1]], n[order[2]], steps[0][0], steps[0][1],
                steps[0][2], steps[1][0], steps[1][1], steps[1][2], steps[2][0], steps[2][1],
                steps[2][2], origin[0], origin[1], origin[2]);
    for (int i = 0; i < N; i++) {
        const int at[3] = {i % n[order[0]], i / n[order[0]] % n[order[1]],
                           i / n[order[0]] / n[order[1]]};
        int index[3];
        for (int k = 0; k < 3; k++)
            index[order[k]] = mirrored >> order[k] & 1 ? n[order[k]] - 1 - at[k] : at[k];
        double aligned = 0; /* the values of the file are not */
        const size_t width = ts_dtype_bytes(types[type].stored);
        ts_test_store(&aligned, types[type].stored, 0,
                      labels[(index[2] * NY + index[1]) * NX + index[0]] + added);
        memcpy(bytes + head + (size_t)i * width, &aligned, width);
    }
    ts_volume_write(opened.path, bytes, (size_t)head + N * ts_dtype_bytes(types[type].stored),
                    false);
    free(bytes);
}

Test(mask_volume, axes_in_any_order_and_direction)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++)
        for (int mirrored = 0; mirrored < 8; mirrored++) {
            write_labels(orders[o], mirrored, 0, 0, 0);
            ts_mask_expect(&opened, ", slices: [4, 10]", "", labels + 4 * NX * NY, TS_U8);
            ts_mask_expect(&opened, "", "", labels, TS_U8);
        }
}

Test(mask_volume, types_and_one_label)
{
    static const int order[3] = {0, 1, 2};
    int32_t chosen[N];
    for (int i = 0; i < N; i++)
        chosen[i] = labels[i] == 3;
    for (size_t type = 0; type < sizeof types / sizeof *types; type++) {
        write_labels(order, 0, type, 0, 0);
        ts_mask_expect(&opened, "", "", labels, types[type].read);
        ts_mask_expect(&opened, "", ", segment: 3", chosen, TS_U8);
    }
    ts_mask_refused(&opened, ", segment: liver", "mask-region");
    write_labels(order, 0, 5, 0, 0.5);
    ts_mask_refused(&opened, "", "mask-values");
    write_labels(order, 0, 5, 0, NAN);
    ts_mask_refused(&opened, "", "mask-values");
}

Test(mask_volume, another_grid_is_refused_or_resampled)
{
    static const int order[3] = {0, 1, 2};
    int32_t moved[N];
    write_labels(order, 0, 0, 0.002, 0); /* less than a hundredth of 0.5 mm */
    ts_mask_expect(&opened, "", "", labels, TS_U8);
    write_labels(order, 0, 0, 0.02, 0);
    ts_mask_refused(&opened, "", "mask-grid");
    ts_mask_expect(&opened, "", ", resample: nearest", labels, TS_U8);
    write_labels(order, 0, 0, 0.7 + 0.3, 0); /* by 1.43 voxels */
    for (int i = 0; i < N; i++)
        moved[i] = i % NX == 0 ? 0 : labels[i - 1];
    ts_mask_expect(&opened, "", ", resample: nearest", moved, TS_U8);
}

static void write_hdf5(const char *path, hsize_t nz)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                space = H5Screate_simple(3, (hsize_t[]){nz, NY, NX}, NULL),
                data = H5Dcreate2(file, "mask", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT,
                                  H5P_DEFAULT);
    cr_assert(H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, labels) >= 0);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
}

Test(mask_volume, without_a_geometry_shapes_must_agree)
{
    write_hdf5(opened.path, NZ);
    ts_mask_expect(&opened, "", ", path: /mask", labels, TS_I32);
    cr_assert(ts_test_record(opened.diag, "grid-unknown"));
    ts_mask_expect(&opened, ", slices: [4, 10]", ", path: /mask", labels + 4 * NX * NY, TS_I32);
    write_hdf5(opened.path, NZ - 1);
    ts_mask_refused(&opened, ", path: /mask", "mask-grid");
    char dictionary[128];
    for (int less = 0; less < 2; less++) {
        snprintf(dictionary, sizeof dictionary,
                 "{'descr': '<i4', 'fortran_order': False, 'shape': (%d, %d, %d), }", NZ - less, NY,
                 NX);
        ts_test_npy_write(opened.path, dictionary, labels, sizeof labels);
        if (less)
            ts_mask_refused(&opened, "", "mask-grid");
        else
            ts_mask_expect(&opened, "", "", labels, TS_I32);
    }
}

Test(mask_volume, of_several_volumes_the_hint_names_the_way_to_one)
{
    char dictionary[128];
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '<i4', 'fortran_order': False, 'shape': (2, %d, %d, %d), }", NZ / 2, NY,
             NX);
    ts_test_npy_write(opened.path, dictionary, labels, sizeof *labels * 2 * (NZ / 2) * NY * NX);
    ts_mask_refused(&opened, "", "mask-volumes");
    const struct ts_diag_record *record = ts_test_record(opened.diag, "mask-volumes");
    cr_expect(strstr(record->message, "holds 2 volumes"), "%s", record->message);
    cr_expect(record->hint && strstr(record->hint, "`npy` in place of `mask`"), "%s", record->hint);
}
