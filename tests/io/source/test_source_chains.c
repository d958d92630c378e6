/* SPDX-License-Identifier: Apache-2.0
 *
 * The chain that a result records is run again, for every format of inputs and every way to say
 * angles: it must be accepted and give the same root digest. Inputs lie beside it under the names
 * input, flats and darks.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/source/source.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/scan_file.h"
#include "tests/files/tiff_fixture.h"
#include "tests/support/chain_run.h"
#include "tests/support/support.h"

TestSuite(source_chains, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

enum { TEXT_BYTES = 1 << 16 };

static void in_folder(char *path, size_t size, const char *name)
{
    snprintf(path, size, "%s/%s", ts_scan_file.folder, name);
}

/* A text attribute or, where `name` is NULL, a text dataset. */
static void read_text(const char *file_name, const char *object_path, const char *name, char *out,
                      size_t size)
{
    char path[400];
    in_folder(path, sizeof path, file_name);
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT),
                object = H5Oopen(file, object_path, H5P_DEFAULT);
    const hid_t value = name ? H5Aopen(object, name, H5P_DEFAULT) : object;
    const hid_t type = name ? H5Aget_type(value) : H5Dget_type(value);
    const size_t bytes = H5Tget_size(type);
    cr_assert(bytes < size);
    cr_assert((name ? H5Aread(value, type, out)
                    : H5Dread(value, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out)) >= 0);
    out[bytes] = '\0';
    H5Tclose(type);
    if (name)
        H5Aclose(value);
    H5Oclose(object);
    H5Fclose(file);
}

static void put_file(const char *name, const char *text)
{
    char path[400];
    in_folder(path, sizeof path, name);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* One name leads to another. */
static void lead(const char *from, const char *to)
{
    char path[400];
    in_folder(path, sizeof path, from);
    unlink(path);
    cr_assert_eq(symlink(to, path), 0);
}

/* Runs a chain whose input is {`input`} and inputs are {`inputs`}, the chain that the result
 * records, and that of the second result. */
static void run_again(const char *input, const char *inputs, const char *stages, const char *words)
{
    static char text[TEXT_BYTES], recorded[TEXT_BYTES], second[TEXT_BYTES];
    char first_digest[80], second_digest[80];
    snprintf(text, sizeof text,
             "tomostage: 2\ninput: {%s}\n%s%s%sstages: [%s]\noutput: {hdf5: first.h5}\n", input,
             *inputs ? "inputs: {" : "", inputs, *inputs ? "}\n" : "", stages);
    ts_test_chain_runs(text, ts_scan_file.folder);
    read_text("first.h5", "/entry/provenance/chain", NULL, recorded, sizeof recorded);
    read_text("first.h5", "/", "digest", first_digest, sizeof first_digest);
    cr_assert(!words || strstr(recorded, words), "%s is not in:\n%s", words, recorded);
    cr_assert_null(strstr(recorded, ts_scan_file.folder), "%s", recorded);
    snprintf(text, sizeof text, "%.60000soutput: {hdf5: second.h5}\n", recorded);
    ts_test_chain_runs(text, ts_scan_file.folder);
    read_text("second.h5", "/entry/provenance/chain", NULL, second, sizeof second);
    read_text("second.h5", "/", "digest", second_digest, sizeof second_digest);
    cr_assert_str_eq(second, recorded);
    cr_assert_str_eq(second_digest, first_digest, "%s", recorded);
    for (int i = 0; i < 2; i++) {
        in_folder(text, sizeof text, i ? "second.h5" : "first.h5");
        cr_assert_eq(unlink(text), 0);
    }
}

static const char save[] = "save: {name: a}";

#define VIEWS "tiff: a.tif, pages: views, pixel_size: 0.5"

Test(source_chains, tiff)
{
    char path[400];
    in_folder(path, sizeof path, "a.tif");
    ts_tiff_write(path, &ts_tiff_plain);
    put_file("degrees.txt", "0\n60.1\n120.2\n");
    put_file("radians.txt", "0\n1.0471976\n2.0943951\n");
    lead("input", "a.tif");
    lead("flats", "a.tif");
    run_again(VIEWS ", angles: [0, 60, 120.1]", "", save, "angles: [0, 60, 120.1]");
    run_again(VIEWS ", angles_file: degrees.txt", "", save, "quantity: counts");
    run_again(VIEWS ", angles_file: degrees.txt, angle_sense: y-to-x, angle_offset: 5", "", save,
              "angles: [5, -55.1, -115.2]");
    run_again(VIEWS ", angle_start: 0, angle_stop: 180, angle_sense: y-to-x, angle_offset: 5", "",
              save, "angle_sense: y-to-x");
    run_again(VIEWS ", angles_file: degrees.txt", "", save, "angles: [0, 60.1, 120.2]");
    run_again(VIEWS ", angles_file: radians.txt, angle_unit: radian", "", save, "angles: [0, 60.0");
    run_again(VIEWS ", angle_start: 0, angle_stop: 180", "", save, "angle_stop: 180");
    run_again(VIEWS ", angle_start: 0.1, angle_stop: 3.1, angle_unit: radian, endpoint: true", "",
              save, "angle_unit: degree");
    run_again("tiff: a.tif, pages: sinograms, pixel_size: 0.5, angle_start: 0, angle_stop: 180, "
              "quantity: line_integral",
              "", "center: {center: 17.5}, fbp: {}", "angle_stop: 180");
    run_again(
        VIEWS
        ", angle_start: 0, angle_stop: 180, beam: fan-flat, source_axis: 100, source_detector: 200",
        "", save, "source_axis: 100");
    run_again(VIEWS ", angle_start: 0, angle_stop: 180",
              "flats: {tiff: a.tif, pages: views, frames: flats, pixel_size: 0.5}",
              "flat_field: {flats: flats}", "frames: flats");
    run_again("tiff: a.tif, pages: sinograms, pixel_size: 0.5, angle_start: 0, angle_stop: 180", "",
              save, NULL);
    run_again("tiff: a.tif, pages: slices, pixel_size: 0.5, spacing_z: 2", "", save,
              "quantity: intensity");
}

static void make_nexus(void)
{
    static const double keys[SCAN_FRAMES] = {2, 1, 0, 0, 3, 0, 1},
                        angles[SCAN_FRAMES] = {0, 0, 10, 20, 25, 45.5, 45.5};
    char path[400];
    in_folder(path, sizeof path, "a.nxs");
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t entry = ts_scan_file_group(file, "entry", "NXentry");
    const hid_t instrument = ts_scan_file_group(entry, "instrument", "NXinstrument");
    const hid_t detector = ts_scan_file_group(instrument, "detector", "NXdetector");
    ts_scan_file_frames(detector, "data", SCAN_FRAMES, NULL);
    ts_scan_file_numbers(detector, "image_key", SCAN_FRAMES, keys, NULL);
    ts_scan_file_numbers(detector, "angles", SCAN_FRAMES, angles, "degree");
    H5Gclose(detector);
    H5Gclose(instrument);
    H5Gclose(entry);
    H5Fclose(file);
}

Test(source_chains, scans_in_hdf5)
{
    static const double theta[SCAN_FRAMES] = {0, 10, 20, 30, 40, 50, 60};
    make_nexus();
    lead("input", "a.nxs");
    lead("flats", "a.nxs");
    run_again("nexus: a.nxs, data: /entry/instrument/detector/data, angles: "
              "/entry/instrument/detector/angles, image_key: /entry/instrument/detector/image_key, "
              "pixel_size: 0.1",
              "flats: {nexus: a.nxs, frames: flats, data: /entry/instrument/detector/data, "
              "image_key: /entry/instrument/detector/image_key}",
              "flat_field: {flats: flats}", NULL);
    cr_assert(H5Fclose(ts_scan_file_exchange(NULL, SCAN_FRAMES, theta)) >= 0);
    const char *name = strrchr(ts_scan_file.path, '/') + 1;
    char text[600];
    lead("input", name);
    lead("flats", name);
    snprintf(text, sizeof text, "exchange: %s", name);
    run_again(text, "", save, NULL);
    snprintf(text, sizeof text,
             "hdf5: %s, path: /exchange/data, axes: [view, z, detector], angles: /exchange/theta",
             name);
    run_again(text, "", save, NULL);
    snprintf(
        text, sizeof text,
        "hdf5: %s, path: /exchange/data, axes: [view, z, detector], theta_start: 0, theta_stop: 3",
        name);
    strcat(text, ", angle_unit: radian");
    run_again(text, "", save, NULL);
    snprintf(text, sizeof text, "hdf5: %s, path: /exchange/data, axes: [frame, z, detector]", name);
    run_again(text, "", save, NULL);
    snprintf(text, sizeof text,
             "hdf5: %s, path: /exchange/data, axes: [z, y, x], spacing: [1, 2, 3]", name);
    run_again(text, "", save, NULL);
    cr_assert(H5Fclose(ts_scan_file_exchange(NULL, 0, NULL)) >= 0);
    snprintf(text, sizeof text, "exchange: %s, theta_start: 0, theta_stop: 180", name);
    run_again(text, "", save, NULL);
}

Test(source_chains, dicom_and_result)
{
    char path[400];
    in_folder(path, sizeof path, "study");
    cr_assert_eq(mkdir(path, 0777), 0);
    ts_fixture_series(path, FIXTURE_SLICES, NULL, NULL);
    lead("input", "study");
    run_again("dicom: study", "", "box: {radius: 1}", NULL);
    snprintf(path, sizeof path,
             "tomostage: 2\ninput: {dicom: study}\nstages: [%s]\noutput: {hdf5: r.h5}\n", save);
    ts_test_chain_runs(path, ts_scan_file.folder);
    lead("input", "r.h5");
    run_again("result: r.h5, image: a", "", "box: {radius: 1}", NULL);
}
