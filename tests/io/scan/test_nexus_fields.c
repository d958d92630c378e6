/* SPDX-License-Identifier: Apache-2.0
 *
 * What NXtomo files say beside frames and angles: which pixel size is taken, what pixel_mask does,
 * and that each field that would change the image is warned of by its name, and only where it
 * would.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/nexus.h"
#include "io/scan/projections.h"
#include "io/source/source_slices.h"
#include "tests/files/dicom_open.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/scan_file.h"
#include "tests/support/chain_run.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

TestSuite(nexus_fields, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

static struct nexus_params nexus_values;

/* A field beside those that every scan here has. Places: s sample, d detector, o source, m a
 * monitor called control, D a diode of the instrument, t and u the transformations of detector and
 * sample, a a group `stage` of the instrument, N an NXdata of the entry. */
struct extra {
    char place;
    const char *name;
    int n; /* 0: a scalar */
    double values[SCAN_FRAMES];
    const char *units, *type, *depends_on, *text;
    double vector[3];
    bool is_bool;
};

static void put_numbers(hid_t dataset, const char *name, int n, const double *values)
{
    const hsize_t size = (hsize_t)n;
    const hid_t space = H5Screate_simple(1, &size, NULL);
    const hid_t attribute =
        H5Acreate2(dataset, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, H5T_NATIVE_DOUBLE, values) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
}

/* As h5py writes a bool. */
static void put_bool(hid_t group, const char *name, bool value)
{
    const int8_t numbers[] = {0, 1}, stored = value;
    const hid_t type = H5Tenum_create(H5T_STD_I8LE), space = H5Screate(H5S_SCALAR);
    cr_assert(H5Tenum_insert(type, "FALSE", &numbers[0]) >= 0 &&
              H5Tenum_insert(type, "TRUE", &numbers[1]) >= 0);
    const hid_t dataset =
        H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &stored) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

static hid_t open_place(hid_t entry, char place)
{
    static const struct {
        char place;
        const char *path, *nx_class;
    } places[] = {{'s', "sample", "NXsample"},
                  {'d', "instrument/detector", "NXdetector"},
                  {'o', "instrument/source", "NXsource"},
                  {'m', "control", "NXmonitor"},
                  {'D', "instrument/diode", "NXdetector"},
                  {'t', "instrument/detector/transformations", "NX_transformations"},
                  {'u', "sample/transformations", "NXtransformations"},
                  {'N', "plotted", "NXdata"},
                  {'a', "instrument/stage", "NXpositioner"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (places[i].place == place)
            return H5Lexists(entry, places[i].path, H5P_DEFAULT) > 0
                       ? H5Gopen2(entry, places[i].path, H5P_DEFAULT)
                       : ts_scan_file_group(entry, places[i].path, places[i].nx_class);
    cr_assert_fail("no place %c", place);
    return -1;
}

static void put_extra(hid_t entry, const struct extra *extra)
{
    const hid_t group = open_place(entry, extra->place);
    if (extra->text)
        ts_scan_file_word(group, extra->name, extra->text);
    else if (extra->is_bool)
        put_bool(group, extra->name, extra->values[0] != 0);
    else
        ts_scan_file_numbers(group, extra->name, extra->n, extra->values, extra->units);
    if (extra->type) {
        const hid_t dataset = H5Dopen2(group, extra->name, H5P_DEFAULT);
        ts_scan_file_text(dataset, "transformation_type", extra->type);
        put_numbers(dataset, "vector", 3, extra->vector);
        if (extra->depends_on)
            ts_scan_file_text(dataset, "depends_on", extra->depends_on);
        H5Dclose(dataset);
    }
    H5Gclose(group);
}

/* Makes a scan of 3 projections (frames 2, 3 and 5), 2 flats and a dark, whose pixels are 1 um. The
 * caller closes the file and the entry. */
static hid_t begin_scan(hid_t *entry)
{
    static const double keys[SCAN_FRAMES] = {2, 1, 0, 0, 3, 0, 1},
                        angles[SCAN_FRAMES] = {0, 0, 10, 20, 25, 45.5, 45.5}, micrometer = 1;
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    *entry = ts_scan_file_group(file, "entry", "NXentry");
    ts_scan_file_word(*entry, "definition", "NXtomo");
    H5Gclose(ts_scan_file_group(*entry, "instrument", "NXinstrument"));
    const hid_t detector = open_place(*entry, 'd'), sample = open_place(*entry, 's');
    ts_scan_file_frames(detector, "data", SCAN_FRAMES, NULL);
    ts_scan_file_numbers(detector, "image_key", SCAN_FRAMES, keys, NULL);
    ts_scan_file_numbers(detector, "x_pixel_size", 0, &micrometer, "um");
    ts_scan_file_numbers(detector, "y_pixel_size", 0, &micrometer, "um");
    ts_scan_file_numbers(sample, "rotation_angle", SCAN_FRAMES, angles, "degree");
    H5Gclose(detector);
    H5Gclose(sample);
    return file;
}

static void make_scan(const struct extra *extras, int n)
{
    hid_t entry;
    const hid_t file = begin_scan(&entry);
    for (int i = 0; i < n; i++)
        put_extra(entry, &extras[i]);
    H5Gclose(entry);
    cr_assert(H5Fclose(file) >= 0);
}

static struct source *open_scan(int32_t frames)
{
    struct param_set set = {.params = nexus_format.params,
                            .n_params = nexus_format.n_params,
                            .values = &nexus_values,
                            .owner = "input"};
    struct source *source = NULL;
    nexus_values = (struct nexus_params){0};
    ts_params_init(&set);
    nexus_values.nexus = ts_scan_file.path;
    nexus_values.frames = frames;
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK, "%s",
                 ts_diag_first_error(ts_scan_file.diag));
    return source;
}

/* Fails unless the newest record has this code and these words. */
static void expect_record(const char *code, const char *text)
{
    const size_t n = ts_diag_count(ts_scan_file.diag);
    cr_assert(n > 0, "nothing was said of %s", text);
    const struct ts_diag_record *record = ts_diag_get(ts_scan_file.diag, n - 1);
    cr_assert_str_eq(record->code, code);
    cr_assert_not_null(strstr(record->message, text), "no '%s' in '%s'", text, record->message);
}

static int count_warnings(const char *code)
{
    int n = 0;
    for (size_t i = 0; i < ts_diag_count(ts_scan_file.diag); i++)
        n += !strcmp(ts_diag_get(ts_scan_file.diag, i)->code, code);
    return n;
}

#define EACH_FRAME(...)                                                                            \
    SCAN_FRAMES,                                                                                   \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Frames are 2 dark, 1 flat, 0, 0, 3 invalid, 0, 1 flat. */
static const struct {
    struct extra extra;
    const char *warning; /* NULL: the field is trivial */
} rows[] = {
    {{'s', "x_translation", EACH_FRAME(0, 0, 0, 1, 2, 2, 2), "um"},
     "x_translation of the sample goes from 0 to 2 um"},
    {{'s', "y_translation", EACH_FRAME(0, 0, 0, 1, 2, 3, 2), "mm"},
     "y_translation of the sample goes from 0 to 3 mm"},
    {{'s', "z_translation", 3, {0, 1, 2}, "m"}, "z_translation of the sample goes from 0 to 2 m"},
    {{'s', "x_translation", EACH_FRAME(0, 0, 0, 1, 2, 2, 2)},
     "x_translation of the sample goes from 0 to 2 over"},
    {{'s', "x_translation", EACH_FRAME(7, 7, 7, 7, 7, 7, 7), "um"}, NULL},
    {{'s', "x_translation", EACH_FRAME(9, 5000, 0, 0, 7, 0, 5000), "um"},
     NULL}, /* out of the beam for its flats */
    {{'s', "x_translation", EACH_FRAME(0, 0, 0, 0.004, 0, 0.008, 0), "um"}, NULL},
    {{'s', "x_translation", 0, {5}, "um"}, NULL},
    {{'d', "y_translation", EACH_FRAME(0, 0, 0, 1, 2, 2, 2), "um"},
     "y_translation of the detector goes"},
    {{'d', "distance", EACH_FRAME(1, 1, 1, 1, 1, 2, 1), "m"},
     "distance of the detector goes from 1 to 2 m"},
    {{'d', "distance", 0, {0.2}, "m"}, NULL},
    {{'m', "data", EACH_FRAME(0.2, 0.2, 0.2, 0.19, 0.1, 0.18, 0.18), "A"},
     "data of the control goes from 0.18 to 0.2"},
    {{'m', "data", EACH_FRAME(0, 0.2, 0.2, 0.20005, 0, 0.2, 0.2), "A"}, NULL},
    {{'m', "data", 3, {1, 2, 3}}, "data of the control goes from 1 to 3 over the scan"},
    {{'D', "data", EACH_FRAME(0, 5, 5, 4, 4, 4, 4)}, "data of the diode goes from 4 to 5"},
    {{'o', "current", EACH_FRAME(0, 5, 5, 4, 4, 4, 4), "mA"},
     "current of the source goes from 4 to 5 mA"},
    {{'o', "current", 0, {200}, "mA"}, NULL},
    {{'d', "count_time", EACH_FRAME(2, 1, 1, 1, 1, 1, 1), "s"},
     "count_time of the detector goes from 1 to 2 s"},
    {{'d', "count_time", EACH_FRAME(1, 1, 1, 1, 1, 1, 1), "s"}, NULL},
    {{'d', "exposure_time", 0, {0.1}, "s"}, NULL},
    {{'d', "gain_setting", EACH_FRAME(2, 2, 1, 1, 1, 1, 2)},
     "gain_setting of the detector goes from 1 to 2"},
    {{'d', "gain_setting", EACH_FRAME(1, 2, 2, 2, 2, 2, 2)}, "gain_setting of the detector goes"},
    {{'d', "gain_setting", EACH_FRAME(2, 2, 2, 2, 1, 2, 2)}, NULL}, /* of an invalid frame */
    {{'d', "gain_setting", EACH_FRAME(2, 2, 2, 2, 2, 2, 2)}, NULL},
    {{'d', "gain_setting", .text = "high"}, NULL},
    {{'d', "gain_setting", 0, {3}}, NULL},
    {{'d', "x_flipped", 0, {1}, .is_bool = true},
     "x_flipped of the detector is 1: the detector's pixels run from right"},
    {{'d', "x_flipped", 0, {0}, .is_bool = true}, NULL},
    {{'d', "y_flipped", 0, {1}},
     "y_flipped of the detector is 1: the detector's rows run from bottom"},
    {{'d', "y_flipped", 0, {0}}, NULL},
    {{'d', "flatfield_applied", 0, {1}, .is_bool = true}, "flatfield_applied of the detector is 1"},
    {{'d', "estimated_cor_from_motor", 0, {-12.5}},
     "estimated_cor_from_motor of the detector is -12.5"},
    {{'d', "x_pixel_offset", 0, {0.2}, "mm"},
     "x_pixel_offset of the detector is 0.2 mm: the rotation axis may be"},
    {{'d', "x_pixel_offset", 5, {-2, -1, 0, 1, 2}, "um"}, NULL},
    {{'d', "x_pixel_offset", 5, {-2, -1, 0, 1, 3}, "um"},
     "x_pixel_offset of the detector has steps that differ"},
    {{'d', "x_offset", 5, {1, 2, 3, 4, 5}, "um"}, "x_offset of the detector is 3 um"},
    {{'d', "magnification", 0, {10}}, "magnification of the detector is 10"},
    {{'d', "magnification", 0, {1}}, NULL},
    {{'d', "field_of_view", .text = "Full"}, NULL},
    {{'t', "ry", 0, {180}, "deg", "rotation", .vector = {0, 1, 0}},
     "ry of the detector turns it by 180 degrees about y"},
    {{'t', "rx", 0, {3.14159265358979}, "rad", "rotation", .vector = {-1, 0, 0}},
     "rx of the detector turns it by 180"},
    {{'t', "rz", 0, {90}, "deg", "rotation", .vector = {0, 0, 1}},
     "rz of the detector turns it by 90 degrees about (0"},
    {{'t', "ry", 0, {360}, "deg", "rotation", .vector = {0, 1, 0}}, NULL},
    {{'t', "rx", 1, {0}, "deg", "rotation", .vector = {1, 0, 0}}, NULL},
    {{'t', "tz", 0, {0.2}, "m", "translation", .vector = {0, 0, 1}}, NULL},
    {{'t', "tx", EACH_FRAME(0, 0, 0, 1, 2, 2, 2), "um", "translation", .vector = {1, 0, 0}},
     "tx of the detector moves it"},
    {{'t', "gravity", 0, {9.8}, "m / s ** 2", "gravity", .vector = {0, 0, -1}}, NULL},
    {{'u', "tilt", 0, {0.5}, "deg", "rotation", .vector = {0, 0, 1}},
     "tilt of the sample turns it by 0.5 degrees"},
    {{'u', "omega", EACH_FRAME(0, 0, 10, 20, 25, 45.5, 45.5), "deg", "rotation",
      .vector = {0, 1, 0}},
     NULL},
    {{'u', "omega", EACH_FRAME(0, 0, -5, -15, 25, -40.5, 5), "deg", "rotation",
      .vector = {0, -1, 0}},
     NULL},
    {{'u', "omega", EACH_FRAME(0, 0, -10, -20, 25, -45.5, 5), "deg", "rotation",
      .vector = {0, 1, 0}},
     "omega of the sample turns it about (0, 1, 0) the other way than rotation_angle"},
    {{'u', "omega", EACH_FRAME(0, 0, 45.5, 35.5, 25, 10, 5), "deg", "rotation",
      .vector = {0, 1, 0}},
     "omega of the sample turns it about (0, 1, 0) the other way than rotation_angle"},
    {{'u', "omega", EACH_FRAME(0, 0, 10, 20, 25, 45.5, 5), "deg", "rotation", .vector = {0, -1, 0}},
     "omega of the sample turns it about (0, -1, 0) the other way than rotation_angle"},
    {{'u', "omega", EACH_FRAME(0, 0, 10, 20, 25, 45.5, 5), "deg", "rotation", .vector = {1, 0, 0}},
     "omega of the sample turns it about (1, 0, 0) as rotation_angle does"},
    {{'u', "omega", EACH_FRAME(0, 0, -10, -20, 25, -45.5, 5), "deg", "rotation",
      .vector = {0, 0, -1}},
     "omega of the sample turns it about (0, 0, -1) as rotation_angle does"},
    {{'s', "rotation", EACH_FRAME(0, 0, 10, 20, 25, 45.5, 5), "deg", .vector = {0, 0, 1}}, NULL},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, 10, 20, 25, 45.5, 5), "deg"}, NULL},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, 10.01, 19.99, 0, 45.5, 5), "deg"}, NULL},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, 370, 380, 0, 405.5, 5), "deg"}, NULL},
    {{'N', "rotation_angle", 3, {0.17453292519943, 0.34906585039887, 0.79412480965740}, "rad"},
     NULL},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, 45.5, 35.5, 0, 10, 5), "deg"},
     "rotation_angle of the plotted differs by up to 35.5 degrees from the angles that are taken"},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, 5, 10, 0, 22.75, 5), "deg"},
     "rotation_angle of the plotted differs by up to 22.75 degrees"},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, -10, -20, 0, -45.5, 5), "deg"},
     "rotation_angle of the plotted differs by up to 91 degrees"},
    {{'N', "rotation_angle", EACH_FRAME(0, 0, 100, 110, 0, 135.5, 5), "deg"},
     "rotation_angle of the plotted differs by up to 90 degrees"},
    {{'N', "rotation_angle", 0, {90}, "deg"}, NULL}, /* of no frame */
    {{'u', "phi", EACH_FRAME(0, 0, 0, 1, 2, 3, 4), "deg", "rotation", .vector = {0, 1, 0}},
     "phi of the sample turns it"},
    {{'d', "countrate_correction_applied", 0, {0}, .is_bool = true},
     "countrate_correction_applied of the detector is 0"},
    {{'d', "countrate_correction_applied", 0, {1}, .is_bool = true}, NULL},
    {{'d', "pixel_mask_applied", 0, {1}, .is_bool = true},
     NULL}, /* the values are those after it */
    {{'d', "saturation_value", 0, {4095}},
     "saturation_value of the detector is 4095: pixels above it are not valid"},
    {{'d', "saturation_value", 0, {65535}}, NULL}, /* no value of 16 bits lies above it */
    {{'d', "saturation_value", 0, {1e6}}, NULL},
    {{'d', "underload_value", 0, {3}},
     "underload_value of the detector is 3: pixels below it are not valid"},
    {{'d', "underload_value", 0, {0}}, NULL},
    {{'d', "underload_value", 0, {-1}}, NULL},
    {{'d', "data_scaling_factor", 0, {0.5}},
     "data_scaling_factor is 0.5: values are taken as they are stored"},
    {{'d', "data_offset", 0, {-100}}, "data_offset is -100"},
    {{'s', "rotation_angle_scaling_factor", 0, {0.1}}, "rotation_angle_scaling_factor is 0.1"},
    {{'s', "rotation_angle_offset", 0, {0}}, NULL},
    {{'N', "data_scaling_factor", 0, {2}}, "data_scaling_factor is 2"},
    {{'N', "data_scaling_factor", 0, {1}}, NULL},
    {{'N', "scaling_factor", 0, {2}}, "scaling_factor is 2"},
    {{'N', "offset", 0, {10}}, "offset is 10"},
    {{'N', "offset", 3, {0, 0, 10}}, "offset is not one number"},
    {{'N', "offset", 0, {0}}, NULL},
    {{'d', "depends_on", .text = "/entry/instrument/gone"},
     "depends_on of the detector leads to '/entry/instrument/gone'"},
    {{'s', "depends_on", .text = "transformations/gone"},
     "depends_on of the sample leads to 'transformations/gone'"},
    {{'d', "depends_on", .text = "."}, NULL},
    {{'o', "distance", 0, {-0.1}, "m"}, NULL}, /* of a detector whose distance is not known */
};

Test(nexus_fields, are_warned_of_by_name_unless_they_are_trivial)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_scan(&rows[i].extra, 1);
        struct source *source = open_scan(FRAMES_PROJECTIONS);
        const int n = count_warnings("field-unused");
        cr_assert_eq(n, rows[i].warning != NULL, "row %zu, %s: %d warnings", i, rows[i].extra.name,
                     n);
        if (rows[i].warning)
            expect_record("field-unused", rows[i].warning);
        cr_assert_eq(source->image.axes[2].spacing, 1e-3, "row %zu", i);
        source->ops->close(source);
        source = open_scan(FRAMES_FLATS); /* said once, by the projections */
        cr_assert_eq(count_warnings("field-unused"), 0);
        source->ops->close(source);
    }
}

/* Attributes of the frames, as netCDF and h5py write them. */
Test(nexus_fields, attributes_that_scale_or_leave_out_values_are_warned_of)
{
    static const struct {
        const char *name;
        double value;
        const char *warning; /* NULL: it changes nothing */
        const char *text;    /* the value is this text */
        int n;               /* it is so many numbers */
    } cases[] = {
        {"scale_factor", 0.01,
         "the attribute scale_factor of data is 0.01: values are taken as they are stored"},
        {"scale_factor", 1, NULL},
        {"scaling_factor", 2, "the attribute scaling_factor of data is 2"},
        {"scaling", 0.5, "the attribute scaling of data is 0.5"},
        {"add_offset", 32768, "the attribute add_offset of data is 32768"},
        {"add_offset", 0, NULL},
        {"offset", -1, "the attribute offset of data is -1"},
        {"_FillValue", 65535, "the attribute _FillValue of data is 65535: pixels of this value"},
        {"_FillValue", -1, NULL}, /* no value of the type */
        {"missing_value", 0, "the attribute missing_value of data is 0"},
        {"valid_max", 4095, "the attribute valid_max of data is 4095: pixels beyond it"},
        {"valid_max", 65535, NULL},
        {"valid_min", 0, NULL},
        {"valid_min", 1, "the attribute valid_min of data is 1"},
        {"gain", 2, NULL},
        /* other names, in any case of letters, and texts */
        {"Scale_Factor", 0.01,
         "the attribute scale_factor of data is 0.01: values are taken as they are stored"},
        {"SCALE", 3, "the attribute scale of data is 3"},
        {"Scale", 1, NULL},
        {"slope", 0.5, "the attribute slope of data is 0.5"},
        {"Rescale_Intercept", -1024, "the attribute rescale_intercept of data is -1024"},
        {"missing_VALUE", 0, "the attribute missing_value of data is 0"},
        {"scale_factor", 0, "the attribute scale_factor of data is 0.1: values are taken",
         .text = "0.1"},
        {"SCALING", 0, "the attribute scaling of data is 2", .text = " 2e0 "},
        {"add_offset", 0, "the attribute add_offset of data is -7", .text = "-7"},
        {"_FillValue", 0, "the attribute _FillValue of data is 65535", .text = "65535"},
        {"scale_factor", 0, NULL, .text = "1.0"},
        {"scale_factor", 0, "the attribute scale_factor of data is not one number: values are",
         .text = "0,1"},
        {"scale_factor", 2, "the attribute scale_factor of data is not one number", .n = 3},
        {"scale", 0, NULL, .text = "linear"},
        {"scale", 2, NULL, .n = 3}, /* of axes */
        {"offset", 2, NULL, .n = 3},
        {"downscale", 2, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_scan(NULL, 0);
        const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT),
                    frames = H5Dopen2(file, "/entry/instrument/detector/data", H5P_DEFAULT);
        if (cases[i].text)
            ts_scan_file_text(frames, cases[i].name, cases[i].text);
        else
            put_numbers(frames, cases[i].name, cases[i].n ? cases[i].n : 1,
                        (const double[]){cases[i].value, cases[i].value, cases[i].value});
        H5Dclose(frames);
        cr_assert(H5Fclose(file) >= 0);
        struct source *source = open_scan(FRAMES_PROJECTIONS);
        cr_expect_eq(count_warnings("field-unused"), cases[i].warning != NULL, "row %zu, %s", i,
                     cases[i].name);
        if (cases[i].warning)
            expect_record("field-unused", cases[i].warning);
        source->ops->close(source);
    }
}

/* Fields that are read as numbers, and are stored as other ones. */
Test(nexus_fields, attributes_that_scale_a_field_are_warned_of)
{
    static const struct extra exposure = {'d', "count_time", 0, {1}, "s"};
    static const struct {
        const char *path, *name;
        double value;
        const char *warning; /* NULL: it changes nothing */
    } cases[] = {
        {"sample/rotation_angle", "offset", 90,
         "the attribute offset of rotation_angle is 90: values are taken as"},
        {"sample/rotation_angle", "scaling_factor", 0.5,
         "the attribute scaling_factor of rotation_angle is 0.5"},
        {"sample/rotation_angle", "scale_factor", 0.01,
         "the attribute scale_factor of rotation_angle is 0.01"},
        {"sample/rotation_angle", "scale_factor", 1, NULL},
        {"sample/rotation_angle", "add_offset", 0, NULL},
        {"sample/rotation_angle", "vector", 2, NULL},
        {"instrument/detector/x_pixel_size", "scale_factor", 10,
         "the attribute scale_factor of x_pixel_size is 10"},
        {"instrument/detector/y_pixel_size", "scaling", 3,
         "the attribute scaling of y_pixel_size is 3"},
        {"instrument/detector/count_time", "add_offset", 1,
         "the attribute add_offset of count_time is 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[128];
        make_scan(&exposure, 1);
        snprintf(path, sizeof path, "/entry/%s", cases[i].path);
        const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT),
                    field = H5Dopen2(file, path, H5P_DEFAULT);
        put_numbers(field, cases[i].name, 1, &cases[i].value);
        H5Dclose(field);
        cr_assert(H5Fclose(file) >= 0);
        struct source *source = open_scan(FRAMES_PROJECTIONS);
        cr_expect_eq(count_warnings("field-unused"), cases[i].warning != NULL, "%s %s", path,
                     cases[i].name);
        if (cases[i].warning)
            expect_record("field-unused", cases[i].warning);
        source->ops->close(source);
    }
}

Test(nexus_fields, depends_on_is_followed_from_axis_to_axis)
{
    static const struct extra chain[] = {
        {'d', "depends_on", .text = "/entry/instrument/stage/y"},
        {'a', "y", 0, {0}, "mm", "translation", "flip", .vector = {0, 1, 0}},
        {'a', "flip", 0, {180}, "deg", "rotation", ".", .vector = {0, 1, 0}},
    };
    static const struct extra endless[] = {
        {'d', "depends_on", .text = "/entry/instrument/stage/a"},
        {'a', "a", 0, {0}, "mm", "translation", "b", .vector = {0, 1, 0}},
        {'a', "b", 0, {0}, "mm", "translation", "a", .vector = {0, 1, 0}},
    };
    make_scan(chain, 3);
    struct source *source = open_scan(FRAMES_PROJECTIONS);
    expect_record("field-unused", "/entry/instrument/stage/flip of the detector turns it by 180");
    cr_assert_eq(count_warnings("field-unused"), 1);
    source->ops->close(source);
    make_scan(endless, 3);
    source = open_scan(FRAMES_PROJECTIONS);
    cr_assert_eq(count_warnings("field-unused"), 0);
    source->ops->close(source);
}

/* The distances of columns and rows are these, in um. */
static void expect_pixels(const struct extra *extras, int n, double column, double row,
                          const char *code, const char *text)
{
    make_scan(extras, n);
    struct source *source = open_scan(FRAMES_PROJECTIONS);
    cr_assert_float_eq(source->image.axes[2].spacing, column * 1e-3, 1e-12);
    cr_assert_float_eq(source->image.axes[0].spacing, row * 1e-3, 1e-12);
    if (code)
        expect_record(code, text);
    else
        cr_assert_eq(ts_diag_count(ts_scan_file.diag), 0);
    source->ops->close(source);
}

Test(nexus_fields, the_pixel_size_is_that_of_the_sample)
{
    static const struct extra of_sample[] = {{'s', "x_pixel_size", 0, {6.5e-8}, "m"},
                                             {'s', "y_pixel_size", 0, {70}, "nm"}},
                              magnified[] = {{'d', "x_magnified_pixel_size", 0, {0.65}, "um"},
                                             {'d', "y_magnified_pixel_size", 0, {0.65}, "um"}},
                              same[] = {{'s', "x_pixel_size", 0, {1e-6}, "m"},
                                        {'s', "y_pixel_size", 0, {1e-6}, "m"}},
                              zero[] = {{'s', "x_pixel_size", 0, {0}, "m"},
                                        {'s', "y_pixel_size", 0, {1e-7}, "m"}},
                              single[] = {{'s', "x_pixel_size", 0, {1e-7}, "m"}},
                              no_unit[] = {{'s', "x_pixel_size", 0, {1e-7}},
                                           {'s', "y_pixel_size", 0, {1e-7}}};
    expect_pixels(
        of_sample, 2, 0.065, 0.07, "pixel-size-sample",
        "a pixel is 7e-05 x 6.5e-05 mm of the sample and 0.001 x 0.001 mm of the detector");
    expect_pixels(magnified, 2, 0.65, 0.65, "pixel-size-sample", "the sample's are used");
    expect_pixels(same, 2, 1, 1, NULL, NULL);
    expect_pixels(zero, 2, 1, 1, "field-unused",
                  "x_pixel_size of the sample is no positive length");
    expect_pixels(single, 1, 1, 1, "field-unused",
                  "y_pixel_size of the sample is no positive length");
    expect_pixels(no_unit, 2, 1, 1, "field-unused", "of the sample is no positive length");
}

Test(nexus_fields, diverging_rays_are_warned_of_with_a_beam_that_reads_them)
{
    static const struct extra micro_ct[] = {{'o', "distance", 0, {-100}, "mm"},
                                            {'d', "distance", 0, {0.3}, "m"}},
                              synchrotron[] = {{'o', "distance", 0, {-145}, "m"},
                                               {'d', "distance", 0, {0.2}, "m"}};
    static struct program_outcome outcome;
    char chain[800];
    make_scan(synchrotron, 2);
    struct source *source = open_scan(FRAMES_PROJECTIONS);
    cr_assert_eq(count_warnings("field-unused"), 0);
    source->ops->close(source);
    make_scan(micro_ct, 2);
    source = open_scan(FRAMES_PROJECTIONS);
    expect_record("field-unused", "the rays diverge, by a magnification of 4,");
    source->ops->close(source);
    snprintf(chain, sizeof chain,
             "nexus %s beam=fan-flat source_axis=100 source_detector=400 | statistics | hdf5 o.h5",
             ts_scan_file.path); /* as the hint says */
    ts_program_run(ts_scan_file.folder, ARGUMENTS("check", chain, "--device", "cpu"), &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_null(strstr(outcome.err, "warning"), "%s", outcome.err);
}

/* ---- pixel_mask ------------------------------------------------------------------------------ */

static void put_mask(hid_t entry, hid_t type, int rows_of_mask, const uint32_t *values)
{
    const hsize_t n[2] = {(hsize_t)rows_of_mask, SCAN_COLUMNS};
    const hid_t group = open_place(entry, 'd'), space = H5Screate_simple(2, n, NULL);
    const hid_t dataset =
        H5Dcreate2(group, "pixel_mask", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_UINT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Gclose(group);
}

static void make_masked(hid_t type, int rows_of_mask, const uint32_t *values)
{
    hid_t entry;
    const hid_t file = begin_scan(&entry);
    put_mask(entry, type, rows_of_mask, values);
    H5Gclose(entry);
    cr_assert(H5Fclose(file) >= 0);
}

Test(nexus_fields, pixels_of_pixel_mask_are_invalid_in_every_view)
{
    static const uint32_t mask[SCAN_ROWS * SCAN_COLUMNS] = {
        [0] = 1, [3] = 2, [5] = 0x80000000U, [8] = 0x100, [14] = 16};
    static const int frames[] = {2, 3, 5};
    const hid_t types[] = {H5T_STD_U32LE, H5T_STD_U32BE};
    for (int t = 0; t < 2; t++)
        for (int64_t n = 1; n <= SCAN_ROWS; n++) {
            make_masked(types[t], SCAN_ROWS, mask);
            struct source *source = open_scan(FRAMES_PROJECTIONS);
            cr_assert(source->image.masked && ts_diag_count(ts_scan_file.diag) == 0);
            ts_scan_file_check(source, frames, n);
            for (int64_t z = 0; z < SCAN_ROWS; z++)
                for (int64_t i = 0; i < 3 * SCAN_COLUMNS; i++) {
                    const uint32_t bad = mask[z * SCAN_COLUMNS + i % SCAN_COLUMNS] & 0x7FFFFFFFU;
                    cr_assert_eq(ts_source_valid(source, z)[0] >> i & 1, bad == 0, "z %d, i %d",
                                 (int)z, (int)i);
                }
            cr_assert_eq(source->slices[0].padding_count, 6);
            cr_assert_eq(source->slices[2].padding_count, 3);
            source->ops->close(source);
        }
    struct source *flats = open_scan(FRAMES_FLATS);
    cr_assert(!flats->image.masked);
    flats->ops->close(flats);
}

Test(nexus_fields, a_mask_without_bad_pixels_changes_nothing_and_one_of_another_shape_is_warned_of)
{
    static const uint32_t good[SCAN_ROWS * SCAN_COLUMNS] = {[5] = 0x80000000U},
                                           bad[SCAN_ROWS * SCAN_COLUMNS] = {1};
    make_masked(H5T_STD_U32LE, SCAN_ROWS, good);
    struct source *source = open_scan(FRAMES_PROJECTIONS);
    cr_assert(!source->image.masked && ts_diag_count(ts_scan_file.diag) == 0);
    source->ops->close(source);
    make_masked(H5T_STD_U32LE, SCAN_ROWS - 1, bad);
    source = open_scan(FRAMES_PROJECTIONS);
    cr_assert(!source->image.masked);
    expect_record("field-unused", "pixel_mask of the detector is no array of integers");
    source->ops->close(source);
}

/* ---- what the plan says ---------------------------------------------------------------------- */

static const char *check_chain(const char *rest)
{
    static struct program_outcome outcome;
    char chain[800];
    snprintf(chain, sizeof chain, "nexus %s quantity=line_integral | %s | hdf5 o.h5",
             ts_scan_file.path, rest);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("check", chain, "--device", "cpu"), &outcome);
    return outcome.err;
}

Test(nexus_fields, a_field_of_view_of_half_the_object_needs_its_opposite_views)
{
    static const struct extra views[] = {{'d', "field_of_view", .text = "Half"},
                                         {'d', "half_acquisition", 0, {1}, .is_bool = true}},
                              full = {'d', "half_acquisition", 0, {0}, .is_bool = true};
    for (int i = 0; i < 2; i++) {
        make_scan(&views[i], 1);
        cr_assert_not_null(strstr(check_chain("fbp"), "half-not-joined"), "%s", check_chain("fbp"));
        cr_assert_null(strstr(check_chain("statistics"), "half-not-joined"));
        static struct program_outcome outcome;
        ts_program_run(ts_scan_file.folder, ARGUMENTS("info", ts_scan_file.path), &outcome);
        cr_assert_not_null(strstr(outcome.out, "field of view: half of the object"), "%s",
                           outcome.out);
    }
    make_scan(&full, 1);
    cr_assert_null(strstr(check_chain("fbp"), "half-not-joined"));
}

Test(nexus_fields, flats_of_different_beams_are_warned_of)
{
    hid_t entry;
    const hid_t file = begin_scan(&entry);
    H5Gclose(entry);
    H5Fclose(file);
    struct source *source =
        open_scan(FRAMES_FLATS); /* frames 1 and 6 of row 1: 112 and 612 on average */
    expect_record("flats-differ", "the 2 flats are not alike: their means go from 112 to 612");
    source->ops->close(source);
    source = open_scan(FRAMES_DARKS);
    cr_assert_eq(ts_diag_count(ts_scan_file.diag), 0);
    source->ops->close(source);
}

Test(nexus_fields, a_flat_among_the_darks_is_warned_of)
{
    static const int keys[SCAN_FRAMES] = {2, 1, 0, 0, 3, 0, 2};
    hid_t entry;
    const hid_t file = begin_scan(&entry),
                dataset = H5Dopen2(entry, "instrument/detector/image_key", H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, keys) >= 0);
    H5Dclose(dataset);
    H5Gclose(entry);
    H5Fclose(file);
    struct source *source = open_scan(FRAMES_DARKS);
    expect_record("darks-differ", "the 2 darks are not alike: their means go from 12 to 612");
    source->ops->close(source);
}

/* A beam that falls by a third during the scan, and detector pixels 0 and 4 that see it past the
 * object: the hint's `air` gives the transmission that a steady beam would. */
Test(nexus_fields, air_makes_up_for_a_current_that_is_not_used)
{
    enum { PIXELS = SCAN_ROWS * SCAN_COLUMNS };
    static const struct extra current = {'m', "data",
                                         EACH_FRAME(0, 0.2, 0.2, 0.18, 0.17, 0.15, 0.15), "A"};
    static const double transmission[SCAN_COLUMNS] = {1, 0.5, 0.25, 0.5, 1};
    static uint16_t frames[SCAN_FRAMES * PIXELS];
    static struct program_outcome outcome;
    char chain[1200];
    for (int f = 1; f < SCAN_FRAMES; f++) /* frame 0 is a dark of 0 */
        for (int i = 0; i < PIXELS; i++)
            frames[f * PIXELS + i] =
                (uint16_t)(200000 * current.values[f] *
                           (f == 1 || f == 6 ? 1 : transmission[i % SCAN_COLUMNS]));
    make_scan(&current, 1);
    const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/entry/instrument/detector/data", H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, frames) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    snprintf(chain, sizeof chain,
             "tomostage: 2\ninput: {nexus: %s}\ninputs: {flats: {nexus: %s, frames: flats}, darks: "
             "{nexus: %s, frames: darks}}\nstages: [flat_field: {flats: flats, darks: darks}, air: "
             "{detectors: 1}]\noutput: {hdf5: r.h5}\n",
             ts_scan_file.path, ts_scan_file.path, ts_scan_file.path);
    ts_test_chain_runs(chain, ts_scan_file.folder);
    size_t n;
    snprintf(chain, sizeof chain, "%s/r.h5", ts_scan_file.folder);
    double *found = ts_test_read_hdf5_at(chain, "/entry/data/data", &n);
    cr_assert_eq(n, (size_t)(SCAN_ROWS * 3 * SCAN_COLUMNS));
    for (size_t i = 0; i < n; i++)
        cr_assert_float_eq(found[i], transmission[i % SCAN_COLUMNS], 1e-4, "value %zu: %g", i,
                           found[i]);
    free(found);
    ts_program_run(ts_scan_file.folder, ARGUMENTS("info", ts_scan_file.path), &outcome);
    cr_assert_not_null(strstr(outcome.err, "data of the control goes from 0.15 to 0.2 A"), "%s",
                       outcome.err);
}

Test(nexus_fields, the_flip_and_the_pixel_size_of_the_hints_do_what_the_fields_say)
{
    static const struct extra mirrored = {'d', "x_flipped", 0, {1}},
                              magnified = {'d', "magnification", 0, {10}};
    char chain[800];
    size_t n;
    make_scan(&mirrored, 1);
    snprintf(chain, sizeof chain,
             "tomostage: 2\ninput: {nexus: %s}\nstages: [flip: {}]\noutput: {hdf5: r.h5}\n",
             ts_scan_file.path);
    ts_test_chain_runs(chain, ts_scan_file.folder);
    snprintf(chain, sizeof chain, "%s/r.h5", ts_scan_file.folder);
    double *found = ts_test_read_hdf5_at(chain, "/entry/data/data", &n);
    for (int d = 0; d < SCAN_COLUMNS; d++) /* frame 2, row 0 */
        cr_assert_eq(found[d], 200 + SCAN_COLUMNS - 1 - d);
    free(found);
    make_scan(&magnified, 1);
    struct source *source = open_scan(FRAMES_PROJECTIONS);
    cr_assert_str_eq(ts_diag_get(ts_scan_file.diag, 0)->hint,
                     "pixel_size: 0.0001, in mm, where they are those of the detector");
    source->ops->close(source);
    struct param_set set = {.params = nexus_format.params,
                            .n_params = nexus_format.n_params,
                            .values = &nexus_values,
                            .owner = "input"};
    nexus_values.pixel_size = 0.0001;
    ts_scan_file_give(&set, "pixel_size");
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[2].spacing == 0.0001 && ts_diag_count(ts_scan_file.diag) == 0);
    source->ops->close(source);
}
