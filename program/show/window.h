/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with windows adds this to the viewer. The program tomostage-view has it
 * (program/show/window_*.c); the program tomostage, which must start fast, links no OpenGL and has
 * none.
 */
#ifndef PROGRAM_SHOW_WINDOW_H
#define PROGRAM_SHOW_WINDOW_H

#include "program/show/viewer.h"

struct offscreen;

/* OpenGL without a display: a framebuffer stands in place of a window. */
struct view_screen {
    /* Opens OpenGL for the viewer's device, renderer and `diag`, which is all that it uses of the
     * viewer. Where *offscreen is set, close() must follow, also after a failure. TS_RUN_FAILED
     * (no-egl, no-opengl) where this machine has no such OpenGL. */
    enum ts_status (*open)(struct viewer *viewer, struct offscreen **offscreen);
    /* Takes a picture the way it takes to a window, into the pixel buffer, the texture and the
     * framebuffer, and waits until it is there. by_host: it goes through host memory even where the
     * CUDA device could write the buffer. */
    enum ts_status (*show)(struct offscreen *offscreen, const struct view_picture *picture,
                           bool by_host);
    /* Copies the picture that is shown to host memory, 4 bytes a pixel. */
    void (*read)(struct offscreen *offscreen, void *pixels);
    /* Returns how many of the pictures so far went through host memory. */
    int64_t (*n_by_host)(const struct offscreen *offscreen);
    void (*close)(struct offscreen *offscreen);
};

struct view_window {
    /* Shows the viewer's pictures in a window until it is closed. TS_RUN_FAILED where there is no
     * display. */
    enum ts_status (*show)(struct viewer *viewer);
    const struct view_screen *screen;
    viewer_draw *draw; /* user: the struct offscreen. Shows a picture there and reads it back. */
};

extern const struct view_window *const ts_view_window; /* NULL: this program has no windows */

#endif
