/* SPDX-License-Identifier: Apache-2.0
 *
 * Data Exchange files as sources, angles that are caught, files that are not to be trusted, and a
 * real scan.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/scan/exchange.h"
#include "io/scan/hdf5_info.h"
#include "io/scan/projections.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

TestSuite(exchange, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

static struct exchange_params exchange_values;

static struct param_set exchange_set(void)
{
    struct param_set set = {.params = exchange_format.params,
                            .n_params = exchange_format.n_params,
                            .values = &exchange_values,
                            .owner = "input"};
    exchange_values = (struct exchange_params){0};
    ts_params_init(&set);
    exchange_values.exchange = ts_scan_file.path;
    return set;
}

static void refuse_exchange(struct param_set *set, enum ts_status status, const char *code,
                            const char *text)
{
    struct source *source = NULL;
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(exchange_format.open(set, &source, ts_scan_file.diag), status, "%s", code);
    cr_assert_null(source);
    ts_test_expect(ts_scan_file.diag, code, text);
}

Test(exchange, gives_a_sinogram)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    static const int frames[] = {0, 1, 2, 3, 4, 5, 6};
    struct param_set set = exchange_set();
    struct source *source;
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[1].n == SCAN_FRAMES && source->image.axes[1].positions[6] == 160);
    ts_scan_file_check(source, frames, 2);
    source->ops->close(source);
    exchange_values.frames = FRAMES_FLATS;
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    ts_scan_file_check(source, frames, 2);
    source->ops->close(source);
    exchange_values.frames = FRAMES_DARKS;
    refuse_exchange(&set, TS_BAD_INPUT, "frames-missing",
                    "there is no /exchange/data_dark, which holds the darks");
}

Test(exchange, axes_in_another_order_are_refused)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    struct param_set set = exchange_set();
    const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
    const hid_t data = H5Dopen2(file, "/exchange/data", H5P_DEFAULT);
    ts_scan_file_text(data, "axes", "y:theta:x");
    H5Dclose(data);
    H5Fclose(file);
    refuse_exchange(&set, TS_BAD_INPUT, "axes-order", "are y:theta:x, expected theta:y:x");
}

/* Writes names as one text, or as an array of three. */
static void put_names(hid_t object, const char *name, const char *const names[3])
{
    if (names[1]) {
        const hsize_t n = 3;
        const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &n, NULL);
        H5Tset_size(type, H5T_VARIABLE);
        const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
        cr_assert(H5Awrite(attribute, type, names) >= 0);
        H5Aclose(attribute);
        H5Sclose(space);
        H5Tclose(type);
    } else {
        ts_scan_file_text(object, name, names[0]);
    }
}

Test(exchange, axes_may_be_said_in_any_way)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    static const struct {
        const char *path, *name, *names[3];
        const char *refused; /* NULL: these are the axes of the format */
    } rows[] = {
        {"data", "DIMENSION_LABELS", {"theta", "x", "y"}, "are [theta, x, y], expected theta:y:x"},
        {"data", "DIMENSION_LABELS", {"y", "theta", "x"}, "DIMENSION_LABELS of data"},
        {"data", "DIMENSION_LABELS", {"", "column", "row"}, "DIMENSION_LABELS of data"},
        {"data", "DIMENSION_LABELS", {"theta", "y", "x"}, NULL},
        {"data", "DIMENSION_LABELS", {"frame", "row", "column"}, NULL},
        {"data", "DIMENSION_LABELS", {"", "", ""}, NULL},
        {"data", "DIMENSION_LABELS", {"a", "b", "c"}, NULL},
        {"data", "axes", {"theta", "x", "y"}, "axes of data"},
        {"data", "axes", {"x", "y", "theta"}, "axes of data"},
        {"data", "axes", {"theta", "y", "x"}, NULL},
        {".", "axes", {"theta", "x", "y"}, "axes of data"},
        {".", "axes", {"y:theta:x"}, "axes of data"},
        {".", "axes", {"theta:y:x"}, NULL},
        {".", "axes", {"theta", "y", "x"}, NULL},
    };
    static const char *const sets[] = {"data", "data_white", "data_dark"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int kind = 0; kind < 3; kind++) {
            struct param_set set = exchange_set();
            struct source *source;
            const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta),
                        group = H5Gopen2(file, "exchange", H5P_DEFAULT);
            ts_scan_file_frames(group, "data_dark", 2, NULL);
            const hid_t object =
                H5Oopen(group, *rows[i].path == '.' ? "." : sets[kind], H5P_DEFAULT);
            put_names(object, rows[i].name, rows[i].names);
            H5Oclose(object);
            H5Gclose(group);
            H5Fclose(file);
            exchange_values.frames = kind;
            if (rows[i].refused) {
                refuse_exchange(&set, TS_BAD_INPUT, "axes-order", rows[i].refused);
                continue;
            }
            cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK, "row %zu",
                         i);
            source->ops->close(source);
        }
}

Test(exchange, theta_that_overflowed_goes_on)
{
    static const struct {
        double theta[SCAN_FRAMES], last;
        bool told;
    } rows[] = {{{0, 50, 100, 150, 200, 250, 44}, 300, true},
                {{-60, -30, 0, 30, 60, 90, 120}, 120, false},
                {{0, 30, 60, 90, 120, -106, -76}, 180, true},
                {{40, 30, 20, 10, 0, 246, 236}, -20, true},
                {{0, 60, 120, 180, 0, 60, 120}, 120, false}, /* twice */
                /* Rounded unevenly, and scans of less than that range that begin anew. */
                {{246, 249, 250, 252, 255, 1, 2}, 258, true},
                {{-10, -60, -70, -128, 90, 60, 0}, 0, false},
                {{120, 121, 124, 126, 127, -127, -126}, 130, true},
                {{9, 6, 7, 4, 1, 254, 252}, -4, true},
                {{200, 203, 204, 206, 0, 3, 4}, 4, false},
                {{230, 232, 234, 0, 2, 4, 6}, 6, false},
                {{0, 50, 100, 150, 200, 250, 44.5}, 44.5, false},
                {{0, 50, 100, 150, 200, 250, 300}, 300, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, rows[i].theta));
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        cr_expect_eq(source->image.axes[1].positions[SCAN_FRAMES - 1], rows[i].last, "row %zu", i);
        cr_expect_eq(ts_test_record(ts_scan_file.diag, "angles-wrapped") != NULL, rows[i].told);
        source->ops->close(source);
    }
}

Test(exchange, theta_may_be_a_column)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    static const hsize_t shapes[][2] = {{SCAN_FRAMES, 1}, {1, SCAN_FRAMES}};
    for (size_t i = 0; i < 2; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
        ts_scan_file_reshape("/exchange/theta", 2, shapes[i], (const hsize_t[]){0});
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        for (int v = 0; v < SCAN_FRAMES; v++)
            cr_expect_eq(source->image.axes[1].positions[v], theta[v], "view %d", v);
        source->ops->close(source);
    }
}

Test(exchange, never_invents_angles)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    struct param_set set = exchange_set();
    struct source *source;
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    refuse_exchange(&set, TS_BAD_INPUT, "angles-missing", "there is no /exchange/theta");
    exchange_values.theta_start = 10;
    exchange_values.theta_stop = 80;
    ts_scan_file_give(&set, "theta_start");
    refuse_exchange(&set, TS_BAD_CHAIN, "angles-missing", "theta_stop is missing");
    ts_scan_file_give(&set, "theta_stop");
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[1].positions[0] == 10 && source->image.axes[1].positions[6] == 70);
    source->ops->close(source);
    exchange_values.endpoint = true;
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert_eq(source->image.axes[1].positions[6], 80);
    source->ops->close(source);
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta));
    refuse_exchange(&set, TS_BAD_CHAIN, "angles-twice", "the file has its own theta");
    set = exchange_set();
    H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES - 1, theta));
    refuse_exchange(&set, TS_BAD_INPUT, "angle-count", "/exchange/theta has 6 angles, expected 7");
}

Test(exchange, radians_that_are_called_degrees_are_caught)
{
    struct projections projections;
    struct param_set set = exchange_set();
    double angles[90];
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    cr_assert_eq(ts_projections_open(&set, ts_scan_file.diag, &projections), TS_OK);
    for (int i = 0; i < 90; i++)
        angles[i] = i * 3.14159265358979323846 / 90;
    cr_assert_eq(ts_projections_angles(&projections, angles, 90, ANGLE_UNIT_DEGREE, false),
                 TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "angle-unit", "as radians would");
    cr_assert_eq(ts_projections_angles(&projections, angles, 90, ANGLE_UNIT_DEGREE, true), TS_OK);
    cr_assert_eq(ts_projections_angles(&projections, angles, 90, ANGLE_UNIT_RADIAN, false), TS_OK);
    cr_assert_float_eq(angles[45], 90, 1e-12);
    ts_projections_close(&projections);
}

/* Half a turn and a turn in degrees, with their ends and without, and any other range of more than
 * two turns. */
Test(exchange, degrees_that_are_called_radians_are_caught)
{
    static const struct {
        int n;
        double range;
        bool taken;
    } rows[] = {{120, 178.5, false},
                {181, 180, false},
                {3, 120, false},
                {2, 90, false},
                {720, 359.5, false},
                {100, 12.6, false},
                {100, 4 * 3.14159265358979323846, true},
                {100, 6.2, true},
                {100, 3.1, true},
                {1, 0, true}};
    struct projections projections;
    struct param_set set = exchange_set();
    double angles[720];
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    cr_assert_eq(ts_projections_open(&set, ts_scan_file.diag, &projections), TS_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int sure = 0; sure < 2; sure++) {
            for (int k = 0; k < rows[i].n; k++)
                angles[k] = rows[i].n > 1 ? k * rows[i].range / (rows[i].n - 1) : 0;
            ts_diag_clear(ts_scan_file.diag);
            cr_assert_eq(
                ts_projections_angles(&projections, angles, rows[i].n, ANGLE_UNIT_RADIAN, sure),
                rows[i].taken || sure ? TS_OK : TS_BAD_INPUT, "row %zu, sure %d", i, sure);
            if (!rows[i].taken && sure)
                ts_test_expect_warning(ts_scan_file.diag, "angle-turns", "as angle_unit says");
            else if (!rows[i].taken)
                ts_test_expect(ts_scan_file.diag, "angle-turns", "as degrees would");
        }
    ts_projections_close(&projections);
}

Test(exchange, a_scale_of_theta_is_warned_of)
{
    static const double theta[SCAN_FRAMES] = {0, 300, 600, 900, 1200, 1500, 1800}, factor = 0.1;
    static const char *const names[] = {"scale_factor", "Scaling_Factor", "offset", "SCALE",
                                        "gain"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta),
                    space = H5Screate(H5S_SCALAR),
                    dataset = H5Dopen2(file, "/exchange/theta", H5P_DEFAULT),
                    attribute = H5Acreate2(dataset, names[i], H5T_IEEE_F64LE, space, H5P_DEFAULT,
                                           H5P_DEFAULT);
        cr_assert(H5Awrite(attribute, H5T_NATIVE_DOUBLE, &factor) >= 0);
        H5Aclose(attribute);
        H5Sclose(space);
        H5Dclose(dataset);
        H5Fclose(file);
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        cr_assert_eq(ts_diag_count(ts_scan_file.diag), i < 4, "%s", names[i]);
        if (i < 4)
            ts_test_expect_warning(ts_scan_file.diag, "field-unused",
                                   "of /exchange/theta is 0.1: values are taken as");
        source->ops->close(source);
    }
}

Test(exchange, theta_in_degrees_with_the_unit_of_radians_is_refused)
{
    static const double theta[SCAN_FRAMES] = {0, 29.75, 59.5, 89.25, 119, 148.75, 178.5};
    struct param_set set = exchange_set();
    struct source *source;
    const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
    const hid_t dataset = H5Dopen2(file, "/exchange/theta", H5P_DEFAULT);
    ts_scan_file_text(dataset, "units", "rad");
    H5Dclose(dataset);
    H5Fclose(file);
    refuse_exchange(&set, TS_BAD_INPUT, "angle-turns",
                    "are called radians and have a range of 178.5");
    exchange_values.angle_unit = ANGLE_UNIT_DEGREE;
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert_eq(source->image.axes[1].positions[6], 178.5);
    source->ops->close(source);
}

/* Few views are caught too, where the range is that of radians to the last digits, and not where it
 * is about 3. */
Test(exchange, radians_of_few_views_are_caught_and_short_scans_are_not)
{
    const double pi = 3.14159265358979323846;
    struct param_set set = exchange_set();
    struct projections projections;
    H5Fclose(ts_scan_file_exchange(NULL, 0, NULL));
    cr_assert_eq(ts_projections_open(&set, ts_scan_file.diag, &projections), TS_OK);
    for (int n = 2; n < 40; n++)
        for (int turns = 1; turns <= 2; turns++)
            for (int with_end = 0; with_end < 2; with_end++) {
                double angles[40];
                for (int i = 0; i < n; i++)
                    angles[i] = (float)(i * turns * pi / (with_end ? n - 1 : n));
                ts_diag_clear(ts_scan_file.diag);
                cr_assert_eq(
                    ts_projections_angles(&projections, angles, n, ANGLE_UNIT_DEGREE, false),
                    n < 3 ? TS_OK : TS_BAD_INPUT, "%d views", n);
            }
    /* Even steps in hundredths of a degree. */
    for (int n = 3; n < 16; n++)
        for (int step = 1; step <= 400; step++) {
            double angles[16];
            for (int i = 0; i < n; i++)
                angles[i] = i * step / 100.0;
            cr_assert_eq(ts_projections_angles(&projections, angles, n, ANGLE_UNIT_DEGREE, false),
                         TS_OK, "%d views %d / 100 apart", n, step);
        }
    ts_projections_close(&projections);
}

Test(exchange, theta_is_in_the_unit_that_the_file_says)
{
    static const double theta[SCAN_FRAMES] = {0, 0.1, 0.2, 0.5, 1, 1.5, 2};
    static const struct {
        const char *units;
        enum angle_unit asked;
        double factor;
    } rows[] = {{NULL, ANGLE_UNIT_FILE, 1},
                {"degree", ANGLE_UNIT_FILE, 1},
                {"deg", ANGLE_UNIT_FILE, 1},
                {"rad", ANGLE_UNIT_FILE, 57.29577951308232},
                {"radian", ANGLE_UNIT_FILE, 57.29577951308232},
                {"radians", ANGLE_UNIT_FILE, 57.29577951308232},
                {"Rad", ANGLE_UNIT_FILE, 57.29577951308232},
                {"RADIANS", ANGLE_UNIT_FILE, 57.29577951308232},
                {"DEG", ANGLE_UNIT_FILE, 1},
                {"Degrees", ANGLE_UNIT_FILE, 1},
                {"\xC2\xB0", ANGLE_UNIT_FILE, 1},
                {"radians", ANGLE_UNIT_DEGREE, 1},
                {"degree", ANGLE_UNIT_RADIAN, 57.29577951308232},
                {"gon", ANGLE_UNIT_DEGREE, 1},
                {"gon", ANGLE_UNIT_FILE, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
        const hid_t dataset = H5Dopen2(file, "/exchange/theta", H5P_DEFAULT);
        if (rows[i].units)
            ts_scan_file_text(dataset, i % 2 ? "Units" : "units", rows[i].units);
        H5Dclose(dataset);
        H5Fclose(file);
        exchange_values.angle_unit = rows[i].asked;
        if (rows[i].factor == 0) {
            refuse_exchange(&set, TS_BAD_INPUT, "angle-unit",
                            "the unit of /exchange/theta is gon, expected degree");
            continue;
        }
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK, "row %zu", i);
        cr_assert_float_eq(source->image.axes[1].positions[6], 2 * rows[i].factor, 1e-12);
        source->ops->close(source);
    }
}

/* Theta as integers of 64 bits: as they are, negative ones too, or refused where a double holds
 * only a neighbor. */
Test(exchange, angles_of_64_bits_are_exact_or_refused)
{
    static const int64_t theta[SCAN_FRAMES] = {
        -90, 0, 1, INT64_C(1) << 53, -(INT64_C(1) << 53), INT64_MIN, 160};
    static const int64_t past[SCAN_FRAMES] = {0, (INT64_C(1) << 53) + 1},
                         below[SCAN_FRAMES] = {0, INT64_MIN + 1};
    static const uint64_t large[SCAN_FRAMES] = {0, UINT64_C(1) << 63, UINT64_C(0xFFFFFFFFFFFFF800)};
    static const uint64_t largest[SCAN_FRAMES] = {0, UINT64_MAX};
    const struct {
        hid_t type;
        const void *values;
        bool taken;
    } rows[] = {{H5T_STD_I64LE, theta, true}, {H5T_STD_I64BE, theta, true},
                {H5T_STD_U64LE, large, true}, {H5T_STD_U64BE, large, true},
                {H5T_STD_I64LE, past, false}, {H5T_STD_I64BE, below, false},
                {H5T_STD_U64LE, past, false}, {H5T_STD_U64BE, largest, false}};
    const double zeros[SCAN_FRAMES] = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, zeros);
        ts_scan_file_integers(file, "/exchange/theta", rows[i].type, SCAN_FRAMES, rows[i].values);
        H5Fclose(file);
        if (!rows[i].taken) {
            refuse_exchange(&set, TS_BAD_INPUT, "hdf5-range",
                            "/exchange/theta holds integers past 2^53");
            continue;
        }
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK, "row %zu", i);
        for (int v = 0; v < SCAN_FRAMES; v++)
            cr_assert_eq(source->image.axes[1].positions[v],
                         rows[i].values == theta ? (double)theta[v] : (double)large[v]);
        source->ops->close(source);
    }
}

/* Frames of 64-bit integers become floats, as those of NumPy's default type. */
Test(exchange, frames_of_wide_integers_are_floats)
{
    static const int frames[] = {0, 1, 2, 3, 4, 5, 6};
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    const hid_t types[] = {H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U64LE};
    for (int t = 0; t < 3; t++)
        for (int64_t rows = 1; rows <= SCAN_ROWS; rows++) {
            const struct scan_storage storage = {
                .type = types[t], .chunk = {2, 2, 3}, .shuffle = true, .deflate = rows > 1};
            struct param_set set = exchange_set();
            struct source *source;
            H5Fclose(ts_scan_file_exchange(&storage, SCAN_FRAMES, theta));
            cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
            cr_assert_eq(source->image.dtype, TS_F32);
            ts_scan_file_check(source, frames, rows);
            source->ops->close(source);
        }
}

/* ---- files that are not to be trusted -------------------------------------------------------- */

Test(exchange, storage_that_cannot_be_trusted_is_refused)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    const hsize_t n[3] = {SCAN_FRAMES, SCAN_ROWS, SCAN_COLUMNS},
                  huge[3] = {UINT64_C(1) << 40, SCAN_ROWS, SCAN_COLUMNS};
    for (int kind = 0; kind < 6; kind++) {
        static const char *const codes[] = {"hdf5-external", "hdf5-not-written",
                                            "hdf5-type",     "hdf5-empty",
                                            "hdf5-filter",   "hdf5-link-outside"};
        static const char *const texts[] = {"external storage",       "never written",
                                            "neither integers",       "has length 109951",
                                            "stored with the filter", "leads to /etc/passwd"};
        struct param_set set = exchange_set();
        const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta),
                    list = H5Pcreate(H5P_DATASET_CREATE);
        const hid_t space = H5Screate_simple(3, kind == 3 ? huge : n, NULL);
        H5Ldelete(file, "/exchange/data", H5P_DEFAULT);
        if (kind == 0)
            H5Pset_external(list, "/etc/passwd", 0, SCAN_FRAMES * SCAN_ROWS * SCAN_COLUMNS * 2);
        if (kind == 4) {
            H5Pset_chunk(list, 3, (const hsize_t[]){1, SCAN_ROWS, SCAN_COLUMNS});
            H5Pset_scaleoffset(list, H5Z_SO_INT, 4);
        }
        if (kind == 3)
            H5Pset_chunk(list, 3, (const hsize_t[]){1, SCAN_ROWS, SCAN_COLUMNS});
        if (kind == 5)
            H5Pset_virtual(list, space, "/etc/passwd", "/x", space);
        const hid_t dataset =
            H5Dcreate2(file, "/exchange/data", kind == 2 ? H5T_STD_B16LE : H5T_STD_U16LE, space,
                       H5P_DEFAULT, list, H5P_DEFAULT);
        cr_assert(dataset >= 0, "kind %d", kind);
        H5Dclose(dataset);
        H5Pclose(list);
        H5Sclose(space);
        H5Fclose(file);
        refuse_exchange(&set, TS_BAD_INPUT, codes[kind], texts[kind]);
    }
}

Test(exchange, damaged_files_end_in_an_error)
{
    static const double theta[SCAN_FRAMES] = {0, 5, 10, 20, 40, 80, 160};
    const struct scan_storage storage = {.type = H5T_STD_U16LE,
                                         .chunk = {1, SCAN_ROWS, SCAN_COLUMNS},
                                         .shuffle = true,
                                         .deflate = true,
                                         .fletcher32 = true};
    size_t length = 0, n_refused = 0;
    H5Fclose(ts_scan_file_exchange(&storage, SCAN_FRAMES, theta));
    unsigned char *bytes = NULL;
    FILE *file = fopen(ts_scan_file.path, "rb");
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
        file = fopen(ts_scan_file.path, "wb");
        bytes[at] ^= 0x55;
        fwrite(bytes, 1, cut ? at : length, file);
        bytes[at] ^= 0x55;
        fclose(file);
        ts_diag_clear(ts_scan_file.diag);
        enum ts_status status = exchange_format.open(&set, &source, ts_scan_file.diag);
        if (status == TS_OK) {
            unsigned char *data = malloc(ts_image_bytes(&source->image));
            status = source->ops->read(source, 0, source->n_slices, data, ts_scan_file.diag);
            free(data);
            source->ops->close(source);
        }
        cr_assert(status == TS_OK || status == TS_BAD_INPUT);
        cr_assert(!cut || status == TS_BAD_INPUT, "cut after %zu bytes", at);
        cr_assert((status == TS_OK) == (ts_diag_error_count(ts_scan_file.diag) == 0), "at %zu", at);
        n_refused += status != TS_OK;
    }
    cr_assert_gt(n_refused, length / 37 / 2);
    free(bytes);
}

/* ---- a real scan ----------------------------------------------------------------------------- */

Test(exchange, a_tooth)
{
    char tooth[1024];
    const char *data = ts_test_data();
    if (!data)
        ts_test_skip("no test data");
    snprintf(tooth, sizeof tooth, "%s/projections/tomopy_tooth/tooth.h5", data);
    if (access(tooth, R_OK) != 0)
        ts_test_skip("no test data");
    struct param_set set = exchange_set();
    struct source *source;
    float *expected = malloc(sizeof(float) * 181 * 2 * 640), *found;
    const hid_t file = H5Fopen(tooth, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/exchange/data", H5P_DEFAULT);
    cr_assert(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, expected) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    exchange_values.exchange = tooth;
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[0].n == 2 && source->image.axes[1].n == 181 &&
              source->image.axes[2].n == 640);
    cr_assert_float_eq(source->image.axes[1].positions[180], 179, 1.01);
    found = ts_test_read_all(source, ts_scan_file.diag);
    for (int v = 0; v < 181; v++)
        for (int z = 0; z < 2; z++)
            cr_assert_arr_eq(found + (z * 181 + v) * 640, expected + (v * 2 + z) * 640,
                             640 * sizeof(float));
    source->ops->close(source);
    free(expected);
    free(found);
}

/* (y, x) in one piece and in chunks: as frames of which there is one. */
Test(exchange, one_flat_may_have_two_axes)
{
    static const hsize_t n[2] = {SCAN_ROWS, SCAN_COLUMNS}, chunk[2] = {2, 3};
    static const char *const axes[] = {NULL, "y:x", "x:y"};
    const double theta[SCAN_FRAMES] = {0};
    double flat[SCAN_ROWS][SCAN_COLUMNS];
    for (int y = 0; y < SCAN_ROWS; y++)
        for (int x = 0; x < SCAN_COLUMNS; x++)
            flat[y][x] = 10 * y + x;
    for (int i = 0; i < 6; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta),
                    space = H5Screate_simple(2, n, NULL);
        const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
        if (i % 2)
            H5Pset_chunk(list, 2, chunk);
        cr_assert(H5Ldelete(file, "/exchange/data_white", H5P_DEFAULT) >= 0);
        const hid_t dataset = H5Dcreate2(file, "/exchange/data_white", H5T_STD_U16BE, space,
                                         H5P_DEFAULT, list, H5P_DEFAULT);
        cr_assert(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, flat) >= 0);
        if (axes[i / 2])
            ts_scan_file_text(dataset, "axes", axes[i / 2]);
        H5Dclose(dataset);
        H5Pclose(list);
        H5Sclose(space);
        H5Fclose(file);
        exchange_values.frames = FRAMES_FLATS;
        if (i / 2 == 2) {
            refuse_exchange(&set, TS_BAD_INPUT, "axes-order", "are x:y, expected");
            continue;
        }
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
        const struct ts_axis *is = source->image.axes;
        cr_assert(is[0].n == SCAN_ROWS && is[1].n == 1 && is[2].n == SCAN_COLUMNS &&
                  is[1].kind == TS_AXIS_VIEW);
        for (int64_t step = 1; step <= SCAN_ROWS; step++)
            ts_scan_file_check(source, (const int[]){0}, step);
        source->ops->close(source);
    }
}

Test(exchange, info_says_what_the_scan_is)
{
    static const double theta[SCAN_FRAMES] = {0, 29.75, 59.5, 89.25, 119, 148.75, 178.5};
    static const char *const parts[] = {
        "\n  a scan in Data Exchange\n  frames: 7 projections, 2 flats, 0 darks\n",
        "  detector: 3 rows of 5 pixels, their size is not in the file\n",
        "  angles: 0 to 178.5 degree, unit in the file: none\n",
        "/exchange/data_white  u16  2 x 3 x 5"};
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t bytes = 0;
        FILE *stream = open_memstream(&text, &bytes);
        H5Fclose(ts_scan_file_exchange(NULL, i ? 0 : SCAN_FRAMES, theta));
        cr_assert_eq(ts_hdf5_info(ts_scan_file.path, false, true, stream, ts_scan_file.diag),
                     TS_OK);
        fclose(stream);
        for (size_t k = 0; i == 0 && k < sizeof parts / sizeof *parts; k++)
            cr_assert_not_null(strstr(text, parts[k]), "no '%s' in:\n%s", parts[k], text);
        cr_assert(i == 0 || strstr(text, "as an input it is refused: "), "%s", text);
        free(text);
    }
}

/* A field beside those of the format; a text where there is one. */
static void put_field(hid_t file, const char *path, int n, const double *values, const char *text)
{
    char parent[128];
    for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
        snprintf(parent, sizeof parent, "%.*s", (int)(at - path), path);
        if (H5Lexists(file, parent, H5P_DEFAULT) <= 0)
            H5Gclose(ts_scan_file_group(file, parent, NULL));
    }
    if (!text) {
        ts_scan_file_numbers(file, path, n, values, NULL);
        return;
    }
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    const hid_t dataset =
        H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Tclose(type);
}

Test(exchange, fields_that_would_change_the_image_are_warned_of_by_name)
{
    static const double theta[SCAN_FRAMES] = {0, 10, 20, 30, 40, 50, 60};
    static const struct {
        const char *path;
        int n;
        double values[SCAN_FRAMES];
        const char *text, *warning;
    } rows[] = {
        {"/measurement/instrument/detection_system/objective/resolution",
         1,
         {0.69},
         NULL,
         "is 0.69 without a unit"},
        {"/measurement/instrument/detector/pixel_size_x",
         0,
         {3.45},
         NULL,
         "is 3.45 without a unit, and is not used"},
        {"/exchange/x_shift",
         SCAN_FRAMES,
         {0, 1, 2, 3},
         NULL,
         "/exchange/x_shift goes from 0 to 3 over the scan"},
        {"/exchange/y_shift", SCAN_FRAMES, {2, 2, 2, 2, 2, 2, 2}, NULL, NULL},
        {"/measurement/instrument/source/current",
         3,
         {102, 101, 90},
         NULL,
         "goes from 90 to 102 over the scan, and counts"},
        {"/measurement/instrument/source/current", 1, {102}, NULL, NULL},
        {"/process/acquisition/flat_fields/different_flat_exposure",
         0,
         {0},
         "Different",
         "differs from that of the views"},
        {"/process/acquisition/flat_fields/different_flat_exposure", 0, {0}, "Same", NULL},
        {"/process/flat_corrected",
         0,
         {1},
         NULL,
         "/process/flat_corrected is 1: this may have been done"},
        {"/process/flat_corrected", 0, {0}, NULL, NULL},
        {"/process/minus_log",
         0,
         {0},
         "yes",
         "/process/minus_log is 'yes': this may have been done"},
        {"/process/ring_removal", 0, {0}, "none", NULL},
        {"/process/version", 0, {2}, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct param_set set = exchange_set();
        struct source *source;
        const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
        put_field(file, rows[i].path, rows[i].n, rows[i].values, rows[i].text);
        cr_assert(H5Fclose(file) >= 0);
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK, "%s",
                     rows[i].path);
        cr_assert_eq(ts_diag_count(ts_scan_file.diag), rows[i].warning != NULL, "row %zu, %s", i,
                     rows[i].path);
        if (rows[i].warning)
            ts_test_expect_warning(ts_scan_file.diag, "field-unused", rows[i].warning);
        source->ops->close(source);
    }
}

Test(exchange, the_pixel_size_of_the_hint_ends_the_warning)
{
    static const double theta[SCAN_FRAMES] = {0, 10, 20, 30, 40, 50, 60}, micrometers = 0.69;
    struct param_set set = exchange_set();
    struct source *source;
    const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
    put_field(file, "/measurement/instrument/detection_system/objective/resolution", 0,
              &micrometers, NULL);
    cr_assert(H5Fclose(file) >= 0);
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert_str_eq(ts_diag_get(ts_scan_file.diag, 0)->hint,
                     "pixel_size: 0.00069, in mm, if that is the pixel's size in the sample");
    source->ops->close(source);
    ((struct exchange_params *)set.values)->pixel_size = 0.00069;
    ts_scan_file_give(&set, "pixel_size");
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(exchange_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    cr_assert(source->image.axes[2].spacing == 0.00069 && ts_diag_count(ts_scan_file.diag) == 0);
    source->ops->close(source);
}
