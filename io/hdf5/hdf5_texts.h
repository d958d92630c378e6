/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads a whole text, or a list of texts, out of a result: the chain that it holds, the
 * digests of its input's slices. Attributes and short values need none of it (io/hdf5/hdf5_list.h).
 */
#ifndef IO_HDF5_HDF5_TEXTS_H
#define IO_HDF5_HDF5_TEXTS_H

#include "core/arena.h"
#include "io/hdf5/hdf5_child.h"

/* Reads a dataset of texts of fixed length, of any shape, one after the other; the arena owns them.
 * Texts are untrusted and may hold control characters. *n is 0 where there is no such dataset.
 * Returns TS_BAD_INPUT where the file cannot be read, or where the dataset holds anything else or
 * more than 32 MiB. */
enum ts_status ts_hdf5_read_texts(const char *path, const char *dataset, struct arena *arena,
                                  const char *const **texts, size_t *n, struct ts_diag *diag);

#endif
