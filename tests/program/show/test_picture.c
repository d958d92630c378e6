/* SPDX-License-Identifier: Apache-2.0
 *
 * Pictures against the oracle to the gray level, in every type, plane and zoom, on both devices.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/colors.h"
#include "program/show/renderer.h"
#include "tests/program/show/picture_oracle.h"
#include "tests/support/test_device.h"

enum { NZ = 5, NY = 23, NX = 31, WIDTH = 90, HEIGHT = 70 };

/* Writes value i of the image, a small number that every type holds, and returns it. */
static double put_value(struct ts_image *image, size_t i)
{
    const int value = (int)((i * 2654435761u >> 7) % 100);
    switch (image->dtype) {
#define PUT(suffix, type)                                                                          \
    case TS_##suffix:                                                                              \
        ((type *)image->data)[i] = (type)value;                                                    \
        break;
        TS_IMAGE_DTYPES(PUT)
#undef PUT
    default:
        cr_assert_fail("no type of an image");
    }
    return value;
}

struct pictured {
    struct ts_image image;
    double *values;
    uint32_t *pixels;
    struct renderer renderer;
    struct ts_diag *diag;
};

static struct pictured make_image(enum ts_dtype dtype)
{
    struct pictured made = {.image = {.rank = 3, .dtype = dtype}, .diag = ts_diag_create()};
    made.image.axes[0].n = NZ;
    made.image.axes[1].n = NY;
    made.image.axes[2].n = NX;
    made.image.data = malloc(ts_image_bytes(&made.image));
    made.values = malloc(ts_image_count(&made.image) * sizeof *made.values);
    made.pixels = malloc(WIDTH * HEIGHT * sizeof *made.pixels);
    for (size_t i = 0; i < ts_image_count(&made.image); i++)
        made.values[i] = put_value(&made.image, i);
    if (dtype == TS_F32)
        ((float *)made.image.data)[3 * NY * NX + 7 * NX + 5] = NAN;
    if (dtype == TS_F32)
        made.values[3 * NY * NX + 7 * NX + 5] = NAN;
    cr_assert_eq(ts_renderer_create(&made.renderer, ts_test_device, 2, made.diag), TS_OK);
    return made;
}

static void show(struct pictured *made)
{
    cr_assert_eq(ts_renderer_image(&made->renderer, VIEW_WHOLE, &made->image), TS_OK);
    cr_assert_eq(ts_renderer_slices(&made->renderer, VIEW_WHOLE, &made->image), TS_OK);
}

static void end(struct pictured *made)
{
    ts_renderer_destroy(&made->renderer);
    ts_diag_destroy(made->diag);
    free(made->image.data);
    free(made->values);
    free(made->pixels);
}

/* Copies the plane that a pane shows, as the oracle takes it. */
static double *plane_of(const struct pictured *made, const struct view_pane *pane, size_t offset)
{
    double *plane = malloc((size_t)(pane->n_u * pane->n_v) * sizeof *plane);
    for (int64_t v = 0; v < pane->n_v; v++)
        for (int64_t u = 0; u < pane->n_u; u++)
            plane[v * pane->n_u + u] =
                made->values[(int64_t)offset + u * pane->stride_u + v * pane->stride_v];
    return plane;
}

static uint32_t expected_color(const struct view_picture *picture, int level)
{
    return level == ORACLE_OUTSIDE ? VIEW_OUTSIDE
           : level == ORACLE_NAN   ? VIEW_NAN
                                   : picture->colors[level];
}

static void compare(struct pictured *made, struct view_pane pane, size_t offset)
{
    struct view_picture picture = {.width = WIDTH, .height = HEIGHT, .n_panes = 1};
    pane.dtype = made->image.dtype;
    pane.data = (unsigned char *)made->image.data + offset * ts_dtype_bytes(pane.dtype);
    pane.left = 3;
    pane.top = 2;
    pane.width = WIDTH - 3;
    pane.height = HEIGHT - 2;
    picture.panes[0] = pane;
    ts_view_colors(COLORS_CUBEHELIX, picture.colors);
    cr_assert_eq(ts_renderer_draw(&made->renderer, &picture, made->pixels), TS_OK);
    double *plane = plane_of(made, &pane, offset);
    const struct oracle_view view = {.slice = plane,
                                     .rows = pane.n_v,
                                     .columns = pane.n_u,
                                     .x = pane.u0,
                                     .y = pane.v0,
                                     .across = pane.du,
                                     .down = pane.dv,
                                     .center = (pane.low + pane.high) / 2,
                                     .window = pane.high - pane.low,
                                     .inverted = pane.invert,
                                     .smooth = pane.linear};
    for (int y = 0; y < pane.height; y++)
        for (int x = 0; x < pane.width; x++) {
            const uint32_t found = made->pixels[(y + 2) * WIDTH + x + 3];
            cr_assert_eq(found, expected_color(&picture, ts_picture_oracle(&view, x, y)),
                         "%s pixel %d, %d: %08X", ts_dtype_name(pane.dtype), x, y, found);
        }
    cr_assert_eq(made->pixels[0], VIEW_OUTSIDE, "beside the pane");
    free(plane);
}

static const struct view_pane axial = {.n_u = NX, .n_v = NY, .stride_u = 1, .stride_v = NX};

/* Nearest samples in every type: zoomed out, zoomed in, moved beyond the edges, turned over. The
 * steps are powers of two, so that no pixel's center lies where rounding would choose its
 * sample. */
TEST_ON_BOTH(view_picture, nearest_samples_of_every_type)
{
    static const double places[][4] = {
        {0, 0, 0.5, 0.5}, {-3.25, 2.125, 0.25, 0.5}, {4, 30, 0.25, -0.5}, {-40, -40, 2, 2}};
    for (enum ts_dtype dtype = TS_U8; dtype <= TS_F32; dtype++) {
        struct pictured made = make_image(dtype);
        show(&made);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            struct view_pane pane = axial;
            pane.u0 = places[i][0];
            pane.v0 = places[i][1];
            pane.du = places[i][2];
            pane.dv = places[i][3];
            pane.low = 8;
            pane.high = 72;
            pane.invert = i % 2;
            compare(&made, pane, (size_t)(i % NZ) * NY * NX);
        }
        end(&made);
    }
}

/* Between samples, with NaN in one of them. The window is 51.2 wide, so that a level is 0.2 and no
 * weighted value, a multiple of 1/256, lies on the border of two. */
TEST_ON_BOTH(view_picture, interpolates_between_samples)
{
    struct pictured made = make_image(TS_F32);
    struct view_pane pane = axial;
    show(&made);
    pane.u0 = -1.03125;
    pane.v0 = 0.40625;
    pane.du = pane.dv = 0.3125;
    pane.low = 20.013;
    pane.high = 71.213;
    pane.linear = 1;
    compare(&made, pane, 3 * NY * NX);
    end(&made);
}

/* Planes across the slices. */
TEST_ON_BOTH(view_picture, planes_across_the_slices)
{
    struct pictured made = make_image(TS_I16);
    const struct view_pane coronal = {
        .n_u = NX, .n_v = NZ, .stride_u = 1, .stride_v = NY * NX, .high = 99};
    const struct view_pane sagittal = {
        .n_u = NY, .n_v = NZ, .stride_u = NX, .stride_v = NY * NX, .high = 99};
    show(&made);
    for (int i = 0; i < 2; i++) {
        struct view_pane pane = i ? sagittal : coronal;
        pane.du = 0.5;
        pane.v0 = NZ;
        pane.dv = -0.125;
        compare(&made, pane, i ? 11 : 4 * NX);
    }
    end(&made);
}

/* A window without width is a threshold; the overlay lies over all, and number 0 is clear. */
TEST_ON_BOTH(view_picture, threshold_and_overlay)
{
    struct pictured made = make_image(TS_U8);
    uint8_t *overlay = calloc(WIDTH, HEIGHT);
    struct view_picture picture = {
        .width = WIDTH, .height = HEIGHT, .n_panes = 1, .overlay = overlay};
    struct view_pane pane = axial;
    show(&made);
    pane.data = made.image.data;
    pane.width = WIDTH;
    pane.height = HEIGHT;
    pane.du = pane.dv = 0.25;
    pane.low = pane.high = 50;
    picture.panes[0] = pane;
    overlay[17 * WIDTH + 40] = INK_TEXT;
    overlay[18 * WIDTH + 40] = INK_OVER;
    ts_view_colors(COLORS_GRAY, picture.colors);
    ts_view_inks(picture.inks);
    picture.inks[INK_OVER] = 0x400000FFu; /* a quarter of red */
    cr_assert_eq(ts_renderer_draw(&made.renderer, &picture, made.pixels), TS_OK);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const uint32_t level = made.values[y / 4 * NX + x / 4] > 50 ? 0xFFFFFFFFu : 0xFF000000u;
            uint32_t expected = y == 17 && x == 40 ? picture.inks[INK_TEXT] : level;
            if (y == 18 && x == 40)
                expected = level == 0xFF000000u ? 0xFF000040u : 0xFFBFBFFFu;
            cr_assert_eq(made.pixels[y * WIDTH + x], expected);
        }
    free(overlay);
    end(&made);
}
