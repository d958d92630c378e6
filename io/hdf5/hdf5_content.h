/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes the content of an HDF5 file as lines of text, in the order of the walk. It calls
 * libhdf5, so for a foreign file it runs in a sandbox; io/hdf5/hdf5_verify.c reads the lines in the
 * parent and does not trust them.
 *
 * The fields of a line are separated by tabs. The canonical listing (docs/provenance.md) is these
 * lines, each dataset's with its digest as one more field:
 *   group PATH               dataset PATH DTYPE SHAPE         again PATH FIRST-PATH
 *   soft PATH TARGET         external PATH FILE TARGET        type PATH          link PATH
 *   attribute NAME DTYPE SHAPE HEX                            (of the object before it)
 * The DTYPE of an attribute with references of dimension scales is "ref", and its bytes are a text:
 * for each axis the names of its scales, each behind a space, or a user's name, a space and the
 * number of its axis; each ended by a line feed. A name is "?" if it is none of the same group.
 * Lines that begin with "=" are not in the listing. They belong to the dataset before them, or to
 * the root:
 *   =digest HEX              =complete HEX                    the root's attributes of these names
 *   =storage BYTES           =chunks BYTES
 *       so many bytes follow: where the values are (hdf5_storage.h)
 */
#ifndef IO_HDF5_HDF5_CONTENT_H
#define IO_HDF5_HDF5_CONTENT_H

#include "io/hdf5/hdf5_walk.h"

/* Writes the lines; with `places` also those that state where values are. Must be called between
   enter and leave. Returns false with a predicate in `problem`, and in `at` (HDF5_WALK_PATH bytes)
   the path where it ended. */
bool ts_hdf5_content(hid_t file, bool places, FILE *out, char *at, char *problem, size_t size);

#endif
