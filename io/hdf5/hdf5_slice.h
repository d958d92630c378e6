/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads single slices from an HDF5 file, ours or another program's, for previews and plots.
 */
#ifndef IO_HDF5_HDF5_SLICE_H
#define IO_HDF5_HDF5_SLICE_H

#include "core/arena.h"
#include "core/diag.h"

struct hdf5_slice {
    int64_t n_slices, rows, columns; /* shape of the dataset: (n_slices, rows, columns) */
    int64_t n_volumes; /* of a dataset of rank 4, whose slices are those of one volume after the
                          other; else 1 */
    bool is_picture;   /* the dataset is one slice, of shape (rows, columns), or one row */
    float *values;     /* rows * columns; free() */
};

/* In ts_hdf5_list_datasets this name means every table, including those of a whole volume (rank
   1). */
#define HDF5_EVERY_TABLE "*"

/* Lists the paths of the numeric datasets of rank 3 or 4, in the order of their names; links to the
 * same dataset count once. With a table's name it lists those of rank 2 whose path ends in
 * "/tables/NAME" instead: a stage's table with a row a slice. The arena owns the list. Returns
 * TS_BAD_INPUT if the file cannot be read or has no such dataset. */
enum ts_status ts_hdf5_list_datasets(const char *path, const char *table, struct arena *arena,
                                     const char ***datasets, size_t *n, struct ts_diag *diag);
/* Reads slice `index`, or for -1 the middle one ((n - 1) / 2) of the first volume, of a numeric
 * dataset of rank 1 to 4. Returns TS_BAD_INPUT if there is no such dataset or slice. */
enum ts_status ts_hdf5_read_slice(const char *path, const char *dataset, int64_t index,
                                  struct hdf5_slice *slice, struct ts_diag *diag);

struct hdf5_numbers {
    int64_t total;
    double *values; /* free() */
};

/* Reads all values of a numeric dataset of rank 0 to 4 as doubles, at most 2^26 of them. Returns
 * TS_BAD_INPUT if there is no such dataset. */
enum ts_status ts_hdf5_read_numbers(const char *path, const char *dataset,
                                    struct hdf5_numbers *numbers, struct ts_diag *diag);

#endif
