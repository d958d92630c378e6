/* SPDX-License-Identifier: Apache-2.0
 *
 * The forward and the back projector of one geometry as a pair: <A x, y> = <x, A' y> on random
 * numbers.
 */
#ifndef TESTS_SUPPORT_ADJOINT_CHECK_H
#define TESTS_SUPPORT_ADJOINT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct adjoint_case {
    const char *radon, *backproject; /* assignments; those of the grid are added to the second */
    int64_t nz, ny, nx;
    double dy, dx;
    double least; /* 0: numbers in [0, 1), told by |<Ax, y>|; -1: in [-1, 1), told by |Ax| |y|,
                     which is larger */
    double bound; /* of |<Ax, y> - <x, A'y>| */
    /* Numbers that method tensor takes as they are, so that nothing but the two operators differs:
     * x of 11 bits; y of 11 bits once it has been multiplied by its view's length of ray between
     * two lines, as part of the longest. */
    bool unrounded;
};

/* Compares both products on the device that the tests run on, and fails with the case and both
 * products. */
void ts_test_adjoint(const struct adjoint_case *which);

#endif
