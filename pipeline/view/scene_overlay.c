/* SPDX-License-Identifier: Apache-2.0
 *
 * The overlay of a scene: what each pane shows, the value under the pointer in its unit, the cross-hair, the histogram
 * with the window and the curve of equalization, a table, the slider and the keys.
 */
#include <math.h>
#include <string.h>

#include "pipeline/view/font.h"
#include "pipeline/view/scene.h"

enum { MARGIN = 8, LINE = FONT_HEIGHT + 3 };

/* Returns the unit as it follows a number: " mm", nothing for none, and the sign of a degree close to the number. */
static const char *unit_of(const char *unit, char text[32])
{
    if (unit && !strcmp(unit, "degree"))
        return "\xC2\xB0";
    snprintf(text, 32, " %s", unit);
    return !unit || !*unit || !strcmp(unit, "1") ? "" : text;
}

/* ---- panes -------------------------------------------------------------------------------------- */

static void draw_cross(const struct scene *scene, struct canvas *canvas, const struct view_pane *pane, int plane)
{
    static const int axis_u[] = {2, 2, 1}, axis_v[] = {1, 0, 0};
    const int32_t x = pane->left + (int32_t)floor(((double)scene->at[axis_u[plane]] + 0.5 - pane->u0) / pane->du);
    const int32_t y = pane->top + (int32_t)floor(((double)scene->at[axis_v[plane]] + 0.5 - pane->v0) / pane->dv);
    const int32_t right = pane->left + pane->width - 1, bottom = pane->top + pane->height - 1;
    enum { HOLE = 6 }; /* the sample itself stays free */
    if (x >= pane->left && x <= right) {
        ts_canvas_line(canvas, x, pane->top, x, y - HOLE < bottom ? y - HOLE : bottom, INK_LINE);
        ts_canvas_line(canvas, x, y + HOLE > pane->top ? y + HOLE : pane->top, x, bottom, INK_LINE);
    }
    if (y >= pane->top && y <= bottom) {
        ts_canvas_line(canvas, pane->left, y, x - HOLE < right ? x - HOLE : right, y, INK_LINE);
        ts_canvas_line(canvas, x + HOLE > pane->left ? x + HOLE : pane->left, y, right, y, INK_LINE);
    }
}

static void name_pane(const struct scene *scene, struct canvas *canvas, struct rectangle place, int plane)
{
    static const char *const volume[] = {"axial", "coronal", "sagittal"};
    const struct ts_axis *axis = &scene->image->axes[plane];
    char text[128], unit[32];
    snprintf(text, sizeof text, "%s %s %lld/%lld  %.5g%s", ts_image_is_sinogram(scene->image) ? "" : volume[plane],
             ts_axis_name(axis), (long long)scene->at[plane] + 1, (long long)axis->n,
             ts_axis_position(axis, scene->at[plane]), unit_of(axis->unit, unit));
    ts_canvas_text(canvas, place.left + MARGIN, place.top + MARGIN, text + (*text == ' '), INK_TEXT, INK_DARK);
}

static void draw_panes(const struct scene *scene, struct canvas *canvas)
{
    struct rectangle places[SCENE_PLANES], panel;
    struct view_picture picture;
    int planes[SCENE_PLANES];
    const int n = ts_scene_layout(scene, places, planes, &panel);
    ts_scene_picture(scene, &picture);
    for (int i = 0; i < n; i++) {
        if (scene->cross && n > 1)
            draw_cross(scene, canvas, &picture.panes[i], planes[i]);
        name_pane(scene, canvas, places[i], planes[i]);
    }
}

/* ---- values ------------------------------------------------------------------------------------- */

/* Writes where a sample lies and its value: "x 12 y 40 z 3 (6, 20, 9 mm)  -54 HU". */
static void describe_sample(const struct scene *scene, const int64_t at[3], char *text, size_t size)
{
    const struct ts_image *image = ts_scene_shown(scene);
    const int64_t z = image->axes[0].n > 1 ? at[0] : 0;
    const struct ts_image slice = ts_image_slices(image, z, 1);
    const size_t i = (size_t)(at[1] * image->axes[2].n + at[2]);
    double value;
    char unit[32];
    ts_load_f64(&value, (const unsigned char *)slice.data + i * ts_dtype_bytes(image->dtype), image->dtype, 1);
    size_t used = 0;
    for (int axis = 2; axis >= 0 && used < size; axis--) {
        const struct ts_axis *of = &scene->image->axes[axis];
        used += (size_t)snprintf(text + used, size - used, "%s %lld (%.5g%s)  ", ts_axis_name(of), (long long)at[axis],
                                 ts_axis_position(of, at[axis]), unit_of(of->unit, unit));
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
    const struct rectangle bar = ts_scene_slider_bar(scene);
    int32_t y = (bar.width ? bar.top : canvas->height) - MARGIN - LINE;
    snprintf(text, sizeof text, "center %.5g  width %.5g%s%s%s%s", (scene->low + scene->high) / 2,
             scene->high - scene->low, unit_of(ts_scene_shown(scene)->unit, unit), scene->window_name ? "  " : "",
             scene->window_name ? scene->window_name : "", scene->invert ? ", inverted" : "");
    ts_canvas_text(canvas, MARGIN, y, text, INK_TEXT, INK_DARK);
    ts_scene_readout(scene, at);
    describe_sample(scene, at, text, sizeof text);
    ts_canvas_text(canvas, MARGIN, y - LINE, text, INK_TEXT, INK_DARK);
    if (scene->note[0])
        ts_canvas_text(canvas, MARGIN, y - 2 * LINE, scene->note, INK_MARK, INK_DARK);
}

/* ---- the panel ---------------------------------------------------------------------------------- */

/* Returns the column of a value on the histogram's place. */
static int32_t column_of(const struct display_histogram *histogram, struct rectangle place, double value)
{
    const double part =
        histogram->high > histogram->low ? (value - histogram->low) / (histogram->high - histogram->low) : 0;
    return place.left + (int32_t)lround(fmin(fmax(part, -1), 2) * (place.width - 1));
}

static void draw_window_edges(const struct scene *scene, struct canvas *canvas, struct rectangle place)
{
    const double edges[] = {scene->low, scene->high};
    for (int i = 0; i < 2; i++) {
        const int32_t x = column_of(scene->histogram, place, edges[i]);
        if (x >= place.left && x < place.left + place.width)
            ts_canvas_line(canvas, x, place.top, x, place.top + place.height - 1, INK_MARK);
    }
}

/* Bars are as high as the square root of their counts, so that the background's peak leaves room for the rest. */
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
            ts_canvas_line(canvas, place.left + x, bottom, place.left + x, bottom - height, INK_BARS);
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
    struct rectangle places[SCENE_PLANES], panel;
    const struct ts_image *shown = ts_scene_shown(scene);
    int planes[SCENE_PLANES];
    char text[96], unit[32];
    ts_scene_layout(scene, places, planes, &panel);
    if (panel.width < 4 * MARGIN || panel.height < 12 * LINE)
        return;
    ts_canvas_fill(canvas, panel, INK_SHADE);
    const int32_t left = panel.left + MARGIN, letters = (panel.width - 2 * MARGIN) / FONT_WIDTH;
    const int32_t chart = (panel.height - 9 * LINE) / (scene->table ? 2 : 1);
    struct rectangle place = {left, panel.top + MARGIN + 4 * LINE, panel.width - 2 * MARGIN, chart < 240 ? chart : 240};
    snprintf(text, sizeof text, "%.*s", letters < 95 ? letters : 95, scene->title);
    ts_canvas_text(canvas, left, panel.top + MARGIN, text, INK_TEXT, INK_CLEAR);
    snprintf(text, sizeof text, "image %s, %s, %s", scene->image_name, ts_dtype_name(shown->dtype),
             ts_quantity_name(shown->quantity));
    ts_canvas_text(canvas, left, panel.top + MARGIN + LINE, text, INK_TEXT, INK_CLEAR);
    ts_canvas_text(canvas, left, panel.top + MARGIN + 3 * LINE - 4, "histogram, and curve of equalization", INK_CURVE,
                   INK_CLEAR);
    draw_histogram(scene, canvas, place);
    place.top += place.height + 4;
    snprintf(text, sizeof text, "%.5g to %.5g%s", scene->histogram->low, scene->histogram->high,
             unit_of(shown->unit, unit));
    ts_canvas_text(canvas, left, place.top, text, INK_TEXT, INK_CLEAR);
    place.top += 2 * LINE;
    if (!scene->table) {
        ts_canvas_text(canvas, left, panel.top + panel.height - MARGIN - LINE, "? lists the keys", INK_TEXT, INK_CLEAR);
        return;
    }
    snprintf(text, sizeof text, "%.*s", letters < 95 ? letters : 95, scene->table_name);
    ts_canvas_text(canvas, left, place.top - 4, text, INK_CURVE, INK_CLEAR);
    place.top += LINE;
    place.height -= LINE;
    draw_table(scene, canvas, place);
}

/* ---- slider and help ---------------------------------------------------------------------------- */

static void draw_slider(const struct scene *scene, struct canvas *canvas)
{
    const struct rectangle bar = ts_scene_slider_bar(scene);
    const struct slider *slider = scene->slider;
    char text[160];
    const double part = slider->high > slider->low ? (slider->value - slider->low) / (slider->high - slider->low) : 0;
    ts_canvas_fill(canvas, bar, INK_SHADE);
    ts_canvas_frame(canvas, bar, INK_TEXT);
    ts_canvas_fill(canvas,
                   (struct rectangle){bar.left + (int32_t)lround(part * (bar.width - 6)), bar.top, 6, bar.height},
                   INK_LINE);
    ts_canvas_text(canvas, bar.left + MARGIN, bar.top + 5, slider->text, INK_TEXT, INK_CLEAR);
    snprintf(text, sizeof text, "%.4g to %.4g", slider->low, slider->high);
    ts_canvas_text(canvas, bar.left + bar.width - MARGIN - FONT_WIDTH * ts_font_letters(text), bar.top + 5, text,
                   INK_TEXT, INK_CLEAR);
}

static void draw_help(struct canvas *canvas)
{
    int32_t n = 0, longest = 0;
    for (; ts_scene_keys[n]; n++) {
        const int32_t letters = ts_font_letters(ts_scene_keys[n]);
        longest = letters > longest ? letters : longest;
    }
    const struct rectangle place = {MARGIN * 2, MARGIN * 4, longest * FONT_WIDTH + 2 * MARGIN, n * LINE + 2 * MARGIN};
    ts_canvas_fill(canvas, place, INK_DARK);
    ts_canvas_frame(canvas, place, INK_TEXT);
    for (int32_t i = 0; i < n; i++)
        ts_canvas_text(canvas, place.left + MARGIN, place.top + MARGIN + i * LINE, ts_scene_keys[i], INK_TEXT,
                       INK_CLEAR);
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
