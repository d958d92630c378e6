/* SPDX-License-Identifier: Apache-2.0
 *
 * The colors of the viewer: maps from gray levels to colors, and the inks of the overlay.
 */
#ifndef PROGRAM_SHOW_COLORS_H
#define PROGRAM_SHOW_COLORS_H

#include "cuda/view/picture.h"

/* Gray; hot (black, red, yellow, white); cubehelix, whose brightness rises as evenly as that of
   gray. */
enum view_colors { COLORS_GRAY, COLORS_HOT, COLORS_CUBEHELIX, COLORS_MAPS };

/* INK_CLEAR leaves the image visible. INK_SHADE is the background of panels, INK_DARK that of text
   on images. */
enum view_ink {
    INK_CLEAR,
    INK_TEXT,
    INK_SHADE,
    INK_LINE,
    INK_CURVE,
    INK_BARS,
    INK_MARK,
    INK_DARK,
    INK_OVER /* and those behind it: what lies over the image (program/show/overlay.h) */
};

/* Fills in the color of each gray level, 0xAABBGGRR. */
void ts_view_colors(enum view_colors map, uint32_t colors[VIEW_COLORS]);
/* Fills in the colors of the inks. */
void ts_view_inks(uint32_t inks[VIEW_INKS]);

#endif
