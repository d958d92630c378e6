/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions write the parts of the page, in the order in which it has them. Each writes its own section, and
 * nothing where the result has nothing for it. Failed writes set the stream's error indicator.
 */
#ifndef PROGRAM_REPORT_PARTS_H
#define PROGRAM_REPORT_PARTS_H

#include <stdio.h>

#include "program/report/images.h"

/* Values are stored in 16 bits: value = low + step * number. Integers of up to 65,534 steps are exact. */
struct report_scale {
    double low, step;
};
enum { REPORT_INVALID = 65535 }; /* the number where nothing was measured */

struct report_picture {
    int64_t width, height;
    int64_t by[2];        /* rows and columns of values whose mean is one pixel; 1: the value itself */
    void *shown, *values; /* PNGs; the one of the values has their high bytes above their low bytes */
    size_t n_shown, n_values;
};

/* Makes the pictures of a plane, at most `side` pixels wide and high. The caller frees shown and values with free().
 * TS_RUN_FAILED where memory is out. */
enum ts_status ts_report_picture(const struct report_image *image, const struct picture_plane *plane, int64_t side,
                                 struct report_picture *picture, struct ts_diag *diag);

/* These are the pictures of all planes, image by image. */
struct report_pictures {
    struct report_picture at[REPORT_IMAGES][REPORT_PLANES];
};

/* Shows the images with their planes, the sliders and the histograms. TS_RUN_FAILED where memory is out. */
enum ts_status ts_report_slices(const struct report_facts *facts, const struct report_images *images,
                                const struct report_pictures *pictures, FILE *stream, struct ts_diag *diag);
/* Shows the residuals of iterative stages and the tables of all stages. TS_BAD_INPUT where one cannot be read. */
enum ts_status ts_report_tables(const struct report_facts *facts, FILE *stream, struct ts_diag *diag);
/* Shows time, bytes and memory of the run, from the profile. TS_RUN_FAILED where memory is out. */
enum ts_status ts_report_timing(const struct report_facts *facts, FILE *stream, struct ts_diag *diag);

#endif
