/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking at HDF5 files: what `tomostage info FILE` prints, and the check of our own digests.
 */
#ifndef IO_HDF5_HDF5_READ_H
#define IO_HDF5_HDF5_READ_H

#include "core/diag.h"

/* For files of this program and others; at most 10,000 objects, 32 levels deep; links are named, not followed.
 * Of a scan in NXtomo or Data Exchange it says what io/scan/hdf5_scan.h holds, or why a chain could not read it as it
 * is. Prints datasets (path, shape, dtype, unit, quantity, storage, digest) and the chain of processes that made them.
 * A file of this program is verified too. TS_BAD_INPUT where it cannot be read or is damaged; what could be read is
 * printed all the same. */
enum ts_status ts_hdf5_info(const char *path, bool json, FILE *stream, struct ts_diag *diag);
/* Recomputes the SHA-256 of every dataset that carries one, and the root digest; names the first that differs.
 * TS_BAD_INPUT where one does, where the file is not complete or not one of this program. */
enum ts_status ts_hdf5_verify(const char *path, struct ts_diag *diag);

#endif
