/* SPDX-License-Identifier: Apache-2.0
 *
 * A scene is what the user has chosen to see: planes and slices of an image, window, zoom and
 * colors. Keys and the mouse change it. It knows no display, so that tests and scripts (--keys) use
 * it as a window does. A picture of a scene has two parts: panes, which the renderer draws, and the
 * overlay.
 */
#ifndef PROGRAM_SHOW_SCENE_H
#define PROGRAM_SHOW_SCENE_H

#include <stdint.h>

#include "core/picture_plane.h"
#include "cuda/view/picture.h"
#include "io/hdf5/hdf5_slice.h"
#include "program/show/canvas.h"
#include "program/show/colors.h"
#include "program/show/display_histogram.h"
#include "program/show/overlay.h"
#include "program/show/slider.h"

/* What a key or the mouse asks of the viewer, because the scene cannot do it itself. */
enum scene_wish {
    WISH_NOTHING,
    WISH_QUIT,
    WISH_IMAGE,
    WISH_TABLE,
    WISH_SCREENSHOT,
    WISH_SLIDER,
    WISH_UNKNOWN
};

struct scene {
    const struct ts_image *image; /* the image that is shown, with data */
    int64_t at[3];                /* the cross-hair, as indices of the image's axes */
    struct picture_plane planes[PICTURE_PLANES]; /* those that are worth a look */
    int n_planes, stored;                        /* stored: the plane of the stored slices */
    bool three;                                  /* all planes at once; false: only `plane` */
    int plane;
    double zoom, pan[3];     /* pan: samples along each axis */
    double low, high;        /* window */
    const char *window_name; /* such as "abdomen", "full range"; NULL: set by hand */
    bool invert, linear, cross, panel, help, playing;
    enum view_colors colors;
    int32_t width, height; /* of the picture */
    int32_t x, y;          /* of the pointer; negative: it is outside */
    const struct display_histogram *histogram;
    const struct hdf5_slice *table; /* the table that is shown as a curve; NULL: none */
    const char *table_name, *image_name, *title;
    const struct overlay *over; /* lies over the image; NULL: nothing does */
    struct overlay_style over_style;
    bool over_hidden;
    struct slider *slider; /* NULL: none */
    double slider_value;   /* that is wished */
    int step;              /* of WISH_IMAGE and WISH_TABLE: +1 or -1 */
    int64_t ready;         /* number of slices of the image that have values */
    char note[160];        /* a sentence for the user; "": none */
};

enum scene_button { BUTTON_LEFT, BUTTON_MIDDLE, BUTTON_RIGHT };
enum { PANEL_WIDTH = 300, SCENE_LEAST = 64, SCENE_MOST = 16384 };

/* Begins a scene of an image: at its middle, with a window for it (abdomen for HU, else the 1st to
   the 99th percentile). */
void ts_scene_begin(struct scene *scene, const struct ts_image *image,
                    const struct display_histogram *histogram);
/* Applies a key of the help. Returns WISH_UNKNOWN if there is no such key. */
enum scene_wish ts_scene_key(struct scene *scene, int key);
/* Applies a movement of the pointer to (x, y); the button is the one held down, or -1. */
enum scene_wish ts_scene_drag(struct scene *scene, int32_t x, int32_t y, int button);
/* Applies a press of a button at the pointer's place. */
enum scene_wish ts_scene_press(struct scene *scene, int button);
/* Applies a turn of the wheel, positive away from the user: one slice, or one step of zoom. */
void ts_scene_wheel(struct scene *scene, double steps, bool zooms);

/* ---- panes -------------------------------------------------------------------------------- */

/* Returns the image whose values the panes show: the slider's, which has one slice, or else the
   scene's own. */
const struct ts_image *ts_scene_shown(const struct scene *scene);
/* Fills in the picture, except its overlay. */
void ts_scene_picture(const struct scene *scene, struct view_picture *picture);
/* Finds the pane and the sample at a pixel. Returns the number of the plane, or -1 if no pane is
   there. *inside:
   the sample is in the image. */
int ts_scene_pick(const struct scene *scene, int32_t x, int32_t y, int64_t at[3], bool *inside);
/* Finds the sample whose value the overlay shows: the one under the pointer, else that at the
   cross-hair. */
void ts_scene_readout(const struct scene *scene, int64_t at[3]);

/* ---- overlay ------------------------------------------------------------------------------ */

/* Draws text, cross-hair, histogram, table, slider and help. */
void ts_scene_overlay(const struct scene *scene, struct canvas *canvas);

#endif
