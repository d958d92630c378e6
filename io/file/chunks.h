/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses the chunks of HDF5 datasets, and encodes and decodes them with the filters shuffle,
 * deflate and fletcher32, in the form that stock HDF5 reads.
 */
#ifndef IO_FILE_CHUNKS_H
#define IO_FILE_CHUNKS_H

#include "core/image.h"

enum { CHUNK_CHECKSUM_BYTES = 4 };

/* The grid of chunks into which an array is cut. Chunks have length 1 along all axes before `split`
   and the whole length along all axes after it: so a chunk is one range of the row-major array, and
   chunks in order are the array in order. The last chunk along `split` is padded. */
struct chunk_grid {
    int rank, split;
    int64_t n[TS_MAX_RANK];     /* shape of the array */
    int64_t chunk[TS_MAX_RANK]; /* shape of a whole chunk */
    int64_t n_chunks;
    size_t element_bytes;
    size_t chunk_bytes; /* size of a whole chunk */
};

struct chunk_filters {
    size_t element_bytes;
    int level; /* level of deflate; 0: neither shuffle nor deflate, only the checksum */
    /* at level 0: without the checksum too, so that single rows of a chunk can be read */
    bool plain;
};

/* Chooses the chunk shape from shape and element size: several slices of together at most 4 MiB,
   one slice of up to 8 MiB, or a part of a larger slice. If the rank is 4, chunks along the second
   axis all have one size. The rank is 1 to TS_MAX_RANK. Returns false if a size is 0 or the product
   does not fit. */
bool ts_chunk_grid_init(struct chunk_grid *grid, int rank, const int64_t *n, size_t element_bytes);
/* Cuts the grid anew, so that no two indices of the first axis share a chunk. */
void ts_chunk_grid_part(struct chunk_grid *grid);
/* Writes where chunk i begins along each axis. Returns how many bytes of the chunk, from its
   beginning, are inside the array. */
size_t ts_chunk_place(const struct chunk_grid *grid, int64_t i, int64_t start[TS_MAX_RANK]);

/* Returns HDF5's variant of Fletcher's checksum: big-endian 16-bit words, folded every 360
 * words. */
uint32_t ts_chunk_checksum(const void *data, size_t bytes);
/* Returns true if the checksum at the end of an encoded chunk is that of the bytes before it. */
bool ts_chunk_is_intact(const void *data, size_t bytes);
/* Moves byte j of element i of n from in[j * n + i] to out[i * width + j]. */
void ts_chunk_unshuffle(unsigned char *restrict out, const unsigned char *restrict in, size_t n,
                        size_t width);
/* Returns the most bytes that a chunk encoded by ts_chunk_encode or cuda/deflate/deflate.h can
   have. */
size_t ts_chunk_bound(const struct chunk_filters *filters, size_t chunk_bytes);

/* The state of one thread that encodes or decodes. */
struct chunk_coder;
struct chunk_coder *ts_chunk_coder_create(void); /* NULL: no memory */
void ts_chunk_coder_destroy(struct chunk_coder *coder);
/* Shuffles, deflates and appends the checksum. Returns the encoded length, or 0 if memory is out.
   Equal input gives equal bytes. At level 0 `out` may be the chunk itself. */
size_t ts_chunk_encode(struct chunk_coder *coder, const struct chunk_filters *filters,
                       const void *chunk, size_t chunk_bytes, void *out, size_t out_bytes);
/* Decodes what ts_chunk_encode made. Returns the values, which are in `chunk`, or in `data` if
   nothing is compressed. Returns NULL if the checksum or the compressed stream is wrong, its length
   is not chunk_bytes, or memory is out. */
const void *ts_chunk_decode(struct chunk_coder *coder, const struct chunk_filters *filters,
                            const void *data, size_t bytes, void *chunk, size_t chunk_bytes);
/* Returns true if the encoded chunk, of level 1 or more, decodes to `chunk`. Returns false if it
   does not, or if memory is out. */
bool ts_chunk_matches(struct chunk_coder *coder, const struct chunk_filters *filters,
                      const void *data, size_t bytes, const void *chunk, size_t chunk_bytes);

#endif
