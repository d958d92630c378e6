/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenGL without a display, through EGL. See struct view_window (pipeline/view/window.h), whose functions these are.
 */
#ifndef PIPELINE_VIEW_WINDOW_EGL_H
#define PIPELINE_VIEW_WINDOW_EGL_H

#include "pipeline/view/window.h"

enum ts_status ts_offscreen_open(struct viewer *viewer, struct offscreen **offscreen);
enum ts_status ts_offscreen_draw(void *offscreen, const struct view_picture *picture, void *pixels);
void ts_offscreen_close(struct offscreen *offscreen);

#endif
