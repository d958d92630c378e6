/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads datasets of the reference files for tests.
 */
#ifndef TESTS_FILES_HDF5_DATA_H
#define TESTS_FILES_HDF5_DATA_H

#include <stddef.h>

/* All elements of a dataset as doubles (free them); fails the test where it cannot be read. `file`
 * is relative to ts_test_data(). */
double *ts_test_read_hdf5(const char *file, const char *dataset, size_t *n);
/* The same of a file at any path. */
double *ts_test_read_hdf5_at(const char *path, const char *dataset, size_t *n);

#endif
