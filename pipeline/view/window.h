/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program with windows adds to the viewer. The program tomostage-view has it (pipeline/view/window_*.c); the
 * program tomostage, which must start fast, links no OpenGL and has none.
 */
#ifndef PIPELINE_VIEW_WINDOW_H
#define PIPELINE_VIEW_WINDOW_H

#include "pipeline/view/viewer.h"

struct offscreen;

struct view_window {
    /* Shows the viewer's pictures in a window until it is closed. TS_RUN_FAILED where there is no display. */
    enum ts_status (*show)(struct viewer *viewer);
    /* Opens OpenGL without a display, through EGL. draw() takes a picture the way it takes to a window: into the pixel
     * buffer, the texture and a framebuffer, which is then read back. */
    enum ts_status (*open)(struct viewer *viewer, struct offscreen **offscreen);
    viewer_draw *draw; /* user: the struct offscreen */
    void (*close)(struct offscreen *offscreen);
};

extern const struct view_window *const ts_view_window; /* NULL: this program has no windows */

#endif
