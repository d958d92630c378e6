/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenGL without a display, through EGL. See struct view_screen (program/show/window.h).
 */
#ifndef PROGRAM_SHOW_WINDOW_EGL_H
#define PROGRAM_SHOW_WINDOW_EGL_H

#include "program/show/window.h"

extern const struct view_screen ts_egl_screen;
/* Shows a picture on a struct offscreen of this screen and reads it back: a viewer_draw. */
enum ts_status ts_offscreen_draw(void *offscreen, const struct view_picture *picture, void *pixels);

#endif
