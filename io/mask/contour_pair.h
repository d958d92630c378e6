/* SPDX-License-Identifier: Apache-2.0
 *
 * Two contours that enclose nearly the same are one that was stored twice: by the even-odd rule
 * they would be nothing. Two that cross are parts drawn over each other, which would be a hole
 * where both are.
 */
#ifndef IO_MASK_CONTOUR_PAIR_H
#define IO_MASK_CONTOUR_PAIR_H

#include <stddef.h>

enum contour_relation {
    CONTOURS_APART,  /* neither of the others: beside each other, or one inside the other */
    CONTOURS_REPEAT, /* the second is the first once more */
    CONTOURS_CROSS   /* by more than a touch */
};

struct contour_outline {
    const double *corners; /* n times x and y, in pixels */
    size_t n;
    double low[2], high[2]; /* the box of them */
};

struct contour_outline ts_contour_outline(const double *corners, size_t n);
/* Compares two contours of one plane. Takes what it cost off *left, and says CONTOURS_APART once
 * that is below 0. */
enum contour_relation ts_contour_relate(const struct contour_outline *one,
                                        const struct contour_outline *other, double *left);

#endif
