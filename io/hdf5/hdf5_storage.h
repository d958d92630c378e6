/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds where the values of an HDF5 dataset are in its file. A sandboxed child asks libhdf5 and
 * sends a description and, for chunked datasets, a table of chunks. The parent checks both against
 * the size of the file and then reads the bytes itself, with pread and its own decoder: no value
 * passes through the child, and any number of threads may read through one descriptor.
 */
#ifndef IO_HDF5_HDF5_STORAGE_H
#define IO_HDF5_HDF5_STORAGE_H

#include <stdio.h>

#include "io/hdf5/hdf5_error.h"
#include "io/hdf5/hdf5_filters.h"

enum {
    STORAGE_RANK = H5S_MAX_RANK,
    STORAGE_FILTERS = 8,
    STORAGE_CHUNKS = 1 << 21,
    STORAGE_COMPACT_BYTES = 1 << 16
};

enum storage_class { STORAGE_INTEGER, STORAGE_FLOAT, STORAGE_TEXT, STORAGE_OTHER };
/* The last two have their values in other files or datasets. */
enum storage_layout {
    STORAGE_COMPACT,
    STORAGE_CONTIGUOUS,
    STORAGE_CHUNKED,
    STORAGE_VIRTUAL,
    STORAGE_EXTERNAL
};

struct storage_filter {
    struct hdf5_filter filter;
    char name[64];
};

/* The child sends this structure as it is. */
struct hdf5_storage {
    int32_t class; /* enum storage_class */
    uint32_t element_bytes;
    /* the type is exactly one of the library's two's complement or IEEE types, without padding */
    uint8_t standard;
    uint8_t big_endian, has_sign;
    uint8_t variable; /* texts of variable length, which are elsewhere in the file */
    int32_t rank;
    int64_t n[STORAGE_RANK];
    int32_t layout;         /* enum storage_layout */
    int64_t offset;         /* contiguous: from the start of the file; -1: never written */
    int64_t stored_bytes;   /* contiguous, compact */
    uint32_t compact_bytes; /* bytes of values that follow the structure */
    int64_t chunk[STORAGE_RANK];
    int64_t n_chunks;         /* in the grid that covers the dataset; INT64_MAX: more than fit */
    uint8_t edges_unfiltered; /* partial chunks at the edges skip the filters */
    int32_t n_filters;        /* number of filters, which may exceed what `filters` holds */
    struct storage_filter filters[STORAGE_FILTERS];
};

/* One chunk of the grid; the table has them in row-major order. */
struct storage_chunk {
    uint64_t offset;  /* from the start of the file */
    uint32_t bytes;   /* as stored; 0: never written */
    uint32_t skipped; /* bit i: filter i was left out */
};

/* ---- the child, between enter and leave ------------------------------------------------------ */

/* Returns a type of halves in the byte order of H5T_IEEE_F32LE or H5T_IEEE_F32BE, which the caller
   closes; negative if the library fails. Libraries before 1.14.4 have no name for it. */
hid_t ts_hdf5_half_type(hid_t like);
/* Fills in the fields that follow from the type: class, element_bytes, standard, big_endian,
 * has_sign, variable. */
void ts_hdf5_storage_type(hid_t type, struct hdf5_storage *storage);
/* Fills in all of a zeroed structure. Returns false if the library fails; its error stack has the
 * reason. */
bool ts_hdf5_storage_find(hid_t dataset, struct hdf5_storage *storage);
/* Writes the structure and the bytes of a compact dataset. */
bool ts_hdf5_storage_write(hid_t dataset, const struct hdf5_storage *storage, FILE *out);
/* Writes the table of a chunked dataset in a file that ts_hdf5_open_descriptor opened. At most
 * STORAGE_CHUNKS. */
bool ts_hdf5_storage_write_table(hid_t dataset, const struct hdf5_storage *storage, FILE *out);

/* ---- the parent ------------------------------------------------------------------------------ */

/* Parses the description in a child's answer, and computes every size again that follows from
   others. Returns false if the answer contradicts itself. Sizes that are only too large are for the
   reader to refuse. */
bool ts_hdf5_storage_take(const void *answer, size_t bytes, struct hdf5_storage *storage,
                          const void **compact);
/* Checks that the answer has one entry per chunk and that each chunk is inside the file. *outside
   becomes the first chunk that is not, or -1. */
bool ts_hdf5_storage_check_table(const struct hdf5_storage *storage, const void *answer,
                                 size_t bytes, int64_t file_bytes, int64_t *outside);
/* Returns the number of the chunk that holds the element at `at`. */
int64_t ts_hdf5_storage_chunk_at(const struct hdf5_storage *storage, const int64_t *at);

#endif
