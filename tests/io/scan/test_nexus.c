/* SPDX-License-Identifier: Apache-2.0
 *
 * NXtomo files as sources, in every storage that is read, and what is refused with its words.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/scan/hdf5_info.h"
#include "io/scan/nexus.h"
#include "io/scan/projections.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

TestSuite(nexus, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

static struct nexus_params nexus_values;

static void put_definition(hid_t entry, const char *text, bool variable)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    const hid_t dataset =
        H5Dcreate2(entry, "definition", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       variable ? (const void *)&text : text) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

/* The members of this struct state how a file differs from a good NXtomo file. */
struct scan {
    const struct scan_storage *storage;
    const char *definition, *angle_units, *pixel_units;
    double keys[SCAN_FRAMES + 3], angles[SCAN_FRAMES + 3];
    int n_keys, n_angles;
    bool in_data; /* rotation_angle in NXdata, as DLS does */
    bool subentry, no_pixel_size, variable;
    bool twice;           /* a second entry that follows NXtomo */
    const char *external; /* the frames are a link to this file */
    double axis;          /* 0: 2.25 */
    int n_control;        /* 0: no image_key_control */
    double control[SCAN_FRAMES];
};

static const struct scan good = {.definition = "NXtomo",
                                 .angle_units = "degree",
                                 .pixel_units = "um",
                                 .keys = {2, 1, 0, 0, 3, 0, 1},
                                 .angles = {0, 0, 10, 20, 25, 45.5, 45.5},
                                 .n_keys = SCAN_FRAMES,
                                 .n_angles = SCAN_FRAMES};

static void make_scan(const struct scan *scan)
{
    static const double column_size = 3.5, row_size = 4.5;
    const double axis = scan->axis != 0 ? scan->axis : 2.25;
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t top = ts_scan_file_group(file, "entry1", "NXentry");
    const hid_t entry = scan->subentry ? ts_scan_file_group(top, "tomo_entry", "NXsubentry") : top;
    const hid_t instrument = ts_scan_file_group(entry, "instrument", "NXinstrument");
    const hid_t detector = ts_scan_file_group(instrument, "detector", "NXdetector");
    const hid_t holder = ts_scan_file_group(entry, "holder", scan->in_data ? "NXdata" : "NXsample");
    if (scan->definition)
        put_definition(entry, scan->definition, scan->variable);
    if (scan->external)
        cr_assert(H5Lcreate_external(scan->external, "/frames", detector, "data", H5P_DEFAULT,
                                     H5P_DEFAULT) >= 0);
    else
        ts_scan_file_frames(detector, "data", SCAN_FRAMES, scan->storage);
    if (scan->n_keys)
        ts_scan_file_numbers(detector, "image_key", scan->n_keys, scan->keys, NULL);
    if (scan->n_control)
        ts_scan_file_numbers(detector, "image_key_control", scan->n_control, scan->control, NULL);
    if (scan->n_angles)
        ts_scan_file_numbers(holder, "rotation_angle", scan->n_angles, scan->angles,
                             scan->angle_units);
    if (!scan->no_pixel_size) {
        ts_scan_file_numbers(detector, "x_pixel_size", 0, &column_size, scan->pixel_units);
        ts_scan_file_numbers(detector, "y_pixel_size", 0, &row_size, scan->pixel_units);
    }
    ts_scan_file_numbers(detector, "x_rotation_axis_pixel_position", 0, &axis, NULL);
    H5Gclose(holder);
    H5Gclose(detector);
    H5Gclose(instrument);
    if (scan->subentry)
        H5Gclose(entry);
    if (scan->twice) {
        const hid_t second = ts_scan_file_group(file, "entry2", "NXentry");
        put_definition(second, scan->definition, false);
        H5Gclose(second);
    }
    H5Gclose(top);
    cr_assert(H5Fclose(file) >= 0);
}

static struct param_set nexus_set(void)
{
    struct param_set set = {.params = nexus_format.params,
                            .n_params = nexus_format.n_params,
                            .values = &nexus_values,
                            .owner = "input"};
    nexus_values = (struct nexus_params){0};
    ts_params_init(&set);
    nexus_values.nexus = ts_scan_file.path;
    return set;
}

static void refuse_scan(const struct scan *scan, const char *code, const char *text)
{
    struct param_set set = nexus_set();
    struct source *source = NULL;
    make_scan(scan);
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT, "%s", code);
    cr_assert_null(source);
    ts_test_expect(ts_scan_file.diag, code, text);
}

Test(nexus, gives_a_sinogram_with_angles_and_sizes)
{
    static const int frames[] = {2, 3, 5};
    struct param_set set = nexus_set();
    struct source *source;
    make_scan(&good);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    const struct ts_image *image = &source->image;
    cr_assert(image->rank == 3 && image->dtype == TS_U16 && image->quantity == TS_COUNTS);
    cr_assert(image->axes[0].kind == TS_AXIS_Z && image->axes[0].n == SCAN_ROWS &&
              source->n_slices == SCAN_ROWS);
    cr_assert(image->axes[1].kind == TS_AXIS_VIEW && image->axes[1].n == 3);
    cr_assert(image->axes[2].kind == TS_AXIS_DETECTOR && image->axes[2].n == SCAN_COLUMNS);
    cr_assert_float_eq(image->axes[0].spacing, 0.0045, 1e-15);
    cr_assert_float_eq(image->axes[2].spacing, 0.0035, 1e-15);
    cr_assert_float_eq(image->axes[2].first, -2 * 0.0035, 1e-15);
    cr_assert_str_eq(image->axes[2].unit, "mm");
    cr_assert_str_eq(image->axes[1].unit, "degree");
    cr_assert(image->axes[1].positions[0] == 10 && image->axes[1].positions[2] == 45.5);
    ts_scan_file_check(source, frames, SCAN_ROWS);
    cr_assert_eq(strlen(source->slices[SCAN_ROWS - 1].pixel_sha256), 64);
    bool found = false;
    for (size_t i = 0; i < source->n_attributes; i++)
        found |= !strcmp(source->attributes[i].name, "x_rotation_axis_pixel_position") &&
                 !strcmp(source->attributes[i].value, "2.25");
    cr_assert(found);
    source->ops->close(source);
}

/* There is an angle for each projection only, or image_key lists frames that are elsewhere. */
Test(nexus, takes_angles_of_projections)
{
    static const struct {
        double keys[SCAN_FRAMES + 3], angles[SCAN_FRAMES + 3];
        int n_keys, n_angles, n_views;
        bool in_data;
        const char *code;
        enum ts_severity severity;
        double right[SCAN_FRAMES];
    } rows[] = {
        {{2, 1, 0, 0, 3, 0, 1},
         {10, 20, 45.5},
         7,
         3,
         3,
         false,
         "angle-count",
         TS_NOTE,
         {10, 20, 45.5}},
        {{2, 1, 0, 0, 3, 0, 1}, {-5, 2, 7}, 7, 3, 3, true, "angle-count", TS_NOTE, {-5, 2, 7}},
        {{0, 0, 0, 0, 0, 0, 1},
         {1, 2, 3, 5, 8, 9},
         7,
         6,
         6,
         false,
         "angle-count",
         TS_NOTE,
         {1, 2, 3, 5, 8, 9}},
        {{2, 0, 0, 0, 1, 0, 0, 0, 0, 1},
         {-1, 1, 2, 3, -1, 5, 8, 9, 10, -1},
         10,
         10,
         7,
         false,
         "image-key",
         TS_WARNING,
         {1, 2, 3, 5, 8, 9, 10}},
        {{2, 0, 0, 0, 1, 0, 0, 0, 0, 1},
         {1, 2, 3, 5, 8, 9, 10},
         10,
         7,
         7,
         false,
         "image-key",
         TS_WARNING,
         {1, 2, 3, 5, 8, 9, 10}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scan scan = good;
        struct param_set set = nexus_set();
        struct source *source;
        memcpy(scan.keys, rows[i].keys, sizeof scan.keys);
        memcpy(scan.angles, rows[i].angles, sizeof scan.angles);
        scan.n_keys = rows[i].n_keys;
        scan.n_angles = rows[i].n_angles;
        scan.in_data = rows[i].in_data;
        make_scan(&scan);
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK, "row %zu: %s", i,
                     ts_diag_first_error(ts_scan_file.diag));
        const struct ts_diag_record *record = ts_test_record(ts_scan_file.diag, rows[i].code);
        cr_assert_not_null(record, "row %zu", i);
        cr_expect_eq(record->severity, rows[i].severity, "row %zu", i);
        cr_assert_eq(source->image.axes[1].n, rows[i].n_views, "row %zu", i);
        for (int v = 0; v < rows[i].n_views; v++)
            cr_expect_eq(ts_axis_position(&source->image.axes[1], v), rows[i].right[v],
                         "row %zu, view %d", i, v);
        source->ops->close(source);
    }
    struct scan scan = good;
    scan.n_angles = 2;
    refuse_scan(&scan, "angle-count", "rotation_angle has 2 angles, expected 7");
    scan = good;
    scan.n_keys = 10;
    memset(scan.keys, 0, sizeof scan.keys);
    refuse_scan(&scan, "image-key", "image_key has 10 values, expected 7");
}

Test(nexus, gives_flats_and_darks_by_their_frame_numbers)
{
    static const int flats[] = {1, 6}, darks[] = {0};
    struct param_set set = nexus_set();
    struct source *source;
    make_scan(&good);
    nexus_values.frames = FRAMES_FLATS;
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[1].n == 2 && source->image.axes[1].positions[1] == 6);
    cr_assert_str_eq(source->image.axes[1].unit, "");
    ts_scan_file_check(source, flats, 1);
    source->ops->close(source);
    nexus_values.frames = FRAMES_DARKS;
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    ts_scan_file_check(source, darks, 2);
    source->ops->close(source);
}

Test(nexus, reads_every_type_and_storage)
{
    static const int frames[] = {2, 3, 5};
    const hid_t types[] = {H5T_STD_U16LE,  H5T_STD_U16BE,  H5T_STD_I16BE,
                           H5T_STD_I32LE,  H5T_STD_U32BE,  H5T_IEEE_F32LE,
                           H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_IEEE_F64LE};
    const struct scan_storage storages[] = {
        {.chunk = {0, 0, 0}},
        {.chunk = {1, SCAN_ROWS, SCAN_COLUMNS}},
        {.chunk = {2, 2, 3}, .deflate = true},
        {.chunk = {3, 1, SCAN_COLUMNS}, .shuffle = true, .deflate = true},
        {.chunk = {1, 2, 4}, .shuffle = true, .deflate = true, .fletcher32 = true},
        {.chunk = {SCAN_FRAMES, SCAN_ROWS, 2}, .fletcher32 = true},
        {.chunk = {4, 2, SCAN_COLUMNS}, .fletcher32_first = true, .deflate = true},
    };
    int n_checked = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof storages / sizeof *storages; s++)
            for (int64_t rows = 1; rows <= SCAN_ROWS; rows++, n_checked++) {
                struct scan_storage storage = storages[s];
                struct scan scan = good;
                struct param_set set = nexus_set();
                struct source *source;
                storage.type = types[t];
                scan.storage = &storage;
                scan.variable = s % 2;
                make_scan(&scan);
                cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK,
                             "type %zu, storage %zu", t, s);
                ts_scan_file_check(source, frames, rows);
                source->ops->close(source);
            }
    cr_assert_eq(n_checked, 9 * 7 * 3);
}

Test(nexus, finds_what_facilities_write)
{
    static const int frames[] = {2, 3, 5};
    struct scan scan = good;
    struct param_set set = nexus_set();
    struct source *source;
    scan.subentry = scan.in_data = scan.no_pixel_size = true;
    scan.angle_units = "rad";
    for (int i = 0; i < SCAN_FRAMES; i++)
        scan.angles[i] *= 0.25;
    make_scan(&scan);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert_float_eq(source->image.axes[1].positions[0], 2.5 * 180 / 3.14159265358979323846,
                       1e-9);
    cr_assert_str_eq(source->image.axes[2].unit, "pixel");
    ts_scan_file_check(source, frames, SCAN_ROWS);
    source->ops->close(source);
    nexus_values.data = "/entry1/tomo_entry/instrument/detector/data";
    nexus_values.image_key = "/entry1/tomo_entry/instrument/detector/image_key";
    nexus_values.angles = "/entry1/tomo_entry/holder/rotation_angle";
    nexus_values.pixel_size = 0.25;
    nexus_values.angle_unit = ANGLE_UNIT_DEGREE;
    ts_scan_file_give(&set, "pixel_size");
    scan.definition = NULL;
    make_scan(&scan);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[1].positions[0] == 2.5 && source->image.axes[0].spacing == 0.25);
    source->ops->close(source);
}

/* More than two turns in radians are degrees that are called so, unless the chain says radians
 * itself. */
Test(nexus, degrees_that_are_called_radians_are_caught)
{
    const double pi = 3.14159265358979323846;
    struct scan scan = good;
    struct source *source;
    scan.angle_units = "rad";
    scan.angles[5] = 178.5 + scan.angles[2];
    refuse_scan(&scan, "angle-turns",
                "the 3 angles are called radians and have a range of 178.5, 28.41 turns");
    for (int i = 0; i < 2; i++) {
        struct param_set set = nexus_set();
        nexus_values.angle_unit = i ? ANGLE_UNIT_RADIAN : ANGLE_UNIT_DEGREE;
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        cr_assert_float_eq(source->image.axes[1].positions[2], 188.5 * (i ? 180 / pi : 1), 1e-9);
        source->ops->close(source);
        if (i)
            ts_test_expect_warning(ts_scan_file.diag, "angle-turns", "28.41 turns");
        else
            cr_assert_eq(ts_diag_count(ts_scan_file.diag), 0);
    }
}

/* numpy's default integer has 64 bits. */
Test(nexus, keys_of_64_bits_are_read)
{
    static const int frames[] = {2, 3, 5};
    static const int64_t keys[SCAN_FRAMES] = {2, 1, 0, 0, 3, 0, 1},
                         negative[SCAN_FRAMES] = {2, 1, 0, -1};
    const hid_t types[] = {H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U64LE, H5T_STD_U64BE};
    static const char path[] = "/entry1/instrument/detector/image_key";
    struct param_set set = nexus_set();
    struct source *source;
    for (int i = 0; i < 5; i++) {
        make_scan(&good);
        const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT);
        ts_scan_file_integers(file, path, types[i % 4], SCAN_FRAMES, i < 4 ? keys : negative);
        H5Fclose(file);
        if (i == 4)
            break;
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK, "type %d", i);
        ts_scan_file_check(source, frames, SCAN_ROWS);
        source->ops->close(source);
    }
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "image-key", "image_key of frame 3 is -1, expected 0");
}

/* Frames taken again at earlier angles have the key of a projection, and -1 beside it. */
/* Frame 4 is invalid by its key, and frame 3 is a projection. */
Test(nexus, frames_that_are_not_read_need_not_be_there)
{
    static const int frames[] = {2, 3, 5};
    const struct scan_storage rows[] = {
        {.type = H5T_STD_U16LE, .chunk = {1, SCAN_ROWS, SCAN_COLUMNS}},
        {.type = H5T_STD_U16LE, .chunk = {1, 2, 2}},
        {.type = H5T_STD_U16LE, .chunk = {1, SCAN_ROWS, SCAN_COLUMNS}, .deflate = true},
        {.type = H5T_STD_U16LE, .elsewhere = true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scan_storage storage = rows[i];
        struct scan scan = good;
        struct param_set set = nexus_set();
        struct source *source = NULL;
        scan.storage = &storage;
        for (storage.unwritten = 4; storage.unwritten >= 3; storage.unwritten--) {
            const bool lost = storage.unwritten == 3;
            uint16_t values[SCAN_FRAMES * SCAN_COLUMNS];
            make_scan(&scan);
            ts_diag_clear(ts_scan_file.diag);
            enum ts_status status = nexus_format.open(&set, &source, ts_scan_file.diag);
            if (lost && status == TS_OK)
                status = source->ops->read(source, 0, 1, values, ts_scan_file.diag);
            cr_assert_eq(status, lost ? TS_BAD_INPUT : TS_OK, "row %zu", i);
            if (lost)
                ts_test_expect(ts_scan_file.diag,
                               storage.elsewhere ? "hdf5-source-missing" : "hdf5-not-written",
                               storage.elsewhere ? "index 3"
                                                 : "1 of the 3 views in data were never written, "
                                                   "from number 1 to 1");
            else
                ts_scan_file_check(source, frames, SCAN_ROWS);
            if (source)
                source->ops->close(source);
        }
    }
}

Test(nexus, alignment_frames_are_left_out)
{
    static const int frames[] = {2, 5};
    static const double control[] = {2, 1, 0, -1, 3, 0, 1};
    struct scan scan = good;
    struct param_set set = nexus_set();
    struct source *source;
    scan.n_control = SCAN_FRAMES;
    memcpy(scan.control, control, sizeof control);
    make_scan(&scan);
    for (int i = 0; i < 2; i++) {
        ts_diag_clear(ts_scan_file.diag);
        nexus_values.image_key = i ? "/entry1/instrument/detector/image_key" : "";
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        cr_assert_eq(source->image.axes[1].n, 2);
        cr_assert_eq(source->image.axes[1].positions[1], 45.5);
        ts_scan_file_check(source, frames, SCAN_ROWS);
        source->ops->close(source);
        cr_assert_eq(ts_diag_count(ts_scan_file.diag), 1);
        cr_assert_str_eq(ts_diag_get(ts_scan_file.diag, 0)->code, "frames-alignment");
        cr_assert(strstr(ts_diag_get(ts_scan_file.diag, 0)->message,
                         "1 alignment frames (image_key_control -1)"));
    }
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    cr_assert_eq(ts_hdf5_info(ts_scan_file.path, false, true, out, ts_scan_file.diag), TS_OK);
    fclose(out);
    cr_assert(
        strstr(text, "frames: 2 projections, 2 flats, 1 darks, 1 invalid, 1 alignment (left out)"),
        "%s", text);
    free(text);
    scan.control[1] = 0;
    refuse_scan(&scan, "image-key", "image_key_control of frame 1 is 0, and its image_key is 1");
    scan.control[1] = -1;
    refuse_scan(&scan, "image-key", "image_key_control of frame 1 is -1, and its image_key is 1");
    scan.control[1] = 1;
    scan.n_control = 5;
    refuse_scan(&scan, "image-key", "image_key_control has 5 values, expected 7");
}

/* Axes of length 1, with which MATLAB and others write lists, do not count. */
Test(nexus, lists_may_be_rows_or_columns)
{
    static const struct {
        int rank;
        hsize_t shape[3], chunk[3];
    } rows[] = {{2, {SCAN_FRAMES, 1}, {0}},         {2, {1, SCAN_FRAMES}, {0}},
                {3, {1, SCAN_FRAMES, 1}, {0}},      {2, {SCAN_FRAMES, 1}, {3, 1}},
                {2, {1, SCAN_FRAMES}, {1, 3}},      {2, {1, SCAN_FRAMES}, {4, 2}},
                {3, {1, 1, SCAN_FRAMES}, {1, 2, 3}}};
    static const char *const lists[] = {"/entry1/holder/rotation_angle",
                                        "/entry1/instrument/detector/image_key"};
    static const int frames[] = {2, 3, 5};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct param_set set = nexus_set();
        struct source *source;
        make_scan(&good);
        for (size_t k = 0; k < 2; k++)
            ts_scan_file_reshape(lists[k], rows[i].rank, rows[i].shape, rows[i].chunk);
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK, "row %zu", i);
        const double *positions = source->image.axes[1].positions;
        cr_expect(positions[0] == 10 && positions[1] == 20 && positions[2] == 45.5, "row %zu", i);
        ts_scan_file_check(source, frames, SCAN_ROWS);
        source->ops->close(source);
    }
    struct scan scan = good;
    scan.n_angles = 6;
    struct param_set set = nexus_set();
    struct source *source = NULL;
    make_scan(&scan);
    ts_scan_file_reshape(lists[0], 2, (const hsize_t[]){3, 2}, (const hsize_t[]){0});
    cr_expect_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-rank", "rotation_angle has 2 axes, expected 1");
}

Test(nexus, refuses_with_its_own_words)
{
    struct scan scan = good;
    scan.definition = "NXmx";
    refuse_scan(&scan, "nexus-no-entry", "no entry follows NXtomo");
    scan = good;
    scan.n_angles = 6;
    refuse_scan(&scan, "angle-count", "rotation_angle has 6 angles, expected 7");
    scan = good;
    scan.n_angles = 0;
    refuse_scan(&scan, "angles-missing", "there is no rotation_angle");
    scan = good;
    scan.angles[3] = NAN;
    refuse_scan(&scan, "angle-not-finite", "the angle of view 1 is nan");
    scan = good;
    scan.angle_units = NULL;
    refuse_scan(&scan, "angle-unit", "not given, expected degree or radian");
    scan = good;
    scan.angle_units = "turn";
    refuse_scan(&scan, "angle-unit", "is turn, expected degree or radian");
    scan = good;
    scan.keys[4] = 4;
    refuse_scan(&scan, "image-key", "image_key of frame 4 is 4, expected 0");
    scan = good;
    scan.n_keys = 5;
    refuse_scan(&scan, "image-key", "image_key has 5 values, expected 7");
    scan = good;
    for (int i = 0; i < SCAN_FRAMES; i++)
        scan.keys[i] = 1;
    refuse_scan(&scan, "frames-missing", "none of the 7 frames is one of the projections");
    scan = good;
    scan.pixel_units = "px";
    refuse_scan(&scan, "pixel-size", "in the unit 'px', expected a positive length in m to pm");
    scan = good;
    scan.twice = true;
    refuse_scan(&scan, "nexus-entries", "2 entries follow NXtomo, expected one");
    struct param_set set = nexus_set();
    struct source *source = NULL;
    nexus_values.entry = "/entry9";
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "nexus-entry", "there is no group /entry9");
}

Test(nexus, external_links_stay_in_the_folder)
{
    static const int frames[] = {2, 3, 5};
    char other[400], link[400];
    struct scan scan = good;
    struct param_set set = nexus_set();
    struct source *source;
    snprintf(other, sizeof other, "%s/frames.h5", ts_scan_file.folder);
    const hid_t file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ts_scan_file_frames(file, "frames", SCAN_FRAMES, NULL);
    H5Fclose(file);
    for (int absolute = 0; absolute < 2; absolute++) {
        scan.external = absolute ? other : "frames.h5";
        make_scan(&scan);
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        ts_scan_file_check(source, frames, SCAN_ROWS);
        source->ops->close(source);
    }
    scan.external = "/etc/hostname";
    refuse_scan(&scan, "hdf5-link-outside", "out of the file's folder");
    scan.external = "missing.h5";
    refuse_scan(&scan, "hdf5-link-broken",
                "leads to missing.h5, which cannot be read: No such file");
    snprintf(link, sizeof link, "%s/out.h5", ts_scan_file.folder);
    cr_assert_eq(symlink("/etc/hostname", link), 0);
    scan.external = "out.h5";
    refuse_scan(&scan, "hdf5-link-outside", "out of the file's folder");
}

static void expect_info(bool json, const char *const *parts)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(ts_hdf5_info(ts_scan_file.path, json, true, stream, ts_scan_file.diag), TS_OK);
    fclose(stream);
    for (; *parts; parts++)
        cr_assert_not_null(strstr(text, *parts), "no '%s' in:\n%s", *parts, text);
    free(text);
}

Test(nexus, info_says_what_the_scan_is)
{
    struct scan scan = good;
    make_scan(&scan);
    expect_info(false, (const char *const[]){
                           "\n  a scan in NXtomo\n",
                           "frames: 3 projections, 2 flats, 1 darks, 1 invalid\n",
                           "detector: 3 rows of 5 pixels, 0.0045 mm apart, the pixels 0.0035 mm\n",
                           "angles: 10 to 45.5 degree, unit in the file: degree\n",
                           "rotation axis: x_rotation_axis_pixel_position 2.25\n", NULL});
    expect_info(true,
                (const char *const[]){
                    "\"state\": \"a scan in NXtomo\"", "\"format\": \"NXtomo\", \"projections\": 3",
                    "\"flats\": 2, \"darks\": 1, \"invalid\": 1", "\"highest_angle_degree\": 45.5",
                    "\"column_distance_mm\": 0.0035", "\"angle_unit\": \"degree\"", NULL});
    scan.no_pixel_size = true;
    scan.angle_units = "rad";
    for (int i = 0; i < SCAN_FRAMES; i++)
        scan.angles[i] *= 3.14159265358979323846 / 180;
    make_scan(&scan);
    expect_info(false,
                (const char *const[]){"their size is not in the file\n",
                                      "angles: 10 to 45.5 degree, unit in the file: rad\n", NULL});
    scan = good;
    scan.angle_units = NULL;
    make_scan(&scan);
    expect_info(false, (const char *const[]){"\n  a scan in NXtomo\n  as an input it is refused: ",
                                             "the unit of rotation_angle is not given", NULL});
    expect_info(true,
                (const char *const[]){"\"refused\": \"", "\"state\": \"a scan in NXtomo\"", NULL});
    scan.definition = "NXmx";
    make_scan(&scan);
    expect_info(false, (const char *const[]){"\n  not a file of this program", NULL});
}

Test(nexus, units_of_length_in_any_case_and_in_full)
{
    static const struct {
        const char *name;
        double mm;
    } rows[] = {{"micrometer", 1e-3},
                {"Micrometers", 1e-3},
                {"UM", 1e-3},
                {"\xC2\xB5m", 1e-3},
                {"MM", 1},
                {"millimetre", 1},
                {"CM", 10},
                {"Meter", 1e3},
                {"NanoMeters", 1e-6},
                {"pm", 1e-9},
                {"micro", 0},
                {"", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct scan scan = good;
        struct param_set set = nexus_set();
        struct source *source;
        scan.pixel_units = rows[i].name;
        if (rows[i].mm == 0) {
            refuse_scan(&scan, "pixel-size", "expected a positive length");
            continue;
        }
        make_scan(&scan);
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK, "%s",
                     rows[i].name);
        cr_assert_float_eq(source->image.axes[2].spacing, 3.5 * rows[i].mm, 1e-12 * rows[i].mm);
        source->ops->close(source);
    }
}

/* An axis that the file puts elsewhere than in the middle of the 5 detectors is not passed over in
 * silence. */
Test(nexus, an_axis_that_nobody_takes_is_warned_of)
{
    static const struct {
        double axis;
        const char *stages;
        bool warned;
    } rows[] = {{2.25, "statistics", false},
                {2.5, "statistics", false},
                {2.75, "statistics", true},
                {1, "statistics", true},
                {1, "center center=1 | statistics", false},
                {1, "center center=2 | statistics", false},
                {1, "center center=1 convention=offset | statistics", false}};
    static struct program_outcome outcome;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char chain[800], words[200];
        struct scan scan = good;
        scan.axis = rows[i].axis;
        make_scan(&scan);
        snprintf(chain, sizeof chain, "nexus %s | %s | hdf5 o.h5", ts_scan_file.path,
                 rows[i].stages);
        const char *const arguments[] = {"check", chain, "--device", "cpu", NULL};
        ts_program_run(ts_scan_file.folder, arguments, &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
        snprintf(words, sizeof words,
                 "x_rotation_axis_pixel_position of the file is %g, and the rotation axis is taken "
                 "to stand at detector pixel 2",
                 rows[i].axis);
        cr_assert_eq(strstr(outcome.err, words) != NULL, rows[i].warned, "row %zu: %s", i,
                     outcome.err);
        snprintf(words, sizeof words, "center center=%g takes", rows[i].axis);
        cr_assert_eq(strstr(outcome.err, words) != NULL, rows[i].warned, "row %zu: %s", i,
                     outcome.err);
        cr_assert_eq(strstr(outcome.err, "convention=offset") != NULL, rows[i].warned,
                     "row %zu: %s", i, outcome.err);
    }
    cr_assert_not_null(strstr(outcome.out, "rotation axis at detector pixel 3"), "%s", outcome.out);
}

/* A number that no pixel has is a distance from the middle: the hint names nothing else. */
Test(nexus, an_axis_left_of_the_detector_is_a_distance_from_the_middle)
{
    static struct program_outcome outcome;
    char chain[800];
    struct scan scan = good;
    scan.axis = -1;
    make_scan(&scan);
    for (int given = 0; given < 2; given++) {
        snprintf(chain, sizeof chain, "nexus %s | %s | hdf5 o.h5", ts_scan_file.path,
                 given ? "center center=-1 convention=offset" : "statistics");
        const char *const arguments[] = {"check", chain, "--device", "cpu", NULL};
        ts_program_run(ts_scan_file.folder, arguments, &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
        cr_assert_null(strstr(outcome.err, "center center=-1 takes"), "%s", outcome.err);
        cr_assert_eq(strstr(outcome.err, "center center=-1 convention=offset takes") != NULL,
                     !given, "%s", outcome.err);
    }
    cr_assert_not_null(strstr(outcome.out, "rotation axis at detector pixel 1"), "%s", outcome.out);
}

/* Neither its keys nor its pixel size are those of the first. */
static void put_second_detector(bool keyed)
{
    static const double size = 7;
    const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t detector = ts_scan_file_group(file, "entry1/instrument/other", "NXdetector");
    double keys[SCAN_FRAMES] = {0};
    ts_scan_file_frames(detector, "data", SCAN_FRAMES, good.storage);
    ts_scan_file_numbers(detector, "x_pixel_size", 0, &size, good.pixel_units);
    ts_scan_file_numbers(detector, "y_pixel_size", 0, &size, good.pixel_units);
    if (keyed)
        ts_scan_file_numbers(detector, "image_key", SCAN_FRAMES, keys, NULL);
    H5Gclose(detector);
    cr_assert(H5Fclose(file) >= 0);
}

Test(nexus, of_several_detectors_one_is_read_with_its_own_pixel_size)
{
    static const struct {
        bool keyed;
        const char *data;
        int64_t n_views;
        double spacing;
        bool warned;
    } rows[] = {{true, "", 3, 0.0035, true},
                {true, "/entry1/instrument/detector/data", 3, 0.0035, false},
                {true, "/entry1/instrument/other/data", SCAN_FRAMES, 0.007, false},
                {false, "", 3, 0.0035, false},
                {false, "/entry1/instrument/other/data", 3, 0.007, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct param_set set = nexus_set();
        struct source *source;
        make_scan(&good);
        put_second_detector(rows[i].keyed);
        nexus_values.data = rows[i].data;
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(nexus_format.open(&set, &source, ts_scan_file.diag), TS_OK, "row %zu", i);
        cr_assert_eq(source->image.axes[1].n, rows[i].n_views, "row %zu", i);
        cr_assert_float_eq(source->image.axes[2].spacing, rows[i].spacing, 1e-15, "row %zu", i);
        cr_assert_eq(ts_diag_count(ts_scan_file.diag) > 0 &&
                         !strcmp(ts_diag_get(ts_scan_file.diag, 0)->code, "detectors-several"),
                     rows[i].warned, "row %zu", i);
        source->ops->close(source);
    }
}
