/* SPDX-License-Identifier: Apache-2.0
 *
 * This decides which way the planes of an image are turned, and takes their samples out of slices.
 */
#ifndef PROGRAM_SHOW_PREVIEW_PLANE_H
#define PROGRAM_SHOW_PREVIEW_PLANE_H

#include "program/show/preview_image.h"

/* Fills in a plane but for its index and values. `name` is any but PREVIEW_ALL; without `lengths` the axes' units are
 * no lengths. */
void ts_preview_plane(const struct ts_image *image, enum preview_plane_name name, bool lengths,
                      struct preview_plane *plane);
/* Copies what the plane shows of slice z, whose values are those of (rows, columns) of the image. */
void ts_preview_plane_take(struct preview_plane *plane, const struct ts_image *image, int64_t z, const float *slice);

#endif
