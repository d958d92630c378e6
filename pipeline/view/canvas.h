/* SPDX-License-Identifier: Apache-2.0
 *
 * A canvas is the overlay of a picture: a byte a pixel, the number of an ink (pipeline/view/colors.h). All that is
 * drawn is cut off at the canvas's edges.
 */
#ifndef PIPELINE_VIEW_CANVAS_H
#define PIPELINE_VIEW_CANVAS_H

#include <stdint.h>

#include "pipeline/view/colors.h"

struct canvas {
    int32_t width, height;
    uint8_t *inks;
};

/* A place of a canvas or a picture, in pixels. */
struct rectangle {
    int32_t left, top, width, height;
};

void ts_canvas_clear(struct canvas *canvas);
void ts_canvas_fill(struct canvas *canvas, struct rectangle place, enum view_ink ink);
/* Draws the outline of a place, one pixel wide, within it. */
void ts_canvas_frame(struct canvas *canvas, struct rectangle place, enum view_ink ink);
/* Draws a line one pixel wide between two pixels. */
void ts_canvas_line(struct canvas *canvas, int32_t x1, int32_t y1, int32_t x2, int32_t y2, enum view_ink ink);
/* Writes a line of text whose left upper corner is (x, y), on a ground of `ground` where that is not clear. */
void ts_canvas_text(struct canvas *canvas, int32_t x, int32_t y, const char *text, enum view_ink ink,
                    enum view_ink ground);
/* Draws n values as a curve through the place: low at its bottom, high at its top. Values that are not finite leave a
 * gap. */
void ts_canvas_curve(struct canvas *canvas, struct rectangle place, const float *values, int64_t n, double low,
                     double high, enum view_ink ink);

#endif
