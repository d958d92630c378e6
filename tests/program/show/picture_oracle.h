/* SPDX-License-Identifier: Apache-2.0
 *
 * The definition of a picture, written plainly: one slice in double, one pixel at a time.
 */
#ifndef TESTS_PROGRAM_SHOW_PICTURE_ORACLE_H
#define TESTS_PROGRAM_SHOW_PICTURE_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

struct oracle_view {
    const double *slice; /* rows x columns */
    int64_t rows, columns;
    double x, y;         /* position of the picture's left upper corner on the slice, in samples */
    double across, down; /* samples a pixel */
    double center, window; /* the level, and its width */
    bool inverted, smooth;
};

enum { ORACLE_OUTSIDE = -1, ORACLE_NAN = -2 };

/* Returns the gray level of the pixel (px, py), or one of the above. */
int ts_picture_oracle(const struct oracle_view *view, int px, int py);

#endif
