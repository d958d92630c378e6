/* SPDX-License-Identifier: Apache-2.0
 *
 * A numeric dataset of up to three axes in a foreign file, read in boxes. Chunks are taken as stored and decoded here
 * (shuffle, deflate, fletcher32), so that no length that the file claims is believed: a chunk decodes to its own size
 * or is damaged. Every chunk that a box touches is decoded once.
 */
#ifndef IO_HDF5_STACK_H
#define IO_HDF5_STACK_H

#include "io/hdf5_input.h"
#include "pipeline/image.h"

enum { STACK_FILTERS = 4, STACK_CHUNK_BYTES = 256 << 20, STACK_LIST_CHUNK_BYTES = 16 << 20 };

struct hdf5_stack {
    const char *name; /* path in the file, for messages */
    hid_t dataset, type, space;
    int rank;
    int64_t n[3];                /* axes past the rank have length 1 */
    enum ts_dtype stored, dtype; /* of the file (f64 too, u64 in lists), of what is read */
    bool has_sign;               /* stored as u64, but with a sign */
    bool swapped;                /* stored in the other byte order */
    bool chunked;
    int64_t chunk[3];
    size_t chunk_bytes;
    int n_filters;
    H5Z_filter_t filters[STACK_FILTERS];
};

/* Elements [first, end) of each axis to out. Element (i0, i1, i2) goes to the sum of stride[d] * (i[d] - first[d]) (in
 * elements); along `map_axis`, where map is given, map[i[d]] stands for the difference, and -1 leaves the index out. */
struct hdf5_box {
    int64_t first[3], end[3];
    ptrdiff_t stride[3];
    int map_axis;
    const int64_t *map;
    void *out; /* of stack->dtype, or doubles */
    bool doubles;
};

/* Takes the dataset over and checks its type, sizes, storage and filters. Integers of 64 bits are taken with rank 1
 * alone, to be read as doubles. Between enter and leave. */
enum ts_status ts_hdf5_stack_open_take(struct hdf5_input *input, hid_t dataset, const char *name, int rank,
                                       struct hdf5_stack *stack);
/* Between enter and leave. */
void ts_hdf5_stack_close(struct hdf5_stack *stack);
/* Has the library look for every chunk, as reading will. Between enter and leave. */
enum ts_status ts_hdf5_stack_try(const struct hdf5_input *input, const struct hdf5_stack *stack);
/* Bytes that a read holds beside its result. */
size_t ts_hdf5_stack_scratch(const struct hdf5_stack *stack);
/* Not between enter and leave: it takes the lock for each access. */
enum ts_status ts_hdf5_stack_read(const struct hdf5_input *input, const struct hdf5_stack *stack,
                                  const struct hdf5_box *box);
/* All of a dataset of rank 0 or 1 as doubles in the arena, n at most `most`; integers that no double holds are refused.
 * Between enter and leave. */
enum ts_status ts_hdf5_stack_numbers(struct hdf5_input *input, hid_t from, const char *path, int64_t most,
                                     double **values, int64_t *n);

#endif
