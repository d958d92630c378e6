/* SPDX-License-Identifier: Apache-2.0
 *
 * Bitshuffle puts bit k of byte b of all elements together, for each b and k: row 8 b + k of n / 8
 * bytes has the bits of n elements, the first element's in the lowest bit of the first byte.
 * Source: K. Masui and others, Astronomy and Computing 12 (2015) 181.
 */
#ifndef IO_HDF5_BITSHUFFLE_H
#define IO_HDF5_BITSHUFFLE_H

#include <stddef.h>

/* Puts the bits of n elements, a multiple of 8, back into place. `scratch` has n * width bytes,
   like `in` and `out`. */
void ts_bitshuffle_undo(unsigned char *restrict out, const unsigned char *restrict in, size_t n,
                        size_t width, unsigned char *restrict scratch);

#endif
