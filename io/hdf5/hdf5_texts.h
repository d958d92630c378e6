/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads a whole text, or a list of texts, out of a result, such as the chain that it holds or
 * the digests of its input's slices, or the numbers of a small dataset, such as a table. Attributes
 * and short values need none of it (io/hdf5/hdf5_list.h).
 */
#ifndef IO_HDF5_HDF5_TEXTS_H
#define IO_HDF5_HDF5_TEXTS_H

#include "core/arena.h"
#include "core/image.h"
#include "io/hdf5/hdf5_child.h"

/* Reads all values of a dataset of numbers into image->data, which has room for them. Returns
 * TS_BAD_INPUT where the file cannot be read, or where the dataset is not there or has another type
 * or number of values than the image, or more than 32 MiB. */
enum ts_status ts_hdf5_read_values(struct sandbox *sandbox, const char *path, const char *dataset,
                                   const struct ts_image *image, struct ts_diag *diag);

/* Reads a dataset of texts of fixed length, of any shape, one after the other; the arena owns them.
   Texts are untrusted and may contain control characters. *n is 0 if there is no such dataset.
   Returns TS_BAD_INPUT if the file cannot be read, or if the dataset holds anything else or more
   than 32 MiB. */
enum ts_status ts_hdf5_read_texts(struct sandbox *sandbox, const char *path, const char *dataset,
                                  struct arena *arena, const char *const **texts, size_t *n,
                                  struct ts_diag *diag);

#endif
