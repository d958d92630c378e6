/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs with windows add to the viewer. The program tomostage-view has it
 * (program/show/window_*.c); the program tomostage, which must start fast, links no OpenGL and
 * lacks it.
 */
#ifndef PROGRAM_SHOW_WINDOW_H
#define PROGRAM_SHOW_WINDOW_H

#include "program/show/viewer.h"

struct offscreen;

/* OpenGL without a display: a framebuffer is used instead of a window. */
struct view_screen {
    /* Opens OpenGL for the viewer's device. Of the viewer it uses only the device, the renderer and
       `diag`. If *offscreen is set, close() must follow, even after a failure. Returns
       TS_RUN_FAILED (no-egl, no-opengl) if this machine has no such OpenGL. */
    enum ts_status (*open)(struct viewer *viewer, struct offscreen **offscreen);
    /* Takes a picture the way to a window: into the pixel buffer, the texture and the framebuffer,
       and waits until it is there. by_host: through host memory even if the CUDA device could write
       the buffer. */
    enum ts_status (*show)(struct offscreen *offscreen, const struct view_picture *picture,
                           bool by_host);
    /* Copies the shown picture to host memory, 4 bytes a pixel. */
    void (*read)(struct offscreen *offscreen, void *pixels);
    /* Returns how many pictures so far went through host memory. */
    int64_t (*n_by_host)(const struct offscreen *offscreen);
    void (*close)(struct offscreen *offscreen);
};

struct view_window {
    /* Shows the viewer's pictures in a window until it is closed. Returns TS_RUN_FAILED if there is
       no display. */
    enum ts_status (*show)(struct viewer *viewer);
    const struct view_screen *screen;
    viewer_draw *draw; /* shows a picture and reads it back; its `user` is the struct offscreen */
};

extern const struct view_window *const ts_view_window; /* NULL: this program has no windows */

#endif
