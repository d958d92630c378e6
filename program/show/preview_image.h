/* SPDX-License-Identifier: Apache-2.0
 *
 * This opens the images that a preview shows, and reads the planes it shows of them. Planes are turned as radiologists
 * look at them: axial ones from the feet with the patient's left on the right, coronal ones from the front, sagittal
 * ones from the left with the front on the left. An image without a place in a patient is taken as (z, y, x) of one.
 */
#ifndef PROGRAM_SHOW_PREVIEW_IMAGE_H
#define PROGRAM_SHOW_PREVIEW_IMAGE_H

#include "core/arena.h"
#include "core/diag.h"
#include "core/image.h"
#include "program/show/picture.h"

enum { PREVIEW_IMAGES = 16, PREVIEW_MONTAGE = 100 };

struct preview_image {
    const char *name;
    struct ts_image image; /* its description */
    bool is_picture;       /* a dataset of two axes or one */
    int64_t n_volumes;
    struct picture_plane *planes;
    int n_planes;
    struct gray_window window; /* set by whoever draws the image */
};

struct preview_request {
    const char *text; /* a path, or with one_line an input as a chain in one line has it */
    bool one_line;
    const char *dataset; /* of an HDF5 file: the path of one dataset, or the name of an image of a result; NULL: all */
    enum picture_plane_name plane;
    int64_t slice; /* along the axis across the plane, from 0; negative: the middle one */
    int montage; /* so many planes, evenly spread, of the middle volume; 0: one of each volume, PREVIEW_MONTAGE at most
                  */
};

struct preview_images {
    struct arena *arena;
    struct preview_image at[PREVIEW_IMAGES];
    size_t n, left_out; /* left_out: beyond the first PREVIEW_IMAGES */
};

/* Reads the planes of all images that the request names: those of a result in the order of its chain. The caller closes
 * `images` in every case. The errors are those of the formats, and TS_BAD_INPUT (preview-slice) for a slice that there
 * is not. */
enum ts_status ts_preview_images(const struct preview_request *request, struct preview_images *images,
                                 struct ts_diag *diag);
void ts_preview_images_close(struct preview_images *images);

#endif
