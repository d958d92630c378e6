/* SPDX-License-Identifier: Apache-2.0
 *
 * Rectangles, lines, text and curves of the viewer's overlay.
 */
#ifndef PROGRAM_SHOW_CANVAS_H
#define PROGRAM_SHOW_CANVAS_H

#include <stdint.h>

#include "program/show/colors.h"

/* A canvas is the overlay of a picture: one byte a pixel, the number of an ink
   (program/show/colors.h). Drawing is cut off at its edges. */
struct canvas {
    int32_t width, height;
    uint8_t *inks;
};

/* A place of a canvas or a picture, in pixels. */
struct rectangle {
    int32_t left, top, width, height;
};

void ts_canvas_clear(struct canvas *canvas);
void ts_canvas_put(struct canvas *canvas, int32_t x, int32_t y, enum view_ink ink);
void ts_canvas_fill(struct canvas *canvas, struct rectangle place, enum view_ink ink);
/* Writes a line of text with its upper left corner at (x, y), on a background of `ground` if that
   is not clear. */
void ts_canvas_text(struct canvas *canvas, int32_t x, int32_t y, const char *text,
                    enum view_ink ink, enum view_ink ground);
/* Draws a line one pixel wide between two pixels. */
void ts_canvas_line(struct canvas *canvas, int32_t x1, int32_t y1, int32_t x2, int32_t y2,
                    enum view_ink ink);
/* Draws the outline of a place, one pixel wide, inside it. */
void ts_canvas_frame(struct canvas *canvas, struct rectangle place, enum view_ink ink);
/* Draws n values as a curve in the place: low at its bottom, high at its top. Values that are not
   finite leave a gap. */
void ts_canvas_curve(struct canvas *canvas, struct rectangle place, const float *values, int64_t n,
                     double low, double high, enum view_ink ink);

#endif
