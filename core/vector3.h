/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions compute products of vectors in space, such as directions and positions in mm.
 */
#ifndef CORE_VECTOR3_H
#define CORE_VECTOR3_H

#include <math.h>

static inline double ts_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double ts_length(const double a[3])
{
    return sqrt(ts_dot(a, a));
}

/* Writes the vector product a x b; `product` is neither a nor b. */
static inline void ts_cross(const double a[3], const double b[3], double product[3])
{
    for (int i = 0; i < 3; i++)
        product[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

#endif
