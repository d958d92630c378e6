/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures of `tomostage preview` are decoded and compared with the samples that they show.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/picture.h"
#include "tests/support/program.h"

enum { N = 64, SLICES = 3, MARGIN = 10, INK = 230 };

static struct program_outcome outcome;
static char folder[256];

#define RUN(code_, ...)                                                                            \
    do {                                                                                           \
        ts_program_run(folder, (const char *const[]){__VA_ARGS__, NULL}, &outcome);                \
        cr_assert_eq(outcome.code, code_, "%d: %s%s", outcome.code, outcome.out, outcome.err);     \
    } while (0)

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(preview, .init = begin, .fini = end);

struct picture {
    int width, height;
    uint8_t *gray;
};

static struct picture read_picture(const char *name)
{
    char path[512];
    png_image image = {.version = PNG_IMAGE_VERSION};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert(png_image_begin_read_from_file(&image, path), "%s", path);
    cr_assert_eq(image.format, PNG_FORMAT_GRAY);
    struct picture picture = {(int)image.width, (int)image.height, malloc(PNG_IMAGE_SIZE(image))};
    cr_assert(png_image_finish_read(&image, NULL, picture.gray, 0, NULL));
    return picture;
}

static int at(const struct picture *picture, int x, int y)
{
    return picture->gray[y * picture->width + x];
}

static float sample(int z, int y, int x)
{
    return (float)(1000 * z + (x * 7 + y * 13) % 101);
}

/* Writes samples of 4 x 1 mm in slices 2 mm apart; the first row of each slice is NaN, and one
 * value is an outlier. */
static void write_volume(void)
{
    char path[512];
    float *values = malloc(sizeof *values * N * N * SLICES);
    for (int z = 0; z < SLICES; z++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++)
                values[(z * N + y) * N + x] = y == 0             ? NAN
                                              : y == 1 && x == 0 ? -1e6f
                                                                 : sample(z, y, x);
    snprintf(path, sizeof path, "%s/volume.nrrd", folder);
    FILE *file = fopen(path, "wb");
    fprintf(file,
            "NRRD0004\ntype: float\ndimension: 3\nsizes: %d %d %d\nencoding: raw\nendian: little\n"
            "space: left-posterior-superior\nspace directions: (4,0,0) (0,1,0) (0,0,2)\nspace "
            "origin: (0,0,0)\n\n",
            N, N, SLICES);
    cr_assert(fwrite(values, sizeof *values, N * N * SLICES, file) == N * N * SLICES &&
              fclose(file) == 0);
    free(values);
}

/* Samples of 4 x 1 mm are four times as wide as high, at two pixels a millimeter. */
Test(preview, samples_have_their_proportions)
{
    write_volume();
    RUN(0, "preview", "volume.nrrd", "-o", "a.png", "--blocks", "--window", "1050/101");
    cr_assert_str_eq(
        outcome.out,
        "volume.nrrd axial slice 1: 64 x 64 of 4 x 1 mm, window 999.5 to 1100.5 (given)\n");
    const struct picture picture = read_picture("a.png");
    cr_assert(picture.width == 2 * MARGIN + 512 && picture.height > 128 + 2 * MARGIN);
    for (int y = 1; y < N; y++)
        for (int x = 12; x < N - 12; x++) /* the letters of the sides stand at the edges */
            for (int corner = 0; corner < 4 && !(abs(x - N / 2) < 3 && (y < 20 || y > N - 20));
                 corner++) {
                const double level = ((double)sample(1, y, x) - 999.5) / 101 * 255;
                cr_assert_eq(
                    at(&picture, MARGIN + 8 * x + 7 * (corner & 1), MARGIN + 2 * y + (corner >> 1)),
                    (int)(level + 0.5));
            }
    for (int x = 100; x < 220; x++)
        cr_assert(at(&picture, MARGIN + x, MARGIN) == 0 &&
                      at(&picture, MARGIN + x, MARGIN + 1) == 0,
                  "NaN is black");
    free(picture.gray);
}

/* Between the centers of samples values are interpolated; the bar is as long as it says. */
Test(preview, interpolates_and_draws_a_bar)
{
    write_volume();
    RUN(0, "preview", "volume.nrrd", "-o", "a.png", "--window", "1050/101");
    const struct picture picture = read_picture("a.png");
    for (int y = 30; y < 60; y++)
        for (int x = 100; x < 240; x++) {
            const double u = (x + 0.5) / 8 - 0.5, v = (y + 0.5) / 2 - 0.5;
            const int i = (int)u, k = (int)v;
            const double above =
                sample(1, k, i) + (sample(1, k, i + 1) - sample(1, k, i)) * (u - i);
            const double below =
                sample(1, k + 1, i) + (sample(1, k + 1, i + 1) - sample(1, k + 1, i)) * (u - i);
            const double level = (above + (below - above) * (v - k) - 999.5) / 101 * 255;
            cr_assert(fabs(at(&picture, MARGIN + x, MARGIN + y) - level) <= 0.501, "%d %d", x, y);
        }
    int longest = 0;
    for (int y = MARGIN + 128; y < picture.height; y++)
        for (int x = 0, length = 0; x < picture.width; x++) {
            length = at(&picture, x, y) == INK ? length + 1 : 0;
            longest = length > longest ? length : longest;
        }
    cr_assert_eq(longest, 100, "50 mm are 100 pixels, and not %d", longest);
    free(picture.gray);
}

/* NaN and an outlier do not decide the window. */
Test(preview, windows)
{
    write_volume();
    RUN(0, "preview", "volume.nrrd", "-o", "a.png");
    cr_assert(strstr(outcome.out, "window 1000 to 1100 (1st to 99th percentile)"), "%s",
              outcome.out);
    RUN(0, "preview", "volume.nrrd", "-o", "a.png", "--force", "--window", "full");
    cr_assert(strstr(outcome.out, "window -1e+06 to 1100 (full range)"), "%s", outcome.out);
    RUN(0, "phantom", "head", "-o", "study", "--size", "48", "--slices", "5");
    RUN(0, "preview", "study");
    cr_assert(strstr(outcome.out, "window -160 to 240 HU (soft tissue)"), "%s", outcome.out);
    RUN(0, "preview", "study/", "-o", "b.png", "--window", "percentiles");
    cr_assert(strstr(outcome.out, " HU (1st to 99th percentile)"), "%s", outcome.out);
    RUN(2, "preview", "study", "--window", "40/-400");
    RUN(2, "preview", "study", "--window", "wide");
    const struct picture picture = read_picture("study.png");
    cr_assert(picture.width >= 512);
    free(picture.gray);
}

/* Without any finite value there is no window, not even one that is given. */
Test(preview, of_nothing_but_nan_says_so)
{
    char path[512];
    const float values[] = {NAN, INFINITY, NAN, -INFINITY};
    snprintf(path, sizeof path, "%s/nan.nrrd", folder);
    FILE *file = fopen(path, "wb");
    fprintf(file,
            "NRRD0004\ntype: float\ndimension: 3\nsizes: 2 2 1\nencoding: raw\nendian: little\n"
            "space: left-posterior-superior\nspace directions: (1,0,0) (0,1,0) (0,0,1)\n"
            "space origin: (0,0,0)\n\n");
    cr_assert(fwrite(values, sizeof values, 1, file) == 1 && fclose(file) == 0);
    for (int given = 0; given < 2; given++) {
        RUN(0, "preview", "nan.nrrd", "-o", "a.png", "--force", "--window",
            given ? "40/400" : "auto");
        cr_assert_str_eq(
            outcome.out,
            "nan.nrrd axial slice 0: 2 x 2 of 1 x 1 mm, no value that is shown is finite\n");
    }
}

Test(preview, planes_and_slices)
{
    write_volume();
    RUN(0, "preview", "volume.nrrd", "-o", "a.png", "--plane", "all");
    cr_assert(strstr(outcome.out, "axial slice 1: 64 x 64 of 4 x 1 mm"), "%s", outcome.out);
    cr_assert(strstr(outcome.out, "coronal slice 31: 64 x 3 of 4 x 2 mm"), "%s", outcome.out);
    cr_assert(strstr(outcome.out, "sagittal slice 31: 64 x 3 of 1 x 2 mm"), "%s", outcome.out);
    RUN(0, "preview", "volume.nrrd", "-o", "b.png", "--plane", "coronal", "--slice", "5", "--plain",
        "--window", "1500/3000");
    const struct picture picture = read_picture("b.png");
    cr_assert(picture.width == N && picture.height == SLICES);
    for (int z = 0; z < SLICES; z++)
        for (int x = 0; x < N; x++)
            cr_assert_eq(at(&picture, x, SLICES - 1 - z),
                         (int)((double)sample(z, 5, x) / 3000 * 255 + 0.5));
    free(picture.gray);
    RUN(0, "preview", "volume.nrrd", "-o", "c.png", "--montage", "9");
    cr_assert(strstr(outcome.out, "slice 0:") && strstr(outcome.out, "slice 2:"), "%s",
              outcome.out);
    RUN(3, "preview", "volume.nrrd", "-o", "d.png", "--slice", "3");
    cr_assert(
        strstr(outcome.err, "there is no slice 3: volume.nrrd has 3 axial slices, counted from 0"),
        "%s", outcome.err);
    RUN(2, "preview", "volume.nrrd", "--plane", "all", "--slice", "1");
    RUN(2, "preview", "volume.nrrd", "--montage", "4", "--slice", "1");
    RUN(2, "preview", "volume.nrrd", "--plane", "oblique");
}

/* Images of a result come in the order of its chain, and the same file gives the same bytes. */
Test(preview, results_are_in_the_order_of_the_chain)
{
    char command[1024];
    RUN(0, "phantom", "head", "-o", "study", "--size", "48", "--slices", "5");
    RUN(0, "run",
        "dicom study | save name=zebra | box radius=1 | save name=ape | invert | hdf5 out.h5");
    RUN(0, "preview", "out.h5", "-o", "a.png");
    const char *zebra = strstr(outcome.out, "zebra "), *ape = strstr(outcome.out, "ape "),
               *data = strstr(outcome.out, "data ");
    cr_assert(zebra && ape && data && zebra < ape && ape < data, "%s", outcome.out);
    RUN(0, "preview", "out.h5", "-o", "b.png");
    snprintf(command, sizeof command, "cmp %s/a.png %s/b.png", folder, folder);
    cr_assert_eq(system(command), 0);
    RUN(0, "preview", "out.h5", "-o", "c.png", "--dataset", "/entry/ape/data");
    cr_assert(!strncmp(outcome.out, "ape axial slice 2: 48 x 48 of ", 30), "%s", outcome.out);
    RUN(0, "preview", "out.h5", "-o", "d.png", "--dataset", "ape");
    snprintf(command, sizeof command, "cmp %s/c.png %s/d.png", folder, folder);
    cr_assert_eq(system(command), 0);
    RUN(3, "preview", "out.h5", "-o", "e.png", "--dataset", "ap");
    cr_assert(strstr(outcome.err, "there is no ap [hdf5-no-volume]"), "%s", outcome.err);
}

/* Every format that is read can be looked at. */
Test(preview, formats)
{
    static const char *const outputs[] = {"nii", "tif", "h5"};
    RUN(0, "phantom", "head", "-o", "study", "--size", "48", "--slices", "5");
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
        char output[32], picture[48];
        snprintf(output, sizeof output, "out.%s", outputs[i]);
        snprintf(picture, sizeof picture, "%s.png", output);
        RUN(0, "run", "dicom study | box radius=1", "-o", output);
        RUN(0, "preview", output);
        cr_assert(strstr(outcome.out, "slice 2: 48 x 48"), "%s", outcome.out);
        const struct picture read = read_picture(picture);
        cr_assert(read.width >= 512);
        free(read.gray);
    }
    RUN(3, "preview", "none.nii");
}

/* Slices of a patient seen from the left, whose rows run down and whose columns run to the back. */
Test(preview, planes_of_sagittal_slices)
{
    const struct ts_image image = {.axes = {{.n = 5, .spacing = 3, .unit = "mm"},
                                            {.n = 7, .spacing = 1, .unit = "mm"},
                                            {.n = 9, .spacing = 1, .unit = "mm"}},
                                   .has_geometry = true,
                                   .direction = {0, 1, 0, 0, 0, -1, -1, 0, 0},
                                   .step_z_mm = {-3, 0, 0}};
    struct picture_plane plane;
    ts_picture_plane(&image, PLANE_STORED, true, &plane);
    cr_assert(!strcmp(plane.name, "sagittal") && plane.across == 0 && plane.down == 1 &&
              plane.right == 2);
    cr_assert(!plane.up && !plane.left && !memcmp(plane.sides, "APSI", 4));
    ts_picture_plane(&image, PLANE_AXIAL, true, &plane);
    cr_assert(plane.across == 1 && plane.down == 2 && plane.right == 0 && !plane.up && plane.left);
    cr_assert(!memcmp(plane.sides, "RLAP", 4) && plane.width == 3 && plane.height == 1);
}

/* The same slices as they are stored, as reports and the viewer show them, and the samples of each
 * plane. */
Test(preview, planes_as_they_are_stored)
{
    const struct ts_image image = {.axes = {{.n = 2, .spacing = 3, .unit = "mm"},
                                            {.n = 3, .spacing = 1, .unit = "mm"},
                                            {.n = 4, .spacing = 1, .unit = "mm"}},
                                   .has_geometry = true,
                                   .direction = {0, 1, 0, 0, 0, -1, -1, 0, 0},
                                   .step_z_mm = {-3, 0, 0}};
    static const char *const sides[] = {"APSI", "APRL", "SIRL"};
    float values[12], slice[12];
    for (int across = 0; across < 3; across++)
        for (int on_top = 0; on_top < 2; on_top++) {
            struct picture_plane plane;
            ts_picture_plane_stored(&image, across, on_top, &plane);
            const bool up = across > 0 && on_top;
            cr_assert(plane.across == across && plane.up == up && !plane.left);
            cr_expect(!memcmp(plane.sides, sides[across], 2), "%.4s", plane.sides);
            cr_expect(plane.sides[up ? 3 : 2] == sides[across][across ? 3 : 2], "%.4s",
                      plane.sides);
            cr_expect(plane.width == 1 && plane.height == (across ? 3 : 1));
            plane.values = values;
            plane.index = 1;
            for (int z = 0; z < 2; z++) {
                for (int i = 0; i < 12; i++)
                    slice[i] = (float)(100 * z + 10 * (i / 4) + i % 4);
                ts_picture_take(&plane, &image, z, slice);
            }
            for (int y = 0; y < plane.rows; y++)
                for (int x = 0; x < plane.columns; x++) {
                    const int down = up ? (int)plane.rows - 1 - y : y;
                    const int expected[] = {100 + 10 * down + x, 100 * down + 10 + x,
                                            100 * down + 10 * x + 1};
                    cr_expect_eq((int)values[y * plane.columns + x], expected[across], "%d: %d %d",
                                 across, x, y);
                }
        }
}
