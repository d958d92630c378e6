/* SPDX-License-Identifier: Apache-2.0
 *
 * The output file as others see it: values and attributes through plain HDF5 calls, bytes as cmp
 * sees them.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/image.h"
#include "io/file/file_commit.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/hdf5/hdf5_write.h"
#include "io/scan/hdf5_info.h"
#include "tests/files/output_fixture.h"
#include "tests/support/stage_check.h"
#include "tests/support/support.h"

static hid_t native_type(enum ts_dtype dtype)
{
    const hid_t types[] = {H5T_NATIVE_UINT8, H5T_NATIVE_INT8,   H5T_NATIVE_UINT16,
                           H5T_NATIVE_INT16, H5T_NATIVE_UINT32, H5T_NATIVE_INT32,
                           H5T_NATIVE_FLOAT, H5T_NATIVE_UINT64, H5T_NATIVE_DOUBLE};
    return types[dtype];
}

static void expect_values(hid_t file, const char *path, const struct ts_image *image)
{
    size_t bytes = ts_image_bytes(image);
    unsigned char *found = malloc(bytes);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    cr_assert_geq(dataset, 0, "%s", path);
    hid_t space = H5Dget_space(dataset);
    hsize_t n[TS_MAX_RANK];
    cr_assert_eq(H5Sget_simple_extent_dims(space, n, NULL), image->rank);
    for (int d = 0; d < image->rank; d++)
        cr_assert_eq((int64_t)n[d], image->axes[d].n);
    memset(found, 0xA5, bytes);
    cr_assert_geq(H5Dread(dataset, native_type(image->dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, found),
                  0, "%s", path);
    cr_assert_eq(memcmp(found, image->data, bytes), 0, "%s differs", path);
    H5Sclose(space);
    H5Dclose(dataset);
    free(found);
}

static void expect_filters(hid_t file, const char *path, int level, size_t width)
{
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), list = H5Dget_create_plist(dataset);
    H5Z_filter_t expected[3];
    int n = 0;
    if (level > 0 && width > 1)
        expected[n++] = H5Z_FILTER_SHUFFLE;
    if (level > 0)
        expected[n++] = H5Z_FILTER_DEFLATE;
    expected[n++] = H5Z_FILTER_FLETCHER32;
    cr_assert_eq(H5Pget_nfilters(list), n);
    for (int i = 0; i < n; i++) {
        size_t values = 0;
        unsigned flags, config;
        cr_assert_eq(H5Pget_filter2(list, (unsigned)i, &flags, &values, NULL, 0, NULL, &config),
                     expected[i]);
    }
    H5Pclose(list);
    H5Dclose(dataset);
}

static void round_trip(const char *path, const struct ts_image *image, int level, int64_t slab)
{
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = level, .threads = 2, .force = true};
    struct hdf5_writer *writer;
    int id;
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    cr_assert_eq(ts_hdf5_image(writer, "/data", image, &id), TS_OK);
    struct ts_image slices = *image;
    if (image->rank == TS_MAX_RANK) { /* volumes, which come slice by slice */
        slices.rank = TS_MAX_RANK - 1;
        memmove(slices.axes, image->axes + 1,
                sizeof *slices.axes * TS_MAX_RANK - sizeof *slices.axes);
        slices.axes[0].n *= image->axes[0].n;
    }
    for (int64_t z = 0; z < slices.axes[0].n; z += slab) {
        int64_t left = slices.axes[0].n - z;
        struct ts_image part = ts_image_slices(&slices, z, left < slab ? left : slab);
        cr_assert_eq(ts_hdf5_write(writer, id, &part), TS_OK);
    }
    cr_assert_eq(ts_hdf5_commit(writer), TS_OK, "%s",
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_geq(file, 0);
    expect_values(file, "/data/data", image);
    expect_filters(file, "/data/data", level, ts_dtype_bytes(image->dtype));
    H5Fclose(file);
    ts_diag_destroy(diag);
}

Test(hdf5, plain_hdf5_reads_back_every_dtype_and_shape, .timeout = 900)
{
    static const struct {
        int rank;
        int64_t n[TS_MAX_RANK];
    } shapes[] = {{3, {1, 1, 1}},
                  {3, {1, 1, 7}},
                  {3, {3, 5, 7}},
                  {3, {13, 17, 19}},
                  {3, {41, 211, 199}},
                  {3, {97, 1, 1}},
                  {1, {5}},
                  {2, {7, 256}},
                  {4, {2, 3, 5, 7}},
                  {1, {3000017}},
                  {3, {2, 1499, 1999}},
                  {2, {3, 2200003}},
                  {4, {3, 2, 701, 809}}};
    char folder[256], path[300];
    int n_cases = 0;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int dtype = TS_U8; dtype <= TS_F64; dtype++) {
            struct ts_image image =
                ts_test_output_image(shapes[s].rank, shapes[s].n, dtype, 100 * s + (uint64_t)dtype);
            bool large = ts_image_bytes(&image) > (1u << 20);
            const bool usual =
                dtype == TS_I16 ||
                (!ts_test_few() && (dtype == TS_U8 || dtype == TS_F32 || dtype == TS_F64));
            if (large && !usual) {
                free(image.data);
                continue;
            }
            for (int level = large ? 1 : 0; level <= (large ? 1 : 9); level += 3, n_cases++)
                round_trip(path, &image, level, 1 + (int64_t)s % 3);
            free(image.data);
        }
    cr_assert_gt(n_cases, 200);
    ts_test_remove_folder(folder);
}

static void expect_same_bytes(const char *path, const struct output_content *content, int level)
{
    const int64_t slabs[] = {1, 2, 7, content->first.axes[0].n};
    const int threads[] = {1, 2, 7};
    struct ts_diag *diag = ts_diag_create();
    unsigned char *expected = NULL;
    size_t expected_bytes = 0;
    for (size_t t = 0; t < 3; t++)
        for (size_t s = 0; s < 4; s++) {
            struct hdf5_options options = {.level = level, .threads = threads[t], .force = true};
            cr_assert_eq(ts_test_write_output(path, &options, content, slabs[s], diag), TS_OK);
            size_t bytes;
            unsigned char *data = ts_test_read_file(path, &bytes);
            if (!expected) {
                expected = data;
                expected_bytes = bytes;
                continue;
            }
            cr_assert_eq(bytes, expected_bytes, "%d threads, slabs of %d", threads[t],
                         (int)slabs[s]);
            cr_assert_eq(memcmp(data, expected, bytes), 0, "%d threads, slabs of %d", threads[t],
                         (int)slabs[s]);
            free(data);
        }
    free(expected);
    ts_diag_destroy(diag);
}

Test(hdf5, bytes_depend_on_neither_threads_nor_slabs, .timeout = 900)
{
    struct output_content content = ts_test_content(23, 300, 411);
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (int level = 0; level <= 1; level++)
        expect_same_bytes(path, &content, level);
    cr_assert_eq(ts_test_count_files(folder, NULL), 1);
    ts_test_content_clear(&content);
    ts_test_remove_folder(folder);
}

static void expect_text(hid_t file, const char *object, const char *name, const char *expected)
{
    char found[256] = "";
    hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(attribute, 0, "%s@%s", object, name);
    hid_t type = H5Aget_type(attribute);
    cr_assert_lt(H5Tget_size(type), sizeof found);
    cr_assert_geq(H5Aread(attribute, type, found), 0);
    cr_assert_str_eq(found, expected, "%s@%s is '%s'", object, name, found);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void expect_axes(hid_t file)
{
    char names[3][8];
    hid_t attribute = H5Aopen_by_name(file, "/entry/data", "axes", H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    cr_assert_eq(H5Tget_size(type), sizeof *names);
    cr_assert_geq(H5Aread(attribute, type, names), 0);
    cr_expect(!memcmp(names[0], "z\0", 2) && !memcmp(names[1], "anterior", 8) &&
              !memcmp(names[2], "x\0", 2));
    H5Tclose(type);
    H5Aclose(attribute);
}

static bool holds_text(hid_t file, const char *object, const char *name, const char *part)
{
    char found[512] = "";
    hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(attribute, 0, "%s@%s", object, name);
    hid_t type = H5Aget_type(attribute);
    cr_assert_lt(H5Tget_size(type), sizeof found);
    cr_assert_geq(H5Aread(attribute, type, found), 0);
    H5Tclose(type);
    H5Aclose(attribute);
    return strstr(found, part);
}

static void expect_number(hid_t file, const char *object, const char *name, int expected)
{
    int found = -1;
    hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Aread(attribute, H5T_NATIVE_INT, &found), 0);
    cr_assert_eq(found, expected, "%s@%s", object, name);
    H5Aclose(attribute);
}

/* Expects positions from `first` on. */
static void expect_axis(hid_t file, const char *path, const struct ts_axis *axis, double first,
                        double step)
{
    double *found = malloc((size_t)axis->n * sizeof *found);
    hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT);
    cr_assert_geq(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, found), 0);
    for (int64_t i = 0; i < axis->n; i++)
        cr_assert(fabs(found[i] - (first + (double)i * step)) <= 1e-12, "%s[%d] is %g", path,
                  (int)i, found[i]);
    H5Dclose(dataset);
    expect_text(file, path, "units", axis->unit);
    free(found);
}

Test(hdf5, layout_is_nexus)
{
    struct output_content content = ts_test_content(5, 7, 9);
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = 6, .threads = 1};
    char folder[256], path[300], command[256];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    cr_assert_eq(ts_test_write_output(path, &options, &content, 2, diag), TS_OK);
    struct stat status;
    cr_assert_eq(stat(path, &status), 0);
    mode_t mask = umask(0);
    umask(mask);
    cr_assert_eq(status.st_mode & 0777, 0666 & ~mask);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    expect_values(file, "/entry/data/data", &content.first);
    expect_values(file, "/entry/other/data", &content.second);
    expect_text(file, "/", "NX_class", "NXroot");
    expect_text(file, "/", "default", "entry");
    expect_text(file, "/entry", "NX_class", "NXentry");
    expect_text(file, "/entry", "default", "data");
    expect_text(file, "/entry/data", "NX_class", "NXdata");
    expect_text(file, "/entry/data", "signal", "data");
    expect_axes(file); /* viewers draw upwards: the front of the patient is at the top */
    expect_text(file, "/entry/data/data", "units", "HU");
    expect_text(file, "/entry/data/data", "quantity", "hu");
    expect_text(file, "/entry/data/data", "long_name", "CT number (HU)");
    expect_number(file, "/entry/data", "z_indices", 0);
    expect_number(file, "/entry/data", "y_indices", 1);
    expect_number(file, "/entry/data", "anterior_indices", 1);
    expect_text(file, "/entry/data/data", "coordinates", "anterior");
    expect_number(file, "/entry/data", "x_indices", 2);
    expect_number(file, "/entry/process", "count", 17);
    expect_number(file, "/", "complete", 1);
    expect_axis(file, "/entry/data/z", &content.first.axes[0], 3.5, 0.5);
    expect_axis(file, "/entry/data/y", &content.first.axes[1], 2, 1.5);
    expect_axis(file, "/entry/data/x", &content.first.axes[2], -1, 2.5);
    cr_assert_gt(H5Aexists_by_name(file, "/entry/data", "origin_mm", H5P_DEFAULT), 0);
    cr_assert(holds_text(file, "/entry/data", "geometry_convention",
                         "origin is the center of voxel (0,0,0)"));
    cr_assert_gt(H5Aexists_by_name(file, "/entry/process/texts", "sha256_tree", H5P_DEFAULT), 0);
    H5Fclose(file);
    if (system("command -v h5dump > /dev/null 2>&1") == 0) {
        snprintf(command, sizeof command, "h5dump '%s' > /dev/null 2> /dev/null", path);
        cr_assert_eq(system(command), 0);
    } else {
        fprintf(stderr, "SKIPPED hdf5/layout_is_nexus, its h5dump part: h5dump is not installed\n");
    }
    ts_test_content_clear(&content);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* The origin is (-1, 2, 3.5), and spacings along z, y and x are 0.5, 1.5 and 2.5. Along a patient
   axis positions are its coordinates; along another direction they rise towards L, P or S. */
Test(hdf5, positions_are_those_in_the_patient)
{
    static const struct {
        bool no_place;
        const char *unit;
        double direction[9];      /* of x, y, z */
        double first[3], step[3]; /* of z, y, x */
    } cases[] = {
        {false, "mm", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {3.5, 2, -1}, {0.5, 1.5, 2.5}},
        {false, "mm", {-1, 0, 0, 0, -1, 0, 0, 0, 1}, {3.5, 2, -1}, {0.5, -1.5, -2.5}},
        {false, "mm", {1, 0, 0, 0, 0, -1, 0, 1, 0}, {2, 3.5, -1}, {0.5, -1.5, 2.5}}, /* coronal */
        {false,
         "mm",
         {0, 1, 0, 0, 0, -1, -1, 0, 0},
         {-1, 3.5, 2},
         {-0.5, -1.5, 2.5}}, /* sagittal */
        {false, "mm", {0.6, 0.8, 0, -0.8, 0.6, 0, 0, 0, 1}, {3.5, -2, 1}, {0.5, -1.5, 2.5}},
        {false, "mm", {-0.8, 0.6, 0, -0.6, -0.8, 0, 0, 0, 1}, {3.5, 1, -2}, {0.5, -1.5, -2.5}},
        {true, "mm", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {-7, 7, -7}, {0.5, -1.5, 2.5}},
        {false, "pixel", {1, 0, 0, 0, 1, 0, 0, 0, 1}, {-7, 7, -7}, {0.5, -1.5, 2.5}},
    };
    static const char *const axes[] = {"/entry/data/z", "/entry/data/y", "/entry/data/x"};
    struct hdf5_options options = {.level = 1, .threads = 1, .force = true};
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct output_content content = ts_test_content(3, 5, 7);
        content.first.has_geometry = !cases[i].no_place;
        memcpy(content.first.direction, cases[i].direction, sizeof cases[i].direction);
        for (int d = 0; d < 3; d++)
            content.first.axes[d].unit = cases[i].unit;
        cr_assert_eq(ts_test_write_output(path, &options, &content, 3, diag), TS_OK);
        const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        for (int d = 0; d < 3; d++)
            expect_axis(file, axes[d], &content.first.axes[d], cases[i].first[d], cases[i].step[d]);
        H5Fclose(file);
        ts_test_content_clear(&content);
    }
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(hdf5, a_sinogram_says_whose_geometry_it_has)
{
    struct output_content content = ts_test_content(3, 5, 7);
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = 1, .threads = 1};
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    content.first.axes[1].kind = TS_AXIS_VIEW;
    content.first.axes[2].kind = TS_AXIS_DETECTOR;
    cr_assert_eq(ts_test_write_output(path, &options, &content, 3, diag), TS_OK);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    static const char *const parts[] = {
        "of the projected volume", "origin is the rotation center of the first slice",
        "of the volume's rising columns, of rows and of slices", "from one slice to the next"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert(holds_text(file, "/entry/data", "geometry_convention", parts[i]), "%s", parts[i]);
    cr_assert_not(holds_text(file, "/entry/data", "geometry_convention", "voxel"));
    H5Fclose(file);
    ts_test_content_clear(&content);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static double number_at(hid_t file, const char *name)
{
    double value = NAN;
    hid_t attribute = H5Aopen_by_name(file, "/entry/data", name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0) {
        H5Aread(attribute, H5T_NATIVE_DOUBLE, &value);
        H5Aclose(attribute);
    }
    return value;
}

Test(hdf5, a_sinogram_says_how_its_rays_run)
{
    static const char *const names[] = {"parallel", "fan-arc", "fan-flat"};
    for (int kind = TS_BEAM_PARALLEL; kind <= TS_BEAM_FAN_FLAT + 1; kind++) {
        const bool sinogram = kind <= TS_BEAM_FAN_FLAT, fan = sinogram && kind != TS_BEAM_PARALLEL;
        struct output_content content = ts_test_content(2, 5, 7);
        struct ts_diag *diag = ts_diag_create();
        struct hdf5_options options = {.level = 1, .threads = 1};
        char folder[256], path[300];
        ts_test_folder(folder, sizeof folder);
        snprintf(path, sizeof path, "%s/out.h5", folder);
        if (sinogram) {
            content.first.axes[1].kind = TS_AXIS_VIEW;
            content.first.axes[2].kind = TS_AXIS_DETECTOR;
            content.first.beam.kind = (enum ts_beam_kind)kind;
            content.first.beam.source_axis_mm = fan ? 595 : 0;
            content.first.beam.source_detector_mm = fan ? 1085.6 : 0;
        }
        cr_assert_eq(ts_test_write_output(path, &options, &content, 2, diag), TS_OK);
        hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
        cr_assert_eq(H5Aexists_by_name(file, "/entry/data", "beam", H5P_DEFAULT) > 0, sinogram);
        if (sinogram)
            cr_assert(holds_text(file, "/entry/data", "beam", names[kind]));
        cr_assert_eq(H5Aexists_by_name(file, "/entry/data", "source_axis_mm", H5P_DEFAULT) > 0,
                     fan);
        if (fan)
            cr_assert(number_at(file, "source_axis_mm") == 595 &&
                      number_at(file, "source_detector_mm") == 1085.6);
        H5Fclose(file);
        ts_test_content_clear(&content);
        ts_diag_destroy(diag);
        ts_test_remove_folder(folder);
    }
}

Test(hdf5, existing_files_are_kept_unless_forced)
{
    struct output_content content = ts_test_content(3, 4, 5);
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = 6, .threads = 1};
    struct hdf5_writer *writer;
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    cr_assert_eq(ts_file_check(path, false, 1000, diag), TS_OK);
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    FILE *stream = fopen(path, "w"); /* another program is faster */
    fputs("old", stream);
    fclose(stream);
    cr_assert_eq(ts_hdf5_commit(writer), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, "output-exists"));
    ts_diag_clear(diag);
    cr_assert_eq(ts_file_check(path, false, 1000, diag), TS_RUN_FAILED);
    cr_assert(ts_test_has_code(diag, "output-exists"));
    cr_assert_eq(ts_test_write_output(path, &options, &content, 1, diag), TS_RUN_FAILED);
    size_t bytes;
    unsigned char *data = ts_test_read_file(path, &bytes);
    cr_assert_eq(bytes, 3);
    cr_assert_eq(memcmp(data, "old", 3), 0);
    free(data);
    ts_diag_clear(diag);
    options.force = true;
    cr_assert_eq(ts_file_check(path, true, 1000, diag), TS_OK);
    cr_assert_eq(ts_test_write_output(path, &options, &content, 1, diag), TS_OK);
    cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_OK);
    cr_assert_eq(ts_test_count_files(folder, NULL), 1);
    ts_test_content_clear(&content);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(hdf5, misuse_is_an_error_and_leaves_nothing)
{
    struct output_content content = ts_test_content(5, 7, 9);
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = 6, .threads = 2};
    struct ts_image part;
    struct hdf5_writer *writer;
    char folder[256], path[300];
    int id;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    for (int misuse = 0; misuse < 5; misuse++) {
        ts_diag_clear(diag);
        cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
        cr_assert_eq(ts_hdf5_image(writer, "/data", &content.first, &id), TS_OK);
        part = ts_image_slices(&content.first, misuse == 0 ? 1 : 0, 2);
        cr_assert_eq(ts_hdf5_write(writer, id, &part), misuse == 0 ? TS_RUN_FAILED : TS_OK);
        if (misuse == 1)
            cr_assert_eq(ts_hdf5_write(writer, id, &part), TS_RUN_FAILED);
        if (misuse == 2)
            cr_assert_eq(ts_hdf5_text(writer, "/no/such/group", "x"), TS_RUN_FAILED);
        if (misuse == 3)
            cr_assert_eq(ts_hdf5_group(writer, "/data", "NXdata"), TS_RUN_FAILED);
        cr_assert_eq(ts_hdf5_commit(writer), TS_RUN_FAILED); /* misuse 4: slices are missing */
        cr_assert_eq(ts_diag_error_count(diag), 1, "%zu errors after misuse %d",
                     ts_diag_error_count(diag), misuse);
        cr_assert_eq(ts_test_count_files(folder, NULL), 0);
    }
    ts_test_content_clear(&content);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static int64_t status_bytes(const char *field)
{
    char line[128];
    long long kilobytes = -1;
    FILE *stream = fopen("/proc/self/status", "r");
    while (stream && fgets(line, sizeof line, stream))
        if (strncmp(line, field, strlen(field)) == 0)
            sscanf(line + strlen(field), ": %lld", &kilobytes);
    fclose(stream);
    return kilobytes * 1024;
}

Test(hdf5, memory_stays_below_the_promise, .timeout = 900)
{
    const int threads = 5;
    int64_t n[3] = {40, 1024, 1024};
    struct ts_image image = ts_test_output_image(3, n, TS_U16, 5), two = image;
    const struct ts_image images[2] = {image, two};
    struct hdf5_options options = {.level = 1, .threads = threads};
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_writer *writer;
    char folder[256], path[300];
    int id[2];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    int64_t before = status_bytes("VmRSS"),
            promised = (int64_t)ts_hdf5_memory_bytes(images, 2, threads);
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    cr_assert_eq(ts_hdf5_image(writer, "/one", &image, &id[0]), TS_OK);
    cr_assert_eq(ts_hdf5_image(writer, "/two", &two, &id[1]), TS_OK);
    cr_assert_eq(ts_hdf5_write(writer, id[0], &image), TS_OK);
    cr_assert_eq(ts_hdf5_write(writer, id[1], &two), TS_OK);
    cr_assert_eq(ts_hdf5_commit(writer), TS_OK);
    int64_t used = status_bytes("VmHWM") - before;
    fprintf(stderr, "writer: %.1f MB used at most, %.1f MB promised\n", (double)used / 1e6,
            (double)promised / 1e6);
#ifndef TS_SANITIZED /* sanitizers keep freed memory */
    cr_assert_gt(used, 0);
    cr_assert_leq(used, promised);
#endif
    free(image.data);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
