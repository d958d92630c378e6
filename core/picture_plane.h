/* SPDX-License-Identifier: Apache-2.0
 *
 * The planes of an image as people look at them: which plane is shown and which way up, how large
 * its samples are, and which sides of the patient are at its edges. Previews, reports, the viewer
 * and exported pictures share this rule.
 */
#ifndef CORE_PICTURE_PLANE_H
#define CORE_PICTURE_PLANE_H

#include "core/image.h"

/* A plane has the number of the patient's axis that is perpendicular to it. PLANE_STORED is the
   plane of the stored slices. */
enum picture_plane_name { PLANE_SAGITTAL, PLANE_CORONAL, PLANE_AXIAL, PLANE_ALL, PLANE_STORED };
enum { PICTURE_PLANES = 3 };

struct picture_plane {
    const char *name; /* "axial", "sinogram"; "" for a dataset without axes */
    int across;       /* axis of the image perpendicular to the plane, which is at its `index` */
    /* axes of the image along the columns (down) and the rows (right) of the plane */
    int down, right;
    bool up, left; /* the last sample is at the top; is at the left */
    int64_t index, rows, columns;
    int64_t volume;          /* the volume that it shows, of several */
    const char *volume_name; /* for example "radius 2 pixel" in a sweep; NULL: the volume has only a
                                number */
    bool lengths;            /* the units of the axes are lengths or angles that somebody stated */
    /* of a sample, in a unit that both sides share; both 1 if they share none */
    double width, height;
    const char *unit; /* of the lengths of both sides; NULL: they share none */
    /* the patient's side at the left, right, top and bottom, such as "RLAP"; 0: not known */
    char sides[4];
    float *values; /* rows * columns values; NaN if nothing was measured */
};

/* Fills in a plane, except its index and values, turned as radiologists look at it: axial planes
   from the feet with the patient's left on the right, coronal ones from the front, sagittal ones
   from the left with the front on the left. An image without a place in a patient is treated as if
   its (z, y, x) were those of one. `name` is any except PLANE_ALL. Without `lengths`, the units of
   the axes are not taken as lengths. */
void ts_picture_plane(const struct ts_image *image, enum picture_plane_name name, bool lengths,
                      struct picture_plane *plane);
/* Fills in all planes that are worth a look, and returns how many: axial, coronal and sagittal, or
   of a scan sinogram and projection. Planes with a side of less than 3 samples would be lines and
   are left out, except that of the stored slices. */
int ts_picture_planes(const struct ts_image *image, bool lengths,
                      struct picture_plane planes[PICTURE_PLANES]);
/* Moves the plane to an index of its axis. The detector's ends of a projection are sides of the
   patient only if the view is along or across them, so letters depend on the index. */
void ts_picture_move(const struct ts_image *image, int64_t index, struct picture_plane *plane);
/* Returns the position of an element in a slice (z = 0) or in the whole volume for a sample of the
   plane, counted from its upper left corner. */
int64_t ts_picture_offset(const struct ts_image *image, const struct picture_plane *plane,
                          int64_t row, int64_t column);
/* Writes which slice a plane shows, "axial slice 29 (0 to 58) at 94.83 mm from the first", and
   returns `text`. */
char *ts_picture_slice_text(const struct ts_image *image, const struct picture_plane *plane,
                            char *text, size_t size);

/* Returns the distance of neighbors; on an uneven axis, their mean distance. */
double ts_picture_spacing(const struct ts_axis *axis);
/* Returns the unit of an axis; "pixel" if it has none. */
const char *ts_picture_unit(const struct ts_axis *axis);
/* Returns " from the first" if positions are relative to the first sample of the axis, so that
   nobody takes them for positions in the patient; else "". Angles have a zero of their own. */
const char *ts_picture_from(const struct ts_image *image, int d);

#endif
