/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of one dataset as a digest. The file is not trusted.
 */
#ifndef IO_HDF5_CONTENT_H
#define IO_HDF5_CONTENT_H

#include "io/digest.h"
#include "io/hdf5_error.h"

/* SHA-256 of all values as they are stored, in row-major order. Between enter and leave. False with what is wrong in
 * `problem`, which is "" where a call of libhdf5 failed: see its error stack. */
bool ts_hdf5_dataset_digest(hid_t dataset, int threads, char text[DIGEST_TEXT_BYTES], char *problem, size_t size);

#endif
