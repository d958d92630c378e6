/* SPDX-License-Identifier: Apache-2.0
 *
 * Axes and scale bars are labeled with numbers that are easy to read.
 */
#ifndef PROGRAM_SHOW_ROUND_NUMBER_H
#define PROGRAM_SHOW_ROUND_NUMBER_H

#include <math.h>

/* Returns the largest of 1, 2 and 5 times a power of ten that is not above the positive value, but for rounding. */
static inline double ts_round_number(double value)
{
    const double power = pow(10, floor(log10(value) + 1e-9)), mantissa = value / power * (1 + 1e-9);
    return power * (mantissa >= 5 ? 5 : mantissa >= 2 ? 2 : 1);
}

#endif
