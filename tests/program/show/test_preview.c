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
#include <sys/stat.h>

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

/* The samples of each plane of sagittal slices, and the place of each in the image. */
Test(preview, samples_of_turned_planes)
{
    const struct ts_image image = {.axes = {{.n = 3, .spacing = 3, .unit = "mm"},
                                            {.n = 4, .spacing = 1, .unit = "mm"},
                                            {.n = 5, .spacing = 1, .unit = "mm"}},
                                   .has_geometry = true,
                                   .direction = {0, 1, 0, 0, 0, -1, -1, 0, 0},
                                   .step_z_mm = {-3, 0, 0}};
    static const char *const sides[] = {"RLAP", "RLSI", "APSI"};
    struct picture_plane planes[PICTURE_PLANES];
    float values[20], slice[20], all[60];
    for (int i = 0; i < 60; i++)
        all[i] = (float)i;
    cr_assert_eq(ts_picture_planes(&image, true, planes), 3);
    for (int p = 0; p < 3; p++) {
        struct picture_plane *plane = &planes[p];
        plane->values = values;
        ts_picture_move(&image, 1, plane);
        cr_expect(!memcmp(plane->sides, sides[p], 4), "%.4s", plane->sides);
        for (int z = 0; z < 3; z++) {
            memcpy(slice, all + 20 * z, sizeof slice);
            ts_picture_take(plane, &image, z, slice);
        }
        cr_expect(p > 0 || values[0] == 40 + 5, "the right side is the last slice");
        const int64_t first[] = {5, 1,
                                 20}; /* where the samples of index 1 begin: row, column, slice */
        for (int y = 0; y < plane->rows; y++)
            for (int x = 0; x < plane->columns; x++)
                cr_expect_eq((int64_t)values[y * plane->columns + x],
                             ts_picture_offset(&image, plane, y, x) +
                                 first[plane->across == 0   ? 2
                                       : plane->across == 2 ? 1
                                                            : 0],
                             "%s: %d %d", plane->name, x, y);
    }
}

/* Planes that would be lines are left out, but not the slices themselves. */
Test(preview, planes_of_few_rows_are_left_out)
{
    static const struct {
        int64_t n[3];
        int planes;
    } images[] = {
        {{2, 30, 30}, 1}, {{3, 30, 30}, 3}, {{1, 30, 30}, 1}, {{30, 2, 30}, 2}, {{30, 30, 1}, 2}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        struct picture_plane planes[PICTURE_PLANES];
        struct ts_image image = {0};
        for (int a = 0; a < 3; a++)
            image.axes[a].n = images[i].n[a];
        cr_expect_eq(ts_picture_planes(&image, true, planes), images[i].planes, "%zu", i);
        cr_expect_eq(planes[0].across, 0);
    }
}

/* Angles are no sides of a patient, and the ends of a detector are some only if the view is along
   or across them. */
Test(preview, sides_of_a_scan)
{
    const struct ts_image scan = {.rank = 3,
                                  .axes = {{TS_AXIS_Z, 5, 2, "mm"},
                                           {TS_AXIS_VIEW, 13, 15, "degree"},
                                           {TS_AXIS_DETECTOR, 9, 1, "mm"}},
                                  .has_geometry = true,
                                  .origin_mm = {0, 0, -10},
                                  .direction = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                  .step_z_mm = {0, 0, 2}};
    static const char *const sides[] = {"RLSI", "", "", "", "", "",    "PASI",
                                        "",     "", "", "", "", "LRSI"};
    struct picture_plane planes[PICTURE_PLANES];
    char text[64];
    cr_assert_eq(ts_picture_planes(&scan, true, planes), 2);
    ts_picture_move(&scan, 2, &planes[0]);
    cr_expect(!memcmp(planes[0].sides, "\0\0\0\0", 4), "of the sinogram");
    cr_expect_str_eq(ts_picture_slice_text(&scan, &planes[0], text, sizeof text),
                     "sinogram slice 2 (0 to 4) at -6 mm");
    struct ts_image nowhere = scan;
    nowhere.has_geometry = false;
    cr_expect_str_eq(ts_picture_slice_text(&nowhere, &planes[0], text, sizeof text),
                     "sinogram slice 2 (0 to 4) at 4 mm from the first");
    for (int view = 0; view < 13; view++) {
        ts_picture_move(&scan, view, &planes[1]);
        const char *expected = *sides[view] ? sides[view] : "\0\0SI";
        cr_expect(!memcmp(planes[1].sides, expected, 4), "%d degrees: %.4s", 15 * view,
                  planes[1].sides);
    }
    cr_expect_str_eq(ts_picture_slice_text(&scan, &planes[1], text, sizeof text),
                     "projection slice 12 (0 to 12) at 180 degree");
}

/* A picture without -o is in the current folder, not beside the data. */
Test(preview, nothing_is_written_beside_the_data)
{
    char names[1024], data[512];
    snprintf(data, sizeof data, "%s/data", folder);
    cr_assert_eq(mkdir(data, 0700), 0);
    RUN(0, "phantom", "head", "-o", "data/study", "--size", "16", "--slices", "3");
    RUN(0, "run", "dicom data/study | radon views=5 | sirt iterations=2 | hdf5 data/r.h5");
    RUN(0, "preview", "data/study/");
    RUN(0, "preview", "data/r.h5");
    RUN(0, "preview", "dicom data/study series=1");
    RUN(0, "plot", "data/r.h5");
    RUN(0, "report", "data/r.h5");
    ts_program_folder_list(folder, names, sizeof names);
    cr_expect_str_eq(names, "data preview.png r.h5.html r.h5.png r.h5.svg study.png ");
    RUN(0, "preview", "data/study/.", "--force");
    ts_program_folder_list(data, names, sizeof names);
    cr_expect_str_eq(names, "r.h5 study ");
}
