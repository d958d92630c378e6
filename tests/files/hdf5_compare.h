/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares two output files by what they hold.
 */
#ifndef TESTS_FILES_HDF5_COMPARE_H
#define TESTS_FILES_HDF5_COMPARE_H

#include <stddef.h>

/* Every dataset of numbers of the one file is in the other: integers equal, floats within
 * `relative` of the largest magnitude. Returns how many elements were compared; fails the test
 * where they differ. */
size_t ts_test_compare_hdf5(const char *file, const char *other, double relative);

#endif
