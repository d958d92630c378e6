/* SPDX-License-Identifier: Apache-2.0
 *
 * The trailer is the last bytes of a result: 16 bytes that name it, its version (64 bits,
 * little-endian, as all numbers here), the number of bytes before it, and their digest
 * (io/file/digest_tree.h). HDF5 ends before it and does not look at it; a library that opens the
 * file for writing cuts it off.
 */
#ifndef IO_HDF5_HDF5_TRAILER_H
#define IO_HDF5_HDF5_TRAILER_H

#include <stdbool.h>
#include <stdint.h>

#include "io/file/digest_tree.h"

enum { TRAILER_BYTES = 64 };

/* Appends the trailer to a file of so many bytes. Returns false with errno where it cannot. */
bool ts_hdf5_trailer_write(int fd, uint64_t bytes, const unsigned char sum[DIGEST_SUM_BYTES]);
/* Returns true where a file of so many bytes ends with a trailer that fits its length, and writes
 * its digest to `sum`. */
bool ts_hdf5_trailer_read(int fd, uint64_t file_bytes, unsigned char sum[DIGEST_SUM_BYTES]);

#endif
