/* SPDX-License-Identifier: Apache-2.0
 *
 * How slices become pictures, for preview, report and viewer alike: which plane of an image is
 * shown (core/picture_plane.h), and which value is black and which white. Gray levels and
 * interpolation are those of cuda/view/picture.h, which the devices share.
 */
#ifndef PROGRAM_SHOW_PICTURE_H
#define PROGRAM_SHOW_PICTURE_H

#include "core/diag.h"
#include "core/gray_window.h"
#include "core/picture_plane.h"
#include "cuda/view/picture.h"
#include "io/source/source.h"

/* ---- planes ---------------------------------------------------------------------------------- */

/* Copies what the plane shows of slice z, whose values have the (rows, columns) of the image. */
void ts_picture_take(struct picture_plane *plane, const struct ts_image *image, int64_t z,
                     const float *slice);
/* Reads the values of n planes, each from its volume; the caller frees them, even after a failure.
   `each` is called with every slice of all volumes, whose values are NaN if nothing was measured;
   NULL: only slices that a plane shows are read. Returns the errors of reading, and TS_RUN_FAILED
   if memory is out. */
enum ts_status ts_picture_read(struct source *source, struct picture_plane *planes, int n_planes,
                               void (*each)(void *user, const float *values, size_t n), void *user,
                               struct ts_diag *diag);

/* Returns the largest of 1, 2 and 5 times a power of ten that does not exceed the positive value,
   except by rounding: for the length of a scale bar or the distance of numbers on an axis. */
double ts_picture_round(double value);

/* ---- windows --------------------------------------------------------------------------------- */

enum gray_windows { GRAY_AUTO, GRAY_PERCENTILES, GRAY_FULL, GRAY_LEVEL };

struct gray_window_request {
    enum gray_windows kind;
    double center, width; /* GRAY_LEVEL, in the unit of the values */
};

/* Finds one window for all planes, so that a gray means the same value in each of them. `auto` is
   the window that is known, else the 1st to the 99th percentile (nearest rank), or all values if
   these two are equal. Returns TS_RUN_FAILED if memory is out. */
enum ts_status ts_gray_window_find(const struct gray_window_request *request,
                                   const struct ts_image *image, const struct picture_plane *planes,
                                   int n_planes, struct gray_window *window, struct ts_diag *diag);

#endif
