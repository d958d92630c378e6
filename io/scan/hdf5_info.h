/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info FILE` for an HDF5 file of this program or another. Prints what the file holds and
 * what a chain would make of it, so that somebody who was given a file can write a chain for it.
 */
#ifndef IO_SCAN_HDF5_INFO_H
#define IO_SCAN_HDF5_INFO_H

#include <stdio.h>

#include "core/diag.h"
#include "core/json.h"
#include "io/hdf5/hdf5_list.h"
#include "io/source/source.h"

/* Lists at most 10,000 objects, 32 levels deep; links are named, not followed. A scan in NXtomo or
 * Data Exchange is described by its frames, sizes and angles, or by why a chain could not read it
 * as it is. Prints datasets (path, shape, dtype, unit, quantity, storage, digest) and the chain of
 * processes that made them. A file of this program is verified too. TS_BAD_INPUT if it cannot be
 * read or is damaged; what could be read is printed all the same. Texts that this program has not
 * written so, in which people and samples may be named, are printed with `names` alone. */
enum ts_status ts_hdf5_info(const char *path, bool json, bool names, FILE *stream,
                            struct ts_diag *diag);

/* Names the source format that most likely reads an HDF5 file: "nexus" or "exchange" for a scan,
 * "result" for a file of this program, and "hdf5" for any other. A file that cannot be listed is
 * "result", whose messages say why. */
const char *ts_hdf5_format(const char *path);

#endif
