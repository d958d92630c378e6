/* SPDX-License-Identifier: Apache-2.0
 *
 * Phantoms: known values at known places, closed integrals against numeric ones, and the written
 * series read back.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "datasets/dicom_write.h"
#include "datasets/phantom.h"
#include "io/dicom_header/dicom_scan.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

static const struct phantom_options odd = {
    .nx = 37, .ny = 23, .nz = 5, .spacing_x_mm = 0.7, .spacing_y_mm = 1.1, .spacing_z_mm = 3};

Test(phantom, known_values)
{
    const struct phantom_options options = PHANTOM_OPTIONS_DEFAULT;
    const double unit = 128 * 0.8, z_unit = 12 * 2.5;
    const struct {
        const char *name;
        double x, y, z, hu;
    } known[] = {
        {"shepp-logan", 0, 0.9, 0, 1000},
        {"shepp-logan", 0, -0.3, 0, -600},
        {"shepp-logan", 0.22, 0, 0, -1000},
        {"shepp-logan", 0, 0.35, 0, -400},
        {"shepp-logan", 0.9, 0.9, 0, -1000},
        {"shepp-logan", 0, 0, 0.95, -1000},
        {"head", 0, -0.3, 0, 40},
        {"head", -0.22, 0, 0, 0},
        {"disc", 0.7, 0, 0.99, 0},
        {"disc", 0.81, 0, 0, -1000},
        {"rods", 0.5, 0, 0, 900},
        {"rods", 0.25, 0.433, 0, 500},
        {"rods", 0.25, -0.433, 0, -800},
        {"asymmetric", 0.45, -0.5, 0.5, 500},
        {"asymmetric", 0.45, -0.5, -0.5, -1000},
        {"asymmetric", 0.3, 0.55, 0, -200},
        {"gradient", 0.5, 0, 0, 400},
        {"gradient", 0, -0.5, 0.5, 150},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct phantom *phantom = ts_phantom_find(known[i].name);
        cr_assert_not_null(phantom);
        const double hu = ts_phantom_value(phantom, &options, known[i].x * unit, known[i].y * unit,
                                           known[i].z * z_unit);
        cr_assert_float_eq(hu, known[i].hu, 1e-9, "%s at (%g, %g, %g): %g", known[i].name,
                           known[i].x, known[i].y, known[i].z, hu);
    }
    cr_assert_null(ts_phantom_find("nothing"));
}

/* The definition: every subsample of every pixel. */
Test(phantom, render_is_the_mean_of_the_subsamples)
{
    static double out[37 * 23];
    for (const struct phantom *phantom = ts_phantoms; phantom->name != NULL; phantom++)
        for (int64_t z = 0; z < odd.nz; z++) {
            double worst = 0;
            ts_phantom_render(phantom, &odd, z, out);
            for (int64_t row = 0; row < odd.ny; row++)
                for (int64_t column = 0; column < odd.nx; column++) {
                    double sum = 0;
                    for (int k = 0; k < 16; k++) {
                        const double x = ((double)column - 18 + (k % 4 + 0.5) / 4 - 0.5) * 0.7;
                        const double y = (11 - (double)row + (k / 4 + 0.5) / 4 - 0.5) * 1.1;
                        sum += ts_phantom_value(phantom, &odd, x, y, ((double)z - 2) * 3);
                    }
                    worst = fmax(worst, fabs(sum / 16 - out[row * odd.nx + column]));
                }
            cr_assert(worst <= 1e-9, "%s slice %d differs by %g", phantom->name, (int)z, worst);
        }
}

/* A tilt by which every slice lies two rows further than the one before moves the picture by two
 * rows a slice. */
Test(phantom, a_tilted_gantry_shifts_slices)
{
    static double straight[37 * 23], tilted[37 * 23];
    const struct phantom *phantom = ts_phantom_find("head");
    struct phantom_options options = odd;
    options.tilt_degree = atan(2 * odd.spacing_y_mm / odd.spacing_z_mm) * (180 / M_PI);
    for (int64_t z = 0; z < odd.nz; z++) {
        const int64_t rows = 2 * (z - odd.nz / 2);
        ts_phantom_render(phantom, &odd, z, straight);
        ts_phantom_render(phantom, &options, z, tilted);
        cr_assert_float_eq(ts_phantom_shift_mm(&options, z), (double)rows * odd.spacing_y_mm,
                           1e-12);
        for (int64_t row = rows < 0 ? -rows : 0; row < odd.ny - (rows > 0 ? rows : 0); row++)
            for (int64_t i = 0; i < odd.nx; i++)
                cr_assert_float_eq(tilted[row * odd.nx + i], straight[(row + rows) * odd.nx + i],
                                   1e-6);
    }
}

/* Composite midpoint rule along the line; its error at a jump is at most half a step times the
 * jump, a few jumps a line. */
Test(phantom, integrals_agree_with_quadrature)
{
    enum { N_LINES = 200, N_STEPS = 20000 };
    uint64_t seed = 3;
    size_t crossed = 0;
    for (const struct phantom *phantom = ts_phantoms; phantom->name != NULL; phantom++)
        for (int line = 0; line < N_LINES; line++) {
            const double theta = 2 * M_PI * ts_random_unit(&seed), radius = 12.65 * sqrt(2);
            const double s = (2 * ts_random_unit(&seed) - 1) * 12,
                         z = (2 * ts_random_unit(&seed) - 1) * 7;
            const double step = 2 * radius / N_STEPS;
            double sum = 0;
            for (int i = 0; i < N_STEPS; i++) {
                const double t = (i + 0.5) * step - radius;
                const double x = s * cos(theta) - t * sin(theta),
                             y = s * sin(theta) + t * cos(theta);
                sum += (ts_phantom_value(phantom, &odd, x, y, z) - PHANTOM_AIR_HU) * step;
            }
            const double exact = ts_phantom_integral(phantom, &odd, theta, s, z);
            cr_assert(fabs(sum - exact) <= 8 * 2000 * step, "%s theta %g s %g z %g: %g and %g",
                      phantom->name, theta, s, z, sum, exact);
            crossed += exact != 0;
        }
    cr_assert_gt(crossed, 600);
}

Test(phantom, integral_of_the_disc_by_hand)
{
    const struct phantom_options options = PHANTOM_OPTIONS_DEFAULT;
    const struct phantom *disc = ts_phantom_find("disc");
    const double radius = 0.8 * 128 * 0.8;
    cr_assert_float_eq(ts_phantom_integral(disc, &options, 0.3, 0, 0), 1000 * 2 * radius, 1e-6);
    cr_assert_float_eq(ts_phantom_integral(disc, &options, 1.3, 0.6 * radius, 7),
                       1000 * 1.6 * radius, 1e-6);
    cr_assert_eq(ts_phantom_integral(disc, &options, 1.3, 1.01 * radius, 7), 0);
}

static enum ts_status write_phantom(const char *name, const struct phantom_options *options,
                                    const char *folder, char code[32], char hint[256])
{
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = ts_phantom_write(name, options, folder, diag);
    code[0] = hint[0] = '\0';
    if (status != TS_OK) {
        const struct ts_diag_record *record = ts_diag_get(diag, 0);
        snprintf(code, 32, "%s", record->code);
        snprintf(hint, 256, "%s", record->hint != NULL ? record->hint : "");
    }
    ts_diag_destroy(diag);
    return status;
}

static unsigned char *read_file(const char *path, size_t *size)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fstat(fileno(file), &info), 0);
    unsigned char *bytes = malloc((size_t)info.st_size);
    *size = fread(bytes, 1, (size_t)info.st_size, file);
    cr_assert_eq(*size, (size_t)info.st_size);
    fclose(file);
    return bytes;
}

Test(phantom, written_files)
{
    char folder[256], study[96], path[300], code[32], hint[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    snprintf(study, sizeof study, "%s/study", folder);
    cr_assert_eq(write_phantom("asymmetric", &odd, study, code, hint), TS_OK);
    struct arena *arena = ts_arena_create();
    double hu[37 * 23];
    for (int z = 0; z < 5; z++) {
        struct dicom_other other;
        struct dicom_file file;
        snprintf(path, sizeof path, "%s/IM%04d.dcm", study, z + 1);
        cr_assert(ts_dicom_scan_file(path, arena, &file, &other));
        cr_assert_null(file.refusal, "%s", file.refusal);
        cr_assert(file.rows == 23 && file.columns == 37 && file.bits_stored == 12 &&
                  file.pixel_representation == 0);
        const struct dicom_image *image = file.images;
        cr_assert(image->spacing_mm[0] == 1.1 && image->spacing_mm[1] == 0.7);
        cr_assert(image->slope == 1 && image->intercept == -1024);
        cr_assert_float_eq(image->position_mm[0], -18 * 0.7, 1e-9);
        cr_assert_float_eq(image->position_mm[1], -11 * 1.1, 1e-9);
        cr_assert_float_eq(image->position_mm[2], (z - 2) * 3, 1e-9);
        cr_assert_str_eq(file.modality, "CT");
        cr_assert_str_eq(file.burned_in, "NO");
        cr_assert_eq(strncmp(file.sop_instance, "2.25.", 5), 0);
        ts_phantom_render(ts_phantom_find("asymmetric"), &odd, z, hu);
        size_t size;
        unsigned char *bytes = read_file(path, &size);
        cr_assert_eq(size, (size_t)file.pixel_offset + 2 * 37 * 23);
        for (int i = 0; i < 37 * 23; i++) {
            const unsigned char *at = bytes + file.pixel_offset + 2 * i;
            cr_assert_eq((double)(at[0] | at[1] << 8) - 1024, rint(hu[i]), "slice %d pixel %d", z,
                         i);
        }
        free(bytes);
    }
    ts_arena_destroy(arena);
    ts_test_remove_folder(study);
    ts_test_remove_folder(folder);
}

/* Through the scanner and the workers: one clean volume with the geometry of phantom.h. */
Test(phantom, written_series_is_a_clean_volume)
{
    char folder[256], study[96], code[32], hint[256];
    double hu[37 * 23];
    ts_test_folder_in_memory(folder, sizeof folder);
    for (const struct phantom *phantom = ts_phantoms; phantom->name != NULL; phantom++) {
        snprintf(study, sizeof study, "%s/%s", folder, phantom->name);
        cr_assert_eq(write_phantom(phantom->name, &odd, study, code, hint), TS_OK);
        struct ts_diag *diag = ts_diag_create();
        struct source *source;
        cr_assert_eq(ts_test_open_dicom(study, NULL, BURNED_IN_REFUSE, &source, diag), TS_OK);
        cr_assert_eq(ts_diag_count(diag), 0, "%s",
                     ts_diag_count(diag) > 0 ? ts_diag_get(diag, 0)->message : "");
        const struct ts_image *image = &source->image;
        cr_assert(image->quantity == TS_HU && image->dtype == TS_I16 && image->has_geometry);
        cr_assert(image->axes[0].n == 5 && image->axes[1].n == 23 && image->axes[2].n == 37);
        cr_assert_float_eq(image->axes[0].spacing, 3, 1e-9);
        cr_assert_float_eq(image->axes[1].spacing, 1.1, 1e-9);
        cr_assert_float_eq(image->axes[2].spacing, 0.7, 1e-9);
        cr_assert_float_eq(image->origin_mm[2], -6, 1e-9);
        for (int i = 0; i < 9; i++)
            cr_assert_float_eq(image->direction[i], i % 4 == 0, 1e-12);
        int16_t *data = ts_test_read_all(source, diag);
        for (int64_t z = 0; z < 5; z++) {
            ts_phantom_render(phantom, &odd, z, hu);
            for (int i = 0; i < 37 * 23; i++)
                cr_assert_eq(data[z * 37 * 23 + i], rint(hu[i]), "%s slice %d pixel %d",
                             phantom->name, (int)z, i);
        }
        free(data);
        source->ops->close(source);
        ts_diag_destroy(diag);
    }
    ts_test_remove_folder(folder);
}

Test(phantom, equal_options_equal_bytes)
{
    char folder[256], study[3][96], path[400], code[32], hint[256];
    struct phantom_options noisy = odd;
    unsigned char *bytes[3];
    size_t sizes[3];
    noisy.noise_hu = 25;
    ts_test_folder_in_memory(folder, sizeof folder);
    for (int i = 0; i < 3; i++) {
        noisy.seed = i == 2;
        snprintf(study[i], sizeof study[i], "%s/%d", folder, i);
        cr_assert_eq(write_phantom("disc", &noisy, study[i], code, hint), TS_OK);
        snprintf(path, sizeof path, "%s/IM0003.dcm", study[i]);
        bytes[i] = read_file(path, &sizes[i]);
    }
    cr_assert_eq(sizes[0], sizes[1]);
    cr_assert_arr_eq(bytes[0], bytes[1], sizes[0]);
    cr_assert(sizes[2] != sizes[0] || memcmp(bytes[0], bytes[2], sizes[0]) != 0);
    /* The center of the disc: mean 0 HU and the standard deviation asked for, to five standard
     * errors. */
    double sum = 0, squares = 0;
    int n = 0;
    for (int row = 6; row < 17; row++)
        for (int column = 10; column < 27; column++, n++) {
            const unsigned char *at = bytes[0] + sizes[0] - 2 * 37 * 23 + 2 * (row * 37 + column);
            const double hu = (at[0] | at[1] << 8) - 1024;
            sum += hu;
            squares += hu * hu;
        }
    cr_assert(fabs(sum / n) <= 5 * 25 / sqrt(n), "mean %g", sum / n);
    cr_assert(fabs(sqrt(squares / n) - 25) <= 5 * 25 / sqrt(2 * n), "deviation %g",
              sqrt(squares / n));
    for (int i = 0; i < 3; i++) {
        free(bytes[i]);
        ts_test_remove_folder(study[i]);
    }
    ts_test_remove_folder(folder);
}

Test(phantom, refusals)
{
    char folder[256], path[300], code[32], hint[256];
    struct phantom_options bad = odd;
    ts_test_folder_in_memory(folder, sizeof folder);
    cr_assert_eq(write_phantom("shep-logan", &odd, folder, code, hint), TS_BAD_CHAIN);
    cr_assert_str_eq(code, "unknown-phantom");
    cr_assert_str_eq(hint, "did you mean 'shepp-logan'?");
    bad.nx = 0;
    cr_assert_eq(write_phantom("disc", &bad, folder, code, hint), TS_BAD_CHAIN);
    bad = odd;
    bad.spacing_z_mm = NAN;
    cr_assert_eq(write_phantom("disc", &bad, folder, code, hint), TS_BAD_CHAIN);
    cr_assert_str_eq(code, "phantom-size");

    snprintf(path, sizeof path, "%s/mine.txt", folder);
    ts_fixture_write_bytes(path, "x", 1);
    cr_assert_eq(write_phantom("disc", &odd, folder, code, hint), TS_RUN_FAILED);
    cr_assert_str_eq(code, "folder-not-empty");
    cr_assert_eq(write_phantom("disc", &odd, path, code, hint), TS_RUN_FAILED);
    cr_assert_str_eq(code, "folder-not-usable");
    snprintf(path, sizeof path, "%s/absent/study", folder);
    cr_assert_eq(write_phantom("disc", &odd, path, code, hint), TS_RUN_FAILED);
    cr_assert_str_eq(code, "folder-not-usable");
    ts_test_remove_folder(folder);
}

/* An instance that is there already is not written over. */
Test(phantom, an_instance_that_cannot_be_written_is_an_error)
{
    const struct ct_series series = {.patient_name = "A^B",
                                     .patient_id = "1",
                                     .description = "test",
                                     .nx = 2,
                                     .ny = 2,
                                     .spacing_x_mm = 1,
                                     .spacing_y_mm = 1,
                                     .spacing_z_mm = 1};
    const double position[3] = {0};
    const uint16_t stored[4] = {0};
    char folder[256], path[300], instance[DICOM_UID_BYTES];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/1.dcm", folder);
    ts_dicom_uid(instance, "instance");
    for (int i = 0; i < 2; i++) {
        struct ts_diag *diag = ts_diag_create();
        cr_assert_eq(ts_ct_write(path, &series, 1, instance, position, stored, diag),
                     i ? TS_RUN_FAILED : TS_OK);
        if (i)
            ts_test_expect(diag, "file-not-written", "1.dcm: File exists");
        ts_diag_destroy(diag);
    }
    unlink(path);
    ts_test_remove_folder(folder);
}
