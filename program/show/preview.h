/* SPDX-License-Identifier: Apache-2.0
 *
 * A preview is a gray PNG of the planes that a request names (preview_image.h), for people to look at.
 */
#ifndef PROGRAM_SHOW_PREVIEW_H
#define PROGRAM_SHOW_PREVIEW_H

#include <stdio.h>

#include "program/show/picture.h"
#include "program/show/preview_image.h"

struct preview_style {
    struct gray_window_request window;
    bool plain;  /* a pixel for each value, without captions, bars and enlargement */
    bool blocks; /* enlarged samples are rectangles */
};

/* Writes the picture to `output`, which it replaces, and a line to `report` for each plane: its name, size and window.
 * The same file gives the same bytes. Returns the errors of ts_preview_images, and TS_RUN_FAILED where the picture
 * cannot be written. */
enum ts_status ts_preview_write(const struct preview_request *request, const struct preview_style *style,
                                const char *output, FILE *report, struct ts_diag *diag);

#endif
