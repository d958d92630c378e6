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
    int64_t n;   /* values that change, or ROUNDING_SOME where they are not counted; one that is not
                    finite does not */
    double most; /* the largest change */
};

/* Add n values that are made into floats: doubles, or 32-bit integers of the dtype. */
void ts_rounding_of_doubles(struct ts_rounding *rounding, const double *values, size_t n);
void ts_rounding_of_integers(struct ts_rounding *rounding, const void *values, enum ts_dtype dtype,
                             size_t n);
/* Adds n whole numbers that are scaled. One counts if it or its scaled value is larger than those
 * of which every integer is a float: of smaller ones the float differs by less than half of a step,
 * and two never become one. */
void ts_rounding_of_scaled(struct ts_rounding *rounding, const double *stored, size_t n,
                           double slope, double intercept);
/* Adds one to another. */
void ts_rounding_join(struct ts_rounding *rounding, const struct ts_rounding *more);

#endif
