/* SPDX-License-Identifier: Apache-2.0
 *
 * This measures how far the values of two images of one shape are apart, slab by slab, so that neither need fit memory.
 */
#ifndef PROGRAM_RECORD_DIFFERENCE_H
#define PROGRAM_RECORD_DIFFERENCE_H

#include "io/source/source.h"
#include "stages/histogram/compare.h"

struct difference_request {
    double data_range; /* for PSNR and SSIM; 0: that of the finite values of the first image */
    int32_t window;    /* enum compare_window, of SSIM */
};

/* Two values are equal where they are the same number, or both NaN. NaN against a number, and an infinity against
 * anything else, are infinitely far apart. */
struct difference {
    int64_t n, n_differ, n_nan[2];
    int64_t n_invalid[2];    /* pixels that each side marks as invalid */
    int64_t n_invalid_apart; /* of two masked images: pixels that one alone marks; their values are compared */
    int64_t n_invalid_both;  /* and that both mark: they hold no values to be compared, and no measure takes them */
    int64_t n_hidden;        /* of those, pixels that hold different values all the same */
    double largest;          /* largest |a - b|; INFINITY: see above */
    int64_t at[4];           /* where that is, the first such place: volume, z, y, x */
    double values[2];        /* of both sides there */
    double magnitude;        /* largest finite magnitude of a value of either side */
    double data_range;       /* that the measures took */
    double measures[COMPARE_MEASURES]; /* of b against a, by stages/histogram/compare.h; finite pixels alone count */
};

/* Compares b with a, the reference. Both have the same shape and number of volumes, and nobody has started them.
 * The same inputs give the same numbers whatever the number of threads. Returns the errors of reading, and
 * TS_RUN_FAILED where memory is out. */
enum ts_status ts_difference(struct source *a, struct source *b, const struct difference_request *request,
                             struct difference *difference, struct ts_diag *diag);

#endif
