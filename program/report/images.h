/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads what a report shows of an image: the central plane along each axis, or of a sweep the
 * central slice of each value, and the counts of all values.
 */
#ifndef PROGRAM_REPORT_IMAGES_H
#define PROGRAM_REPORT_IMAGES_H

#include "core/image.h"
#include "io/source/source.h"
#include "program/report/facts.h"
#include "program/report/value_bins.h"
#include "program/show/picture.h"

enum { REPORT_AXES = 3, REPORT_PLANES = 64, REPORT_IMAGES = 16 };

struct report_image {
    const char *name;                 /* of the image in the file */
    const struct report_stage *stage; /* whose image it is; NULL: the input's */
    struct source *source;            /* describes the image */
    struct picture_plane
        planes[REPORT_PLANES]; /* of the middle volume of a series; of a sweep one of each value */
    int n_planes; /* one where the image has so few slices that planes across them would be lines */
    struct value_bins bins;
    struct gray_window
        window; /* that is shown at first, and the range of the finite values in the planes */
};

struct report_images {
    struct report_image *at; /* in the order of the chain */
    size_t n, left_out;      /* beyond the first REPORT_IMAGES */
};

/* Reads every image of the result once, slab by slab. The caller closes `images` in every case. */
enum ts_status ts_report_images(const struct report_facts *facts, struct report_images *images,
                                struct ts_diag *diag);
void ts_report_images_close(struct report_images *images);

#endif
