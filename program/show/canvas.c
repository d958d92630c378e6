/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines step along their longer side. All drawing ends in ts_canvas_put, and only it checks the
 * edges.
 */
#include "program/show/canvas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/font.h"

void ts_canvas_put(struct canvas *canvas, int32_t x, int32_t y, enum view_ink ink)
{
    if (x >= 0 && x < canvas->width && y >= 0 && y < canvas->height)
        canvas->inks[(int64_t)y * canvas->width + x] = (uint8_t)ink;
}

void ts_canvas_clear(struct canvas *canvas)
{
    memset(canvas->inks, INK_CLEAR, (size_t)canvas->width * (size_t)canvas->height);
}

void ts_canvas_fill(struct canvas *canvas, struct rectangle place, enum view_ink ink)
{
    for (int32_t y = place.top; y < place.top + place.height; y++)
        for (int32_t x = place.left; x < place.left + place.width; x++)
            ts_canvas_put(canvas, x, y, ink);
}

void ts_canvas_line(struct canvas *canvas, int32_t x1, int32_t y1, int32_t x2, int32_t y2,
                    enum view_ink ink)
{
    const int32_t dx = x2 - x1, dy = y2 - y1, steps = abs(dx) > abs(dy) ? abs(dx) : abs(dy);
    for (int32_t i = 0; i <= steps; i++)
        ts_canvas_put(canvas, x1 + (int32_t)lround(steps ? (double)dx * i / steps : 0),
                      y1 + (int32_t)lround(steps ? (double)dy * i / steps : 0), ink);
}

void ts_canvas_frame(struct canvas *canvas, struct rectangle place, enum view_ink ink)
{
    const int32_t right = place.left + place.width - 1, bottom = place.top + place.height - 1;
    ts_canvas_line(canvas, place.left, place.top, right, place.top, ink);
    ts_canvas_line(canvas, place.left, bottom, right, bottom, ink);
    ts_canvas_line(canvas, place.left, place.top, place.left, bottom, ink);
    ts_canvas_line(canvas, right, place.top, right, bottom, ink);
}

void ts_canvas_text(struct canvas *canvas, int32_t x, int32_t y, const char *text,
                    enum view_ink ink, enum view_ink ground)
{
    if (ground != INK_CLEAR)
        ts_canvas_fill(canvas,
                       (struct rectangle){x - 2, y - 1, ts_font_letters(text) * FONT_WIDTH + 4,
                                          FONT_HEIGHT + 2},
                       ground);
    for (; *text; x += FONT_WIDTH) {
        const uint8_t *rows = ts_font_letter(&text);
        for (int32_t row = 0; row < FONT_HEIGHT; row++)
            for (int32_t column = 0; column < FONT_WIDTH; column++)
                if (rows[row] & (0x80 >> column))
                    ts_canvas_put(canvas, x + column, y + row, ink);
    }
}

void ts_canvas_curve(struct canvas *canvas, struct rectangle place, const float *values, int64_t n,
                     double low, double high, enum view_ink ink)
{
    int32_t last_x = 0, last_y = 0;
    bool connected = false;
    for (int64_t i = 0; i < n; i++) {
        const double part = high > low ? ((double)values[i] - low) / (high - low) : 0.5;
        if (!isfinite(part)) {
            connected = false;
            continue;
        }
        const double across = n > 1 ? (double)i / (double)(n - 1) : 0.5;
        const int32_t x = place.left + (int32_t)lround(across * (place.width - 1));
        const int32_t y =
            place.top + (int32_t)lround((1 - fmin(fmax(part, 0), 1)) * (place.height - 1));
        ts_canvas_line(canvas, connected ? last_x : x, connected ? last_y : y, x, y, ink);
        last_x = x;
        last_y = y;
        connected = true;
    }
}
