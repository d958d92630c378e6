/* SPDX-License-Identifier: Apache-2.0
 *
 * This counts values that a 32-bit float does not hold exactly, and how far the farthest of them is
 * from its float.
 */
#ifndef CORE_ROUNDING_H
#define CORE_ROUNDING_H

#include "include/tomostage.h"

enum { ROUNDING_SOME = -1 };

struct ts_rounding {
    int64_t n;   /* number of values that change, or ROUNDING_SOME if they are not counted; values
                  * that are not finite are left out */
    double most; /* the largest change */
};

/* Add n values that are converted to floats: doubles, or 32-bit integers of this dtype. */
void ts_rounding_of_doubles(struct ts_rounding *rounding, const double *values, size_t n);
void ts_rounding_of_integers(struct ts_rounding *rounding, const void *values, enum ts_dtype dtype,
                             size_t n);
/* Adds n whole numbers that are scaled. A number counts if it or its scaled value is larger than
 * the range in which every integer is a float. Below it the float differs by less than half a step,
 * so different numbers stay different. */
void ts_rounding_of_scaled(struct ts_rounding *rounding, const double *stored, size_t n,
                           double slope, double intercept);
/* Adds the counts of `more` to `rounding`. */
void ts_rounding_join(struct ts_rounding *rounding, const struct ts_rounding *more);

#endif
