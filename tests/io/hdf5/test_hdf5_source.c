/* SPDX-License-Identifier: Apache-2.0
 *
 * Any dataset with three axes of an HDF5 file as a source.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/scan/hdf5_source.h"
#include "io/source/angle_unit.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"

TestSuite(hdf5_source, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

/* The file's axes are (7, 3, 5); each order of names puts value 100 i + 10 j + k where its names
 * say. */
Test(hdf5_source, takes_every_order_of_axes)
{
    static const char *const names[2][3] = {{"z", "view", "detector"}, {"z", "y", "x"}};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int n[3] = {SCAN_FRAMES, SCAN_ROWS, SCAN_COLUMNS}, weights[3] = {100, 10, 1};
    static const double spacing[3] = {2, 3, 4};
    const struct scan_storage storages[] = {
        {.type = H5T_STD_I16BE}, {.type = H5T_IEEE_F32LE, .chunk = {2, 2, 4}, .deflate = true}};
    for (int kind = 0; kind < 24; kind++) {
        const bool volume = kind % 2;
        const int *order = orders[kind / 4];
        const char *axes[3];
        struct hdf5_params values;
        struct source *source;
        H5Fclose(ts_scan_file_exchange(&storages[kind / 2 % 2], 0, NULL));
        for (int d = 0; d < 3; d++)
            axes[order[d]] = names[volume][d];
        const struct param_set set = ts_scan_file_hdf5(&values, axes, 180);
        values.spacing = (struct ts_numbers){1, volume ? 3 : 2, spacing};
        cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK, "kind %d", kind);
        const struct ts_image *image = &source->image;
        cr_assert_eq(image->axes[1].kind, volume ? TS_AXIS_Y : TS_AXIS_VIEW);
        cr_assert(image->axes[0].spacing == 2 && image->axes[2].spacing == (volume ? 4 : 3));
        cr_assert(volume ? image->axes[1].spacing == 3 && !image->axes[1].positions
                         : image->axes[1].positions[1] == 180.0 / (double)image->axes[1].n);
        void *data = ts_test_read_all(source, ts_scan_file.diag);
        double found[SCAN_FRAMES * SCAN_ROWS * SCAN_COLUMNS];
        ts_load_f64(found, data, image->dtype, ts_image_count(image));
        const double *next = found;
        for (int i = 0; i < n[order[0]]; i++)
            for (int j = 0; j < n[order[1]]; j++)
                for (int k = 0; k < n[order[2]]; k++)
                    cr_assert_eq(*next++, i * weights[order[0]] + j * weights[order[1]] +
                                              k * weights[order[2]]);
        free(data);
        source->ops->close(source);
    }
}

/* Names of axes that the file states are compared with the order in which the dataset is read. */
Test(hdf5_source, axes_of_another_order_are_warned_of)
{
    static const struct {
        const char *where, *stated[3], *read[3];
        bool warned;
    } rows[] = {{"group", {"z", "y", "x"}, {"z", "y", "x"}, false},
                {"group", {"x", "y", "z"}, {"z", "y", "x"}, true},
                {"group", {"X", "Y", "Z"}, {"z", "y", "x"}, true},
                {"group", {".", "y", "x"}, {"z", "y", "x"}, false},
                {"group", {"a", "b", "c"}, {"z", "y", "x"}, false},
                {"labels", {"z", "y", "x"}, {"z", "y", "x"}, false},
                {"labels", {"y", "z", "x"}, {"z", "y", "x"}, true},
                {"axes", {"x:y:z"}, {"x", "y", "z"}, false},
                {"axes", {"x:y:z"}, {"z", "y", "x"}, true},
                {"axes", {"z"}, {"z", "y", "x"}, false},
                {"group", {"rotation_angle", "y", "x"}, {"view", "z", "detector"}, false},
                {"group", {"y", "rotation_angle", "x"}, {"view", "z", "detector"}, true},
                {"group", {"theta", "x", "y"}, {"view", "z", "detector"}, true},
                {"group", {"z", "y", "x"}, {"view", "z", "detector"}, false},
                {"group", {"frame", "row", "column"}, {"frame", "z", "detector"}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hid_t file = ts_scan_file_exchange(NULL, 0, NULL),
                    group = H5Gopen2(file, "/exchange", 0), data = H5Dopen2(group, "data", 0),
                    at = *rows[i].where == 'g' ? group : data;
        const char *name = *rows[i].where == 'l' ? "DIMENSION_LABELS" : "axes";
        if (H5Aexists(data, "axes") > 0)
            H5Adelete(data, "axes");
        if (at == group)
            ts_scan_file_text(group, "signal", "data");
        if (rows[i].stated[1]) {
            const hsize_t n = 3;
            const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
            H5Tset_size(type, H5T_VARIABLE);
            const hid_t attribute = H5Acreate2(at, name, type, space, 0, 0);
            cr_assert_geq(H5Awrite(attribute, type, rows[i].stated), 0);
            H5Aclose(attribute);
            H5Sclose(space);
            H5Tclose(type);
        } else {
            ts_scan_file_text(at, name, rows[i].stated[0]);
        }
        H5Dclose(data);
        H5Gclose(group);
        H5Fclose(file);
        struct hdf5_params values;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        const struct param_set set = ts_scan_file_hdf5(&values, rows[i].read, 180);
        cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_OK, "row %zu", i);
        size_t warned = 0;
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            warned += !strcmp(ts_diag_get(diag, k)->code, "axes-order");
        cr_expect_eq(warned, rows[i].warned, "row %zu", i);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Datasets of positions, and an attribute of sizes, of a volume (7, 3, 5) or of a scan. */
struct lengths {
    const char *name, *units;
    double step; /* 0: there is no such dataset */
};

static void put_lengths(hid_t group, const struct lengths *of, int n, bool uneven)
{
    double values[SCAN_FRAMES];
    for (int i = 0; i < n; i++)
        values[i] = 3 + of->step * (uneven && i == n - 1 ? i + 1 : i);
    if (of->step != 0)
        ts_scan_file_numbers(group, of->name, n, values, of->units);
}

Test(hdf5_source, lengths_of_the_file_are_used_or_compared)
{
    static const double as_file[] = {0.3, 0.2, 0.1}, other[] = {0.3, 0.2, 0.11};
    static const struct {
        struct lengths lengths[3];
        const char *attribute;
        double sizes[3];
        const double *given;
        bool uneven;
        double spacing[3];
        const char *code, *text;
    } rows[] = {
        {{{"z", "mm", 0.3}, {"y", "mm", 0.2}, {"x", "mm", 0.1}}, .spacing = {0.3, 0.2, 0.1}},
        {{{"z", "um", 300}, {"y", "um", 200}, {"x", "cm", 0.01}}, .spacing = {0.3, 0.2, 0.1}},
        {{{"z", "mm", 0.3}, {"y", "mm", 0.2}, {"x", "mm", 0.1}},
         .given = as_file,
         .spacing = {0.3, 0.2, 0.1}},
        {{{"z", "mm", 0.3}, {"y", "mm", 0.2}, {"x", "mm", 0.1}},
         .given = other,
         .spacing = {0.3, 0.2, 0.11},
         .code = "pixel-size-differs",
         .text = "neighbors along x are 0.1 mm apart, and `spacing` that they are 0.11 mm"},
        {{{"z", "mm", 0.3}, {"y", "mm", -0.2}, {"x", "mm", 0.1}},
         .spacing = {0.3, 0.2, 0.1}}, /* as results without a place have it */
        {{{"z", "mm", -0.3}, {"y", "mm", 0.2}, {"x", "mm", 0.1}},
         .spacing = {0.3, 0.2, 0.1},
         .code = "field-unused",
         .text = "z falls from"},
        {{{"z", "mm", 0.3}, {"y", "mm", 0.2}, {"x", "mm", -0.1}},
         .given = as_file,
         .spacing = {0.3, 0.2, 0.1},
         .code = "field-unused",
         .text = "x falls from"},
        {{{"x", "mm", 0.1}}, .code = "field-unused", .text = "x gives lengths along some axes"},
        {{{"y", "um", 200}}, .given = other, .spacing = {0.3, 0.2, 0.11}, .code = NULL},
        {{{"z", NULL, 0.3}, {"y", NULL, 0.2}, {"x", NULL, 0.1}}, .code = NULL},
        {{{"z", "s", 0.3}, {"y", NULL, 0.2}}, .code = NULL},
        {{{"x", "mm", 0.1}},
         .uneven = true,
         .code = "field-unused",
         .text = "x has steps that differ"},
        {.attribute = "element_size_um", .sizes = {300, 200, 100}, .spacing = {0.3, 0.2, 0.1}},
        {.attribute = "element_size_mm", .sizes = {0.3, 0.2, 0.1}, .spacing = {0.3, 0.2, 0.1}},
        {.attribute = "Element_Size_UM",
         .sizes = {300, 200, 100},
         .given = other,
         .spacing = {0.3, 0.2, 0.11},
         .code = "pixel-size-differs",
         .text = "the attribute element_size_um says that neighbors along x are 0.1 mm apart"},
        {.attribute = "voxel_size",
         .sizes = {3, 2, 1},
         .code = "field-unused",
         .text = "the attribute voxel_size has no unit that is known"},
        {.attribute = "spacing", .sizes = {1, 1, 1}, .code = NULL},
        {.attribute = "spacing", .sizes = {3, 2, 1}, .given = as_file, .spacing = {0.3, 0.2, 0.1}},
    };
    static const char *const axes[] = {"z", "y", "x"};
    static const int n[3] = {SCAN_FRAMES, SCAN_ROWS, SCAN_COLUMNS};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const hid_t file = ts_scan_file_exchange(NULL, 0, NULL),
                    group = H5Gopen2(file, "/exchange", 0), data = H5Dopen2(group, "data", 0);
        for (int d = 0; d < 3 && rows[i].lengths[d].name; d++)
            put_lengths(group, &rows[i].lengths[d],
                        n[*rows[i].lengths[d].name == 'z'   ? 0
                          : *rows[i].lengths[d].name == 'y' ? 1
                                                            : 2],
                        rows[i].uneven);
        if (rows[i].attribute) {
            const hsize_t three = 3;
            const hid_t space = H5Screate_simple(1, &three, NULL),
                        attribute =
                            H5Acreate2(data, rows[i].attribute, H5T_IEEE_F64LE, space, 0, 0);
            cr_assert_geq(H5Awrite(attribute, H5T_NATIVE_DOUBLE, rows[i].sizes), 0);
            H5Aclose(attribute);
            H5Sclose(space);
        }
        H5Dclose(data);
        H5Gclose(group);
        H5Fclose(file);
        struct hdf5_params values;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        const struct param_set set = ts_scan_file_hdf5(&values, axes, 0);
        if (rows[i].given)
            values.spacing = (struct ts_numbers){1, 3, rows[i].given};
        cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_OK, "row %zu", i);
        for (int d = 0; d < 3; d++) {
            const double spacing = rows[i].spacing[d];
            cr_expect_float_eq(source->image.axes[d].spacing, spacing > 0 ? spacing : 1, 1e-9,
                               "row %zu, axis %d: %g", i, d, source->image.axes[d].spacing);
        }
        cr_expect_eq(ts_diag_count(diag), rows[i].code != NULL, "row %zu", i);
        if (rows[i].code && ts_diag_count(diag) > 0) {
            cr_expect_str_eq(ts_diag_get(diag, 0)->code, rows[i].code);
            cr_expect_not_null(strstr(ts_diag_get(diag, 0)->message, rows[i].text), "%s",
                               ts_diag_get(diag, 0)->message);
        }
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

/* Writes DIMENSION_LIST: the scale of each axis. */
static void put_scales(hid_t data, hid_t group, const char *const names[3])
{
    const hsize_t n = 3;
    const hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ), space = H5Screate_simple(1, &n, NULL),
                attribute = H5Acreate2(data, "DIMENSION_LIST", type, space, 0, 0);
    hobj_ref_t references[3];
    hvl_t lists[3];
    for (int d = 0; d < 3; d++) {
        cr_assert_geq(H5Rcreate(&references[d], group, names[d], H5R_OBJECT, -1), 0);
        lists[d] = (hvl_t){1, &references[d]};
    }
    cr_assert_geq(H5Awrite(attribute, type, lists), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

Test(hdf5_source, dimension_scales_give_the_spacing)
{
    static const char *const names[3] = {"up", "across", "along"};
    static const char *const axes[][3] = {
        {"z", "y", "x"}, {"x", "y", "z"}, {"view", "z", "detector"}, {"z", "frame", "detector"}};
    static const double steps[3] = {0.3, 0.2, 0.1};
    for (size_t i = 0; i < 4; i++) {
        const hid_t file = ts_scan_file_exchange(NULL, 0, NULL),
                    group = H5Gopen2(file, "/exchange", 0), data = H5Dopen2(group, "data", 0),
                    scales = H5Gcreate2(file, "scales", 0, 0, 0);
        put_lengths(scales, &(struct lengths){names[0], "mm", 0.3}, SCAN_FRAMES, false);
        put_lengths(scales, &(struct lengths){names[1], "mm", 0.2}, SCAN_ROWS, false);
        put_lengths(scales, &(struct lengths){names[2], "mm", 0.1}, SCAN_COLUMNS, false);
        put_scales(data, scales, names);
        H5Gclose(scales);
        H5Dclose(data);
        H5Gclose(group);
        H5Fclose(file);
        struct hdf5_params values;
        struct source *source;
        const struct param_set set = ts_scan_file_hdf5(&values, axes[i], 180);
        cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        for (int k = 0; k < 3; k++) {
            const char axis = *axes[i][k];
            const int d = axis == 'z' ? 0 : axis == 'x' || axis == 'd' ? 2 : 1;
            if (axis != 'v' && axis != 'f')
                cr_expect_float_eq(source->image.axes[d].spacing, steps[k], 1e-9, "%zu %d", i, k);
        }
        source->ops->close(source);
    }
}

/* Rows and columns of a scan, whose positions have the names of its axes or those that it lists. */
Test(hdf5_source, lengths_of_a_scan_are_used)
{
    static const char *const axes[2][3] = {{"view", "z", "detector"}, {"frame", "z", "detector"}};
    static const char *const names[][2] = {{"z", "detector"}, {"y", "x"}, {"height", "across"}};
    for (size_t i = 0; i < 6; i++) {
        const hid_t file = ts_scan_file_exchange(NULL, 0, NULL),
                    group = H5Gopen2(file, "/exchange", 0);
        put_lengths(group, &(struct lengths){names[i / 2][0], "um", 2}, SCAN_ROWS, false);
        put_lengths(group, &(struct lengths){names[i / 2][1], "um", 5}, SCAN_COLUMNS, false);
        if (i / 2 == 2)
            ts_scan_file_text(group, "axes", "theta:height:across");
        H5Gclose(group);
        H5Fclose(file);
        struct hdf5_params values;
        struct source *source;
        const struct param_set set = ts_scan_file_hdf5(&values, axes[i % 2], 180);
        cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        cr_expect_float_eq(source->image.axes[0].spacing, 0.002, 1e-12);
        cr_expect_float_eq(source->image.axes[2].spacing, 0.005, 1e-12);
        source->ops->close(source);
    }
}

/* Doubles are read as floats, and those that change are counted; integers stay what they are. */
Test(hdf5_source, values_that_no_float_holds_are_counted)
{
    enum { VALUES = SCAN_FRAMES * SCAN_ROWS * SCAN_COLUMNS };
    double doubles[VALUES], most = 0;
    for (int i = 0; i < VALUES; i++) {
        doubles[i] = i % 2 ? 0.25 * i : 0.1 + i; /* every second one has a float */
        most = fmax(most, fabs((double)(float)doubles[i] - doubles[i]));
    }

    const struct scan_storage storages[] = {
        {.type = H5T_IEEE_F64LE}, {.type = H5T_IEEE_F32LE}, {.type = H5T_STD_I32LE}};
    const char *axes[] = {"z", "y", "x"};
    for (size_t i = 0; i < sizeof storages / sizeof *storages; i++) {
        struct hdf5_params values;
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        const hid_t file = ts_scan_file_exchange(&storages[i], 0, NULL),
                    data = H5Dopen2(file, "/exchange/data", 0);
        cr_assert_geq(H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, doubles), 0);
        H5Dclose(data);
        H5Fclose(file);
        const struct param_set set = ts_scan_file_hdf5(&values, axes, 180);
        cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_OK);
        cr_expect_eq(source->image.dtype, i < 2 ? TS_F32 : TS_I32);
        for (int time = 0; time < 2; time++) {
            free(ts_test_read_all(source, diag));
            ts_test_expect_rounding(source, i == 0 ? ROUNDING_SOME : 0, i == 0 ? most : 0);
        }
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(hdf5_source, refuses_with_its_own_words)
{
    const char *axes[] = {"z", "y", "y"}, *good_axes[] = {"view", "z", "detector"};
    static const double theta[2] = {0, 1};
    struct hdf5_params values = {0};
    struct param_set set = {.params = hdf5_format.params,
                            .n_params = hdf5_format.n_params,
                            .values = &values,
                            .owner = "input"};
    struct source *source;
    ts_params_init(&set);
    H5Fclose(ts_scan_file_exchange(NULL, 2, theta));
    values.hdf5 = ts_scan_file.path;
    values.path = "/exchange/none";
    values.axes = (struct ts_texts){3, axes};
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_CHAIN);
    ts_test_expect(ts_scan_file.diag, "axes-names", "neither z, y and x nor z, view and detector");
    values.axes = (struct ts_texts){3, good_axes};
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-no-dataset", "there is no /exchange/none");
    values.path = "/exchange/data";
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_CHAIN);
    ts_test_expect(ts_scan_file.diag, "angles-missing", "a sinogram needs angles");
    values.angles = "/exchange/theta";
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "angle-count", "/exchange/theta has 2 angles, expected 7");
    values.path = "/exchange/theta";
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-rank", "has 1 axes, expected 3");
    static const double three[] = {1, 2, 3};
    values.path = "/exchange/data";
    values.spacing = (struct ts_numbers){.rows = 1, .columns = 3, .values = three};
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_CHAIN);
    ts_test_expect(ts_scan_file.diag, "spacing-count", "3 numbers, expected 2");
}

/* Flats and darks: their views are numbered, and angles are refused. */
Test(hdf5_source, frames_need_no_angles)
{
    static const char *const axes[] = {"frame", "z", "detector"};
    struct hdf5_params values;
    struct source *source;
    struct param_set set = ts_scan_file_hdf5(&values, axes, 180);
    ts_scan_file_give(&set, "theta_start");
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_CHAIN);
    ts_test_expect(ts_scan_file.diag, "angles-missing", "frames have no angles");
    ts_diag_clear(ts_scan_file.diag);
    set.given = 0;
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    const struct ts_axis *view = &source->image.axes[1];
    cr_assert(view->kind == TS_AXIS_VIEW && view->n == SCAN_FRAMES && view->positions[6] == 6);
    cr_assert_str_eq(view->unit, "");
    source->ops->close(source);
}

/* That holds for the chain's own range too, unless the chain states the unit. */
Test(hdf5_source, a_range_that_looks_like_radians_is_refused)
{
    static const char *const axes[] = {"view", "z", "detector"};
    struct hdf5_params values;
    struct source *source;
    struct param_set set = ts_scan_file_hdf5(&values, axes, 3.14159265358979);
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_BAD_CHAIN);
    ts_test_expect(ts_scan_file.diag, "angle-unit",
                   "7 views from 0 to 3.14159 degrees are what half a turn");
    cr_assert(strstr(ts_diag_get(ts_scan_file.diag, 0)->hint, "angle_unit: radian"));
    values.angle_unit = ANGLE_UNIT_RADIAN;
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert_float_eq(source->image.axes[1].positions[6], 180.0 / 7 * 6, 1e-9);
    source->ops->close(source);
}

/* Angles are in the unit that they name, in degrees where they name none, and in that of the chain
 * whatever they name. */
Test(hdf5_source, angles_are_in_the_unit_that_they_name)
{
    static const char *const axes[] = {"view", "z", "detector"};
    static const double theta[SCAN_FRAMES] = {0, 0.1, 0.2, 0.5, 1, 1.5, 2};
    static const struct {
        const char *units;
        enum angle_unit asked;
        double factor;
    } rows[] = {{NULL, ANGLE_UNIT_FILE, 1},
                {"degrees", ANGLE_UNIT_FILE, 1},
                {"rad", ANGLE_UNIT_FILE, 57.29577951308232},
                {"rad", ANGLE_UNIT_DEGREE, 1},
                {NULL, ANGLE_UNIT_RADIAN, 57.29577951308232},
                {"gon", ANGLE_UNIT_FILE, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hdf5_params values;
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, 0, NULL);
        ts_scan_file_numbers(file, "theta", SCAN_FRAMES, theta, rows[i].units);
        H5Fclose(file);
        struct param_set set = ts_scan_file_hdf5(&values, axes, 180);
        set.given = 0;
        values.angles = "/theta";
        values.angle_unit = rows[i].asked;
        const enum ts_status status = hdf5_format.open(&set, &source, ts_scan_file.diag);
        if (rows[i].factor == 0) {
            cr_assert_eq(status, TS_BAD_INPUT);
            ts_test_expect(ts_scan_file.diag, "angle-unit",
                           "the unit of /theta is gon, expected degree or radian");
            continue;
        }
        cr_assert_eq(status, TS_OK, "row %zu", i);
        cr_assert_float_eq(source->image.axes[1].positions[6], 2 * rows[i].factor, 1e-12);
        source->ops->close(source);
    }
}

Test(hdf5_source, degrees_that_are_called_radians_are_refused)
{
    static const char *const axes[] = {"view", "z", "detector"};
    static const double theta[SCAN_FRAMES] = {0, 29.75, 59.5, 89.25, 119, 148.75, 178.5};
    static const enum angle_unit asked[] = {ANGLE_UNIT_FILE, ANGLE_UNIT_DEGREE, ANGLE_UNIT_RADIAN};
    for (int i = 0; i < 3; i++) {
        struct hdf5_params values;
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, 0, NULL);
        ts_scan_file_numbers(file, "theta", SCAN_FRAMES, theta, "rad");
        H5Fclose(file);
        struct param_set set = ts_scan_file_hdf5(&values, axes, 180);
        set.given = 0;
        values.angles = "/theta";
        values.angle_unit = asked[i];
        cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), i ? TS_OK : TS_BAD_INPUT,
                     "row %d", i);
        if (i == 0)
            ts_test_expect(ts_scan_file.diag, "angle-turns", "28.41 turns");
        else if (i == 2)
            ts_test_expect_warning(ts_scan_file.diag, "angle-turns", "28.41 turns");
        if (source)
            source->ops->close(source);
    }
}
