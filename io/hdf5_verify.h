/* SPDX-License-Identifier: Apache-2.0
 *
 * Digests of a file: of each dataset, and of the file as the SHA-256 over the lines "PATH DIGEST\n" in the order of
 * strcmp.
 */
#ifndef IO_HDF5_VERIFY_H
#define IO_HDF5_VERIFY_H

#include "io/digest.h"
#include "io/hdf5_error.h"

/* The root digest from the datasets' sha256 attributes as they stand. Between enter and leave. */
bool ts_hdf5_root_digest(hid_t file, char text[DIGEST_TEXT_BYTES]);
/* Reads a text attribute of at most size - 1 bytes; false where there is none such. Between enter and leave. */
bool ts_hdf5_get_text(hid_t object, const char *name, char *out, size_t size);
/* Opens for reading with plugins off; -1 with the reason in `failure`. Between enter and leave. */
hid_t ts_hdf5_open_file(const char *path, struct hdf5_failure *failure);
/* As ts_hdf5_verify; `shown` stands for the path in messages, `failed` is the status of what is wrong. */
enum ts_status ts_hdf5_verify_as(const char *path, const char *shown, enum ts_status failed, int threads,
                                 struct ts_diag *diag);

#endif
