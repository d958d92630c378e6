/* SPDX-License-Identifier: Apache-2.0
 *
 * This virtual file driver lets libhdf5 read and write an open descriptor with pread and pwrite.
 * The library gets no file name, so it can open nothing: neither the wrong file nor, inside a
 * sandbox, any file at all. A system call that fails is kept with its errno, and ts_hdf5_failure
 * reports it.
 */
#ifndef IO_HDF5_HDF5_DRIVER_H
#define IO_HDF5_HDF5_DRIVER_H

#include "io/hdf5/hdf5_error.h"

/* Returns true if the file claims to be HDF5: it has the signature at its start or, after a user
   block, at 512, 1024, 2048, ... bytes. If not, errno is 0, or the reason why it cannot be read.
   Makes no library call. */
bool ts_hdf5_has_signature(int fd);

/* The other functions must be called between enter and leave. The descriptor is borrowed: it must
   stay open until the file is closed, and its position does not matter. Closing the file closes all
   objects in it. */

/* Opens for reading, with plugins off. Returns -1 with the reason in `failure`. */
hid_t ts_hdf5_open_descriptor(int fd, struct hdf5_failure *failure);
/* Empties the file and creates an HDF5 file in it, with V110 bounds, so that every piece of
   metadata has a checksum. After a failed write, every later one fails with the same errno. Returns
   -1 with the reason in `failure`. */
hid_t ts_hdf5_create_descriptor(int fd, hid_t creation, struct hdf5_failure *failure);
/* Finds the place of an encoded chunk in a file that ts_hdf5_create_descriptor made: the library
   enters the chunk, whose first element is at `start`, into its index and writes it, but the driver
   only notes the place. The caller must then write the bytes there. Returns false if the library
   fails. */
bool ts_hdf5_driver_place(hid_t file, hid_t dataset, const hsize_t *start, size_t bytes,
                          uint64_t *offset);
/* Makes every later write succeed without effect, for a file that will be thrown away: the library
   writes when it closes a file, and if that fails it keeps dead objects that spoil later files of
   the process. */
void ts_hdf5_driver_discard(hid_t file);

#endif
