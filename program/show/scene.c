/* SPDX-License-Identifier: Apache-2.0
 *
 * Places the planes on the picture, applies keys and the mouse, and draws the overlay over the
 * planes.
 */
#include "program/show/scene.h"

#include "core/clamp.h"
#include "core/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/font.h"
#include "program/show/picture.h"

/* ---- panes ----------------------------------------------------------------------------------- */

/* The places of the planes on the picture, and the samples that their pixels show. A sample is as
   wide and high as its spacings say if two axes share a unit; else samples are squares. */

enum { GAP = 2, BAR_HEIGHT = 22, BAR_MARGIN = 12 };

/* Finds the places of the panes, of which places[i] is that of plane planes[i], and of the panel.
   Returns how many panes there are. */
static int layout_of(const struct scene *scene, struct rectangle places[PICTURE_PLANES],
                     int planes[PICTURE_PLANES], struct rectangle *panel)
{
    const int32_t width = scene->width, height = scene->height;
    if (!scene->three || scene->slider || scene->n_planes == 1) {
        const int32_t side = scene->panel && width > 2 * PANEL_WIDTH ? PANEL_WIDTH : 0;
        *panel = (struct rectangle){width - side, 0, side, height};
        places[0] = (struct rectangle){0, 0, width - side - (side ? GAP : 0), height};
        planes[0] = scene->slider ? scene->stored : scene->plane;
        return 1;
    }
    const int32_t left = (width - GAP) / 2, top = (height - GAP) / 2;
    const int32_t right = width - left - GAP, bottom = height - top - GAP;
    places[0] = (struct rectangle){0, 0, left, top};
    places[1] = (struct rectangle){0, top + GAP, left, bottom};
    places[2] = (struct rectangle){left + GAP, 0, right, top};
    *panel = (struct rectangle){left + GAP, top + GAP, scene->panel ? right : 0,
                                scene->panel ? bottom : 0};
    for (int i = 0; i < scene->n_planes; i++)
        planes[i] = i;
    return scene->n_planes;
}

const struct ts_image *ts_scene_shown(const struct scene *scene)
{
    return scene->slider ? &scene->slider->made : scene->image;
}

static int64_t stride(const struct ts_image *image, int axis)
{
    int64_t n = 1;
    for (int i = axis + 1; i < 3; i++)
        n *= image->axes[i].n;
    return n;
}

static struct view_pane pane_of(const struct scene *scene, int plane, struct rectangle place)
{
    const struct ts_image *image = ts_scene_shown(scene);
    const struct picture_plane *shown = &scene->planes[plane];
    const double wide = shown->width, high = shown->height;
    const double columns = (double)image->axes[shown->right].n,
                 rows = (double)image->axes[shown->down].n;
    const double fit = fmin(place.width / (columns * wide), place.height / (rows * high));
    const double scale = fit * scene->zoom; /* pixels per unit */
    struct view_pane pane = {.dtype = image->dtype,
                             .n_u = image->axes[shown->right].n,
                             .n_v = image->axes[shown->down].n,
                             .stride_u = stride(image, shown->right),
                             .stride_v = stride(image, shown->down),
                             .left = place.left,
                             .top = place.top,
                             .width = place.width,
                             .height = place.height,
                             .du = (shown->left ? -1 : 1) / (scale * wide),
                             .dv = (shown->up ? -1 : 1) / (scale * high),
                             .low = scene->low,
                             .high = scene->high,
                             .invert = scene->invert,
                             .linear = scene->linear};
    pane.u0 = columns / 2 + scene->pan[shown->right] - pane.du * place.width / 2;
    pane.v0 = rows / 2 + scene->pan[shown->down] - pane.dv * place.height / 2;
    const int64_t at = scene->at[shown->across], fixed = image->axes[shown->across].n > 1 ? at : 0;
    pane.data = (const unsigned char *)image->data +
                (size_t)(fixed * stride(image, shown->across)) * ts_dtype_bytes(image->dtype);
    /* slices of a running chain without values are not drawn */
    const int64_t ready = scene->slider ? INT64_MAX : scene->ready;
    if (shown->down == 0)
        pane.n_v = ready < pane.n_v ? ready : pane.n_v;
    else if (shown->right == 0)
        pane.n_u = ready < pane.n_u ? ready : pane.n_u;
    else if (fixed >= ready)
        pane.n_u = 0;
    return pane;
}

void ts_scene_picture(const struct scene *scene, struct view_picture *picture)
{
    struct rectangle places[PICTURE_PLANES], panel;
    uint32_t over[OVERLAY_INKS];
    int planes[PICTURE_PLANES];
    *picture = (struct view_picture){.width = scene->width, .height = scene->height};
    picture->n_panes = layout_of(scene, places, planes, &panel);
    for (int i = 0; i < picture->n_panes; i++)
        picture->panes[i] = pane_of(scene, planes[i], places[i]);
    ts_view_colors(scene->colors, picture->colors);
    ts_view_inks(picture->inks);
    ts_overlay_colors(&scene->over_style, over);
    memcpy(&picture->inks[INK_OVER], &over[1], sizeof over - sizeof over[0]);
}

int ts_scene_pick(const struct scene *scene, int32_t x, int32_t y, int64_t at[3], bool *inside)
{
    struct rectangle places[PICTURE_PLANES], panel;
    int planes[PICTURE_PLANES];
    const int n = layout_of(scene, places, planes, &panel);
    memcpy(at, scene->at, sizeof scene->at);
    *inside = false;
    for (int i = 0; i < n; i++) {
        const struct rectangle place = places[i];
        if (x < place.left || x >= place.left + place.width || y < place.top ||
            y >= place.top + place.height)
            continue;
        const struct view_pane pane = pane_of(scene, planes[i], place);
        const double u = floor(pane.u0 + (x - place.left + 0.5) * pane.du);
        const double v = floor(pane.v0 + (y - place.top + 0.5) * pane.dv);
        *inside = u >= 0 && u < (double)pane.n_u && v >= 0 && v < (double)pane.n_v;
        const struct picture_plane *plane = &scene->planes[planes[i]];
        at[plane->right] = (int64_t)fmin(fmax(u, 0), (double)(plane->columns - 1));
        at[plane->down] = (int64_t)fmin(fmax(v, 0), (double)(plane->rows - 1));
        return planes[i];
    }
    return -1;
}

void ts_scene_readout(const struct scene *scene, int64_t at[3])
{
    bool inside;
    (void)ts_scene_pick(scene, scene->x, scene->y, at, &inside);
    if (!inside)
        memcpy(at, scene->at, sizeof scene->at);
}

/* Returns the place of the slider's bar, whose width is 0 if there is no slider. */
static struct rectangle slider_bar(const struct scene *scene)
{
    struct rectangle places[PICTURE_PLANES], panel;
    int planes[PICTURE_PLANES];
    if (!scene->slider)
        return (struct rectangle){0};
    layout_of(scene, places, planes, &panel);
    return (struct rectangle){places[0].left + BAR_MARGIN,
                              places[0].height - BAR_MARGIN - BAR_HEIGHT,
                              places[0].width - 2 * BAR_MARGIN, BAR_HEIGHT};
}

/* ---- keys and the mouse ---------------------------------------------------------------------- */

/* Presets are in HU; for other units the scene says that they do not apply. */

/* The keys, a line each, NULL at the end. */
static const char *const key_lines[] = {"?          these keys",
                                        "1 2 3 4    abdomen, lung, bone, brain (CT in HU)",
                                        "5 6        full range, 1st to 99th percentile",
                                        "right drag window (across) and level (down)",
                                        "left click cross-hair; on the bar: slider",
                                        "mid drag   move the image",
                                        "wheel , .  one slice;  < >  ten slices",
                                        "ctrl wheel + -  zoom;  0  all of it again",
                                        "p m        next plane; three planes or one",
                                        "x h        cross-hair; histogram",
                                        "i c l      invert; colors; interpolate",
                                        "o          over the image: filled, contour, hidden",
                                        "n b        next, previous image",
                                        "t          next table",
                                        "[ ]        slider down, up",
                                        "space s q  movie; screenshot; quit",
                                        NULL};

static void set_window(struct scene *scene, double low, double high, const char *name)
{
    scene->low = low;
    scene->high = high;
    scene->window_name = name;
}

static void use_preset(struct scene *scene, const struct gray_preset *preset)
{
    if (scene->image->quantity == TS_HU)
        set_window(scene, preset->center - preset->width / 2, preset->center + preset->width / 2,
                   preset->name);
    else
        snprintf(scene->note, sizeof scene->note,
                 "The window '%s' is in HU, and these values are not.", preset->name);
}

void ts_scene_begin(struct scene *scene, const struct ts_image *image,
                    const struct display_histogram *histogram)
{
    const bool first = scene->zoom == 0;
    struct gray_window window;
    scene->image = image;
    scene->histogram = histogram;
    scene->n_planes = ts_picture_planes(image, true, scene->planes);
    scene->stored = 0;
    while (scene->planes[scene->stored].across != 0)
        scene->stored++;
    for (int i = 0; i < 3; i++)
        scene->at[i] = (image->axes[i].n - 1) / 2;
    if (first || scene->plane >= scene->n_planes)
        scene->plane = scene->stored;
    if (first) {
        scene->three = !ts_image_is_sinogram(image);
        scene->cross = scene->panel = true;
        scene->x = scene->y = -1;
    }
    scene->zoom = 1;
    memset(scene->pan, 0, sizeof scene->pan);
    if (ts_gray_window_known(image, histogram->low, histogram->high, &window))
        set_window(scene, window.low, window.high, window.name);
    else
        set_window(scene, histogram->dark, histogram->bright, "1st to 99th percentile");
}

/* Moves the plane under the pointer, or else `plane`, by n slices along its fixed axis. */
static void scroll(struct scene *scene, int64_t n)
{
    int64_t at[3];
    bool inside;
    const int under = ts_scene_pick(scene, scene->x, scene->y, at, &inside);
    int plane = under;
    if (under < 0)
        plane = scene->slider ? scene->stored : scene->plane;
    const int axis = scene->planes[plane].across;
    scene->at[axis] = ts_clamp(scene->at[axis] + n, 0, scene->image->axes[axis].n - 1);
}

static void zoom_by(struct scene *scene, double factor)
{
    scene->zoom = fmin(fmax(scene->zoom * factor, 0.1), 64);
}

void ts_scene_wheel(struct scene *scene, double steps, bool zooms)
{
    if (zooms)
        zoom_by(scene, pow(1.15, steps));
    else
        scroll(scene, -(int64_t)lround(steps)); /* towards the user is the next slice */
}

static enum scene_wish wish_step(struct scene *scene, enum scene_wish wish, int step)
{
    scene->step = step;
    return wish;
}

static enum scene_wish wish_slider(struct scene *scene, double value)
{
    if (!scene->slider)
        return WISH_NOTHING;
    scene->slider_value = value;
    return WISH_SLIDER;
}

/* What lies over the image is filled, a contour, or hidden, one after the other. */
static void next_over(struct scene *scene)
{
    if (!scene->over)
        snprintf(scene->note, sizeof scene->note, "Nothing lies over the image; --over names it.");
    else if (scene->over_hidden)
        scene->over_hidden = scene->over_style.contour = false;
    else if (scene->over_style.contour)
        scene->over_hidden = true;
    else
        scene->over_style.contour = true;
}

/* Applies keys that change how the image is shown. Returns false if the key is none of them. */
static bool change_look(struct scene *scene, int key)
{
    if (key >= '1' && key < '1' + GRAY_PRESETS)
        return use_preset(scene, &ts_gray_presets[key - '1']), true;
    switch (key) {
    case '5':
        return set_window(scene, scene->histogram->low, scene->histogram->high, "full range"), true;
    case '6':
        return set_window(scene, scene->histogram->dark, scene->histogram->bright,
                          "1st to 99th percentile"),
               true;
    case 'i':
        return scene->invert = !scene->invert, true;
    case 'c':
        return scene->colors = (scene->colors + 1) % COLORS_MAPS, true;
    case 'l':
        return scene->linear = !scene->linear, true;
    case 'x':
        return scene->cross = !scene->cross, true;
    case 'h':
        return scene->panel = !scene->panel, true;
    case 'o':
        return next_over(scene), true;
    case '?':
        return scene->help = !scene->help, true;
    default:
        return false;
    }
}

/* Applies keys that change which part is shown. Returns false if the key is none of them. */
static bool change_place(struct scene *scene, int key)
{
    switch (key) {
    case ',':
    case '.':
        return scroll(scene, key == '.' ? 1 : -1), true;
    case '<':
    case '>':
        return scroll(scene, key == '>' ? 10 : -10), true;
    case '+':
    case '-':
        return zoom_by(scene, key == '+' ? 1.25 : 0.8), true;
    case '0':
        scene->zoom = 1;
        memset(scene->pan, 0, sizeof scene->pan);
        return true;
    case 'p':
        return scene->plane = (scene->plane + 1) % scene->n_planes, true;
    case 'm':
        return scene->three = !scene->three, true;
    default:
        return false;
    }
}

enum scene_wish ts_scene_key(struct scene *scene, int key)
{
    scene->note[0] = '\0';
    if (change_look(scene, key) || change_place(scene, key))
        return WISH_NOTHING;
    switch (key) {
    case ' ':
        scene->playing = !scene->playing;
        return WISH_NOTHING;
    case 'n':
    case 'b':
        return wish_step(scene, WISH_IMAGE, key == 'n' ? 1 : -1);
    case 't':
        return wish_step(scene, WISH_TABLE, 1);
    case '[':
    case ']':
        if (scene->slider)
            return wish_slider(scene,
                               scene->slider->value + (key == ']' ? 1 : -1) * scene->slider->step);
        return WISH_NOTHING;
    case 's':
        return WISH_SCREENSHOT;
    case 'q':
        return WISH_QUIT;
    default:
        return WISH_UNKNOWN;
    }
}

/* Returns the value of the slider at the pointer; *on: the pointer is on the slider's bar. */
static double value_at(const struct scene *scene, bool *on)
{
    const struct rectangle bar = slider_bar(scene);
    const double part = bar.width > 1 ? (double)(scene->x - bar.left) / (bar.width - 1) : 0;
    *on = bar.width > 1 && scene->y >= bar.top && scene->y < bar.top + bar.height && part >= 0 &&
          part <= 1;
    return *on ? scene->slider->low + part * (scene->slider->high - scene->slider->low) : 0;
}

enum scene_wish ts_scene_press(struct scene *scene, int button)
{
    bool inside, on;
    int64_t at[3];
    const double value = value_at(scene, &on);
    if (button != BUTTON_LEFT)
        return WISH_NOTHING;
    if (on)
        return wish_slider(scene, value);
    if (ts_scene_pick(scene, scene->x, scene->y, at, &inside) >= 0 && inside)
        memcpy(scene->at, at, sizeof at);
    return WISH_NOTHING;
}

/* Dragging by a tenth of the picture widens the window by a half, or moves its center by a quarter
   of its width. */
static void drag_window(struct scene *scene, int32_t dx, int32_t dy)
{
    const double width = fmax(scene->high - scene->low, 1e-12),
                 center = (scene->low + scene->high) / 2;
    const double wider = width * pow(1.5, 10.0 * dx / scene->width);
    const double moved = center + width * 2.5 * dy / scene->height;
    set_window(scene, moved - wider / 2, moved + wider / 2, NULL);
}

static void drag_image(struct scene *scene, int32_t dx, int32_t dy)
{
    int64_t before[3], after[3];
    bool inside;
    if (ts_scene_pick(scene, scene->x - dx, scene->y - dy, before, &inside) < 0 ||
        ts_scene_pick(scene, scene->x, scene->y, after, &inside) < 0)
        return;
    for (int i = 0; i < 3; i++)
        scene->pan[i] -= (double)(after[i] - before[i]);
}

enum scene_wish ts_scene_drag(struct scene *scene, int32_t x, int32_t y, int button)
{
    const int32_t dx = x - scene->x, dy = y - scene->y;
    const bool was_here = scene->x >= 0 && scene->y >= 0;
    scene->x = x;
    scene->y = y;
    if (button == BUTTON_LEFT)
        return ts_scene_press(scene, button);
    if (button == BUTTON_RIGHT && was_here)
        drag_window(scene, dx, dy);
    if (button == BUTTON_MIDDLE && was_here)
        drag_image(scene, dx, dy);
    return WISH_NOTHING;
}

/* ---- the overlay ----------------------------------------------------------------------------- */

/* The overlay of a scene: what each pane shows, the value under the pointer with its unit, the
   cross-hair, the histogram with the window and the curve of equalization, a table, the slider and
   the keys. */

enum { MARGIN = 8, LINE = FONT_HEIGHT + 3 };

/* Returns the unit in the form that follows a number: " mm"; "" if there is none; the sign of a
   degree without a space. */
static const char *unit_of(const char *unit, char text[32])
{
    if (unit && !strcmp(unit, "degree"))
        return "\xC2\xB0";
    snprintf(text, 32, " %s", unit);
    return !unit || !*unit || !strcmp(unit, "1") ? "" : text;
}

/* ---- panes ----------------------------------------------------------------------------------- */

static void draw_cross(const struct scene *scene, struct canvas *canvas,
                       const struct view_pane *pane, int plane)
{
    const int64_t *at = scene->at;
    const int right_axis = scene->planes[plane].right, down_axis = scene->planes[plane].down;
    const int32_t x =
        pane->left + (int32_t)floor(((double)at[right_axis] + 0.5 - pane->u0) / pane->du);
    const int32_t y =
        pane->top + (int32_t)floor(((double)at[down_axis] + 0.5 - pane->v0) / pane->dv);
    const int32_t right = pane->left + pane->width - 1, bottom = pane->top + pane->height - 1;
    enum { HOLE = 6 }; /* half the gap of the cross-hair, in which the sample is visible */
    if (x >= pane->left && x <= right) {
        ts_canvas_line(canvas, x, pane->top, x, y - HOLE < bottom ? y - HOLE : bottom, INK_LINE);
        ts_canvas_line(canvas, x, y + HOLE > pane->top ? y + HOLE : pane->top, x, bottom, INK_LINE);
    }
    if (y >= pane->top && y <= bottom) {
        ts_canvas_line(canvas, pane->left, y, x - HOLE < right ? x - HOLE : right, y, INK_LINE);
        ts_canvas_line(canvas, x + HOLE > pane->left ? x + HOLE : pane->left, y, right, y,
                       INK_LINE);
    }
}

/* Draws the letters of the patient's sides at the edges of a pane. */
static void draw_sides(struct canvas *canvas, struct rectangle place, const char sides[4])
{
    const int32_t right = place.left + place.width, bottom = place.top + place.height;
    const int32_t middle = place.left + (place.width - FONT_WIDTH) / 2,
                  center = place.top + (place.height - FONT_HEIGHT) / 2;
    const int32_t x[4] = {place.left + MARGIN, right - MARGIN - FONT_WIDTH, middle, middle};
    const int32_t y[4] = {center, center, place.top + MARGIN + LINE + 2, /* below the title */
                          bottom - MARGIN - FONT_HEIGHT};
    for (int i = 0; i < 4; i++) {
        const char text[2] = {sides[i], 0};
        if (*text)
            ts_canvas_text(canvas, x[i], y[i], text, INK_LINE, INK_DARK);
    }
}

/* Draws a scale bar, 1, 2 or 5 times a power of ten long and at most a quarter of the pane. */
static void draw_bar(struct canvas *canvas, const struct view_pane *pane,
                     const struct picture_plane *plane)
{
    const double pixel = fabs(pane->du) * plane->width,
                 length = ts_picture_round(pixel * pane->width / 4);
    const int32_t wide = (int32_t)lround(length / pixel);
    const int32_t left = pane->left + pane->width - MARGIN - wide,
                  top = pane->top + pane->height - MARGIN;
    char text[64];
    snprintf(text, sizeof text, "%g %s", length, plane->unit);
    ts_canvas_fill(canvas, (struct rectangle){left - 1, top - 2, wide + 2, 5}, INK_DARK);
    ts_canvas_fill(canvas, (struct rectangle){left, top - 1, wide, 3}, INK_TEXT);
    ts_canvas_text(canvas, left + wide - FONT_WIDTH * ts_font_letters(text), top - FONT_HEIGHT - 6,
                   text, INK_TEXT, INK_DARK);
}

/* Draws what lies over the image, by its samples that are nearest to the pixels. */
static void draw_over(const struct scene *scene, struct canvas *canvas,
                      const struct view_pane *pane, const struct picture_plane *plane)
{
    const struct overlay *over = scene->over;
    const size_t width = ts_dtype_bytes(over->image.dtype);
    struct view_pane there = *pane;
    const bool contour = scene->over_style.contour;
    there.dtype = over->image.dtype;
    there.data = (const unsigned char *)over->image.data +
                 (size_t)(scene->at[plane->across] * stride(&over->image, plane->across)) * width;
    for (int32_t y = 0; y < pane->height; y++)
        for (int32_t x = 0; x < pane->width; x++) {
            double
                values[5]; /* at the pixel, and at its neighbors to the left, right, top, bottom */
            static const int32_t dx[] = {0, -1, 1, 0, 0}, dy[] = {0, 0, 0, -1, 1};
            for (int i = 0; i < (contour ? 5 : 1); i++) {
                const double u = pane->u0 + (x + dx[i] + 0.5) * pane->du,
                             v = pane->v0 + (y + dy[i] + 0.5) * pane->dv;
                const bool inside =
                    u >= 0 && u < (double)pane->n_u && v >= 0 && v < (double)pane->n_v;
                values[i] = inside ? ts_view_value(&there, (int64_t)u, (int64_t)v) : (double)NAN;
            }
            const int ink =
                contour ? ts_overlay_edge(over, values) : ts_overlay_ink(over, values[0]);
            if (ink > 0)
                ts_canvas_put(canvas, pane->left + x, pane->top + y,
                              (enum view_ink)(INK_OVER - 1 + ink));
        }
}

static void draw_panes(const struct scene *scene, struct canvas *canvas)
{
    struct rectangle places[PICTURE_PLANES], panel;
    struct view_picture picture;
    int planes[PICTURE_PLANES];
    char text[128];
    const int n = layout_of(scene, places, planes, &panel);
    ts_scene_picture(scene, &picture);
    for (int i = 0; i < n; i++) {
        struct picture_plane plane = scene->planes[planes[i]];
        struct rectangle place = places[i];
        if (scene->over && !scene->over_hidden && !scene->slider)
            draw_over(scene, canvas, &picture.panes[i], &plane);
        if (scene->cross && n > 1)
            draw_cross(scene, canvas, &picture.panes[i], planes[i]);
        ts_picture_move(scene->image, scene->at[plane.across], &plane);
        ts_picture_slice_text(scene->image, &plane, text, sizeof text);
        ts_canvas_text(canvas, place.left + MARGIN, place.top + MARGIN, text, INK_TEXT, INK_DARK);
        if (scene->slider) /* its bar is at the bottom */
            place.height -= BAR_HEIGHT + 2 * BAR_MARGIN;
        picture.panes[i].height = place.height;
        draw_sides(canvas, place, plane.sides);
        if (plane.unit)
            draw_bar(canvas, &picture.panes[i], &plane);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Writes where a sample is and its value: "x 12 y 40 z 3 (6, 20, 9 mm) -54 HU". */
static void describe_sample(const struct scene *scene, const int64_t at[3], char *text, size_t size)
{
    const struct ts_image *image = ts_scene_shown(scene);
    const int64_t z = image->axes[0].n > 1 ? at[0] : 0;
    const struct ts_image slice = ts_image_slices(image, z, 1);
    const size_t i = (size_t)(at[1] * image->axes[2].n + at[2]);
    double value;
    char unit[32];
    ts_load_f64(&value, (const unsigned char *)slice.data + i * ts_dtype_bytes(image->dtype),
                image->dtype, 1);
    size_t used = 0;
    for (int axis = 2; axis >= 0 && used < size; axis--) {
        const struct ts_axis *of = &scene->image->axes[axis];
        used += (size_t)snprintf(
            text + used, size - used, "%s %lld (%.5g%s)  ", ts_axis_name(of), (long long)at[axis],
            ts_grid_position(scene->image, axis, at[axis]), unit_of(of->unit, unit));
    }
    if (used < size && scene->ready <= at[0])
        snprintf(text + used, size - used, "not computed yet");
    else if (used < size)
        snprintf(text + used, size - used, " %.6g%s", value, unit_of(image->unit, unit));
}

static void draw_status(const struct scene *scene, struct canvas *canvas)
{
    char text[256], unit[32];
    int64_t at[3];
    const struct rectangle bar = slider_bar(scene);
    int32_t y = (bar.width ? bar.top : canvas->height) - MARGIN - LINE;
    snprintf(text, sizeof text, "center %.5g  width %.5g%s%s%s%s", (scene->low + scene->high) / 2,
             scene->high - scene->low, unit_of(ts_scene_shown(scene)->unit, unit),
             scene->window_name ? "  " : "", scene->window_name ? scene->window_name : "",
             scene->invert ? ", inverted" : "");
    ts_canvas_text(canvas, MARGIN, y, text, INK_TEXT, INK_DARK);
    ts_scene_readout(scene, at);
    describe_sample(scene, at, text, sizeof text);
    ts_canvas_text(canvas, MARGIN, y - LINE, text, INK_TEXT, INK_DARK);
    if (scene->note[0])
        ts_canvas_text(canvas, MARGIN, y - 2 * LINE, scene->note, INK_MARK, INK_DARK);
}

/* ---- the panel ------------------------------------------------------------------------------- */

/* Returns the column of a value in the histogram. */
static int32_t column_of(const struct display_histogram *histogram, struct rectangle place,
                         double value)
{
    const double part = histogram->high > histogram->low
                            ? (value - histogram->low) / (histogram->high - histogram->low)
                            : 0;
    return place.left + (int32_t)lround(fmin(fmax(part, -1), 2) * (place.width - 1));
}

static void draw_window_edges(const struct scene *scene, struct canvas *canvas,
                              struct rectangle place)
{
    const double edges[] = {scene->low, scene->high};
    for (int i = 0; i < 2; i++) {
        const int32_t x = column_of(scene->histogram, place, edges[i]);
        if (x >= place.left && x < place.left + place.width)
            ts_canvas_line(canvas, x, place.top, x, place.top + place.height - 1, INK_MARK);
    }
}

/* The height of a bar is the square root of its count, so that the peak of the background leaves
   room for the rest. */
static void draw_histogram(const struct scene *scene, struct canvas *canvas, struct rectangle place)
{
    const struct display_histogram *histogram = scene->histogram;
    const int32_t bottom = place.top + place.height - 1;
    int64_t most = 1;
    for (int i = 0; i < DISPLAY_BINS; i++)
        most = histogram->counts[i] > most ? histogram->counts[i] : most;
    for (int32_t x = 0; x < place.width; x++) {
        const int bin = (int)((int64_t)x * DISPLAY_BINS / place.width);
        const double part = sqrt((double)histogram->counts[bin] / (double)most);
        const int32_t height = (int32_t)lround(part * (place.height - 2));
        if (height > 0)
            ts_canvas_line(canvas, place.left + x, bottom, place.left + x, bottom - height,
                           INK_BARS);
    }
    ts_canvas_curve(canvas, place, histogram->curve, DISPLAY_BINS, 0, 1, INK_CURVE);
    draw_window_edges(scene, canvas, place);
    ts_canvas_frame(canvas, place, INK_TEXT);
}

static void draw_table(const struct scene *scene, struct canvas *canvas, struct rectangle place)
{
    const struct hdf5_slice *table = scene->table;
    const int64_t row = table->rows == scene->image->axes[0].n ? scene->at[0] : 0;
    const bool of_slices = table->columns == 1 && table->rows > 1;
    const float *values = of_slices ? table->values : table->values + row * table->columns;
    const int64_t n = of_slices ? table->rows : table->columns;
    double low = INFINITY, high = -INFINITY;
    char text[96];
    for (int64_t i = 0; i < n; i++)
        if (isfinite(values[i])) {
            low = fmin(low, (double)values[i]);
            high = fmax(high, (double)values[i]);
        }
    ts_canvas_curve(canvas, place, values, n, low, high, INK_CURVE);
    ts_canvas_frame(canvas, place, INK_TEXT);
    snprintf(text, sizeof text, "%lld values, %.4g to %.4g", (long long)n, low, high);
    ts_canvas_text(canvas, place.left, place.top + place.height + 4, text, INK_TEXT, INK_CLEAR);
}

static void draw_panel(const struct scene *scene, struct canvas *canvas)
{
    struct rectangle places[PICTURE_PLANES], panel;
    const struct ts_image *shown = ts_scene_shown(scene);
    int planes[PICTURE_PLANES];
    char text[96], unit[32];
    layout_of(scene, places, planes, &panel);
    if (panel.width < 4 * MARGIN || panel.height < 12 * LINE)
        return;
    ts_canvas_fill(canvas, panel, INK_SHADE);
    const int32_t left = panel.left + MARGIN, letters = (panel.width - 2 * MARGIN) / FONT_WIDTH;
    const int32_t chart = (panel.height - 9 * LINE) / (scene->table ? 2 : 1);
    struct rectangle place = {left, panel.top + MARGIN + 4 * LINE, panel.width - 2 * MARGIN,
                              chart < 240 ? chart : 240};
    snprintf(text, sizeof text, "%.*s", letters < 95 ? letters : 95, scene->title);
    ts_canvas_text(canvas, left, panel.top + MARGIN, text, INK_TEXT, INK_CLEAR);
    snprintf(text, sizeof text, "image %s, %s, %s", scene->image_name, ts_dtype_name(shown->dtype),
             ts_quantity_name(shown->quantity));
    ts_canvas_text(canvas, left, panel.top + MARGIN + LINE, text, INK_TEXT, INK_CLEAR);
    ts_canvas_text(canvas, left, panel.top + MARGIN + 3 * LINE - 4,
                   "histogram, and curve of equalization", INK_CURVE, INK_CLEAR);
    draw_histogram(scene, canvas, place);
    place.top += place.height + 4;
    snprintf(text, sizeof text, "%.5g to %.5g%s", scene->histogram->low, scene->histogram->high,
             unit_of(shown->unit, unit));
    ts_canvas_text(canvas, left, place.top, text, INK_TEXT, INK_CLEAR);
    place.top += 2 * LINE;
    if (!scene->table) {
        ts_canvas_text(canvas, left, panel.top + panel.height - MARGIN - LINE, "? lists the keys",
                       INK_TEXT, INK_CLEAR);
        return;
    }
    snprintf(text, sizeof text, "%.*s", letters < 95 ? letters : 95, scene->table_name);
    ts_canvas_text(canvas, left, place.top - 4, text, INK_CURVE, INK_CLEAR);
    place.top += LINE;
    place.height -= LINE;
    draw_table(scene, canvas, place);
}

/* ---- slider and help ------------------------------------------------------------------------- */

static void draw_slider(const struct scene *scene, struct canvas *canvas)
{
    const struct rectangle bar = slider_bar(scene);
    const struct slider *slider = scene->slider;
    char text[160];
    const double part = slider->high > slider->low
                            ? (slider->value - slider->low) / (slider->high - slider->low)
                            : 0;
    ts_canvas_fill(canvas, bar, INK_SHADE);
    ts_canvas_frame(canvas, bar, INK_TEXT);
    ts_canvas_fill(canvas,
                   (struct rectangle){bar.left + (int32_t)lround(part * (bar.width - 6)), bar.top,
                                      6, bar.height},
                   INK_LINE);
    ts_canvas_text(canvas, bar.left + MARGIN, bar.top + 5, slider->text, INK_TEXT, INK_CLEAR);
    snprintf(text, sizeof text, "%.4g to %.4g", slider->low, slider->high);
    ts_canvas_text(canvas, bar.left + bar.width - MARGIN - FONT_WIDTH * ts_font_letters(text),
                   bar.top + 5, text, INK_TEXT, INK_CLEAR);
}

static void draw_help(struct canvas *canvas)
{
    int32_t n = 0, longest = 0;
    for (; key_lines[n]; n++) {
        const int32_t letters = ts_font_letters(key_lines[n]);
        longest = letters > longest ? letters : longest;
    }
    const struct rectangle place = {MARGIN * 2, MARGIN * 4, longest * FONT_WIDTH + 2 * MARGIN,
                                    n * LINE + 2 * MARGIN};
    ts_canvas_fill(canvas, place, INK_DARK);
    ts_canvas_frame(canvas, place, INK_TEXT);
    for (int32_t i = 0; i < n; i++)
        ts_canvas_text(canvas, place.left + MARGIN, place.top + MARGIN + i * LINE, key_lines[i],
                       INK_TEXT, INK_CLEAR);
}

void ts_scene_overlay(const struct scene *scene, struct canvas *canvas)
{
    ts_canvas_clear(canvas);
    draw_panes(scene, canvas);
    draw_panel(scene, canvas);
    if (scene->slider)
        draw_slider(scene, canvas);
    draw_status(scene, canvas);
    if (scene->help)
        draw_help(canvas);
}
