/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of NumPy: those of TomoPy's own tests, and files that tests write.
 */
#ifndef TESTS_FILES_NPY_H
#define TESTS_FILES_NPY_H

#include <stddef.h>

/* The values of reference/tomopy_tests/NAME in the public test images, whose type and shape are
 * known; fails the test where the file does not hold `bytes` of them. */
void ts_test_npy(const char *name, void *values, size_t bytes);

/* Writes a .npy file of version 1 with this dictionary, such as "{'descr': '<i2', 'fortran_order':
 * False, 'shape': (2, 3, 4), }", and these values. */
void ts_test_npy_write(const char *path, const char *dictionary, const void *values, size_t bytes);

#endif
