/* SPDX-License-Identifier: Apache-2.0
 *
 * Scans in HDF5 files as sources: NXtomo and Data Exchange, in every storage that is read, and what is refused with its
 * words. The files are made here with the library itself; frame f, row r, column c holds 100 f + 10 r + c.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/exchange.h"
#include "io/hdf5_source.h"
#include "io/nexus.h"
#include "io/projections.h"
#include "tests/support/dicom_open.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

enum { FRAMES = 7, ROWS = 3, COLUMNS = 5 };

static char folder[256], path[400];
static struct ts_diag *diag;

static void set_up(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    diag = ts_diag_create();
}

static void tear_down(void)
{
    ts_diag_destroy(diag);
    ts_program_folder_remove(folder);
}

TestSuite(projections, .init = set_up, .fini = tear_down);

/* ---- making files -------------------------------------------------------------------------------- */

static void put_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, type, text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

static hid_t put_group(hid_t parent, const char *name, const char *nx_class)
{
    const hid_t group = H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(group >= 0);
    if (nx_class)
        put_text(group, "NX_class", nx_class);
    return group;
}

static void put_numbers(hid_t group, const char *name, int n, const double *values, const char *units)
{
    const hsize_t size = (hsize_t)n;
    const hid_t space = n > 0 ? H5Screate_simple(1, &size, NULL) : H5Screate(H5S_SCALAR);
    const hid_t dataset = H5Dcreate2(group, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    if (units)
        put_text(dataset, "units", units);
    H5Dclose(dataset);
    H5Sclose(space);
}

static void put_definition(hid_t entry, const char *text, bool variable)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, variable ? H5T_VARIABLE : strlen(text));
    const hid_t dataset = H5Dcreate2(entry, "definition", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, variable ? (const void *)&text : text) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

struct storage {
    hid_t type;
    hsize_t chunk[3]; /* 0: contiguous */
    bool shuffle, deflate, fletcher32, fletcher32_first;
};

static void put_frames(hid_t group, const char *name, hsize_t frames, const struct storage *storage)
{
    const hsize_t n[3] = {frames, ROWS, COLUMNS};
    double values[FRAMES * ROWS * COLUMNS];
    const hid_t space = H5Screate_simple(3, n, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t i = 0; i < frames * ROWS * COLUMNS; i++)
        values[i] = (double)(100 * (i / (ROWS * COLUMNS)) + 10 * (i / COLUMNS % ROWS) + i % COLUMNS);
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
    const hid_t dataset =
        H5Dcreate2(group, name, storage ? storage->type : H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(dataset >= 0 && H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
}

/* What differs from a good NXtomo file. */
struct scan {
    const struct storage *storage;
    const char *definition, *angle_units, *pixel_units;
    double keys[FRAMES], angles[FRAMES];
    int n_keys, n_angles;
    bool in_data; /* rotation_angle in NXdata, as DLS does */
    bool subentry, no_pixel_size, variable;
    const char *external; /* the frames are a link to this file */
};

static const struct scan good = {.definition = "NXtomo",
                                 .angle_units = "degree",
                                 .pixel_units = "um",
                                 .keys = {2, 1, 0, 0, 3, 0, 1},
                                 .angles = {0, 0, 10, 20, 25, 45.5, 45.5},
                                 .n_keys = FRAMES,
                                 .n_angles = FRAMES};

static void make_scan(const struct scan *scan)
{
    static const double column_size = 3.5, row_size = 4.5, axis = 2.25;
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t top = put_group(file, "entry1", "NXentry");
    const hid_t entry = scan->subentry ? put_group(top, "tomo_entry", "NXsubentry") : top;
    const hid_t instrument = put_group(entry, "instrument", "NXinstrument");
    const hid_t detector = put_group(instrument, "detector", "NXdetector");
    const hid_t holder = put_group(entry, "holder", scan->in_data ? "NXdata" : "NXsample");
    if (scan->definition)
        put_definition(entry, scan->definition, scan->variable);
    if (scan->external)
        cr_assert(H5Lcreate_external(scan->external, "/frames", detector, "data", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    else
        put_frames(detector, "data", FRAMES, scan->storage);
    if (scan->n_keys)
        put_numbers(detector, "image_key", scan->n_keys, scan->keys, NULL);
    if (scan->n_angles)
        put_numbers(holder, "rotation_angle", scan->n_angles, scan->angles, scan->angle_units);
    if (!scan->no_pixel_size) {
        put_numbers(detector, "x_pixel_size", 0, &column_size, scan->pixel_units);
        put_numbers(detector, "y_pixel_size", 0, &row_size, scan->pixel_units);
    }
    put_numbers(detector, "x_rotation_axis_pixel_position", 0, &axis, NULL);
    H5Gclose(holder);
    H5Gclose(detector);
    H5Gclose(instrument);
    if (scan->subentry)
        H5Gclose(entry);
    H5Gclose(top);
    cr_assert(H5Fclose(file) >= 0);
}

/* ---- opening them -------------------------------------------------------------------------------- */

static struct nexus_params nexus_values;
static struct exchange_params exchange_values;

static void give(struct param_set *set, const char *name)
{
    size_t i;
    if (name && ts_param_find(set->rows, set->n_rows, name, &i))
        set->given |= UINT32_C(1) << i;
}

static struct param_set nexus_set(void)
{
    struct param_set set = {
        .rows = nexus_format.params, .n_rows = nexus_format.n_params, .values = &nexus_values, .owner = "input"};
    nexus_values = (struct nexus_params){0};
    ts_params_init(&set);
    nexus_values.nexus = path;
    return set;
}

static struct param_set exchange_set(void)
{
    struct param_set set = {.rows = exchange_format.params,
                            .n_rows = exchange_format.n_params,
                            .values = &exchange_values,
                            .owner = "input"};
    exchange_values = (struct exchange_params){0};
    ts_params_init(&set);
    exchange_values.exchange = path;
    return set;
}

static void refuse_scan(const struct scan *scan, const char *code, const char *text)
{
    struct param_set set = nexus_set();
    struct source *source = NULL;
    make_scan(scan);
    ts_diag_clear(diag);
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_BAD_INPUT, "%s", code);
    cr_assert_null(source);
    ts_test_expect(diag, code, text);
}

/* All values, read in slabs of n rows, are those of these frames. */
static void check_values(struct source *source, const int *frames, int64_t n_rows)
{
    const struct ts_image *image = &source->image;
    const size_t count = ts_image_count(image);
    unsigned char *data = malloc(ts_image_bytes(image));
    double *values = malloc(count * sizeof *values);
    for (int64_t z = 0; z < source->n_slices; z += n_rows) {
        const int64_t n = source->n_slices - z < n_rows ? source->n_slices - z : n_rows;
        cr_assert_eq(source->ops->read(source, z, n, data + (size_t)z * ts_slice_bytes(image), diag), TS_OK);
    }
    ts_load_f64(values, data, image->dtype, count);
    for (int64_t z = 0; z < ROWS; z++)
        for (int64_t v = 0; v < image->axes[1].n; v++)
            for (int64_t c = 0; c < COLUMNS; c++)
                cr_assert_eq(values[(z * image->axes[1].n + v) * COLUMNS + c], (double)(100 * frames[v] + 10 * z + c),
                             "row %d, view %d, column %d", (int)z, (int)v, (int)c);
    free(values);
    free(data);
}

/* ---- NXtomo -------------------------------------------------------------------------------------- */

Test(projections, nexus_gives_a_sinogram_with_angles_and_sizes)
{
    static const int frames[] = {2, 3, 5};
    struct param_set set = nexus_set();
    struct source *source;
    make_scan(&good);
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK);
    const struct ts_image *image = &source->image;
    cr_assert(image->rank == 3 && image->dtype == TS_U16 && image->quantity == TS_COUNTS);
    cr_assert(image->axes[0].kind == TS_AXIS_Z && image->axes[0].n == ROWS && source->n_slices == ROWS);
    cr_assert(image->axes[1].kind == TS_AXIS_VIEW && image->axes[1].n == 3);
    cr_assert(image->axes[2].kind == TS_AXIS_DETECTOR && image->axes[2].n == COLUMNS);
    cr_assert_float_eq(image->axes[0].spacing, 0.0045, 1e-15);
    cr_assert_float_eq(image->axes[2].spacing, 0.0035, 1e-15);
    cr_assert_float_eq(image->axes[2].first, -2 * 0.0035, 1e-15);
    cr_assert_str_eq(image->axes[2].unit, "mm");
    cr_assert_str_eq(image->axes[1].unit, "degree");
    cr_assert(image->axes[1].positions[0] == 10 && image->axes[1].positions[2] == 45.5);
    check_values(source, frames, ROWS);
    cr_assert_eq(strlen(source->slices[ROWS - 1].pixel_sha256), 64);
    bool found = false;
    for (size_t i = 0; i < source->n_attributes; i++)
        found |= !strcmp(source->attributes[i].name, "x_rotation_axis_pixel_position") &&
                 !strcmp(source->attributes[i].value, "2.25");
    cr_assert(found);
    source->ops->close(source);
}

Test(projections, nexus_gives_flats_and_darks_by_their_frame_numbers)
{
    static const int flats[] = {1, 6}, darks[] = {0};
    struct param_set set = nexus_set();
    struct source *source;
    make_scan(&good);
    nexus_values.frames = FRAMES_FLATS;
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK);
    cr_assert(source->image.axes[1].n == 2 && source->image.axes[1].positions[1] == 6);
    cr_assert_str_eq(source->image.axes[1].unit, "");
    check_values(source, flats, 1);
    source->ops->close(source);
    nexus_values.frames = FRAMES_DARKS;
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK);
    check_values(source, darks, 2);
    source->ops->close(source);
}

Test(projections, nexus_reads_every_type_and_storage)
{
    static const int frames[] = {2, 3, 5};
    const hid_t types[] = {H5T_STD_U16LE,  H5T_STD_U16BE,  H5T_STD_I16BE,  H5T_STD_I32LE, H5T_STD_U32BE,
                           H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_IEEE_F64LE};
    const struct storage storages[] = {
        {.chunk = {0, 0, 0}},
        {.chunk = {1, ROWS, COLUMNS}},
        {.chunk = {2, 2, 3}, .deflate = true},
        {.chunk = {3, 1, COLUMNS}, .shuffle = true, .deflate = true},
        {.chunk = {1, 2, 4}, .shuffle = true, .deflate = true, .fletcher32 = true},
        {.chunk = {FRAMES, ROWS, 2}, .fletcher32 = true},
        {.chunk = {4, 2, COLUMNS}, .fletcher32_first = true, .deflate = true},
    };
    int n_checked = 0;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t s = 0; s < sizeof storages / sizeof *storages; s++)
            for (int64_t rows = 1; rows <= ROWS; rows++, n_checked++) {
                struct storage storage = storages[s];
                struct scan scan = good;
                struct param_set set = nexus_set();
                struct source *source;
                storage.type = types[t];
                scan.storage = &storage;
                scan.variable = s % 2;
                make_scan(&scan);
                cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK, "type %zu, storage %zu", t, s);
                check_values(source, frames, rows);
                source->ops->close(source);
            }
    cr_assert_eq(n_checked, 9 * 7 * 3);
}

Test(projections, nexus_finds_what_facilities_write)
{
    static const int frames[] = {2, 3, 5};
    struct scan scan = good;
    struct param_set set = nexus_set();
    struct source *source;
    scan.subentry = scan.in_data = scan.no_pixel_size = true;
    scan.angle_units = "rad";
    make_scan(&scan);
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK);
    cr_assert_float_eq(source->image.axes[1].positions[0], 10 * 180 / 3.14159265358979323846, 1e-9);
    cr_assert_str_eq(source->image.axes[2].unit, "pixel");
    check_values(source, frames, ROWS);
    source->ops->close(source);
    nexus_values.data = "/entry1/tomo_entry/instrument/detector/data";
    nexus_values.image_key = "/entry1/tomo_entry/instrument/detector/image_key";
    nexus_values.angles = "/entry1/tomo_entry/holder/rotation_angle";
    nexus_values.pixel_size = 0.25;
    nexus_values.angle_unit = ANGLE_UNIT_DEGREE;
    give(&set, "pixel_size");
    scan.definition = NULL;
    make_scan(&scan);
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK);
    cr_assert(source->image.axes[1].positions[0] == 10 && source->image.axes[0].spacing == 0.25);
    source->ops->close(source);
}

Test(projections, nexus_refuses_with_its_own_words)
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
    for (int i = 0; i < FRAMES; i++)
        scan.keys[i] = 1;
    refuse_scan(&scan, "frames-missing", "none of the 7 frames is one of the projections");
    scan = good;
    scan.pixel_units = "px";
    refuse_scan(&scan, "pixel-size", "in the unit 'px', expected a positive length");
}

/* ---- Data Exchange ------------------------------------------------------------------------------- */

static hid_t start_exchange(const struct storage *storage, int n_theta, const double *theta)
{
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t group = put_group(file, "exchange", NULL);
    put_frames(group, "data", FRAMES, storage);
    put_frames(group, "data_white", 2, storage);
    if (n_theta)
        put_numbers(group, "theta", n_theta, theta, NULL);
    H5Gclose(group);
    return file;
}

static void refuse_exchange(struct param_set *set, enum ts_status status, const char *code, const char *text)
{
    struct source *source = NULL;
    ts_diag_clear(diag);
    cr_assert_eq(exchange_format.open(set, &source, diag), status, "%s", code);
    cr_assert_null(source);
    ts_test_expect(diag, code, text);
}

Test(projections, exchange_gives_a_sinogram)
{
    static const double theta[FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    static const int frames[] = {0, 1, 2, 3, 4, 5, 6};
    struct param_set set = exchange_set();
    struct source *source;
    H5Fclose(start_exchange(NULL, FRAMES, theta));
    cr_assert_eq(exchange_format.open(&set, &source, diag), TS_OK);
    cr_assert(source->image.axes[1].n == FRAMES && source->image.axes[1].positions[6] == 160);
    check_values(source, frames, 2);
    source->ops->close(source);
    exchange_values.frames = FRAMES_FLATS;
    cr_assert_eq(exchange_format.open(&set, &source, diag), TS_OK);
    check_values(source, frames, 2);
    source->ops->close(source);
    exchange_values.frames = FRAMES_DARKS;
    refuse_exchange(&set, TS_BAD_INPUT, "frames-missing", "there is no /exchange/data_dark, which holds the darks");
}

Test(projections, exchange_never_invents_angles)
{
    static const double theta[FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    struct param_set set = exchange_set();
    struct source *source;
    H5Fclose(start_exchange(NULL, 0, NULL));
    refuse_exchange(&set, TS_BAD_INPUT, "angles-missing", "there is no /exchange/theta");
    exchange_values.theta_start = 10;
    exchange_values.theta_stop = 80;
    give(&set, "theta_start");
    refuse_exchange(&set, TS_BAD_CHAIN, "angles-missing", "theta_stop is missing");
    give(&set, "theta_stop");
    cr_assert_eq(exchange_format.open(&set, &source, diag), TS_OK);
    cr_assert(source->image.axes[1].positions[0] == 10 && source->image.axes[1].positions[6] == 70);
    source->ops->close(source);
    exchange_values.endpoint = true;
    cr_assert_eq(exchange_format.open(&set, &source, diag), TS_OK);
    cr_assert_eq(source->image.axes[1].positions[6], 80);
    source->ops->close(source);
    H5Fclose(start_exchange(NULL, FRAMES, theta));
    refuse_exchange(&set, TS_BAD_CHAIN, "angles-twice", "the file has its own theta");
    set = exchange_set();
    H5Fclose(start_exchange(NULL, FRAMES - 1, theta));
    refuse_exchange(&set, TS_BAD_INPUT, "angle-count", "/exchange/theta has 6 angles, expected 7");
}

Test(projections, radians_that_are_called_degrees_are_caught)
{
    struct projections *projections;
    struct param_set set = exchange_set();
    double angles[90];
    H5Fclose(start_exchange(NULL, 0, NULL));
    cr_assert_eq(ts_projections_open(&set, path, diag, &projections), TS_OK);
    for (int i = 0; i < 90; i++)
        angles[i] = i * 3.14159265358979323846 / 90;
    cr_assert_eq(ts_projections_angles(projections, angles, 90, ANGLE_UNIT_DEGREE, false), TS_BAD_INPUT);
    ts_test_expect(diag, "angle-unit", "as radians would");
    cr_assert_eq(ts_projections_angles(projections, angles, 90, ANGLE_UNIT_DEGREE, true), TS_OK);
    cr_assert_eq(ts_projections_angles(projections, angles, 90, ANGLE_UNIT_RADIAN, false), TS_OK);
    cr_assert_float_eq(angles[45], 90, 1e-12);
    ts_projections_close(projections);
}

/* ---- any dataset ----------------------------------------------------------------------------------- */

/* The file's axes are (7, 3, 5); each order of names puts value 100 i + 10 j + k where its names say. */
Test(projections, hdf5_takes_every_order_of_axes)
{
    static const char *const names[2][3] = {{"z", "view", "detector"}, {"z", "y", "x"}};
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const int n[3] = {FRAMES, ROWS, COLUMNS}, weights[3] = {100, 10, 1};
    static const double spacing[3] = {2, 3, 4};
    const struct storage storages[] = {{.type = H5T_STD_I16BE},
                                       {.type = H5T_IEEE_F32LE, .chunk = {2, 2, 4}, .deflate = true}};
    for (int kind = 0; kind < 24; kind++) {
        const bool volume = kind % 2;
        const int *order = orders[kind / 4];
        const char *axes[3];
        struct hdf5_params values = {0};
        struct param_set set = {
            .rows = hdf5_format.params, .n_rows = hdf5_format.n_params, .values = &values, .owner = "input"};
        struct source *source;
        ts_params_init(&set);
        H5Fclose(start_exchange(&storages[kind / 2 % 2], 0, NULL));
        for (int d = 0; d < 3; d++)
            axes[order[d]] = names[volume][d];
        values.hdf5 = path;
        values.path = "/exchange/data";
        values.axes = (struct ts_texts){3, axes};
        values.spacing = (struct ts_numbers){1, volume ? 3 : 2, spacing};
        values.theta_stop = 180;
        if (!volume) {
            give(&set, "theta_start");
            give(&set, "theta_stop");
        }
        cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_OK, "kind %d", kind);
        const struct ts_image *image = &source->image;
        cr_assert_eq(image->axes[1].kind, volume ? TS_AXIS_Y : TS_AXIS_VIEW);
        cr_assert(image->axes[0].spacing == 2 && image->axes[2].spacing == (volume ? 4 : 3));
        cr_assert(volume ? image->axes[1].spacing == 3 && !image->axes[1].positions
                         : image->axes[1].positions[1] == 180.0 / (double)image->axes[1].n);
        void *data = ts_test_read_all(source, diag);
        double found[FRAMES * ROWS * COLUMNS];
        ts_load_f64(found, data, image->dtype, ts_image_count(image));
        const double *next = found;
        for (int i = 0; i < n[order[0]]; i++)
            for (int j = 0; j < n[order[1]]; j++)
                for (int k = 0; k < n[order[2]]; k++)
                    cr_assert_eq(*next++, i * weights[order[0]] + j * weights[order[1]] + k * weights[order[2]]);
        free(data);
        source->ops->close(source);
    }
}

Test(projections, hdf5_refuses_with_its_own_words)
{
    const char *axes[] = {"z", "y", "y"}, *good_axes[] = {"view", "z", "detector"};
    static const double theta[2] = {0, 1};
    struct hdf5_params values = {0};
    struct param_set set = {
        .rows = hdf5_format.params, .n_rows = hdf5_format.n_params, .values = &values, .owner = "input"};
    struct source *source;
    ts_params_init(&set);
    H5Fclose(start_exchange(NULL, 2, theta));
    values.hdf5 = path;
    values.path = "/exchange/none";
    values.axes = (struct ts_texts){3, axes};
    cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_BAD_CHAIN);
    ts_test_expect(diag, "axes-names", "neither z, y and x nor z, view and detector");
    values.axes = (struct ts_texts){3, good_axes};
    cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "hdf5-no-dataset", "there is no /exchange/none");
    values.path = "/exchange/data";
    cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_BAD_CHAIN);
    ts_test_expect(diag, "angles-missing", "a sinogram needs angles");
    values.angles = "/exchange/theta";
    cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "angle-count", "/exchange/theta has 2 angles, expected 7");
    values.path = "/exchange/theta";
    cr_assert_eq(hdf5_format.open(&set, &source, diag), TS_BAD_INPUT);
    ts_test_expect(diag, "hdf5-rank", "has 1 axes, expected 3");
}

/* ---- files that are not to be trusted -------------------------------------------------------------- */

Test(projections, external_links_stay_in_the_folder)
{
    static const int frames[] = {2, 3, 5};
    char other[400], link[400];
    struct scan scan = good;
    struct param_set set = nexus_set();
    struct source *source;
    snprintf(other, sizeof other, "%s/frames.h5", folder);
    const hid_t file = H5Fcreate(other, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put_frames(file, "frames", FRAMES, NULL);
    H5Fclose(file);
    scan.external = "frames.h5";
    make_scan(&scan);
    cr_assert_eq(nexus_format.open(&set, &source, diag), TS_OK);
    check_values(source, frames, ROWS);
    source->ops->close(source);
    scan.external = other; /* absolute */
    refuse_scan(&scan, "hdf5-link-outside", "out of the file's folder");
    scan.external = "missing.h5";
    refuse_scan(&scan, "hdf5-link-broken", "leads to missing.h5: No such file");
    snprintf(link, sizeof link, "%s/out.h5", folder);
    cr_assert_eq(symlink("/etc/hostname", link), 0);
    scan.external = "out.h5";
    refuse_scan(&scan, "hdf5-link-outside", "out of the file's folder");
}

Test(projections, storage_that_cannot_be_trusted_is_refused)
{
    static const double theta[FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    const hsize_t n[3] = {FRAMES, ROWS, COLUMNS}, huge[3] = {UINT64_C(1) << 40, ROWS, COLUMNS};
    for (int kind = 0; kind < 6; kind++) {
        static const char *const codes[] = {"hdf5-external", "hdf5-not-written", "hdf5-type",
                                            "hdf5-empty",    "hdf5-filter",      "hdf5-virtual"};
        static const char *const texts[] = {"external storage",  "never written",          "neither integers",
                                            "has length 109951", "stored with the filter", "is virtual"};
        struct param_set set = exchange_set();
        const hid_t file = start_exchange(NULL, FRAMES, theta), list = H5Pcreate(H5P_DATASET_CREATE);
        const hid_t space = H5Screate_simple(3, kind == 3 ? huge : n, NULL);
        H5Ldelete(file, "/exchange/data", H5P_DEFAULT);
        if (kind == 0)
            H5Pset_external(list, "/etc/passwd", 0, FRAMES * ROWS * COLUMNS * 2);
        if (kind == 4) {
            H5Pset_chunk(list, 3, (const hsize_t[]){1, ROWS, COLUMNS});
            H5Pset_scaleoffset(list, H5Z_SO_INT, 4);
        }
        if (kind == 3)
            H5Pset_chunk(list, 3, (const hsize_t[]){1, ROWS, COLUMNS});
        if (kind == 5)
            H5Pset_virtual(list, space, "/etc/passwd", "/x", space);
        const hid_t dataset = H5Dcreate2(file, "/exchange/data", kind == 2 ? H5T_STD_I64LE : H5T_STD_U16LE, space,
                                         H5P_DEFAULT, list, H5P_DEFAULT);
        cr_assert(dataset >= 0, "kind %d", kind);
        H5Dclose(dataset);
        H5Pclose(list);
        H5Sclose(space);
        H5Fclose(file);
        refuse_exchange(&set, TS_BAD_INPUT, codes[kind], texts[kind]);
    }
}

Test(projections, damaged_files_end_in_an_error)
{
    static const double theta[FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    const struct storage storage = {
        .type = H5T_STD_U16LE, .chunk = {1, ROWS, COLUMNS}, .shuffle = true, .deflate = true, .fletcher32 = true};
    size_t length = 0, n_refused = 0;
    H5Fclose(start_exchange(&storage, FRAMES, theta));
    unsigned char *bytes = NULL;
    FILE *file = fopen(path, "rb");
    fseek(file, 0, SEEK_END);
    length = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(length);
    cr_assert_eq(fread(bytes, 1, length, file), length);
    fclose(file);
    for (size_t at = 0; at < length; at += 37) {
        struct param_set set = exchange_set();
        struct source *source = NULL;
        const bool cut = at / 37 % 2;
        file = fopen(path, "wb");
        bytes[at] ^= 0x55;
        fwrite(bytes, 1, cut ? at : length, file);
        bytes[at] ^= 0x55;
        fclose(file);
        ts_diag_clear(diag);
        enum ts_status status = exchange_format.open(&set, &source, diag);
        if (status == TS_OK) {
            unsigned char *data = malloc(ts_image_bytes(&source->image));
            status = source->ops->read(source, 0, source->n_slices, data, diag);
            free(data);
            source->ops->close(source);
        }
        cr_assert(status == TS_OK || status == TS_BAD_INPUT);
        cr_assert(!cut || status == TS_BAD_INPUT, "cut after %zu bytes", at);
        cr_assert((status == TS_OK) == (ts_diag_error_count(diag) == 0), "at %zu", at);
        n_refused += status != TS_OK;
    }
    cr_assert_gt(n_refused, length / 37 / 2);
    free(bytes);
}

/* ---- a real scan ---------------------------------------------------------------------------------- */

Test(projections, a_tooth)
{
    char tooth[1024];
    const char *data = ts_test_data();
    if (!data)
        cr_skip_test("no test data");
    snprintf(tooth, sizeof tooth, "%s/projections/tomopy_tooth/tooth.h5", data);
    if (access(tooth, R_OK) != 0)
        cr_skip_test("no test data");
    struct param_set set = exchange_set();
    struct source *source;
    float *expected = malloc(sizeof(float) * 181 * 2 * 640), *found;
    const hid_t file = H5Fopen(tooth, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/exchange/data", H5P_DEFAULT);
    cr_assert(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, expected) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    exchange_values.exchange = tooth;
    cr_assert_eq(exchange_format.open(&set, &source, diag), TS_OK);
    cr_assert(source->image.axes[0].n == 2 && source->image.axes[1].n == 181 && source->image.axes[2].n == 640);
    cr_assert_float_eq(source->image.axes[1].positions[180], 179, 1.01);
    found = ts_test_read_all(source, diag);
    for (int v = 0; v < 181; v++)
        for (int z = 0; z < 2; z++)
            cr_assert_arr_eq(found + (z * 181 + v) * 640, expected + (v * 2 + z) * 640, 640 * sizeof(float));
    source->ops->close(source);
    free(expected);
    free(found);
}
