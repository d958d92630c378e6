/* SPDX-License-Identifier: Apache-2.0
 *
 * Small scans in HDF5 files, made with the library itself: frame f, row r, column c holds 100 f +
 * 10 r + c.
 */
#ifndef TESTS_FILES_SCAN_FILE_H
#define TESTS_FILES_SCAN_FILE_H

#include <hdf5.h>

#include "io/scan/hdf5_source.h"

enum { SCAN_FRAMES = 7, SCAN_ROWS = 3, SCAN_COLUMNS = 5 };

/* A test makes its file here, between begin and end. */
struct scan_place {
    char folder[256], path[400];
    struct ts_diag *diag;
};
extern struct scan_place ts_scan_file;
void ts_scan_file_begin(void);
void ts_scan_file_end(void);

struct scan_storage {
    hid_t type;
    hsize_t chunk[3]; /* 0: contiguous */
    bool shuffle, deflate, fletcher32, fletcher32_first;
    hsize_t unwritten; /* a frame that is left out; 0: none */
    bool elsewhere;    /* virtual: the frames lie in the dataset `frames` of the file's root */
};

/* An attribute; a group, with its NX_class or NULL; a dataset of numbers (n 0: a scalar), with
 * units or NULL. */
void ts_scan_file_text(hid_t object, const char *name, const char *text);
hid_t ts_scan_file_group(hid_t parent, const char *name, const char *nx_class);
void ts_scan_file_numbers(hid_t group, const char *name, int n, const double *values,
                          const char *units);
/* A dataset of one text. */
void ts_scan_file_word(hid_t group, const char *name, const char *text);
/* In place of a list that is there: n integers of 64 bits, stored as this type; values are int64_t
 * or, where the type has no sign, uint64_t. */
void ts_scan_file_integers(hid_t file, const char *path, hid_t type, int n, const void *values);
/* Writes a list that is there as a dataset of so many axes, of chunks if `chunk` is not 0. */
void ts_scan_file_reshape(const char *path, int rank, const hsize_t *shape, const hsize_t *chunk);
/* Frames as u16, or as `storage` says. */
void ts_scan_file_frames(hid_t group, const char *name, hsize_t frames,
                         const struct scan_storage *storage);
/* The file of a test as Data Exchange has it: frames, two flats, and theta where there are any. */
hid_t ts_scan_file_exchange(const struct scan_storage *storage, int n_theta, const double *theta);
/* Marks a parameter as given in the chain. */
void ts_scan_file_give(struct param_set *set, const char *name);
/* The parameters of `hdf5` for the frames of ts_scan_file_exchange, whose axes in the file's order
 * have these names: a sinogram over [0, stop) degrees, or a volume where `axes` says so. `values`
 * is cleared; the set points to it. */
struct param_set ts_scan_file_hdf5(struct hdf5_params *values, const char *const axes[3],
                                   double stop);
/* All values, read in slabs of n rows, are those of these frames. */
void ts_scan_file_check(struct source *source, const int *frames, int64_t n_rows);

#endif
