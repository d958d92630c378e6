/* SPDX-License-Identifier: Apache-2.0
 *
 * A preview is a gray PNG of the planes that a request names, for people to look at: those of a
 * result in the order of its chain. Planes are turned as radiologists look at them: axial ones from
 * the feet with the patient's left on the right, coronal ones from the front, sagittal ones from
 * the left with the front on the left. An image without a place in a patient is taken as (z, y, x)
 * of one.
 */
#ifndef PROGRAM_SHOW_PREVIEW_H
#define PROGRAM_SHOW_PREVIEW_H

#include <stdio.h>

#include "core/diag.h"
#include "program/show/picture.h"

enum { PREVIEW_MONTAGE = 100 };

struct preview_request {
    const char *text; /* a path, or with one_line an input as a chain in one line has it */
    bool one_line;
    const char *dataset; /* of an HDF5 file: the path of one dataset, or the name of an image of a
                            result; NULL: all */
    enum picture_plane_name plane;
    int64_t slice; /* along the axis across the plane, from 0; negative: the middle one */
    int montage;   /* so many planes, evenly spread, of the middle volume; 0: one of each volume,
                    * PREVIEW_MONTAGE at most */
};

struct preview_style {
    struct gray_window_request window;
    bool plain;  /* a pixel for each value, without captions, bars and enlargement */
    bool blocks; /* enlarged samples are rectangles */
};

/* Writes the picture to `output`, which it replaces, and a line to `report` for each plane: its
 * name, size and window. The same file gives the same bytes. The errors are those of the formats,
 * TS_BAD_INPUT (preview-slice) for a slice that there is not, and TS_RUN_FAILED where the picture
 * cannot be written. */
enum ts_status ts_preview_write(const struct preview_request *request,
                                const struct preview_style *style, const char *output, FILE *report,
                                struct ts_diag *diag);

#endif
