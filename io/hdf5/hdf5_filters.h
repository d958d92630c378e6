/* SPDX-License-Identifier: Apache-2.0
 *
 * Undoes the filters of a chunk of a foreign file, and checks every length in its bytes. Filters
 * that need foreign libraries, or whose bytes contain lengths, run in a sandboxed process
 * (io/hdf5/hdf5_decoder.h).
 */
#ifndef IO_HDF5_HDF5_FILTERS_H
#define IO_HDF5_HDF5_FILTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIPELINE_FILTERS = 4, FILTER_VALUES = 8 };

/* These numbers are registered with the makers of HDF5. */
enum {
    FILTER_LZF = 32000,
    FILTER_BLOSC = 32001,
    FILTER_LZ4 = 32004,
    FILTER_BITSHUFFLE = 32008,
    FILTER_ZSTD = 32015,
    FILTER_BLOSC2 = 32026
};

struct hdf5_filter {
    int32_t id; /* H5Z_filter_t */
    uint32_t n_values;
    uint32_t values[FILTER_VALUES]; /* its first parameters */
};

/* The filters of a dataset, in the order in which they were applied. */
struct hdf5_pipeline {
    int32_t n_filters;
    uint32_t element_bytes;
    uint64_t chunk_bytes; /* of a chunk's values */
    struct hdf5_filter filters[PIPELINE_FILTERS];
};

/* Returns the name of a filter that can be undone, or NULL. */
const char *ts_hdf5_filter_name(int32_t id);
/* Returns true if this process undoes every filter itself: shuffle, deflate, fletcher32. */
bool ts_hdf5_pipeline_is_plain(const struct hdf5_pipeline *pipeline);
/* Returns the most bytes that an encoded chunk may have. */
size_t ts_hdf5_pipeline_bound(const struct hdf5_pipeline *pipeline);
/* Returns the bytes of each of the two blocks of ts_hdf5_pipeline_undo. */
size_t ts_hdf5_pipeline_block(const struct hdf5_pipeline *pipeline);

/* Makes the buffers that one thread needs to undo filters. Returns NULL if memory is out;
 * destroying NULL does nothing. */
struct hdf5_undoer;
struct hdf5_undoer *ts_hdf5_undoer_create(void);
void ts_hdf5_undoer_destroy(struct hdf5_undoer *undoer);
/* Undoes the filters, the last one first, except those whose bit is set in `skipped`; the values
   are then in `block`. Returns false if the chunk is damaged, or with errno ENOMEM if memory is
   out. */
bool ts_hdf5_pipeline_undo(const struct hdf5_pipeline *pipeline, struct hdf5_undoer *undoer,
                           const unsigned char *encoded, size_t bytes, uint32_t skipped,
                           unsigned char *block, unsigned char *other);

/* Lets libhdf5 read datasets with these filters, in a sandboxed child, between enter and leave.
   Returns false if that fails. */
bool ts_hdf5_filters_register(void);

#endif
