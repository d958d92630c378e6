/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads boxes of a numeric dataset of up to three axes in a foreign file. The input's child finds
 * out where its bytes lie (io/hdf5/hdf5_storage.h); they are read here, and no length that the file
 * claims is trusted: a chunk decodes to its own size or is damaged. Every chunk that a box touches
 * is decoded once, by one of several threads: shuffle, deflate and fletcher32 by the thread itself,
 * other filters by a process of its own (io/hdf5/hdf5_decoder.h).
 */
#ifndef IO_HDF5_HDF5_STACK_H
#define IO_HDF5_HDF5_STACK_H

#include "core/image.h"
#include "core/rounding.h"
#include "io/hdf5/hdf5_input.h"
#include "io/hdf5/hdf5_storage.h"
#include "io/pool/pool.h"

/* STACK_ANY_RANK: up to three axes; missing ones come first, with length 1. */
enum { STACK_ANY_RANK = -1, STACK_CHUNK_BYTES = 256 << 20, STACK_LIST_CHUNK_BYTES = 16 << 20 };

/* Indices along an axis: the k-th of n is start + k / block * stride + k % block. */
struct hdf5_indices {
    int64_t n, start, stride, block;
};

/* Returns the k-th of the indices. */
static inline int64_t ts_hdf5_index(const struct hdf5_indices *indices, int64_t k)
{
    return indices->start + k / indices->block * indices->stride + k % indices->block;
}

/* Returns how many of the indices are below i. */
static inline int64_t ts_hdf5_indices_below(const struct hdf5_indices *indices, int64_t i)
{
    const int64_t past = i - indices->start;
    if (past <= 0)
        return 0;
    const int64_t blocks = past / indices->stride, rest = past % indices->stride;
    if (blocks >= indices->n) /* each block has at least one index */
        return indices->n;
    const int64_t k = blocks * indices->block + (rest < indices->block ? rest : indices->block);
    return k < indices->n ? k : indices->n;
}

/* Returns true if each index is one more than the previous one. */
static inline bool ts_hdf5_indices_follow(const struct hdf5_indices *indices)
{
    return indices->n <= indices->block || indices->stride == indices->block;
}

/* A part of a virtual dataset, whose values are those of a part of another dataset. */
struct hdf5_part {
    const struct hdf5_stack *source;
    int axis[3]; /* for each axis of the virtual dataset, that of the source; -1: one index */
    struct hdf5_indices on[3],
        from[3]; /* indices along the axes of the virtual dataset, and of the source */
};

struct hdf5_stack {
    const char *name;        /* path in the file, for messages */
    struct hdf5_ref dataset; /* while the child lives */
    int fd;                  /* the input's */
    struct sandbox *sandbox; /* for the processes that decode its chunks */
    int64_t file_bytes;
    struct hdf5_storage storage;
    void *compact; /* the values of a compact dataset; else NULL */
    struct storage_chunk
        *table;   /* where the chunks of a chunked dataset are; NULL until they are located */
    int64_t n[3]; /* axes past the rank have length 1 */
    /* number of volumes that the first axis holds one after the other; 1 unless two axes were
       joined */
    int64_t n_volumes;
    enum ts_dtype stored,
        dtype;    /* in the file (also f16, f64; u64: any 64-bit integers of lists), and as read */
    bool swapped; /* stored in the other byte order */
    int64_t chunk[3]; /* shape of a chunk, and its bytes; 0: not chunked */
    size_t chunk_bytes;
    struct hdf5_pipeline pipeline; /* of the chunks */
    int64_t n_parts, n_sources;    /* of a virtual dataset; its parts do not overlap */
    struct hdf5_part *parts;
    struct hdf5_stack **sources;
    bool has_gaps; /* that no part fills */
    /* for each index of the first axis of a virtual dataset: no part has it; NULL: every index has
       one */
    bool *lost;
    unsigned char fill[8];
};

/* A box is elements [first, end) of each axis. Element (i0, i1, i2) goes to `out` at the sum of
   stride[d] * (i[d] - first[d]), in elements. Along an axis with a map, map[d][i[d] + shift[d]]
   replaces the difference, and -1 leaves the index out. */
struct hdf5_box {
    int64_t first[3], end[3];
    ptrdiff_t stride[3];
    const int64_t *map[3]; /* NULL: none */
    int64_t shift[3];
    void *out; /* values of stack->dtype, or doubles */
    bool doubles;
    struct ts_rounding *rounding; /* is set to what 64-bit floats lost when they became 32-bit ones;
                                     NULL: not needed */
};

/* Checks the dataset's type, sizes, storage and filters, but looks for no chunk yet. 64-bit
   integers are read as floats, and in lists as doubles. With the rank TS_MAX_RANK it may have three
   axes, or four, of which the first two then become one. The stack may be closed even if this
   fails. */
enum ts_status ts_hdf5_stack_open(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                  const char *name, int rank, struct hdf5_stack *stack);
/* The part of it that checks sizes and storage, and gives the stack as many axes as `rank` says. */
enum ts_status ts_hdf5_stack_check(const struct hdf5_input *input, struct hdf5_stack *stack,
                                   int rank);
/* Refuses a virtual dataset (hdf5-source-missing) in which no part has some of the values: of an
   index of the first axis whose entry in `map` is not -1; NULL: of any index. */
enum ts_status ts_hdf5_stack_check_lost(const struct hdf5_input *input,
                                        const struct hdf5_stack *stack, const int64_t *map);
/* Sets lost[i] if index i of an axis has only chunks that were never written; with `any`, if it has
   at least one. Returns how many are lost. The chunks must be located. */
int64_t ts_hdf5_stack_unwritten(const struct hdf5_stack *stack, int axis, bool any, bool *lost);
/* Sets *same if a dataset is that of the stack by another name, as far as its type, its shape and
 * its place in the file tell. */
enum ts_status ts_hdf5_stack_is(const struct hdf5_input *input, const struct hdf5_stack *stack,
                                const struct hdf5_ref *dataset, bool *same);
/* Lets the child find the place of every chunk. Must be called before reading. */
enum ts_status ts_hdf5_stack_locate(const struct hdf5_input *input, struct hdf5_stack *stack);
void ts_hdf5_stack_close(struct hdf5_stack *stack);
/* Returns how many indices of an axis are stored together, so that reading one of them costs as
   much as reading all. */
int64_t ts_hdf5_stack_together(const struct hdf5_stack *stack, int axis);
/* Returns the bytes of memory of a reader with so many threads, including the table of chunks. */
size_t ts_hdf5_stack_scratch(const struct hdf5_stack *stack, int threads);

/* Reads boxes of one stack by these threads; both must outlive it. NULL if memory is out. */
struct hdf5_stack_reader;
struct hdf5_stack_reader *ts_hdf5_stack_reader_create(const struct hdf5_stack *stack,
                                                      struct pool *readers);
void ts_hdf5_stack_reader_destroy(struct hdf5_stack_reader *reader); /* NULL does nothing */
/* Reads a box, without a child. If several chunks are damaged, reports the first in their order. */
enum ts_status ts_hdf5_stack_read(struct hdf5_stack_reader *reader, const struct hdf5_input *input,
                                  const struct hdf5_box *box);
/* Reads all of a dataset of one axis or none, not counting axes of length 1, as n doubles in the
   arena, at most `most`. Refuses integers that double cannot hold. *values is NULL if there is no
   such dataset. */
enum ts_status ts_hdf5_stack_list(struct hdf5_input *input, const struct hdf5_ref *dataset,
                                  const char *name, int64_t most, double **values, int64_t *n);
/* Reads a list of n vectors with so many columns at a path below `from`: a dataset of rank 2, or,
   for one column, a list. `most` limits the number of all numbers. */
enum ts_status ts_hdf5_stack_vectors(struct hdf5_input *input, const struct hdf5_ref *from,
                                     const char *path, int64_t columns, int64_t most,
                                     double **values, int64_t *n);
/* Does the same as ts_hdf5_stack_list for the dataset at a path below `from`. */
enum ts_status ts_hdf5_stack_numbers(struct hdf5_input *input, const struct hdf5_ref *from,
                                     const char *path, int64_t most, double **values, int64_t *n);

#endif
