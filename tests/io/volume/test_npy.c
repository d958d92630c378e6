/* SPDX-License-Identifier: Apache-2.0
 *
 * The npy source on files as numpy.save writes them: types, byte orders, numbers of axes, and files
 * that are refused.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/chain/chain.h"
#include "tests/files/dicom_open.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/npy.h"
#include "tests/files/volume_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/disc_scan.h"
#include "tests/support/folders.h"
#include "tests/support/support.h"

enum { NX = 5, NY = 4, NZ = 3, N = NX * NY * NZ };

static char folder[256], path[300];
static unsigned char values[8 * N];

static void begin(void)
{
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.npy", folder);
}

static void end(void)
{
    ts_test_remove_folder(folder);
}

TestSuite(npy, .init = begin, .fini = end);

/* Writes the volume in a type, with the bytes of each value reversed where it is the other byte
 * order. */
static void write_volume(const char *descr, enum ts_dtype dtype, bool reversed, const char *shape)
{
    char dictionary[200];
    const size_t width = ts_dtype_bytes(dtype);
    for (size_t i = 0; i < N; i++) {
        const double value = (double)(100 * (i / (NX * NY)) + 10 * (i / NX % NY) + i % NX);
        if (dtype == TS_F64)
            memcpy(values + i * width, &value, width);
        else
            ts_test_store(values, dtype, i, value);
        for (size_t k = 0; reversed && k < width / 2; k++) {
            const unsigned char byte = values[i * width + k];
            values[i * width + k] = values[(i + 1) * width - 1 - k];
            values[(i + 1) * width - 1 - k] = byte;
        }
    }
    snprintf(dictionary, sizeof dictionary,
             "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    ts_test_npy_write(path, dictionary, values, N * width);
}

Test(npy, reads_every_type_in_both_byte_orders)
{
    static const struct {
        const char *descr;
        enum ts_dtype stored, read;
        bool reversed;
    } types[] = {{"|u1", TS_U8, TS_U8, false},   {"<i2", TS_I16, TS_I16, false},
                 {">i2", TS_I16, TS_I16, true},  {"<u2", TS_U16, TS_U16, false},
                 {">u4", TS_U32, TS_U32, true},  {"<i4", TS_I32, TS_I32, false},
                 {"<f4", TS_F32, TS_F32, false}, {">f8", TS_F64, TS_F32, true},
                 {"<f8", TS_F64, TS_F32, false}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        write_volume(types[i].descr, types[i].stored, types[i].reversed, "3, 4, 5");
        struct source *source = ts_volume_opened("npy", path);
        cr_assert_eq(source->image.dtype, types[i].read, "%s", types[i].descr);
        cr_assert(source->n_slices == NZ && !source->image.has_geometry);
        cr_assert_str_eq(source->image.axes[1].unit, "pixel");
        ts_volume_check(source, false);
        source->ops->close(source);
    }
}

/* A picture is one slice; a fourth axis counts volumes. */
Test(npy, takes_two_to_four_axes)
{
    static const struct {
        const char *shape;
        int64_t volumes, n[3];
    } shapes[] = {{"12, 5", 1, {1, 12, 5}}, {"3, 1, 4, 5", 3, {1, 4, 5}}, {"3,4,5", 1, {3, 4, 5}}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        write_volume("<i2", TS_I16, false, shapes[i].shape);
        struct source *source = ts_volume_opened("npy", path);
        cr_assert_eq(source->n_volumes, shapes[i].volumes, "%s", shapes[i].shape);
        for (int d = 0; d < 3; d++)
            cr_assert_eq(source->image.axes[d].n, shapes[i].n[d], "%s", shapes[i].shape);
        source->ops->close(source);
    }
}

Test(npy, refuses_what_it_cannot_read)
{
    static const struct {
        const char *dictionary, *code;
    } files[] = {
        {"{'descr': '<i2', 'fortran_order': True, 'shape': (3, 4, 5), }", "npy-order"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3, 4, 5), }", "npy-type"},
        {"{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (3, 4, 5), }", "npy-type"},
        {"{'fortran_order': False, 'shape': (3, 4, 5), }", "npy-type"},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (60,), }", "npy-shape"},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 3, 4, 5), }", "npy-shape"},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (3, 4, 5", "npy-shape"},
        {"{'descr': '<i2', 'fortran_order': False}", "npy-shape"},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (3, -4, 5), }", "volume-size"},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (4, 4, 5), }", "volume-truncated"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        ts_test_npy_write(path, files[i].dictionary, values, 2 * N);
        ts_volume_refused("npy", path, files[i].code);
    }
    write_volume("<i2", TS_I16, false, "3, 4, 5");
    for (int length = 0; length < 70; length += 11) {
        cr_assert_eq(truncate(path, length), 0);
        ts_volume_refused("npy", path, length > 0 ? "npy-header" : "input-unreadable");
        write_volume("<i2", TS_I16, false, "3, 4, 5");
    }
}

/* ---- scans ----------------------------------------------------------------------------------- */

static enum ts_status open_scan(const char *rest, struct source **source, struct ts_diag *diag)
{
    char text[800];
    struct ts_chain *chain = NULL;
    snprintf(
        text, sizeof text,
        "tomostage: 2\ninput: {npy: %s, %s}\nstages: [save: {name: a}]\noutput: {hdf5: r.h5}\n",
        path, rest);
    *source = NULL;
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag);
    if (status == TS_OK)
        status = chain->sources[0].format->open(&chain->sources[0].set, source, diag);
    ts_chain_destroy(chain);
    return status;
}

static struct source *opened_scan(const char *rest)
{
    struct source *source;
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(open_scan(rest, &source, diag), TS_OK, "%s: %s", rest, ts_diag_first_error(diag));
    ts_diag_destroy(diag);
    return source;
}

/* The file has value 100 a + 10 b + c at (a, b, c). */
static void expect_scan(const char *rest, bool views_first, int64_t rows)
{
    struct source *source = opened_scan(rest);
    const struct ts_image *image = &source->image;
    const int64_t nz = views_first ? NY : NZ, n_views = views_first ? NZ : NY;
    struct ts_diag *diag = ts_diag_create();
    int16_t *data = malloc(ts_image_bytes(image));
    cr_assert(ts_image_is_sinogram(image) && image->axes[0].n == nz && image->axes[1].n == n_views);
    for (int64_t z = 0; z < nz; z += rows)
        cr_assert_eq(source->ops->read(source, z, rows < nz - z ? rows : nz - z,
                                       data + z * n_views * NX, diag),
                     TS_OK);
    for (int64_t z = 0; z < nz; z++)
        for (int64_t view = 0; view < n_views; view++)
            for (int64_t d = 0; d < NX; d++)
                cr_assert_eq(data[(z * n_views + view) * NX + d],
                             views_first ? 100 * view + 10 * z + d : 100 * z + 10 * view + d);
    free(data);
    ts_diag_destroy(diag);
    source->ops->close(source);
}

Test(npy, a_scan_is_a_sinogram_in_either_order)
{
    for (int big = 0; big < 2; big++) {
        write_volume(big ? ">i2" : "<i2", TS_I16, big, "3, 4, 5");
        for (int64_t rows = 1; rows < 5; rows++) {
            expect_scan("axes: [view, z, detector], theta_start: 0, theta_stop: 180", true, rows);
            expect_scan("axes: [z, view, detector], theta_start: 0, theta_stop: 180", false, rows);
            expect_scan("axes: [frame, z, detector]", true, rows);
        }
    }
}

Test(npy, a_scan_has_the_angles_and_lengths_of_the_chain)
{
    write_volume("<i2", TS_I16, false, "3, 4, 5");
    struct source *source = opened_scan("axes: [view, z, detector], angles: [0, 50, 130], "
                                        "angle_sense: y-to-x, spacing: [2, 0.5], quantity: counts");
    const struct ts_axis *axes = source->image.axes;
    cr_assert(axes[1].positions[2] == -130 && axes[0].spacing == 2 && axes[2].spacing == 0.5 &&
              axes[2].first == -1);
    cr_assert_str_eq(axes[2].unit, "mm");
    cr_assert_eq(source->image.quantity, TS_COUNTS);
    source->ops->close(source);
    source = opened_scan(
        "axes: [view, z, detector], theta_start: 0, theta_stop: 3.14159265, angle_unit: radian");
    cr_assert_float_eq(source->image.axes[1].spacing, 60, 1e-6);
    source->ops->close(source);
    source =
        opened_scan("axes: [view, z, detector], theta_start: 10, theta_stop: 100, endpoint: true");
    cr_assert(source->image.axes[1].spacing == 45 && source->image.axes[1].first == 10);
    source->ops->close(source);
    source = opened_scan("spacing: [1, 2, 3]");
    cr_assert(source->image.axes[0].spacing == 1 && source->image.axes[2].spacing == 3);
    source->ops->close(source);
    write_volume("<i2", TS_I16, false, "12, 5");
    source = opened_scan("axes: [view, detector], theta_start: 0, theta_stop: 180");
    cr_assert(source->n_slices == 1 && source->image.axes[1].n == 12);
    source->ops->close(source);
}

Test(npy, degrees_that_the_chain_calls_radians_are_told)
{
    static const struct {
        const char *range, *message; /* NULL: nothing is told */
    } rows[] = {{"theta_start: 0, theta_stop: 180, angle_unit: radian",
                 "the 3 angles in radians, as angle_unit says, are 19.1 turns"},
                {"theta_start: -180, theta_stop: 180, endpoint: true, angle_unit: radian",
                 "are 57.3 turns"},
                {"theta_start: 180, theta_stop: 0, angle_unit: radian", "are 19.1 turns"},
                {"theta_start: 0, theta_stop: 180deg, angle_unit: radian", NULL},
                {"theta_start: 0, theta_stop: 12, angle_unit: radian", NULL},
                {"theta_start: 0, theta_stop: 18.849556, endpoint: true, angle_unit: radian",
                 NULL}, /* three turns */
                {"theta_start: 0, theta_stop: 31.4159, endpoint: true, angle_unit: radian", NULL},
                {"theta_start: -7.85398, theta_stop: 7.85398, angle_unit: radian", NULL},
                {"theta_start: 0, theta_stop: 20, angle_unit: radian", "are 2.122 turns"},
                {"theta_start: 0, theta_stop: 90, angle_unit: radian", "are 9.549 turns"},
                {"theta_start: 0, theta_stop: 720", NULL}};
    write_volume("<i2", TS_I16, false, "3, 4, 5");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char rest[200];
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        snprintf(rest, sizeof rest, "axes: [view, z, detector], %s", rows[i].range);
        cr_assert_eq(open_scan(rest, &source, diag), TS_OK, "%s", rest);
        cr_expect_eq(ts_diag_count(diag), rows[i].message != NULL, "%s", rest);
        if (rows[i].message)
            ts_test_expect_warning(diag, "angle-turns", rows[i].message);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
}

Test(npy, a_scan_without_sense_is_refused)
{
    static const struct {
        const char *rest, *code;
    } rows[] = {{"axes: [view, z, detector]", "angles-missing"},
                {"axes: [view, z, detector], theta_start: 0", "angles-missing"},
                {"axes: [view, z, detector], angles: [0, 1]", "angle-count"},
                {"axes: [view, z, detector], angles: [0, 1, 2], theta_start: 0, theta_stop: 3",
                 "angles-twice"},
                {"axes: [view, z, detector], angles: [0, 1, 2], endpoint: true", "angle-unit-idle"},
                {"axes: [view, z, detector], theta_start: 3, theta_stop: 3", "angle-range"},
                {"axes: [z, view, detector], theta_start: 0, theta_stop: 3.14159265", "angle-unit"},
                {"axes: [detector, z, view], theta_start: 0, theta_stop: 180", "axes-names"},
                {"axes: [view, detector], theta_start: 0, theta_stop: 180", "npy-shape"},
                {"axes: [frame, z, detector], angles: [1, 2, 3]", "angles-idle"},
                {"theta_start: 0, theta_stop: 180", "angles-idle"},
                {"angle_offset: 3", "beam-volume"},
                {"axes: [view, z, detector], theta_start: 0, theta_stop: 180, spacing: [1, 2, 3]",
                 "spacing-count"}};
    write_volume("<i2", TS_I16, false, "3, 4, 5");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct source *source;
        struct ts_diag *diag = ts_diag_create();
        cr_assert_neq(open_scan(rows[i].rest, &source, diag), TS_OK, "%s", rows[i].rest);
        cr_assert_null(source);
        ts_test_expect(diag, rows[i].code, "");
        ts_diag_destroy(diag);
    }
}

/* Line integrals of discs, saved as (view, z, detector), with flats as frames of another file. */
Test(npy, a_scan_is_reconstructed)
{
    enum { VIEWS = 90, DETECTORS = 64, ROWS = 2 };
    struct ts_image scan = ts_disc_scan(ROWS, VIEWS, DETECTORS, 0, 2, TS_F32);
    float *turned = malloc(sizeof(float) * ROWS * VIEWS * DETECTORS);
    char result[300];
    for (int z = 0; z < ROWS; z++)
        ts_disc_scan_draw(&scan, z, (DETECTORS - 1) / 2.0);
    for (int z = 0; z < ROWS; z++)
        for (int view = 0; view < VIEWS; view++)
            for (int d = 0; d < DETECTORS; d++)
                turned[(view * ROWS + z) * DETECTORS + d] =
                    (float)(1000 *
                            exp(-((const float *)scan.data)[(z * VIEWS + view) * DETECTORS + d]));
    ts_test_npy_write(path, "{'descr': '<f4', 'fortran_order': False, 'shape': (90, 2, 64), }",
                      turned, sizeof(float) * ROWS * VIEWS * DETECTORS);
    for (int i = 0; i < 3 * ROWS * DETECTORS; i++)
        turned[i] = 1000;
    snprintf(result, sizeof result, "%s/flats.npy", folder);
    ts_test_npy_write(result, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 64), }",
                      turned, sizeof(float) * 3 * ROWS * DETECTORS);
    ts_test_chain_runs(
        "tomostage: 2\n"
        "input: {npy: a.npy, axes: [view, z, detector], theta_start: 0, theta_stop: 180, spacing: "
        "[0.7, 0.7], quantity: counts}\n"
        "inputs: {flats: {npy: flats.npy, axes: [frame, z, detector], quantity: counts}}\n"
        "stages: [flat_field: {flats: flats}, minus_log: {}, fbp: {}]\noutput: {hdf5: r.h5}\n",
        folder);
    size_t n;
    snprintf(result, sizeof result, "%s/r.h5", folder);
    double *found = ts_test_read_hdf5_at(result, "/entry/data/data", &n), error = 0, all = 0;
    for (int y = 0; y < DETECTORS; y++)
        for (int x = 0; x < DETECTORS; x++) {
            const double expected =
                ts_disc_scan_value(DETECTORS, x - (DETECTORS - 1) / 2.0, (DETECTORS - 1) / 2.0 - y);
            error += fabs(found[y * DETECTORS + x] * 0.7 * DETECTORS - expected);
            all += fabs(expected);
        }
    cr_assert_lt(error, 0.2 * all, "the error is %g of %g", error, all);
    free(found);
    free(turned);
    free(scan.data);
}
