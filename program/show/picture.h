/* SPDX-License-Identifier: Apache-2.0
 *
 * How slices become pictures, for preview, report and viewer alike: which plane of an image is
 * shown and which way up, how large its samples are, which sides of the patient are at its edges,
 * and which value is black and which white. Gray levels and interpolation are those of
 * cuda/view/picture.h, which the devices share.
 */
#ifndef PROGRAM_SHOW_PICTURE_H
#define PROGRAM_SHOW_PICTURE_H

#include "core/diag.h"
#include "core/image.h"
#include "cuda/view/picture.h"
#include "io/source/source.h"

/* ---- planes ---------------------------------------------------------------------------------- */

/* A plane has the number of the patient's axis that is perpendicular to it. PLANE_STORED is the
   plane of the stored slices. */
enum picture_plane_name { PLANE_SAGITTAL, PLANE_CORONAL, PLANE_AXIAL, PLANE_ALL, PLANE_STORED };

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
    /* of a sample, in a unit that both sides share; both 1 if they share none */
    double width, height;
    const char *unit; /* of the lengths of both sides; NULL: they share none */
    /* the patient's side at the left, right, top and bottom, such as "RLAP"; 0: not known */
    char sides[4];
    float *values; /* rows * columns values; NaN if nothing was measured */
};

/* Fills in a plane, except its index and values, turned as radiologists look at it. `name` is any
   except PLANE_ALL. Without `lengths`, the units of the axes are not taken as lengths. */
void ts_picture_plane(const struct ts_image *image, enum picture_plane_name name, bool lengths,
                      struct picture_plane *plane);
/* Does the same for the plane perpendicular to an axis of the image, turned as the image is stored.
   With `last_on_top`, planes perpendicular to the slices begin with the last slice, which in DICOM
   is the one nearest the head. */
void ts_picture_plane_stored(const struct ts_image *image, int across, bool last_on_top,
                             struct picture_plane *plane);
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

/* Returns the distance of neighbors; on an uneven axis, their mean distance. */
double ts_picture_spacing(const struct ts_axis *axis);
/* Returns the unit of an axis; "pixel" if it has none. */
const char *ts_picture_unit(const struct ts_axis *axis);
/* Returns " from the first" if positions are relative to the first sample of the axis, so that
   nobody takes them for positions in the patient; else "". Angles have a zero of their own. */
const char *ts_picture_from(const struct ts_axis *axis);
/* Returns the largest of 1, 2 and 5 times a power of ten that does not exceed the positive value,
   except by rounding: for the length of a scale bar or the distance of numbers on an axis. */
double ts_picture_round(double value);

/* ---- windows --------------------------------------------------------------------------------- */

enum gray_windows { GRAY_AUTO, GRAY_PERCENTILES, GRAY_FULL, GRAY_LEVEL };

struct gray_window_request {
    enum gray_windows kind;
    double center, width; /* GRAY_LEVEL, in the unit of the values */
};

/* A window says which value is black and which is white. */
struct gray_window {
    double low, high;   /* black and white */
    const char *name;   /* "soft tissue" */
    double least, most; /* range of all finite values; both 0 if there are none */
    bool none;          /* there are no finite values, only invalid pixels, NaN or infinities */
};

/* Windows in HU as radiologists use them. */
enum { GRAY_PRESETS = 4 };
extern const struct gray_preset {
    const char *name;
    double center, width;
} ts_gray_presets[GRAY_PRESETS];

/* Finds one window for all planes, so that a gray means the same value in each of them. `auto` is
   the window of soft tissue (40/400) if values in HU reach into it, else the 1st to the 99th
   percentile (nearest rank), or all values if these two are equal. Returns TS_RUN_FAILED if memory
   is out. */
enum ts_status ts_gray_window_find(const struct gray_window_request *request,
                                   enum ts_quantity quantity, const struct picture_plane *planes,
                                   int n_planes, struct gray_window *window, struct ts_diag *diag);

#endif
