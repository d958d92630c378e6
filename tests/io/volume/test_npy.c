/* SPDX-License-Identifier: Apache-2.0
 *
 * The npy source on files as numpy.save writes them: types, byte orders, numbers of axes, and files that are refused.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/npy.h"
#include "tests/files/volume_fixture.h"
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

/* Writes the volume in a type, with the bytes of each value reversed where it is the other byte order. */
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
    snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    ts_test_npy_write(path, dictionary, values, N * width);
}

Test(npy, reads_every_type_in_both_byte_orders)
{
    static const struct {
        const char *descr;
        enum ts_dtype stored, read;
        bool reversed;
    } types[] = {{"|u1", TS_U8, TS_U8, false},   {"<i2", TS_I16, TS_I16, false}, {">i2", TS_I16, TS_I16, true},
                 {"<u2", TS_U16, TS_U16, false}, {">u4", TS_U32, TS_U32, true},  {"<i4", TS_I32, TS_I32, false},
                 {"<f4", TS_F32, TS_F32, false}, {">f8", TS_F64, TS_F32, true},  {"<f8", TS_F64, TS_F32, false}};
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
    } files[] = {{"{'descr': '<i2', 'fortran_order': True, 'shape': (3, 4, 5), }", "npy-order"},
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
