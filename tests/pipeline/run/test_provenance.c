/* SPDX-License-Identifier: Apache-2.0
 *
 * A result records facts of its inputs: where the views lie, which rows were read, and in which
 * unit lengths are.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_verify.h"
#include "io/scan/hdf5_info.h"
#include "tests/files/hdf5_data.h"
#include "tests/files/scan_file.h"
#include "tests/support/chain_run.h"

TestSuite(provenance, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

enum { N = SCAN_FRAMES };

static const char *place(const char *name)
{
    static char path[500];
    snprintf(path, sizeof path, "%s/%s", ts_scan_file.folder, name);
    return path;
}

static void write_scan(const double *theta)
{
    const hid_t file =
        ts_scan_file_exchange(&(struct scan_storage){.type = H5T_STD_U16LE}, theta ? N : 0, theta);
    H5Fclose(file);
}

/* Runs these stages on the input, with more of its parameters, to out.h5. */
static void run(const char *input, const char *stages)
{
    char text[1024];
    snprintf(text, sizeof text, "tomostage: 2\ninput: {%s}\nstages:\n%soutput: {hdf5: out.h5}\n",
             input, stages);
    ts_test_chain_runs(text, ts_scan_file.folder);
}

/* A text attribute of an object of out.h5. */
static void text_of(const char *path, const char *name, char *text, size_t size)
{
    const hid_t file = H5Fopen(place("out.h5"), H5F_ACC_RDONLY, H5P_DEFAULT),
                attribute = H5Aopen_by_name(file, path, name, H5P_DEFAULT, H5P_DEFAULT),
                type = attribute < 0 ? -1 : H5Aget_type(attribute);
    cr_assert(type >= 0 && H5Tget_size(type) < size, "%s@%s", path, name);
    memset(text, 0, size);
    cr_assert(H5Aread(attribute, type, text) >= 0);
    H5Tclose(type);
    H5Aclose(attribute);
    H5Fclose(file);
}

static void expect_unit(const char *path, const char *unit)
{
    char text[64];
    text_of(path, "units", text, sizeof text);
    cr_assert_str_eq(text, unit, "%s", path);
}

static void expect_numbers(const char *path, const double *expected, size_t n)
{
    size_t count;
    double *values = ts_test_read_hdf5_at(place("out.h5"), path, &count);
    cr_assert(count == n && !memcmp(values, expected, n * sizeof *values),
              "%s: %zu numbers, the first %g", path, count, values[0]);
    free(values);
}

/* The same pixels under other angles are another input. */
Test(provenance, holds_the_angles_of_a_scan)
{
    static const double there[N] = {0, 25, 50, 75, 100, 125, 150},
                        back[N] = {0, -25, -50, -75, -100, -125, -150};
    char first[80], second[80], input[400];
    snprintf(input, sizeof input, "exchange: %s, quantity: line_integral",
             strrchr(ts_scan_file.path, '/') + 1);
    for (int turned = 0; turned < 2; turned++) {
        write_scan(turned ? back : there);
        run(input, "  - fbp:\n");
        expect_numbers("/entry/inputs/input/angles", turned ? back : there, N);
        expect_unit("/entry/inputs/input/angles", "degree");
        cr_assert_eq(ts_hdf5_verify(NULL, place("out.h5"), NULL, ts_scan_file.diag), TS_OK);
        text_of("/", "digest", turned ? second : first, sizeof first);
    }
    cr_assert(strlen(first) == 64 && strcmp(first, second) != 0);
}

/* Even angles that the chain says are written as those of a file; frames without an object have
 * none. */
Test(provenance, holds_the_angles_that_the_chain_gives)
{
    static const double even[N] = {10, 30, 50, 70, 90, 110, 130};
    char input[400];
    write_scan(NULL);
    const char *name = strrchr(ts_scan_file.path, '/') + 1;
    snprintf(input, sizeof input, "exchange: %s, theta_start: 10, theta_stop: 150", name);
    run(input, "  - invert:\n");
    expect_numbers("/entry/inputs/input/angles", even, N);
    snprintf(input, sizeof input, "exchange: %s, frames: flats", name);
    run(input, "  - invert:\n");
    const hid_t file = H5Fopen(place("out.h5"), H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert_eq(H5Lexists(file, "/entry/inputs/input/angles", H5P_DEFAULT), 0);
    H5Fclose(file);
}

/* Without a pixel size nothing is in mm. */
Test(provenance, says_the_unit_of_lengths)
{
    static const double theta[N] = {0, 25, 50, 75, 100, 125, 150};
    static const struct {
        const char *more, *unit;
        double step;
    } rows[] = {{"", "pixel", 1}, {", pixel_size: 0.25", "mm", 0.25}};
    write_scan(theta);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double positions[3 * SCAN_ROWS] = {
            0, 0, 0, 0, 0, rows[i].step, 0, 0, 2 * rows[i].step};
        char input[400];
        snprintf(input, sizeof input, "exchange: %s, quantity: line_integral%s",
                 strrchr(ts_scan_file.path, '/') + 1, rows[i].more);
        run(input, "  - fbp:\n");
        expect_unit("/entry/process_1_fbp/parameters/pixel_size", rows[i].unit);
        expect_unit("/entry/process_1_fbp/parameters/row_spacing", rows[i].unit);
        expect_numbers("/entry/process_1_fbp/parameters/pixel_size", &rows[i].step, 1);
        expect_unit("/entry/inputs/input/slice_position", rows[i].unit);
        expect_numbers("/entry/inputs/input/slice_position", positions,
                       sizeof positions / sizeof *positions);
    }
}
