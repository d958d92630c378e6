/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes a chunk of HDF5 with the filter blosc2: a contiguous frame of C-Blosc2 with one chunk,
 * which is an array of up to 8 axes in blocks, or plain bytes. Debian 12 has no C-Blosc2.
 */
#ifndef IO_HDF5_BLOSC2_H
#define IO_HDF5_BLOSC2_H

#include <stddef.h>

/* Decompresses into at most `capacity` bytes and returns how many there are; 0 if the input is
   damaged. */
typedef size_t blosc2_codec(void *user, int codec, const unsigned char *in, size_t bytes,
                            unsigned char *out, size_t capacity);
/* Codecs by their numbers in a chunk. The caller provides all but blosclz. */
enum { BLOSC2_BLOSCLZ = 0, BLOSC2_LZ4 = 1, BLOSC2_ZLIB = 3, BLOSC2_ZSTD = 4 };

/* Decodes a frame. Returns how many bytes it holds, at most `capacity`; 0 if it is damaged or of a
 * kind that is not read: with a dictionary, with filters or codecs from plugins, or of several
 * chunks. Leaves ENOMEM in errno if memory is out. */
size_t ts_blosc2_decode(const unsigned char *frame, size_t bytes, unsigned char *out,
                        size_t capacity, blosc2_codec *codec, void *user);

#endif
