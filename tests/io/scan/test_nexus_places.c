/* SPDX-License-Identifier: Apache-2.0
 *
 * What NXtomo files say of where things are: the order of axes, where pixels are, which way the
 * rotation turns and when its angles were taken.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/nexus.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"

TestSuite(nexus_places, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

static struct nexus_params nexus_values;

#define DETECTOR "/entry/instrument/detector"

static void put_numbers(hid_t object, const char *name, int n, const double *values)
{
    const hsize_t size = (hsize_t)n;
    const hid_t space = H5Screate_simple(1, &size, NULL);
    const hid_t attribute =
        H5Acreate2(object, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

/* Makes a scan of seven projections, of pixels of 1 um, with an NXdata that links its frames. */
static void make_scan(void)
{
    static const double keys[SCAN_FRAMES] = {0}, angles[SCAN_FRAMES] = {0, 10, 20, 30, 40, 50, 60},
                        micrometer = 1;
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t entry = ts_scan_file_group(file, "entry", "NXentry");
    ts_scan_file_word(entry, "definition", "NXtomo");
    H5Gclose(ts_scan_file_group(entry, "instrument", "NXinstrument"));
    const hid_t detector = ts_scan_file_group(entry, "instrument/detector", "NXdetector"),
                sample = ts_scan_file_group(entry, "sample", "NXsample"),
                plotted = ts_scan_file_group(entry, "plotted", "NXdata");
    ts_scan_file_frames(detector, "data", SCAN_FRAMES, NULL);
    ts_scan_file_numbers(detector, "image_key", SCAN_FRAMES, keys, NULL);
    ts_scan_file_numbers(detector, "x_pixel_size", 0, &micrometer, "um");
    ts_scan_file_numbers(detector, "y_pixel_size", 0, &micrometer, "um");
    ts_scan_file_numbers(sample, "rotation_angle", SCAN_FRAMES, angles, "degree");
    cr_assert(H5Lcreate_hard(detector, "data", plotted, "frames", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Gclose(plotted);
    H5Gclose(sample);
    H5Gclose(detector);
    H5Gclose(entry);
    cr_assert(H5Fclose(file) >= 0);
}

static hid_t open_object(const char *path, hid_t *file)
{
    *file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t object = H5Oopen(*file, path, H5P_DEFAULT);
    cr_assert(object >= 0, "%s", path);
    return object;
}

static void close_object(hid_t object, hid_t file)
{
    H5Oclose(object);
    cr_assert(H5Fclose(file) >= 0);
}

/* Opens the scan with axes of the chain, or NULL, and a parameter that it gives, or NULL. */
static enum ts_status open_scan(const char *const *axes, const char *given, struct source **source)
{
    struct param_set set = {.params = nexus_format.params,
                            .n_params = nexus_format.n_params,
                            .values = &nexus_values,
                            .owner = "input"};
    nexus_values = (struct nexus_params){0};
    ts_params_init(&set);
    nexus_values.nexus = ts_scan_file.path;
    if (axes)
        nexus_values.axes = (struct ts_texts){3, axes};
    ts_scan_file_give(&set, given);
    ts_diag_clear(ts_scan_file.diag);
    return nexus_format.open(&set, source, ts_scan_file.diag);
}

/* Fails unless the scan opens with one record, of this code and these words (NULL: none). */
static void expect_one(size_t row, const char *code, const char *text, const char *const *axes,
                       const char *given)
{
    struct source *source = NULL;
    cr_assert_eq(open_scan(axes, given, &source), TS_OK, "row %zu: %s", row,
                 ts_diag_first_error(ts_scan_file.diag));
    const size_t n = ts_diag_count(ts_scan_file.diag);
    cr_expect_eq(n, text != NULL, "row %zu: %zu records", row, n);
    if (text && n > 0) {
        const struct ts_diag_record *record = ts_diag_get(ts_scan_file.diag, 0);
        cr_expect_str_eq(record->code, code, "row %zu", row);
        cr_expect_not_null(strstr(record->message, text), "row %zu: no '%s' in '%s'", row, text,
                           record->message);
    }
    source->ops->close(source);
}

/* ---- axes ------------------------------------------------------------------------------------ */

/* Texts of attributes; a number is one where `number` is not 0. */
struct note {
    const char *path, *name, *text;
    double number;
};

static void put_notes(const struct note *notes, int n)
{
    for (int i = 0; i < n && notes[i].path; i++) {
        hid_t file;
        const hid_t object = open_object(notes[i].path, &file);
        if (notes[i].text)
            ts_scan_file_text(object, notes[i].name, notes[i].text);
        else
            put_numbers(object, notes[i].name, 1, &notes[i].number);
        close_object(object, file);
    }
}

Test(nexus_places, axes_of_another_order_are_warned_of_and_read)
{
    static const struct {
        struct note notes[4];
        bool warned;
    } rows[] = {
        {{{"/entry/plotted", "axes", "rotation_angle:x:y"}}, true},
        {{{"/entry/plotted", "axes", "rotation_angle:x:y"}, {"/entry/plotted", "signal", "frames"}},
         true},
        {{{"/entry/plotted", "axes", "rotation_angle:detector_x:detector_y"},
          {"/entry/plotted", "signal", "frames"}},
         true},
        {{{"/entry/plotted", "axes", "rotation_angle:x:y"}, {"/entry/plotted", "signal", "other"}},
         false},
        {{{"/entry/plotted", "axes", "rotation_angle:y:x"}, {"/entry/plotted", "signal", "frames"}},
         false},
        {{{"/entry/plotted", "axes", "rotation_angle:.:."}, {"/entry/plotted", "signal", "frames"}},
         false},
        {{{"/entry/plotted", "signal", "frames"},
          {"/entry/plotted", "x_indices", NULL, 1},
          {"/entry/plotted", "y_indices", NULL, 2}},
         true},
        {{{"/entry/plotted", "signal", "frames"}, {"/entry/plotted", "x_indices", NULL, 1}}, true},
        {{{"/entry/plotted", "signal", "frames"},
          {"/entry/plotted", "axes", "rotation_angle:x:y"},
          {"/entry/plotted", "x_indices", NULL, 2},
          {"/entry/plotted", "y_indices", NULL, 1}},
         false},
        {{{"/entry/plotted", "signal", "frames"},
          {"/entry/plotted", "rotation_angle_indices", NULL, 1}},
         true},
        {{{DETECTOR, "axes", "rotation_angle:x:y"}}, true},
        {{{DETECTOR, "axes", "rotation_angle:y:x"}}, false},
        {{{DETECTOR "/data", "axes", "rotation_angle:x:y"}}, true},
        {{{DETECTOR "/x_pixel_offset", "axis", NULL, 2},
          {DETECTOR "/y_pixel_offset", "axis", NULL, 3}},
         true},
        {{{DETECTOR "/x_pixel_offset", "axis", NULL, 3},
          {DETECTOR "/y_pixel_offset", "axis", NULL, 2}},
         false},
        {{{DETECTOR "/y_pixel_offset", "axis", NULL, 3}}, true},
    };
    static const char *const turned[3] = {"view", "detector", "z"}, *const same[3] = {"frame", "z",
                                                                                      "detector"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double zero = 0;
        hid_t file;
        make_scan();
        const hid_t detector = open_object(DETECTOR, &file);
        ts_scan_file_numbers(detector, "x_pixel_offset", 0, &zero, "um");
        ts_scan_file_numbers(detector, "y_pixel_offset", 0, &zero, "um");
        close_object(detector, file);
        put_notes(rows[i].notes, 4);
        const bool linked = strstr(rows[i].notes[0].path, "plotted") != NULL &&
                            !rows[i].notes[1].path; /* whose signal is not said: `data` */
        expect_one(i, "axes-order", rows[i].warned && !linked ? "and it is read as view, z" : NULL,
                   NULL, NULL);
        expect_one(i, NULL, NULL, turned, NULL);
        expect_one(i, NULL, NULL, same, NULL);
    }
}

/* Frames in any order: those whose first axis is none of frames are read if the chain says so. */
Test(nexus_places, the_chain_may_say_the_order)
{
    static const struct {
        const char *axes[3];
        int n[3]; /* of z, view, detector */
    } rows[] = {{{"view", "z", "detector"}, {SCAN_ROWS, SCAN_FRAMES, SCAN_COLUMNS}},
                {{"frame", "detector", "z"}, {SCAN_COLUMNS, SCAN_FRAMES, SCAN_ROWS}}};
    static const char *const wrong[][3] = {
        {"view", "z", "z"}, {"view", "y", "x"}, {"frame", "view", "z"}};
    struct source *source = NULL;
    make_scan();
    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(open_scan(rows[i].axes, NULL, &source), TS_OK);
        for (int d = 0; d < 3; d++)
            cr_expect_eq(source->image.axes[d].n, rows[i].n[d]);
        void *data = ts_test_read_all(source, ts_scan_file.diag);
        double found[SCAN_FRAMES * SCAN_ROWS * SCAN_COLUMNS];
        ts_load_f64(found, data, source->image.dtype, ts_image_count(&source->image));
        const double *next = found;
        for (int z = 0; z < rows[i].n[0]; z++)
            for (int v = 0; v < rows[i].n[1]; v++)
                for (int c = 0; c < rows[i].n[2]; c++)
                    cr_assert_eq(*next++, 100 * v + (i ? 10 * c + z : 10 * z + c));
        free(data);
        source->ops->close(source);
    }
    for (size_t i = 0; i < 3; i++) {
        source = NULL;
        cr_assert_eq(open_scan(wrong[i], NULL, &source), TS_BAD_CHAIN);
        ts_test_expect(ts_scan_file.diag, "axes-names", "each once");
    }
}

/* ---- pixels ---------------------------------------------------------------------------------- */

static void put_offsets(const char *name, int rows, int columns, const double *values,
                        const char *units)
{
    hid_t file;
    const hid_t detector = open_object(DETECTOR, &file);
    const hsize_t n[2] = {(hsize_t)rows, (hsize_t)columns};
    if (columns == 0) {
        ts_scan_file_numbers(detector, name, rows, values, units);
    } else {
        const hid_t space = H5Screate_simple(2, n, NULL),
                    dataset = H5Dcreate2(detector, name, H5T_IEEE_F64LE, space, H5P_DEFAULT,
                                         H5P_DEFAULT, H5P_DEFAULT);
        cr_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        ts_scan_file_text(dataset, "units", units);
        H5Dclose(dataset);
        H5Sclose(space);
    }
    close_object(detector, file);
}

Test(nexus_places, offsets_of_pixels_are_compared)
{
    static const struct {
        const char *name;
        int rows, columns; /* columns 0: a list */
        double values[SCAN_ROWS * SCAN_COLUMNS];
        const char *units, *warning;
    } rows[] = {
        {"x_pixel_offset", 5, 0, {-2, -1, 0, 1, 2}, "um", NULL},
        {"y_pixel_offset", 3, 0, {-1, 0, 1}, "um", NULL},
        {"y_pixel_offset", 3, 0, {5, 6, 7}, "um", NULL},
        {"y_pixel_offset", 0, 0, {5}, "um", NULL},
        {"x_pixel_offset", 5, 0, {2, 1, 0, -1, -2}, "um", "falls from 2 to -2: the detector's p"},
        {"y_pixel_offset", 3, 0, {1, 0, -1}, "um", "falls from 1 to -1: the detector's rows"},
        {"y_offset", 3, 0, {0.001, 0, -0.001}, "mm", "falls from 0.001 to -0.001"},
        {"x_pixel_offset", 5, 0, {-4, -2, 0, 2, 4}, "um", "says that columns are 0.002 mm apart"},
        {"x_offset", 5, 0, {-2, -1, 0, 1, 2}, "mm", "says that columns are 1 mm apart"},
        {"y_pixel_offset", 3, 0, {-0.5, 0, 0.5}, "um", "says that rows are 0.0005 mm apart"},
        {"x_pixel_offset", 3, 0, {-1, 0, 1}, "um", "changes along what is taken for rows"},
        {"y_pixel_offset", 5, 0, {-2, -1, 0, 1, 2}, "um", "changes along what is taken for col"},
        {"y_pixel_offset", 3, 0, {-1, 0, 2}, "um", "has steps that differ, and rows"},
        {"x_pixel_offset", 4, 0, {-1, 0, 1, 2}, "um", "has 4 values for 5 columns"},
        {"x_pixel_offset", 3, 5, {-2, -1, 0, 1, 2, -2, -1, 0, 1, 2, -2, -1, 0, 1, 2}, "um", NULL},
        {"y_pixel_offset", 3, 5, {-1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}, "um", NULL},
        {"x_pixel_offset",
         3,
         5,
         {-1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1},
         "um",
         "x_pixel_offset of the detector changes along what is taken for rows"},
        {"y_pixel_offset",
         3,
         5,
         {-2, -1, 0, 1, 2, -2, -1, 0, 1, 2, -2, -1, 0, 1, 2},
         "um",
         "y_pixel_offset of the detector changes along what is taken for columns"},
        {"x_pixel_offset",
         3,
         5,
         {2, 1, 0, -1, -2, 2, 1, 0, -1, -2, 2, 1, 0, -1, -2},
         "um",
         "falls from 2 to -2"},
        {"x_pixel_offset", 5, 3, {0}, "um", "is no list of numbers that can be read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_scan();
        put_offsets(rows[i].name, rows[i].rows, rows[i].columns, rows[i].values, rows[i].units);
        expect_one(i, "field-unused", rows[i].warning, NULL, NULL);
    }
}

Test(nexus_places, modules_that_lie_otherwise_are_warned_of)
{
    static const struct {
        double fast[3], slow[3], um;
        const char *warning;
    } rows[] = {
        {{1, 0, 0}, {0, 1, 0}, 1, NULL},
        {{-1, 0, 0}, {0, -1, 0}, 1, NULL}, /* half a turn about the beam */
        {{-2, 0, 0}, {0, -2, 0}, 1, NULL},
        {{-1, 0, 0},
         {0, 1, 0},
         1,
         "fast_pixel_direction of module is (-1, 0, 0): the detector's p"},
        {{1, 0, 0},
         {0, -1, 0},
         1,
         "slow_pixel_direction of module is (0, -1, 0): the detector's r"},
        {{0, 1, 0}, {1, 0, 0}, 1, "fast_pixel_direction of module is (0, 1, 0): the detector lies"},
        {{0, -1, 0}, {1, 0, 0}, 1, "is (0, -1, 0): the detector lies on its side"},
        {{0, 1, 0}, {-1, 0, 0}, 1, "is (0, 1, 0): the detector lies on its side"},
        {{0, 0, 1}, {0, 1, 0}, 1, "fast_pixel_direction of module is (0, 0, 1), and is not used"},
        {{1, 0, 0}, {0, 1, 1}, 1, "slow_pixel_direction of module is (0, 1, 1), and is not used"},
        {{1, 0, 0}, {1, 0, 0}, 1, "is (1, 0, 0), and is not used"},
    };
    static const char *const turned[3] = {"view", "detector", "z"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hid_t file;
        make_scan();
        const hid_t detector = open_object(DETECTOR, &file),
                    module = ts_scan_file_group(detector, "module", "NXdetector_module");
        for (int k = 0; k < 2; k++) {
            const char *name = k ? "slow_pixel_direction" : "fast_pixel_direction";
            ts_scan_file_numbers(module, name, 0, &rows[i].um, "um");
            const hid_t direction = H5Dopen2(module, name, H5P_DEFAULT);
            ts_scan_file_text(direction, "transformation_type", "translation");
            put_numbers(direction, "vector", 3, k ? rows[i].slow : rows[i].fast);
            H5Dclose(direction);
        }
        H5Gclose(module);
        close_object(detector, file);
        expect_one(i, "field-unused", rows[i].warning, NULL, NULL);
        if (i == 5)
            expect_one(i, NULL, NULL, turned, NULL);
    }
}

/* ---- the rotation ---------------------------------------------------------------------------- */

Test(nexus_places, an_axis_of_rotation_angle_itself_is_heard)
{
    static const struct {
        double vector[3];
        const char *type, *warning;
    } rows[] = {
        {{0, 1, 0}, "rotation", NULL},
        {{0, 2, 0}, "Rotation", NULL},
        {{0, 1, 0}, NULL, NULL},
        {{1, 0, 0}, "rotation", "turns it about (1, 0, 0) as rotation_angle does"},
        {{0, 0, 1}, "rotation", "turns it about (0, 0, 1) as rotation_angle does"},
        {{-1, 0, 0}, NULL, "turns it about (-1, 0, 0) as rotation_angle does"},
        {{0, -1, 0}, "rotation", "turns it about (0, -1, 0) the other way than it is taken"},
        {{0, -1, 0}, NULL, "turns it about (0, -1, 0) the other way"},
        {{0, 1, 0}, "translation", "is called a translation"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int leads = 0; leads < 2; leads++) {
            hid_t file;
            make_scan();
            const hid_t axis = open_object("/entry/sample/rotation_angle", &file);
            put_numbers(axis, "vector", 3, rows[i].vector);
            if (rows[i].type)
                ts_scan_file_text(axis, "transformation_type", rows[i].type);
            if (leads) {
                const hid_t sample = H5Gopen2(file, "/entry/sample", H5P_DEFAULT);
                ts_scan_file_word(sample, "depends_on", "rotation_angle");
                H5Gclose(sample);
            }
            close_object(axis, file);
            expect_one(i, "field-unused", rows[i].warning, NULL, NULL);
            if (i == 6)
                expect_one(i, NULL, NULL, NULL, "angle_sense");
        }
}

Test(nexus_places, angles_of_the_begin_of_exposures_are_warned_of)
{
    static const struct {
        const char *name;
        int n;
        double values[SCAN_FRAMES];
        const char *units, *warning, *hint;
    } rows[] = {
        {"rotation_angle_end",
         7,
         {10, 20, 30, 40, 50, 60, 70},
         "degree",
         "went on by 10 degrees in an exposure",
         "angle_offset: 5 takes"},
        {"rotation_angle_end",
         7,
         {4, 14, 24, 34, 44, 54, 64},
         "degree",
         "went on by 4 degrees",
         "angle_offset: 2 takes"},
        {"rotation_angle_end",
         7,
         {-0.17453292519943295, 0, 0.17453292519943295, 0.3490658503988659, 0.5235987755982988,
          0.6981317007977318, 0.8726646259971648},
         "rad",
         "went on by -10 degrees",
         "angle_offset: -5 takes"},
        {"rotation_angle_increment_set", 0, {8}, "degree", "by 8 degrees", "angle_offset: 4 takes"},
        {"rotation_angle_end",
         7,
         {1, 15, 24, 39, 44, 54, 64},
         "degree",
         "went on by 1 to 9 degrees",
         NULL},
        {"rotation_angle_end", 3, {1, 2, 3}, "degree", "is no list of an angle for each", NULL},
        {"rotation_angle_end", 7, {0, 10, 20, 30, 40, 50, 60}, "degree", NULL, NULL},
        {"rotation_angle_end", 7, {360, 370, 380, 390, 400, 410, 420}, "degree", NULL, NULL},
        {"rotation_angle_increment_set", 0, {0}, "degree", NULL, NULL},
        {"rotation_angle_set", 7, {1, 11, 21, 31, 41, 51, 61}, "degree", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hid_t file;
        make_scan();
        const hid_t sample = open_object("/entry/sample", &file);
        ts_scan_file_numbers(sample, rows[i].name, rows[i].n, rows[i].values, rows[i].units);
        close_object(sample, file);
        expect_one(i, "field-unused", rows[i].warning, NULL, NULL);
        if (rows[i].hint)
            cr_expect_not_null(strstr(ts_diag_get(ts_scan_file.diag, 0)->hint, rows[i].hint),
                               "row %zu: %s", i, ts_diag_get(ts_scan_file.diag, 0)->hint);
        expect_one(i, NULL, NULL, NULL, "angle_offset");
    }
}
