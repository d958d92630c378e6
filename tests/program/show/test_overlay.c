/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies over an image: inks and contours of values, pixels of previews, and the viewer's key.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/overlay.h"
#include "program/show/scene.h"
#include "tests/support/program.h"

enum { SIDE = 48 };

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

TestSuite(overlay, .init = begin, .fini = end);

Test(overlay, inks_of_labels_and_of_levels)
{
    const struct overlay labels = {.image = {.labels = 2}}, levels = {.low = 10, .high = 20};
    cr_expect_eq(ts_overlay_ink(&labels, 0), 0);
    cr_expect_eq(ts_overlay_ink(&labels, NAN), 0);
    cr_expect_eq(ts_overlay_ink(&labels, -3), 0);
    for (int i = 1; i < 40; i++)
        cr_expect_eq(ts_overlay_ink(&labels, i), 1 + (i - 1) % OVERLAY_LABELS);
    cr_expect(ts_overlay_ink(&labels, 4294967295.0) <= OVERLAY_LABELS);
    cr_expect_eq(ts_overlay_ink(&levels, 10), 0, "black lets the image through");
    cr_expect_eq(ts_overlay_ink(&levels, 10.1), 1 + OVERLAY_LABELS);
    cr_expect_eq(ts_overlay_ink(&levels, 1e30), OVERLAY_INKS - 1);
    cr_expect_eq(ts_overlay_ink(&levels, -1e30), 0);
}

/* A contour is at the inner edge of each label, or around the upper half of the window. */
Test(overlay, contours)
{
    static const struct {
        double values[5];
        int of_labels, of_levels;
    } cases[] = {{{3, 3, 3, 3, 3}, 0, 0},   {{3, 3, 4, 3, 3}, 3, 0}, {{3, 0, 3, 3, 3}, 3, 0},
                 {{3, NAN, 3, 3, 3}, 0, 0}, {{0, 3, 3, 3, 3}, 0, 0}, {{9, 9, 9, 9, 2}, 1, 1},
                 {{2, 9, 9, 9, 9}, 2, 0}};
    const struct overlay labels = {.image = {.labels = 2}}, levels = {.low = 0, .high = 10};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(ts_overlay_edge(&labels, cases[i].values), cases[i].of_labels, "%zu", i);
        cr_expect_eq(ts_overlay_edge(&levels, cases[i].values), cases[i].of_levels, "%zu", i);
    }
}

/* Reads a picture as red, green, blue and opacity; the caller frees it. */
static uint8_t *read_colors(const char *name, int *width, int *height)
{
    char path[512];
    png_image image = {.version = PNG_IMAGE_VERSION};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    cr_assert(png_image_begin_read_from_file(&image, path), "%s", path);
    image.format = PNG_FORMAT_RGBA;
    uint8_t *pixels = malloc(PNG_IMAGE_SIZE(image));
    cr_assert(png_image_finish_read(&image, NULL, pixels, 0, NULL));
    *width = (int)image.width;
    *height = (int)image.height;
    return pixels;
}

/* Makes a result with a CT, `bone`, a mask of it, and the smoothed CT. */
static void make_result(void)
{
    RUN(0, "phantom", "head", "-o", "study", "--size", "48", "--slices", "5");
    RUN(0, "run",
        "dicom study | save name=raw | threshold above=300 name=m | save name=bone | box radius=1 "
        "input=raw | save name=soft | hdf5 r.h5");
}

/* Returns whether a pixel is in the mask, from a preview of the mask. */
static bool is_in(const uint8_t *mask, int x, int y)
{
    return x >= 0 && y >= 0 && x < SIDE && y < SIDE && mask[4 * (y * SIDE + x)] == 255;
}

static void expect_over(const char *picture, const uint8_t *mask, const uint8_t *gray, bool contour,
                        const int color[3])
{
    int width, height, inside = 0;
    uint8_t *found = read_colors(picture, &width, &height);
    cr_assert(width == SIDE && height == SIDE);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const bool edge = (x > 0 && !is_in(mask, x - 1, y)) ||
                              (y > 0 && !is_in(mask, x, y - 1)) ||
                              (x < SIDE - 1 && !is_in(mask, x + 1, y)) ||
                              (y < SIDE - 1 && !is_in(mask, x, y + 1));
            const bool over = is_in(mask, x, y) && (!contour || edge);
            inside += over;
            for (int c = 0; c < 3; c++) {
                const double below = gray[4 * (y * SIDE + x)];
                const double share = contour ? 1 : 128.0 / 255;
                const double expected = over ? below + share * (color[c] - below) : below;
                cr_assert(fabs(found[4 * (y * SIDE + x) + c] - expected) <= 1,
                          "%s: %d %d %d: %d, %g", picture, x, y, c, found[4 * (y * SIDE + x) + c],
                          expected);
            }
        }
    cr_expect(inside > 20, "%d pixels", inside);
    free(found);
}

/* The mask of a result, of a file, and of an input in one line lie over the pixels that it has. */
Test(overlay, of_previews_has_the_pixels_of_the_mask)
{
    static const int red[3] = {255, 80, 60}, own[3] = {0x20, 0x40, 0xF0};
    int width, height;
    make_result();
    RUN(0, "export", "r.h5", "--dataset", "bone", "-o", "bone.nii.gz");
    RUN(0, "preview", "r.h5", "--dataset", "bone", "--plain", "-o", "mask.png");
    RUN(0, "preview", "r.h5", "--dataset", "raw", "--plain", "-o", "gray.png");
    uint8_t *mask = read_colors("mask.png", &width, &height),
            *gray = read_colors("gray.png", &width, &height);
    RUN(0, "preview", "r.h5", "--dataset", "raw", "--plain", "-o", "a.png", "--over", "bone");
    expect_over("a.png", mask, gray, false, red);
    RUN(0, "preview", "study", "--plain", "-o", "b.png", "--over", "bone.nii.gz", "--over-style",
        "contour");
    expect_over("b.png", mask, gray, true, red);
    RUN(0, "preview", "study", "--plain", "-o", "c.png", "--over", "mask bone.nii.gz",
        "--over-color", "2040F0", "--over-opacity", "0.502");
    expect_over("c.png", mask, gray, false, own);
    RUN(0, "preview", "r.h5", "-o", "d.png", "--over", "bone", "--montage", "4");
    cr_expect(strstr(outcome.out, ", under bone\n"), "%s", outcome.out);
    free(mask);
    free(gray);
}

/* Between two labels there is none. */
Test(overlay, labels_are_not_interpolated)
{
    int width, height;
    make_result();
    RUN(0, "preview", "r.h5", "--dataset", "bone", "-o", "bone.png");
    uint8_t *pixels = read_colors("bone.png", &width, &height);
    for (int y = 10; y < 500; y++) /* between the letters at the edges */
        for (int x = 30; x < 240; x++) {
            const uint8_t gray = pixels[4 * (y * width + x)];
            cr_assert(gray == 0 || gray == 255, "%d %d: %d", x, y, gray);
        }
    free(pixels);
}

/* An image with other voxels cannot lie over it. */
Test(overlay, of_other_voxels_is_refused)
{
    make_result();
    RUN(0, "run", "dicom study | crop y=0,40 | hdf5 small.h5");
    RUN(3, "preview", "study", "-o", "a.png", "--over", "small.h5");
    cr_expect(strstr(outcome.err, "[over-grid]") && strstr(outcome.err, "cannot lie over"), "%s",
              outcome.err);
    RUN(3, "view", "study", "--frames", "f", "--device", "cpu", "--over", "small.h5");
    cr_expect(strstr(outcome.err, "[over-grid]"), "%s", outcome.err);
    RUN(3, "preview", "study", "-o", "a.png", "--over", "nothing.nii");
    RUN(3, "preview", "r.h5", "-o", "a.png", "--over", "nothing");
    static const char *const wrong[][2] = {{"--over-opacity", "1.5"},
                                           {"--over-opacity", "x"},
                                           {"--over-style", "dots"},
                                           {"--over-color", "red"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        RUN(2, "preview", "study", "-o", "a.png", "--over", "r.h5", wrong[i][0], wrong[i][1]);
}

/* The viewer's frames have it, and the key `o` makes it a contour and hides it. */
Test(overlay, of_the_viewer_follows_its_key)
{
    static const char *const keys[] = {"xh", "xho", "xhoo", "xhooo"};
    long counts[4];
    make_result();
    for (int i = 0; i < 4; i++) {
        char name[16], path[64];
        int width, height;
        snprintf(name, sizeof name, "f%d", i);
        RUN(0, "view", "r.h5", "--image", "raw", "--over", "bone", "--device", "cpu", "--frames",
            name, "--slice", "2", "--size", "500x400", "--keys", keys[i]);
        snprintf(path, sizeof path, "%s/frame_0000.png", name);
        uint8_t *pixels = read_colors(path, &width, &height);
        counts[i] = 0;
        for (int k = 0; k < width * height; k++) {
            const uint8_t *p = pixels + 4 * (size_t)k;
            counts[i] += p[0] > 200 && p[1] < 190 && p[2] < 190 && p[1] > p[2] - 40;
        }
        free(pixels);
    }
    cr_expect(counts[0] > counts[1] && counts[1] > 50, "%ld filled, %ld contour", counts[0],
              counts[1]);
    cr_expect(counts[2] == 0 && counts[3] == counts[0], "%ld hidden, %ld filled", counts[2],
              counts[3]);
}
