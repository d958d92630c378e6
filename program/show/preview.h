/* SPDX-License-Identifier: Apache-2.0
 *
 * A preview is a gray PNG of the planes that a request names, for people: those of a result in the
 * order of its chain, turned as core/picture_plane.h says.
 */
#ifndef PROGRAM_SHOW_PREVIEW_H
#define PROGRAM_SHOW_PREVIEW_H

#include <stdio.h>

#include "core/diag.h"
#include "program/show/overlay.h"
#include "program/show/picture.h"

enum { PREVIEW_MONTAGE = 100 };

struct preview_request {
    const char *text; /* a path, or, with one_line, an input of a chain in one line */
    bool one_line;
    /* in an HDF5 file: the path of one dataset, or the name of an image of a result; NULL: all */
    const char *dataset;
    enum picture_plane_name plane;
    /* index, from 0, along the axis perpendicular to the plane; negative: the middle */
    int64_t slice;
    /* so many planes, evenly spaced, of the middle volume; 0: one of each volume, at most
       PREVIEW_MONTAGE */
    int montage;
    struct overlay_style over;
};

struct preview_style {
    struct gray_window_request window;
    bool plain;  /* one pixel for each value, without captions, bars and enlargement */
    bool blocks; /* enlarged samples are rectangles */
};

/* Writes the picture to `output`, which it replaces, and a line for each plane to `report`: its
   name, size and window. Equal files give equal bytes. The errors are those of the formats,
   TS_BAD_INPUT (preview-slice) if there is no such slice, and TS_RUN_FAILED if the picture cannot
   be written. */
enum ts_status ts_preview_write(const struct preview_request *request,
                                const struct preview_style *style, const char *output, FILE *report,
                                struct ts_diag *diag);

#endif
