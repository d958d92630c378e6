/* SPDX-License-Identifier: Apache-2.0
 *
 * A plane becomes two gray PNGs: one as its window shows it, for readers without script, for mails and for paper, and
 * one that holds the values, from which the script of the page draws every other window.
 */
#ifndef PIPELINE_REPORT_PICTURE_H
#define PIPELINE_REPORT_PICTURE_H

#include "pipeline/report/images.h"

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

struct report_scale ts_report_scale(const struct report_image *image);
/* Makes the pictures of a plane, at most `side` pixels wide and high. The caller frees shown and values with free().
 * TS_RUN_FAILED where memory is out. */
enum ts_status ts_report_picture(const struct report_image *image, const struct report_plane *plane, int64_t side,
                                 struct report_picture *picture, struct ts_diag *diag);

#endif
