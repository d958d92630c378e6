/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the NumPy files of TomoPy's own tests.
 */
#ifndef TESTS_NPY_H
#define TESTS_NPY_H

#include <stddef.h>

/* The values of reference/tomopy_tests/NAME in the public test images, whose type and shape are known; fails the test
 * where the file does not hold `bytes` of them. */
void ts_test_npy(const char *name, void *values, size_t bytes);

#endif
