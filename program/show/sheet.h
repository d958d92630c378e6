/* SPDX-License-Identifier: Apache-2.0
 *
 * The sheet of a preview: planes side by side with scale bars, the patient's sides and captions.
 */
#ifndef PROGRAM_SHOW_SHEET_H
#define PROGRAM_SHOW_SHEET_H

#include "core/arena.h"
#include "program/show/overlay.h"
#include "program/show/picture.h"

enum { PREVIEW_IMAGES = 16 };

struct preview_image {
    const char *name;
    struct ts_image image; /* its description */
    bool is_picture;       /* a dataset of one or two axes */
    int64_t n_volumes;
    struct picture_plane *planes;
    int n_planes;
    struct gray_window window;
    const char *over_name; /* of what lies over it; NULL: nothing does */
    struct overlay over;
    struct picture_plane *over_planes; /* what lies over each of the planes; NULL: nothing does */
};

struct preview_images {
    struct arena *arena;
    struct preview_image at[PREVIEW_IMAGES];
    bool several; /* images of a result, of which not all need have something over them */
    struct ts_diag *not_over; /* why the first of them has nothing; NULL: none was tried */
    size_t n, left_out;       /* left_out: number of images beyond the first PREVIEW_IMAGES */
};

/* Writes "512 x 512 of 0.9766 x 0.9766 mm". */
void ts_sheet_size_text(const struct picture_plane *plane, char *text, size_t size);
/* Writes "window -160 to 240 HU (soft tissue)", or that there is no value to show. */
void ts_sheet_window_text(const struct preview_image *image, char *text, size_t size);
struct sheet_style {
    bool plain;  /* one pixel for each value, no captions */
    bool blocks; /* enlarged samples are rectangles, without interpolation */
    const struct overlay_style *over;
};

/* Draws all planes of the images, whose windows are known, and writes the picture: gray, or colored
   if anything lies over an image. Returns TS_RUN_FAILED if memory is out or the file cannot be
   written. */
enum ts_status ts_sheet_write(const struct preview_images *images, const struct sheet_style *style,
                              const char *output, struct ts_diag *diag);

#endif
