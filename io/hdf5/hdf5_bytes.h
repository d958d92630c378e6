/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the values of a small dataset out of a result as they are, such as a table of a stage.
 */
#ifndef IO_HDF5_HDF5_BYTES_H
#define IO_HDF5_HDF5_BYTES_H

#include "core/image.h"
#include "io/hdf5/hdf5_child.h"

enum { HDF5_BYTES_MOST = 32 << 20 };

/* Reads all values of a dataset of numbers into image->data, which has room for them. Returns
 * TS_BAD_INPUT where the file cannot be read, or where the dataset is not there or has another type
 * or number of values than the image, or more than HDF5_BYTES_MOST bytes. */
enum ts_status ts_hdf5_read_values(const char *path, const char *dataset,
                                   const struct ts_image *image, struct ts_diag *diag);

#endif
