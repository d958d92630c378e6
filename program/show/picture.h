/* SPDX-License-Identifier: Apache-2.0
 *
 * This is how slices become pictures for people, whoever shows them: which plane of an image is
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

/* Planes are numbered by the patient's axis that they stand across. PLANE_STORED is the plane of
 * the slices. */
enum picture_plane_name { PLANE_SAGITTAL, PLANE_CORONAL, PLANE_AXIAL, PLANE_ALL, PLANE_STORED };

struct picture_plane {
    const char *name; /* "axial", "sinogram"; "" for a dataset without axes */
    int across;       /* axis of the image that the plane stands across, at `index` */
    int down, right;  /* axes of the image along the rows and the columns */
    bool up, left;    /* rows, and columns, begin at the last sample */
    int64_t index, rows, columns;
    int64_t volume; /* of several volumes: the one it lies in */
    const char
        *volume_name;     /* "radius 2 pixel" of a sweep; NULL: the volume has its number alone */
    double width, height; /* of a sample, in the unit that both sides share; both 1 without */
    const char *unit;     /* of lengths along both sides; NULL: they have none in common */
    char sides[4]; /* the patient's side at the left, right, top and bottom: "RLAP"; 0: not known */
    float *values; /* rows * columns; NaN where nothing was measured */
};

/* Fills in a plane but for its index and values, turned as radiologists look at it. `name` is any
 * but PLANE_ALL; without `lengths` the axes' units are no lengths. */
void ts_picture_plane(const struct ts_image *image, enum picture_plane_name name, bool lengths,
                      struct picture_plane *plane);
/* Does the same for the plane across an axis of the image, turned as the image is stored. With
 * `last_on_top` the slices in planes across them begin with the last, which in DICOM is that at the
 * head. */
void ts_picture_plane_stored(const struct ts_image *image, int across, bool last_on_top,
                             struct picture_plane *plane);
/* Copies what the plane shows of slice z, whose values are those of (rows, columns) of the
 * image. */
void ts_picture_take(struct picture_plane *plane, const struct ts_image *image, int64_t z,
                     const float *slice);
/* Reads the values of n planes, each of its volume; the caller frees them, whether it fails or not.
 * `each` gets every slice of all volumes, n values that are NaN where nothing was measured; NULL:
 * only slices that a plane shows are read. Returns the errors of reading, and TS_RUN_FAILED where
 * memory is out. */
enum ts_status ts_picture_read(struct source *source, struct picture_plane *planes, int n_planes,
                               void (*each)(void *user, const float *values, size_t n), void *user,
                               struct ts_diag *diag);

/* Returns the distance of neighbors, or their mean distance on an uneven axis. */
double ts_picture_spacing(const struct ts_axis *axis);
/* Returns the unit of an axis, "pixel" where it has none. */
const char *ts_picture_unit(const struct ts_axis *axis);
/* Returns " from the first" where positions count from the first sample of the axis, so that nobody
 * takes them for positions in the patient; else "". Angles have a zero of their own. */
const char *ts_picture_from(const struct ts_axis *axis);
/* Returns the largest of 1, 2 and 5 times a power of ten that is not above the positive value, but
 * for rounding: the length of a scale bar, the distance of numbers on an axis. */
double ts_picture_round(double value);

/* ---- windows --------------------------------------------------------------------------------- */

enum gray_windows { GRAY_AUTO, GRAY_PERCENTILES, GRAY_FULL, GRAY_LEVEL };

struct gray_window_request {
    enum gray_windows kind;
    double center, width; /* GRAY_LEVEL, in the unit of the values */
};

/* A window says which value is drawn black and which white. */
struct gray_window {
    double low, high;   /* black and white */
    const char *name;   /* "soft tissue" */
    double least, most; /* of all finite values; both 0 where there is none */
    bool none;          /* there is none: nothing but invalid pixels, NaN or infinities */
};

/* Windows in HU as radiologists use them. */
enum { GRAY_PRESETS = 4 };
extern const struct gray_preset {
    const char *name;
    double center, width;
} ts_gray_presets[GRAY_PRESETS];

/* Finds one window for all planes, so that the same gray is the same value in each of them. `auto`
 * is the window of soft tissue (40/400) for HU that reach into it, and else the 1st to the 99th
 * percentile (nearest rank), or all values where these two are equal. Returns TS_RUN_FAILED where
 * memory is out. */
enum ts_status ts_gray_window_find(const struct gray_window_request *request,
                                   enum ts_quantity quantity, const struct picture_plane *planes,
                                   int n_planes, struct gray_window *window, struct ts_diag *diag);
/* Returns the plane's values in this window, as cuda/view/picture.h draws them. */
struct view_pane ts_picture_pane(const struct picture_plane *plane,
                                 const struct gray_window *window);

#endif
