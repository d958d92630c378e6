/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys, mouse, panes and text of a scene, without a display; and sliders, whose slice is the one
 * that a run computes.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/driver.h"
#include "include/tomostage.h"
#include "program/show/font.h"
#include "program/show/scene.h"
#include "stages/engine/driver.h"
#include "tests/support/test_device.h"

enum { NZ = 9, NY = 20, NX = 30 };

static struct ts_image make_image(enum ts_quantity quantity)
{
    struct ts_image made = {
        .rank = 3, .dtype = TS_I16, .quantity = quantity, .unit = quantity == TS_HU ? "HU" : "1"};
    const struct ts_axis axes[] = {
        {TS_AXIS_Z, NZ, 4, "mm"}, {TS_AXIS_Y, NY, 0.5, "mm"}, {TS_AXIS_X, NX, 1, "mm"}};
    memcpy(made.axes, axes, sizeof axes);
    made.data = malloc(ts_image_bytes(&made));
    for (size_t i = 0; i < ts_image_count(&made); i++)
        ((int16_t *)made.data)[i] = (int16_t)((i * 7919) % 1000 - 200);
    return made;
}

static struct scene make_scene(const struct ts_image *of, struct display_histogram *counts)
{
    struct scene made = {
        .width = 640, .height = 480, .image_name = "data", .title = "test", .ready = NZ};
    ts_display_histogram(of, 0, of->axes[0].n, counts);
    ts_scene_begin(&made, of, counts);
    return made;
}

/* Every test begins with a scene of an image in HU. */
static struct ts_image image;
static struct display_histogram histogram;
static struct scene scene;

static void begin(void)
{
    image = make_image(TS_HU);
    scene = make_scene(&image, &histogram);
}

static void end(void)
{
    free(image.data);
}

TestSuite(view_scene, .init = begin, .fini = end);
TestSuite(view_slider, .init = begin, .fini = end);

Test(view_scene, presets_are_in_hu)
{
    static const struct {
        int key;
        double low, high;
    } windows[] = {
        {'1', -160, 240}, {'2', -1350, 150}, {'3', -500, 1300}, {'4', 0, 80}, {'5', -200, 799}};
    struct ts_image other = make_image(TS_INTENSITY);
    cr_assert(scene.low == -160 && scene.high == 240, "HU begins with the abdomen");
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        ts_scene_key(&scene, windows[i].key);
        cr_assert(scene.low == windows[i].low && scene.high == windows[i].high, "key %c",
                  windows[i].key);
    }
    scene = make_scene(&other, &histogram);
    const double low = scene.low;
    ts_scene_key(&scene, '2');
    cr_assert(scene.low == low && strstr(scene.note, "in HU"), "%s", scene.note);
    free(other.data);
}

/* Dragging right widens the window, dragging down raises its center. */
Test(view_scene, dragging_changes_window_and_level)
{
    ts_scene_drag(&scene, 100, 100, -1);
    ts_scene_drag(&scene, 164, 100, BUTTON_RIGHT);
    cr_assert_float_eq(scene.high - scene.low, 600, 1e-9);
    cr_assert_float_eq((scene.high + scene.low) / 2, 40, 1e-9);
    ts_scene_drag(&scene, 164, 148, BUTTON_RIGHT);
    cr_assert_float_eq((scene.high + scene.low) / 2, 40 + 150, 1e-9);
    cr_assert_null(scene.window_name);
}

/* A millimeter is as long in every direction of every plane, and the last slice is on top of the
 * planes across. */
Test(view_scene, planes_have_the_right_shape)
{
    struct view_picture picture;
    ts_scene_picture(&scene, &picture);
    cr_assert_eq(picture.n_panes, 3);
    const struct view_pane *axial = &picture.panes[0], *coronal = &picture.panes[1],
                           *sagittal = &picture.panes[2];
    cr_assert_float_eq(axial->du * 1, axial->dv * 0.5, 1e-12);
    cr_assert_float_eq(coronal->du * 1, -coronal->dv * 4, 1e-12);
    cr_assert_float_eq(sagittal->du * 0.5, -sagittal->dv * 4, 1e-12);
    cr_assert(axial->n_u == NX && axial->n_v == NY && coronal->n_v == NZ && sagittal->n_u == NY);
    cr_assert_eq((const char *)sagittal->data - (const char *)image.data, (NX - 1) / 2 * 2);
}

/* A click puts the cross-hair on the sample under the pointer: the pane's own rule, turned
 * around. */
Test(view_scene, the_pointer_finds_the_sample_that_is_drawn)
{
    struct view_picture picture;
    ts_scene_key(&scene, '+');
    ts_view_colors(COLORS_GRAY, picture.colors);
    ts_scene_picture(&scene, &picture);
    for (int i = 0; i < 3; i++) {
        const struct view_pane *pane = &picture.panes[i];
        const int32_t x = pane->left + pane->width / 2 + 11, y = pane->top + pane->height / 2 - 17;
        bool inside;
        int64_t at[3];
        cr_assert_eq(ts_scene_pick(&scene, x, y, at, &inside), i);
        cr_assert(inside);
        const int16_t value = ((int16_t *)image.data)[(at[0] * NY + at[1]) * NX + at[2]];
        const int level = ts_view_level(pane, value);
        cr_assert_eq(ts_view_pixel(&picture, picture.colors, x, y), picture.colors[level],
                     "plane %d", i);
        scene.x = x;
        scene.y = y;
        ts_scene_press(&scene, BUTTON_LEFT);
        cr_assert_arr_eq(scene.at, at, sizeof at);
        ts_scene_picture(&scene, &picture);
    }
}

/* Slices that were stored from the left, with rows from the front to the back and from the head to
   the feet, are sagittal, and every plane is turned as in a preview. */
Test(view_scene, planes_are_turned_as_in_a_preview)
{
    static const char *const names[] = {"axial", "coronal", "sagittal"};
    static const int across[] = {1, 2, 0};
    static const double signs[][2] = {{-1, 1}, {-1, 1}, {1, 1}};
    static const double direction[] = {0, 1, 0, 0, 0, -1, -1, 0, 0};
    struct view_picture picture;
    image.has_geometry = true;
    memcpy(image.direction, direction, sizeof direction);
    image.step_z_mm[0] = -4;
    scene = make_scene(&image, &histogram);
    cr_assert(scene.n_planes == 3 && scene.stored == 2 && scene.plane == 2);
    ts_scene_picture(&scene, &picture);
    for (int i = 0; i < 3; i++) {
        struct picture_plane plane;
        ts_picture_plane(&image, (enum picture_plane_name)(PLANE_AXIAL - i), true, &plane);
        cr_expect_str_eq(scene.planes[i].name, names[i]);
        cr_expect_eq(scene.planes[i].across, across[i]);
        cr_expect(!memcmp(scene.planes[i].sides, plane.sides, 4));
        cr_expect(picture.panes[i].du * signs[i][0] > 0 && picture.panes[i].dv * signs[i][1] > 0,
                  "%s", names[i]);
    }
    scene.x = scene.y = 10; /* in the axial pane, across which the rows of the slices run */
    ts_scene_wheel(&scene, -1, false);
    cr_expect_eq(scene.at[1], (NY - 1) / 2 + 1);
}

/* The wheel turned towards the user leads to the next slice, and turned away enlarges with Ctrl. */
Test(view_scene, the_wheel_turns_as_in_other_viewers)
{
    const double zoom = scene.zoom;
    ts_scene_wheel(&scene, -2, false);
    cr_expect_eq(scene.at[0], (NZ - 1) / 2 + 2);
    ts_scene_wheel(&scene, 1, false);
    cr_expect_eq(scene.at[0], (NZ - 1) / 2 + 1);
    ts_scene_wheel(&scene, 1, true);
    cr_expect(scene.zoom > zoom);
}

/* The scale bar is as long as it says. */
Test(view_scene, a_scale_bar_and_the_sides)
{
    static const double direction[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    struct canvas canvas = {640, 480, malloc((size_t)640 * 480)};
    struct view_picture picture;
    image.has_geometry = true;
    memcpy(image.direction, direction, sizeof direction);
    image.step_z_mm[2] = 4;
    scene = make_scene(&image, &histogram);
    scene.panel = scene.cross = false;
    ts_scene_key(&scene, 'm');
    ts_scene_picture(&scene, &picture);
    ts_scene_overlay(&scene, &canvas);
    const int32_t y = 480 - 8;
    int32_t wide = 0;
    for (int32_t x = 0; x < 640; x++)
        wide += canvas.inks[y * 640 + x] == INK_TEXT;
    cr_expect(fabs(wide * picture.panes[0].du - 5) < 0.05, "5 mm, and not %g",
              wide * picture.panes[0].du);
    int32_t letters = 0;
    for (int32_t i = 0; i < 640 * 480; i++)
        letters += canvas.inks[i] == INK_LINE;
    cr_expect(letters > 40 && letters < 200, "%d dots of R, L, A and P", letters);
    free(canvas.inks);
}

/* Slices that a running chain has yet to compute are not drawn, and their value is not stated. */
Test(view_scene, slices_to_come_are_left_out)
{
    struct view_picture picture;
    scene.ready = 3;
    ts_view_colors(COLORS_GRAY, picture.colors);
    ts_scene_picture(&scene, &picture);
    const struct view_pane *coronal = &picture.panes[1];
    for (int64_t z = 0; z < NZ; z++) {
        const int32_t x = coronal->width / 2,
                      y = (int32_t)(((double)z + 0.5 - coronal->v0) / coronal->dv);
        const uint32_t found = ts_view_pane_pixel(coronal, picture.colors, x, y);
        cr_assert_eq(found == VIEW_OUTSIDE, z >= 3, "slice %d", (int)z);
    }
    cr_assert_eq(ts_view_pane_pixel(&picture.panes[0], picture.colors, 50, 50), VIEW_OUTSIDE,
                 "slice 4 is to come");
    scene.at[0] = 2;
    ts_scene_picture(&scene, &picture);
    const struct view_pane *axial = &picture.panes[0];
    cr_assert_neq(ts_view_pane_pixel(axial, picture.colors, axial->width / 2, axial->height / 2),
                  VIEW_OUTSIDE);
}

Test(view_scene, scrolling_stays_within_the_image)
{
    ts_scene_key(&scene, '>');
    cr_assert_eq(scene.at[0], NZ - 1);
    ts_scene_key(&scene, ',');
    cr_assert_eq(scene.at[0], NZ - 2);
    ts_scene_key(&scene, 'p');
    ts_scene_key(&scene, '<');
    ts_scene_key(&scene, '<');
    cr_assert_eq(scene.at[1], 0);
    cr_assert_eq(ts_scene_key(&scene, 'q'), WISH_QUIT);
    cr_assert_eq(ts_scene_key(&scene, ']'), WISH_NOTHING, "there is no slider");
}

/* The curve of equalization is the part of the values up to a bin; NaN and infinities are left
 * out. */
Test(view_scene, histogram_and_curve)
{
    float values[] = {0, 1, 2, 3, 4, 5, 6, 256, NAN, INFINITY};
    struct ts_image row = {.rank = 3, .dtype = TS_F32, .data = values};
    row.axes[0].n = row.axes[1].n = 1;
    row.axes[2].n = sizeof values / sizeof *values;
    ts_display_histogram(&row, 0, 1, &histogram);
    cr_assert(histogram.low == 0 && histogram.high == 256);
    for (int i = 0; i < DISPLAY_BINS; i++) {
        cr_assert_eq(histogram.counts[i], i < 7 || i == 255, "bin %d", i);
        cr_assert_eq(histogram.curve[i], (float)(i < 7 ? i + 1 : i < 255 ? 7 : 8) / 8, "bin %d", i);
    }
}

/* The overlay keeps to the canvas however small that is, and the help covers what lies below it. */
Test(view_scene, the_overlay_is_cut_off_at_the_edges)
{
    enum { GUARD = 64 };
    ts_scene_key(&scene, '?');
    for (int32_t width = SCENE_LEAST; width < 800; width += 97)
        for (int32_t height = SCENE_LEAST; height < 600; height += 89) {
            const size_t n = (size_t)width * (size_t)height;
            uint8_t *inks = malloc(n + 2 * GUARD);
            struct canvas canvas = {width, height, inks + GUARD};
            memset(inks, 0xA5, n + 2 * GUARD);
            scene.width = width;
            scene.height = height;
            ts_scene_overlay(&scene, &canvas);
            for (size_t i = 0; i < n + 2 * GUARD; i++)
                cr_assert(i < GUARD || i >= n + GUARD ? inks[i] == 0xA5 : inks[i] < VIEW_INKS);
            free(inks);
        }
}

Test(view_scene, letters_are_counted_by_character)
{
    cr_assert_eq(ts_font_letters("5 \xC2\xB5m\xC2\xB2"), 5);
    const char *text = "A";
    cr_assert_eq(ts_font_letter(&text)[2], 0x20);
    cr_assert_eq(*text, '\0');
}

/* ---- sliders --------------------------------------------------------------------------------- */

/* Compares the picture of a slider's slice, wherever it lies, with that of the expected one, drawn
 * by the CPU. */
static void compare_slices(struct renderer *renderer, const struct ts_image *made,
                           const void *expected)
{
    struct renderer cpu = {.threads = 1};
    uint32_t pictures[2][NY][NX];
    for (int i = 0; i < 2; i++) {
        const struct view_pane pane = {.data = i ? expected : made->data,
                                       .dtype = made->dtype,
                                       .n_u = NX,
                                       .n_v = NY,
                                       .stride_u = 1,
                                       .stride_v = NX,
                                       .width = NX,
                                       .height = NY,
                                       .du = 1,
                                       .dv = 1,
                                       .low = made->dtype == TS_F32 ? 0 : -200,
                                       .high = made->dtype == TS_F32 ? 1 : 800};
        struct view_picture picture = {.width = NX, .height = NY, .n_panes = 1, .panes = {pane}};
        ts_view_colors(COLORS_GRAY, picture.colors);
        cr_assert_eq(ts_renderer_draw(i ? &cpu : renderer, &picture, pictures[i]), TS_OK);
    }
    cr_assert_arr_eq(pictures[0], pictures[1], sizeof pictures[0]);
}

/* Moves a slider of a chain and compares its slice with that of the stage's whole output. */
static void try_slider(const char *chain_text, const char *name, double value)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    struct slider slider;
    struct renderer renderer;
    cr_assert_eq(ts_chain_parse(chain_text, strlen(chain_text), "test", NULL, &chain, diag), TS_OK);
    cr_assert_eq(ts_slider_find(&slider, chain, name, diag), TS_OK);
    cr_assert_eq(ts_renderer_create(&renderer, ts_test_device, 2, diag), TS_OK);
    cr_assert_eq(ts_slider_open(&slider, &image, ts_test_device, 2, diag), TS_OK);
    cr_assert_eq(ts_renderer_image(&renderer, VIEW_WHOLE, &image), TS_OK);
    cr_assert_eq(ts_renderer_slices(&renderer, VIEW_WHOLE, &image), TS_OK);
    cr_assert_eq(ts_renderer_image(&renderer, VIEW_MADE, &slider.made), TS_OK);
    cr_assert_eq(ts_slider_move(&slider, value, diag), TS_OK);
    cr_assert_eq(slider.value, value);
    struct ts_image whole = slider.context.out;
    whole.data = malloc(ts_image_bytes(&whole));
    struct stage_context context = slider.context;
    cr_assert_eq(ts_test_device ? ts_cuda_apply(&context, &image, &whole, NULL, 0, NULL)
                                : ts_stage_apply(&context, &image, &whole, NULL, 0, NULL),
                 TS_OK);
    for (int64_t z = 0; z < NZ; z++) {
        cr_assert_eq(ts_slider_make(&slider, &renderer, z), TS_OK);
        compare_slices(&renderer, &slider.made, ts_slice_data(&whole, z));
    }
    free(whole.data);
    ts_slider_close(&slider);
    ts_renderer_destroy(&renderer);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

TEST_ON_BOTH(view_slider, the_slice_is_that_of_a_run)
{
    try_slider("dicom x | box radius=1", "box.radius", 3);
    try_slider(
        "dicom x | invert | box radius=1 dimensions=3d | box radius=2 dimensions=3d border=wrap",
        "box#1.radius", 2);
    try_slider("dicom x | equalize", "equalize.scope", 1);
    try_slider("dicom x | window center=40 width=400", "window.width", 800);
    try_slider("dicom x | gaussian sigma=1", "gaussian.sigma", 2);
    try_slider("dicom x | nlm h=40 patch_size=3 patch_distance=2", "nlm.sigma", 0.5);
    try_slider("dicom x | nlm sigma=20 h=40 patch_size=3 patch_distance=2", "nlm.h", 80);
}

/* Every step is a short decimal, which the text shows and the stage gets; the ends of the range
 * stay what they are. */
Test(view_slider, steps_are_short_decimals)
{
    static const char *const chains[][2] = {
        {"dicom x | tv weight=1", "tv.weight"},
        {"dicom x | gaussian sigma=1", "gaussian.sigma"},
        {"dicom x | noise photons=10000", "noise.photons"},
        {"dicom x | window center=40 width=400", "window.center"}};
    struct ts_diag *diag = ts_diag_create();
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        struct ts_chain *chain = NULL;
        struct slider slider;
        if (i == 2) { /* noise takes no other */
            image.quantity = TS_LINE_INTEGRAL;
            image.dtype = TS_F32;
            image.unit = "1";
        }
        cr_assert_eq(ts_chain_parse(chains[i][0], strlen(chains[i][0]), "test", NULL, &chain, diag),
                     TS_OK);
        cr_assert_eq(ts_slider_find(&slider, chain, chains[i][1], diag), TS_OK);
        cr_assert_eq(ts_slider_open(&slider, &image, NULL, 1, diag), TS_OK, "%s",
                     ts_diag_get(diag, 0)->message);
        for (int step = 0; step <= 200; step++) {
            char expected[96];
            cr_assert_eq(ts_slider_move(&slider, slider.low + step * slider.step, diag), TS_OK);
            snprintf(expected, sizeof expected, "%s = %.7g ", chains[i][1], slider.value);
            cr_assert_eq(strncmp(slider.text, expected, strlen(expected)), 0, "%s, %s", slider.text,
                         expected);
            cr_assert(slider.value >= slider.low && slider.value <= slider.high);
            cr_assert_float_eq(slider.value, slider.low + step * slider.step, slider.step / 100);
        }
        cr_assert_eq(slider.value, slider.high);
        ts_slider_close(&slider);
        ts_chain_destroy(chain);
    }
    ts_diag_destroy(diag);
}

/* Returns whether a line of text stands somewhere on the canvas, on the panel's shade. */
static bool stands_on(const struct canvas *canvas, const char *text)
{
    const int32_t width = FONT_WIDTH * ts_font_letters(text);
    struct canvas line = {width, FONT_HEIGHT, malloc((size_t)width * FONT_HEIGHT)};
    bool found = false;
    ts_canvas_fill(&line, (struct rectangle){0, 0, width, FONT_HEIGHT}, INK_SHADE);
    ts_canvas_text(&line, 0, 0, text, INK_TEXT, INK_CLEAR);
    for (int32_t y = 0; y + FONT_HEIGHT <= canvas->height && !found; y++)
        for (int32_t x = 0; x + width <= canvas->width && !found; x++) {
            int32_t row = 0;
            while (row < FONT_HEIGHT &&
                   !memcmp(canvas->inks + (size_t)(y + row) * (size_t)canvas->width + x,
                           line.inks + (size_t)row * (size_t)width, (size_t)width))
                row++;
            found = row == FONT_HEIGHT;
        }
    free(line.inks);
    return found;
}

/* The panel describes the slider's slice, which the panes show and whose values are stated, and not
 * its input. */
Test(view_slider, the_panel_describes_what_is_shown)
{
    static const char text[] = "dicom x | gaussian sigma=1";
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    struct slider slider;
    struct canvas canvas = {640, 480, malloc((size_t)640 * 480)};
    cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK);
    cr_assert_eq(ts_slider_find(&slider, chain, "gaussian.sigma", diag), TS_OK);
    cr_assert_eq(ts_slider_open(&slider, &image, NULL, 1, diag), TS_OK);
    ts_scene_overlay(&scene, &canvas);
    cr_assert(stands_on(&canvas, "image data, i16, hu"));
    scene.slider = &slider;
    ts_scene_overlay(&scene, &canvas);
    cr_assert(stands_on(&canvas, "image data, f32, hu"));
    free(canvas.inks);
    ts_slider_close(&slider);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(view_slider, says_why_there_is_none)
{
    static const char text[] =
        "dicom x | box radius=1 | gaussian sigma=1,2 | histogram | radon angles=0,1";
    static const char *const wrong[][2] = {{"box", "is expected"},
                                           {"bax.radius", "no such stage"},
                                           {"box#2.radius", "no such stage"},
                                           {"box#4294967297.radius", "is expected"},
                                           {"box.rodius", "no such parameter"},
                                           {"histogram.bins", "passes its image on"},
                                           {"gaussian.sigma", "neither a number nor a choice"},
                                           {"radon.angles", "neither a number nor a choice"}};
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    struct slider slider;
    cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ts_diag_clear(diag);
        cr_assert_eq(ts_slider_find(&slider, chain, wrong[i][0], diag), TS_BAD_CHAIN);
        cr_assert(strstr(ts_diag_get(diag, 0)->message, wrong[i][1]), "%s",
                  ts_diag_get(diag, 0)->message);
    }
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}
