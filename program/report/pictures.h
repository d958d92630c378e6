/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures of a report: those of the planes that are shown at first, and, if they are wanted,
 * of the other slices, through which the page scrolls. They are as large as the bytes that the page
 * may have allow.
 */
#ifndef PROGRAM_REPORT_PICTURES_H
#define PROGRAM_REPORT_PICTURES_H

#include "program/report/facts.h"
#include "program/report/value_bins.h"
#include "program/show/picture.h"

enum { REPORT_PLANES = 64, REPORT_IMAGES = 16 };
enum { PICTURE_INVALID = 65535 }; /* number of a pixel without a measurement */

/* The values of a plane have 16 bits. Browsers reduce a PNG of 16 bits to 8, so the two bytes are
   two pictures, one above the other in one PNG: high bytes hardly change from pixel to pixel and
   deflate well. */
struct plane_png {
    int64_t width, height;
    int64_t by[2]; /* rows and columns of values whose mean is one pixel; 1: the value itself */
    void *bytes;
    size_t n;
};

struct plane_slice {
    int64_t index;
    struct plane_png png;
};

/* The slices of a plane of stored slices. They are as wide and high as the plane's own picture. */
struct plane_stack {
    struct plane_slice *at;
    int64_t n;
    int coarse; /* their numbers are those of the plane's picture, divided by this and rounded */
};

struct report_image {
    const char *name;                 /* of the image in the file */
    const struct report_stage *stage; /* the stage that made it; NULL: it is an input's */
    struct source *source;            /* describes the image */
    struct picture_plane planes[REPORT_PLANES];
    struct plane_png pngs[REPORT_PLANES];
    struct plane_stack stacks[REPORT_PLANES];
    int n_planes;
    struct value_bins bins;
    struct gray_window window; /* the window that is shown first, and the range of the numbers */
    double
        step; /* value = window.least + step * number; integers of up to 65,534 steps are exact */
};

struct report_images {
    struct report_image *at; /* in the order of the chain */
    size_t n, left_out;      /* left_out: number of images beyond the first REPORT_IMAGES */
};

/* Makes the pictures of all planes, whose values are read, and of so many slices of each image
   (INT64_MAX: of all; 0: none), which it reads. Those of a page without slices take at most 2.5 MB,
   with which it stays below 5 MB; those of one with slices 13 MB and 20 MB. */
enum ts_status ts_report_pictures(struct report_images *images, int64_t slices,
                                  struct ts_diag *diag);
void ts_report_stacks_clear(struct report_image *image);

#endif
